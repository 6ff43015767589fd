#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shared/accounting/accountant.hpp"
#include "shared/accounting/composition_theorems.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/loss_composition.hpp"
#include "shared/accounting/loss_law.hpp"
#include "shared/accounting/renyi.hpp"
#include "shared/base/random_source.hpp"
#include "shared/releases/quantities.hpp"
#include "tests/support/repetitions.hpp"

namespace undertone::accounting {
namespace {

constexpr std::uint64_t kPlans = 1000;
const std::uint64_t kBrackets = tests::repetitions<std::uint64_t>(150, 400);
constexpr std::uint64_t kExactPlans = 100;      // of one kind that has an exact formula
constexpr std::uint64_t kReorderedPlans = 100;  // composed twice
const std::uint64_t kInvertedPlans =
    tests::repetitions<std::uint64_t>(4, 10);  // composed_delta looks for its own window: up to 2.5 s
constexpr std::uint64_t kChargedPlans = 10;    // by two accountants, five times each
constexpr std::uint64_t kAccounts = 16;
constexpr double kGap = 0.01;
constexpr double kChargedGap = 1e-3;  // what charged_epsilon refines to
constexpr double kRoundOff = 1e-9;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNoNumbers[] = {0.0, -1.0, kNaN, kInfinity, -kInfinity};

releases::GaussianShift shift_of(double value) { return releases::GaussianShift::create(value).value(); }
releases::Epsilon epsilon_of(double value) { return releases::Epsilon::create(value).value(); }
releases::Delta delta_of(double value) { return releases::Delta::create(value).value(); }

CompositionLimits limits() {
  CompositionLimits out;
  out.gap = kGap;
  return out;
}

/// Releases fixed in advance, and the delta they are accounted at.
struct Plan {
  std::vector<RepeatedEvent> events;
  releases::Delta delta;
};

enum class Kind : std::uint8_t { Gaussian, Subset, Laplace, Approximate, Multiset };

/// Log-uniform.
double between(RandomSource& random, double low, double high) { return low * std::pow(high / low, random.unit()); }

PrivacyEvent random_event(RandomSource& random, Kind kind, double delta_each) {
  switch (kind) {
    case Kind::Gaussian:
      return GaussianEvent{shift_of(between(random, 0.02, 0.5))};
    case Kind::Subset: {
      const double rate = between(random, 0.01, 1.0);
      return SubsetGaussianEvent{rate, shift_of(between(random, 0.2, 2.0))};
    }
    case Kind::Laplace:
      return LaplaceEvent{epsilon_of(between(random, 0.01, 1.0))};
    case Kind::Approximate: {
      const releases::Epsilon epsilon = epsilon_of(between(random, 0.01, 1.0));
      return ApproximateEvent{epsilon, random.chance(0.5) ? 0.0 : delta_each};
    }
    case Kind::Multiset: {
      const auto records = static_cast<std::int64_t>(between(random, 100.0, 5000.0));
      const auto draws = static_cast<std::int64_t>(between(random, 1.0, 30.0));
      return MultisetGaussianEvent{records, draws, shift_of(between(random, 0.2, 1.5))};
    }
  }
  return GaussianEvent{shift_of(1.0)};
}

RepeatedEvent random_release(RandomSource& random, Kind kind, releases::Delta delta) {
  const double times = std::floor(between(random, 1.0, 2001.0));
  // Four such classes leave more than half of delta to the rest.
  return {random_event(random, kind, 0.1 * delta.value() / times), static_cast<std::uint64_t>(times)};
}

releases::Delta random_delta(RandomSource& random) { return delta_of(between(random, 1e-9, 1e-3)); }

/// One to four classes of Gaussians, subset Gaussians, Laplace and approximate releases, each repeated 1 to 2000 times.
Plan random_plan(RandomSource& random) {
  constexpr Kind kKinds[] = {Kind::Gaussian, Kind::Subset, Kind::Laplace, Kind::Approximate};
  Plan plan{{}, random_delta(random)};
  const std::uint64_t classes = 1 + random.below(4);
  for (std::uint64_t i = 0; i < classes; ++i)
    plan.events.push_back(random_release(random, kKinds[random.below(4)], plan.delta));
  return plan;
}

/// As above, and one in 25 has draws with replacement, which are slower.
Plan random_plan_of_any_kind(RandomSource& random) {
  Plan plan = random_plan(random);
  if (random.below(25) == 0) plan.events.front() = random_release(random, Kind::Multiset, plan.delta);
  return plan;
}

LossLawPtr law_of(const PrivacyEvent& event) {
  if (const auto* gaussian = std::get_if<GaussianEvent>(&event)) return gaussian_law(gaussian->shift);
  if (const auto* subset = std::get_if<SubsetGaussianEvent>(&event))
    return subset_gaussian_law(subset->rate, subset->shift).value();
  if (const auto* laplace = std::get_if<LaplaceEvent>(&event)) return laplace_law(laplace->epsilon);
  if (const auto* multiset = std::get_if<MultisetGaussianEvent>(&event))
    return multiset_gaussian_law(multiset->records, multiset->draws, multiset->shift).value();
  const auto& approximate = std::get<ApproximateEvent>(event);
  return approximate_dp_law(approximate.epsilon, approximate.delta).value();
}

std::vector<RepeatedLaw> laws_of(const std::vector<RepeatedEvent>& events) {
  std::vector<RepeatedLaw> laws;
  for (const RepeatedEvent& repeated : events) laws.push_back({law_of(repeated.event), repeated.times});
  return laws;
}

TEST(AccountingTest, TheEndsOfABracketAreOrderedAndWithinTheGap) {
  for (std::uint64_t seed = 0; seed < kBrackets; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const Plan plan = random_plan_of_any_kind(random);
    const Result<Bracket> found = composed_epsilon(laws_of(plan.events), plan.delta, limits());
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_GE(found->lower, 0.0);
    EXPECT_GE(found->upper, found->lower);
    EXPECT_LE(found->upper - found->lower, kGap * found->upper) << found->lower << " .. " << found->upper;
  }
}

TEST(AccountingTest, TheBracketOfGaussiansHoldsTheirExactEpsilon) {
  for (std::uint64_t seed = 0; seed < kExactPlans; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    Plan plan{{}, random_delta(random)};
    double shift_squared = 0.0;
    for (std::uint64_t i = 1 + random.below(4); i > 0; --i) {
      plan.events.push_back(random_release(random, Kind::Gaussian, plan.delta));
      const double shift = std::get<GaussianEvent>(plan.events.back().event).shift.value();
      shift_squared += shift * shift * static_cast<double>(plan.events.back().times);
    }
    const Bracket found = composed_epsilon(laws_of(plan.events), plan.delta, limits()).value();
    const double exact = epsilon_of_gaussian(shift_of(std::sqrt(shift_squared)), plan.delta);
    EXPECT_LE(found.lower, exact * (1.0 + kRoundOff));
    EXPECT_GE(found.upper, exact * (1.0 - kRoundOff));
  }
}

TEST(AccountingTest, TheBracketOfARepeatedPureReleaseHoldsTheOptimalComposition) {
  for (std::uint64_t seed = 0; seed < kExactPlans; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const releases::Delta delta = random_delta(random);
    const releases::Epsilon each = epsilon_of(between(random, 0.01, 1.0));
    const auto times = static_cast<std::uint64_t>(between(random, 1.0, 2001.0));
    const Bracket found = composed_epsilon({{approximate_dp_law(each, 0.0).value(), times}}, delta, limits()).value();
    const double exact = optimal_composition(each, times, delta).value();
    EXPECT_LE(found.lower, exact * (1.0 + kRoundOff));
    EXPECT_GE(found.upper, exact * (1.0 - kRoundOff));
  }
}

TEST(AccountingTest, DeltaAtTheEndsOfABracketIsOnEitherSideOfDelta) {
  for (std::uint64_t seed = 0; seed < kInvertedPlans; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const Plan plan = random_plan(random);
    const std::vector<RepeatedLaw> laws = laws_of(plan.events);
    const Bracket epsilon = composed_epsilon(laws, plan.delta, limits()).value();
    // The truth at the upper end is at most delta, and at the lower end at least; lower <= truth <= upper.
    EXPECT_LE(composed_delta(laws, epsilon.upper, limits()).value().lower, plan.delta.value() * (1.0 + kRoundOff));
    EXPECT_GE(composed_delta(laws, epsilon.lower, limits()).value().upper, plan.delta.value() * (1.0 - kRoundOff));
  }
}

struct ChargedPlan {
  Plan plan;
  double epsilon;
};

const std::vector<ChargedPlan>& charged_plans() {
  static const std::vector<ChargedPlan> plans = [] {
    std::vector<ChargedPlan> out;
    for (std::uint64_t seed = 0; seed < kChargedPlans; ++seed) {
      RandomSource random(seed);
      Plan plan = random_plan(random);
      const double epsilon = charged_epsilon(plan.events, plan.delta).value();
      out.push_back({std::move(plan), epsilon});
    }
    return out;
  }();
  return plans;
}

/// @param easier changes a plan into one that protects at least as much
void expect_never_dearer(const std::function<void(Plan&)>& easier) {
  for (std::uint64_t seed = 0; seed < kChargedPlans; ++seed) {
    SCOPED_TRACE(seed);
    const ChargedPlan& charged = charged_plans()[seed];
    Plan changed = charged.plan;
    easier(changed);
    // upper' <= lower' / (1 - gap) <= truth' / (1 - gap) <= truth / (1 - gap) <= upper / (1 - gap).
    EXPECT_LE(charged_epsilon(changed.events, changed.delta).value(), charged.epsilon / (1.0 - kChargedGap));
  }
}

TEST(AccountingTest, MoreNoiseIsNeverDearer) {
  constexpr double kMore = 1.2;
  expect_never_dearer([](Plan& plan) {
    for (RepeatedEvent& repeated : plan.events) {
      if (auto* gaussian = std::get_if<GaussianEvent>(&repeated.event))
        gaussian->shift = shift_of(gaussian->shift.value() / kMore);
      if (auto* subset = std::get_if<SubsetGaussianEvent>(&repeated.event))
        subset->shift = shift_of(subset->shift.value() / kMore);
      if (auto* laplace = std::get_if<LaplaceEvent>(&repeated.event))
        laplace->epsilon = epsilon_of(laplace->epsilon.value() / kMore);
      if (auto* approximate = std::get_if<ApproximateEvent>(&repeated.event))
        approximate->epsilon = epsilon_of(approximate->epsilon.value() / kMore);
    }
  });
}

TEST(AccountingTest, FewerStepsAreNeverDearer) {
  expect_never_dearer([](Plan& plan) {
    for (RepeatedEvent& repeated : plan.events) repeated.times = (repeated.times + 1) / 2;
  });
}

TEST(AccountingTest, ALowerRateIsNeverDearer) {
  expect_never_dearer([](Plan& plan) {
    for (RepeatedEvent& repeated : plan.events) {
      if (auto* subset = std::get_if<SubsetGaussianEvent>(&repeated.event)) subset->rate *= 0.8;
      // All the records are a subset of rate 1: the Gaussians of the plan can be sampled too.
      if (const auto* gaussian = std::get_if<GaussianEvent>(&repeated.event))
        repeated.event = SubsetGaussianEvent{0.8, gaussian->shift};
    }
  });
}

TEST(AccountingTest, ALargerDeltaIsNeverDearer) {
  expect_never_dearer([](Plan& plan) { plan.delta = delta_of(3.0 * plan.delta.value()); });
}

TEST(AccountingTest, TheOrderOfReleasesDoesNotMatter) {
  for (std::uint64_t seed = 0; seed < kReorderedPlans; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const Plan plan = random_plan(random);
    const std::vector<RepeatedLaw> laws = laws_of(plan.events);
    std::vector<RepeatedLaw> reordered;
    for (const std::size_t i : random.permutation(laws.size())) reordered.push_back(laws[i]);
    const Bracket one = composed_epsilon(laws, plan.delta, limits()).value();
    const Bracket other = composed_epsilon(reordered, plan.delta, limits()).value();
    EXPECT_NEAR(one.upper, other.upper, kRoundOff * one.upper);
    EXPECT_NEAR(one.lower, other.lower, kRoundOff * one.upper);
  }
}

TEST(AccountingTest, SplittingAReleaseInTwoStaysWithinTheGap) {
  for (std::uint64_t seed = 0; seed < kReorderedPlans; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const Plan plan = random_plan(random);
    const std::vector<RepeatedLaw> laws = laws_of(plan.events);
    std::vector<RepeatedLaw> split;
    for (const RepeatedLaw& repeated : laws) {
      const std::uint64_t first = random.below(repeated.times);
      if (first > 0) split.push_back({repeated.law, first});
      split.push_back({repeated.law, repeated.times - first});
    }
    const Bracket whole = composed_epsilon(laws, plan.delta, limits()).value();
    const Bracket parts = composed_epsilon(split, plan.delta, limits()).value();
    EXPECT_NEAR(whole.upper, parts.upper, kGap * whole.upper);
    EXPECT_LE(whole.lower, parts.upper);
    EXPECT_LE(parts.lower, whole.upper);
  }
}

std::optional<double> reading_of(const Account& account, std::string_view accountant) {
  const auto found = std::find_if(account.readings.begin(), account.readings.end(),
                                  [&](const Reading& reading) { return reading.accountant == accountant; });
  return found != account.readings.end() && found->epsilon ? std::optional(found->epsilon->upper) : std::nullopt;
}

TEST(AccountingTest, TheReadingsOfAnAccountAreOrdered) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < kAccounts; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    Plan plan = random_plan(random);
    for (RepeatedEvent& repeated : plan.events) repeated.times = std::max<std::uint64_t>(repeated.times, 10);
    const Result<Account> found = account(plan.events, plan.delta);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_LE(found->epsilon_lower, found->epsilon);
    EXPECT_LE(found->epsilon_attained.value_or(0.0), found->epsilon);
    const std::optional<double> losses = reading_of(*found, "pld");
    const std::optional<double> renyi = reading_of(*found, "rdp");
    const std::optional<double> advanced = reading_of(*found, "advanced composition");
    if (!losses || !renyi || !advanced) continue;
    ++compared;
    EXPECT_LE(found->epsilon, *renyi);
    EXPECT_LE(*losses * (1.0 - 2.0 * kChargedGap), *renyi);  // the gap is 1e-3 of either end
    EXPECT_LE(*renyi, *advanced);
  }
  EXPECT_GE(compared, 5);  // delta that is too small for a release's own leaves no advanced composition
}

