#include <algorithm>
#include <cmath>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/base/work_meter.hpp"
#include "shared/planning/answer_work.hpp"
#include "shared/planning/noise_checks.hpp"
#include "shared/planning/plan.hpp"
#include "shared/planning/plan_parts.hpp"
#include "shared/planning/secret_parts.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::planning {
namespace {

constexpr std::uint64_t kDrawsMax = 1'000'000;     // of all messages together: as many as verifiers compose
constexpr std::size_t kSegmentsMax = 14'000;       // 4,000 of an algorithm, and its evaluations between
constexpr double kConcentratedShiftMin = 0x1p-20;  // whose rho is half a unit
constexpr double kShiftMax = 16.0;  // of one release: beyond it a record that was drawn is as good as published

std::int64_t block_records(const releases::SiloFacts& facts, releases::Block block) {
  switch (block) {
    case releases::Block::Training:
      return facts.records;
    case releases::Block::Holdout:
      return facts.holdout_records;
    case releases::Block::Public:
      return facts.public_records;
  }
  UNDERTONE_CHECK(false);
}

bool is_public(const releases::SiloFacts& facts, releases::Block block) {
  return releases::public_block(facts, block).has_value();
}

/// Exact sums of public records are quantised too, so that every mode and order of arrival agrees to the bit.
/// @return nothing where no exact form of the ask is planned
std::optional<mechanisms::Lattice> public_lattice(const releases::Ask& ask) {
  // Of a feature map on the lattice that all silos share.
  if (std::holds_alternative<releases::PairBound>(ask.bound) && std::holds_alternative<releases::SumForm>(ask.form) &&
      ask.answers_in_totals()) {
    return mechanisms::Lattice{std::int64_t{1} << -mechanisms::kValueStepLog2,
                               std::ldexp(1.0, mechanisms::kValueStepLog2)};
  }
  const releases::ClipNorm* clip = releases::l2_clip_of(ask.bound);
  if (clip == nullptr || !std::holds_alternative<releases::SumForm>(ask.form)) return std::nullopt;
  return mechanisms::Lattice{std::int64_t{1} << 30, std::ldexp(clip->value(), -30)};
}

/// What all Gaussian releases that read a record may add up to.
double total_shift_of(const releases::Target& target, const releases::Delta& delta) {
  if (const auto* concentrated = std::get_if<releases::ConcentratedDp>(&target))
    return std::sqrt(2.0 * concentrated->rho.value());
  return accounting::gaussian_shift_for(releases::epsilon_of(target), delta).value();
}

/// epsilon of each of `rounds` releases whose epsilons add up to at most `total`: whole units, so that none is spent
/// besides by rounding.
Result<releases::Epsilon> equal_epsilon(double total, std::uint64_t rounds) {
  UNDERTONE_TRY(const releases::EpsilonAmount affordable, releases::EpsilonAmount::rounded_down(total));
  return releases::Epsilon::create(
      releases::EpsilonAmount::from_units(affordable.units() / rounds).value_rounded_down());
}

/// The target with its epsilon so many times as large. Epsilon grows at least as the root of rho.
releases::Target scaled(const releases::Target& target, double factor) {
  return std::visit(Overloaded{[&](releases::ApproximateDp approximate) -> releases::Target {
                                 approximate.epsilon = *releases::Epsilon::create(approximate.epsilon.value() * factor);
                                 return approximate;
                               },
                               [&](releases::PureDp pure) -> releases::Target {
                                 pure.epsilon = *releases::Epsilon::create(pure.epsilon.value() * factor);
                                 return pure;
                               },
                               [&](releases::ConcentratedDp concentrated) -> releases::Target {
                                 concentrated.rho = *releases::Rho::create(concentrated.rho.value() * factor * factor);
                                 return concentrated;
                               }},
                    target);
}

/// The shift of each of `rounds` releases that read every record: an equal share in whole units, so that what the
/// lattices charge, rounded up to a unit, never exceeds the whole.
Result<releases::GaussianShift> equal_share(std::uint64_t rounds, double total) {
  UNDERTONE_TRY(const releases::ShiftSquaredAmount affordable,
                releases::ShiftSquaredAmount::rounded_down(total * total * (1.0 - 0x1p-50)));
  const releases::UInt128 each = affordable.units() / rounds;  // whole units: the remainder is not spent
  return releases::GaussianShift::create(std::sqrt(std::ldexp(static_cast<double>(each), -40)) * (1.0 - 0x1p-50));
}

/// How loud a release of a strength is, whatever its law: loudness^2/2-zCDP of three of them. @see common_loudness
double loudness_of(const std::variant<releases::GaussianShift, PureShare, RangedShare, ConcentratedShare>& strength) {
  return std::visit(Overloaded{[](releases::GaussianShift shift) { return shift.value(); },
                               [](const ConcentratedShare& share) { return std::sqrt(2.0 * share.rho.value()); },
                               [](const auto& share) { return 0.5 * share.epsilon.value(); }},
                    strength);
}

bool perturbs_objective(const releases::Ask& ask) { return std::holds_alternative<releases::MinimiserMap>(ask.map); }

bool has_chosen_noise(const std::vector<Plan::Segment>& segments) {
  return std::any_of(segments.begin(), segments.end(), [](const Plan::Segment& segment) {
    const releases::Ask& ask = segment.release.ask;
    return ask.shift || ask.epsilon || ask.share;
  });
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
  const WorkMeter meter(kPlanWorkMax);
  Result<Plan> plan = calibrated_plan(schedule, facts, shuffling);
  // Whatever came of it: an accountant that was stopped may have been passed over for another.
  if (!meter.exhausted()) return plan;
  return Error{
      ErrorCode::LimitExceeded,
      fmt::format("silo {}: its plan takes more than {} operations to calibrate, which is the most: epsilon {} "
                  "at delta {} is out of this program's reach for these draws and rounds",
                  facts.silo.name(), meter.most(), facts.epsilon().value(), facts.delta())};
}

Result<Plan> calibrated_plan(const Schedule& schedule, const releases::SiloFacts& facts,
                             const std::optional<Shuffling>& shuffling) {
  const bool pure = std::holds_alternative<releases::PureDp>(facts.target);
  if (shuffling && !std::holds_alternative<releases::ApproximateDp>(facts.target)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("silo {}: what shufflers hide is accounted for with an epsilon and a delta alone",
                             facts.silo.name())};
  }
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
    const std::uint64_t each = part.ask.draws();
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
  releases::DeltaAmount mechanism_amount;
  if (!pure) {
    // A total's coins are those of all honest silos, and so is what their samplers may be off.
    const Result<releases::DeltaAmount> implementation = implementation_delta(facts.epsilon(), draws * silos);
    if (!implementation) return implementation.error();
    UNDERTONE_TRY(const releases::DeltaAmount target_delta, releases::DeltaAmount::rounded_down(facts.delta()));
    if (*implementation >= target_delta) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("silo {}: delta {} does not cover the implementation delta {} of {} draws of noise",
                               facts.silo.name(), facts.delta(), implementation->value_rounded_up(), draws * silos)};
    }
    mechanism_amount = releases::DeltaAmount::from_units(target_delta.units() - implementation->units());
  }
  UNDERTONE_TRY(const std::optional<SecretParts> secret, secret_parts(schedule, facts, shuffling.has_value()));
  std::optional<BinPadding> padding;
  if (secret && secret->assignment == releases::Slice::Assignment::Bins) {
    const Result<BinPadding> made = BinPadding::create(mechanism_amount, facts.epsilon(), secret->parts);
    if (!made) return Error{made.error().code, fmt::format("silo {}: {}", facts.silo.name(), made.error().message)};
    padding = *made;
    mechanism_amount = releases::DeltaAmount::from_units(mechanism_amount.units() - padding->overflow.units());
  }
  std::uint64_t failing_rounds = 0;  // whose cost holds but for a failure
  for (const ScheduledRounds& part : schedule) {
    const bool fails = (shuffling && shuffling->binomial) || perturbs_objective(part.ask);
    if (fails && !is_public(facts, part.ask.records.block)) failing_rounds += part.rounds;
  }
  releases::DeltaAmount failure_all;
  double failure_each = 0.0;
  if (failing_rounds > 0) {
    // Of delta: of binomial sums what it costs the rest is a third of a percent of epsilon; of perturbed objectives it
    // is what the noise follows from, and what is left says nothing.
    const double share = shuffling ? 1.0 / 32.0 : 31.0 / 32.0;
    failure_each = mechanism_amount.value_rounded_down() * share / static_cast<double>(failing_rounds);
    UNDERTONE_TRY(const releases::DeltaAmount each, releases::DeltaAmount::rounded_up(failure_each));
    UNDERTONE_TRY(const releases::DeltaAmount all, each.times(failing_rounds));
    if (all >= mechanism_amount)
      return Error{ErrorCode::InvalidArgument, fmt::format("silo {}: delta {} does not cover the failures of {} rounds",
                                                           facts.silo.name(), facts.delta(), failing_rounds)};
    failure_all = all;
    mechanism_amount = releases::DeltaAmount::from_units(mechanism_amount.units() - failure_all.units());
  }
  std::optional<releases::Delta> mechanism_delta;
  if (!pure) {
    UNDERTONE_TRY(const releases::Delta value, releases::Delta::create(mechanism_amount.value_rounded_down()));
    mechanism_delta = value;
  }
  Plan plan(mechanism_amount, mechanism_delta);
  plan.shuffling_ = shuffling;
  plan.failure_delta_ = failure_all;
  plan.failure_each_ = failure_each;
  if (secret)
    plan.parts_credit_ = PartsCredit{secret->assignment, padding ? padding->overflow : releases::DeltaAmount()};
  plan.rounds_ = rounds;
  plan.draws_ = draws;
  for (const ScheduledRounds& part : schedule) {
    if (part.rounds == 0) continue;
    const releases::RecordSet& read = part.ask.records;
    const std::int64_t whole = block_records(facts, read.block);
    const releases::Slice::Positions positions =
        read.slice ? read.slice->positions(whole) : releases::Slice::Positions{0, whole};
    const std::int64_t population = positions.to - positions.from;
    const auto drawn =
        part.ask.local() != nullptr
            ? static_cast<std::int64_t>(part.ask.local()->records)
            : static_cast<std::int64_t>(std::floor(read.draw_fraction * static_cast<double>(population)));
    if (read.block == releases::Block::Public && whole < 1) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("silo {}: its public records are asked for and its owner declared none public",
                               facts.silo.name())};
    }
    if (drawn < 1 || drawn > population) {
      const char* block = releases::block_name(read.block);
      if (read.slice && population < 1) {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("silo {}: {} rounds read disjoint parts of its n = {} {} records, which leaves none for "
                        "part {}: R K <= n{} is needed, K >= 1 records a round",
                        facts.silo.name(), read.slice->of, whole, block, read.slice->index + 1,
                        read.slice->assignment == releases::Slice::Assignment::SecretPermutation ? " - 1" : "")};
      }
      if (population < 1) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("silo {}: the job reads {} records, and the silo has none", facts.silo.name(), block)};
      }
      if (part.ask.local() != nullptr) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("silo {}: {} of n = {} {} records a step of its own, expected from 1 to n",
                                 facts.silo.name(), drawn, population, block)};
      }
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("silo {}: K = {} of n = {} {} records a round, expected from 1 to n (draw_fraction {})",
                               facts.silo.name(), drawn, population, block, read.draw_fraction)};
    }
    if (read.with_replacement && (shuffling || part.ask.local() != nullptr)) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("silo {}: draws with replacement are of sums that no shuffler hides", facts.silo.name())};
    }
    mechanisms::Mechanism mechanism = mechanisms::Unplanned{};
    if (const auto records = releases::public_block(facts, read.block)) {
      const std::optional<mechanisms::Lattice> lattice = public_lattice(part.ask);
      if (!lattice) {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("silo {}: of public records sums of bounded vectors alone are planned", facts.silo.name())};
      }
      mechanism = mechanisms::ExactPublicSum{*records, *lattice};
    } else if (Status sound = check_noise(part.ask, facts, shuffling.has_value()); !sound) {
      return sound.error();
    }
    Release release{part.ask, drawn, population, mechanism, whole, positions};
    if (release.reads_bins()) release.rows = padding->rows(population, whole);
    if (part.ask.beside_public) {
      const std::optional<mechanisms::Lattice> lattice = public_lattice(part.ask);
      if (shuffling || !lattice || read.persons || read.block != releases::Block::Training)
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("silo {}: public records stand beside sums over training records that no shuffler mixes",
                        facts.silo.name())};
      if (const auto records = releases::public_block(facts, releases::Block::Public)) {
        release.beside = mechanisms::ExactPublicSum{*records, *lattice};
        release.public_records = facts.public_records;
      }
    }
    plan.segments_.push_back({std::move(release), part.rounds});
    if (plan.segments_.size() > kSegmentsMax) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("silo {}: more than {} kinds of releases", facts.silo.name(), kSegmentsMax)};
    }
  }
  if (Status met = plan.meet(facts); !met) return met.error();
  for (const Plan::Segment& segment : plan.segments_)
    if (Status light = check_work(segment.release, facts); !light) return light.error();
  if (shuffling && !shuffling->binomial) plan.take_credit(facts);
  return plan;
}

