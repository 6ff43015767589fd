#include "shared/privacy/plan.hpp"

#include <algorithm>
#include <cmath>

#include "shared/privacy/binomial_report.hpp"
#include "shared/privacy/calibration.hpp"
#include "shared/privacy/gaussian_accountant.hpp"

namespace undertone::privacy {
namespace {

constexpr std::uint64_t kRoundsMax = 1'000'000;
constexpr std::uint64_t kDrawsMax = 1'000'000;  // of all messages together: as many as verifiers compose
constexpr std::size_t kSegmentsMax = 12'000;    // 2,000 of an algorithm, and its evaluations between
constexpr double kShiftMax = 16.0;  // of one release: beyond it a record that was drawn is as good as published

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

/// The shift of each of `rounds` releases that read every record: an equal share in whole units, so that what the
/// lattices charge, rounded up to a unit, never exceeds the whole.
Result<GaussianShift> equal_share(std::uint64_t rounds, const Epsilon& epsilon, const Delta& delta) {
  const double total = gaussian_shift_for(epsilon, delta).value();
  const Result<ShiftSquaredAmount> affordable = ShiftSquaredAmount::rounded_down(total * total * (1.0 - 0x1p-50));
  if (!affordable) return affordable.error();
  const UInt128 each = affordable->units() / rounds;  // whole units: the remainder is not spent
  return GaussianShift::create(std::sqrt(std::ldexp(static_cast<double>(each), -40)) * (1.0 - 0x1p-50));
}

/// Rounds that draw the same part of the same positions.
struct DrawnRounds {
  double rate = 1.0;
  std::uint64_t rounds = 0;
  Footprint footprint;
  friend bool operator==(const DrawnRounds&, const DrawnRounds&) = default;
};

PrivacyEvent sampled_event(double rate, GaussianShift shift) {
  if (rate >= 1.0) return GaussianEvent{shift};
  return SubsetGaussianEvent{rate, shift};
}

double rate_of(std::int64_t drawn, std::int64_t population) {
  if (drawn == population) return 1.0;
  return std::min(1.0, std::nextafter(static_cast<double>(drawn) / static_cast<double>(population), 2.0));
}

/// The largest common shift of a block's releases for (epsilon, delta).
Result<GaussianShift> common_shift(const std::vector<DrawnRounds>& drawn, const Epsilon& epsilon, const Delta& delta) {
  struct Remembered {
    std::vector<DrawnRounds> drawn;
    double epsilon;
    double delta;
    double shift;
  };
  constexpr std::size_t kRemembered = 64;
  thread_local std::vector<Remembered> known;
  for (const Remembered& one : known)
    if (one.drawn == drawn && one.epsilon == epsilon.value() && one.delta == delta.value())
      return GaussianShift::create(one.shift);
  const Result<double> multiplier = smallest_multiplier(
      [&](double at) -> Result<double> {
        const Result<GaussianShift> shift = GaussianShift::create(1.0 / at);
        if (!shift) return shift.error();
        std::vector<RepeatedEvent> events;
        events.reserve(drawn.size());
        for (const DrawnRounds& one : drawn)
          events.push_back({sampled_event(one.rate, *shift), one.rounds, one.footprint});
        return charged_epsilon(events, delta);
      },
      epsilon.value());
  if (!multiplier) return multiplier.error();
  const double shift = 1.0 / *multiplier * (1.0 - 0x1p-50);
  if (known.size() == kRemembered) known.erase(known.begin());
  known.push_back({drawn, epsilon.value(), delta.value(), shift});
  return GaussianShift::create(shift);
}

/// What a private release is by this silo's own noise.
PrivacyEvent local_event(const Release& release) {
  return sampled_event(rate_of(release.records_drawn, release.population), total_shift(release.cost_of_draw()));
}

/// The positions a release reads, as a part of [0, 1).
Footprint footprint_of(const Release& release) {
  const auto part = [&](std::int64_t position) {
    return static_cast<double>(position) / static_cast<double>(release.block_records);
  };
  return {part(release.positions.from), part(release.positions.to)};
}

/// Of the first private release.
GaussianShift local_shift_of(const std::vector<Plan::Segment>& segments) {
  for (const Plan::Segment& segment : segments)
    if (segment.release.cost().units() != 0) return total_shift(segment.release.cost_of_draw());
  UNDERTONE_CHECK(false);
}

/// Segments of a plan that read some record together, directly or through others: each group is calibrated for itself.
using Group = std::vector<std::size_t>;

std::vector<Group> groups_of(const std::vector<Plan::Segment>& segments, Block block) {
  Group order;
  for (std::size_t i = 0; i < segments.size(); ++i)
    if (segments[i].release.shape.block == block) order.push_back(i);
  const auto positions = [&](std::size_t i) { return segments[i].release.positions; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return positions(a).from < positions(b).from; });
  std::vector<Group> groups;
  std::int64_t end = -1;
  for (const std::size_t i : order) {
    if (groups.empty() || positions(i).from >= end) groups.emplace_back();
    groups.back().push_back(i);
    end = std::max(end, positions(i).to);
  }
  return groups;
}

}  // namespace