TEST(AccountingTest, DisjointFootprintsCostTheDearest) {
  const RepeatedEvent subset{SubsetGaussianEvent{0.05, shift_of(1.0)}, 100, {0.0, 0.5}};
  const RepeatedEvent laplace{LaplaceEvent{epsilon_of(0.1)}, 50, {0.5, 1.0}};
  const releases::Delta delta = delta_of(1e-5);
  const double one = account({subset}, delta).value().epsilon;
  const double other = account({laplace}, delta).value().epsilon;
  ASSERT_GT(std::abs(one - other), 0.01);
  EXPECT_EQ(account({subset, laplace}, delta).value().epsilon, std::max(one, other));
  EXPECT_EQ(account({laplace, subset}, delta).value().epsilon, std::max(one, other));
  EXPECT_EQ(charged_epsilon({subset, laplace}, delta).value(),
            std::max(charged_epsilon({subset}, delta).value(), charged_epsilon({laplace}, delta).value()));
}

TEST(AccountingTest, OverlappingFootprintsCostTheComposition) {
  const releases::Delta delta = delta_of(1e-5);
  std::vector<RepeatedEvent> overlapping{{SubsetGaussianEvent{0.05, shift_of(1.0)}, 100, {0.0, 0.6}},
                                         {LaplaceEvent{epsilon_of(0.1)}, 50, {0.5, 1.0}}};
  std::vector<RepeatedEvent> everywhere = overlapping;
  for (RepeatedEvent& repeated : everywhere) repeated.footprint = {};
  EXPECT_EQ(account(overlapping, delta).value().epsilon, account(everywhere, delta).value().epsilon);
  EXPECT_EQ(charged_epsilon(overlapping, delta).value(), charged_epsilon(everywhere, delta).value());
}

