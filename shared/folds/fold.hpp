#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/queries/query.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "shared/releases/fixed_amount.hpp"

namespace undertone::folds {

/// All silos that a job counts on, whoever answers a round.
struct WholeCohort {
  std::uint64_t silos = 1;    // N
  std::uint64_t weights = 1;  // the sum of theirs, at most 2^32 for each
};

/// The exact weighted mean of replies, added up in integers as they arrive: one accumulator whatever their number, and
/// the same result in any order of arrival. 64-bit integers serve as long as no sum can leave them, 128-bit ones then.
class LatticeFold {
 public:
  static constexpr std::uint64_t kWeightMax = std::uint64_t{1} << 32;

  /// @param type of the replies: 32-bit ones can be added up in 64 bits
  LatticeFold(Eigen::Index dimension, int step_log2, queries::ReplyType type);

  /// @param values [dimension], each of magnitude at most 2^62 (2^31 for 32-bit replies), in steps of 2^step_log2
  /// @param weight the silo's public integer weight, 1 .. 2^32
  void add(const std::vector<std::int64_t>& values, std::uint64_t weight);

  [[nodiscard]] Eigen::Index replies() const noexcept { return replies_; }
  [[nodiscard]] Eigen::Index dimension() const noexcept { return dimension_; }
  /// [dimension], in real units; the weights of those that answered add to 1. At least one reply.
  [[nodiscard]] Eigen::VectorXd mean() const;
  /// [dimension], in real units: (N/M) sum_i p_i z_i over the M replies z_i, p_i the share of the whole cohort's
  /// weights. Where M of the N silos answer and any M are as likely, its expectation is the mean over the whole cohort.
  /// With all answering it is `mean()` to the bit. At least one reply, each of a silo of the cohort.
  [[nodiscard]] Eigen::VectorXd scaled_mean(const WholeCohort& cohort) const;

 private:
  /// [dimension], in real units: the sum over `weights`.
  [[nodiscard]] Eigen::VectorXd over(std::uint64_t weights) const;
  /// Moves on to 128 bits.
  void widen();
  Eigen::Index dimension_;
  int step_log2_;
  std::vector<std::int64_t> narrow_;  // until widened
  std::vector<releases::Int128> wide_;
  std::uint64_t weight_total_ = 0;
  Eigen::Index replies_ = 0;
};

/// The mean of the replies' numbers, or what the job asks for in its place. @see Aggregation
struct Mean {
  /// The mean over public records, where the ask is beside them. Each silo counts as many records as it has.
  struct Open {
    Eigen::VectorXd values;     // [dimension of the ask], in real units
    std::uint64_t records = 0;  // of all that answered, together
  };
  Eigen::VectorXd values;  // [dimension of the ask], in real units
  std::optional<Open> open = {};
};
/// How many silos, each with its weight, chose which candidate.
struct Tally {
  std::map<Eigen::Index, double> votes;  // by candidate, the weight of those that chose it, > 0
};
/// What the records of the silos reported, each for itself.
struct Reports {
  Eigen::VectorXd totals;    // by coordinate, of what reports on it add up to, in units of the round's lattice
  std::int64_t reports = 0;  // of all silos and coordinates
};
using Folded = std::variant<Mean, Tally, Reports>;

/// One silo's part of a mean.
struct NoisePart {
  double weight = 1.0;
  double stddev = 0.0;  // of the noise on each number of its answer
};
/// The standard deviation of the noise on each number of a weighted mean: silos draw theirs independently. It does not
/// depend on the order of the parts, to the last bit. 0 of no parts.
[[nodiscard]] double noise_stddev_of_mean(std::vector<NoisePart> parts);

/// What a round's replies folded into.
struct Gathered {
  RoundIndex round;
  Eigen::Index replies = 0;  // >= 1
  Folded value;
  std::int64_t records = 0;  // training records of the silos that answered, together: public; 0 where nobody knows who
  /// What each of them said, in units of the round's lattice, where that is looked at: of statistics, and of reports
  /// what they add up to.
  std::map<SiloId, std::vector<std::int64_t>> each = {};
  /// The standard deviation of all silos' planned noise on each number of the mean, in real units, where whoever asks
  /// looks at it. @see noise_stddev_of_mean
  double noise_stddev = 0.0;

  /// @pre a mean was asked for
  [[nodiscard]] const Eigen::VectorXd& mean() const {
    const auto* mean = std::get_if<Mean>(&value);
    UNDERTONE_CHECK(mean != nullptr);
    return mean->values;
  }
  /// How many numbers the mean has; 0 of anything else.
  [[nodiscard]] Eigen::Index size() const noexcept {
    const auto* mean = std::get_if<Mean>(&value);
    return mean == nullptr ? 0 : mean->values.size();
  }
};

}  // namespace undertone::folds
