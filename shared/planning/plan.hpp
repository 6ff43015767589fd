#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shared/accounting/accountant.hpp"
#include "shared/accounting/allocation.hpp"
#include "shared/accounting/shuffled_credit.hpp"
#include "shared/base/ids.hpp"
#include "shared/base/result.hpp"
#include "shared/base/round_set.hpp"
#include "shared/planning/release.hpp"
#include "shared/releases/cost.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"
#include "shared/releases/silo_facts.hpp"

namespace undertone::planning {

/// Rounds that ask for the same, in a row.
struct ScheduledRounds {
  releases::Ask ask;
  std::uint64_t rounds = 0;
};
/// What a job asks of every silo, in order. Public.
using Schedule = std::vector<ScheduledRounds>;
/// What a round asks for; null beyond the schedule.
[[nodiscard]] const releases::Ask* ask_of(const Schedule& schedule, RoundIndex round);

/// What hides a silo's private replies among others'. The guarantee then rests on a shuffler that does not collude with
/// whoever reads them, and on so many honest silos in every round, the silo itself among them.
struct Shuffling {
  std::int64_t honest_silos = 1;
  bool binomial = true;        // else Gaussian reports, mixed
  std::int64_t coins_max = 1;  // of a record's coordinate, binomial
};

/// What a plan owes to nobody knowing in which part a record was: all parts are charged as one event.
struct PartsCredit {
  releases::Slice::Assignment assignment = releases::Slice::Assignment::Bins;  // that is kept secret
  releases::DeltaAmount overflow = {};  // of delta: for bins that more records drew than they have rows
  /// How many times as much noise it would take if the parts were told, so that they composed in parallel. Nothing
  /// where the noise was chosen.
  std::optional<double> gain = {};
  /// Whether epsilon is that of the parts together; else that of each for itself, which was no more.
  bool together = true;
};

/// The law of a release's noise: what its event adds up in.
enum class Law : std::uint8_t { Gaussian, Pure, Ranged, Concentrated };

/// What each release may cost, by the law of its noise.
struct PureShare {
  releases::Epsilon epsilon;
};
struct RangedShare {
  releases::Epsilon epsilon;
};
struct ConcentratedShare {
  releases::Rho rho;
};

class Plan;
/// `make_plan`, whatever it takes.
[[nodiscard]] Result<Plan> calibrated_plan(const Schedule& schedule, const releases::SiloFacts& facts,
                                           const std::optional<Shuffling>& shuffling);

/// The complete, ordered list of what a silo will release if it takes part, and what that costs. Round r asks for
/// release r; rounds may be skipped, never repeated or reordered.
class Plan {
 public:
  struct Segment {
    Release release;
    std::uint64_t rounds = 0;
  };