TEST(AccountingTest, EveryPositionIsWithinOneOfThePositionsAccountedFor) {
  for (std::uint64_t seed = 0; seed < kPlans; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    std::vector<RepeatedEvent> events;
    for (std::uint64_t i = 1 + random.below(8); i > 0; --i) {
      const double from = static_cast<double>(random.below(10)) / 10.0;
      const double to = from + (1.0 - from) * (1.0 - random.unit());
      events.push_back({GaussianEvent{shift_of(1.0)}, events.size() + 1, {from, to}});  // `times` tells them apart
    }
    const std::vector<std::vector<RepeatedEvent>> positions = by_position(events).value();
    const double at = random.unit();
    const auto reads = [&](const RepeatedEvent& repeated) {
      return repeated.footprint.from <= at && at < repeated.footprint.to;
    };
    const bool covered = std::any_of(positions.begin(), positions.end(), [&](const std::vector<RepeatedEvent>& found) {
      return std::all_of(events.begin(), events.end(), [&](const RepeatedEvent& repeated) {
        const auto same = [&](const RepeatedEvent& other) { return other.times == repeated.times; };
        return !reads(repeated) || std::any_of(found.begin(), found.end(), same);
      });
    });
    EXPECT_TRUE(covered) << at;
    for (const std::vector<RepeatedEvent>& found : positions) {  // and none of them is of releases that never meet
      double from = 0.0;
      double to = 1.0;
      for (const RepeatedEvent& repeated : found) {
        from = std::max(from, repeated.footprint.from);
        to = std::min(to, repeated.footprint.to);
      }
      EXPECT_LT(from, to);
    }
  }
}

