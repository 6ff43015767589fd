#include "shared/models/layered_model.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

namespace undertone::models {
namespace {

struct Case {
  std::string_view name;
  NetworkShape shape;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  out.push_back({"softmax regression", {{1, 1, 4}, {}, 3}});
  for (const Activation activation : {Activation::Identity, Activation::Relu, Activation::Tanh}) {
    out.push_back({to_string(activation), {{1, 1, 5}, {DenseShape{7, activation}, DenseShape{4, activation}}, 3}});
    out.push_back({"convolution", {{2, 5, 6}, {ConvolutionShape{3, 3, activation, false}}, 2}});
    out.push_back({"pooled", {{2, 6, 7}, {ConvolutionShape{3, 2, activation, true}}, 3}});
  }
  // 4 positions of 27 values to 8 channels: 4 (8 + 28) = 144 < 8 * 28, so by Gram matrices.
  const ConvolutionShape gram{8, 3, Activation::Tanh, false};
  out.push_back({"gram", {{3, 4, 4}, {gram}, 3}});
  out.push_back({"gram above gram", {{3, 6, 6}, {gram, gram, DenseShape{5, Activation::Relu}}, 3}});
  out.push_back({"pools and dense layers",
                 {{2, 13, 12},
                  {ConvolutionShape{3, 3, Activation::Relu, true}, ConvolutionShape{4, 2, Activation::Relu, true},
                   DenseShape{6, Activation::Relu}, DenseShape{5, Activation::Tanh}},
                  4}});
  out.push_back({"dense below a convolution",
                 {{1, 1, 3}, {DenseShape{6, Activation::Tanh}, ConvolutionShape{4, 1, Activation::Relu, false}}, 2}});
  return out;
}

LayeredModel model_of(const NetworkShape& shape) { return LayeredModel(Network::create(shape).value()); }

Eigen::VectorXd random_vector(RandomSource& random, Eigen::Index size, double radius) {
  Eigen::VectorXd out(size);
  for (double& value : out) value = radius * (2.0 * random.unit() - 1.0);
  return out;
}

Eigen::VectorXd random_weights(RandomSource& random, const LayeredModel& model) {
  Eigen::VectorXd out(model.dimension());
  model.network().initialise(random, out);
  return out + random_vector(random, out.size(), 0.1);  // biases too
}

Records random_records(RandomSource& random, const LayeredModel& model, Eigen::Index count) {
  Records out{Eigen::MatrixXd(model.features(), count), Eigen::VectorXd(count)};
  for (Eigen::Index j = 0; j < count; ++j) {
    out.features.col(j) = random_vector(random, model.features(), 1.0);
    out.targets[j] = static_cast<double>(random.below(static_cast<std::uint64_t>(model.classes())));
  }
  return out;
}

std::vector<std::int64_t> all(Eigen::Index count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

double activated(Activation activation, double value) {
  switch (activation) {
    case Activation::Identity:
      return value;
    case Activation::Relu:
      return value > 0.0 ? value : 0.0;
    case Activation::Tanh:
      return std::tanh(value);
  }
  return 0.0;
}

/// An image by row, column and channel, with loops and nothing else.
struct Image {
  ImageShape shape;
  std::vector<double> values;
  explicit Image(const ImageShape& s) : shape(s), values(static_cast<std::size_t>(s.values())) {}
  double& at(Eigen::Index row, Eigen::Index column, Eigen::Index channel) {
    return values[static_cast<std::size_t>((row * shape.width + column) * shape.channels + channel)];
  }
};

/// sum over weights and inputs of one output, plus the bias; `weights` starts at this output's, which lie `outputs`
/// apart.
Image dense_sums(const Image& in, Eigen::Index outputs, const double* weights) {
  Image out(ImageShape{outputs, 1, 1});
  const auto inputs = static_cast<Eigen::Index>(in.values.size());
  for (Eigen::Index o = 0; o < outputs; ++o) {
    double sum = weights[inputs * outputs + o];
    for (Eigen::Index i = 0; i < inputs; ++i) sum += weights[i * outputs + o] * in.values[static_cast<std::size_t>(i)];
    out.at(0, 0, o) = sum;
  }
  return out;
}

Image convolution_sums(Image& in, const ConvolutionShape& shape, const double* weights) {
  const Eigen::Index k = shape.kernel;
  const Eigen::Index outputs = shape.channels;
  Image out(ImageShape{outputs, in.shape.height - k + 1, in.shape.width - k + 1});
  for (Eigen::Index row = 0; row < out.shape.height; ++row) {
    for (Eigen::Index column = 0; column < out.shape.width; ++column) {
      for (Eigen::Index o = 0; o < outputs; ++o) {
        double sum = weights[k * k * in.shape.channels * outputs + o];
        for (Eigen::Index y = 0; y < k; ++y) {
          for (Eigen::Index x = 0; x < k; ++x) {
            for (Eigen::Index c = 0; c < in.shape.channels; ++c) {
              sum += weights[((y * k + x) * in.shape.channels + c) * outputs + o] * in.at(row + y, column + x, c);
            }
          }
        }
        out.at(row, column, o) = sum;
      }
    }
  }
  if (!shape.pooled) return out;
  Image pooled(ImageShape{outputs, out.shape.height / 2, out.shape.width / 2});
  for (Eigen::Index row = 0; row < pooled.shape.height; ++row) {
    for (Eigen::Index column = 0; column < pooled.shape.width; ++column) {
      for (Eigen::Index o = 0; o < outputs; ++o) {
        pooled.at(row, column, o) =
            std::max({out.at(2 * row, 2 * column, o), out.at(2 * row, 2 * column + 1, o),
                      out.at(2 * row + 1, 2 * column, o), out.at(2 * row + 1, 2 * column + 1, o)});
      }
    }
  }
  return pooled;
}

double loss_by_loops(const NetworkShape& shape, const Eigen::VectorXd& weights, const Eigen::VectorXd& features,
                     double target) {
  Image image(shape.input);
  std::copy(features.begin(), features.end(), image.values.begin());
  const double* next = weights.data();
  for (const LayerShape& layer : shape.hidden) {
    Activation activation = Activation::Identity;
    if (const auto* dense = std::get_if<DenseShape>(&layer)) {
      const auto inputs = static_cast<Eigen::Index>(image.values.size());
      image = dense_sums(image, dense->width, next);
      next += (inputs + 1) * dense->width;
      activation = dense->activation;
    } else {
      const auto& convolution = std::get<ConvolutionShape>(layer);
      const Eigen::Index patch = convolution.kernel * convolution.kernel * image.shape.channels;
      image = convolution_sums(image, convolution, next);
      next += (patch + 1) * convolution.channels;
      activation = convolution.activation;
    }
    for (double& value : image.values) value = activated(activation, value);
  }
  const Image scores = dense_sums(image, shape.classes, next);
  double sum = 0.0;
  for (const double score : scores.values) sum += std::exp(score);
  return std::log(sum) - scores.values[static_cast<std::size_t>(target)];
}

/// By `gradient_sum`, which the finite differences vouch for.
Eigen::MatrixXd gradients(LayeredModel& model, const Eigen::VectorXd& weights, const Records& records) {
  Eigen::MatrixXd out(model.dimension(), records.count());
  for (std::int64_t j = 0; j < records.count(); ++j) {
    model.gradient_sum(weights, records, std::span(&j, 1), out.col(j));
  }
  return out;
}

Eigen::VectorXd projected_sum(const Eigen::MatrixXd& vectors, double clip) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(vectors.rows());
  for (Eigen::Index j = 0; j < vectors.cols(); ++j) out += std::min(1.0, clip / vectors.col(j).norm()) * vectors.col(j);
  return out;
}

TEST(LayeredModelTest, GradientsMatchFiniteDifferencesOfTheLossByLoops) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    RandomSource random(1);
    LayeredModel model = model_of(c.shape);
    const Eigen::VectorXd weights = random_weights(random, model);
    const Records records = random_records(random, model, 3);
    const Eigen::MatrixXd computed = gradients(model, weights, records);
    Eigen::VectorXd unclipped(model.dimension());
    model.clipped_gradient_sum(weights, records, all(3), 1e30, unclipped);
    EXPECT_LE((unclipped - computed.rowwise().sum()).norm(), 1e-14);
    for (Eigen::Index j = 0; j < 3; ++j) {
      for (Eigen::Index p = 0; p < model.dimension(); ++p) {
        Eigen::VectorXd at = weights;
        at[p] = weights[p] + 1e-6;
        const double up = loss_by_loops(c.shape, at, records.features.col(j), records.targets[j]);
        at[p] = weights[p] - 1e-6;
        const double down = loss_by_loops(c.shape, at, records.features.col(j), records.targets[j]);
        ASSERT_NEAR(computed(p, j), (up - down) / 2e-6, 1e-7) << "weight " << p;
      }
    }
  }
}