std::string_view to_string(QuestionKind kind) noexcept {
  switch (kind) {
    case QuestionKind::Gradient:
      return "gradient";
    case QuestionKind::Metrics:
      return "metrics";
    case QuestionKind::GradientDifference:
      return "difference";
    case QuestionKind::LocalRun:
      return "local_run";
  }
  return "";
}

Slice::Positions Slice::positions(std::int64_t records) const {
  UNDERTONE_CHECK(records >= 0 && of >= 1 && index < of);
  if (cut == Cut::Equal) {
    const auto size = static_cast<std::int64_t>(static_cast<std::uint64_t>(records) / of);
    const std::int64_t from = static_cast<std::int64_t>(index) * size;
    return {from, from + size};
  }
  std::int64_t from = 0;
  for (std::uint64_t i = 0; i < index; ++i) from += i + 1 < 63 ? records >> (i + 1) : 0;
  return {from, from + (index + 1 < 63 ? records >> (index + 1) : 0)};
}

Result<DeltaAmount> implementation_delta(const Epsilon& epsilon, std::uint64_t messages) {
  if (epsilon.value() > 30.0) {
    return Error{ErrorCode::InvalidArgument, fmt::format("epsilon must be at most 30, got {}", epsilon.value())};
  }
  const auto factor = static_cast<std::uint64_t>(std::ceil(1.0 + std::exp(epsilon.value())));
  Result<DeltaAmount> per_message = kTotalVariationPerMessage.times(factor);
  if (!per_message) return per_message;
  return per_message->times(messages);
}

const Lattice& Release::lattice() const {
  if (const auto* gaussian = std::get_if<GaussianLattice>(&mechanism)) return gaussian->lattice;
  if (const auto* binomial = std::get_if<BinomialSum>(&mechanism)) return binomial->lattice;
  return std::get<ExactPublicSum>(mechanism).lattice;
}

Release Release::scaled_to(double distance) const {
  if (!shape.smoothness) return *this;
  UNDERTONE_CHECK(std::isfinite(distance) && distance >= 0.0);
  // Floored above zero: where the points agree to a billionth there is nothing to learn from their difference.
  const double norm = std::clamp(*shape.smoothness * distance, 0x1p-30 * shape.clip.value(), shape.clip.value());
  Release scaled = *this;
  scaled.shape.clip = *ClipNorm::create(norm);
  const double factor = norm / shape.clip.value();
  if (auto* gaussian = std::get_if<GaussianLattice>(&scaled.mechanism)) gaussian->lattice.step *= factor;
  if (auto* exact = std::get_if<ExactPublicSum>(&scaled.mechanism)) exact->lattice.step *= factor;
  if (auto* binomial = std::get_if<BinomialSum>(&scaled.mechanism)) binomial->lattice.step *= factor;
  return scaled;
}

double Release::noise_stddev_of_mean() const {
  const auto records = static_cast<double>(records_drawn);
  if (const auto* gaussian = std::get_if<GaussianLattice>(&mechanism)) return gaussian->noise_stddev() / records;
  if (const auto* binomial = std::get_if<BinomialSum>(&mechanism)) {
    constexpr double kRoundingMax = 0.25;  // a silo rounds its sum once
    return std::sqrt(binomial_sum_variance(binomial->parameters, shape.clip, records_drawn, kRoundingMax)) / records;
  }
  return 0.0;
}