template <class T>
void expect_refused(const Result<T>& result, std::string_view parameter) {
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find(parameter), std::string::npos) << result.error().message;
}

Result<Account> account_of(PrivacyEvent event, std::uint64_t times = 1, Footprint footprint = {}) {
  return account({{std::move(event), times, footprint}}, delta_of(1e-5));
}

TEST(AccountingTest, QuantitiesThatAreNoneAreRefused) {
  for (const double bad : kNoNumbers) {
    SCOPED_TRACE(bad);
    expect_refused(releases::Epsilon::create(bad), "epsilon");
    expect_refused(releases::GaussianShift::create(bad), "shift");
    expect_refused(Rho::create(bad), "rho");
    expect_refused(releases::Delta::create(bad), "delta");
  }
  expect_refused(releases::Delta::create(1.0), "delta");
  expect_refused(releases::Delta::create(1.5), "delta");
}

TEST(AccountingTest, RatesOutsideTheirRangeAreRefused) {
  const releases::GaussianShift shift = shift_of(1.0);
  for (const double bad : {0.0, -0.5, kNaN, kInfinity, -kInfinity, std::nextafter(1.0, 2.0), 2.0}) {
    SCOPED_TRACE(bad);
    expect_refused(subset_gaussian_law(bad, shift), "rate");
    expect_refused(subset_gaussian_attained_law(bad, shift, false), "rate");
    expect_refused(poisson_gaussian_law(bad, shift, true), "rate");
    expect_refused(account_of(SubsetGaussianEvent{bad, shift}), "rate");
    expect_refused(account_of(PoissonGaussianEvent{bad, shift}), "rate");
    expect_refused(charged_epsilon({{SubsetGaussianEvent{bad, shift}}}, delta_of(1e-5)), "rate");
  }
  EXPECT_TRUE(subset_gaussian_law(1.0, shift));
}

