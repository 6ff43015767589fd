#include "shared/privacy/plan.hpp"

#include <algorithm>
#include <cmath>

#include "shared/privacy/gaussian_accountant.hpp"

namespace undertone::privacy {
namespace {

constexpr std::uint64_t kRoundsMax = 1'000'000;

std::int64_t block_records(const SiloFacts& facts, Block block) {
  switch (block) {
    case Block::Training:
      return facts.records;
    case Block::Holdout:
      return facts.holdout_records;
  }
  UNDERTONE_CHECK(false);
}

bool is_public(const SiloFacts& facts, Block block) { return block == Block::Holdout && facts.holdout_public; }

/// Exact sums of public records are quantised too, so that every mode and order of arrival agrees to the bit.
Lattice public_lattice(const ClipNorm& clip) {
  Lattice lattice;
  lattice.clip = std::int64_t{1} << 30;
  lattice.step = std::ldexp(clip.value(), -30);
  return lattice;
}

/// delta of the implementation: (1 + e^epsilon) times the total variation of all messages, rounded up.
Result<DeltaAmount> implementation_delta(const Epsilon& epsilon, std::uint64_t messages) {
  if (epsilon.value() > 30.0) {
    return Error{ErrorCode::InvalidArgument, fmt::format("epsilon must be at most 30, got {}", epsilon.value())};
  }
  const auto factor = static_cast<std::uint64_t>(std::ceil(1.0 + std::exp(epsilon.value())));
  Result<DeltaAmount> per_message = kTotalVariationPerMessage.times(factor);
  if (!per_message) return per_message;
  return per_message->times(messages);
}

}  // namespace

const Lattice& Release::lattice() const {
  if (const auto* gaussian = std::get_if<GaussianLattice>(&mechanism)) return gaussian->lattice;
  return std::get<ExactPublicSum>(mechanism).lattice;
}

ShiftSquaredAmount Release::cost() const {
  if (const auto* gaussian = std::get_if<GaussianLattice>(&mechanism)) return gaussian->shift_squared();
  return {};
}

const Release* Plan::release(RoundIndex round) const {
  std::uint64_t first = 0;
  for (const Segment& segment : segments_) {
    if (round.value < first + segment.rounds) return &segment.release;
    first += segment.rounds;
  }
  return nullptr;
}

ShiftSquaredAmount Plan::cost(Block block) const {
  switch (block) {
    case Block::Training:
      return training_cost_;
    case Block::Holdout:
      return holdout_cost_;
  }
  UNDERTONE_CHECK(false);
}

Result<Plan> make_plan(const Schedule& schedule, const SiloFacts& facts) {
  std::uint64_t rounds_of[2] = {0, 0};
  std::uint64_t rounds = 0;
  const auto index = [](Block block) { return block == Block::Training ? 0U : 1U; };
  for (const ScheduledRounds& part : schedule) {
    if (part.rounds > kRoundsMax - rounds) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("silo {}: more than {} rounds", facts.silo.name(), kRoundsMax)};
    }
    rounds += part.rounds;
    rounds_of[index(part.shape.block)] += part.rounds;
  }
  const Result<DeltaAmount> implementation = implementation_delta(facts.epsilon, rounds);
  if (!implementation) return implementation.error();
  const Result<DeltaAmount> target_delta = DeltaAmount::rounded_down(facts.delta.value());
  if (!target_delta) return target_delta.error();
  if (*implementation >= *target_delta) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("silo {}: delta {} does not cover the implementation delta {} of {} messages",
                             facts.silo.name(), facts.delta.value(), implementation->value_rounded_up(), rounds)};
  }
  const auto mechanism_amount = DeltaAmount::from_units(target_delta->units() - implementation->units());
  const Result<Delta> mechanism_delta = Delta::create(mechanism_amount.value_rounded_down());
  if (!mechanism_delta) return mechanism_delta.error();
  const double total = gaussian_shift_for(facts.epsilon, *mechanism_delta).value();
  const Result<ShiftSquaredAmount> affordable = ShiftSquaredAmount::rounded_down(total * total * (1.0 - 0x1p-50));
  if (!affordable) return affordable.error();

  Plan plan(mechanism_amount, *mechanism_delta);
  plan.rounds_ = rounds;
  for (const ScheduledRounds& part : schedule) {
    if (part.rounds == 0) continue;
    const std::int64_t population = block_records(facts, part.shape.block);
    const auto drawn =
        static_cast<std::int64_t>(std::floor(part.shape.draw_fraction * static_cast<double>(population)));
    if (drawn < 1 || drawn > population) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("silo {}: a draw of {} of {} records in block {}", facts.silo.name(), drawn, population,
                               part.shape.block == Block::Training ? "training" : "holdout")};
    }
    Release release{part.shape, drawn, ExactPublicSum{public_lattice(part.shape.clip)}};
    if (!is_public(facts, part.shape.block)) {
      // An equal share in whole units, so that what the lattice charges, rounded up to a unit, never exceeds it.
      const UInt128 share = affordable->units() / rounds_of[index(part.shape.block)];
      const Result<GaussianShift> shift =
          GaussianShift::create(std::sqrt(std::ldexp(static_cast<double>(share), -40)) * (1.0 - 0x1p-50));
      if (!shift) return shift.error();
      const Result<GaussianLattice> lattice = gaussian_lattice(part.shape.clip, *shift, part.shape.dimension, drawn);
      if (!lattice) return Error{lattice.error().code, facts.silo.name() + ": " + lattice.error().message};
      release.mechanism = *lattice;
      ShiftSquaredAmount& cost = part.shape.block == Block::Training ? plan.training_cost_ : plan.holdout_cost_;
      const Result<ShiftSquaredAmount> added = release.cost().times(part.rounds);
      if (!added) return added.error();
      const Result<ShiftSquaredAmount> sum = cost.plus(*added);
      if (!sum) return sum.error();
      cost = *sum;
    }
    plan.segments_.push_back({release, part.rounds});
  }

  const ShiftSquaredAmount dearest = std::max(plan.training_cost_, plan.holdout_cost_);
  if (dearest.units() != 0) {
    // The accountant decides, on the integers that will be used.
    const GaussianShift shift = total_shift(dearest);
    if (!(log_delta_of_gaussian(facts.epsilon.value(), shift) <= std::log(mechanism_delta->value()))) {
      return Error{ErrorCode::Internal,
                   fmt::format("silo {}: a shift of {} misses the promised epsilon {} at delta {}", facts.silo.name(),
                               shift.value(), facts.epsilon.value(), mechanism_delta->value())};
    }
    const double spent = std::min(epsilon_of_gaussian(shift, *mechanism_delta), facts.epsilon.value());
    const Result<EpsilonAmount> epsilon = EpsilonAmount::rounded_up(spent);
    if (!epsilon) return epsilon.error();
    plan.epsilon_ = *epsilon;
    plan.delta_ = *target_delta;
  }
  return plan;
}

}  // namespace undertone::privacy