Status Plan::meet(const releases::SiloFacts& facts) {
  UNDERTONE_TRY(const releases::DeltaAmount target_delta, releases::DeltaAmount::rounded_down(facts.delta()));
  const bool fixed = std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
    return (segment.release.ask.shift || segment.release.ask.epsilon) &&
           !is_public(facts, segment.release.ask.records.block);
  });
  const double promised = facts.epsilon().value();
  // The accountant decides, on the integers that will be used: a numeric one may need a second, smaller aim.
  double aim = 1.0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    if (Status calibrated = calibrate(facts, attempt == 0 ? facts.target : scaled(facts.target, aim)); !calibrated)
      return calibrated.error();
    double epsilon = 0.0;
    for (const releases::Block block : releases::kProtectedBlocks) {
      const Result<double> charged = charge(block, facts.epsilon());
      if (!charged) return Error{charged.error().code, facts.silo.name() + ": " + charged.error().message};
      epsilon = std::max(epsilon, *charged);
      if (parts_credit_ && block == releases::Block::Training) {
        const Result<double> told = this->charged(events(block));
        parts_credit_->together = !told || *charged < *told;
      }
    }
    // By what is spent, not by epsilon: a private release may well be (0, delta)-DP, and costs that delta.
    if (!protects(releases::Block::Training) && !protects(releases::Block::Holdout)) {
      mechanism_delta_amount_ = {};  // nothing is promised, and no part of it
      mechanism_delta_.reset();
      return {};
    }
    if (epsilon <= promised) {
      UNDERTONE_TRY(const releases::EpsilonAmount amount, releases::EpsilonAmount::rounded_up(epsilon));
      epsilon_ = amount;
      delta_ = target_delta;
      return {};
    }
    if (fixed) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("silo {}: the noise that was chosen costs epsilon {:.6g} at delta {}, at most {} was "
                               "promised",
                               facts.silo.name(), epsilon, facts.delta(), promised)};
    }
    aim *= promised / epsilon * (1.0 - 1e-6);
  }
  return Error{ErrorCode::Internal,
               fmt::format("silo {}: no noise was found that meets the promised epsilon {} at delta "
                           "{}",
                           facts.silo.name(), promised, facts.delta())};
}

