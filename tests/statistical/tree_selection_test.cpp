#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "shared/algorithms/frank_wolfe/private_tree_frank_wolfe.hpp"
#include "shared/algorithms/frank_wolfe/staged_tree_frank_wolfe.hpp"
#include "shared/algorithms/mirror/tree_frank_wolfe.hpp"
#include "tests/support/lasso_silo.hpp"
#include "tests/support/measured_page.hpp"

/// Frank-Wolfe on trees against the measured table of spec non-euclidean 4 (C14 to C16): regression on the l1 ball of
/// radius 1, one silo of 65536 records, epsilon 1, delta 1e-6, from 0. The excess is ||x - x*||^2/2; at 0 it is 0.1675.
namespace undertone::silo {
namespace {

constexpr std::int64_t kTreeRecords = tests::kLassoRecords;
constexpr double kTreeLipschitz = 2.0;
constexpr double kTreeSmoothness = 1.0;

algorithms::Problem on_the_ball(Eigen::Index d) {
  algorithms::Problem problem;
  problem.dimension = d;
  problem.domain = geometry::Domain::l1_ball(1.0).value();
  return problem;
}

releases::SiloFacts facts_of(bool pure) {
  const auto epsilon = releases::Epsilon::create(1.0).value();
  const releases::Target target =
      pure ? releases::Target(releases::PureDp{epsilon})
           : releases::Target(releases::ApproximateDp{epsilon, releases::Delta::create(1e-6).value()});
  return {SiloId::create("one").value(), kTreeRecords, 0, false, target};
}

enum class Leaves : std::uint8_t { PureVertex, Vertex, NoNoise, Vector };

double excess(Leaves leaves, std::uint64_t depth, Eigen::Index d, int runs) {
  static std::map<std::pair<Eigen::Index, int>, data::Dataset> known;
  double sum = 0.0;
  for (int k = 0; k < runs; ++k) {
    const auto seed = static_cast<std::uint64_t>(k) + 1;
    const auto [found, fresh] = known.try_emplace({d, k});
    if (fresh) found->second = tests::lasso_dataset(d, seed);
    Eigen::VectorXd end;
    if (leaves == Leaves::Vector) {
      const algorithms::TreeFrankWolfeSettings settings{
          on_the_ball(d), geometry::FrankWolfeSet::create(geometry::L1Ball{1.0}, 1.0, d).value(), depth,
          kTreeSmoothness};
      const algorithms::GradientShape shape{
          releases::DualBound::create(releases::ClipNorm::create(kTreeLipschitz).value(), INFINITY, d).value(), 1.0};
      const planning::Plan plan =
          planning::make_plan(algorithms::TreeFrankWolfe::schedule(settings, shape), facts_of(false)).value();
      end = tests::end_of_lasso_run(*algorithms::TreeFrankWolfe::create(settings).value(), plan, found->second, seed,
                                    true);
    } else {
      const algorithms::PrivateTreeFrankWolfeSettings settings{
          on_the_ball(d), geometry::Vertices::of_l1_ball(d, 1.0).value(), depth, kTreeSmoothness};
      const algorithms::GradientShape shape{
          releases::MaxBound{releases::CoordinateBound::create(kTreeLipschitz).value()}, 1.0};
      const planning::Plan plan = planning::make_plan(algorithms::PrivateTreeFrankWolfe::schedule(settings, shape),
                                                      facts_of(leaves == Leaves::PureVertex))
                                      .value();
      end = tests::end_of_lasso_run(*algorithms::PrivateTreeFrankWolfe::create(settings).value(), plan, found->second,
                                    seed, leaves != Leaves::NoNoise);
    }
    sum += 0.5 * (end - tests::lasso_optimum(d)).squaredNorm() / runs;
  }
  return sum;
}

TEST(TreeSelectionTest, GivesTheMeasuredTableWithinAFactorOfTwo) {
  struct Row {
    Leaves leaves;
    std::uint64_t depth;
    Eigen::Index d;
    double measured;
  };
  // Spec non-euclidean 4, rate checks: means of four runs. Its vectors leave at every leaf; ours leave once a node, and
  // are not in the table. An under-charged path or a sensitivity twice too small is
  // another column; the table's own statement is a factor of two.
  const std::vector<Row> rows{
      {Leaves::PureVertex, 3, 64, 0.007}, {Leaves::Vertex, 3, 64, 0.007},     {Leaves::PureVertex, 4, 64, 0.011},
      {Leaves::Vertex, 4, 64, 0.011},     {Leaves::PureVertex, 5, 64, 0.036}, {Leaves::Vertex, 5, 64, 0.024},
      {Leaves::NoNoise, 3, 64, 0.005},    {Leaves::NoNoise, 4, 64, 0.002},    {Leaves::NoNoise, 5, 64, 0.0004}};
  std::map<std::pair<std::uint64_t, Leaves>, double> all;
  for (const Row& row : rows) {
    const double found = all[{row.depth, row.leaves}] = excess(row.leaves, row.depth, row.d, 4);
    SCOPED_TRACE(testing::Message() << static_cast<int>(row.leaves) << " at T = " << row.depth);
    RecordProperty(fmt::format("leaves_{}_depth_{}", static_cast<int>(row.leaves), row.depth),
                   fmt::format("{}", found));
    EXPECT_LE(found, 2.0 * row.measured);
    EXPECT_GE(found, 0.4 * row.measured);
    std::printf("leaves %d, T = %d, d = %d: excess %.4f, measured %.4f\n", static_cast<int>(row.leaves),
                static_cast<int>(row.depth), static_cast<int>(row.d), found, row.measured);
  }
  const auto on_page = [&](std::uint64_t depth, const char* line) {
    tests::expect_on_page(
        "geometry.md", line,
        {all[{depth, Leaves::PureVertex}], all[{depth, Leaves::Vertex}], all[{depth, Leaves::NoNoise}]}, 4);
  };
  on_page(3, "| 3 | #, 0.007 | #, 0.007 | #, 0.005 |");
  on_page(4, "| 4 | #, 0.011 | #, 0.011 | #, 0.002 |");
  on_page(5, "| 5 | #, 0.036 | #, 0.024 | #, 0.0004 |");
}

/// Mean excess of stages, of one silo of 65536 records, and of the first `runs` data sets. @param noise or none at all
double staged_excess(const std::vector<algorithms::TreeStage>& stages, Eigen::Index d, double epsilon, int runs,
                     bool noise = true) {
  double sum = 0.0;
  for (int k = 0; k < runs; ++k) {
    const auto seed = static_cast<std::uint64_t>(k) + 1;
    const data::Dataset dataset = tests::lasso_dataset(d, seed);
    const algorithms::StagedTreeFrankWolfeSettings settings{on_the_ball(d), stages, kTreeSmoothness};
    const algorithms::GradientShape shape{releases::MaxBound{releases::CoordinateBound::create(kTreeLipschitz).value()},
                                          1.0};
    releases::SiloFacts facts = facts_of(false);
    facts.target =
        releases::ApproximateDp{releases::Epsilon::create(epsilon).value(), releases::Delta::create(1e-6).value()};
    const planning::Plan plan =
        planning::make_plan(algorithms::StagedTreeFrankWolfe::schedule(settings, shape), facts).value();
    const Eigen::VectorXd end = tests::end_of_lasso_run(*algorithms::StagedTreeFrankWolfe::create(settings).value(),
                                                        plan, dataset, seed, noise);
    sum += 0.5 * (end - tests::lasso_optimum(d)).squaredNorm() / runs;
  }
  return sum;
}

TEST(TreeSelectionTest, StagesGainWhereABallCanShrink) {
  // [A] Section 5: of epsilon 4 and d = 64, a second stage in a ball of a quarter, on two thirds of the records. The
  // best tree's mean over four runs is some three times as far off.
  double one = 1.0;
  for (const std::uint64_t depth : {3U, 4U, 5U}) one = std::min(one, staged_excess({{depth, 1.0}}, 64, 4.0, 4));
  const double two = staged_excess({{3, 1.0}, {4, 0.25}}, 64, 4.0, 4);
  EXPECT_LE(two, 0.6 * one) << two << " " << one;
  tests::expect_on_page(
      "geometry.md", "65,536 records, epsilon 4, d = 64: excess # of two stages, # of the best tree |", {two, one}, 4);
}

TEST(TreeSelectionTest, SelectionDoesNotPayForTheDimensionAndVectorsDo) {
  // C14: from d = 16 to 512 selections stay within a factor of two or so, vectors grow past twice.
  const double few = excess(Leaves::Vertex, 3, 16, 2);
  const double many = excess(Leaves::Vertex, 3, 512, 2);
  const double few_of_vectors = excess(Leaves::Vector, 3, 16, 2);
  const double many_of_vectors = excess(Leaves::Vector, 3, 512, 2);
  std::printf("d = 16 and 512: selections %.4f %.4f, vectors %.4f %.4f\n", few, many, few_of_vectors, many_of_vectors);
  EXPECT_LE(many, 0.03);
  EXPECT_LE(few, 0.03);
  EXPECT_GE(many_of_vectors, 2.0 * few_of_vectors);
  EXPECT_GE(many_of_vectors, 3.0 * many);
  tests::expect_on_page("geometry.md",
                        "65,536 records, epsilon 1: excess # at d = 16 and # at 512; with noised vectors # and # |",
                        {few, many, few_of_vectors, many_of_vectors}, 4);
}

}  // namespace
}  // namespace undertone::silo