  [[nodiscard]] const Release* release(RoundIndex round) const;
  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_; }
  /// Draws of noise of all rounds: as many, or more where a message is made of several.
  [[nodiscard]] std::uint64_t draws() const noexcept { return draws_; }
  [[nodiscard]] const std::vector<Segment>& segments() const noexcept { return segments_; }
  /// What is protected. It is the same in all releases of a plan.
  [[nodiscard]] releases::Unit unit() const noexcept {
    return segments_.empty() ? releases::Unit::Record : segments_.front().release.ask.unit();
  }
  /// What the releases that read the block cost together: what a run may spend of it, sampled or not.
  [[nodiscard]] const releases::Cost& cost(releases::Block block) const;
  /// Whether some release of the block is charged: not whether it spends much.
  [[nodiscard]] bool protects(releases::Block block) const;
  /// Whether any private release reads a random subset or a slice of the block: then that is what epsilon rests on.
  [[nodiscard]] bool reads_parts(releases::Block block) const;
  /// Whether there are several passes over bins, each with a draw of its own.
  [[nodiscard]] bool draws_bins_anew() const;
  /// Whether a release may hold a record several times.
  [[nodiscard]] bool draws_with_replacement() const;
  /// The private releases of a block as the accountant sees them.
  [[nodiscard]] std::vector<accounting::RepeatedEvent> events(releases::Block block) const;
  /// Epsilon at another delta of all private releases of a block, as they are charged together, with what bins may
  /// overflow taken off delta. @pre there are some
  [[nodiscard]] Result<double> epsilon_at(releases::Block block, releases::Delta delta) const;
  /// Epsilon at the mechanism's delta of the releases of these rounds and of no others: an odometer, no guarantee. It
  /// is at most the plan's. It is the plan's from the first round on where records draw bins anew for every pass, and
  /// where finding it would take more than `kPlanWorkMax` operations.
  [[nodiscard]] double epsilon_of(const RoundSet& made) const;
  /// Epsilon at the plan's whole delta of what costs more than the plan, such as the same releases seen by somebody who
  /// knows more. Samplers may deviate from their law, and what that takes of delta grows with epsilon, so both are
  /// found together. @param at epsilon at a mechanism's delta; nothing where there is no bound
  /// @return nothing where there is no bound, or only one beyond 30
  [[nodiscard]] std::optional<double> epsilon_with_samplers(
      const std::function<std::optional<double>(releases::Delta)>& at) const;
  /// The private releases of a block as a ledger keeps them, so that others can account for them: groups of
  /// "LAW:UNITS*ROUNDS@K/N" with commas between, the cost of a draw as `Cost::to_string` writes it; of a selection
  /// along a path the dearest node's, after which each other node follows as "&LAW:UNITS@K/N+FROM:TO"; "!FAILURE", in
  /// units of 2^-80, follows where a cost holds but for that; "r" follows where K are drawn with replacement,
  /// "^STEPS" where each message is made of so many draws, "+FROM:TO" where only these positions of the block's
  /// permutation are read, "~FROM:TO/POSITIONS:ROWS" where only these of so many that every record drew one of for
  /// itself, and the work is that of so many rows; "=FROM:TO/POSITIONS" where only these of a permutation that the
  /// noise counts on.
  [[nodiscard]] std::string releases_text(releases::Block block) const;
  /// Epsilon at the plan's delta if everybody knew which records each release drew, and no mixing helped: what was kept
  /// by versions in which a record's place in a draw could show. Binomial sums still count on the honest silos' coins.
  /// Nothing where there is no bound, or only one beyond 30.
  [[nodiscard]] std::optional<double> epsilon_of_known_draws() const;
  /// Epsilon, at the plan's delta, of a silo's own noise alone: what remains where shufflers and whoever reads what
  /// they forward work together. Nothing where a silo's coins are too few for any bound, it would be beyond 30, or the
  /// plan is not shuffled.
  [[nodiscard]] std::optional<double> epsilon_without_shuffler() const;
  /// How epsilon was reached, in words.
  [[nodiscard]] std::string accountant() const;
  /// (epsilon, delta) for replacement of any one record: the dearest block, mechanism and implementation delta added.
  [[nodiscard]] releases::EpsilonAmount epsilon() const noexcept { return epsilon_; }
  [[nodiscard]] releases::DeltaAmount delta() const noexcept { return delta_; }
  /// The part of delta that profiles are evaluated at: what the implementation leaves, at most the amount. Nothing of a
  /// pure target.
  [[nodiscard]] const std::optional<releases::Delta>& mechanism_delta() const noexcept { return mechanism_delta_; }
  /// What all binomial sums of the plan take of delta together: their failures, rounded up; of reports the credit's.
  /// @see BinomialShift, ShufflerCredit
  [[nodiscard]] releases::DeltaAmount failure_delta() const noexcept { return failure_delta_; }
  /// Of reports: what epsilon owes to the shuffler, and the noise is less for. Nothing where mixing gains nothing for
  /// so few or so loud silos: then the plan is the local one.
  [[nodiscard]] const std::optional<accounting::ShufflerCredit>& credit() const noexcept { return credit_; }
  /// The rounds that a credit could be for: nothing where the plan is not of reports, or its private releases are not
  /// all of one draw of equally many of equally many records, as often for every record that is read, or too many.
  [[nodiscard]] std::optional<accounting::ShuffledRounds> reported_rounds() const;
  [[nodiscard]] const std::optional<Shuffling>& shuffling() const noexcept { return shuffling_; }
  /// Of a plan whose noise counts on secret parts.
  [[nodiscard]] const std::optional<PartsCredit>& parts_credit() const noexcept { return parts_credit_; }
  [[nodiscard]] releases::DeltaAmount mechanism_delta_amount() const noexcept { return mechanism_delta_amount_; }

