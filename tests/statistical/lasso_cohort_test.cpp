#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

#include "shared/algorithms/frank_wolfe/vertex_choice.hpp"
#include "shared/algorithms/mirror/mirror_descent.hpp"
#include "shared/algorithms/mirror/mirror_geometry.hpp"
#include "shared/algorithms/mirror/tree_frank_wolfe.hpp"
#include "tests/support/lasso_silo.hpp"
#include "tests/support/measured_page.hpp"
#include "tests/support/repetitions.hpp"

/// Measured tables of spec non-euclidean 4 that are of vectors which every silo noises: mirror descent beside projected
/// descent (C19), and trees of noised vectors over cohorts (C21).
namespace undertone {
namespace {

algorithms::Problem in_the_ball(Eigen::Index d) {
  algorithms::Problem problem;
  problem.dimension = d;
  problem.domain = geometry::Domain::l1_ball(1.0).value();
  return problem;
}

releases::SiloFacts silo_of(std::int64_t records, double epsilon) {
  return {SiloId::create("one").value(), records, 0, false,
          releases::ApproximateDp{releases::Epsilon::create(epsilon).value(), releases::Delta::create(1e-6).value()}};
}

constexpr std::int64_t kHeavyRecords = 16384;
constexpr std::uint64_t kHeavyRounds = 64;

/// Absolute loss with Cauchy errors, all of 16,384 records in each of 64 rounds, epsilon 2. No coordinate of a record's
/// gradient is above 1, no gradient longer than sqrt(d).
double heavy_excess(const geometry::MirrorMap& map, int runs) {
  const Eigen::Index d = map.dimension();
  const double root_d = std::sqrt(static_cast<double>(d));
  const bool euclidean = std::holds_alternative<geometry::EuclideanMap>(map.kind());
  const auto clip = [](double norm) { return releases::ClipNorm::create(norm).value(); };
  const releases::Bound bound = euclidean
                                    ? releases::Bound(releases::L2Bound{clip(root_d)})
                                    : releases::Bound(releases::DualBound::create(clip(1.0), INFINITY, d).value());
  algorithms::MirrorDescentSettings settings{in_the_ball(d), map, kHeavyRounds, 1.0};
  const planning::Plan plan =
      planning::make_plan(algorithms::MirrorDescent::schedule(settings, {bound, 1.0}), silo_of(kHeavyRecords, 2.0))
          .value();
  const double stddev = plan.release({0})->noise_stddev_of_mean();
  const double squared =
      algorithms::noisy_gradient_squared(algorithms::dual_exponent(map), d, euclidean ? root_d : 1.0, stddev * stddev);
  settings.step_size =
      std::sqrt(2.0 * map.strong_convexity() * *map.divergence_max() / (static_cast<double>(kHeavyRounds) * squared));
  double sum = 0.0;
  for (int run = 1; run <= runs; ++run) {
    const auto seed = static_cast<std::uint64_t>(run);
    const data::Dataset dataset = tests::heavy_lasso_dataset(d, seed, kHeavyRecords);
    const tests::LassoSilo silo{&plan, &dataset};
    const Eigen::VectorXd end = tests::end_of_lasso_run(*algorithms::MirrorDescent::create(settings).value(),
                                                        {&silo, 1}, seed, true, models::Loss::Absolute);
    sum += tests::heavy_lasso_excess(end) / runs;
  }
  return sum;
}

TEST(HeavyRegressionTest, EuclideanStepsWinOfFewNumbersAndEntropyOfMany) {
  if (!tests::whole()) GTEST_SKIP() << "it measures utility alone: UNDERTONE_TESTS_WHOLE=1 runs it";
  struct Row {
    Eigen::Index d;
    int runs;
    double entropy;
    double euclidean;
  };
  std::vector<double> entropies;
  std::vector<double> projected;
  for (const Row& row : {Row{64, 3, 0.063, 0.037}, Row{512, 2, 0.090, 0.139}, Row{2048, 1, 0.117, 0.211}}) {
    SCOPED_TRACE(row.d);
    const double entropy =
        heavy_excess(geometry::MirrorMap(geometry::LiftedEntropyMap::create(1.0, row.d).value()), row.runs);
    const double euclidean = heavy_excess(
        geometry::MirrorMap(geometry::EuclideanMap(geometry::Domain::l1_ball(1.0).value(), row.d)), row.runs);
    std::printf("d %d: entropy %.4f (table %.3f), Euclidean %.4f (table %.3f)\n", static_cast<int>(row.d), entropy,
                row.entropy, euclidean, row.euclidean);
    entropies.push_back(entropy);
    projected.push_back(euclidean);
    EXPECT_EQ(entropy < euclidean, row.entropy < row.euclidean);
    EXPECT_LE(entropy, 2.0 * row.entropy);
    EXPECT_GE(entropy, 0.5 * row.entropy);
    EXPECT_LE(euclidean, 2.0 * row.euclidean);
    EXPECT_GE(euclidean, 0.5 * row.euclidean);
  }
  tests::expect_on_page("geometry.md", "entropy #, #, # at d = 64, 512, 2048,", entropies, 3);
  tests::expect_on_page("geometry.md", "at d = 64, 512, 2048, projected #, #, # |", projected, 3);
}

constexpr std::int64_t kCohortRecords = 4096;
constexpr std::size_t kSilosMax = 128;

/// Of trees of depth 3 over the first 1, 4, .. silos of 4,096 records each, epsilon 1: means of three runs, by their
/// number.
std::map<std::size_t, double> tree_excesses(Eigen::Index d) {
  constexpr int kRuns = 3;
  const algorithms::TreeFrankWolfeSettings settings{
      in_the_ball(d), geometry::FrankWolfeSet::create(geometry::L1Ball{1.0}, 1.0, d).value(), 3, 1.0};
  const algorithms::GradientShape shape{
      releases::DualBound::create(releases::ClipNorm::create(2.0).value(), INFINITY, d).value(), 1.0};
  const planning::Plan plan =
      planning::make_plan(algorithms::TreeFrankWolfe::schedule(settings, shape), silo_of(kCohortRecords, 1.0)).value();
  std::map<std::size_t, double> out;
  for (std::uint64_t run = 1; run <= kRuns; ++run) {
    std::vector<data::Dataset> datasets;
    std::vector<tests::LassoSilo> silos;
    datasets.reserve(kSilosMax);
    for (std::size_t i = 0; i < kSilosMax; ++i) {
      datasets.push_back(tests::lasso_dataset(d, 1000 * run + i, kCohortRecords));
      silos.push_back({&plan, &datasets.back()});
    }
    for (const std::size_t count : {1U, 4U, 16U, 64U, 128U}) {
      const Eigen::VectorXd end = tests::end_of_lasso_run(*algorithms::TreeFrankWolfe::create(settings).value(),
                                                          std::span(silos).first(count), run, true);
      out[count] += 0.5 * (end - tests::lasso_optimum(d)).squaredNorm() / kRuns;
    }
  }
  return out;
}

TEST(TreeCohortTest, TheExcessFallsWithTheSilosAsMeasured) {
  // C21 and what it is here, means of three runs of fixed seeds. Here it is less, by up to a factor of five: noise on a
  // difference is of the points' own distance, where the specification's reference has that of the largest. Half or
  // twice of our own is another noise: of one that is half as loud at 16 silos the excess is that of 64.
  struct Row {
    std::size_t silos;
    double few;  // d = 16
    double few_measured;
    double many;  // d = 128
    double many_measured;
  };
  const std::map<std::size_t, double> few = tree_excesses(16);
  const std::map<std::size_t, double> many = tree_excesses(128);
  for (const Row& row :
       {Row{1, 0.083, 0.14, 0.196, 0.23}, Row{4, 0.034, 0.085, 0.150, 0.20}, Row{16, 0.0117, 0.07, 0.103, 0.10},
        Row{64, 0.0053, 0.028, 0.0251, 0.08}, Row{128, 0.0049, 0.012, 0.0137, 0.07}}) {
    SCOPED_TRACE(row.silos);
    std::printf("%d silos: d 16 %.4f (table %.3f), d 128 %.4f (table %.3f)\n", static_cast<int>(row.silos),
                few.at(row.silos), row.few_measured, many.at(row.silos), row.many_measured);
    EXPECT_NEAR(few.at(row.silos), row.few, 0.3 * row.few);
    EXPECT_NEAR(many.at(row.silos), row.many, 0.3 * row.many);
    EXPECT_LE(few.at(row.silos), 1.2 * row.few_measured);
    EXPECT_LE(many.at(row.silos), 1.2 * row.many_measured);
  }
  const auto by_silos = [](const std::map<std::size_t, double>& found) {
    return std::vector<double>{found.at(1), found.at(4), found.at(16), found.at(64), found.at(128)};
  };
  tests::expect_on_page("geometry.md", "d = 16: #, #, #, #, # with 1, 4, 16, 64, 128 silos,", by_silos(few), 4);
  tests::expect_on_page("geometry.md", "128 silos, d = 128: #, #, #, #, # |", by_silos(many), 4);
}

/// One step over the simplex of R^256: the excess gap (1 - w_1) of the mean w of what silos of 50 records each choose,
/// or of what the mean of their noised gradients does; z_j of mean 1/2, z_1 of mean 1/2 - gap. Means of runs.
struct OneStep {
  double by_vote = 0.0;
  double by_vector = 0.0;
};

OneStep one_step(int silos, int runs) {
  constexpr Eigen::Index kDimension = 256;
  constexpr int kStepRecords = 50;
  constexpr double kGap = 0.2;
  const geometry::Vertices vertices = geometry::Vertices::of_simplex(kDimension, 1.0).value();
  const auto plan_of = [&](const algorithms::VertexChoice& choice, const releases::Bound& bound) {
    return planning::make_plan({{choice.ask({bound, 1.0}, vertices, 0, 1), 1}}, silo_of(kStepRecords, 1.0)).value();
  };
  const planning::Plan votes =
      plan_of(algorithms::choose_by_vote(), releases::MaxBound{releases::CoordinateBound::create(1.0).value()});
  const planning::Plan vectors =
      plan_of(algorithms::choose_by_vector(),
              releases::DualBound::create(releases::ClipNorm::create(1.0).value(), INFINITY, kDimension).value());
  const auto& selection = std::get<mechanisms::Selection>(votes.release({0})->mechanism);
  const double scale = selection.draw.expected_loss_max(kDimension) / std::log(256.0) * selection.lattice.step() *
                       vertices.unit() / kStepRecords;
  const double stddev = vectors.release({0})->noise_stddev_of_mean();
  std::mt19937_64 random(static_cast<std::uint64_t>(silos));
  std::binomial_distribution<int> plain(kStepRecords, 0.5);
  std::binomial_distribution<int> better(kStepRecords, 0.5 - kGap);
  std::normal_distribution<double> normal(0.0, stddev);
  std::extreme_value_distribution<double> gumbel(0.0, scale);
  OneStep out;
  for (int run = 0; run < runs; ++run) {
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(kDimension);
    int right = 0;
    for (int silo = 0; silo < silos; ++silo) {
      Eigen::Index chosen = 0;
      double most = -INFINITY;
      for (Eigen::Index j = 0; j < kDimension; ++j) {
        const double gradient = (j == 0 ? better(random) : plain(random)) / static_cast<double>(kStepRecords);
        const double score = gumbel(random) - gradient;
        if (score > most) {
          most = score;
          chosen = j;
        }
        mean[j] += (gradient + normal(random)) / silos;
      }
      right += chosen == 0 ? 1 : 0;
    }
    Eigen::Index best = 0;
    mean.minCoeff(&best);
    out.by_vote += kGap * (1.0 - static_cast<double>(right) / silos) / runs;
    out.by_vector += kGap * (best == 0 ? 0.0 : 1.0) / runs;
  }
  return out;
}

TEST(VertexCrossoverTest, VectorsOvertakeVotesAtSomeHundredsOfSilos) {
  if (!tests::whole()) GTEST_SKIP() << "it measures utility alone: UNDERTONE_TESTS_WHOLE=1 runs it";
  // Spec non-euclidean 3.2: a crossover of some d ln(1/delta)/ln d = 640 silos. What votes lose does not depend on how
  // many there are, by construction.
  std::map<int, OneStep> found;
  for (const int silos : {64, 256, 1024, 4096}) {
    found[silos] = one_step(silos, silos > 1000 ? 20 : 60);
    std::printf("%d silos: by vote %.4f, by vector %.4f\n", silos, found[silos].by_vote, found[silos].by_vector);
  }
  EXPECT_GE(found[256].by_vector, 0.9 * found[256].by_vote);
  EXPECT_LE(found[1024].by_vector, 0.85 * found[1024].by_vote);
  EXPECT_LE(found[4096].by_vector, 0.25 * found[4096].by_vote);
  tests::expect_on_page(
      "geometry.md", "votes # whatever the silos, vectors #, #, #, # with 64, 256, 1024, 4096.",
      {found[4096].by_vote, found[64].by_vector, found[256].by_vector, found[1024].by_vector, found[4096].by_vector},
      2);
}

}  // namespace
}  // namespace undertone