TEST(LayeredModelTest, MetricsAreTheLossByLoopsAndHits) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    RandomSource random(2);
    LayeredModel model = model_of(c.shape);
    const Eigen::VectorXd weights = random_weights(random, model);
    Records records = random_records(random, model, 1);
    Eigen::Vector2d out;
    double hits = 0.0;
    for (Eigen::Index target = 0; target < model.classes(); ++target) {
      records.targets[0] = static_cast<double>(target);
      model.centred_metrics(weights, records, 0, out);
      const double loss = loss_by_loops(c.shape, weights, records.features.col(0), records.targets[0]);
      EXPECT_NEAR((out[0] + 0.5) * model.network().metric_scales()[0], loss, 1e-12);
      hits += out[1] + 0.5;
    }
    EXPECT_EQ(hits, 1.0);  // one class is the predicted one
  }
}

TEST(LayeredModelTest, DetailedMetricsHaveOnePlaceInTheConfusionTable) {
  const Network plain = Network::create({{1, 1, 2}, {}, 3}).value();
  LayeredModel model(plain.evaluated({MetricDetail::Kind::Detailed}));
  ASSERT_EQ(model.network().metric_scales().size(), 11U);
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(model.dimension());
  weights[model.dimension() - 1] = 1.0;  // the last class's bias: it is said of every record
  Eigen::VectorXd out(11);
  Records records{Eigen::MatrixXd::Ones(2, 1), Eigen::VectorXd::Constant(1, 1.0)};
  model.centred_metrics(weights, records, 0, out);
  EXPECT_EQ(out.tail(9).sum(), 1.0);
  EXPECT_EQ(out[2 + 1 * 3 + 2], 1.0);  // of class 1, said to be of class 2
  records.targets[0] = 7.0;            // no class
  model.centred_metrics(weights, records, 0, out);
  EXPECT_EQ(out.tail(9).sum(), 0.0);
}

