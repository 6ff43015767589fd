#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/models/elementary.hpp"
#include "shared/models/layered_model.hpp"

// A record's arithmetic in a layered model is a function of that record alone: docs/privacy.md 2.
namespace undertone::models {
namespace {

struct Case {
  std::string_view name;
  NetworkShape shape;
};

std::vector<Case> cases() {
  using enum Activation;
  return {
      {"softmax, two classes", {{1, 1, 7}, {}, 2}},
      {"softmax, three classes", {{1, 1, 9}, {}, 3}},
      {"relu", {{1, 1, 6}, {DenseShape{7, Relu}, DenseShape{10, Relu}}, 2}},
      {"tanh", {{1, 1, 20}, {DenseShape{2, Tanh}, DenseShape{62, Tanh}}, 2}},
      {"identity", {{1, 1, 5}, {DenseShape{3, Identity}}, 6}},
      {"convolution", {{2, 5, 6}, {ConvolutionShape{3, 3, Tanh, false}}, 2}},
      {"pooled", {{2, 7, 7}, {ConvolutionShape{3, 2, Relu, true}}, 3}},
      {"gram", {{3, 4, 4}, {ConvolutionShape{8, 3, Tanh, false}}, 2}},
      {"convolutions above each other",
       {{1, 9, 9}, {ConvolutionShape{4, 2, Relu, true}, ConvolutionShape{6, 2, Tanh, false}, DenseShape{5, Tanh}}, 2}}};
}

/// Weights of 2^60 and -2^60 that cancel beside small ones, and such that saturate.
Eigen::VectorXd hostile_weights(RandomSource& random, Eigen::Index size, int kind) {
  Eigen::VectorXd out(size);
  for (double& w : out) {
    const double small = 2.0 * random.unit() - 1.0;
    w = kind == 0            ? small
        : kind == 1          ? 40.0 * small
        : random.chance(0.3) ? (random.chance(0.5) ? 0x1p60 : -0x1p60)
                             : 60.0 * small;
  }
  return out;
}

Records hostile_records(RandomSource& random, Eigen::Index features, Eigen::Index classes, Eigen::Index count) {
  Records out{Eigen::MatrixXd(features, count), Eigen::VectorXd(count)};
  for (Eigen::Index j = 0; j < count; ++j) {
    for (Eigen::Index f = 0; f < features; ++f)
      out.features(f, j) = random.chance(0.5) ? 1.0 : 2.0 * random.unit() - 1.0;
    out.targets[j] = static_cast<double>(random.below(static_cast<std::uint64_t>(classes)));
    if (random.chance(0.05)) out.targets[j] = 99.0;
    if (random.chance(0.05)) out.features(0, j) = std::numeric_limits<double>::infinity();
  }
  return out;
}

/// What there is of one record after a pass over some: its factors in every layer, and what its norm is measured as.
using Bits = std::vector<std::uint64_t>;

class OneRecord {
 public:
  OneRecord(const Network& network, VectorUnits units, Eigen::Index chunk)
      : layers_(network.layers()), pass_(layers_, chunk, units), gradients_(layers_, chunk, units), squares_(chunk) {}

  Bits bits(const Eigen::VectorXd& weights, const Records& records, const std::vector<std::int64_t>& drawn,
            std::size_t place) {
    pass_.forward(layers_, weights, records, drawn);
    pass_.backward(layers_, weights, records, drawn);
    Factors* const factors[] = {&pass_.factors()};
    gradients_.measure(layers_, factors, static_cast<Eigen::Index>(drawn.size()), squares_);
    const auto i = static_cast<Eigen::Index>(place);
    Bits out;
    const auto keep = [&](double value) { out.push_back(std::isnan(value) ? 0 : std::bit_cast<std::uint64_t>(value)); };
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (const double value : pass_.factors().inputs[l].col(i)) keep(value);
      for (const double value : pass_.factors().errors[l].col(i)) keep(value);
    }
    keep(squares_[i]);
    return out;
  }

 private:
  std::vector<Layer> layers_;
  ChunkPass pass_;
  RecordGradients gradients_;
  Eigen::VectorXd squares_;
};

TEST(RecordAloneTest, ARecordsBitsAreTheSameInEveryPlaceBesideWhomeverAndWithWhateverVectorUnits) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    const Network network = Network::create(one.shape).value();
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(seed);
      RandomSource random(seed + 77);
      const Eigen::VectorXd weights = hostile_weights(random, network.dimension(), static_cast<int>(seed % 3));
      constexpr Eigen::Index kChunk = 13;
      const Records records = hostile_records(random, network.features(), network.classes(), 40);
      const auto record = static_cast<std::int64_t>(random.below(40));
      OneRecord alone(network, VectorUnits::None, 1);
      const Bits expected = alone.bits(weights, records, {record}, 0);
      for (const VectorUnits units : {VectorUnits::Widest, VectorUnits::None}) {
        OneRecord chunk(network, units, kChunk);
        for (std::size_t count = 1; count <= static_cast<std::size_t>(kChunk); ++count) {
          for (std::size_t place = 0; place < count; ++place) {
            std::vector<std::int64_t> drawn(count);
            for (std::int64_t& other : drawn) other = static_cast<std::int64_t>(random.below(40));
            drawn[place] = record;
            ASSERT_EQ(chunk.bits(weights, records, drawn, place), expected) << count << ' ' << place;
          }
        }
      }
    }
  }
}

