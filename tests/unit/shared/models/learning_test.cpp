#include <cmath>
#include <gtest/gtest.h>
#include <span>

#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/algorithms/with_evaluation.hpp"
#include "shared/base/random_source.hpp"
#include "shared/models/layered_model.hpp"
#include "shared/models/linear_model.hpp"
#include "shared/models/model.hpp"
#include "shared/queries/wire_lattice.hpp"

namespace undertone {
namespace {

using algorithms::Averaging;
using algorithms::Finished;
using algorithms::MinibatchSgd;
using algorithms::MinibatchSgdSettings;
using algorithms::Step;
using algorithms::WithEvaluation;
using models::LinearModel;
using models::Loss;

MinibatchSgdSettings settings(Eigen::Index dimension, std::uint64_t rounds) {
  algorithms::Problem problem;
  problem.dimension = dimension;
  problem.domain = geometry::Domain::l2_ball(100.0).value();
  return {problem, rounds, 0.5, {}};
}

double loss_of(Loss loss, double z, double y) {
  return loss == Loss::Logistic ? std::log1p(std::exp(-y * z)) : 0.5 * (z - y) * (z - y);
}

TEST(LinearModelTest, GradientsMatchFiniteDifferences) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const Loss loss = seed % 2 == 0 ? Loss::Logistic : Loss::LeastSquares;
    const LinearModel model(loss, 3, seed % 3 == 0);
    models::Records records{Eigen::MatrixXd(3, 1), Eigen::VectorXd(1)};
    for (Eigen::Index f = 0; f < 3; ++f) records.features(f, 0) = 2.0 * random.unit() - 1.0;
    records.targets[0] = loss == Loss::Logistic ? (random.chance(0.5) ? 1.0 : -1.0) : random.unit();
    Eigen::VectorXd w(model.dimension());
    for (double& v : w) v = 4.0 * random.unit() - 2.0;
    const auto value = [&](const Eigen::VectorXd& at) {
      const double z = at.head(3).dot(records.features.col(0)) + (model.intercept() ? at[3] : 0.0);
      return loss_of(loss, z, records.targets[0]);
    };
    Eigen::VectorXd gradient(model.dimension());
    model.gradient(w, records, 0, gradient);
    for (Eigen::Index j = 0; j < w.size(); ++j) {
      Eigen::VectorXd up = w;
      Eigen::VectorXd down = w;
      up[j] += 1e-5;
      down[j] -= 1e-5;
      EXPECT_NEAR(gradient[j], (value(up) - value(down)) / 2e-5, 1e-8);
    }
  }
}

TEST(ModelTest, ASoftmaxRegressionsConstantsBoundItsGradients) {
  // Records as long as they may be, weights from nothing to where every score is certain; of many pairs some come near.
  RandomSource random(19);
  const models::Network network = models::Network::create({{1, 1, 3}, {}, 4}).value();
  models::LayeredModel model(network);
  double largest = 0.0;
  double steepest = 0.0;
  for (int i = 0; i < 2000; ++i) {
    const auto point = [&](Eigen::Index size, double radius) {
      Eigen::VectorXd out(size);
      for (double& value : out) value = radius * (2.0 * random.unit() - 1.0);
      return out;
    };
    models::Records record{point(3, 1.0), Eigen::VectorXd::Constant(1, static_cast<double>(random.below(4)))};
    const double norm = std::sqrt(record.features.squaredNorm() + 1.0);
    const models::Model::Constants constants = models::Model(network).constants(norm);
    const Eigen::VectorXd weights = point(model.dimension(), i % 2 == 0 ? 8.0 : 0.3);
    const Eigen::VectorXd other = weights + point(model.dimension(), 0.1);
    const std::int64_t only = 0;
    Eigen::VectorXd here(model.dimension());
    Eigen::VectorXd there(model.dimension());
    model.gradient_sum(weights, record, std::span(&only, 1), here);
    model.gradient_sum(other, record, std::span(&only, 1), there);
    largest = std::max(largest, here.norm() / constants.lipschitz.value());
    steepest = std::max(steepest, (here - there).norm() / (weights - other).norm() / constants.smoothness.value());
  }
  EXPECT_LE(largest, 1.0 + 1e-12);
  EXPECT_GT(largest, 0.95);
  EXPECT_LE(steepest, 1.0 + 1e-12);
  EXPECT_GT(steepest, 0.3);
  EXPECT_FALSE(models::Model(models::Network::create({{1, 1, 3}, {models::DenseShape{4}}, 4}).value())
                   .constants(1.0)
                   .smoothness);
}

