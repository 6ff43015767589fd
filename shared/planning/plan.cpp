#include "shared/planning/plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/random_allocation.hpp"
#include "shared/base/work_meter.hpp"
#include "shared/planning/plan_parts.hpp"
#include "shared/planning/secret_parts.hpp"

namespace undertone::planning {
namespace {

/// Grid, coins, heads of how many, dimension, records, failure.
using OwnCoins =
    std::tuple<std::int64_t, std::int64_t, std::uint64_t, std::uint64_t, Eigen::Index, std::int64_t, double>;
using OwnShifts = std::map<OwnCoins, releases::GaussianShift>;

/// What a binomial sum's own coins hide of it, nobody else's added; each kind of sum is certified once.
std::optional<releases::GaussianShift> own_shift(const mechanisms::BinomialSum& sum, const Release& release,
                                                 OwnShifts& known) {
  const mechanisms::BinomialParameters& parameters = sum.parameters;
  const OwnCoins coins{parameters.grid(),
                       parameters.coins(),
                       parameters.heads().numerator,
                       parameters.heads().denominator,
                       release.ask.dimension,
                       release.records_drawn,
                       sum.shift.failure};
  if (const auto one = known.find(coins); one != known.end()) return one->second;
  const Result<mechanisms::BinomialShift> own =
      mechanisms::binomial_shift(parameters, release.ask.dimension, release.records_drawn, sum.shift.failure);
  if (!own) return std::nullopt;
  known.emplace(coins, own->shift);
  return own->shift;
}

}  // namespace

const releases::Ask* ask_of(const Schedule& schedule, RoundIndex round) {
  std::uint64_t first = 0;
  for (const ScheduledRounds& part : schedule) {
    if (round.value < first + part.rounds) return &part.ask;
    first += part.rounds;
  }
  return nullptr;
}

const Release* Plan::release(RoundIndex round) const {
  std::uint64_t first = 0;
  for (const Segment& segment : segments_) {
    if (round.value < first + segment.rounds) return &segment.release;
    first += segment.rounds;
  }
  return nullptr;
}

const releases::Cost& Plan::cost(releases::Block block) const {
  switch (block) {
    case releases::Block::Training:
      return training_cost_;
    case releases::Block::Holdout:
      return holdout_cost_;
    case releases::Block::Public: {
      static const releases::Cost none;
      return none;
    }
  }
  UNDERTONE_CHECK(false);
}

bool Plan::protects(releases::Block block) const {
  return std::any_of(segments_.begin(), segments_.end(), [block](const Segment& segment) {
    return segment.release.ask.records.block == block && !segment.release.is_public();
  });
}

bool Plan::reads_parts(releases::Block block) const {
  return std::any_of(segments_.begin(), segments_.end(), [block](const Segment& segment) {
    return segment.release.ask.records.block == block && !segment.release.is_public() && segment.release.reads_part();
  });
}

bool Plan::draws_bins_anew() const {
  return std::any_of(segments_.begin(), segments_.end(), [](const Segment& segment) {
    const std::optional<releases::Slice>& slice = segment.release.ask.records.slice;
    return slice && slice->pass() > 0;
  });
}

bool Plan::draws_with_replacement() const {
  return std::any_of(segments_.begin(), segments_.end(),
                     [](const Segment& segment) { return segment.release.ask.records.with_replacement; });
}

std::vector<accounting::RepeatedEvent> Plan::events_of(const Release& release, std::uint64_t times) const {
  if (!credit_) return local_events(release, times);
  return {{credit_->event(static_cast<std::uint64_t>(shuffling_->honest_silos)), times, footprint_of(release)}};
}

std::optional<double> Plan::epsilon_with_samplers(
    const std::function<std::optional<double>(releases::Delta)>& at) const {
  constexpr double kEpsilonMax = 30.0;  // beyond it delta covers no deviation of a sampler
  constexpr int kAttempts = 8;
  const std::uint64_t silos =
      shuffling_ && shuffling_->binomial ? static_cast<std::uint64_t>(shuffling_->honest_silos) : 1;
  // What samplers may be off is reserved at the plan's own epsilon: at a larger one it takes more of delta, which makes
  // epsilon larger again.
  if (!mechanism_delta_) return std::nullopt;
  releases::Delta left = *mechanism_delta_;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::optional<double> worst = at(left);
    if (!worst || !(*worst <= kEpsilonMax)) return std::nullopt;
    const Result<releases::Epsilon> reserved = releases::Epsilon::create(std::max(*worst, epsilon_.value_rounded_up()));
    if (!reserved) return worst;  // nothing is charged
    const Result<releases::DeltaAmount> implementation = implementation_delta(*reserved, draws_ * silos);
    if (!implementation) return std::nullopt;
    const Result<releases::DeltaAmount> taken = implementation->plus(failure_delta_);
    if (!taken || *taken >= delta_) return std::nullopt;
    const Result<releases::Delta> affordable = releases::Delta::create(
        releases::DeltaAmount::from_units(delta_.units() - taken->units()).value_rounded_down());
    if (!affordable) return std::nullopt;
    if (affordable->value() >= left.value()) return worst;
    left = *affordable;
  }
  return std::nullopt;
}