TEST(LayeredModelTest, MetricsOfWhatMakesNoSenseAreTheWorst) {
  LayeredModel model = model_of({{1, 1, 2}, {DenseShape{3, Activation::Relu}}, 2});
  const Eigen::VectorXd weights = Eigen::VectorXd::Ones(model.dimension());
  for (const double target : {-1.0, 0.5, 2.0, std::nan(""), HUGE_VAL}) {
    const Records records{Eigen::MatrixXd::Ones(2, 1), Eigen::VectorXd::Constant(1, target)};
    Eigen::Vector2d out;
    model.centred_metrics(weights, records, 0, out);
    EXPECT_EQ(out, Eigen::Vector2d(0.5, -0.5)) << target;
  }
  for (const double feature : {std::nan(""), HUGE_VAL}) {
    const Records records{Eigen::MatrixXd::Constant(2, 1, feature), Eigen::VectorXd::Zero(1)};
    Eigen::Vector2d out;
    model.centred_metrics(weights, records, 0, out);
    EXPECT_EQ(out, Eigen::Vector2d(0.5, -0.5)) << feature;
  }
}

TEST(RecordGradientsTest, MeasuredNormsAreThoseWrittenOutAndNeverBelow) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    RandomSource random(3);
    LayeredModel model = model_of(c.shape);
    const Eigen::VectorXd weights = random_weights(random, model);
    const Records records = random_records(random, model, 10);
    const Eigen::MatrixXd written_out = gradients(model, weights, records);
    ChunkPass pass(model.layers(), 10, VectorUnits::Widest);
    RecordGradients measured(model.layers(), 10, VectorUnits::Widest);
    pass.forward(model.layers(), weights, records, all(10));
    pass.backward(model.layers(), weights, records, all(10));
    Factors* const factors[] = {&pass.factors()};
    Eigen::VectorXd squares(10);
    measured.measure(model.layers(), factors, 10, squares);
    for (Eigen::Index j = 0; j < 10; ++j) {
      const double square = written_out.col(j).squaredNorm();
      EXPECT_GE(squares[j], square);
      EXPECT_LE(squares[j], square * (1.0 + 1e-3));  // 2^-20 mass^2, with a mass of up to 30 norms
    }
  }
}

