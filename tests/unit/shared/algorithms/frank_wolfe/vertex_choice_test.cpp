#include "shared/algorithms/frank_wolfe/vertex_choice.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/algorithms/frank_wolfe/private_frank_wolfe.hpp"

namespace undertone::algorithms {
namespace {

using geometry::Vertices;

constexpr double kClip = 0.5;

releases::SiloFacts silo_with(releases::Target target, std::int64_t records) {
  return {SiloId::create("a").value(), records, 0, true, target};
}
releases::Target approximate(double epsilon) {
  return releases::ApproximateDp{*releases::Epsilon::create(epsilon), *releases::Delta::create(1e-6)};
}
releases::Target pure(double epsilon) { return releases::PureDp{*releases::Epsilon::create(epsilon)}; }

planning::Plan plan_for(const VertexChoice& choice, const Vertices& vertices, const releases::Target& target,
                        std::int64_t records, std::uint64_t rounds) {
  const releases::Bound bound =
      choice.traits().bounded_in == MethodTraits::BoundedIn::EveryCoordinate
          ? releases::Bound(releases::MaxBound{*releases::CoordinateBound::create(kClip)})
          : releases::Bound(releases::DualBound::create(*releases::ClipNorm::create(kClip),
                                                        std::numeric_limits<double>::infinity(), vertices.dimension())
                                .value());
  const planning::Schedule schedule = {{choice.ask({bound, 1.0}, vertices, 0, 1), rounds}};
  return planning::make_plan(schedule, silo_with(target, records)).value();
}

double error_of(const VertexChoice& choice, const Vertices& vertices, const releases::Target& target,
                std::int64_t records, std::uint64_t rounds, int silos) {
  const planning::Plan plan = plan_for(choice, vertices, target, records, rounds);
  std::vector<WeighedPlan> cohort(static_cast<std::size_t>(silos), WeighedPlan{&plan, 1.0 / silos});
  return choice.step_error(vertices, cohort);
}

TEST(VertexChoiceTest, AsksEachInItsOwnForm) {
  const Vertices ball = Vertices::of_l1_ball(4, 2.0).value();
  const auto max = releases::MaxBound{*releases::CoordinateBound::create(kClip)};
  EXPECT_NE(choose_by_vote().ask({max, 1.0}, ball, 0, 1).candidates(), nullptr);
  const auto dual =
      releases::DualBound::create(*releases::ClipNorm::create(kClip), std::numeric_limits<double>::infinity(), 4)
          .value();
  const releases::Ask ask = choose_by_vector().ask({dual, 1.0}, ball, 0, 1);
  EXPECT_EQ(ask.candidates(), nullptr);
  EXPECT_EQ(ask.answer_size(), 4);
  EXPECT_TRUE(std::isinf(choose_by_vector().traits().clip_exponent));
}

TEST(VertexChoiceTest, ByVectorTheBestVertexHasAllVotes) {
  const Vertices ball = Vertices::of_l1_ball(3, 2.0).value();
  const folds::Gathered mean{RoundIndex{0}, 2, folds::Mean{Eigen::Vector3d(0.1, -3.0, 1.0)}, 20};
  EXPECT_EQ(choose_by_vector().votes(mean, ball, {}, 0).value(), (VertexTally{{2, 1.0}}));  // +2 e_2
  const Vertices listed = Vertices::listed((Eigen::MatrixXd(2, 3) << 1, 0, -1, 0, 2, -1).finished()).value();
  const folds::Gathered flat{RoundIndex{0}, 2, folds::Mean{Eigen::Vector2d(1.0, 0.25)}, 20};
  EXPECT_EQ(choose_by_vector().votes(flat, listed, {}, 0).value(), (VertexTally{{2, 1.0}}));
  EXPECT_FALSE(choose_by_vector().votes(flat, ball, {}, 0));
  EXPECT_FALSE(choose_by_vector().votes({RoundIndex{0}, 1, folds::Tally{{{0, 1.0}}}, 1}, ball, {}, 0));
  EXPECT_FALSE(choose_by_vote().votes(mean, ball, {}, 0));
}

TEST(VertexChoiceTest, ErrorsAreTheFormulas) {
  // By vote: (4 U r/n)/epsilon_0 ln 2d, whatever the silos, epsilon_0 = epsilon/T of a pure target. By vector,
  // Gaussian: r s sqrt(2 ln 2d), s = sqrt(d) 2 U sqrt(T)/(n mu sqrt N). Source: spec non-euclidean 3.2,
  // constraint-geometry 4.2.
  const Vertices ball = Vertices::of_l1_ball(16, 2.0).value();
  for (const int silos : {1, 4, 100}) {
    const double vote = error_of(choose_by_vote(), ball, pure(1.0), 1000, 5, silos);
    EXPECT_NEAR(vote, 4.0 * kClip * 2.0 / 1000.0 * 5.0 * std::log(32.0), 1e-3 * vote) << silos;
    const double mu =
        accounting::gaussian_shift_for(*releases::Epsilon::create(1.0), *releases::Delta::create(1e-6)).value();
    const double noise = 4.0 * 2.0 * kClip * std::sqrt(5.0) / (1000.0 * mu * std::sqrt(silos));
    const double vector = error_of(choose_by_vector(), ball, approximate(1.0), 1000, 5, silos);
    EXPECT_NEAR(vector, 2.0 * noise * std::sqrt(2.0 * std::log(32.0)), 0.02 * vector) << silos;
  }
}

TEST(VertexChoiceTest, OfAPureTargetVectorsHaveLaplaceNoise) {
  const Vertices ball = Vertices::of_l1_ball(16, 2.0).value();
  const planning::Plan plan = plan_for(choose_by_vector(), ball, pure(1.0), 1000, 1);
  EXPECT_EQ(plan.delta().units(), 0U);
  // Scale 2 U d/(n epsilon) of every coordinate. Source: spec non-euclidean 3.2, option C.
  const double scale = 2.0 * kClip * 16.0 / 1000.0;
  EXPECT_NEAR(plan.release({0})->noise_stddev_of_mean(), std::sqrt(2.0) * scale, 0.01 * scale);
}

TEST(VertexChoiceTest, BoundsWhatNoiseDoesToTheBestVertex) {
  // E max over v of <v, noise> of 200,000 draws, Gaussian and of Laplace parts: at most the bound, and half of it.
  const Vertices ball = Vertices::of_l1_ball(16, 2.0).value();
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  for (const int silos : {1, 3}) {
    for (const bool laplace : {false, true}) {
      const releases::Target target = laplace ? pure(1.0) : approximate(1.0);
      const planning::Plan plan = plan_for(choose_by_vector(), ball, target, 1000, 1);
      const double stddev = plan.release({0})->noise_stddev_of_mean();
      double sum = 0.0;
      constexpr int kDraws = 20'000;
      for (int i = 0; i < kDraws; ++i) {
        double largest = 0.0;
        for (int j = 0; j < 16; ++j) {
          double noise = 0.0;
          for (int a = 0; a < silos; ++a)
            noise += laplace ? (exponential(random) - exponential(random)) / std::sqrt(2.0) : normal(random);
          largest = std::max(largest, std::abs(noise) * stddev / silos);
        }
        sum += 2.0 * largest / kDraws;
      }
      const std::vector<WeighedPlan> cohort(static_cast<std::size_t>(silos), WeighedPlan{&plan, 1.0 / silos});
      const double bound = choose_by_vector().step_error(ball, cohort);
      EXPECT_LE(sum, bound) << silos << laplace;
      EXPECT_GE(sum, 0.5 * bound) << silos << laplace;
    }
  }
}

TEST(VertexChoiceTest, WhereTheVerticesLieIsNoMatterForTheNoiseOfScores) {
  // Two to either side of (8, 8): scores from there are within 2 U of 0, as those of the same vertices around 0.
  const Eigen::MatrixXd around = (Eigen::MatrixXd(2, 4) << 1, 1, -1, -1, 1, -1, 1, -1).finished();
  const Vertices centred = Vertices::listed(around).value();
  const Vertices away = Vertices::listed(around.array() + 8.0).value();
  const double noise = error_of(choose_by_scores(), centred, approximate(1.0), 1000, 5, 1);
  EXPECT_NEAR(error_of(choose_by_scores(), away, approximate(1.0), 1000, 5, 1), noise, 1e-6 * noise);
}

TEST(VertexChoiceTest, VotesAreForFewSilosAndVectorsForMany) {
  // Spec non-euclidean 3.2: a crossover of some d ln(1/delta)/ln d silos; votes gain nothing from their number.
  const Vertices ball = Vertices::of_l1_ball(256, 1.0).value();
  const auto better = [&](int silos) {
    return error_of(choose_by_vote(), ball, approximate(1.0), 50, 1, silos) <
           error_of(choose_by_vector(), ball, approximate(1.0), 50, 1, silos);
  };
  EXPECT_TRUE(better(1));
  EXPECT_TRUE(better(8));
  EXPECT_FALSE(better(4096));
}

TEST(VertexChoiceTest, VotesOfSilosThatDifferMissWhatTheirMeanWouldChoose) {
  // Spec non-euclidean 3.2: gradients -e_1 - 0.6 e_3 and e_1 - 0.6 e_3. Alone they choose e_1 and -e_1, whose mean
  // scores 0, and so does the better nominee; their mean chooses e_3, which scores -0.6.
  const Vertices ball = Vertices::of_l1_ball(3, 1.0).value();
  const Eigen::Vector3d one(-1.0, 0.0, -0.6);
  const Eigen::Vector3d other(1.0, 0.0, -0.6);
  const Eigen::Vector3d mean = 0.5 * (one + other);
  const auto score = [&](const VertexTally& tally) {
    Eigen::VectorXd direction = Eigen::VectorXd::Zero(3);
    for (const auto& [vertex, share] : tally) ball.add_scaled(vertex, share, direction);
    return direction.dot(mean);
  };
  const folds::Tally votes{{{ball.minimiser(one), 0.5}, {ball.minimiser(other), 0.5}}};
  EXPECT_EQ(score(choose_by_vote().votes({RoundIndex{0}, 2, votes, 20}, ball, {}, 0).value()), 0.0);
  const std::vector<Eigen::Index> nominated{ball.minimiser(one), ball.minimiser(other)};
  const Eigen::Vector2d scores(ball.vertex(nominated[0]).dot(mean), ball.vertex(nominated[1]).dot(mean));
  EXPECT_EQ(
      score(choose_by_nomination().votes({RoundIndex{1}, 2, folds::Mean{scores}, 20}, ball, nominated, 1).value()),
      0.0);
  EXPECT_EQ(score(choose_by_vector().votes({RoundIndex{0}, 2, folds::Mean{mean}, 20}, ball, {}, 0).value()), -0.6);
}

TEST(VertexChoiceTest, PrivateFrankWolfeByVectorIsExactFrankWolfeOfItsMeans) {
  Problem problem;
  problem.dimension = 3;
  problem.domain = geometry::Domain::l1_ball(2.0).value();
  const Vertices ball = Vertices::of_l1_ball(3, 2.0).value();
  const PrivateFrankWolfeSettings settings{problem, ball, 201, &choose_by_vector()};
  const auto algorithm = Method(settings)->make().value();
  const Eigen::Vector3d c(1.5, -1.0, 0.2);
  Step step = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    const Eigen::VectorXd gradient = queries::point_of(query->question) - c;
    step = algorithm->advance({query->round, 1, folds::Mean{gradient}, 10}).value();
  }
  const Eigen::VectorXd out = std::get<Finished>(step).outcome.vectors.at("weights");
  const double excess = 0.5 * (out - c).squaredNorm() - 0.5 * (Eigen::Vector3d(1.25, -0.75, 0.0) - c).squaredNorm();
  EXPECT_LE(excess, 2.0 * 16.0 / 202.0);
}

}  // namespace
}  // namespace undertone::algorithms