std::optional<double> Plan::epsilon_of_other_events(
    const std::vector<std::vector<accounting::RepeatedEvent>>& blocks) const {
  return epsilon_with_samplers([&blocks](releases::Delta delta) -> std::optional<double> {
    double worst = 0.0;
    for (const std::vector<accounting::RepeatedEvent>& events : blocks) {
      if (events.empty()) continue;
      const Result<double> epsilon = accounting::charged_epsilon(events, delta);
      if (!epsilon) return std::nullopt;
      worst = std::max(worst, *epsilon);
    }
    return worst;
  });
}

std::optional<double> Plan::epsilon_of_known_draws() const {
  std::vector<std::vector<accounting::RepeatedEvent>> blocks;
  for (const releases::Block block : releases::kProtectedBlocks) {
    std::vector<accounting::RepeatedEvent>& known = blocks.emplace_back();
    for (const Segment& segment : segments_) {
      const Release& release = segment.release;
      if (release.ask.records.block != block || release.is_public()) continue;
      if (release.ask.path() != nullptr) {
        for (const accounting::RepeatedEvent& event : local_events(release, segment.rounds)) known.push_back(event);
        continue;
      }
      accounting::PrivacyEvent event = local_event(release);
      if (const auto* subset = std::get_if<accounting::SubsetGaussianEvent>(&event);
          subset != nullptr && release.ask.local() == nullptr)
        event = accounting::KnownSubsetGaussianEvent{subset->rate, subset->shift};
      if (const auto* subset = std::get_if<accounting::SubsetConcentratedEvent>(&event))
        event = accounting::ConcentratedEvent{subset->rho};
      known.push_back({event, segment.rounds * release.draws(), footprint_of(release)});
    }
  }
  return epsilon_of_other_events(blocks);
}

std::vector<accounting::RepeatedEvent> Plan::events(releases::Block block) const {
  std::vector<accounting::RepeatedEvent> out;
  for (const Segment& segment : segments_) {
    const Release& release = segment.release;
    if (release.ask.records.block != block || release.is_public()) continue;
    for (const accounting::RepeatedEvent& event : events_of(release, segment.rounds * release.draws()))
      out.push_back(event);
  }
  return out;
}

double Plan::epsilon_of(const RoundSet& made) const {
  if (made.empty()) return 0.0;
  const WorkMeter meter(kPlanWorkMax);
  double worst = 0.0;
  for (const releases::Block block : releases::kProtectedBlocks) {
    releases::Cost spent;
    std::vector<accounting::RepeatedEvent> events;
    std::vector<accounting::RepeatedEvent> events_locally;
    std::uint64_t first = 0;
    for (const Segment& segment : segments_) {
      const std::uint64_t rounds = made.count(first, first + segment.rounds);
      first += segment.rounds;
      const Release& release = segment.release;
      if (rounds == 0 || release.ask.records.block != block || release.is_public()) continue;
      spent = *spent.plus(*release.cost().times(rounds));  // at most the plan's, which is representable
      for (const accounting::RepeatedEvent& event : events_of(release, rounds * release.draws()))
        events.push_back(event);
      for (const accounting::RepeatedEvent& event : local_events(release, rounds * release.draws()))
        events_locally.push_back(event);
    }
    if (events.empty()) continue;
    // A record draws a bin of its own in each pass, so that bins of two passes may hold it, whatever their positions.
    if (block == releases::Block::Training && draws_bins_anew()) return epsilon_.value_rounded_up();
    if (spent.is_gaussian() && !reads_parts(block) && !credit_) {
      worst =
          std::max(worst, accounting::epsilon_of_gaussian(accounting::total_shift(spent.gaussian), *mechanism_delta_));
      continue;
    }
    Result<double> epsilon = charged(events);
    if (credit_) {  // few rounds can cost less without what mixing takes off delta
      const Result<double> local = charged(events_locally);
      if (local && (!epsilon || *local < *epsilon)) epsilon = local;
    }
    worst = std::max(worst, epsilon ? *epsilon : epsilon_.value_rounded_up());
  }
  // An accountant that was stopped may have been passed over: what the whole plan costs is true of its parts.
  return WorkMeter::stopped() ? epsilon_.value_rounded_up() : std::min(worst, epsilon_.value_rounded_up());
}