 private:
  friend Result<Plan> calibrated_plan(const Schedule&, const releases::SiloFacts&, const std::optional<Shuffling>&);
  /// Chooses every private release's lattice for the target.
  [[nodiscard]] Status calibrate(const releases::SiloFacts& facts, const releases::Target& target);
  /// How loud the releases of a group are, by the law of their noise.
  using Strength = std::variant<releases::GaussianShift, PureShare, RangedShare, ConcentratedShare>;
  /// A strength as a release of this law has it, as loud. @see common_loudness
  [[nodiscard]] static Strength in_law(const Strength& strength, Law law);
  /// Of groups that read the same records in each of so many rounds, as far as they are known.
  using EqualShares = std::map<std::uint64_t, releases::GaussianShift>;
  /// Mechanisms by the text of all that they are chosen for: an evaluation every few rounds cuts a schedule into
  /// thousands of segments that differ in nothing else.
  using Mechanisms = std::map<std::string, mechanisms::Mechanism>;
  /// What one calibration has found so far.
  struct Found {
    EqualShares shifts;
    Mechanisms mechanisms;
  };
  /// @param group indices of segments that read records together
  /// @param louder what a Gaussian shift of secret parts that was not chosen is multiplied with
  [[nodiscard]] Status calibrate_group(const std::vector<std::size_t>& group, const releases::SiloFacts& facts,
                                       const releases::Target& target, double louder, Found& found);
  /// How much louder secret parts may be than if each were calibrated for itself.
  [[nodiscard]] Result<double> louder_in_secret(const std::vector<std::vector<std::size_t>>& groups,
                                                const releases::SiloFacts& facts, const releases::Target& target,
                                                Found& found) const;
  [[nodiscard]] Result<Strength> strength_of(const std::vector<std::size_t>& group, const releases::SiloFacts& facts,
                                             const releases::Target& target, Found& found) const;
  /// What an ask's own share of the promise allows. @pre it has one
  [[nodiscard]] Result<Strength> strength_of_share(const releases::Ask& ask, const releases::Target& target) const;
  /// `mechanism_for`, each demand once.
  [[nodiscard]] Result<mechanisms::Mechanism> mechanism_once(const Release& release, const Strength& strength,
                                                             Mechanisms& known) const;
  [[nodiscard]] Result<mechanisms::Mechanism> mechanism_for(const Release& release, const Strength& strength) const;
  [[nodiscard]] Result<mechanisms::Mechanism> binomial_for(const Release& release, releases::GaussianShift shift) const;
  /// Calibrates until the accountant agrees that the target is met.
  [[nodiscard]] Status meet(const releases::SiloFacts& facts);
  /// Less noise, where mixing allows it; else nothing changes.
  void take_credit(const releases::SiloFacts& facts);
  [[nodiscard]] Status charge_cost(const Segment& segment);
  /// So many releases as the accountant sees them, for the records of each part that they treat alike.
  [[nodiscard]] std::vector<accounting::RepeatedEvent> events_of(const Release& release, std::uint64_t times) const;
  /// Epsilon at the plan's whole delta if its releases were these instead, block by block. Nothing beyond 30.
  [[nodiscard]] std::optional<double> epsilon_of_other_events(
      const std::vector<std::vector<accounting::RepeatedEvent>>& blocks) const;
  /// Epsilon of a block's releases; the target where the profile says that it holds.
  [[nodiscard]] Result<double> charge(releases::Block block, const releases::Epsilon& target) const;
  /// The secret parts that are read, as they are. @pre some are
  [[nodiscard]] Result<accounting::Allocation> allocation() const;
  /// Epsilon of the secret parts that are read, as one event. @pre some are
  [[nodiscard]] Result<double> charge_secret_parts(const releases::Epsilon& target) const;
  /// Epsilon of releases at the mechanism's delta; of a pure target their sum.
  [[nodiscard]] Result<double> charged(const std::vector<accounting::RepeatedEvent>& events) const;
  Plan(releases::DeltaAmount amount, std::optional<releases::Delta> value)
      : mechanism_delta_amount_(amount), mechanism_delta_(value) {}
  std::vector<Segment> segments_;
  std::uint64_t rounds_ = 0;
  std::uint64_t draws_ = 0;
  releases::Cost training_cost_;
  releases::Cost holdout_cost_;
  releases::EpsilonAmount epsilon_;
  releases::DeltaAmount delta_;
  releases::DeltaAmount mechanism_delta_amount_;
  std::optional<releases::Delta> mechanism_delta_;
  releases::DeltaAmount failure_delta_;
  double failure_each_ = 0.0;  // of one binomial sum
  std::optional<accounting::ShufflerCredit> credit_;
  std::optional<Shuffling> shuffling_;
  std::optional<PartsCredit> parts_credit_;
};

