#include "shared/theorems/one_pass_parameters.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/algorithms/frank_wolfe/private_tree_frank_wolfe.hpp"
#include "shared/algorithms/frank_wolfe/staged_tree_frank_wolfe.hpp"
#include "shared/algorithms/mirror/one_pass_bounds.hpp"
#include "shared/theorems/theorem_parameters.hpp"

namespace undertone::theorems {
namespace {

using algorithms::PolyFrankWolfeSettings;
using algorithms::PrivateTreeFrankWolfeSettings;
using algorithms::TreeFrankWolfeSettings;
using geometry::Domain;

constexpr TheoremName kOnePass[] = {TheoremName::TreeFrankWolfeConvex, TheoremName::PolyFrankWolfeConvex,
                                    TheoremName::PrivateTreeFrankWolfeConvex};

/// One silo of n = 1000, epsilon 1, delta 1e-6, whose exact shift is some 0.2367 and whose w is (sqrt 14.815511 - sqrt
/// 13.815511)^2 = 0.01746887. Over the l1 ball of radius 1 in R^10 D = 2, beta from l_1 to l_inf is 1/4, and 2 ln(2d) =
/// 5.991465.
TheoremFacts one_pass_facts() {
  TheoremFacts out;
  out.silos = out.answering = 1.0;
  out.records = 1000.0;
  out.epsilon = 1.0;
  out.delta = 1e-6;
  out.lipschitz = 1.0;
  out.diameter = 2.0;
  out.smoothness = 2.5;
  out.smoothness_l1 = 0.25;
  out.gap = 2.0;
  out.gradient_variance = 1.0;
  return out;
}

algorithms::Problem one_pass_problem(const Result<Domain>& domain = Domain::l1_ball(1.0), Eigen::Index dimension = 10) {
  algorithms::Problem problem;
  problem.dimension = dimension;
  problem.domain = domain.value();
  return problem;
}

TheoremChoice choose_one_pass(TheoremName name, const TheoremFacts& facts,
                              const algorithms::Problem& problem = one_pass_problem()) {
  return choose_by_theorem(name, facts, problem, PlannedNoise::Accountant).value();
}

double one_pass_reason(const TheoremChoice& choice, const std::string& name) {
  for (const TheoremChoice::Reason& one : choice.reasons)
    if (one.name == name) return one.value;
  ADD_FAILURE() << name;
  return 0.0;
}

/// Of a silo whose records' gradients have coordinates of at most 1.
planning::Plan planned_pass(const TheoremChoice& choice, const TheoremFacts& facts) {
  const bool selects = choice.method.as<PrivateTreeFrankWolfeSettings>() != nullptr ||
                       choice.method.as<algorithms::StagedTreeFrankWolfeSettings>() != nullptr;
  const releases::Bound bound =
      selects
          ? releases::Bound(releases::MaxBound{releases::CoordinateBound::create(facts.lipschitz).value()})
          : releases::Bound(
                releases::DualBound::create(releases::ClipNorm::create(facts.lipschitz).value(), INFINITY, 10).value());
  return planning::make_plan(choice.method->schedule({bound, choice.draw_fraction}),
                             {SiloId::create("silo").value(), static_cast<std::int64_t>(facts.records), 0, true,
                              releases::ApproximateDp{releases::Epsilon::create(facts.epsilon).value(),
                                                      releases::Delta::create(facts.delta).value()}})
      .value();
}

TEST(OnePassParametersTest, TreeOfOneSiloByHand) {
  // T = 1: 3 parts of 333, b = 666; v = 10 (2/(666 0.2367))^2 = 0.0016096; r_1 = min(4, 2 0.25 2) = 1: P = 2 v
  // + 1.5/666 = 0.0054714, and the bound 0.25 4/2 + 2 sqrt(5.991465 P) = 0.8621. T = 2 has b = 284
  // and 0.25 + 0.89.
  const TheoremChoice choice = choose_one_pass(TheoremName::TreeFrankWolfeConvex, one_pass_facts());
  const auto& settings = *choice.method.as<TreeFrankWolfeSettings>();
  EXPECT_EQ(settings.depth, 1U);
  EXPECT_EQ(settings.smoothness, 0.25);
  EXPECT_EQ(settings.set.norm_exponent(), 1.0);
  EXPECT_EQ(one_pass_reason(choice, "b"), 666.0);
  const double variance = 10.0 * std::pow(2.0 / (666.0 * shift_of_each(1.0, 1e-6, 1.0).value()), 2.0);
  const double proxy = 2.0 * variance + 1.5 / 666.0;
  EXPECT_NEAR(choice.bound.value(), 0.5 + 2.0 * std::sqrt(2.0 * std::log(20.0) * proxy), 1e-12);
  EXPECT_NEAR(choice.bound.value(), 0.8621, 1e-4);
  EXPECT_EQ(choice.bound_at(variance), *choice.bound);
  EXPECT_NEAR(choice.bound_at(0.0), 0.5 + 2.0 * std::sqrt(2.0 * std::log(20.0) * 1.5 / 666.0), 1e-12);
  // 2 (1 + 0.5) (sqrt(ln 10/1000) + sqrt(10 ln 10 13.815511)/1000) + 0.25 4/2.
  EXPECT_NEAR(choice.rate, 3.0 * (0.04798526 + 0.01783582) + 0.5, 1e-6);
  EXPECT_EQ(choice.measure, "excess risk over the population");
}

TEST(OnePassParametersTest, TreesGrowWithRecordsAndSilos) {
  // The least of the bounds of all depths, by the bound itself.
  for (const double silos : {1.0, 25.0}) {
    for (const double records : {1000.0, 10'000.0, 100'000.0}) {
      SCOPED_TRACE(testing::Message() << silos << " " << records);
      TheoremFacts facts = one_pass_facts();
      facts.silos = facts.answering = silos;
      facts.records = records;
      const TheoremChoice choice = choose_one_pass(TheoremName::TreeFrankWolfeConvex, facts);
      TreeFrankWolfeSettings settings = *choice.method.as<TreeFrankWolfeSettings>();
      std::uint64_t best = 0;
      double least = HUGE_VAL;
      for (settings.depth = 1; settings.depth <= 10; ++settings.depth) {
        const auto depth = static_cast<double>(settings.depth);
        const double parts = std::exp2(depth) * (depth + depth * (depth + 1.0) / 4.0);
        const double root = std::exp2(depth) * std::floor(records / parts);
        if (root == 0.0) break;
        const double variance = 10.0 * std::pow(2.0 / (root * shift_of_each(1.0, 1e-6, 1.0).value()), 2.0) / silos;
        const double risk = algorithms::one_pass_risk(settings, {1.0, variance, root * silos})->bound;
        if (risk < least) best = settings.depth;
        least = std::min(least, risk);
      }
      EXPECT_EQ(choice.method.as<TreeFrankWolfeSettings>()->depth, best);
      EXPECT_NEAR(choice.bound.value(), least, 1e-12);
    }
  }
  TheoremFacts many = one_pass_facts();
  many.records = 1e6;
  many.silos = many.answering = 25.0;
  EXPECT_EQ(choose_one_pass(TheoremName::TreeFrankWolfeConvex, many).method.as<TreeFrankWolfeSettings>()->depth, 10U);
}

TEST(OnePassParametersTest, RecursionOfOneSiloByHand) {
  // W = 2, eta = ln 2/2; v = 10 (2/(500 0.2367))^2 = 0.0028558, P_0 = v + 1/500 = 0.0048558, Q = 16 v + 4/500 =
  // 0.0536928, c = 0.25 eta 2 = 0.173287: P_1 = 0.426965 (P_0 + c^2 Q) + eta^2 Q = 0.0092109, P_2 = 0.0110703. With h_0
  // = 2: h_1 = 1.485138, h_2 = 1.193318, h_3 = 1.018316. W = 3 has 1.08.
  const TheoremChoice choice = choose_one_pass(TheoremName::PolyFrankWolfeConvex, one_pass_facts());
  const auto& settings = *choice.method.as<PolyFrankWolfeSettings>();
  EXPECT_EQ(settings.rounds, 2U);
  EXPECT_DOUBLE_EQ(settings.step_size, 0.5 * std::log(2.0));
  EXPECT_EQ(settings.smoothness, 0.25);
  EXPECT_NEAR(choice.bound.value(), 1.018316, 1e-4);
  const double variance = 10.0 * std::pow(2.0 / (500.0 * shift_of_each(1.0, 1e-6, 1.0).value()), 2.0);
  EXPECT_NEAR(choice.bound.value(), algorithms::one_pass_risk(settings, {1.0, variance, 500.0})->bound, 1e-12);
  // 3 (0.04798526 + sqrt 2 0.01783582) + 0.25 4 ln 2/2.
  EXPECT_NEAR(choice.rate, 3.0 * (0.04798526 + std::sqrt(2.0) * 0.01783582) + 0.5 * std::log(2.0), 1e-6);
}

TEST(OnePassParametersTest, RecursionsHaveMoreRoundsWhereThereIsLessNoiseAndPartsOfARecordAtLeast) {
  const auto rounds = [](double records, double epsilon) {
    TheoremFacts facts = one_pass_facts();
    facts.records = records;
    facts.epsilon = epsilon;
    facts.smoothness_l1 = 2.5;
    return choose_one_pass(TheoremName::PolyFrankWolfeConvex, facts).method.as<PolyFrankWolfeSettings>()->rounds;
  };
  EXPECT_LT(rounds(1e4, 1.0), rounds(1e5, 1.0));
  EXPECT_LT(rounds(1e5, 1.0), rounds(1e5, 10.0));
  EXPECT_LE(rounds(8.0, 1e6), 2U);
  EXPECT_LE(rounds(1e9, 1e6), 1'999U);
  EXPECT_GE(rounds(1e9, 1e6), 1'900U);
}

TEST(OnePassParametersTest, PartsThatDoNotComeOutEvenCountForLess) {
  // n = 19: of the 10 records of the second half 2 W = 4 parts have 2 each: as 8 of the first half's 9.
  TheoremFacts facts = one_pass_facts();
  facts.records = 19.0;
  const TheoremChoice choice = choose_one_pass(TheoremName::PolyFrankWolfeConvex, facts);
  const auto& settings = *choice.method.as<PolyFrankWolfeSettings>();
  ASSERT_EQ(settings.rounds, 2U);
  const double variance = 10.0 * std::pow(2.0 / (8.0 * shift_of_each(1.0, 1e-6, 1.0).value()), 2.0);
  EXPECT_NEAR(choice.bound.value(), algorithms::one_pass_risk(settings, {1.0, variance, 8.0})->bound, 1e-9);
}

TEST(OnePassParametersTest, SelectionsOfOneSiloByHand) {
  // T = 1, b = 666: s_1 = 2 sqrt 2 max{0.7071, 0.5}/(666 0.1321698) = 0.0227207, and B = 0.25 4/2 + s_1 ln 20 + 2 1.5
  // sqrt(5.991465/666) = 0.5 + 0.0680652 + 0.2845449. T = 2: b = 284 and 0.25 + 0.2257 + 0.4357.
  const TheoremChoice choice = choose_one_pass(TheoremName::PrivateTreeFrankWolfeConvex, one_pass_facts());
  const auto& settings = *choice.method.as<PrivateTreeFrankWolfeSettings>();
  EXPECT_EQ(settings.depth, 1U);
  EXPECT_EQ(settings.vertices.count(), 20);
  EXPECT_EQ(settings.vertices.l1_radius(), 1.0);
  EXPECT_EQ(settings.smoothness, 0.25);
  EXPECT_NEAR(one_pass_reason(choice, "s_T"), 0.0227207, 1e-6);
  EXPECT_NEAR(one_pass_reason(choice, "B(T)"), 0.8526101, 1e-6);
  EXPECT_FALSE(choice.bound);  // it is of the plans
  // 3 0.04798526 ln 1000 + (0.5 sqrt(13.815511) 1.5 4 ln 20 ln^2 1000/1000)^(2/3).
  const double logarithm = std::log(1000.0);
  const double second = 3.0 * std::sqrt(std::log(1e6)) * std::log(20.0) * logarithm * logarithm / 1000.0;
  EXPECT_NEAR(choice.rate, 3.0 * 0.04798526 * logarithm + std::pow(second, 2.0 / 3.0), 1e-6);
  // Over the simplex of as many numbers there are half as many vertices, and D = 2.
  const TheoremChoice simplex = choose_one_pass(TheoremName::PrivateTreeFrankWolfeConvex, one_pass_facts(),
                                                one_pass_problem(Domain::simplex(1.0)));
  EXPECT_EQ(simplex.method.as<PrivateTreeFrankWolfeSettings>()->vertices.count(), 10);
  EXPECT_NEAR(one_pass_reason(simplex, "B(T)"), 0.8526101 - 0.0227207 * std::log(2.0), 1e-6);
}

TEST(OnePassParametersTest, SelectionsTakeDeeperTreesOfMoreRecordsAndNoneOfMoreSilos) {
  std::uint64_t before = 0;
  for (const double records : {1000.0, 1e4, 1e5, 1e6, 1e9}) {
    TheoremFacts facts = one_pass_facts();
    facts.records = records;
    const TheoremChoice one = choose_one_pass(TheoremName::PrivateTreeFrankWolfeConvex, facts);
    facts.silos = facts.answering = 25.0;
    const TheoremChoice many = choose_one_pass(TheoremName::PrivateTreeFrankWolfeConvex, facts);
    const std::uint64_t depth = one.method.as<PrivateTreeFrankWolfeSettings>()->depth;
    EXPECT_EQ(many.method.as<PrivateTreeFrankWolfeSettings>()->depth, depth);
    EXPECT_EQ(many.rate, one.rate);
    EXPECT_GE(depth, before);
    before = depth;
  }
  EXPECT_EQ(before, 8U);
}

TEST(OnePassParametersTest, StagesShrinkWhereThereAreRecordsForIt) {
  TheoremFacts facts = one_pass_facts();
  facts.strong_convexity = 1.0;  // lambda = 0.1 in l1
  const auto settings_at = [&](double records) {
    facts.records = records;
    const TheoremChoice choice = choose_one_pass(TheoremName::StagedTreeStronglyConvex, facts);
    EXPECT_FALSE(choice.bound);
    EXPECT_TRUE(choice.method->make());
    EXPECT_EQ(planned_pass(choice, facts).rounds(), choice.method->extent().rounds);
    return *choice.method.as<algorithms::StagedTreeFrankWolfeSettings>();
  };
  // Of few records one stage is best, and it is Theorem 7's.
  const auto few = settings_at(1000.0);
  ASSERT_EQ(few.stages.size(), 1U);
  EXPECT_EQ(few.stages.front().depth, 1U);
  EXPECT_EQ(few.stages.front().radius, 1.0);
  const auto many = settings_at(1e8);
  ASSERT_GE(many.stages.size(), 2U);
  EXPECT_EQ(many.stages.front().radius, 1.0);
  for (std::size_t i = 1; i < many.stages.size(); ++i)
    EXPECT_LT(many.stages[i].radius, 0.9 * many.stages[i - 1].radius) << i;
  // A run that starts at R e_1 may have to go as far as -R e_1, and of a simplex no ball about the start is the set.
  algorithms::Problem elsewhere = one_pass_problem();
  ASSERT_TRUE(elsewhere.start_at(Eigen::VectorXd::Unit(10, 0)));
  facts.records = 1000.0;
  EXPECT_EQ(choose_one_pass(TheoremName::StagedTreeStronglyConvex, facts, elsewhere)
                .method.as<algorithms::StagedTreeFrankWolfeSettings>()
                ->stages.front()
                .radius,
            2.0);
  EXPECT_FALSE(choose_by_theorem(TheoremName::StagedTreeStronglyConvex, facts, one_pass_problem(Domain::simplex(1.0)),
                                 PlannedNoise::Accountant));
  // What is chosen has a record for each of its parts: here two stages of depth 6 and 8 would have 40,352 parts.
  TheoremFacts tight = one_pass_facts();
  tight.records = 31'605.0;
  tight.epsilon = 394.0;
  tight.lipschitz = 0.03;
  tight.smoothness_l1 = tight.smoothness = 2.886;
  tight.strong_convexity = 2.259;
  const TheoremChoice fits =
      choose_one_pass(TheoremName::StagedTreeStronglyConvex, tight, one_pass_problem(Domain::l1_ball(1.0), 1));
  EXPECT_LE(algorithms::tile_tree_stages(fits.method.as<algorithms::StagedTreeFrankWolfeSettings>()->stages).parts,
            31'605U);
  facts.strong_convexity = 0.0;
  EXPECT_FALSE(
      choose_by_theorem(TheoremName::StagedTreeStronglyConvex, facts, one_pass_problem(), PlannedNoise::Accountant));
}

TEST(OnePassParametersTest, StagesHaveAFasterRateThanOneTree) {
  // B over records where selections err by more than sampling does. Theorem 7 has -2/3, with logarithms that grow as b
  // shrinks; Theorem 9 has -4/3 for a smoothness of L/D in every stage. Of one smoothness for all stages it is steeper:
  // with D^2 = 2 B/lambda, beta D^2/2^T falls with B itself, and D 2^(T/2) L/(b sqrt w) as sqrt(B)/n.
  TheoremFacts facts = one_pass_facts();
  facts.strong_convexity = 2.0;
  facts.epsilon = 1e-3;
  const auto slope_of = [&](TheoremName name, const std::string& bound, double from, double to) {
    const auto at = [&](double records) {
      facts.records = records;
      return std::log(one_pass_reason(choose_one_pass(name, facts), bound));
    };
    return (at(to) - at(from)) / std::log(to / from);
  };
  EXPECT_NEAR(slope_of(TheoremName::PrivateTreeFrankWolfeConvex, "B(T)", 1e8, 1e9), -0.54, 0.02);
  EXPECT_NEAR(slope_of(TheoremName::StagedTreeStronglyConvex, "B(T) of the last stage", 1e9, 1e11), -1.55, 0.03);
}

TEST(OnePassParametersTest, WithoutAProvenSmoothnessItIsThatOfL2) {
  for (const TheoremName name : kOnePass) {
    TheoremFacts facts = one_pass_facts();
    facts.smoothness_l1 = 0.0;
    EXPECT_EQ(one_pass_reason(choose_one_pass(name, facts), "smoothness"), 2.5);
  }
}

TEST(OnePassParametersTest, BoundsAreOfSilosOfOneLawThatAllAnswer) {
  for (const TheoremName name : {TheoremName::TreeFrankWolfeConvex, TheoremName::PolyFrankWolfeConvex}) {
    TheoremFacts facts = one_pass_facts();
    facts.silos = facts.answering = 4.0;
    EXPECT_TRUE(choose_one_pass(name, facts).bound);
    facts.answering = 2.0;
    EXPECT_FALSE(choose_one_pass(name, facts).bound);
    EXPECT_FALSE(choose_one_pass(name, facts).bound_at);
    facts.answering = 4.0;
    facts.heterogeneity = 0.1;
    EXPECT_FALSE(choose_one_pass(name, facts).bound);
  }
}

TEST(OnePassParametersTest, EveryPassIsMadeAndPlannedAtItsPromise) {
  for (const TheoremName name : kOnePass) {
    for (const double records : {1000.0, 20'000.0}) {
      SCOPED_TRACE(testing::Message() << to_string(name) << " " << records);
      TheoremFacts facts = one_pass_facts();
      facts.records = records;
      const TheoremChoice choice = choose_one_pass(name, facts);
      EXPECT_TRUE(choice.method->make());
      const planning::Plan plan = planned_pass(choice, facts);
      EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
      EXPECT_GE(plan.epsilon().value_rounded_up(), 0.98);
      if (choice.bound_at) {
        // The noise that the bound was planned with is the plan's, and no more.
        const double stddev = plan.release({0})->noise_stddev_of_mean();
        EXPECT_NEAR(choice.bound_at(stddev * stddev), *choice.bound, 0.01 * *choice.bound);
        continue;
      }
      // What the plan promises is what the depth was chosen by, but for how sampling errors are added up.
      const std::vector<algorithms::WeighedPlan> silos{{&plan, 1.0}};
      const double bound = choice.method->planned_risk(silos)->bound;
      EXPECT_NEAR(bound, one_pass_reason(choice, "B(T)"), 0.3 * bound);
    }
  }
}

TEST(OnePassParametersTest, ConditionsOfOnePassAreRefusedWithBothNumbers) {
  const auto says = [](TheoremName name, const TheoremFacts& facts, const algorithms::Problem& problem,
                       PlannedNoise noise, const std::string& part) {
    const auto choice = choose_by_theorem(name, facts, problem, noise);
    ASSERT_FALSE(choice) << to_string(name);
    EXPECT_NE(choice.error().message.find(part), std::string::npos) << choice.error().message;
  };
  constexpr auto kAccountants = PlannedNoise::Accountant;
  algorithms::Problem regularised = one_pass_problem();
  regularised.regulariser = geometry::Regulariser::squared_l2(0.1, 10).value();
  for (const TheoremName name : kOnePass) {
    says(name, one_pass_facts(), one_pass_problem(), PlannedNoise::Printed, ": expected the accountant's noise");
    says(name, one_pass_facts(), one_pass_problem(Domain::whole_space()), kAccountants, "the whole space");
    for (const Result<Domain>& domain : {Domain::l2_ball(1.0), Domain::box(-0.1, 0.1)})
      says(name, one_pass_facts(), one_pass_problem(domain), kAccountants, "expected l1_ball or simplex");
    says(name, one_pass_facts(), one_pass_problem(Domain::l1_ball(2.0)), kAccountants,
         "D = 2 is less than the diameter 4");
    says(name, one_pass_facts(), one_pass_problem(Domain::simplex(1.0), 1), kAccountants,
         "the set's diameter must be > 0");
    says(name, one_pass_facts(), regularised, kAccountants, "expected no regulariser");
    TheoremFacts few = one_pass_facts();
    few.records = 2.0;
    says(name, few, one_pass_problem(), kAccountants, "n = 2 records, expected at least");
  }
  TheoremFacts few = one_pass_facts();
  few.records = 7.0;
  says(TheoremName::PolyFrankWolfeConvex, few, one_pass_problem(), kAccountants, "n = 7 records, expected at least 8");
  few.records = 3.0;
  EXPECT_EQ(choose_one_pass(TheoremName::TreeFrankWolfeConvex, few).method.as<TreeFrankWolfeSettings>()->depth, 1U);
}

TEST(OnePassParametersTest, ConstantsOfAnySizeComeBack) {
  for (const TheoremName name : kOnePass) {
    for (const double tiny : {5e-324, 1e-300, 1e-30, 1e30}) {
      for (const double records : {1.0, 100.0, 1e15, 1e30}) {
        for (const bool proven : {true, false}) {
          TheoremFacts facts = one_pass_facts();
          facts.records = records;
          facts.lipschitz = facts.smoothness = facts.gap = tiny;
          facts.smoothness_l1 = proven ? tiny : 0.0;
          (void)choose_by_theorem(name, facts, one_pass_problem(), PlannedNoise::Accountant);  // whatever it says
        }
      }
    }
  }
}

TEST(OnePassParametersTest, TheyAreNamedAsJobsNameThem) {
  EXPECT_EQ(to_string(TheoremName::TreeFrankWolfeConvex), "tree_frank_wolfe_convex");
  EXPECT_EQ(to_string(TheoremName::PolyFrankWolfeConvex), "poly_frank_wolfe_convex");
  EXPECT_EQ(to_string(TheoremName::PrivateTreeFrankWolfeConvex), "private_tree_frank_wolfe_convex");
  for (const TheoremName name : theorem_names())
    EXPECT_EQ(bounds_coordinates(name),
              name == TheoremName::PrivateTreeFrankWolfeConvex || name == TheoremName::StagedTreeStronglyConvex)
        << to_string(name);
}

}  // namespace
}  // namespace undertone::theorems