TEST(AccountingTest, DrawsFromNoRecordsAreRefused) {
  const releases::GaussianShift shift = shift_of(1.0);
  for (const std::int64_t records : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}})
    expect_refused(account_of(MultisetGaussianEvent{records, 10, shift}), "records");
  for (const std::int64_t draws : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{100'001}})
    expect_refused(account_of(MultisetGaussianEvent{1000, draws, shift}), "draw");
}

TEST(AccountingTest, DeltasOfReleasesOutsideTheirRangeAreRefused) {
  for (const double bad : {-1e-9, 1.0, 1.5, kNaN, kInfinity, -kInfinity}) {
    SCOPED_TRACE(bad);
    expect_refused(approximate_dp_law(epsilon_of(1.0), bad), "delta");
    expect_refused(account_of(ApproximateEvent{epsilon_of(1.0), bad}), "delta");
  }
  EXPECT_TRUE(approximate_dp_law(epsilon_of(1.0), 0.0));
}

TEST(AccountingTest, DiscreteGaussiansOutsideTheirRangeAreRefused) {
  for (const double bad : kNoNumbers) expect_refused(discrete_gaussian_law(bad, 1), "variance");
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{0}, std::numeric_limits<std::int64_t>::max()})
    expect_refused(discrete_gaussian_law(1.0, bad), "sensitivity");
}