TEST(LayeredModelTest, ClippedSumsAreSumsOfProjectedGradients) {
  for (const Case& c : cases()) {
    for (const double clip : {1e-3, 0.3, 1.0, 3.0}) {
      SCOPED_TRACE(fmt::format("{} clip {}", c.name, clip));
      RandomSource random(4);
      LayeredModel model = model_of(c.shape);
      const Eigen::VectorXd weights = random_weights(random, model);
      const Records records = random_records(random, model, 20);
      Eigen::VectorXd sum(model.dimension());
      model.clipped_gradient_sum(weights, records, all(20), clip, sum);
      const Eigen::VectorXd expected = projected_sum(gradients(model, weights, records), clip);
      EXPECT_LE((sum - expected).norm(), 20.0 * clip * 5e-4);  // the same allowance, by norm
    }
  }
}

TEST(LayeredModelTest, DifferenceSumsAreSumsOfProjectedDifferences) {
  for (const Case& c : cases()) {
    for (const double clip : {1e-3, 0.3, 1e3}) {
      SCOPED_TRACE(fmt::format("{} clip {}", c.name, clip));
      RandomSource random(5);
      LayeredModel model = model_of(c.shape);
      const Eigen::VectorXd weights = random_weights(random, model);
      const Eigen::VectorXd reference = weights + random_vector(random, model.dimension(), 0.2);
      const Records records = random_records(random, model, 20);
      Eigen::VectorXd sum(model.dimension());
      model.clipped_difference_sum(weights, reference, records, all(20), clip, sum);
      const Eigen::MatrixXd differences = gradients(model, weights, records) - gradients(model, reference, records);
      const Eigen::VectorXd expected = projected_sum(differences, clip);
      EXPECT_LE((sum - expected).norm(), 1e-12 + 20.0 * std::min(clip, 1.0) * 1e-3);
    }
  }
}

TEST(LayeredModelTest, DifferenceOfAPointAndItselfIsExactlyZero) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    RandomSource random(6);
    LayeredModel model = model_of(c.shape);
    const Eigen::VectorXd weights = random_weights(random, model);
    const Records records = random_records(random, model, 5);
    Eigen::VectorXd sum(model.dimension());
    model.clipped_difference_sum(weights, weights, records, all(5), 1e-20, sum);
    EXPECT_EQ(sum, Eigen::VectorXd::Zero(model.dimension()));
  }
}

