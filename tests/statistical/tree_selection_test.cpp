#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "shared/algorithms/frank_wolfe/private_tree_frank_wolfe.hpp"
#include "shared/algorithms/mirror/tree_frank_wolfe.hpp"
#include "shared/base/random_source.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"

/// Frank-Wolfe on trees against the measured table of spec non-euclidean 4 (C14 to C16): regression on the l1 ball of
/// radius 1, one silo of 65536 records, epsilon 1, delta 1e-6, from 0. The excess is ||x - x*||^2/2; at 0 it is 0.1675.
namespace undertone::silo {
namespace {

constexpr std::int64_t kTreeRecords = 65536;
constexpr double kTreeLipschitz = 2.0;
constexpr double kTreeSmoothness = 1.0;

Eigen::VectorXd optimum(Eigen::Index d) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(d);
  out.head(3) << 0.5, -0.25, 0.15;
  return out;
}

/// a in {-1, 1}^d, y = <a, x*> + U[-0.1, 0.1].
data::Dataset tree_dataset(Eigen::Index d, std::uint64_t seed) {
  RandomSource random(seed);
  models::Records records{Eigen::MatrixXd(d, kTreeRecords), Eigen::VectorXd(kTreeRecords)};
  std::uint64_t bits = 0;
  int left = 0;
  for (double& number : records.features.reshaped()) {
    if (left-- == 0) {
      bits = random.word();
      left = 63;
    }
    number = (bits & 1U) != 0 ? 1.0 : -1.0;
    bits >>= 1U;
  }
  const Eigen::VectorXd best = optimum(d);
  for (std::int64_t i = 0; i < kTreeRecords; ++i)
    records.targets[i] = records.features.col(i).dot(best) + 0.2 * random.unit() - 0.1;
  data::Dataset out;
  out.training = std::move(records);
  return out;
}

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

/// Where a whole run ends, by the silo's own oracle.
Eigen::VectorXd end_of(algorithms::FederatedAlgorithm& algorithm, const planning::Plan& plan,
                       const data::Dataset& dataset, std::uint64_t seed, bool noise) {
  const SiloId silo = SiloId::create("one").value();
  const RunId run{sha256(fmt::format("tree {}", seed)), {}};
  TestRandomness randomness(seed, silo);
  const RecordPlaces places =
      RecordPlaces::permuted(randomness.permutation({run, releases::Block::Training, {}}, kTreeRecords));
  const models::LinearModel model(models::Loss::LeastSquares, dataset.training.features.rows(), false);
  const std::unique_ptr<RecordSums> sums = make_record_sums(model);
  const queries::WireLattice wire{queries::ReplyType::I64, -40};
  algorithms::Step step = algorithm.start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    const planning::Release& release = *plan.release(query->round);
    const auto stream =
        noise ? randomness.stream(run, query->round) : NoiselessRandomness(seed, silo).stream(run, query->round);
    const queries::Answer answer = draw_and_sum(*query, release, {dataset, places}, sums.get(), wire, *stream);
    const std::vector<std::int64_t>& values = queries::values_of(answer);
    folds::Gathered gathered{query->round, 1, folds::Tally{}, kTreeRecords};
    if (std::holds_alternative<queries::Selected>(answer)) {
      gathered.value = folds::Tally{{{static_cast<Eigen::Index>(values.front()), 1.0}}};
    } else {
      gathered.value = folds::Mean{Eigen::Map<const Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>>(
                                       values.data(), static_cast<Eigen::Index>(values.size()))
                                       .cast<double>() *
                                   0x1p-40};
    }
    step = algorithm.advance(gathered).value();
  }
  return std::get<algorithms::Finished>(step).outcome.vectors.at("weights");
}

enum class Leaves : std::uint8_t { PureVertex, Vertex, NoNoise, Vector };

double excess(Leaves leaves, std::uint64_t depth, Eigen::Index d, int runs) {
  static std::map<std::pair<Eigen::Index, int>, data::Dataset> known;
  double sum = 0.0;
  for (int k = 0; k < runs; ++k) {
    const auto seed = static_cast<std::uint64_t>(k) + 1;
    const auto [found, fresh] = known.try_emplace({d, k});
    if (fresh) found->second = tree_dataset(d, seed);
    Eigen::VectorXd end;
    if (leaves == Leaves::Vector) {
      const algorithms::TreeFrankWolfeSettings settings{
          on_the_ball(d), geometry::FrankWolfeSet::create(geometry::L1Ball{1.0}, 1.0, d).value(), depth,
          kTreeSmoothness};
      const algorithms::GradientShape shape{
          releases::DualBound::create(releases::ClipNorm::create(kTreeLipschitz).value(), INFINITY, d).value(), 1.0};
      const planning::Plan plan =
          planning::make_plan(algorithms::TreeFrankWolfe::schedule(settings, shape), facts_of(false)).value();
      end = end_of(*algorithms::TreeFrankWolfe::create(settings).value(), plan, found->second, seed, true);
    } else {
      const algorithms::PrivateTreeFrankWolfeSettings settings{
          on_the_ball(d), geometry::Vertices::of_l1_ball(d, 1.0).value(), depth, kTreeSmoothness};
      const algorithms::GradientShape shape{
          releases::MaxBound{releases::CoordinateBound::create(kTreeLipschitz).value()}, 1.0};
      const planning::Plan plan = planning::make_plan(algorithms::PrivateTreeFrankWolfe::schedule(settings, shape),
                                                      facts_of(leaves == Leaves::PureVertex))
                                      .value();
      end = end_of(*algorithms::PrivateTreeFrankWolfe::create(settings).value(), plan, found->second, seed,
                   leaves != Leaves::NoNoise);
    }
    sum += 0.5 * (end - optimum(d)).squaredNorm() / runs;
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
  for (const Row& row : rows) {
    const double found = excess(row.leaves, row.depth, row.d, 4);
    SCOPED_TRACE(testing::Message() << static_cast<int>(row.leaves) << " at T = " << row.depth);
    RecordProperty(fmt::format("leaves_{}_depth_{}", static_cast<int>(row.leaves), row.depth),
                   fmt::format("{}", found));
    EXPECT_LE(found, 2.0 * row.measured);
    EXPECT_GE(found, 0.4 * row.measured);
    std::printf("leaves %d, T = %d, d = %d: excess %.4f, measured %.4f\n", static_cast<int>(row.leaves),
                static_cast<int>(row.depth), static_cast<int>(row.d), found, row.measured);
  }
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
}

}  // namespace
}  // namespace undertone::silo