ShiftSquaredAmount Release::cost_of_draw() const {
  if (const auto* gaussian = std::get_if<GaussianLattice>(&mechanism)) return gaussian->shift_squared();
  if (const auto* binomial = std::get_if<BinomialSum>(&mechanism)) {
    const double shift = binomial->shift.shift.value();
    return *ShiftSquaredAmount::rounded_up(shift * shift * (1.0 + 0x1p-50));
  }
  return {};
}

ShiftSquaredAmount Release::cost() const {
  // At most kShiftMax^2 2^40 units, kDrawsMax times: no overflow.
  const Result<ShiftSquaredAmount> all = cost_of_draw().times(draws());
  UNDERTONE_CHECK(all.has_value());
  return *all;
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

bool Plan::reads_parts(Block block) const {
  return std::any_of(segments_.begin(), segments_.end(), [block](const Segment& segment) {
    return segment.release.shape.block == block && segment.release.reads_part() && segment.release.cost().units() != 0;
  });
}

bool Plan::lists(Block block) const {
  return reads_parts(block) || (credit_ && cost(block).units() != 0) ||
         std::any_of(segments_.begin(), segments_.end(), [block](const Segment& segment) {
           return segment.release.shape.block == block && segment.release.draws() > 1;
         });
}

PrivacyEvent Plan::event_of(const Release& release) const {
  if (credit_) return credit_->event(static_cast<std::uint64_t>(shuffling_->honest_silos));
  return local_event(release);
}

std::vector<RepeatedEvent> Plan::events(Block block) const {
  std::vector<RepeatedEvent> out;
  for (const Segment& segment : segments_) {
    const Release& release = segment.release;
    if (release.shape.block != block || release.cost().units() == 0) continue;
    out.push_back({event_of(release), segment.rounds * release.draws(), footprint_of(release)});
  }
  return out;
}

double Plan::epsilon_of(ShiftSquaredAmount training, ShiftSquaredAmount holdout) const {
  double worst = 0.0;
  for (const auto& [block, spent] : {std::pair(Block::Training, training), std::pair(Block::Holdout, holdout)}) {
    if (spent.units() == 0) continue;
    if (!reads_parts(block) && !credit_) {
      worst = std::max(worst, epsilon_of_gaussian(total_shift(spent), mechanism_delta_));
      continue;
    }
    UInt128 left = spent.units();
    std::vector<RepeatedEvent> made;
    std::vector<RepeatedEvent> made_locally;
    for (const Segment& segment : segments_) {
      const UInt128 each = segment.release.shape.block == block ? segment.release.cost().units() : 0;
      if (each == 0 || left == 0) continue;
      const auto rounds = static_cast<std::uint64_t>(std::min<UInt128>(segment.rounds, (left + each - 1) / each));
      left -= std::min(left, each * rounds);
      const Footprint footprint = footprint_of(segment.release);
      made.push_back({event_of(segment.release), rounds * segment.release.draws(), footprint});
      made_locally.push_back({local_event(segment.release), rounds * segment.release.draws(), footprint});
    }
    Result<double> epsilon = charged_epsilon(made, mechanism_delta_);
    if (credit_) {  // few rounds can cost less without what mixing takes off delta
      const Result<double> local = charged_epsilon(made_locally, mechanism_delta_);
      if (local && (!epsilon || *local < *epsilon)) epsilon = local;
    }
    worst = std::max(worst, epsilon ? *epsilon : epsilon_.value_rounded_up());
  }
  return std::min(worst, epsilon_.value_rounded_up());
}

std::optional<double> Plan::epsilon_without_shuffler() const {
  if (!shuffling_) return std::nullopt;
  if (!shuffling_->binomial && !credit_) return epsilon_.value_rounded_up();
  double worst = 0.0;
  for (const Block block : {Block::Training, Block::Holdout}) {
    std::vector<RepeatedEvent> events;
    for (const Segment& segment : segments_) {
      if (credit_ && segment.release.shape.block == block && segment.release.cost().units() != 0)
        events.push_back({local_event(segment.release), segment.rounds, footprint_of(segment.release)});
      const auto* binomial = std::get_if<BinomialSum>(&segment.release.mechanism);
      if (binomial == nullptr || segment.release.shape.block != block) continue;
      const Result<BinomialShift> own = binomial_shift(binomial->parameters, segment.release.shape.dimension,
                                                       segment.release.records_drawn, binomial->shift.failure);
      if (!own) return std::nullopt;
      events.push_back({sampled_event(rate_of(segment.release.records_drawn, segment.release.population), own->shift),
                        segment.rounds, footprint_of(segment.release)});
    }
    if (events.empty()) continue;
    const Result<double> epsilon = charged_epsilon(events, mechanism_delta_);
    if (!epsilon) return std::nullopt;
    worst = std::max(worst, *epsilon);
  }
  return worst;
}

std::string Plan::releases_text(Block block) const {
  std::string out;
  for (const Segment& segment : segments_) {
    const Release& release = segment.release;
    if (release.shape.block != block || release.cost().units() == 0) continue;
    out += fmt::format("{}{}*{}@{}/{}", out.empty() ? "" : ",", release.cost_of_draw().to_string(), segment.rounds,
                       release.records_drawn, release.population);
    if (release.draws() > 1) out += fmt::format("^{}", release.draws());
    if (release.population < release.block_records)
      out += fmt::format("+{}:{}", release.positions.from, release.positions.to);
  }
  return out;
}

std::string Plan::accountant() const {
  const auto any = [this](auto&& what) { return std::any_of(segments_.begin(), segments_.end(), what); };
  const bool sliced = any([](const Segment& s) { return s.release.population < s.release.block_records; });
  const std::string summed =
      shuffling_ && shuffling_->binomial
          ? fmt::format(
                "; each binomial sum over {} honest silos costs at most as much as a Gaussian, certified by the "
                "normal scores of its coins, but for a failure that delta covers",
                shuffling_->honest_silos)
          : "";
  if (credit_) {
    return fmt::format(
        "numeric composition, certified from above, of what mixing with {} other honest silos leaves of a round "
        "(clones "
        "at record epsilon {:.4g} and silo epsilon {:.4g}); what a round is off that by, delta covers{}",
        shuffling_->honest_silos - 1, credit_->record_epsilon.value_rounded_up(),
        credit_->silo_epsilon.value_rounded_up(),
        sliced ? "; disjoint parts of a secret permutation compose in parallel" : "");
  }
  const std::string parts = summed + (sliced ? "; disjoint parts of a secret permutation compose in parallel" : "");
  if (any([](const Segment& s) { return s.release.sampled(); })) {
    return "numeric composition, certified from above, of the dominating profile of fixed-size subsets drawn afresh "
           "without replacement" +
           parts;
  }
  if (sliced) return "exact Gaussian: mu = sqrt(sum of mu_r^2) over the planned releases of a part" + parts;
  return "exact Gaussian: mu = sqrt(sum of mu_r^2) over all planned releases" + parts;
}

Result<Plan> make_plan(const Schedule& schedule, const SiloFacts& facts, const std::optional<Shuffling>& shuffling) {
  std::uint64_t rounds = 0;
  for (const ScheduledRounds& part : schedule) {
    if (part.rounds > kRoundsMax - rounds) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("silo {}: more than {} rounds", facts.silo.name(), kRoundsMax)};
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
  const Result<DeltaAmount> implementation = implementation_delta(facts.epsilon, draws);
  if (!implementation) return implementation.error();
  const Result<DeltaAmount> target_delta = DeltaAmount::rounded_down(facts.delta.value());
  if (!target_delta) return target_delta.error();
  if (*implementation >= *target_delta) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("silo {}: delta {} does not cover the implementation delta {} of {} draws of noise",
                             facts.silo.name(), facts.delta.value(), implementation->value_rounded_up(), draws)};
  }
  auto mechanism_amount = DeltaAmount::from_units(target_delta->units() - implementation->units());
  std::uint64_t binomial_rounds = 0;
  if (shuffling && shuffling->binomial) {
    for (const ScheduledRounds& part : schedule)
      if (!is_public(facts, part.shape.block)) binomial_rounds += part.rounds;
  }
  DeltaAmount failure_all;
  double failure_each = 0.0;
  if (binomial_rounds > 0) {
    constexpr double kFailureShare = 1.0 / 32.0;  // of delta: what it costs the rest is a third of a percent of epsilon
    failure_each = mechanism_amount.value_rounded_down() * kFailureShare / static_cast<double>(binomial_rounds);
    const Result<DeltaAmount> each = DeltaAmount::rounded_up(failure_each);
    if (!each) return each.error();
    const Result<DeltaAmount> all = each->times(binomial_rounds);
    if (!all) return all.error();
    if (*all >= mechanism_amount)
      return Error{ErrorCode::InvalidArgument, fmt::format("silo {}: delta {} does not cover the failures of {} rounds",
                                                           facts.silo.name(), facts.delta.value(), binomial_rounds)};
    failure_all = *all;
    mechanism_amount = DeltaAmount::from_units(mechanism_amount.units() - failure_all.units());
  }
  const Result<Delta> mechanism_delta = Delta::create(mechanism_amount.value_rounded_down());
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
    const Slice::Positions positions =
        part.shape.slice ? part.shape.slice->positions(whole) : Slice::Positions{0, whole};
    const std::int64_t population = positions.to - positions.from;
    UNDERTONE_CHECK(part.shape.local.has_value() == (part.shape.kind == QuestionKind::LocalRun));
    const auto drawn =
        part.shape.local
            ? std::min<std::int64_t>(population, 1)
            : static_cast<std::int64_t>(std::floor(part.shape.draw_fraction * static_cast<double>(population)));
    if (drawn < 1 || drawn > population) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("silo {}: a draw of {} of {} records in a part of the {} of block {}", facts.silo.name(),
                               drawn, population, whole, part.shape.block == Block::Training ? "training" : "holdout")};
    }
    plan.segments_.push_back(
        {{part.shape, drawn, population, ExactPublicSum{public_lattice(part.shape.clip)}, whole, positions},
         part.rounds});
    if (plan.segments_.size() > kSegmentsMax) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("silo {}: more than {} kinds of releases", facts.silo.name(), kSegmentsMax)};
    }
  }
  if (Status met = plan.meet(facts); !met) return met.error();
  if (shuffling && !shuffling->binomial) plan.take_credit(facts);
  return plan;
}