TEST(LayeredModelTest, DifferencesOfNearPointsKeepTheirDigits) {
  // To first order a difference is linear in the step: at 1e-10 it is 1e-4 of the one at 1e-6. Subtracting two
  // gradients of norm 1 would leave six digits, of which a sum over small coordinates keeps fewer.
  for (const NetworkShape& shape : {NetworkShape{{1, 1, 5}, {DenseShape{7, Activation::Tanh}}, 3},
                                    NetworkShape{{3, 4, 4}, {ConvolutionShape{8, 3, Activation::Tanh, false}}, 3},
                                    NetworkShape{{2, 5, 6}, {ConvolutionShape{3, 3, Activation::Tanh, false}}, 2}}) {
    RandomSource random(7);
    LayeredModel model = model_of(shape);
    const Eigen::VectorXd weights = random_weights(random, model);
    const Eigen::VectorXd direction = random_vector(random, model.dimension(), 1.0);
    const Records records = random_records(random, model, 5);
    Eigen::VectorXd near(model.dimension());
    Eigen::VectorXd nearer(model.dimension());
    model.clipped_difference_sum(weights, weights + 1e-6 * direction, records, all(5), 1.0, near);
    model.clipped_difference_sum(weights, weights + 1e-10 * direction, records, all(5), 1.0, nearer);
    EXPECT_LE((nearer * 1e4 - near).norm(), 1e-4 * near.norm());
    // and is clipped as what it is
    model.clipped_difference_sum(weights, weights + 1e-10 * direction, records, all(5), 1e-12, nearer);
    EXPECT_LE(nearer.norm(), 5e-12 + model.rounding_bound(1e-12, 5));
    EXPECT_GE(nearer.norm(), 1e-13);
  }
}

double hostile(RandomSource& random) {
  const double extremes[] = {std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::denorm_min(),
                             1e300,
                             -1e200,
                             1e29,
                             -1e15,
                             0.0};
  if (random.chance(0.3)) return extremes[random.below(std::size(extremes))];
  return std::pow(10.0, -8.0 + 16.0 * random.unit()) * (random.chance(0.5) ? 1.0 : -1.0);
}

TEST(LayeredModelTest, ReplacingOneRecordMovesASumByNoMoreThanTheBound) {
  for (const Case& c : cases()) {
    LayeredModel model = model_of(c.shape);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", c.name, seed));
      RandomSource random(seed);
      const Eigen::VectorXd weights = random_weights(random, model) * std::pow(10.0, -1.0 + 3.0 * random.unit());
      const Eigen::VectorXd reference = weights + random_vector(random, weights.size(), random.unit());
      const double clip = std::pow(10.0, -6.0 + 8.0 * random.unit());
      const Eigen::Index count = 1 + static_cast<Eigen::Index>(random.below(6));
      const double bound = 2.0 * clip + 2.0 * model.rounding_bound(clip, count);
      Records records = random_records(random, model, count);
      Eigen::VectorXd before(model.dimension());
      Eigen::VectorXd after(model.dimension());
      Eigen::VectorXd before_difference(model.dimension());
      Eigen::VectorXd after_difference(model.dimension());
      model.clipped_gradient_sum(weights, records, all(count), clip, before);
      model.clipped_difference_sum(weights, reference, records, all(count), clip, before_difference);
      const auto j = static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(count)));
      const bool mixed = random.chance(0.5);  // one such value among others, or nothing but
      for (double& value : records.features.col(j)) {
        if (!mixed || random.chance(0.2)) value = hostile(random);
      }
      if (random.chance(0.2)) records.targets[j] = hostile(random);
      model.clipped_gradient_sum(weights, records, all(count), clip, after);
      model.clipped_difference_sum(weights, reference, records, all(count), clip, after_difference);
      EXPECT_LE((after - before).norm(), bound);
      EXPECT_LE((after_difference - before_difference).norm(), bound);
    }
  }
}

