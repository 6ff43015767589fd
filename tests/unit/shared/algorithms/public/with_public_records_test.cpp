#include "shared/algorithms/public/with_public_records.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/proximal/prox_svrg.hpp"
#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/base/random_source.hpp"

namespace undertone::algorithms {
namespace {

using models::LinearModel;
using models::PublicGradients;
using models::PublicLoss;

constexpr std::uint64_t kRounds = 6;
constexpr double kStep = 0.3;

std::shared_ptr<const PublicLoss> open_records(std::uint64_t seed, models::Loss loss = models::Loss::LeastSquares) {
  RandomSource random(seed);
  models::Records records{Eigen::MatrixXd(3, 20), Eigen::VectorXd(20)};
  for (Eigen::Index j = 0; j < 20; ++j) {
    for (Eigen::Index f = 0; f < 3; ++f) records.features(f, j) = 2.0 * random.unit() - 1.0;
    records.targets[j] = loss == models::Loss::Logistic ? (j % 2 == 0 ? 1.0 : -1.0) : 2.0 * random.unit() - 1.0;
  }
  return std::make_shared<const PublicLoss>(PublicLoss::create(LinearModel(loss, 3, false), records).value());
}

Method sgd() {
  Problem problem;
  problem.dimension = 3;
  return MinibatchSgdSettings{problem, kRounds, kStep, {Averaging::Kind::Last}};
}

std::unique_ptr<FederatedAlgorithm> with(const Method& method, const PublicUse& use, double weight,
                                         const std::shared_ptr<const PublicLoss>& loss) {
  return std::make_unique<WithPublicRecords>(
      method->make().value(),
      WithPublicRecords::Setup{
          use, weight, 1.0, [loss]() -> Result<std::shared_ptr<const models::PublicGradientSource>> { return loss; }});
}

/// What silos say of a point: any function of it will do.
Eigen::VectorXd said(const queries::Question& question) {
  const Eigen::VectorXd& point = queries::point_of(question);
  Eigen::VectorXd out = point.head(3).array().sin() + 0.25;
  if (point.size() == 6) out -= Eigen::VectorXd(point.tail(3).array().sin() + 0.25);
  return out;
}

Eigen::VectorXd run(FederatedAlgorithm& algorithm) {
  Step step = algorithm.start();
  while (const auto* query = std::get_if<queries::Query>(&step))
    step = algorithm.advance({query->round, 1, folds::Mean{said(query->question)}}).value();
  return std::get<Finished>(step).outcome.vectors.at("weights");
}

TEST(WithPublicRecordsTest, OfWeightOneItIsTheInnerAlgorithmToTheBit) {
  const auto inner = sgd()->make().value();
  EXPECT_EQ(run(*with(sgd(), MixedGradients{}, 1.0, open_records(1))), run(*inner));
}

TEST(WithPublicRecordsTest, OfWeightNoneItIsPublicDescentToTheBit) {
  const auto loss = open_records(2);
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(3);
  for (std::uint64_t r = 0; r < kRounds; ++r)
    weights -= kStep * loss->mean_gradient(weights, PublicGradients::Raw, 1.0);
  EXPECT_EQ(run(*with(sgd(), MixedGradients{}, 0.0, loss)), weights);
}

TEST(WithPublicRecordsTest, BetweenThemAStepGoesAlongTheWeightedMean) {
  const auto loss = open_records(3);
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(3);
  for (std::uint64_t r = 0; r < kRounds; ++r) {
    const Eigen::VectorXd silos = said(queries::GradientQuestion{weights});
    weights -= kStep * (0.3 * silos + 0.7 * loss->mean_gradient(weights, PublicGradients::Rescaled, 1.0));
  }
  EXPECT_TRUE(run(*with(sgd(), MixedGradients{PublicGradients::Rescaled}, 0.3, loss)).isApprox(weights, 1e-12));
}

TEST(WithPublicRecordsTest, AScheduledWeightGoesOnALineFromTheFirstRoundToTheLast) {
  const auto loss = open_records(3);
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(3);
  for (std::uint64_t r = 0; r < kRounds; ++r) {
    const double weight = 0.2 + (0.9 - 0.2) * static_cast<double>(r) / static_cast<double>(kRounds - 1);
    const Eigen::VectorXd silos = said(queries::GradientQuestion{weights});
    weights -= kStep * (weight * silos + (1.0 - weight) * loss->mean_gradient(weights, PublicGradients::Raw, 1.0));
  }
  WithPublicRecords::Setup setup{
      MixedGradients{}, 0.2, 1.0,
      [loss]() -> Result<std::shared_ptr<const models::PublicGradientSource>> { return loss; }};
  setup.weight_end = 0.9;
  setup.rounds = kRounds;
  WithPublicRecords scheduled(sgd()->make().value(), setup);
  EXPECT_TRUE(run(scheduled).isApprox(weights, 1e-12));
  // With one end at 1 and the other at 0 its first step is the silos' alone, to the bit, and its last the public one.
  setup.weight = 1.0;
  setup.weight_end = 0.0;
  WithPublicRecords ends(sgd()->make().value(), setup);
  const algorithms::Step first = ends.start();
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(3);
  const auto next = ends.advance({std::get<queries::Query>(first).round, 1, folds::Mean{zero}});
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(next.value()).question), zero);
}