Status Plan::meet(const SiloFacts& facts) {
  const Result<DeltaAmount> target_delta = DeltaAmount::rounded_down(facts.delta.value());
  if (!target_delta) return target_delta.error();
  const bool fixed = std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
    return segment.release.shape.shift && !is_public(facts, segment.release.shape.block);
  });
  // The accountant decides, on the integers that will be used: a numeric one may need a second, smaller aim.
  double aim = facts.epsilon.value();
  for (int attempt = 0; attempt < 4; ++attempt) {
    if (Status calibrated = calibrate(facts, *Epsilon::create(aim)); !calibrated) return calibrated.error();
    double epsilon = 0.0;
    for (const Block block : {Block::Training, Block::Holdout}) {
      const Result<double> charged = charge(block, facts.epsilon);
      if (!charged) return Error{charged.error().code, facts.silo.name() + ": " + charged.error().message};
      epsilon = std::max(epsilon, *charged);
    }
    // By what is spent, not by epsilon: a private release may well be (0, delta)-DP, and costs that delta.
    if (training_cost_.units() == 0 && holdout_cost_.units() == 0) return {};
    if (epsilon <= facts.epsilon.value()) {
      const Result<EpsilonAmount> amount = EpsilonAmount::rounded_up(epsilon);
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

Result<double> Plan::charge(Block block, const Epsilon& target) const {
  if (cost(block).units() == 0) return 0.0;
  if (reads_parts(block)) return charged_epsilon(events(block), mechanism_delta_);
  const GaussianShift shift = total_shift(cost(block));
  const double epsilon = epsilon_of_gaussian(shift, mechanism_delta_);
  // The inverse is rounded up by more than the profile is: at the target itself the profile says.
  const bool holds = log_delta_of_gaussian(target.value(), shift) <= std::log(mechanism_delta_.value());
  return holds ? std::min(epsilon, target.value()) : epsilon;
}

Status Plan::calibrate(const SiloFacts& facts, const Epsilon& epsilon) {
  training_cost_ = {};
  holdout_cost_ = {};
  EqualShares shifts;
  for (const Block block : {Block::Training, Block::Holdout}) {
    if (is_public(facts, block)) continue;
    for (const std::vector<std::size_t>& group : groups_of(segments_, block)) {
      if (Status calibrated = calibrate_group(group, facts, epsilon, shifts); !calibrated) return calibrated;
    }
  }
  return {};
}

Result<Mechanism> Plan::mechanism_for(const Release& release, GaussianShift shift) const {
  if (!shuffling_ || !shuffling_->binomial) {
    const Result<GaussianLattice> lattice =
        gaussian_lattice(release.shape.clip, shift, release.shape.dimension, release.records_drawn);
    if (!lattice) return lattice.error();
    return Mechanism(*lattice);
  }
  BinomialRound round{shift, failure_each_, release.shape.dimension, shuffling_->honest_silos * release.records_drawn,
                      shuffling_->coins_max};
  const Result<BinomialChoice> choice = binomial_parameters_for(round);
  if (!choice) return choice.error();
  if (const Result<BinomialTable> coins = binomial_coins(choice->parameters, release.records_drawn); !coins)
    return coins.error();
  constexpr std::int64_t kGridUnitsMax = std::int64_t{1} << 28U;  // that a silo's sum keeps well inside 62 bits
  if (release.records_drawn > kGridUnitsMax / choice->parameters.grid()) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{} records on a grid of {}: a silo's sum has at most {} grid units",
                             release.records_drawn, choice->parameters.grid(), kGridUnitsMax)};
  }
  const Result<BinomialShift> certified =
      binomial_shift(choice->parameters, round.dimension, round.vectors, failure_each_);
  if (!certified) return certified.error();
  return Mechanism(
      BinomialSum{binomial_lattice(choice->parameters, release.shape.clip), choice->parameters, *certified});
}