TEST(LayeredModelTest, ARecordThatMakesNoSenseContributesExactlyZero) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    RandomSource random(9);
    LayeredModel model = model_of(c.shape);
    const Eigen::VectorXd weights = random_weights(random, model);
    const Eigen::VectorXd reference = random_weights(random, model);
    Records records = random_records(random, model, 4);
    records.targets[2] = -1.0;
    Eigen::VectorXd without(model.dimension());
    Eigen::VectorXd with(model.dimension());
    Eigen::VectorXd without_difference(model.dimension());
    Eigen::VectorXd with_difference(model.dimension());
    model.clipped_gradient_sum(weights, records, all(4), 1.0, without);
    model.clipped_difference_sum(weights, reference, records, all(4), 1.0, without_difference);
    EXPECT_GT(without.norm(), 0.0);
    const auto expect_nothing_added = [&] {
      model.clipped_gradient_sum(weights, records, all(4), 1.0, with);
      model.clipped_difference_sum(weights, reference, records, all(4), 1.0, with_difference);
      EXPECT_EQ(with, without);
      EXPECT_EQ(with_difference, without_difference);
    };
    for (const double target : {0.5, 1e300, std::nan(""), -HUGE_VAL, static_cast<double>(model.classes())}) {
      records.targets[2] = target;
      expect_nothing_added();
    }
    records.targets[2] = 0.0;
    for (const double feature : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300, -1e200, 1e31}) {
      records.features(random.below(2) == 0 ? 0 : model.features() - 1, 2) = feature;
      expect_nothing_added();
      records.features.col(2).setConstant(feature);
      expect_nothing_added();
      records.features.col(2).setZero();
    }
  }
}

TEST(LayeredModelTest, AHugeButFiniteRecordIsScaledToTheClip) {
  // Softmax regression: weights zero, so errors (-1/2, 1/2); feature 1e25: the gradient's norm is 1e25 / sqrt 2.
  LayeredModel model = model_of({{1, 1, 1}, {}, 2});
  const Records records{Eigen::MatrixXd::Constant(1, 1, 1e25), Eigen::VectorXd::Zero(1)};
  Eigen::VectorXd sum(4);
  model.clipped_gradient_sum(Eigen::VectorXd::Zero(4), records, all(1), 3.0, sum);
  EXPECT_NEAR(sum[0], -3.0 / std::sqrt(2.0), 1e-5);
  EXPECT_NEAR(sum[1], 3.0 / std::sqrt(2.0), 1e-5);
  EXPECT_LE(sum.norm(), 3.0);
}

TEST(LayeredModelTest, OneRecordReachesTheClipAndNeverPassesIt) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    RandomSource random(13);
    LayeredModel model = model_of(c.shape);
    const Eigen::VectorXd weights = random_weights(random, model);
    const Records records = random_records(random, model, 1);
    const double norm = gradients(model, weights, records).norm();
    Eigen::VectorXd sum(model.dimension());
    for (const double share : {0.01, 0.5, 0.99, 0.999, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 1.01, 2.0}) {
      const double clip = share * norm;
      model.clipped_gradient_sum(weights, records, all(1), clip, sum);
      EXPECT_LE(sum.norm(), clip) << share;
      EXPECT_GE(sum.norm(), std::min(clip, norm) * (1.0 - 5e-4)) << share;
    }
  }
}

TEST(LayeredModelTest, NothingIsLostBetweenChunksAndBlocks) {
  RandomSource random(10);
  LayeredModel model = model_of({{1, 1, 3}, {DenseShape{4, Activation::Tanh}}, 2});
  const Eigen::VectorXd weights = random_weights(random, model);
  const Records records = random_records(random, model, 2200);
  const Eigen::MatrixXd written_out = gradients(model, weights, records);
  Eigen::VectorXd sum(model.dimension());
  Eigen::VectorXd difference(model.dimension());
  const Eigen::Index chunk = model.chunk();
  for (const Eigen::Index count : {Eigen::Index{0}, Eigen::Index{1}, chunk - 1, chunk, chunk + 1, Eigen::Index{1023},
                                   Eigen::Index{1025}, Eigen::Index{2200}}) {
    SCOPED_TRACE(count);
    model.clipped_gradient_sum(weights, records, all(count), 0.1, sum);
    EXPECT_LE((sum - projected_sum(written_out.leftCols(count), 0.1)).norm(), 1e-6 * static_cast<double>(count));
    model.clipped_difference_sum(weights, weights, records, all(count), 0.1, difference);
    EXPECT_EQ(difference.norm(), 0.0);
  }
}