Result<double> Plan::charged(const std::vector<accounting::RepeatedEvent>& events) const {
  if (mechanism_delta_) return accounting::charged_epsilon(events, *mechanism_delta_);
  // Of a pure target: what a record meets adds up, and nothing else is known to be true.
  UNDERTONE_TRY(const auto met, accounting::by_position(events));
  double worst = 0.0;
  for (const std::vector<accounting::RepeatedEvent>& position : met) {
    double sum = 0.0;  // of multiples of 2^-40 below 2^13, exact
    for (const accounting::RepeatedEvent& one : position) {
      const auto* pure = std::get_if<accounting::ApproximateEvent>(&one.event);
      const auto* ranged = std::get_if<accounting::ExponentialEvent>(&one.event);
      UNDERTONE_CHECK((pure != nullptr && pure->delta == 0.0) || ranged != nullptr);
      sum += static_cast<double>(one.times) * (pure != nullptr ? pure->epsilon : ranged->epsilon).value();
    }
    worst = std::max(worst, sum);
  }
  return worst;
}

std::optional<double> Plan::epsilon_without_shuffler() const {
  if (!shuffling_) return std::nullopt;
  if (!shuffling_->binomial && !credit_) return epsilon_.value_rounded_up();
  std::vector<std::vector<accounting::RepeatedEvent>> blocks;
  OwnShifts known;
  for (const releases::Block block : releases::kProtectedBlocks) {
    std::vector<accounting::RepeatedEvent>& events = blocks.emplace_back();
    for (const Segment& segment : segments_) {
      if (credit_ && segment.release.ask.records.block == block && !segment.release.is_public())
        events.push_back({local_event(segment.release), segment.rounds, footprint_of(segment.release)});
      const auto* binomial = std::get_if<mechanisms::BinomialSum>(&segment.release.mechanism);
      if (binomial == nullptr || segment.release.ask.records.block != block) continue;
      const std::optional<releases::GaussianShift> own = own_shift(*binomial, segment.release, known);
      if (!own) return std::nullopt;
      events.push_back(
          {event_of_draw(drawn_part(segment.release), *own), segment.rounds, footprint_of(segment.release)});
    }
  }
  return epsilon_of_other_events(blocks);
}

namespace {

/// What the other releases of the training block are, as they are.
Result<accounting::Besides> besides_of(const std::vector<Plan::Segment>& segments) {
  std::vector<std::size_t> others;
  std::vector<double> shifts;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Release& release = segments[i].release;
    if (release.ask.records.block != releases::Block::Training || release.is_public() || release.hides_part()) continue;
    const releases::Cost cost = release.cost_of_draw();
    if (!cost.is_gaussian() || cost.gaussian.units() == 0)
      return Error{ErrorCode::Internal, "a release beside secret parts is not Gaussian"};
    others.push_back(i);
    shifts.push_back(accounting::total_shift(cost.gaussian).value());
  }
  return ReadsBesides::of(segments, others, shifts).laws();
}

}  // namespace

Result<accounting::Allocation> Plan::allocation() const {
  std::vector<std::size_t> parts;
  std::vector<double> shifts;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (!segments_[i].release.hides_part()) continue;
    parts.push_back(i);
    shifts.push_back(accounting::total_shift(segments_[i].release.cost_of_draw().gaussian).value());
  }
  return allocation_of(segments_, parts, shifts);
}