Status Plan::calibrate(const releases::SiloFacts& facts, const releases::Target& target) {
  training_cost_ = {};
  holdout_cost_ = {};
  Found found;
  for (const releases::Block block : releases::kProtectedBlocks) {
    if (is_public(facts, block)) continue;
    const std::vector<Group> groups = groups_of(segments_, block);
    double louder = 1.0;
    if (parts_credit_ && block == releases::Block::Training) {
      UNDERTONE_TRY(const double in_parts, louder_in_secret(groups, facts, target, found));
      louder = in_parts;
      parts_credit_->gain = has_chosen_noise(segments_) ? std::nullopt : std::optional(louder);
    }
    for (const Group& group : groups) {
      if (Status calibrated = calibrate_group(group, facts, target, louder, found); !calibrated) return calibrated;
    }
  }
  return {};
}

Plan::Strength Plan::in_law(const Strength& strength, Law law) {
  const double loudness = loudness_of(strength);
  switch (law) {
    case Law::Gaussian:
      if (std::holds_alternative<releases::GaussianShift>(strength)) return strength;
      return *releases::GaussianShift::create(loudness);
    case Law::Pure:
      return PureShare{*releases::Epsilon::create(2.0 * loudness)};
    case Law::Ranged:
      return RangedShare{*releases::Epsilon::create(2.0 * loudness)};
    case Law::Concentrated:
      return ConcentratedShare{*releases::Rho::create(0.5 * loudness * loudness)};
  }
  UNDERTONE_CHECK(false);
}