TEST(LinearModelTest, MetricsAreCentredAndBounded) {
  const LinearModel model(Loss::Logistic, 1, false);
  models::Records records{Eigen::MatrixXd::Constant(1, 1, 1.0), Eigen::VectorXd::Constant(1, 1.0)};
  Eigen::VectorXd out(3);
  model.centred_metrics(Eigen::VectorXd::Constant(1, 2.0), records, 0, out);
  EXPECT_NEAR(out[0], std::log1p(std::exp(-2.0)) / 4.0 - 0.5, 1e-15);
  EXPECT_EQ(out[1], 0.5);  // a hit
  EXPECT_EQ(out[2], 0.5);  // a positive
  model.centred_metrics(Eigen::VectorXd::Constant(1, -1e9), records, 0, out);
  EXPECT_EQ(out[0], 0.5);  // a loss beyond the clip
  EXPECT_EQ(out[1], -0.5);
  records.features(0, 0) = std::nan("");
  model.centred_metrics(Eigen::VectorXd::Constant(1, 1.0), records, 0, out);
  EXPECT_LE(out.cwiseAbs().maxCoeff(), 0.5);
}

TEST(LinearModelTest, DetailedMetricsOfAClassNameThePredictionAndOneBinOfScores) {
  const models::LinearModel model =
      LinearModel(Loss::Logistic, 1, false).evaluated({models::MetricDetail::Kind::Detailed});
  models::Records records{Eigen::MatrixXd::Constant(1, 1, 1.0), Eigen::VectorXd::Constant(1, 1.0)};
  Eigen::VectorXd out(44);
  model.centred_metrics(Eigen::VectorXd::Constant(1, 1.25), records, 0, out);
  EXPECT_EQ(out[3], 0.5);  // said to be positive
  // A score of 1.25 is in the third bin above 0, of the positive class.
  EXPECT_EQ(out.tail(40).sum(), 1.0);
  EXPECT_EQ(out[4 + 20 + 12], 1.0);
  EXPECT_LE(out.norm(), models::Model(model).metric_norm());
  records.targets[0] = -1.0;
  for (const double feature : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    records.features(0, 0) = feature;
    model.centred_metrics(Eigen::VectorXd::Constant(1, 1.0), records, 0, out);
    EXPECT_EQ(out.tail(40).sum(), 1.0) << feature;
    EXPECT_LE(out.norm(), models::Model(model).metric_norm()) << feature;
  }
  EXPECT_EQ(LinearModel::score_bin(-1e300), 0);
  EXPECT_EQ(LinearModel::score_bin(-0.25), 9);
  EXPECT_EQ(LinearModel::score_bin(0.0), 10);
  EXPECT_EQ(LinearModel::score_bin(4.5), 19);
  EXPECT_EQ(LinearModel::score_bin(1e300), 19);
}

// Label 0.5 is the share 0.75 of its range, prediction 0 the share 0.5: the error is a quarter of it.
TEST(LinearModelTest, DetailedMetricsOfANumberAreSharesOfItsRange) {
  const models::LinearModel model =
      LinearModel(Loss::LeastSquares, 1, false).evaluated({models::MetricDetail::Kind::Detailed});
  models::Records records{Eigen::MatrixXd::Zero(1, 1), Eigen::VectorXd::Constant(1, 0.5)};
  Eigen::VectorXd out(8);
  model.centred_metrics(Eigen::VectorXd::Constant(1, 1.0), records, 0, out);
  const std::vector<double> expected = {0.0625, 0.25, 0.75, 0.5625, 0.5, 0.25};
  for (std::size_t m = 0; m < expected.size(); ++m)
    EXPECT_EQ(out[static_cast<Eigen::Index>(m) + 2] + 0.5, expected[m]) << m;
  for (const double feature : {std::nan(""), 1e300, -1e300}) {
    records.features(0, 0) = feature;
    model.centred_metrics(Eigen::VectorXd::Constant(1, 1.0), records, 0, out);
    EXPECT_LE(out.cwiseAbs().maxCoeff(), 0.5) << feature;
  }
}