TEST(WithPublicRecordsTest, ServesWhatStepsAlongGradientsAndDifferences) {
  Problem problem;
  problem.dimension = 3;
  const auto loss = open_records(4);
  for (const Method& method : {Method(ProxSvrgSettings{problem, 1, 2, 3, 0.2, {}, 7})}) {
    const Eigen::VectorXd mixed = run(*with(method, MixedGradients{}, 0.5, loss));
    const Eigen::VectorXd alone = run(*with(method, MixedGradients{}, 1.0, loss));
    EXPECT_TRUE(mixed.allFinite());
    EXPECT_GT((mixed - alone).norm(), 1e-3);
  }
}

TEST(WithPublicRecordsTest, GoesOnWhereItStood) {
  const auto loss = open_records(5);
  const Eigen::VectorXd whole = run(*with(sgd(), MixedGradients{}, 0.5, loss));
  for (std::uint64_t cut = 0; cut < kRounds; ++cut) {
    auto first = with(sgd(), MixedGradients{}, 0.5, loss);
    Step step = first->start();
    for (std::uint64_t r = 0; r < cut; ++r) {
      const auto& query = std::get<queries::Query>(step);
      step = first->advance({query.round, 1, folds::Mean{said(query.question)}}).value();
    }
    ByteWriter state;
    first->save(state);
    auto second = with(sgd(), MixedGradients{}, 0.5, loss);
    ByteReader reader(state.bytes());
    ASSERT_TRUE(second->restore(reader));
    EXPECT_EQ(run(*second), whole) << cut;
  }
}

TEST(WithPublicRecordsTest, EndsWhereTheRecordsCannotBeRead) {
  WithPublicRecords algorithm(
      sgd()->make().value(),
      {MixedGradients{}, 0.5, 1.0, []() -> Result<std::shared_ptr<const models::PublicGradientSource>> {
         return Error{ErrorCode::InvalidArgument, "another digest"};
       }});
  const Step step = algorithm.start();
  const auto& query = std::get<queries::Query>(step);
  const auto next = algorithm.advance({query.round, 1, folds::Mean{said(query.question)}});
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().message, "another digest");
  // Neither does what is told beside a mean do any harm.
  EXPECT_FALSE(with(sgd(), MixedGradients{}, 0.5, open_records(6))->advance({query.round, 1, folds::Tally{}}));
  EXPECT_FALSE(with(sgd(), MixedGradients{}, 0.5, open_records(6))
                   ->advance({query.round, 1, folds::Mean{Eigen::VectorXd::Zero(4)}}));
}