TEST(LayeredModelTest, DrawsPickRecordsInAnyOrderAndMoreThanOnce) {
  RandomSource random(11);
  LayeredModel model = model_of({{1, 1, 3}, {DenseShape{4, Activation::Relu}}, 2});
  const Eigen::VectorXd weights = random_weights(random, model);
  const Records records = random_records(random, model, 5);
  const Eigen::MatrixXd written_out = gradients(model, weights, records);
  const std::int64_t drawn[] = {4, 1, 4};
  Eigen::VectorXd sum(model.dimension());
  model.clipped_gradient_sum(weights, records, drawn, 100.0, sum);
  EXPECT_LE((sum - 2.0 * written_out.col(4) - written_out.col(1)).norm(), 1e-14);
}

TEST(LayeredModelTest, ScratchDoesNotGrowWithTheBatchAndSumsAllocateNothing) {
  for (const NetworkShape& shape :
       {NetworkShape{{1, 1, 50}, {DenseShape{64, Activation::Relu}}, 2},
        NetworkShape{{3, 32, 32},
                     {ConvolutionShape{6, 5, Activation::Relu, true}, ConvolutionShape{16, 5, Activation::Relu, true}},
                     10},
        NetworkShape{{3, 4, 4}, {ConvolutionShape{8, 3, Activation::Tanh, false}}, 3}}) {
    RandomSource random(12);
    LayeredModel model = model_of(shape);
    const Eigen::VectorXd weights = random_weights(random, model);
    const Records records = random_records(random, model, 3 * model.chunk() + 1);
    const std::vector<std::int64_t> drawn = all(records.count());
    Eigen::VectorXd sum(model.dimension());
    model.clipped_difference_sum(weights, weights, records, std::span(drawn).first(1), 1.0, sum);
    const std::int64_t scratch = model.scratch_bytes();
    Eigen::internal::set_is_malloc_allowed(false);
    model.clipped_gradient_sum(weights, records, drawn, 1.0, sum);
    model.clipped_difference_sum(weights, weights, records, drawn, 1.0, sum);
    Eigen::internal::set_is_malloc_allowed(true);
    EXPECT_EQ(model.scratch_bytes(), scratch);
    EXPECT_LE(scratch, (Eigen::Index{32} << 20) + 8 * model.dimension() * 8);
  }
}

TEST(LayeredModelTest, AWideNetworkWorksOnFewRecordsAtOnce) {
  // 2^17 inputs: 4 records' inputs alone are 2^19 numbers, 64 records' 2^23.
  const LayeredModel model = model_of({{1, 1, 1 << 17}, {}, 2});
  EXPECT_EQ(model.chunk(), 15);  // 2^21 / (2^17 + 2 + 2)
  EXPECT_LE(model.scratch_bytes(), (16 << 20) + 2 * model.dimension() * 8);
}

