#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/algorithms/frank_wolfe/private_tree_frank_wolfe.hpp"
#include "shared/base/random_source.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"

/// Selections along paths: the exact law of what leaves, over data sets and all their neighbours.
namespace undertone::silo {
namespace {

constexpr Eigen::Index kFeatures = 3;
constexpr std::int64_t kPathRecords = 16;
constexpr double kLipschitz = 1.0;
constexpr double kSmoothness = 0.3;

const models::LinearModel& model() {
  static const models::LinearModel linear(models::Loss::Logistic, kFeatures, false);
  return linear;
}

planning::Plan plan_of(double epsilon) {
  algorithms::Problem problem;
  problem.dimension = kFeatures;
  problem.domain = geometry::Domain::l1_ball(1.0).value();
  const algorithms::PrivateTreeFrankWolfeSettings settings{
      problem, geometry::Vertices::of_l1_ball(kFeatures, 1.0).value(), 2, kSmoothness};
  const algorithms::GradientShape shape{releases::MaxBound{releases::CoordinateBound::create(kLipschitz).value()}, 1.0};
  const releases::SiloFacts facts{SiloId::create("a").value(), kPathRecords, 0, false,
                                  releases::PureDp{releases::Epsilon::create(epsilon).value()}};
  return planning::make_plan(algorithms::PrivateTreeFrankWolfe::schedule(settings, shape), facts).value();
}

/// Numbers of every size, and what is none.
double hostile(RandomSource& random) {
  const double values[] = {0.0, 1.0, -1.0, 40.0, -40.0, 1e300, std::numeric_limits<double>::infinity(), std::nan("")};
  return random.below(3) == 0 ? values[random.below(8)] : 4.0 * random.unit() - 2.0;
}

models::Records random_records(RandomSource& random) {
  models::Records out{Eigen::MatrixXd(kFeatures, kPathRecords), Eigen::VectorXd(kPathRecords)};
  for (double& number : out.features.reshaped()) number = hostile(random);
  for (double& target : out.targets) target = random.below(2) == 0 ? 1.0 : -1.0;
  return out;
}

const RecordPlaces& places() {
  static const RecordPlaces identity = [] {
    std::vector<std::int64_t> order(kPathRecords);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    return RecordPlaces::permuted(std::move(order));
  }();
  return identity;
}

std::vector<std::int64_t> sum_of(const planning::Release& release, const models::Records& records,
                                 const Eigen::VectorXd& points) {
  const std::unique_ptr<RecordSums> sums = make_record_sums(model());
  return path_sum(queries::PathQuestion{points}, release, records, places(), nullptr, sums.get());
}

TEST(PathOracleTest, ARecordMovesTheIntegersByItsOwnNodesLevelsAndNoNodesNothing) {
  const planning::Plan plan = plan_of(1.0);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const models::Records records = random_records(random);
    const planning::Release& release = *plan.release(RoundIndex{random.below(plan.rounds())});
    const auto& nodes = release.ask.path()->nodes;
    const auto& units = std::get<mechanisms::PathSelection>(release.mechanism).lattice.nodes();
    Eigen::VectorXd points(static_cast<Eigen::Index>(nodes.size()) * kFeatures);
    for (double& w : points) w = seed % 4 == 0 ? 1e3 * random.unit() : 2.0 * random.unit() - 1.0;  // any a peer sends
    const std::vector<std::int64_t> before = sum_of(release, records, points);
    for (std::int64_t changed = 0; changed < kPathRecords; ++changed) {
      models::Records other = records;
      for (Eigen::Index f = 0; f < kFeatures; ++f) other.features(f, changed) = hostile(random);
      other.targets[changed] = -other.targets[changed];
      std::int64_t allowed = 0;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const releases::Slice::Positions at = nodes[i].slice.positions(kPathRecords);
        if (at.from <= changed && changed < at.to) allowed = 2 * units[i].levels;
      }
      const std::vector<std::int64_t> after = sum_of(release, other, points);
      for (std::size_t j = 0; j < after.size(); ++j) ASSERT_LE(std::abs(after[j] - before[j]), allowed);
    }
  }
}

TEST(PathOracleTest, OfNoTwoNeighboursAVertexIsLikelierByMoreThanTheirNodesEpsilon) {
  const planning::Plan plan = plan_of(6.0);
  double closest = 0.0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomSource random(seed);
    const models::Records records = random_records(random);
    for (std::uint64_t round = 0; round < plan.rounds(); ++round) {
      const planning::Release& release = *plan.release(RoundIndex{round});
      const auto& selection = std::get<mechanisms::PathSelection>(release.mechanism);
      const auto& nodes = release.ask.path()->nodes;
      Eigen::VectorXd points(static_cast<Eigen::Index>(nodes.size()) * kFeatures);
      for (double& w : points) w = 2.0 * random.unit() - 1.0;
      const auto law = [&](const models::Records& of) {
        return selection.draw.law(path_scores(release, sum_of(release, of, points)));
      };
      const std::vector<long double> before = law(records);
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::int64_t changed = nodes[i].slice.positions(kPathRecords).from;
        models::Records other = records;
        // As far from the other record as gradients are clamped to: opposite signs in every coordinate.
        for (Eigen::Index f = 0; f < kFeatures; ++f) other.features(f, changed) = f % 2 == 0 ? 1e6 : -1e6;
        models::Records opposite = other;
        opposite.targets[changed] = -other.targets[changed];
        const std::vector<long double> one = law(other);
        const std::vector<long double> two = law(opposite);
        double apart = 0.0;
        for (std::size_t k = 0; k < one.size(); ++k) {
          apart = std::max(apart, std::abs(static_cast<double>(std::log(one[k] / two[k]))));
          apart = std::max(apart, std::abs(static_cast<double>(std::log(one[k] / before[k]))));
        }
        const double allowed = selection.epsilon(i).value_rounded_up();
        ASSERT_LE(apart, allowed + 1e-9) << "round " << round << ", node " << i;
        closest = std::max(closest, apart / allowed);
      }
    }
  }
  EXPECT_GE(closest, 0.5);  // the law's normaliser moves by the other half at most
}

TEST(PathOracleTest, UnitsOfAllNodesAreWorthTheSameInTheEstimate) {
  const planning::Plan plan = plan_of(1.0);
  const planning::Release& last = *plan.release(RoundIndex{plan.rounds() - 1});
  const auto& lattice = std::get<mechanisms::PathSelection>(last.mechanism).lattice;
  for (std::size_t i = 0; i < lattice.nodes().size(); ++i) {
    const mechanisms::ClampUnits& node = lattice.nodes()[i];
    EXPECT_NEAR(1.0 / (node.per_unit * static_cast<double>(node.records)), lattice.unit(), 1e-15) << i;
    EXPECT_LE(static_cast<double>(node.levels) / node.per_unit, last.ask.path()->nodes[i].bound.value());
  }
}

}  // namespace
}  // namespace undertone::silo
