#include <algorithm>
#include <cmath>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/mechanisms/binomial_sum/binomial_report.hpp"
#include "shared/planning/plan.hpp"
#include "shared/planning/plan_parts.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::planning {
namespace {

constexpr std::uint64_t kDrawsMax = 1'000'000;  // of all messages together: as many as verifiers compose
constexpr std::size_t kSegmentsMax = 14'000;    // 4,000 of an algorithm, and its evaluations between
constexpr double kShiftMax = 16.0;  // of one release: beyond it a record that was drawn is as good as published

std::int64_t block_records(const releases::SiloFacts& facts, releases::Block block) {
  switch (block) {
    case releases::Block::Training:
      return facts.records;
    case releases::Block::Holdout:
      return facts.holdout_records;
  }
  UNDERTONE_CHECK(false);
}

bool is_public(const releases::SiloFacts& facts, releases::Block block) {
  return releases::public_block(facts, block).has_value();
}

/// Exact sums of public records are quantised too, so that every mode and order of arrival agrees to the bit.
mechanisms::Lattice public_lattice(const releases::ClipNorm& clip) {
  mechanisms::Lattice lattice;
  lattice.clip = std::int64_t{1} << 30;
  lattice.step = std::ldexp(clip.value(), -30);
  return lattice;
}

/// The shift of each of `rounds` releases that read every record: an equal share in whole units, so that what the
/// lattices charge, rounded up to a unit, never exceeds the whole.
Result<releases::GaussianShift> equal_share(std::uint64_t rounds, const releases::Epsilon& epsilon,
                                            const releases::Delta& delta) {
  const double total = accounting::gaussian_shift_for(epsilon, delta).value();
  const Result<releases::ShiftSquaredAmount> affordable =
      releases::ShiftSquaredAmount::rounded_down(total * total * (1.0 - 0x1p-50));
  if (!affordable) return affordable.error();
  const releases::UInt128 each = affordable->units() / rounds;  // whole units: the remainder is not spent
  return releases::GaussianShift::create(std::sqrt(std::ldexp(static_cast<double>(each), -40)) * (1.0 - 0x1p-50));
}

}  // namespace

Result<releases::DeltaAmount> implementation_delta(const releases::Epsilon& epsilon, std::uint64_t messages) {
  if (epsilon.value() > 30.0) {
    return Error{ErrorCode::InvalidArgument, fmt::format("epsilon must be at most 30, got {}", epsilon.value())};
  }
  const auto factor = static_cast<std::uint64_t>(std::ceil(1.0 + std::exp(epsilon.value())));
  Result<releases::DeltaAmount> per_message = kTotalVariationPerMessage.times(factor);
  if (!per_message) return per_message;
  return per_message->times(messages);
}