Status Plan::calibrate_group(const std::vector<std::size_t>& group, const SiloFacts& facts, const Epsilon& epsilon,
                             EqualShares& shifts) {
  std::vector<DrawnRounds> drawn;
  std::uint64_t rounds = 0;
  bool whole = true;  // every release of the group reads the very same records
  for (const std::size_t i : group) {
    const Release& release = segments_[i].release;
    const std::uint64_t draws = segments_[i].rounds * release.draws();
    drawn.push_back({rate_of(release.records_drawn, release.population), draws, footprint_of(release)});
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
  const auto known = shifts.find(rounds);
  const Result<GaussianShift> shift = chosen                           ? *segments_[group.front()].release.shape.shift
                                      : whole && known != shifts.end() ? known->second
                                      : whole                          ? equal_share(rounds, epsilon, mechanism_delta_)
                                                                       : common_shift(drawn, epsilon, mechanism_delta_);
  if (whole && !chosen && shift) shifts.emplace(rounds, *shift);
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
    const GaussianShift own = release.shape.shift.value_or(*shift);
    if (own.value() > kShiftMax) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("silo {}: a shift of {:.3g} was chosen, at most {} is allowed", facts.silo.name(),
                               own.value(), kShiftMax)};
    }
    const Result<Mechanism> mechanism = mechanism_for(release, own);
    if (!mechanism) return Error{mechanism.error().code, facts.silo.name() + ": " + mechanism.error().message};
    release.mechanism = *mechanism;
    if (Status charged = charge_cost(segment); !charged) return charged;
  }
  return {};
}

