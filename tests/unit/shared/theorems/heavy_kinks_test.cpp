#include "shared/theorems/heavy_kinks.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <memory>

#include "shared/algorithms/sgd/localized_subgradient.hpp"
#include "shared/base/random_source.hpp"
#include "shared/planning/plan.hpp"
#include "shared/theorems/theorem_parameters.hpp"

/// Clipped subgradient methods of losses with kinks and heavy tails. Source: spec heavy-tailed 5.1 to 5.3.
namespace undertone::theorems {
namespace {

using algorithms::LocalizedSubgradient;
using algorithms::LocalizedSubgradientSettings;
using algorithms::SubgradientPhase;

constexpr Eigen::Index kKinkDimension = 5;

TheoremFacts kink_facts(double order, double epsilon, double records) {
  TheoremFacts out;
  out.silos = out.answering = 5.0;
  out.records = records;
  out.epsilon = epsilon;
  out.delta = 1e-6;
  out.lipschitz = 1.0;
  out.diameter = 2.0;
  out.smoothness = 1.0;  // of no use here
  out.gap = out.gradient_variance = 1.0;
  out.moment = MomentBound{order, 1.5};
  return out;
}

algorithms::Problem kink_problem(Eigen::Index dimension = kKinkDimension) {
  algorithms::Problem problem;
  problem.dimension = dimension;
  problem.domain = geometry::Domain::l2_ball(1.0).value();
  return problem;
}

Result<TheoremChoice> kinks_chosen(TheoremName name, const TheoremFacts& facts,
                                   Eigen::Index dimension = kKinkDimension) {
  return choose_by_theorem(name, facts, kink_problem(dimension), PlannedNoise::Accountant);
}

releases::SiloFacts silo_of(double records, double epsilon) {
  return {SiloId::create("silo").value(), static_cast<std::int64_t>(records), 0, true,
          releases::ApproximateDp{releases::Epsilon::create(epsilon).value(), releases::Delta::create(1e-6).value()}};
}

algorithms::GradientShape shape_of(double clip) {
  return {releases::L2Bound{releases::ClipNorm::create(clip).value()}, 1.0};
}

/// Answers every question with a function of its point. @return where the run ends
template <class Gradient>
Eigen::VectorXd end_of(algorithms::FederatedAlgorithm& algorithm, const Gradient& gradient) {
  algorithms::Step step = algorithm.start();
  for (std::uint64_t round = 0; std::holds_alternative<queries::Query>(step); ++round) {
    folds::Gathered gathered;
    gathered.round = RoundIndex{round};
    gathered.replies = 1;
    gathered.value = folds::Mean{gradient(queries::point_of(std::get<queries::Query>(step).question), round), {}};
    step = algorithm.advance(gathered).value();
  }
  return std::get<algorithms::Finished>(step).outcome.vectors.at("weights");
}

TEST(LocalizedSubgradientTest, ALinearLossContractsByOneMinusLambdaEta) {
  // Algorithm 6: the least point of <a, w> + lambda/2 |w - w_0|^2 is w_0 - a/lambda.
  algorithms::Problem problem;
  problem.dimension = 2;
  const Eigen::Vector2d a(0.6, -1.0);
  const Eigen::Vector2d best = -a / 2.0;
  const auto linear = [&](const Eigen::VectorXd&, std::uint64_t) { return Eigen::VectorXd(a); };
  for (const std::uint64_t rounds : {1U, 7U}) {
    const LocalizedSubgradientSettings settings{
        problem, {{SubgradientPhase{rounds, 0.1, 2.0}}}, LocalizedSubgradientSettings::Reads::All};
    const auto algorithm = LocalizedSubgradient::create(settings).value();
    const Eigen::VectorXd end = end_of(*algorithm, linear);
    EXPECT_NEAR((end - best).norm() / best.norm(), std::pow(1.0 - 0.2, static_cast<double>(rounds)), 1e-12);
  }
}

TEST(LocalizedSubgradientTest, EveryPhaseBeginsWhereTheOneBeforeEndedAndStaysNear) {
  const LocalizedSubgradientSettings settings{
      kink_problem(2), {{SubgradientPhase{3, 0.2, 0.0, 0.3}, SubgradientPhase{2, 0.2, 5.0, 0.05}}}};
  const auto algorithm = LocalizedSubgradient::create(settings).value();
  std::vector<Eigen::VectorXd> points;
  const Eigen::VectorXd end = end_of(*algorithm, [&](const Eigen::VectorXd& point, std::uint64_t) {
    points.push_back(point);
    return Eigen::VectorXd(Eigen::Vector2d(-1.0, 0.0));
  });
  ASSERT_EQ(points.size(), 5U);
  EXPECT_NEAR(points[1][0], 0.2, 1e-12);
  EXPECT_NEAR(points[2][0], 0.3, 1e-9);  // no farther from 0
  EXPECT_NEAR(points[3][0], 0.3, 1e-9);
  EXPECT_NEAR(points[4][0], 0.35, 1e-9);
  EXPECT_NEAR(end[0], 0.35, 1e-9);  // lambda draws it back to 0.3, and the gradient away
}

TEST(LocalizedSubgradientTest, ARunCostsWhatItsCostliestPhaseDoesAndPhasesClipByThemselves) {
  const LocalizedSubgradientSettings settings{
      kink_problem(),
      {{SubgradientPhase{9, 0.1, 1.0}, SubgradientPhase{5, 0.1, 1.0, {}, 0.5}},
       {SubgradientPhase{4, 0.1, 1.0, {}, 0.25}, SubgradientPhase{4, 0.1, 1.0}, SubgradientPhase{1, 0.1, 1.0}}},
      LocalizedSubgradientSettings::Reads::Stages};
  const planning::Plan plan =
      planning::make_plan(LocalizedSubgradient::schedule(settings, shape_of(2.0)), silo_of(4000, 1.0)).value();
  EXPECT_EQ(plan.rounds(), 23U);
  EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
  EXPECT_GE(plan.epsilon().value_rounded_up(), 0.99);
  const double whole = shift_of_each(1.0, 1e-6, 1.0).value();
  std::uint64_t round = 0;
  std::int64_t last = 0;
  const double clips[] = {2.0, 1.0, 0.5, 2.0, 2.0};
  const double rounds[] = {9.0, 5.0, 4.0, 4.0, 1.0};
  for (std::size_t phase = 0; phase < 5; ++phase) {
    SCOPED_TRACE(phase);
    const planning::Release& release = *plan.release({round});
    EXPECT_EQ(release.ask.clip().value(), clips[phase]);
    // Every phase has the whole promise for its own rounds, and its records follow those of the phase before.
    EXPECT_NEAR(std::sqrt(release.cost().gaussian.value_rounded_up() * rounds[phase]), whole, 2e-3 * whole);
    EXPECT_EQ(release.positions.from, last);
    last = release.positions.to;
    round += static_cast<std::uint64_t>(rounds[phase]);
  }
  EXPECT_LE(last, 4000);
}

TEST(LocalizedSubgradientTest, WhatIsNoPhaseIsRefused) {
  const auto made = [](const SubgradientPhase& phase) {
    return LocalizedSubgradient::create({kink_problem(), {{phase}}}).has_value();
  };
  EXPECT_TRUE(made({1, 0.5, 4.0}));
  EXPECT_FALSE(made({0, 0.5, 4.0}));
  EXPECT_FALSE(made({1, 0.0, 4.0}));
  EXPECT_FALSE(made({1, 0.51, 4.0}));  // above 2/lambda
  EXPECT_FALSE(made({1, 0.5, -1.0}));
  EXPECT_FALSE(made({1, 0.5, 4.0, 0.0}));
  EXPECT_FALSE(made({1, 0.5, 4.0, {}, 0.0}));
  EXPECT_FALSE(made({1, 0.5, 4.0, {}, 5e-324}));  // a clip whose squares are nothing
  EXPECT_FALSE(made({1, 0.5, 4.0, {}, 1.5}));
  EXPECT_FALSE(made({std::uint64_t{1} << 40U, 0.5, 4.0}));
  EXPECT_FALSE(LocalizedSubgradient::create({kink_problem(), {}}));
  EXPECT_FALSE(LocalizedSubgradient::create({kink_problem(), {{}}}));
  EXPECT_FALSE(LocalizedSubgradient::create({kink_problem(), {{{1, 0.5, 4.0}}, {{1, 0.5, 4.0}}}}));
}

/// The bound of settings, worked out again from the releases that they plan.
double bound_by_hand(const TheoremFacts& facts, const algorithms::SubgradientStage& stage, double clip,
                     const std::vector<double>& records, double distance_squared) {
  const double k = 0.5 * facts.moment->order;
  const double r = facts.moment->bound;
  double bound = 0.0;
  double before = 0.0;  // Q_(j-1)/lambda_(j-1)^2
  for (std::size_t j = 0; j < stage.size(); ++j) {
    const SubgradientPhase& phase = stage[j];
    const double own = clip * phase.clip_share;
    const auto rounds = static_cast<double>(phase.rounds);
    const double shift = shift_of_each(facts.epsilon, facts.delta, rounds).value();
    const double sigma = 2.0 * own / (records[j] * shift);
    const double noise = static_cast<double>(kKinkDimension) * sigma * sigma / facts.silos;
    const double l = std::max(1.0, std::log(rounds));
    EXPECT_NEAR(phase.step_size * phase.proximity, 2.0 * l / rounds, 1e-12);
    const double bias = std::pow(r, k) / ((k - 1.0) * std::pow(own, k - 1.0));
    const double square = r * r * std::exp(-l) + 4.0 * bias * bias + 4.0 * l / rounds * (4.0 * r * r + noise);
    bound += 2.0 * r * r / (phase.proximity * records[j] * facts.silos) +
             0.5 * phase.proximity * (j == 0 ? distance_squared : before);
    before = square / (phase.proximity * phase.proximity);
  }
  return bound + r * std::sqrt(before);
}

TEST(HeavyKinksTest, TheBoundIsTheOneOfItsProofAndNoProximityNearbyHasALess) {
  for (const double order : {3.0, 4.0, 8.0}) {
    SCOPED_TRACE(order);
    const TheoremFacts facts = kink_facts(order, 1.0, 20'000.0);
    const TheoremChoice choice = kinks_chosen(TheoremName::HeavyTailedLocalized, facts).value();
    const auto& settings = *choice.method.as<LocalizedSubgradientSettings>();
    ASSERT_EQ(settings.stages.size(), 1U);
    const planning::Plan plan =
        planning::make_plan(choice.method->schedule(shape_of(*choice.clip)), silo_of(facts.records, 1.0)).value();
    EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
    std::vector<double> records;
    std::uint64_t round = 0;
    for (const SubgradientPhase& phase : settings.stages.front()) {
      records.push_back(static_cast<double>(plan.release({round})->records_drawn));
      round += phase.rounds;
    }
    EXPECT_NEAR(*choice.bound / bound_by_hand(facts, settings.stages.front(), *choice.clip, records, 1.0), 1.0, 2e-3);
    for (const double factor : {0.7, 1.4}) {
      algorithms::SubgradientStage other = settings.stages.front();
      for (SubgradientPhase& phase : other) {
        phase.proximity *= factor;
        phase.step_size /= factor;
      }
      EXPECT_GT(bound_by_hand(facts, other, *choice.clip, records, 1.0), *choice.bound);
    }
  }
}

TEST(HeavyKinksTest, ClipsAndNoiseFallWithEpsilonAsTheTheorySays) {
  // (k-1)/k over epsilon, k half of the order: of what clipping takes away, which the noise weighs as much as. Steps
  // and phases change with epsilon, too, and with them logarithms.
  for (const double order : {4.0, 8.0}) {
    const auto bias_at = [&](double epsilon) {
      const TheoremChoice choice =
          kinks_chosen(TheoremName::HeavyTailedLocalized, kink_facts(order, epsilon, 1e7), 20'000).value();
      const auto bias = std::find_if(choice.reasons.begin(), choice.reasons.end(),
                                     [](const TheoremChoice::Reason& one) { return one.name == "bias"; });
      return bias->value;
    };
    const double k = 0.5 * order;
    EXPECT_NEAR(std::log(bias_at(0.1) / bias_at(0.4)) / std::log(4.0), (k - 1.0) / k, 0.1) << order;
  }
}

TEST(HeavyKinksTest, StagesAreTakenWhereTheyComeNearer) {
  TheoremFacts facts = kink_facts(8.0, 4.0, 1e7);
  facts.moment->bound = 0.2;
  facts.strong_convexity = 0.5;
  const TheoremChoice one = kinks_chosen(TheoremName::HeavyTailedLocalized, facts).value();
  const TheoremChoice staged = kinks_chosen(TheoremName::HeavyTailedStaged, facts).value();
  const auto& settings = *staged.method.as<LocalizedSubgradientSettings>();
  EXPECT_GE(settings.stages.size(), 2U);
  EXPECT_LT(*staged.bound, 0.7 * *one.bound);
  EXPECT_TRUE(staged.method->make());
  const planning::Plan plan =
      planning::make_plan(staged.method->schedule(shape_of(*staged.clip)), silo_of(facts.records, 4.0)).value();
  EXPECT_LE(plan.epsilon().value_rounded_up(), 4.0);
  EXPECT_GE(plan.epsilon().value_rounded_up(), 3.95);
  // Where a bound says nothing of the distance one stage is best, and it is the localised method's.
  facts.records = 300.0;
  facts.strong_convexity = 0.01;
  const TheoremChoice few = kinks_chosen(TheoremName::HeavyTailedStaged, facts).value();
  EXPECT_EQ(few.method.as<LocalizedSubgradientSettings>()->stages.size(), 1U);
  EXPECT_EQ(few.bound, kinks_chosen(TheoremName::HeavyTailedLocalized, facts).value().bound);
}

TEST(HeavyKinksTest, WhatItIsNotOfIsRefusedInWords) {
  const auto refusal = [](const TheoremFacts& facts, TheoremName name) {
    const Result<TheoremChoice> choice = kinks_chosen(name, facts);
    return choice ? std::string("accepted") : choice.error().message;
  };
  TheoremFacts second = kink_facts(2.0, 1.0, 1000.0);
  EXPECT_NE(refusal(second, TheoremName::HeavyTailedLocalized).find("of order 2k with k above 1"), std::string::npos);
  TheoremFacts none = kink_facts(4.0, 1.0, 1000.0);
  none.moment.reset();
  EXPECT_NE(refusal(none, TheoremName::HeavyTailedLocalized).find("privacy.moments"), std::string::npos);
  EXPECT_NE(refusal(kink_facts(4.0, 1.0, 1000.0), TheoremName::HeavyTailedStaged).find("strong convexity"),
            std::string::npos);
  // Nobody knows how far the optimum is where nothing bounds the domain.
  algorithms::Problem whole = kink_problem();
  whole.domain = geometry::Domain::whole_space();
  for (const TheoremName name : {TheoremName::HeavyTailedLocalized, TheoremName::HeavyTailedStaged}) {
    TheoremFacts facts = kink_facts(4.0, 1.0, 1000.0);
    facts.strong_convexity = 0.5;
    const Result<TheoremChoice> choice = choose_by_theorem(name, facts, whole, PlannedNoise::Accountant);
    ASSERT_FALSE(choice);
    EXPECT_NE(choice.error().message.find("which no diameter bounds"), std::string::npos) << choice.error().message;
  }
  algorithms::Problem ridged = kink_problem();
  ridged.regulariser = geometry::Regulariser::squared_l2(0.25, kKinkDimension).value();
  EXPECT_FALSE(choose_by_theorem(TheoremName::HeavyTailedLocalized, kink_facts(4.0, 1.0, 1000.0), ridged,
                                 PlannedNoise::Accountant));
}

constexpr double kTailIndex = 4.5;  // of lengths: moments of order 4 exist

/// Records are a length with Pareto's tail times one axis, and y = length (m + u), u uniform in [-1/2, 1/2]: of the
/// loss
/// |<w, x> - y| the least point is m on every axis, and F - F* = E length/d sum_j min{delta_j^2, ..}.
double mean_excess_of_kinks(const TheoremChoice& choice, const TheoremFacts& facts) {
  constexpr int kRuns = 2;
  constexpr double kMiddle = 0.3;
  const planning::Plan plan =
      planning::make_plan(choice.method->schedule(shape_of(*choice.clip)), silo_of(facts.records, facts.epsilon))
          .value();
  double out = 0.0;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    RandomSource random(run + 1);
    const auto normal = [&] {
      return std::sqrt(-2.0 * std::log1p(-random.unit())) * std::cos(2.0 * M_PI * random.unit());
    };
    struct Record {
      Eigen::Index axis;
      double length;
      double middle;
    };
    std::vector<Record> records;
    const auto all = static_cast<std::size_t>(facts.records * facts.silos);
    for (std::size_t i = 0; i < all; ++i)
      records.push_back({static_cast<Eigen::Index>(random.below(kKinkDimension)),
                         std::pow(1.0 - random.unit(), -1.0 / kTailIndex), kMiddle + random.unit() - 0.5});
    const auto algorithm = choice.method->make().value();
    const Eigen::VectorXd end = end_of(*algorithm, [&](const Eigen::VectorXd& point, std::uint64_t round) {
      const planning::Release& release = *plan.release({round});
      const double clip = release.ask.clip().value();
      const double noise = release.noise_stddev_of_mean() / std::sqrt(facts.silos);
      Eigen::VectorXd sum = Eigen::VectorXd::Zero(kKinkDimension);
      const auto from = static_cast<std::size_t>(static_cast<double>(release.positions.from) * facts.silos);
      const auto to = static_cast<std::size_t>(static_cast<double>(release.positions.to) * facts.silos);
      for (std::size_t i = from; i < to; ++i)
        sum[records[i].axis] +=
            (point[records[i].axis] > records[i].middle ? 1.0 : -1.0) * std::min(clip, records[i].length);
      sum /= static_cast<double>(to - from);
      for (double& value : sum) value += noise * normal();
      return sum;
    });
    double excess = 0.0;
    for (const double value : end) {
      const double delta = std::abs(value - kMiddle);
      excess += delta <= 0.5 ? delta * delta : delta - 0.25;
    }
    out += kTailIndex / (kTailIndex - 1.0) / static_cast<double>(kKinkDimension) * excess / kRuns;
  }
  return out;
}

TEST(HeavyKinksTest, RunsOnHeavyTailedRecordsStayBelowTheirBounds) {
  // Proximities follow from the bound, whose constants are large: few records halve the excess, and ten times as many
  // hardly do better.
  const double at_the_start = kTailIndex / (kTailIndex - 1.0) * 0.3 * 0.3;
  for (const double records : {150.0, 600.0}) {
    TheoremFacts facts = kink_facts(4.0, 4.0, records);
    facts.moment = MomentBound{4.0, std::pow(kTailIndex / (kTailIndex - 4.0), 0.25)};  // E length^4
    const TheoremChoice choice = kinks_chosen(TheoremName::HeavyTailedLocalized, facts).value();
    const double excess = mean_excess_of_kinks(choice, facts);
    EXPECT_LE(excess, *choice.bound) << records;
    EXPECT_LT(excess, 0.65 * at_the_start) << records;
  }
}

}  // namespace
}  // namespace undertone::theorems
