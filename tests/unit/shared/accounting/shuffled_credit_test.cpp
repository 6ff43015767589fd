#include "shared/accounting/shuffled_credit.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/accounting/clones_law.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/random_source.hpp"
#include "shared/planning/plan.hpp"
#include "tests/support/rounds_made.hpp"

namespace undertone::accounting {
namespace {

releases::Epsilon epsilon(double value) { return releases::Epsilon::create(value).value(); }
releases::Delta delta(double value) { return releases::Delta::create(value).value(); }
releases::GaussianShift shift(double value) { return releases::GaussianShift::create(value).value(); }
releases::DeltaAmount amount(double value) { return releases::DeltaAmount::rounded_down(value).value(); }

releases::SiloFacts facts(std::int64_t records, double target, double delta_value) {
  return {SiloId::create("one").value(), records, 0, true,
          releases::ApproximateDp{epsilon(target), delta(delta_value)}};
}
releases::Ask gradient(double fraction) {
  return {releases::GradientMap{},
          {releases::Block::Training, fraction},
          releases::L2Bound{releases::ClipNorm::create(1.0).value()},
          30};
}
planning::Plan plan_of(std::int64_t silos, double fraction, const releases::SiloFacts& silo, std::uint64_t rounds) {
  return planning::make_plan({{gradient(fraction), rounds}}, silo, planning::Shuffling{silos, false, 1}).value();
}
planning::Plan local_plan_of(double fraction, const releases::SiloFacts& silo, std::uint64_t rounds) {
  return planning::make_plan({{gradient(fraction), rounds}}, silo).value();
}
double noise_of(const planning::Plan& plan) { return plan.segments().front().release.noise_stddev_of_mean(); }

TEST(ClonesLawTest, IsTheCloneBoundFromAbove) {
  struct Row {
    std::uint64_t others;
    double record;
    double silo;
  };
  for (const Row& row :
       {Row{999, 0.1, 2.9}, Row{99, 0.05, 1.0}, Row{4, 0.5, 3.0}, Row{9999, 0.5, 4.0}, Row{0, 1.0, 1.0}}) {
    const LossLawPtr law = clones_law(row.others, row.record, row.silo).value();
    for (const double part : {0.0, 0.1, 0.3, 0.6, 0.9}) {
      SCOPED_TRACE(fmt::format("{} others at {} of {}", row.others, part, row.record));
      const double exact = clone_delta(row.others, row.record, row.silo, part * row.record);
      if (exact < 1e-20) continue;  // clone_delta's own omissions
      EXPECT_GE(law->delta(part * row.record), exact * (1.0 - 1e-7));
      EXPECT_LE(law->delta(part * row.record), exact * 1.005 + 1e-15);
    }
    EXPECT_LT(law->delta(row.record), 1e-25);  // no loss is larger
  }
}

TEST(ClonesLawTest, IsTheSameInBothOrders) {
  const LossLawPtr law = clones_law(50, 0.4, 1.0).value();
  for (const double loss : {0.01, 0.1, 0.33}) {
    // P[L <= -l] = Q[L >= l]; no atom is at these.
    EXPECT_NEAR(static_cast<double>(1.0L - law->above(-loss).p), static_cast<double>(law->above(loss).q), 1e-12);
    EXPECT_NEAR(static_cast<double>(1.0L - law->above(-loss).q), static_cast<double>(law->above(loss).p), 1e-12);
  }
}

TEST(ClonesLawTest, RefusesNumbersThatMeanNothing) {
  EXPECT_FALSE(clones_law(10, 0.0, 1.0));
  EXPECT_FALSE(clones_law(10, 1.0, NAN));
  EXPECT_FALSE(clones_law(10, 51.0, 1.0));
  EXPECT_FALSE(clones_law(std::uint64_t{1} << 40U, 1.0, 1.0));
}

TEST(ShuffledReportsTest, WithAllRecordsDrawnAreGaussiansOfTwoShifts) {
  const ShuffledRound drawn = shuffled_reports(1000, {1.0, 20, shift(0.5 / 20)}, delta(1e-6)).value();
  const ShuffledRound plain = shuffled_gaussians(1000, shift(0.5 / 20), shift(0.5), delta(1e-6)).value();
  EXPECT_TRUE(drawn.gains());
  EXPECT_NEAR(drawn.epsilon, plain.epsilon, 1e-6 * plain.epsilon);
  EXPECT_NEAR(drawn.local_epsilon, 0.0901383, 1e-6);  // row 143
}

TEST(ShuffledReportsTest, ADrawOfOneRecordGainsFromEverySilo) {
  // One of 20 records at mu = 0.4: the record's pair is the subset's, the silo's shift is mu itself.
  const double local = shuffled_reports(1, {0.05, 1, shift(0.4)}, delta(1e-6)).value().epsilon;
  double before = local;
  for (const std::uint64_t silos : {100U, 1000U, 4000U, 16'000U}) {
    SCOPED_TRACE(silos);
    const ShuffledRound round = shuffled_reports(silos, {0.05, 1, shift(0.4)}, delta(1e-6)).value();
    EXPECT_EQ(round.local_epsilon, local);
    EXPECT_LE(round.epsilon, before * (1.0 + 1e-9));
    before = round.epsilon;
  }
  EXPECT_LT(before, 0.5 * local);
}

constexpr double kStep = 0.04;

/// The law of a silo's report in one dimension with noise of 1: a mixture, over its subsets, about their sums.
/// @return densities on a grid from -8 to 8
std::vector<double> report_law(const std::vector<double>& records, std::size_t drawn) {
  std::vector<double> density(401, 0.0);
  double subsets = 0.0;
  for (unsigned subset = 0; subset < 1U << records.size(); ++subset) {
    double sum = 0.0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if ((subset >> i & 1U) == 0) continue;
      sum += records[i];
      ++count;
    }
    if (count != drawn) continue;
    ++subsets;
    for (std::size_t x = 0; x < density.size(); ++x) {
      const double off = kStep * static_cast<double>(x) - 8.0 - sum;
      density[x] += std::exp(-0.5 * off * off) / std::sqrt(2.0 * M_PI);
    }
  }
  for (double& one : density) one /= subsets;
  return density;
}

TEST(ShuffledReportsTest, NoTwoSilosAreWorseThanTheBound) {
  // Two messages in an unknown order, integrated. Records lie within +-mu/2, so that replacing one shifts a sum by mu.
  RandomSource random(7);
  double closest = 0.0;
  for (int trial = 0; trial < 60; ++trial) {
    SCOPED_TRACE(trial);
    const std::size_t records = 2 + random.below(3);
    const std::size_t drawn = 1 + random.below(records);
    const double mu = 0.1 + 0.8 * random.unit();
    const double side = random.below(2) == 0 ? 0.5 * mu : -0.5 * mu;
    std::vector<double> own(records, side);
    std::vector<double> others(records, -side);
    if (trial % 3 == 0)
      for (double& one : own) one = mu * (random.unit() - 0.5);
    if (trial % 3 == 1)
      for (double& one : others) one = mu * (random.unit() - 0.5);
    std::vector<double> neighbour = own;
    own[0] = side;
    neighbour[0] = -side;
    const std::vector<double> first = report_law(own, drawn);
    const std::vector<double> second = report_law(neighbour, drawn);
    const std::vector<double> other = report_law(others, drawn);
    const DrawnReports reports{static_cast<double>(drawn) / static_cast<double>(records),
                               static_cast<std::int64_t>(drawn), shift(mu)};
    const double record_epsilon = (0.2 + 2.0 * random.unit()) * mu;
    const double silo_epsilon = (0.2 + 2.0 * random.unit()) * mu * static_cast<double>(drawn);
    const double tau = clones_total_variation(2, reports, record_epsilon, silo_epsilon).value();
    for (const double at : {0.0, 0.3 * record_epsilon, 0.8 * record_epsilon}) {
      double exact = 0.0;
      for (std::size_t x = 0; x < first.size(); ++x) {
        for (std::size_t y = 0; y < first.size(); ++y) {
          const double here = first[x] * other[y] + other[x] * first[y];
          const double there = second[x] * other[y] + other[x] * second[y];
          exact += 0.5 * std::max(0.0, here - std::exp(at) * there) * kStep * kStep;
        }
      }
      const double bound = clone_delta(1, record_epsilon, silo_epsilon, at) + (1.0 + std::exp(at)) * tau;
      EXPECT_LE(exact, bound);
      closest = std::max(closest, exact / bound);
    }
  }
  EXPECT_GT(closest, 0.7);  // the bound is not far above what some silos reach
}

TEST(ShuffledReportsTest, TotalVariationIsTheTwoPairs) {
  // tau = delta_r / (1 + e^r) + (N - 1) e^-s G(s; K mu), K mu = 0.6.
  const double record = subset_gaussian_law(0.1, shift(0.2)).value()->delta(0.15);
  const double silo = gaussian_law(shift(0.6))->delta(2.0);
  const double expected = record / (1.0 + std::exp(0.15)) + 99.0 * std::exp(-2.0) * silo;
  EXPECT_NEAR(clones_total_variation(100, {0.1, 3, shift(0.2)}, 0.15, 2.0).value(), expected, 1e-9 * expected);
  EXPECT_FALSE(clones_total_variation(100, {0.1, 0, shift(0.2)}, 0.15, 2.0));
}

TEST(ShufflerCreditTest, PaysForWhatItsRoundsAreOffTheBound) {
  const ShuffledRounds rounds{1000, 0.05, 1, 20, 100};
  const ShufflerCredit credit = credit_at(rounds, shift(0.3), epsilon(0.5), amount(5e-6)).value();
  const double record = credit.record_epsilon.value_rounded_up();
  const double silo = credit.silo_epsilon.value_rounded_up();
  const double tau = clones_total_variation(1000, {0.05, 1, shift(0.3)}, record, silo).value();
  EXPECT_LE((1.0 + std::exp(0.5)) * 100.0 * tau, 5e-6);
  EXPECT_GE((1.0 + std::exp(0.5)) * 100.0 * tau, 0.99 * 5e-6);  // and for no more
  EXPECT_EQ(credit.event(1000).others, 999U);
  // A louder report is further off.
  EXPECT_GT(credit_failure(rounds, shift(0.31), credit.record_epsilon, credit.silo_epsilon, epsilon(0.5)).value(),
            credit.failure);
}

TEST(ShufflerCreditTest, LoudSilosAreNotCreditedHoweverMany) {
  const ShuffledRounds rounds{1000, 1.0, 200, 200, 1};
  const releases::GaussianShift local = gaussian_shift_for(epsilon(0.5), delta(1e-5));  // K mu is 28: no clones
  EXPECT_FALSE(credited_shift(rounds, local, epsilon(0.5), amount(1e-5)));
  EXPECT_FALSE(silos_for_gain(rounds, local, epsilon(0.5), amount(1e-5)));
}

TEST(ShuffledPlanTest, AThousandSilosOfOneRecordEachNeedLessNoise) {
  const releases::SiloFacts silo = facts(20, 0.5, 1e-5);
  const planning::Plan mixed = plan_of(1000, 0.05, silo, 100);
  const planning::Plan local = local_plan_of(0.05, silo, 100);
  ASSERT_TRUE(mixed.credit());
  EXPECT_LE(mixed.epsilon().value_rounded_up(), 0.5);
  EXPECT_LT(noise_of(mixed), 0.78 * noise_of(local));  // 6.05 against 7.84
  EXPECT_GT(noise_of(mixed), 0.70 * noise_of(local));
  EXPECT_GT(*mixed.epsilon_without_shuffler(), 0.6);
  EXPECT_TRUE(planning::shuffler_needs(mixed, silo).empty());
  // All of delta is accounted for: the profile's part, what rounds are off the bound, the samplers'.
  const releases::DeltaAmount samplers = planning::implementation_delta(silo.epsilon(), mixed.draws()).value();
  EXPECT_EQ(mixed.mechanism_delta_amount().units() + mixed.failure_delta().units() + samplers.units(),
            mixed.delta().units());
  EXPECT_LE(mixed.delta().value_rounded_down(), 1e-5);
}

TEST(ShuffledPlanTest, TheCreditCoversTheLatticeThatIsUsed) {
  const releases::SiloFacts silo = facts(20, 0.5, 1e-5);
  const planning::Plan plan = plan_of(1000, 0.05, silo, 100);
  ASSERT_TRUE(plan.credit());
  const releases::GaussianShift used = shift(std::sqrt(plan.release({0})->cost_of_draw().gaussian.value_rounded_up()));
  EXPECT_LE(credit_failure(plan.reported_rounds().value(), used, plan.credit()->record_epsilon,
                           plan.credit()->silo_epsilon, epsilon(0.5))
                .value(),
            plan.failure_delta());
  // What the accountant composes, from the plan's own events, is what the plan says.
  const double composed = charged_epsilon(plan.events(releases::Block::Training), *plan.mechanism_delta()).value();
  EXPECT_NEAR(composed, plan.epsilon().value_rounded_up(), 1e-9);
}

TEST(ShuffledPlanTest, FiveSilosGainNothingAndThePlanSaysWhatWould) {
  const releases::SiloFacts silo = facts(91, 1.0, 1e-5);
  const planning::Plan mixed = plan_of(5, 1.0, silo, 25);
  const planning::Plan local = local_plan_of(1.0, silo, 25);
  EXPECT_FALSE(mixed.credit());
  EXPECT_EQ(noise_of(mixed), noise_of(local));
  EXPECT_EQ(mixed.epsilon(), local.epsilon());
  EXPECT_EQ(*mixed.epsilon_without_shuffler(), local.epsilon().value_rounded_up());
  EXPECT_EQ(mixed.failure_delta().units(), 0U);
  const std::string needs = planning::shuffler_needs(mixed, silo);
  EXPECT_NE(needs.find("no gain from 5 honest silos that each report 91 of 91 records"), std::string::npos) << needs;
}

TEST(ShuffledPlanTest, WhatWouldGainDoesGain) {
  const releases::SiloFacts silo = facts(20, 1.0, 1e-5);
  const planning::Plan few = plan_of(1000, 0.05, silo, 25);
  EXPECT_FALSE(few.credit());
  EXPECT_NE(planning::shuffler_needs(few, silo).find("with 16000 there would be"), std::string::npos)
      << planning::shuffler_needs(few, silo);
  EXPECT_TRUE(plan_of(16'000, 0.05, silo, 25).credit());
  EXPECT_FALSE(plan_of(8000, 0.05, silo, 25).credit());
}

TEST(ShuffledPlanTest, MoreSilosNeverNeedMoreNoise) {
  const releases::SiloFacts silo = facts(20, 0.3, 1e-6);
  double before = noise_of(local_plan_of(0.1, silo, 40));
  for (const std::int64_t silos : {1, 30, 300, 1000, 3000, 10'000}) {
    SCOPED_TRACE(silos);
    const planning::Plan plan = plan_of(silos, 0.1, silo, 40);
    EXPECT_LE(noise_of(plan), before * 1.002);  // the search ends within a thousandth
    EXPECT_LE(plan.epsilon().value_rounded_up(), 0.3);
    EXPECT_LE(plan.epsilon().value_rounded_up(), *plan.epsilon_without_shuffler());
    before = noise_of(plan);
  }
  EXPECT_LT(before, 0.6 * noise_of(local_plan_of(0.1, silo, 40)));
}

TEST(ShuffledPlanTest, TheOdometerRisesToWhatIsCharged) {
  const releases::SiloFacts silo = facts(20, 0.5, 1e-5);
  const planning::Plan plan = plan_of(1000, 0.05, silo, 100);
  double before = 0.0;
  for (const std::uint64_t rounds : {1U, 10U, 50U, 100U}) {
    const double so_far = plan.epsilon_of(rounds_made(0, rounds));
    EXPECT_GT(so_far, before);
    before = so_far;
  }
  EXPECT_NEAR(before, plan.epsilon().value_rounded_up(), 1e-6);
}

TEST(ShuffledPlanTest, DrawsThatDifferAreLeftToTheLocalGuarantee) {
  const releases::SiloFacts silo = facts(20, 0.5, 1e-5);
  const planning::Plan plan =
      planning::make_plan({{gradient(0.05), 50}, {gradient(0.1), 50}}, silo, planning::Shuffling{10'000, false, 1})
          .value();
  EXPECT_FALSE(plan.credit());
  EXPECT_FALSE(plan.reported_rounds());
  EXPECT_NE(planning::shuffler_needs(plan, silo).find("equally many"), std::string::npos);
}

TEST(ShuffledPlanTest, DisjointPartsAreCreditedEachForItself) {
  planning::Schedule schedule;
  for (std::uint64_t part = 0; part < 4; ++part) {
    releases::Ask shape = gradient(0.05);
    shape.records.slice = releases::Slice{releases::Slice::Cut::Equal, part, 4};
    schedule.push_back({shape, 100});
  }
  const planning::Plan parts =
      planning::make_plan(schedule, facts(80, 0.5, 1e-5), planning::Shuffling{1000, false, 1}).value();
  ASSERT_TRUE(parts.credit());
  EXPECT_EQ(parts.reported_rounds()->rounds, 100U);
  EXPECT_EQ(parts.reported_rounds()->population, 20);
  EXPECT_NEAR(noise_of(parts), noise_of(plan_of(1000, 0.05, facts(20, 0.5, 1e-5), 100)), 0.01 * noise_of(parts));
  const double composed = charged_epsilon(parts.events(releases::Block::Training), *parts.mechanism_delta()).value();
  EXPECT_NEAR(composed, parts.epsilon().value_rounded_up(), 1e-9);
}

TEST(ShuffledPlanTest, APlanIsAPureFunction) {
  const releases::SiloFacts silo = facts(20, 0.5, 1e-5);
  const planning::Plan first = plan_of(1000, 0.05, silo, 100);
  (void)plan_of(2000, 0.05, silo, 100);
  (void)plan_of(1000, 0.05, silo, 101);
  const planning::Plan again = plan_of(1000, 0.05, silo, 100);
  EXPECT_EQ(first.releases_text(releases::Block::Training), again.releases_text(releases::Block::Training));
  EXPECT_EQ(first.failure_delta(), again.failure_delta());
  EXPECT_EQ(first.epsilon(), again.epsilon());
}

}  // namespace
}  // namespace undertone::accounting