Status Plan::charge_cost(const Segment& segment) {
  const Result<ShiftSquaredAmount> added = segment.release.cost().times(segment.rounds);
  if (!added) return added.error();
  ShiftSquaredAmount& cost = segment.release.shape.block == Block::Training ? training_cost_ : holdout_cost_;
  const Result<ShiftSquaredAmount> sum = cost.plus(*added);
  if (!sum) return sum.error();
  cost = *sum;
  return {};
}

std::optional<ShuffledRounds> Plan::reported_rounds() const {
  if (!shuffling_ || shuffling_->binomial) return std::nullopt;
  const Release* first = nullptr;
  std::uint64_t rounds = 0;
  for (const Block block : {Block::Training, Block::Holdout}) {
    for (const Group& group : groups_of(segments_, block)) {
      std::uint64_t met = 0;
      for (const std::size_t i : group) {
        const Release& release = segments_[i].release;
        if (release.cost().units() == 0) continue;
        if (first == nullptr) first = &release;
        if (release.shape.shift || release.draws() != 1 || release.records_drawn != first->records_drawn ||
            release.population != first->population) {
          return std::nullopt;
        }
        met += segments_[i].rounds;
      }
      if (met == 0) continue;
      if (rounds != 0 && met != rounds) return std::nullopt;
      rounds = met;
    }
  }
  if (first == nullptr || rounds > kCreditedRoundsMax) return std::nullopt;
  return ShuffledRounds{static_cast<std::uint64_t>(shuffling_->honest_silos),
                        rate_of(first->records_drawn, first->population), first->records_drawn, first->population,
                        rounds};
}