Result<Plan> make_plan(const Schedule& schedule, const releases::SiloFacts& facts,
                       const std::optional<Shuffling>& shuffling) {
  std::uint64_t rounds = 0;
  for (const ScheduledRounds& part : schedule) {
    if (part.rounds > releases::kRoundsMax - rounds) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("silo {}: more than {} rounds", facts.silo.name(), releases::kRoundsMax)};
    }
    rounds += part.rounds;
  }
  std::uint64_t draws = 0;
  for (const ScheduledRounds& part : schedule) {
    const std::uint64_t each = part.shape.local ? part.shape.local->steps : 1;
    std::uint64_t all = 0;
    if (each == 0 || __builtin_mul_overflow(each, part.rounds, &all) || all > kDrawsMax - draws) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("silo {}: more than {} draws of records", facts.silo.name(), kDrawsMax)};
    }
    draws += all;
  }
  const std::uint64_t silos =
      shuffling && shuffling->binomial ? static_cast<std::uint64_t>(shuffling->honest_silos) : 1;
  if (silos > kDrawsMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("silo {}: more than {} honest silos", facts.silo.name(), kDrawsMax)};
  }
  // A total's coins are those of all honest silos, and so is what their samplers may be off.
  const Result<releases::DeltaAmount> implementation = implementation_delta(facts.epsilon, draws * silos);
  if (!implementation) return implementation.error();
  const Result<releases::DeltaAmount> target_delta = releases::DeltaAmount::rounded_down(facts.delta.value());
  if (!target_delta) return target_delta.error();
  if (*implementation >= *target_delta) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("silo {}: delta {} does not cover the implementation delta {} of {} draws of noise",
                    facts.silo.name(), facts.delta.value(), implementation->value_rounded_up(), draws * silos)};
  }
  auto mechanism_amount = releases::DeltaAmount::from_units(target_delta->units() - implementation->units());
  std::uint64_t binomial_rounds = 0;
  if (shuffling && shuffling->binomial) {
    for (const ScheduledRounds& part : schedule)
      if (!is_public(facts, part.shape.block)) binomial_rounds += part.rounds;
  }
  releases::DeltaAmount failure_all;
  double failure_each = 0.0;
  if (binomial_rounds > 0) {
    constexpr double kFailureShare = 1.0 / 32.0;  // of delta: what it costs the rest is a third of a percent of epsilon
    failure_each = mechanism_amount.value_rounded_down() * kFailureShare / static_cast<double>(binomial_rounds);
    const Result<releases::DeltaAmount> each = releases::DeltaAmount::rounded_up(failure_each);
    if (!each) return each.error();
    const Result<releases::DeltaAmount> all = each->times(binomial_rounds);
    if (!all) return all.error();
    if (*all >= mechanism_amount)
      return Error{ErrorCode::InvalidArgument, fmt::format("silo {}: delta {} does not cover the failures of {} rounds",
                                                           facts.silo.name(), facts.delta.value(), binomial_rounds)};
    failure_all = *all;
    mechanism_amount = releases::DeltaAmount::from_units(mechanism_amount.units() - failure_all.units());
  }
  const Result<releases::Delta> mechanism_delta = releases::Delta::create(mechanism_amount.value_rounded_down());
  if (!mechanism_delta) return mechanism_delta.error();
  Plan plan(mechanism_amount, *mechanism_delta);
  plan.shuffling_ = shuffling;
  plan.failure_delta_ = failure_all;
  plan.failure_each_ = failure_each;
  plan.rounds_ = rounds;
  plan.draws_ = draws;
  for (const ScheduledRounds& part : schedule) {
    if (part.rounds == 0) continue;
    const std::int64_t whole = block_records(facts, part.shape.block);
    const releases::Slice::Positions positions =
        part.shape.slice ? part.shape.slice->positions(whole) : releases::Slice::Positions{0, whole};
    const std::int64_t population = positions.to - positions.from;
    UNDERTONE_CHECK(part.shape.local.has_value() == (part.shape.kind == releases::QuestionKind::LocalRun));
    const auto drawn =
        part.shape.local
            ? std::min<std::int64_t>(population, 1)
            : static_cast<std::int64_t>(std::floor(part.shape.draw_fraction * static_cast<double>(population)));
    if (drawn < 1 || drawn > population) {
      const char* block = part.shape.block == releases::Block::Training ? "training" : "holdout";
      if (part.shape.slice && population < 1) {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("silo {}: {} rounds read disjoint parts of its n = {} {} records, which leaves none for "
                        "part {}: R K <= n is needed, K >= 1 records a round",
                        facts.silo.name(), part.shape.slice->of, whole, block, part.shape.slice->index + 1)};
      }
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("silo {}: K = {} of n = {} {} records a round, expected from 1 to n (draw_fraction {})",
                               facts.silo.name(), drawn, population, block, part.shape.draw_fraction)};
    }
    if (part.shape.with_replacement && (shuffling || part.shape.local)) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("silo {}: draws with replacement are of sums that no shuffler hides", facts.silo.name())};
    }
    mechanisms::Mechanism mechanism = mechanisms::Unplanned{};
    if (const auto records = releases::public_block(facts, part.shape.block))
      mechanism = mechanisms::ExactPublicSum{*records, public_lattice(part.shape.clip)};
    plan.segments_.push_back({{part.shape, drawn, population, mechanism, whole, positions}, part.rounds});
    if (plan.segments_.size() > kSegmentsMax) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("silo {}: more than {} kinds of releases", facts.silo.name(), kSegmentsMax)};
    }
  }
  if (Status met = plan.meet(facts); !met) return met.error();
  if (shuffling && !shuffling->binomial) plan.take_credit(facts);
  return plan;
}

