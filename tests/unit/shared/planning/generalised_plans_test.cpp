#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/accounting/accountant.hpp"
#include "shared/accounting/renyi.hpp"
#include "shared/planning/answer_work.hpp"
#include "shared/planning/plan.hpp"
#include "shared/planning/plan_digest.hpp"
#include "verifier/ledger_texts.hpp"
#include "verifier/renyi_bound.hpp"

/// Plans of releases with generalised Gaussian noise: known by their rho alone.
namespace undertone::planning {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kDelta = 1e-6;
constexpr double kNorm = 5.0;

releases::SiloFacts silo_of(const releases::Target& target) {
  return {SiloId::create("one").value(), 1'000, 100, false, target};
}
releases::Target approximate(double epsilon) {
  return releases::ApproximateDp{releases::Epsilon::create(epsilon).value(), releases::Delta::create(kDelta).value()};
}
releases::Target concentrated(double rho_value) {
  const auto rho = releases::Rho::create(rho_value).value();
  const auto delta = releases::Delta::create(kDelta).value();
  return releases::ConcentratedDp{
      rho, delta, releases::Epsilon::create(accounting::epsilon_of_zcdp(rho, delta) * (1.0 + 1e-9)).value()};
}

releases::Ask asked(double fraction = 1.0) {
  releases::Ask ask{releases::GradientMap{},
                    {releases::Block::Training, fraction},
                    releases::DualBound::create(releases::ClipNorm::create(2.0).value(), kInfinity, 16).value(),
                    16};
  ask.form = releases::SumForm{kNorm};
  return ask;
}
double rho_of(const Release& release) {
  return std::get<mechanisms::GeneralisedGaussianLattice>(release.mechanism).cost.value_rounded_up();
}

TEST(GeneralisedPlansTest, ZcdpIsSharedOutEqually) {
  const Plan plan = make_plan({{asked(), 20}}, silo_of(concentrated(0.1))).value();
  EXPECT_NEAR(rho_of(*plan.release({0})), 0.1 / 20.0, 1e-10);
  EXPECT_LE(20.0 * rho_of(*plan.release({0})), 0.1);
  // Draws are not credited there.
  EXPECT_NEAR(rho_of(*make_plan({{asked(0.1), 20}}, silo_of(concentrated(0.1))).value().release({0})), 0.1 / 20.0,
              1e-10);
}

TEST(GeneralisedPlansTest, AnEpsilonAndADeltaAreMetByTheRenyiAccountant) {
  const Plan plan = make_plan({{asked(), 20}}, silo_of(approximate(1.0))).value();
  EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
  EXPECT_GT(plan.epsilon().value_rounded_up(), 0.999);
  // What the closed form gives for rho is less; the conversion of Canonne, Kamath and Steinke is what is used.
  const double all = 20.0 * rho_of(*plan.release({0}));
  EXPECT_GT(all, accounting::rho_for_closed(*releases::Epsilon::create(1.0), *releases::Delta::create(kDelta)));
  EXPECT_NEAR(all, accounting::rho_for(*releases::Epsilon::create(1.0), *plan.mechanism_delta()), 1e-4 * all);
  EXPECT_NE(plan.accountant().find("Renyi"), std::string::npos);
}

TEST(GeneralisedPlansTest, ItsDrawsAreWorkThatASiloCounts) {
  const Plan plan = make_plan({{asked(), 1}}, silo_of(approximate(1.0))).value();
  EXPECT_EQ(work_of(*plan.release({0})).products, 1e5 * static_cast<double>(asked().dimension));
  releases::Ask gaussian = asked();
  gaussian.form = releases::SumForm{};
  EXPECT_EQ(work_of(*make_plan({{gaussian, 1}}, silo_of(approximate(1.0))).value().release({0})).products, 0.0);
}

TEST(GeneralisedPlansTest, SmallSubsetsAreLouder) {
  const double whole = rho_of(*make_plan({{asked(), 50}}, silo_of(approximate(1.0))).value().release({0}));
  const double tenth = rho_of(*make_plan({{asked(0.1), 50}}, silo_of(approximate(1.0))).value().release({0}));
  const double hundredth = rho_of(*make_plan({{asked(0.01), 50}}, silo_of(approximate(1.0))).value().release({0}));
  const double one = rho_of(*make_plan({{asked(0.001), 50}}, silo_of(approximate(1.0))).value().release({0}));
  // The theorem gains where the rate times the order that counts, here some 28, is below 1.
  EXPECT_GE(tenth, whole * (1.0 - 1e-3));
  EXPECT_GT(hundredth, 3.0 * whole);
  EXPECT_GT(one, 1.5 * hundredth);
}

TEST(GeneralisedPlansTest, DisjointPartsEachHaveTheWhole) {
  Schedule schedule;
  for (std::uint64_t part = 0; part < 4; ++part) {
    schedule.push_back({asked(), 1});
    schedule.back().ask.records.slice = releases::Slice{releases::Slice::Cut::Equal, part, 4};
  }
  const Plan plan = make_plan(schedule, silo_of(approximate(1.0))).value();
  const double one = rho_of(*make_plan({{asked(), 1}}, silo_of(approximate(1.0))).value().release({0}));
  for (std::uint64_t part = 0; part < 4; ++part) EXPECT_NEAR(rho_of(*plan.release({part})), one, 1e-3 * one);
}

TEST(GeneralisedPlansTest, BesideGaussianReleasesAllAreAsLoud) {
  releases::Ask gaussian = asked();
  gaussian.form = releases::SumForm{};
  const Plan plan = make_plan({{asked(), 5}, {gaussian, 5}}, silo_of(concentrated(0.2))).value();
  const double mu_squared = plan.release({7})->cost().gaussian.value_rounded_up();
  EXPECT_NEAR(rho_of(*plan.release({0})), 0.02, 1e-9);
  EXPECT_NEAR(0.5 * mu_squared, 0.02, 1e-4);
  const Plan both = make_plan({{asked(), 5}, {gaussian, 5}}, silo_of(approximate(1.0))).value();
  EXPECT_LE(both.epsilon().value_rounded_up(), 1.0);
  EXPECT_GT(both.epsilon().value_rounded_up(), 0.99);
}

TEST(GeneralisedPlansTest, LedgersListWhatAVerifierComposes) {
  const Plan plan = make_plan({{asked(0.1), 40}}, silo_of(approximate(1.0))).value();
  const std::string text = plan.releases_text(releases::Block::Training);
  EXPECT_EQ(text, fmt::format("concentrated:{}*40@100/1000", plan.release({0})->cost().concentrated.to_string()));
  const auto groups = verifier::parse_release_groups(text, verifier::Format::Two);
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->front().law, verifier::Law::Concentrated);
  EXPECT_EQ(plan.cost(releases::Block::Training).to_string(),
            fmt::format("concentrated:{}", releases::to_decimal(40 * plan.release({0})->cost().concentrated.units())));
  EXPECT_EQ(releases::Cost::parse(plan.cost(releases::Block::Training).to_string()).value(),
            plan.cost(releases::Block::Training));
}

TEST(GeneralisedPlansTest, ChosenNoiseIsTheShiftOfTheSameRho) {
  releases::Ask chosen = asked();
  chosen.shift = releases::GaussianShift::create(0.02).value();
  const Plan plan = make_plan({{chosen, 10}}, silo_of(approximate(1.0))).value();
  EXPECT_NEAR(rho_of(*plan.release({0})), 0.0002, 1e-10);
  chosen.shift = releases::GaussianShift::create(0.4).value();
  const auto refused = make_plan({{chosen, 10}}, silo_of(approximate(1.0)));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the noise that was chosen costs epsilon"), std::string::npos);
  // Whose square is no number, or nothing.
  for (const double shift : {1e200, 17.0, 1e-9, 1e-200}) {
    chosen.shift = releases::GaussianShift::create(shift).value();
    const auto none = make_plan({{chosen, 10}}, silo_of(approximate(1.0)));
    ASSERT_FALSE(none) << shift;
    EXPECT_NE(none.error().message.find("shift"), std::string::npos) << none.error().message;
  }
}

TEST(GeneralisedPlansTest, DifferencesKeepTheirRhoWhereThePointsAreNear) {
  releases::Ask ask = asked();
  ask.map = releases::GradientDifferenceMap{};
  auto bound = std::get<releases::DualBound>(ask.bound);
  bound.smoothness = 1.0;
  ask.bound = bound;
  const Plan plan = make_plan({{ask, 3}}, silo_of(concentrated(0.1))).value();
  const Release scaled = plan.release({0})->scaled_to(0.5);  // of a clip of 2: a quarter
  EXPECT_EQ(rho_of(scaled), rho_of(*plan.release({0})));
  EXPECT_NEAR(scaled.noise_stddev_of_mean(), 0.25 * plan.release({0})->noise_stddev_of_mean(), 1e-12);
}

TEST(GeneralisedPlansTest, TheNormIsInTheDigest) {
  releases::Ask other = asked();
  other.form = releases::SumForm{kNorm + 0.5};
  releases::Ask gaussian = asked();
  gaussian.form = releases::SumForm{};
  const auto digest = [](const releases::Ask& ask) {
    return plan_digest(make_plan({{ask, 2}}, silo_of(approximate(1.0))).value());
  };
  EXPECT_NE(digest(asked()), digest(other));
  EXPECT_NE(digest(asked()), digest(gaussian));
}

TEST(GeneralisedPlansTest, RefusesWhatHasNoAccount) {
  const auto refused = [](const releases::Ask& ask, const releases::Target& target,
                          const std::optional<Shuffling>& shuffling, std::string_view why) {
    const auto plan = make_plan({{ask, 2}}, silo_of(target), shuffling);
    ASSERT_FALSE(plan) << why;
    EXPECT_NE(plan.error().message.find(why), std::string::npos) << plan.error().message;
  };
  refused(asked(), releases::PureDp{releases::Epsilon::create(1.0).value()}, {}, "has no pure epsilon");
  refused(asked(), approximate(1.0), Shuffling{3, false, 1}, "is not hidden by shufflers");
  releases::Ask ask = asked(0.1);
  ask.records.with_replacement = true;
  refused(ask, approximate(1.0), {}, "draws with replacement");
  ask = asked();
  ask.bound = releases::L2Bound{releases::ClipNorm::create(2.0).value()};
  refused(ask, approximate(1.0), {}, "bounded in l_q");
  for (const double norm : {2.0, 1.0, -1.0, kInfinity, std::nan("")}) {
    ask = asked();
    ask.form = releases::SumForm{norm};
    EXPECT_FALSE(make_plan({{ask, 2}}, silo_of(approximate(1.0)))) << norm;
  }
  ask = asked();
  ask.records.slice = releases::Slice{releases::Slice::Cut::Equal, 0, 4, releases::Slice::Assignment::Bins};
  EXPECT_FALSE(make_plan({{ask, 1}}, silo_of(approximate(1.0))));
  ask = asked();
  ask.map = releases::LocalRunMap{{3, 0.1}};
  refused(ask, approximate(1.0), {}, "nothing else is cut in a dual norm");
  ask = asked();
  ask.map = releases::MetricsMap{};
  refused(ask, approximate(1.0), {}, "nothing else is cut in a dual norm");
}

TEST(SubsetZcdpTest, IsTheTheoremsNumber) {
  // rate 1/4, rho .1, order 2: r(2) = .2, 1/16 C(2,2) min{4 (e^.2 - 1), 2 e^.2} = .0625 .8856110 = .05535069, whose
  // log1p is .0538732.
  const auto rho = accounting::Rho::create(0.1).value();
  EXPECT_NEAR(accounting::subset_zcdp_renyi(0.25, rho, 2.0), 0.0538732, 1e-7);
  EXPECT_NEAR(accounting::subset_zcdp_renyi(0.25, rho, 1.2), 0.0538732, 1e-7);  // that of 2
  EXPECT_EQ(accounting::subset_zcdp_renyi(0.9, rho, 1.2), 1.2 * 0.1);  // less than that of 2: .81 .8856 and its log1p
  // Order 3: 1 + 3/16 .8856110 + 2/64 e^(2 .3) = 1 + .16605207 + .05694121; half its logarithm is .1006507.
  EXPECT_NEAR(accounting::subset_zcdp_renyi(0.25, rho, 3.0), 0.1006507, 1e-7);
  EXPECT_NEAR(accounting::subset_zcdp_renyi(0.25, rho, 2.5), 0.1006507, 1e-7);
  EXPECT_EQ(accounting::subset_zcdp_renyi(1.0, rho, 3.0), 3.0 * 0.1);
  EXPECT_EQ(accounting::subset_zcdp_renyi(0.25, rho, 2'000.0), 200.0);
}

TEST(SubsetZcdpTest, TheBestOrderIsAWholeOne) {
  // Between whole orders the bound is that of the next: at rate .1, rho .5, delta 1e-5 one release costs 2.275.
  const auto event = accounting::SubsetConcentratedEvent{0.1, accounting::Rho::create(0.5).value()};
  const double epsilon = accounting::charged_epsilon({{event, 1}}, *releases::Delta::create(1e-5)).value();
  EXPECT_NEAR(epsilon, 2.275, 5e-4);
}

TEST(SubsetZcdpTest, IsAboveWhatASubsetOfAGaussianReallyCosts) {
  // The same divergences by the exact dominating profile of fixed-size subsets.
  for (const double rate : {0.02, 0.3}) {
    for (const double mu : {0.2, 1.0}) {
      const auto shift = releases::GaussianShift::create(mu).value();
      const auto law = accounting::subset_gaussian_law(rate, shift).value();
      const auto rho = accounting::Rho::create(0.5 * mu * mu).value();
      for (const double order : {1.5, 2.0, 4.0, 9.0})
        EXPECT_GE(accounting::subset_zcdp_renyi(rate, rho, order) * (1.0 + 1e-9),
                  accounting::profile_renyi(*law, order))
            << rate << " " << mu << " " << order;
    }
  }
}

}  // namespace
}  // namespace undertone::planning