TEST(AccountingTest, StepsThatAreNoneOrTooManyAreRefused) {
  const PrivacyEvent event = GaussianEvent{shift_of(1e-6)};
  const releases::Delta delta = delta_of(1e-5);
  for (const std::uint64_t bad : {std::uint64_t{0}, kComposedMax + 1, std::numeric_limits<std::uint64_t>::max()}) {
    SCOPED_TRACE(bad);
    expect_refused(account_of(event, bad), "steps");
    expect_refused(charged_epsilon({{event, bad}}, delta), "steps");
  }
  expect_refused(account({{event, kComposedMax}, {event, 1}}, delta), "steps");
  expect_refused(account({{event, kComposedMax}, {event, std::numeric_limits<std::uint64_t>::max()}}, delta), "steps");
  EXPECT_FALSE(account({}, delta));
  EXPECT_FALSE(charged_epsilon({}, delta));
  expect_refused(optimal_composition(epsilon_of(0.1), 0, delta), "times");
}

TEST(AccountingTest, CompositionsOfNothingOrOfTooMuchAreRefused) {
  const LossLawPtr law = gaussian_law(shift_of(1e-6));
  const releases::Delta delta = delta_of(1e-5);
  expect_refused(composed_epsilon({}, delta), "nothing to compose");
  expect_refused(composed_epsilon({{law, 0}}, delta), "nothing to compose");
  expect_refused(composed_epsilon({{law, kComposedMax + 1}}, delta), "releases");
  expect_refused(composed_epsilon({{law, kComposedMax}, {law, 1}}, delta), "releases");
  expect_refused(composed_epsilon({{law, 2}, {law, std::numeric_limits<std::uint64_t>::max()}}, delta), "releases");
  for (const double bad : {-0.1, kNaN, kInfinity}) expect_refused(composed_delta({{law, 1}}, bad), "epsilon");
}

TEST(AccountingTest, FootprintsOutsideThePermutationAreRefused) {
  const PrivacyEvent event = GaussianEvent{shift_of(1.0)};
  for (const Footprint bad :
       {Footprint{0.0, 0.0}, Footprint{0.5, 0.5}, Footprint{0.6, 0.5}, Footprint{-0.1, 0.5}, Footprint{0.0, 1.1},
        Footprint{kNaN, 1.0}, Footprint{0.0, kNaN}, Footprint{-kInfinity, kInfinity}}) {
    SCOPED_TRACE(bad.from);
    SCOPED_TRACE(bad.to);
    expect_refused(account_of(event, 1, bad), "footprint");
    expect_refused(by_position({{event, 1, bad}}), "footprint");
  }
}

TEST(KnownSubsetTest, OfOneReleaseDeltaIsTheGaussiansTimesTheRate) {
  for (const double rate : {0.01, 0.13, 0.5, 1.0}) {
    const LossLawPtr known = known_subset_gaussian_law(rate, shift_of(1.3)).value();
    const LossLawPtr whole = gaussian_law(shift_of(1.3));
    for (const double epsilon : {0.0, 0.5, 1.0, 3.0})
      EXPECT_NEAR(known->delta(epsilon), rate * whole->delta(epsilon), 1e-14 * whole->delta(epsilon));
    // Below zero what was missed counts, too: 1 - e^-1 of it, and rate times the Gaussian's.
    EXPECT_NEAR(known->delta(-1.0), (1.0 - rate) * (1.0 - std::exp(-1.0)) + rate * whole->delta(-1.0), 1e-14);
  }
}

TEST(KnownSubsetTest, CostsNoLessThanASecretOneAndNoMoreThanAllRecords) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed + 31);
    const double rate = between(random, 0.05, 0.9);
    const releases::GaussianShift shift = shift_of(between(random, 0.1, 2.0));
    const auto times = static_cast<std::uint64_t>(between(random, 1.0, 60.0));
    const releases::Delta delta = random_delta(random);
    const auto epsilon = [&](const PrivacyEvent& event) { return charged_epsilon({{event, times}}, delta).value(); };
    const double known = epsilon(KnownSubsetGaussianEvent{rate, shift});
    EXPECT_LE(epsilon(SubsetGaussianEvent{rate, shift}), known * (1.0 + 1e-3) + 1e-6);
    EXPECT_LE(known, epsilon(GaussianEvent{shift}) * (1.0 + 1e-3) + 1e-6);
  }
}

}  // namespace
}  // namespace undertone::accounting