Result<Plan::Strength> Plan::strength_of(const Group& group, const releases::SiloFacts& facts,
                                         const releases::Target& target, Found& found) const {
  std::vector<DrawnRounds> drawn;
  std::uint64_t rounds = 0;
  bool whole = true;  // every release of the group reads the very same records
  const Law law = law_of(segments_[group.front()].release.ask, target);
  bool one_law = true;
  for (const std::size_t i : group) {
    const Release& release = segments_[i].release;
    const std::uint64_t draws = segments_[i].rounds * release.draws();
    drawn.push_back({drawn_part(release), draws, footprint_of(release)});
    rounds += draws;
    whole = whole && !release.sampled() && release.positions == segments_[group.front()].release.positions;
    one_law = one_law && law_of(release.ask, target) == law;
  }
  if (group.size() > 1 && std::any_of(group.begin(), group.end(),
                                      [&](std::size_t i) { return perturbs_objective(segments_[i].release.ask); })) {
    return Error{ErrorCode::InvalidArgument,
                 facts.silo.name() + ": a perturbed objective is the one release of the records that it reads"};
  }
  // Selections along paths cost records of their nodes differently; and what differs in law is as loud in zCDP.
  const bool along_paths = std::any_of(group.begin(), group.end(),
                                       [&](std::size_t i) { return segments_[i].release.ask.path() != nullptr; });
  if (along_paths || law == Law::Concentrated || (!one_law && !std::holds_alternative<releases::PureDp>(target))) {
    const Result<double> loudness = common_loudness(segments_, group, target, mechanism_delta_);
    if (!loudness) return Error{loudness.error().code, facts.silo.name() + ": " + loudness.error().message};
    // Of a group's first release; a selection along a path takes its width of it. @see calibrate_group
    UNDERTONE_TRY(const releases::GaussianShift shift, releases::GaussianShift::create(*loudness));
    if (law == Law::Concentrated && *loudness < kConcentratedShiftMin)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{}: {} releases leave nothing of the promise for each", facts.silo.name(), rounds)};
    return in_law(Strength(shift), law);
  }
  const auto* concentrated = std::get_if<releases::ConcentratedDp>(&target);
  if (law != Law::Gaussian) {
    Result<releases::Epsilon> each =
        concentrated != nullptr && law == Law::Pure
            // epsilon-DP is epsilon^2/2-zCDP. Source: Bun and Steinke 2016, Proposition 1.4.
            ? equal_epsilon(std::sqrt(2.0 * concentrated->rho.value()) * (1.0 - 0x1p-50), rounds)
            : concentrated != nullptr
                  ? equal_epsilon(
                        std::sqrt(8.0 * concentrated->rho.value() / static_cast<double>(rounds)) * (1.0 - 0x1p-50), 1)
              : law == Law::Ranged && std::holds_alternative<releases::ApproximateDp>(target)
                  ? common_range(rounds, releases::epsilon_of(target), *mechanism_delta_)
                  : equal_epsilon(releases::epsilon_of(target).value(), rounds);
    if (!each) return Error{each.error().code, facts.silo.name() + ": " + each.error().message};
    return law == Law::Pure ? Strength(PureShare{*each}) : Strength(RangedShare{*each});
  }
  // Groups that look alike, such as the parts of one pass, are calibrated once.
  if (std::all_of(drawn.begin(), drawn.end(),
                  [&](const DrawnRounds& one) { return one.footprint == drawn.front().footprint; })) {
    for (DrawnRounds& one : drawn) one.footprint = {};
  }
  const auto known = found.shifts.find(rounds);
  // zCDP credits no draw: as if every release read every record.
  const bool equal = whole || concentrated != nullptr;
  const Result<releases::GaussianShift> shift =
      equal && known != found.shifts.end() ? known->second
      : equal                              ? equal_share(rounds, total_shift_of(target, *mechanism_delta_))
                                           : common_shift(drawn, releases::epsilon_of(target), *mechanism_delta_);
  if (equal && shift) found.shifts.emplace(rounds, *shift);
  if (!shift) return Error{shift.error().code, facts.silo.name() + ": " + shift.error().message};
  if (shift->value() > kShiftMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("silo {}: delta {} covers the chance of being drawn at all, so that a release would have "
                             "a shift of {:.3g}, at most {} is allowed: choose a smaller delta",
                             facts.silo.name(), facts.delta(), shift->value(), kShiftMax)};
  }
  return Strength(*shift);
}