TEST(LayeredModelTest, RoundingIsSmallBesideTheClip) {
  const LayeredModel perceptron = model_of({{1, 1, 50}, {DenseShape{64, Activation::Relu}}, 2});
  const LayeredModel convolutional =
      model_of({{3, 32, 32}, {ConvolutionShape{6, 5, Activation::Relu, true}}, 10});  // 784 positions
  // D = 2 (T + 1024) + n / 512 + 10 roundings of 2^-53, n records, 1025 clips of mass each:
  // T = 1, n = 1000: 2062 * 1.11e-16 * 1.025e6 = 2.35e-7. T = 784, n = 10^5: 3821 * 1.11e-16 * 1.025e8 = 4.35e-5.
  EXPECT_NEAR(perceptron.rounding_bound(1.0, 1000), 2.35e-7, 1e-9);
  EXPECT_NEAR(convolutional.rounding_bound(2.0, 100'000), 2.0 * 4.35e-5, 1e-6);
  EXPECT_EQ(perceptron.rounding_bound(1.0, 0), 0.0);
  // Of a thousand persons with 16 slots each the weights add up to a thousand at most.
  EXPECT_NEAR(perceptron.rounding_bound(1.0, 16'000, 1'000), perceptron.rounding_bound(1.0, 16'000) / 16.0, 1e-12);
}

TEST(LayeredModelTest, InitialWeightsAreAFunctionOfTheSeedWithinTheirRadius) {
  const LayeredModel model = model_of({{1, 1, 6}, {DenseShape{8, Activation::Relu}}, 2});
  Eigen::VectorXd first(model.dimension());
  Eigen::VectorXd second(model.dimension());
  RandomSource one(3);
  RandomSource same(3);
  model.network().initialise(one, first);
  model.network().initialise(same, second);
  EXPECT_EQ(first, second);
  EXPECT_LE(first.head(48).cwiseAbs().maxCoeff(), 1.0);  // sqrt(6 / 6)
  EXPECT_GE(first.head(48).cwiseAbs().maxCoeff(), 0.8);
  EXPECT_EQ(first.segment(48, 8), Eigen::VectorXd::Zero(8));
  EXPECT_LE(first.segment(56, 16).cwiseAbs().maxCoeff(), std::sqrt(3.0 / 8.0));
}

TEST(LayeredModelTest, RefusesShapesThatDoNotFitAndNamesTheLayer) {
  const auto refusal = [](const NetworkShape& shape) -> std::string {
    const Result<Network> model = Network::create(shape);
    return model ? "" : model.error().message;
  };
  const auto relu = Activation::Relu;
  const Eigen::Index huge = std::numeric_limits<Eigen::Index>::max();
  EXPECT_EQ(refusal({{3, 4, 5}, {ConvolutionShape{2, 5, relu, false}}, 2}),
            "hidden layer 1: kernel of 5 pixels in an image of 4 x 5");
  EXPECT_EQ(refusal({{3, 8, 8}, {ConvolutionShape{2, 3, relu, true}, ConvolutionShape{2, 3, relu, true}}, 2}),
            "hidden layer 2: pools 2 x 2 pixels of an image of 1 x 1");
  EXPECT_EQ(refusal({{1, 1, 4}, {DenseShape{3, relu}, DenseShape{0, relu}}, 2}),
            "hidden layer 2: width must be in [1, 134217728], got 0");
  EXPECT_EQ(refusal({{1, 1, 4}, {DenseShape{1 << 14, relu}, DenseShape{1 << 13, relu}}, 2}),
            "hidden layer 2: brings the weights to 134307840, at most 134217728 are allowed");
  EXPECT_EQ(refusal({{1, 1, 4}, {}, 1}), "output: needs at least 2 classes, got 1");
  for (const Eigen::Index side : {Eigen::Index{0}, Eigen::Index{-1}, huge}) {
    SCOPED_TRACE(side);
    EXPECT_NE(refusal({{side, 4, 4}, {}, 2}), "");
    EXPECT_NE(refusal({{1, side, 4}, {}, 2}), "");
    EXPECT_NE(refusal({{1, 4, side}, {}, 2}), "");
    EXPECT_NE(refusal({{1, 4, 4}, {DenseShape{side, relu}}, 2}), "");
    EXPECT_NE(refusal({{1, 4, 4}, {ConvolutionShape{side, 2, relu, false}}, 2}), "");
    EXPECT_NE(refusal({{1, 4, 4}, {ConvolutionShape{1, side, relu, false}}, 2}), "");
    EXPECT_NE(refusal({{1, 4, 4}, {}, side}), "");
  }
  EXPECT_NE(refusal({{1 << 20, 1 << 20, 1 << 20}, {}, 2}), "");
  EXPECT_NE(refusal({{1, 1 << 12, 1 << 12}, {ConvolutionShape{1 << 20, 1, relu, false}}, 2}), "");
}

}  // namespace
}  // namespace undertone::models