/// Calibrates every release of the schedule to the silo's target. Sums of l2-bounded vectors are Gaussian, but for pure
/// targets, where they are discrete Laplace, as statistics are or Gaussian as their bound says, and for asks that name
/// the norm of a generalised Gaussian; selections are exponential mechanisms. All private releases that read the same
/// records have the same shift, or the shares of it that their asks name, and the smallest noise that the accountant
/// allows, the exact Gaussian profile where every record is read, numeric composition of the dominating profile of
/// fixed-size subsets or multisets where a part is drawn. Slices that no release joins are calibrated each for the
/// whole target; secret parts all together, as one event that nobody knows the place of a record in: all that this
/// saves goes to them, what else reads the records keeps the noise that it has beside parts that are told. Under
/// replacement of one record the sum over a block changes by at most 2 clip in l2, whichever records were drawn, since
/// the draw does not depend on their values. A pure function, computed by both ends and trusted only on the silo's;
/// sampled plans take up to seconds, the last few are remembered.
/// @param shuffling what hides the private replies, if anything: they are then binomial sums with the coarsest grid and
///   the fewest coins that keep every record's promise in a total of so many honest silos; or reports, whose noise is
///   the least that the better of two guarantees allows: the local one, and that of mixing with so many honest silos
/// @return an error where a block is empty or a batch would be, a bound is left, the calibrated plan misses the target,
/// or finding it takes more than `kPlanWorkMax` operations
[[nodiscard]] Result<Plan> make_plan(const Schedule& schedule, const releases::SiloFacts& facts,
                                     const std::optional<Shuffling>& shuffling = std::nullopt);

/// What one plan may take, in operations of a WorkMeter.
inline constexpr std::uint64_t kPlanWorkMax = std::uint64_t{1} << 28U;

/// What it would take for a shuffler to be worth something to a plan of reports without a credit, in words; found by
/// doubling the silos, within seconds. Empty where the plan has a credit or is not of reports.
[[nodiscard]] std::string shuffler_needs(const Plan& plan, const releases::SiloFacts& facts);

/// Total variation charged for each message against a sampler that deviates from the exact law, in delta units (2^-80).
/// Samplers are exact but for less: Gaussians beyond 40 deviations, generalised Gaussians as docs/accounting.md says.
inline constexpr releases::DeltaAmount kTotalVariationPerMessage = releases::DeltaAmount::from_units(1);

/// delta of the implementation: (1 + e^epsilon) times the total variation of all messages, rounded up.
/// @return an error where epsilon is above 30
[[nodiscard]] Result<releases::DeltaAmount> implementation_delta(const releases::Epsilon& epsilon,
                                                                 std::uint64_t messages);

/// A sentence where delta is not a hundred times below the share of the records that some release draws: it then covers
/// a good part of the chance of being drawn at all, and a record that is drawn may be nearly bare. Empty where it is.
[[nodiscard]] std::string delta_warning(const Plan& plan);

}  // namespace undertone::planning