void Plan::take_credit(const SiloFacts& facts) {
  const std::optional<ShuffledRounds> rounds = reported_rounds();
  if (!rounds) return;
  const std::optional<CreditedShift> found =
      credited_shift(*rounds, local_shift_of(segments_), facts.epsilon, mechanism_delta_amount_);
  if (!found) return;
  Plan credited = *this;
  credited.credit_ = found->credit;
  credited.failure_delta_ = found->credit.failure;
  credited.mechanism_delta_amount_ =
      DeltaAmount::from_units(mechanism_delta_amount_.units() - found->credit.failure.units());
  const Result<Delta> rest = Delta::create(credited.mechanism_delta_amount_.value_rounded_down());
  if (!rest) return;
  credited.mechanism_delta_ = *rest;
  credited.training_cost_ = {};
  credited.holdout_cost_ = {};
  for (Segment& segment : credited.segments_) {
    if (segment.release.cost().units() == 0) continue;
    const Result<Mechanism> mechanism = mechanism_for(segment.release, found->shift);
    if (!mechanism) return;
    segment.release.mechanism = *mechanism;
    if (!credited.charge_cost(segment)) return;
    // The lattice's own shift, a little off what was asked for, is what the failure has to cover.
    const Result<DeltaAmount> failure =
        credit_failure(*rounds, total_shift(segment.release.cost_of_draw()), credited.credit_->record_epsilon,
                       credited.credit_->silo_epsilon, facts.epsilon);
    if (!failure || *failure > credited.failure_delta_) return;
  }
  // A record meets as many rounds whichever it is, and what a round is bounded by does not depend on the lattice.
  const Result<EpsilonAmount> amount = EpsilonAmount::rounded_up(found->epsilon);
  if (!amount) return;
  credited.epsilon_ = *amount;
  *this = std::move(credited);
}

std::string shuffler_needs(const Plan& plan, const SiloFacts& facts) {
  if (!plan.shuffling() || plan.shuffling()->binomial || plan.credit()) return "";
  const std::optional<ShuffledRounds> rounds = plan.reported_rounds();
  if (!rounds) {
    return fmt::format(
        "no gain: only a plan whose private releases all draw equally many of equally many records, in at most {} "
        "rounds, "
        "is credited with the shuffler",
        kCreditedRoundsMax);
  }
  const auto gain_at = [&](const ShuffledRounds& at, const Result<GaussianShift>& local) {
    return local ? silos_for_gain(at, *local, facts.epsilon, plan.mechanism_delta_amount()) : std::nullopt;
  };
  const std::int64_t population = rounds->population;
  std::string out = fmt::format("no gain from {} honest silos that each report {} of {} records: ", rounds->silos,
                                rounds->drawn, population);
  const std::optional<std::uint64_t> as_is = gain_at(*rounds, local_shift_of(plan.segments()));
  if (as_is) {
    out += fmt::format("with {} there would be", *as_is);
  } else {
    out += fmt::format("with {} there would be none either", kCreditedSilosMax);
  }
  if (rounds->drawn == 1) return out;
  ShuffledRounds one = *rounds;
  one.drawn = 1;
  one.rate = rate_of(1, population);
  const Result<GaussianShift> local = common_shift({{one.rate, one.rounds, {}}}, facts.epsilon, plan.mechanism_delta());
  const std::optional<std::uint64_t> of_one = gain_at(one, local);
  out += of_one ? fmt::format("; with one record each from {} silos on", *of_one)
                : fmt::format("; nor with one record each and {} silos", kCreditedSilosMax);
  return out;
}

}  // namespace undertone::privacy