// Spec public-data 11, PDA-MD: of the public records' own gradients, without noise, ridge or scale, one step of size 1
// from anywhere is Newton's, and lands on their minimiser.
TEST(WithPublicRecordsTest, OneStepOfTheMirrorMapLandsOnTheMinimiser) {
  const auto loss = open_records(7);
  Problem problem;
  problem.dimension = 3;
  problem.initial = Eigen::Vector3d(0.5, -2.0, 1.0);
  const Method once = MinibatchSgdSettings{problem, 1, 1.0, {Averaging::Kind::Last}};
  const auto algorithm = with(once, PublicMirror{1e-13, PublicMirror::Scale::None}, 1.0, loss);
  const Step step = algorithm->start();
  const auto& query = std::get<queries::Query>(step);
  const Eigen::VectorXd gradient = loss->mean_gradient(queries::point_of(query.question), PublicGradients::Raw, 1.0);
  const Step next = algorithm->advance({query.round, 1, folds::Mean{gradient}}).value();
  EXPECT_TRUE(
      std::get<Finished>(next).outcome.vectors.at("weights").isApprox(loss->minimiser(0.0).value().weights, 1e-8));
}

// As the ridge grows the map tends to the gradient itself, where it is over its least eigenvalue.
TEST(WithPublicRecordsTest, AMirrorMapOfALargeRidgeIsPlainDescent) {
  const auto matrix = mirror_matrix(*open_records(8), {1e6, PublicMirror::Scale::LeastEigenvalue}).value().matrix;
  EXPECT_LT((matrix - Eigen::MatrixXd::Identity(3, 3)).norm(), 1e-5);
  for (const auto scale : {PublicMirror::Scale::LeastEigenvalue, PublicMirror::Scale::LeastOfMean}) {
    const auto small = mirror_matrix(*open_records(8), {0.01, scale}).value().matrix;
    EXPECT_NEAR(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(small).eigenvalues().minCoeff(), 1.0, 1e-12);
  }
}

TEST(WithPublicRecordsTest, AMirrorMapIsOfLeastSquaresAlone) {
  EXPECT_FALSE(mirror_matrix(*open_records(9, models::Loss::Logistic), {}));
  EXPECT_FALSE(mirror_matrix(*open_records(9), {0.0, PublicMirror::Scale::None}));
  EXPECT_FALSE(mirror_matrix(*open_records(9), {std::nan(""), PublicMirror::Scale::None}));
}

// Spec 5.2: the variance of alpha g + (1 - alpha) h is least at alpha, and is there one over the sum of the precisions.
TEST(BestWeightTest, IsThatOfTheLeastVariance) {
  RandomSource random(11);
  for (int i = 0; i < 200; ++i) {
    const double variance = 0.1 + 5.0 * random.unit();
    const double records = 2.0 + std::floor(500.0 * random.unit());
    const double share = 1.0 / (10.0 + 1e4 * random.unit());
    const double noise = 0.3 * random.unit();
    const double weight = best_weight(variance / records, noise + variance * share);
    const auto spread = [&](double alpha) {
      return alpha * alpha * (noise + variance * share) + (1.0 - alpha) * (1.0 - alpha) * variance / records;
    };
    EXPECT_NEAR(spread(weight), 1.0 / (records / variance + 1.0 / (noise + variance * share)), 1e-12 * variance);
    for (const double other : {weight - 0.01, weight + 0.01}) EXPECT_GT(spread(other), spread(weight));
  }
  // Spec 2.4: n_priv r*, r* = (n_priv V^2 / n_pub) / (2 d B^2 / rho + n_priv V^2 + n_priv^2 V^2 / n_pub).
  const double d = 10'000, bound = 25, rho = 1, open = 100, hidden = 9'900;
  EXPECT_NEAR(best_weight(1.0 / open, 2.0 * d * bound * bound / (rho * hidden * hidden) + 1.0 / hidden),
              hidden * 7.339e-6, hidden * 1e-9);
  EXPECT_EQ(best_weight(0.1, INFINITY), 0.0);
  // Nobody knows what the public mean is off by.
  EXPECT_EQ(best_weight(0.0, 0.1), 1.0);
  EXPECT_EQ(best_weight(INFINITY, 0.1), 1.0);
  EXPECT_EQ(best_weight(std::nan(""), 0.1), 1.0);
}

}  // namespace
}  // namespace undertone::algorithms