Status Plan::meet(const releases::SiloFacts& facts) {
  const Result<releases::DeltaAmount> target_delta = releases::DeltaAmount::rounded_down(facts.delta.value());
  if (!target_delta) return target_delta.error();
  const bool fixed = std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
    return segment.release.shape.shift && !is_public(facts, segment.release.shape.block);
  });
  // The accountant decides, on the integers that will be used: a numeric one may need a second, smaller aim.
  double aim = facts.epsilon.value();
  for (int attempt = 0; attempt < 4; ++attempt) {
    if (Status calibrated = calibrate(facts, *releases::Epsilon::create(aim)); !calibrated) return calibrated.error();
    double epsilon = 0.0;
    for (const releases::Block block : {releases::Block::Training, releases::Block::Holdout}) {
      const Result<double> charged = charge(block, facts.epsilon);
      if (!charged) return Error{charged.error().code, facts.silo.name() + ": " + charged.error().message};
      epsilon = std::max(epsilon, *charged);
    }
    // By what is spent, not by epsilon: a private release may well be (0, delta)-DP, and costs that delta.
    if (!protects(releases::Block::Training) && !protects(releases::Block::Holdout)) return {};
    if (epsilon <= facts.epsilon.value()) {
      const Result<releases::EpsilonAmount> amount = releases::EpsilonAmount::rounded_up(epsilon);
      if (!amount) return amount.error();
      epsilon_ = *amount;
      delta_ = *target_delta;
      return {};
    }
    if (fixed) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("silo {}: the noise that was chosen costs epsilon {:.6g} at delta {}, at most {} was "
                               "promised",
                               facts.silo.name(), epsilon, facts.delta.value(), facts.epsilon.value())};
    }
    aim *= facts.epsilon.value() / epsilon * (1.0 - 1e-6);
  }
  return Error{ErrorCode::Internal,
               fmt::format("silo {}: no noise was found that meets the promised epsilon {} at delta {}",
                           facts.silo.name(), facts.epsilon.value(), mechanism_delta_.value())};
}

Status Plan::calibrate(const releases::SiloFacts& facts, const releases::Epsilon& epsilon) {
  training_cost_ = {};
  holdout_cost_ = {};
  Found found;
  for (const releases::Block block : {releases::Block::Training, releases::Block::Holdout}) {
    if (is_public(facts, block)) continue;
    for (const Group& group : groups_of(segments_, block)) {
      if (Status calibrated = calibrate_group(group, facts, epsilon, found); !calibrated) return calibrated;
    }
  }
  return {};
}

Result<mechanisms::Mechanism> Plan::mechanism_for(const Release& release, releases::GaussianShift shift) const {
  if (!shuffling_ || !shuffling_->binomial) {
    const Result<mechanisms::GaussianLattice> lattice =
        mechanisms::gaussian_lattice(release.shape.clip, shift, release.shape.dimension, release.records_drawn);
    if (!lattice) return lattice.error();
    return mechanisms::Mechanism(*lattice);
  }
  mechanisms::BinomialRound round{shift, failure_each_, release.shape.dimension,
                                  shuffling_->honest_silos * release.records_drawn, shuffling_->coins_max};
  const Result<mechanisms::BinomialChoice> choice = mechanisms::binomial_parameters_for(round);
  if (!choice) return choice.error();
  if (const Result<noise::BinomialTable> coins = mechanisms::binomial_coins(choice->parameters, release.records_drawn);
      !coins)
    return coins.error();
  constexpr std::int64_t kGridUnitsMax = std::int64_t{1} << 28U;  // that a silo's sum keeps well inside 62 bits
  if (release.records_drawn > kGridUnitsMax / choice->parameters.grid()) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{} records on a grid of {}: a silo's sum has at most {} grid units",
                             release.records_drawn, choice->parameters.grid(), kGridUnitsMax)};
  }
  const Result<mechanisms::BinomialShift> certified =
      mechanisms::binomial_shift(choice->parameters, round.dimension, round.vectors, failure_each_);
  if (!certified) return certified.error();
  return mechanisms::Mechanism(mechanisms::BinomialSum{
      mechanisms::binomial_lattice(choice->parameters, release.shape.clip), choice->parameters, *certified});
}

Result<mechanisms::Mechanism> Plan::mechanism_once(const Release& release, releases::GaussianShift shift,
                                                   Mechanisms& known) const {
  const MechanismDemand demand{release.shape.dimension, release.records_drawn, release.shape.clip.value(),
                               shift.value()};
  if (const auto one = known.find(demand); one != known.end()) return one->second;
  Result<mechanisms::Mechanism> made = mechanism_for(release, shift);
  if (made) known.emplace(demand, *made);
  return made;
}

