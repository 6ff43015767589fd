#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "shared/privacy/binomial_sum.hpp"
#include "shared/privacy/fixed_amount.hpp"
#include "shared/privacy/lattice.hpp"
#include "shared/privacy/quantities.hpp"

namespace undertone::privacy {

/// Which map of a record is added up. Source: spec README 2.1.
enum class QuestionKind : std::uint8_t { Gradient = 1, Metrics = 2, GradientDifference = 3, LocalRun = 4 };

/// "gradient", "metrics", "difference", "local_run"
[[nodiscard]] std::string_view to_string(QuestionKind kind) noexcept;

/// Disjoint parts of a silo's records, fixed before a job by record position alone. A record is in one block, so what
/// different blocks release composes in parallel.
enum class Block : std::uint8_t { Training = 1, Holdout = 2 };

/// Consecutive positions of a block's secret permutation, which a run draws once and which does not depend on values: a
/// record is at one position, so releases of disjoint slices compose in parallel.
struct Slice {
  /// Equal: `of` parts of floor(n / of) records. Halving: floor(n/2), floor(n/4), ... records, `of` parts at most.
  enum class Cut : std::uint8_t { Equal, Halving };
  Cut cut = Cut::Equal;
  std::uint64_t index = 0;  // below `of`
  std::uint64_t of = 1;

  struct Positions {
    std::int64_t from = 0;
    std::int64_t to = 0;
    friend bool operator==(const Positions&, const Positions&) = default;
  };
  /// @return where the slice lies in a permutation of `records`; empty where there are too few
  [[nodiscard]] Positions positions(std::int64_t records) const;
};

/// A silo's own noisy descent between two messages: each step reads one record, drawn afresh, and adds noise to its
/// clipped gradient; the iterate after the last one leaves. Source: federated-core 3.6.
struct LocalSteps {
  std::uint64_t steps = 1;  // K
  double step_size = 0.0;   // eta
};

/// What one release computes, before anybody has chosen its noise.
struct ReleaseShape {
  QuestionKind kind = QuestionKind::Gradient;
  Block block = Block::Training;
  double draw_fraction = 1.0;  // of the records that it may read: 1 is all of them, less is drawn afresh
  Eigen::Index dimension = 0;
  ClipNorm clip;
  std::optional<Slice> slice = {};  // without it the release reads the whole block
  /// Of differences of gradients at two points: a record's is clipped to min(clip, smoothness x the points' distance),
  /// and the noise is as much less. Public, never read off records. Source: federated-core 2, way 1.
  std::optional<double> smoothness = {};
  std::optional<LocalSteps> local = {};     // of a LocalRun, and of nothing else
  std::optional<GaussianShift> shift = {};  // of the noise, where a theorem or a person chose it: then it is checked
  /// The draw is a multiset, of so many independent uniform records, as the source's theorems have it; without it a
  /// subset. A record may then be in a sum more than once, and moves it as much more.
  bool with_replacement = false;
};

struct SiloFacts;

/// That a block's owner declared its records public: nothing else says so, and only `public_block` makes one.
class PublicBlock {
 public:
  [[nodiscard]] Block block() const noexcept { return block_; }

 private:
  friend std::optional<PublicBlock> public_block(const SiloFacts& facts, Block block);
  explicit PublicBlock(Block block) noexcept : block_(block) {}
  Block block_;
};
/// @return nothing where the block's records are not public
[[nodiscard]] std::optional<PublicBlock> public_block(const SiloFacts& facts, Block block);

/// What a release is before anybody has chosen how it leaves: it costs nothing that could be said, and nothing of it
/// may leave.
struct Unplanned {};
/// The exact sum of public records leaves: the one mechanism that costs nothing.
struct ExactPublicSum {
  PublicBlock records;
  Lattice lattice;
};
/// Counts of which nobody sees less than the total over the silos of a round: each silo rounds its sum to a grid and
/// adds the coins of its records. Source: spec heavy-tailed 3.1.
struct BinomialSum {
  Lattice lattice;  // binomial_lattice of the parameters
  BinomialParameters parameters;
  BinomialShift shift;  // of a total that holds the coins of the honest silos the plan counts on
};
using Mechanism = std::variant<Unplanned, GaussianLattice, ExactPublicSum, BinomialSum>;

/// One entry of a plan.
struct Release {
  ReleaseShape shape;
  std::int64_t records_drawn = 0;  // K: what the sum is divided by to be a mean
  std::int64_t population = 0;     // n: records of the slice or the block, of which K <= n are drawn, secretly
  Mechanism mechanism = Unplanned{};
  std::int64_t block_records = 0;   // of the whole block
  Slice::Positions positions = {};  // of the block's permutation that are read: all of them without a slice

  /// @pre planned
  [[nodiscard]] const Lattice& lattice() const;
  /// Whether the exact sum of public records leaves. Every other release is charged.
  [[nodiscard]] bool is_public() const noexcept { return std::holds_alternative<ExactPublicSum>(mechanism); }
  /// The release with its clip norm, its lattice's step and its noise scaled to what two points so far apart allow;
  /// itself where it has no smoothness. In lattice units nothing changes, so the shift is the same.
  /// @param distance finite, >= 0: of the very points that are evaluated
  [[nodiscard]] Release scaled_to(double distance) const;
  /// How many draws and noises one message is made of: the steps of a local run, else one.
  [[nodiscard]] std::uint64_t draws() const noexcept { return shape.local ? shape.local->steps : 1; }
  /// mu^2 of one draw for a record that was drawn once, rounded up; zero for public records and for nothing else. For a
  /// binomial sum this is mu^2 of a Gaussian release that costs at least as much; the failure probability is charged
  /// apart. @pre planned
  [[nodiscard]] ShiftSquaredAmount cost_of_draw() const;
  /// The sum of all its draws: what a message costs where a record is in every one of them.
  [[nodiscard]] ShiftSquaredAmount cost() const;
  /// Of the noise on each coordinate of one silo's mean, real units: a local run's of each step, a binomial sum's with
  /// the largest variance that rounding can add. Zero for public records.
  [[nodiscard]] double noise_stddev_of_mean() const;
  [[nodiscard]] bool sampled() const noexcept { return shape.with_replacement || records_drawn < population; }
  /// Whether some draw may leave a record of the block out.
  [[nodiscard]] bool reads_part() const noexcept { return shape.with_replacement || records_drawn < block_records; }
};

}  // namespace undertone::privacy