TEST(L2BallTest, ProjectsOntoTheNearestPoint) {
  const geometry::L2Ball ball = geometry::L2Ball::create(5.0).value();
  Eigen::VectorXd outside(2);
  outside << 6.0, 8.0;  // norm 10: halved
  ball.project(outside);
  EXPECT_EQ(outside, Eigen::Vector2d(3.0, 4.0));
  Eigen::VectorXd inside = Eigen::Vector2d(1.0, 1.0);
  ball.project(inside);
  EXPECT_EQ(inside, Eigen::Vector2d(1.0, 1.0));
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) EXPECT_FALSE(geometry::L2Ball::create(bad));
}

/// Feeds gradients to an algorithm and returns what it ends with.
Eigen::VectorXd run(MinibatchSgd& algorithm, const std::vector<Eigen::VectorXd>& gradients) {
  Step step = algorithm.start();
  for (std::size_t r = 0; r < gradients.size(); ++r)
    step = algorithm.advance({RoundIndex{r}, 1, folds::Mean{gradients[r]}}).value();
  return std::get<Finished>(step).outcome.vectors.at("weights");
}

TEST(MinibatchSgdTest, StepsAsComputedByHand) {
  // eta 1/2, lambda 1 on the first coordinate alone, radius 1:
  // w0 = (0,0); g = (-1,-1): w1 = (.5,.5)
  // g = (-1,-1) + (.5,0): w2 = (.5,.5) + (.25,.5) = (.75,1), norm 1.25 -> (.6,.8)
  MinibatchSgdSettings s = settings(2, 2);
  s.problem.regulariser = geometry::Regulariser::squared_l2(1.0, 1).value();
  s.problem.domain = geometry::Domain::l2_ball(1.0).value();
  s.averaging.kind = Averaging::Kind::Last;
  const auto algorithm = MinibatchSgd::create(s).value();
  const Eigen::VectorXd out = run(*algorithm, {Eigen::Vector2d(-1, -1), Eigen::Vector2d(-1, -1)});
  EXPECT_NEAR(out[0], 0.6, 1e-15);
  EXPECT_NEAR(out[1], 0.8, 1e-15);
}

TEST(MinibatchSgdTest, UniformAverageCountsTheFirstIterateAndNotTheLast) {
  const auto algorithm = MinibatchSgd::create(settings(1, 3)).value();
  const auto g = [](double v) { return Eigen::VectorXd::Constant(1, v); };
  // iterates 0, -0.5, -1.5, (-3): the mean of the first three
  EXPECT_NEAR(run(*algorithm, {g(1), g(2), g(3)})[0], -2.0 / 3.0, 1e-15);
}

TEST(MinibatchSgdTest, GeometricAverageHasTheWeightsOfTheTheorem) {
  MinibatchSgdSettings s = settings(1, 4);
  s.averaging = {Averaging::Kind::Geometric, 0.75};  // mu eta = 1/4
  const auto algorithm = MinibatchSgd::create(s).value();
  const auto g = [](double v) { return Eigen::VectorXd::Constant(1, v); };
  const double iterates[] = {0.0, -0.5, -1.5, -3.0};
  double numerator = 0.0;
  double denominator = 0.0;
  for (int r = 0; r < 4; ++r) {
    const double gamma = std::pow(0.75, -(r + 1));
    numerator += gamma * iterates[r];
    denominator += gamma;
  }
  EXPECT_NEAR(run(*algorithm, {g(1), g(2), g(3), g(4)})[0], numerator / denominator, 1e-14);
}

TEST(MinibatchSgdTest, IteratesAreRoundedToTheWireType) {
  MinibatchSgdSettings s = settings(1, 2);
  s.problem.point_type = queries::PointType::F32;
  const auto algorithm = MinibatchSgd::create(s).value();
  const Step step = algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::VectorXd::Constant(1, 0.1)}}).value();
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(step).question)[0],
            static_cast<double>(static_cast<float>(-0.05)));
}