Status Plan::calibrate_group(const Group& group, const releases::SiloFacts& facts, const releases::Epsilon& epsilon,
                             Found& found) {
  std::vector<DrawnRounds> drawn;
  std::uint64_t rounds = 0;
  bool whole = true;  // every release of the group reads the very same records
  for (const std::size_t i : group) {
    const Release& release = segments_[i].release;
    const std::uint64_t draws = segments_[i].rounds * release.draws();
    drawn.push_back({drawn_part(release), draws, footprint_of(release)});
    rounds += draws;
    whole = whole && !release.sampled() && release.positions == segments_[group.front()].release.positions;
  }
  // Groups that look alike, such as the parts of one pass, are calibrated once.
  if (std::all_of(drawn.begin(), drawn.end(),
                  [&](const DrawnRounds& one) { return one.footprint == drawn.front().footprint; })) {
    for (DrawnRounds& one : drawn) one.footprint = {};
  }
  // Chosen noise is taken as it is; what it costs is charged with the rest.
  const bool chosen = segments_[group.front()].release.shape.shift.has_value();
  for (const std::size_t i : group)
    if (segments_[i].release.shape.shift.has_value() != chosen)
      return Error{ErrorCode::InvalidArgument, facts.silo.name() + ": noise that is chosen for some releases only"};
  const auto known = found.shifts.find(rounds);
  const Result<releases::GaussianShift> shift = chosen ? *segments_[group.front()].release.shape.shift
                                                : whole && known != found.shifts.end() ? known->second
                                                : whole ? equal_share(rounds, epsilon, mechanism_delta_)
                                                        : common_shift(drawn, epsilon, mechanism_delta_);
  if (whole && !chosen && shift) found.shifts.emplace(rounds, *shift);
  if (!shift) return Error{shift.error().code, facts.silo.name() + ": " + shift.error().message};
  if (!chosen && shift->value() > kShiftMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("silo {}: delta {} covers the chance of being drawn at all, so that a release would have "
                             "a shift of {:.3g}, at most {} is allowed: choose a smaller delta",
                             facts.silo.name(), facts.delta.value(), shift->value(), kShiftMax)};
  }
  for (const std::size_t i : group) {
    Segment& segment = segments_[i];
    Release& release = segment.release;
    const releases::GaussianShift own = release.shape.shift.value_or(*shift);
    if (own.value() > kShiftMax) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("silo {}: a shift of {:.3g} was chosen, at most {} is allowed", facts.silo.name(),
                               own.value(), kShiftMax)};
    }
    const Result<mechanisms::Mechanism> mechanism = mechanism_once(release, own, found.mechanisms);
    if (!mechanism) return Error{mechanism.error().code, facts.silo.name() + ": " + mechanism.error().message};
    release.mechanism = *mechanism;
    if (Status charged = charge_cost(segment); !charged) return charged;
  }
  return {};
}

Status Plan::charge_cost(const Segment& segment) {
  const Result<releases::ShiftSquaredAmount> added = segment.release.cost().times(segment.rounds);
  if (!added) return added.error();
  releases::ShiftSquaredAmount& cost =
      segment.release.shape.block == releases::Block::Training ? training_cost_ : holdout_cost_;
  const Result<releases::ShiftSquaredAmount> sum = cost.plus(*added);
  if (!sum) return sum.error();
  cost = *sum;
  return {};
}

void Plan::take_credit(const releases::SiloFacts& facts) {
  const std::optional<accounting::ShuffledRounds> rounds = reported_rounds();
  if (!rounds) return;
  const std::optional<accounting::CreditedShift> found =
      accounting::credited_shift(*rounds, local_shift_of(segments_), facts.epsilon, mechanism_delta_amount_);
  if (!found) return;
  Plan credited = *this;
  credited.credit_ = found->credit;
  credited.failure_delta_ = found->credit.failure;
  credited.mechanism_delta_amount_ =
      releases::DeltaAmount::from_units(mechanism_delta_amount_.units() - found->credit.failure.units());
  const Result<releases::Delta> rest = releases::Delta::create(credited.mechanism_delta_amount_.value_rounded_down());
  if (!rest) return;
  credited.mechanism_delta_ = *rest;
  credited.training_cost_ = {};
  credited.holdout_cost_ = {};
  Mechanisms known;
  for (Segment& segment : credited.segments_) {
    if (segment.release.is_public()) continue;
    const Result<mechanisms::Mechanism> mechanism = mechanism_once(segment.release, found->shift, known);
    if (!mechanism) return;
    segment.release.mechanism = *mechanism;
    if (!credited.charge_cost(segment)) return;
    // The lattice's own shift, a little off what was asked for, is what the failure has to cover.
    const Result<releases::DeltaAmount> failure =
        accounting::credit_failure(*rounds, accounting::total_shift(segment.release.cost_of_draw()),
                                   credited.credit_->record_epsilon, credited.credit_->silo_epsilon, facts.epsilon);
    if (!failure || *failure > credited.failure_delta_) return;
  }
  // A record meets as many rounds whichever it is, and what a round is bounded by does not depend on the lattice.
  const Result<releases::EpsilonAmount> amount = releases::EpsilonAmount::rounded_up(found->epsilon);
  if (!amount) return;
  credited.epsilon_ = *amount;
  *this = std::move(credited);
}

}  // namespace undertone::planning