Result<double> Plan::epsilon_at(releases::Block block, releases::Delta delta) const {
  if (!parts_credit_ || block != releases::Block::Training) return accounting::charged_epsilon(events(block), delta);
  UNDERTONE_TRY(const accounting::Allocation parts, allocation());
  UNDERTONE_TRY(const accounting::Besides besides, besides_of(segments_));
  // What bins may overflow by, as a total variation, takes (1 + e^epsilon) times that of delta.
  const double variation =
      parts_credit_->overflow.value_rounded_up() / (1.0 + std::exp(epsilon_.value_rounded_up())) * (1.0 + 0x1p-40);
  double left = delta.value() - 2.0 * variation;
  constexpr int kAttempts = 16;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    UNDERTONE_TRY(const releases::Delta affordable, releases::Delta::create(left));
    UNDERTONE_TRY(const double epsilon, accounting::allocation_epsilon(parts, besides, affordable));
    const double rest = delta.value() - (1.0 + std::exp(epsilon)) * variation;
    if (rest >= left) return epsilon;
    left = rest * (1.0 - 1e-6);
  }
  return Error{ErrorCode::LimitExceeded, "delta does not cover what the bins may overflow"};
}

Result<double> Plan::charge_secret_parts(const releases::Epsilon& target) const {
  UNDERTONE_TRY(const accounting::Allocation parts, allocation());
  UNDERTONE_TRY(const accounting::Besides besides, besides_of(segments_));
  const auto meets_target = [&] {
    const Result<double> delta =
        accounting::allocation_delta(parts, besides, target, *mechanism_delta_, accounting::AllocationGrid::Charge);
    return delta && *delta <= mechanism_delta_->value();
  };
  // Shifts that were made as large as the target allows cost the target, within a thousandth, at one value of delta in
  // place of some twenty.
  const bool made_for_target = parts_credit_->gain && *parts_credit_->gain > 1.0;
  if (made_for_target && meets_target()) return target.value();
  Result<double> epsilon = accounting::allocation_epsilon(parts, besides, *mechanism_delta_);
  if (epsilon && *epsilon <= target.value()) return epsilon;
  // The inverse is rounded up by more than delta is: at the target itself delta says.
  return !made_for_target && meets_target() ? Result<double>(target.value()) : epsilon;
}

Result<double> Plan::charge(releases::Block block, const releases::Epsilon& target) const {
  if (!protects(block)) return 0.0;
  if (parts_credit_ && block == releases::Block::Training) {
    Result<double> together = charge_secret_parts(target);
    if (together && *together <= target.value()) return together;
    if (!together && together.error().code == ErrorCode::Internal) return together;
    // By parallel composition, which holds whatever is known of the parts.
    const Result<double> told = charged(events(block));
    if (!told) return together;
    return together ? std::min(*together, *told) : *told;
  }
  if (reads_parts(block) || !cost(block).is_gaussian()) return charged(events(block));
  const releases::GaussianShift shift = accounting::total_shift(cost(block).gaussian);
  const double epsilon = accounting::epsilon_of_gaussian(shift, *mechanism_delta_);
  // The inverse is rounded up by more than the profile is: at the target itself the profile says.
  const bool holds = accounting::log_delta_of_gaussian(target.value(), shift) <= std::log(mechanism_delta_->value());
  return holds ? std::min(epsilon, target.value()) : epsilon;
}

std::optional<accounting::ShuffledRounds> Plan::reported_rounds() const {
  if (!shuffling_ || shuffling_->binomial) return std::nullopt;
  const Release* first = nullptr;
  std::uint64_t rounds = 0;
  for (const releases::Block block : releases::kProtectedBlocks) {
    for (const Group& group : groups_of(segments_, block)) {
      std::uint64_t met = 0;
      for (const std::size_t i : group) {
        const Release& release = segments_[i].release;
        if (release.is_public()) continue;
        if (first == nullptr) first = &release;
        if (release.ask.shift || release.ask.records.with_replacement || release.draws() != 1 ||
            release.records_drawn != first->records_drawn || release.population != first->population) {
          return std::nullopt;
        }
        met += segments_[i].rounds;
      }
      if (met == 0) continue;
      if (rounds != 0 && met != rounds) return std::nullopt;
      rounds = met;
    }
  }
  if (first == nullptr || rounds > accounting::kCreditedRoundsMax) return std::nullopt;
  return accounting::ShuffledRounds{static_cast<std::uint64_t>(shuffling_->honest_silos),
                                    rate_of(first->records_drawn, first->population), first->records_drawn,
                                    first->population, rounds};
}

}  // namespace undertone::planning