TEST(MinibatchSgdTest, RefusesAFoldOfAnotherRoundOrDimension) {
  const auto algorithm = MinibatchSgd::create(settings(2, 2)).value();
  EXPECT_FALSE(algorithm->advance({RoundIndex{1}, 1, folds::Mean{Eigen::Vector2d(0, 0)}}));
  EXPECT_FALSE(algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::Vector3d(0, 0, 0)}}));
}

std::unique_ptr<WithEvaluation> evaluated(std::uint64_t rounds, std::uint64_t every) {
  MinibatchSgdSettings s = settings(2, rounds);
  s.averaging = {Averaging::Kind::Geometric, 0.9};
  return std::make_unique<WithEvaluation>(MinibatchSgd::create(s).value(), LinearModel(Loss::Logistic, 2, false),
                                          every);
}

Eigen::VectorXd fake_answer(const queries::Query& query, RandomSource& random) {
  const Eigen::Index dimension = queries::kind_of(query.question) == releases::QuestionKind::Metrics ? 3 : 2;
  Eigen::VectorXd out(dimension);
  for (double& v : out) v = random.unit() - 0.5;
  return out;
}

TEST(WithEvaluationTest, AsksWhatItsScheduleSaysForEveryShape) {
  for (std::uint64_t rounds = 1; rounds <= 9; ++rounds) {
    for (std::uint64_t every = 0; every <= 4; ++every) {
      SCOPED_TRACE(fmt::format("rounds {} every {}", rounds, every));
      std::vector<releases::QuestionKind> planned;
      const auto inner = MinibatchSgd::schedule(settings(2, rounds),
                                                {releases::L2Bound{releases::ClipNorm::create(1.0).value()}, 1.0});
      for (const auto& part : WithEvaluation::schedule(inner, LinearModel(Loss::Logistic, 2, false), every)) {
        planned.insert(planned.end(), part.rounds, part.ask.kind());
      }
      const auto algorithm = evaluated(rounds, every);
      RandomSource random(1);
      std::vector<releases::QuestionKind> asked;
      Step step = algorithm->start();
      while (const auto* query = std::get_if<queries::Query>(&step)) {
        EXPECT_EQ(query->round.value, asked.size());
        asked.push_back(queries::kind_of(query->question));
        step = algorithm->advance({query->round, 1, folds::Mean{fake_answer(*query, random)}}).value();
      }
      EXPECT_EQ(asked, planned);
      EXPECT_EQ(asked.back(), releases::QuestionKind::Metrics);  // the model that comes out is evaluated
    }
  }
}

TEST(WithEvaluationTest, RestoredAtAnyRoundItEndsBitForBitTheSame) {
  const auto run_with_restart_at = [](std::optional<std::uint64_t> restart) {
    auto algorithm = evaluated(7, 3);
    RandomSource random(5);
    Step step = algorithm->start();
    while (const auto* query = std::get_if<queries::Query>(&step)) {
      if (restart && query->round.value == *restart) {
        ByteWriter saved;
        algorithm->save(saved);
        algorithm = evaluated(7, 3);
        ByteReader reader(saved.bytes());
        EXPECT_TRUE(algorithm->restore(reader));
        EXPECT_TRUE(reader.end());
        const Step again = algorithm->start();
        EXPECT_EQ(queries::point_of(std::get<queries::Query>(again).question), queries::point_of(query->question));
        step = again;
        query = std::get_if<queries::Query>(&step);
      }
      step = algorithm->advance({query->round, 1, folds::Mean{fake_answer(*query, random)}}).value();
    }
    return std::get<Finished>(step).outcome;
  };
  const algorithms::Outcome straight = run_with_restart_at(std::nullopt);
  ASSERT_EQ(straight.metrics.size(), 3U);
  for (std::uint64_t round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    const algorithms::Outcome restarted = run_with_restart_at(round);
    EXPECT_EQ(restarted.vectors.at("weights"), straight.vectors.at("weights"));
    ASSERT_EQ(restarted.metrics.size(), straight.metrics.size());
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(restarted.metrics[i].values, straight.metrics[i].values);
  }
}

