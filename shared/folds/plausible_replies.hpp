#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shared/base/byte_stream.hpp"
#include "shared/planning/plan.hpp"
#include "shared/queries/query.hpp"
#include "shared/queries/wire_lattice.hpp"

namespace undertone::folds {

/// Which rounds of a schedule ask for the same. Public, and the same for all silos of a job.
class AskedShapes {
 public:
  explicit AskedShapes(const planning::Schedule& schedule);

  /// How many there are, at most 256: those beyond count as the last.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Of each entry of the schedule that has rounds.
  [[nodiscard]] const std::vector<std::size_t>& of_entries() const noexcept { return of_entries_; }
  /// Nothing for a round beyond the schedule.
  [[nodiscard]] std::optional<std::size_t> of_round(RoundIndex round) const;
  /// p of the norm l_p in which a difference's points are apart. @see releases::Ask
  [[nodiscard]] double distance_exponent(std::size_t shape) const { return distance_exponents_.at(shape); }
  /// Returns whether the round's replies have a second half, of public records.
  [[nodiscard]] bool beside_public(RoundIndex round) const;

 private:
  struct Part {
    std::uint64_t rounds = 0;
    std::size_t shape = 0;
    bool beside_public = false;
  };
  [[nodiscard]] const Part* part_of(RoundIndex round) const;
  std::vector<std::size_t> of_entries_;
  std::vector<double> distance_exponents_;  // of each shape
  std::vector<Part> parts_;
  std::size_t count_ = 0;
};

/// Which of a silo's replies its plan makes plausible. An honest mean of clipped vectors has l2 norm at most C, and its
/// noise of standard deviation s on each of d coordinates has norm at most s (sqrt d + sqrt(2 ln 1/p)) but for
/// probability p = 2^-80 (a 1-Lipschitz function of a Gaussian vector; Boucheron, Lugosi, Massart, Theorem 5.6), so a
/// longer reply is not honest. Of a local run: the distance from the point it began at, for the sum of its steps'
/// clipped gradients and noises. A twentieth more noise is let pass, for agents whose accountant is of another version.
/// Public facts alone go in; nothing about records can be learnt from what is refused.
class PlausibleReplies {
 public:
  /// @param shapes of the plan's schedule
  [[nodiscard]] static PlausibleReplies of(const planning::Plan& plan, const AskedShapes& shapes,
                                           const queries::WireLattice& wire);

  /// What of a query bears upon the answers.
  struct Asked {
    Asked(const queries::Query& query, const AskedShapes& shapes);
    std::optional<std::size_t> shape;  // nothing: no plan has the round
    double distance = 0.0;             // of its two points, if it has two
    Eigen::VectorXd start;             // [d] of a local run; else empty
    bool beside_public = false;        // the halves of an answer are judged each for itself
  };
  /// Whether a reply may be honest. False for a round that no plan has.
  /// @param values [dimension of the release], in steps of the wire lattice
  [[nodiscard]] bool admits(const Asked& asked, const std::vector<std::int64_t>& values) const;
  /// For the half of public records, this is the norm of what is said of them and the largest that is admitted. An
  /// honest mean of clipped vectors is no longer than the clip, and that of no records is 0.
  [[nodiscard]] double public_length(const Asked& asked, const std::vector<std::int64_t>& values) const;
  [[nodiscard]] double public_reach(const Asked& asked) const;
  /// The norm that counts, in real units: beside public records of the first half. @pre of a local run: as many values
  /// as its start has
  [[nodiscard]] double length(const Asked& asked, const std::vector<std::int64_t>& values) const;
  /// The largest norm that is admitted, in real units: of a local run, of its distance from the start. 0: none
  [[nodiscard]] double reach(const Asked& asked) const;
  /// Of the noise on each coordinate of an honest reply, in real units; of a local run of all its steps together. 0:
  /// public records, or an answer that no noise is added to, such as a selection
  [[nodiscard]] double noise_stddev(const Asked& asked) const;

  void save(ByteWriter& writer) const;
  [[nodiscard]] static Result<PlausibleReplies> read(ByteReader& reader, std::size_t shapes,
                                                     const queries::WireLattice& wire);

 private:
  /// Of the releases of one shape the loosest.
  struct Bound {
    double reach = 0.0;     // clip and noise
    double slope = 0.0;     // reach counts at most `slope` times the distance of the query's points; 0: it counts whole
    double rounding = 0.0;  // of the wire's steps
    double steps = 0.0;     // of a local run, whose iterate is rounded at each
    double noise = 0.0;     // standard deviation of a coordinate's
    double open = 0.0;      // of the half of public records: the clip, or 0 where the silo has none
  };
  /// Returns the share of the clip that the distance of the query's points leaves. @pre the round is planned
  [[nodiscard]] double share_of(const Asked& asked) const;
  explicit PlausibleReplies(const queries::WireLattice& wire) : wire_(wire) {}
  [[nodiscard]] static Bound bound_of(const planning::Release& release, const queries::WireLattice& wire);
  queries::WireLattice wire_;
  std::vector<Bound> bounds_;  // by shape
};

}  // namespace undertone::folds