Result<double> Plan::louder_in_secret(const std::vector<Group>& groups, const releases::SiloFacts& facts,
                                      const releases::Target& target, Found& found) const {
  std::vector<std::size_t> parts;
  std::vector<double> shifts;
  std::vector<std::size_t> others;
  std::vector<double> other_shifts;
  double loudest = 0.0;
  if (has_chosen_noise(segments_)) return 1.0;
  for (const Group& group : groups) {
    UNDERTONE_TRY(const Strength alone, strength_of(group, facts, target, found));
    for (const std::size_t i : group) {
      // Of another law nothing is credited: @see secret_parts, which refuses them in parts.
      if (!std::holds_alternative<releases::GaussianShift>(alone)) return 1.0;
      const double shift = std::get<releases::GaussianShift>(alone).value();
      const bool hidden = segments_[i].release.hides_part();
      (hidden ? parts : others).push_back(i);
      (hidden ? shifts : other_shifts).push_back(shift);
      if (hidden) loudest = std::max(loudest, shift);
    }
  }
  const Result<accounting::Allocation> shape = allocation_of(segments_, parts, shifts);
  if (!shape) return 1.0;
  const ReadsBesides besides = ReadsBesides::of(segments_, others, other_shifts);
  return std::min(louder_by(*shape, besides, releases::epsilon_of(target), *mechanism_delta_), kShiftMax / loudest);
}