TEST(WithEvaluationTest, RefusesACutState) {
  const auto algorithm = evaluated(7, 3);
  ByteWriter saved;
  algorithm->save(saved);
  for (std::size_t size = 0; size < saved.bytes().size(); ++size) {
    ByteReader reader(std::string_view(saved.bytes()).substr(0, size));
    EXPECT_FALSE(evaluated(7, 3)->restore(reader)) << size;
  }
}

TEST(LatticeFoldTest, IsTheExactWeightedMeanInAnyOrder) {
  RandomSource random(9);
  std::vector<std::vector<std::int64_t>> replies;
  std::vector<std::uint64_t> weights;
  for (int i = 0; i < 12; ++i) {
    replies.push_back({static_cast<std::int64_t>(random.word()) / 4, static_cast<std::int64_t>(random.word()) / 4});
    weights.push_back(1 + random.below(folds::LatticeFold::kWeightMax));
  }
  const auto fold = [&](const std::vector<std::size_t>& order) {
    folds::LatticeFold f(2, -30, queries::ReplyType::I64);
    for (const std::size_t i : order) f.add(replies[i], weights[i]);
    return f.mean();
  };
  const Eigen::VectorXd first = fold(RandomSource(0).permutation(12));
  for (std::uint64_t seed = 1; seed < 20; ++seed) EXPECT_EQ(fold(RandomSource(seed).permutation(12)), first);
}

TEST(LatticeFoldTest, WeightsAreRenormalisedOverWhoAnswered) {
  folds::LatticeFold fold(1, 1, queries::ReplyType::I64);  // a unit is 2
  fold.add({3}, 1);
  fold.add({-1}, 3);
  EXPECT_EQ(fold.mean()[0], 0.0);
  fold.add({4}, 4);
  EXPECT_EQ(fold.mean()[0], 4.0);  // (3 - 3 + 16) / 8 * 2
  EXPECT_EQ(fold.replies(), 3);
}

TEST(LatticeFoldTest, NarrowRepliesAddUpExactlyBeyondWhatSixtyFourBitsHold) {
  // The heaviest weights and the largest values: from the second reply on the sum needs 128 bits.
  folds::LatticeFold narrow(1, 0, queries::ReplyType::I32);
  folds::LatticeFold wide(1, 0, queries::ReplyType::I64);
  for (const std::int64_t value : {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MAX, 7}) {
    for (folds::LatticeFold* fold : {&narrow, &wide}) fold->add({value}, folds::LatticeFold::kWeightMax);
    EXPECT_EQ(narrow.mean(), wide.mean());
  }
}

planning::Release release(double clip, double shift, std::int64_t records) {
  const releases::ClipNorm clip_norm = releases::ClipNorm::create(clip).value();
  return {{releases::GradientMap{}, {}, releases::L2Bound{clip_norm}, 2},
          records,
          records,
          mechanisms::gaussian_lattice(clip_norm, releases::GaussianShift::create(shift).value(), 2, records).value()};
}

TEST(WireLatticeTest, TheMeanSurvivesTheConversionToHalfAStep) {
  const planning::Release r = release(1.0, 0.5, 10);
  const queries::WireLattice wire{queries::ReplyType::I64, -20};
  const std::vector<std::int64_t> sum = {123456789, -987};
  const std::vector<std::int64_t> out = queries::to_wire(sum, r, wire);
  for (std::size_t j = 0; j < 2; ++j) {
    const double mean = static_cast<double>(sum[j]) * r.lattice().step / 10.0;
    EXPECT_NEAR(std::ldexp(static_cast<double>(out[j]), -20), mean, std::ldexp(0.5, -20) + 1e-12);
  }
}

TEST(WireLatticeTest, RefusesAStepThatIsTooCoarseOrTooFine) {
  const planning::Release r = release(1.0, 0.5, 10);  // noise of the mean: 4 / 10
  EXPECT_TRUE(queries::check_fits(r, {queries::ReplyType::I32, -20}));
  EXPECT_FALSE(queries::check_fits(r, {queries::ReplyType::I32, -2}));   // 1/4 > 0.4/4
  EXPECT_FALSE(queries::check_fits(r, {queries::ReplyType::I32, -30}));  // 17 does not fit 2
  EXPECT_TRUE(queries::check_fits(r, {queries::ReplyType::I64, -30}));
}

}  // namespace
}  // namespace undertone