/// The caches that Eigen cuts its own products to, put back at the end.
class CacheSizes {
 public:
  CacheSizes() { Eigen::internal::manage_caching_sizes(Eigen::GetAction, &l1_, &l2_, &l3_); }
  CacheSizes(const CacheSizes&) = delete;
  CacheSizes& operator=(const CacheSizes&) = delete;
  ~CacheSizes() { Eigen::setCpuCacheSizes(l1_, l2_, l3_); }

 private:
  std::ptrdiff_t l1_ = 0;
  std::ptrdiff_t l2_ = 0;
  std::ptrdiff_t l3_ = 0;
};

TEST(RecordAloneTest, SumsHaveTheSameBitsWhateverTheCachesAndTheVectorUnits) {
  const CacheSizes put_back;
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    const Network network = Network::create(one.shape).value();
    RandomSource random(5);
    Eigen::VectorXd weights(network.dimension());
    network.initialise(random, weights);
    const Eigen::VectorXd reference = 0.9 * weights;
    const Records records = hostile_records(random, network.features(), network.classes(), 300);
    std::vector<std::int64_t> drawn(300);
    std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
    std::optional<Bits> seen;
    for (const std::ptrdiff_t kib : {1, 16, 32, 48, 1024}) {
      Eigen::setCpuCacheSizes(kib << 10, kib << 13, kib << 15);
      for (const VectorUnits units : {VectorUnits::Widest, VectorUnits::None}) {
        LayeredModel model(network, units);
        Eigen::VectorXd sum(network.dimension());
        Bits bits;
        model.clipped_gradient_sum(weights, records, drawn, 1.0, sum);
        for (const double value : sum) bits.push_back(std::bit_cast<std::uint64_t>(value));
        model.clipped_difference_sum(weights, reference, records, drawn, 1.0, sum);
        for (const double value : sum) bits.push_back(std::bit_cast<std::uint64_t>(value));
        if (!seen) seen = bits;
        ASSERT_EQ(bits, *seen) << kib;
      }
    }
  }
}

TEST(ElementaryTest, IsAFunctionOfTheNumberAndNotOfItsPlace) {
  RandomSource random(1);
  for (std::size_t size = 1; size < 40; ++size) {
    std::vector<double> values(size);
    for (double& value : values) value = 60.0 * (random.unit() - 0.5);
    std::vector<double> tangents = values;
    std::vector<double> powers = values;
    hyperbolic_tangents(tangents);
    exponentiate(powers);
    for (std::size_t i = 0; i < size; ++i) {
      double tangent[] = {values[i]};
      double power[] = {values[i]};
      hyperbolic_tangents(tangent);
      exponentiate(power);
      ASSERT_EQ(tangents[i], tangent[0]);
      ASSERT_EQ(powers[i], power[0]);
      ASSERT_NEAR(tangent[0], std::tanh(values[i]), 0x1p-51 * std::abs(tangent[0]));
      ASSERT_NEAR(power[0], std::exp(values[i]), 0x1p-51 * power[0]);
    }
  }
}

TEST(ElementaryTest, TangentsMeetWhereTheirFormulasDoAndAtTheirEnds) {
  std::vector<double> values = {0.5, std::nextafter(0.5, 0.0), -0.5, 1e-300, -0.0, 400.0, -HUGE_VAL, std::nan("")};
  std::vector<double> expected = values;
  for (double& value : expected) value = std::tanh(value);
  hyperbolic_tangents(values);
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 0x1p-51 * std::abs(expected[i])) << i;
  EXPECT_TRUE(std::isnan(values.back()));
  std::vector<double> powers = {std::nan(""), 0.0, -800.0, 800.0};
  exponentiate(powers);
  EXPECT_TRUE(std::isnan(powers[0]));
  EXPECT_EQ(powers[1], 1.0);
  EXPECT_NEAR(powers[2], 0.0, 1e-300);
  EXPECT_EQ(powers[3], HUGE_VAL);
}

}  // namespace
}  // namespace undertone::models