Result<Plan::Strength> Plan::strength_of_share(const releases::Ask& ask, const releases::Target& target) const {
  // Whole units, rounded down: what releases are charged, rounded up to a unit, is then never more than the whole.
  const auto part_of = [&](releases::UInt128 units) {
    return static_cast<releases::UInt128>(std::floor(static_cast<double>(units) * *ask.share * (1.0 - 0x1p-45)));
  };
  const auto* concentrated = std::get_if<releases::ConcentratedDp>(&target);
  if (law_of(ask, target) == Law::Pure) {
    const double total = concentrated == nullptr ? releases::epsilon_of(target).value()
                                                 : std::sqrt(2.0 * concentrated->rho.value()) * (1.0 - 0x1p-50);
    UNDERTONE_TRY(const releases::EpsilonAmount affordable, releases::EpsilonAmount::rounded_down(total));
    UNDERTONE_TRY(const releases::Epsilon own,
                  releases::Epsilon::create(
                      releases::EpsilonAmount::from_units(part_of(affordable.units())).value_rounded_down()));
    return Strength(PureShare{own});
  }
  const double total = total_shift_of(target, *mechanism_delta_);
  UNDERTONE_TRY(const releases::ShiftSquaredAmount affordable,
                releases::ShiftSquaredAmount::rounded_down(total * total * (1.0 - 0x1p-50)));
  UNDERTONE_TRY(const releases::GaussianShift own,
                releases::GaussianShift::create(
                    std::sqrt(std::ldexp(static_cast<double>(part_of(affordable.units())), -40)) * (1.0 - 0x1p-50)));
  return Strength(own);
}

Status Plan::calibrate_group(const Group& group, const releases::SiloFacts& facts, const releases::Target& target,
                             double louder, Found& found) {
  // Chosen noise is taken as it is; what it costs is charged with the rest.
  const releases::Ask& first = segments_[group.front()].release.ask;
  double shares = 0.0;
  for (const std::size_t i : group) {
    const releases::Ask& ask = segments_[i].release.ask;
    if (ask.shift.has_value() != first.shift.has_value() || ask.epsilon.has_value() != first.epsilon.has_value() ||
        ask.share.has_value() != first.share.has_value())
      return Error{ErrorCode::InvalidArgument, facts.silo.name() + ": noise that is chosen for some releases only"};
    if (ask.share && law_of(ask, target) != law_of(first, target))
      return Error{ErrorCode::InvalidArgument, facts.silo.name() + ": shares of one promise under two laws of noise"};
    if (ask.share) shares += *ask.share * static_cast<double>(segments_[i].rounds);
  }
  if (!(shares <= 1.0 + 1e-9))
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: shares of {} in all", facts.silo.name(), shares)};
  UNDERTONE_TRY(const Strength common, first.shift     ? Strength(*first.shift)
                                       : first.epsilon ? Strength(PureShare{*first.epsilon})
                                       : first.share   ? strength_of_share(first, target)
                                                       : strength_of(group, facts, target, found));
  const bool calibrated = !first.shift && !first.epsilon && !first.share;
  UNDERTONE_TRY(const std::vector<double> widths, path_widths(segments_, group));
  Strength in_parts = common;
  if (const auto* shift = std::get_if<releases::GaussianShift>(&common); shift && calibrated && louder != 1.0)
    in_parts = Strength(*releases::GaussianShift::create(shift->value() * louder * (1.0 - 0x1p-50)));
  for (std::size_t k = 0; k < group.size(); ++k) {
    const std::size_t i = group[k];
    Segment& segment = segments_[i];
    Release& release = segment.release;
    Strength own = release.hides_part() ? in_parts : common;
    if (release.ask.shift) own = *release.ask.shift;
    if (release.ask.epsilon) own = PureShare{*release.ask.epsilon};
    if (release.ask.share) {
      const Result<Strength> share = strength_of_share(release.ask, target);
      if (!share) return Error{share.error().code, facts.silo.name() + ": " + share.error().message};
      own = *share;
    }
    const Law own_law = law_of(release.ask, target);
    if ((own_law == Law::Gaussian || own_law == Law::Concentrated) && loudness_of(own) > kShiftMax) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("silo {}: a shift of {:.3g} was chosen, at most {} is allowed", facts.silo.name(),
                               loudness_of(own), kShiftMax)};
    }
    if (own_law == Law::Concentrated && loudness_of(own) < kConcentratedShiftMin) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("silo {}: a shift of {:.3g} was chosen, of generalised Gaussian noise at least {:.3g} is "
                      "expected",
                      facts.silo.name(), loudness_of(own), kConcentratedShiftMin)};
    }
    // Of one loudness: @see common_loudness. Of a pure target all have the same epsilon, whatever their law.
    own = in_law(own, own_law);
    if (release.ask.path() != nullptr) {
      const double width = widths[k];
      UNDERTONE_TRY(const releases::Epsilon part,
                    releases::Epsilon::create(std::get<RangedShare>(own).epsilon.value() * width));
      own = RangedShare{part};
    }
    const Result<mechanisms::Mechanism> mechanism = mechanism_once(release, own, found.mechanisms);
    if (!mechanism) return Error{mechanism.error().code, facts.silo.name() + ": " + mechanism.error().message};
    release.mechanism = *mechanism;
    if (Status charged = charge_cost(segment); !charged) return charged;
  }
  return {};
}

Status Plan::charge_cost(const Segment& segment) {
  UNDERTONE_CHECK(segment.release.ask.records.block != releases::Block::Public);  // nothing private reads it
  UNDERTONE_TRY(const releases::Cost added, segment.release.cost().times(segment.rounds));
  releases::Cost& cost =
      segment.release.ask.records.block == releases::Block::Training ? training_cost_ : holdout_cost_;
  UNDERTONE_TRY(const releases::Cost sum, cost.plus(added));
  cost = sum;
  return {};
}

void Plan::take_credit(const releases::SiloFacts& facts) {
  const std::optional<accounting::ShuffledRounds> rounds = reported_rounds();
  if (!rounds) return;
  const std::optional<accounting::CreditedShift> found =
      accounting::credited_shift(*rounds, local_shift_of(segments_), facts.epsilon(), mechanism_delta_amount_);
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
        accounting::credit_failure(*rounds, accounting::total_shift(segment.release.cost_of_draw().gaussian),
                                   credited.credit_->record_epsilon, credited.credit_->silo_epsilon, facts.epsilon());
    if (!failure || *failure > credited.failure_delta_) return;
  }
  // A record meets as many rounds whichever it is, and what a round is bounded by does not depend on the lattice.
  const Result<releases::EpsilonAmount> amount = releases::EpsilonAmount::rounded_up(found->epsilon);
  if (!amount) return;
  credited.epsilon_ = *amount;
  *this = std::move(credited);
}

}  // namespace undertone::planning
