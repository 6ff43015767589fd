#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "shared/base/random_source.hpp"
#include "shared/mechanisms/binomial_sum/binomial_report.hpp"
#include "shared/mechanisms/clipped_sum.hpp"
#include "shared/mechanisms/gaussian_sum/gaussian_sum.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "tests/support/record_maps.hpp"

namespace undertone {
namespace {

using releases::Block;
using releases::Int128;
using releases::QuestionKind;

constexpr Eigen::Index kFeatures = 6;

double wide(RandomSource& random) {
  const double magnitude = std::pow(10.0, -6.0 + 12.0 * random.unit());
  return random.chance(0.5) ? magnitude : -magnitude;
}

/// Values that a file, a bug or a malicious record could bring.
double hostile(RandomSource& random) {
  switch (random.below(8)) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return std::numeric_limits<double>::infinity();
    case 2:
      return -std::numeric_limits<double>::infinity();
    case 3:
      return std::numeric_limits<double>::max();
    case 4:
      return std::numeric_limits<double>::denorm_min();
    case 5:
      return 1e200;
    default:
      return wide(random);
  }
}

models::Records random_records(RandomSource& random, models::Loss loss, Eigen::Index count, bool with_hostile) {
  models::Records records{Eigen::MatrixXd(kFeatures, count), Eigen::VectorXd(count)};
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index f = 0; f < kFeatures; ++f)
      records.features(f, i) = with_hostile && random.chance(0.3) ? hostile(random) : wide(random);
    records.targets[i] = loss == models::Loss::Logistic ? (random.chance(0.5) ? 1.0 : -1.0) : wide(random);
  }
  return records;
}

planning::Release release_of(RandomSource& random, QuestionKind kind, const models::LinearModel& model,
                             std::int64_t records) {
  const auto metrics = static_cast<Eigen::Index>(model.metric_names().size());
  const Eigen::Index dimension = kind == QuestionKind::Gradient ? model.dimension() : metrics;
  const double clip = kind == QuestionKind::Gradient ? std::pow(10.0, -3.0 + 6.0 * random.unit())
                                                     : std::sqrt(static_cast<double>(metrics)) / 2.0;
  const releases::ClipNorm clip_norm = releases::ClipNorm::create(clip).value();
  const releases::GaussianShift shift =
      releases::GaussianShift::create(std::pow(10.0, -2.0 + 2.0 * random.unit())).value();
  return {{tests::map_of(kind),
           {kind == QuestionKind::Gradient ? Block::Training : Block::Holdout},
           releases::L2Bound{clip_norm},
           dimension},
          records,
          records,
          mechanisms::gaussian_lattice(clip_norm, shift, dimension, records).value()};
}

/// Gradients, or differences of them, that are bounded in l_q: the lattice is of the l2 norm that follows.
planning::Release dual_release_of(const models::LinearModel& model, double clip, double exponent, QuestionKind kind,
                                  std::int64_t records) {
  const auto bound =
      releases::DualBound::create(releases::ClipNorm::create(clip).value(), exponent, model.dimension()).value();
  const releases::GaussianShift shift = releases::GaussianShift::create(0.1).value();
  return {{tests::map_of(kind), {Block::Training}, bound, model.dimension()},
          records,
          records,
          mechanisms::gaussian_lattice(bound.l2(), shift, model.dimension(), records).value()};
}

/// ||v||_q in units of the lattice.
double norm_of(const std::vector<std::int64_t>& v, double q) {
  double largest = 0.0;
  for (const std::int64_t value : v) largest = std::max(largest, std::abs(static_cast<double>(value)));
  if (std::isinf(q) || largest == 0.0) return largest;
  double sum = 0.0;
  for (const std::int64_t value : v) sum += std::pow(std::abs(static_cast<double>(value)) / largest, q);
  return largest * std::pow(sum, 1.0 / q);
}

/// Squared l2 distance of two integer vectors, exactly.
Int128 squared_distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  Int128 sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const Int128 off = static_cast<Int128>(a[j]) - b[j];
    sum += off * off;
  }
  return sum;
}

/// Squared l2 sensitivity that the accountant is told of: (2 Lambda)^2, straight from the charged shift.
Int128 declared(const planning::Release& release) {
  const Int128 sensitivity = static_cast<Int128>(release.lattice().clip) * 2;
  return sensitivity * sensitivity;
}

TEST(SensitivityTest, ARecordsGradientIsWithinItsDualBoundAndTheL2NormThatFollows) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const models::LinearModel model(models::Loss::LeastSquares, kFeatures, seed % 3 != 0);
    const double clip = std::pow(10.0, -3.0 + 6.0 * random.unit());
    const double exponent = seed % 2 == 0 ? std::numeric_limits<double>::infinity() : 2.0 + 8.0 * random.unit() + 1e-3;
    const QuestionKind kind = seed % 5 == 0 ? QuestionKind::GradientDifference : QuestionKind::Gradient;
    const planning::Release release = dual_release_of(model, clip, exponent, kind, 1);
    const models::Records record = random_records(random, models::Loss::LeastSquares, 1, seed % 4 == 0);
    Eigen::VectorXd points((kind == QuestionKind::Gradient ? 1 : 2) * model.dimension());
    for (double& w : points) w = wide(random);
    const queries::Question question = kind == QuestionKind::Gradient
                                           ? queries::Question(queries::GradientQuestion{points})
                                           : queries::Question(queries::GradientDifferenceQuestion{points});
    const std::vector<std::int64_t> sum =
        silo::exact_sum(question, release, record, {0}, silo::make_record_sums(model).get());
    EXPECT_LE(squared_distance(sum, std::vector<std::int64_t>(sum.size())) * 4, declared(release));
    // Of what is not finite nothing is said but the l2 norm.
    if (!record.features.allFinite() || !std::isfinite(record.targets[0])) continue;
    EXPECT_LE(norm_of(sum, exponent) * release.lattice().step, clip * (1.0 + 1e-12));
  }
}

TEST(SensitivityTest, ADualBoundIsAttainedByRecordsOfOneLength) {
  // x = (1, ..., 1), target -1000 at w = 0: a = 1000, and each of 6 coordinates is cut to the bound; in l2 it is then
  // sqrt 6 times that, which is all that the lattice allows, less what becoming
  // integers takes of each coordinate: a unit at most, so of a vector sqrt 6.
  const models::LinearModel model(models::Loss::LeastSquares, kFeatures, false);
  models::Records record{Eigen::MatrixXd::Ones(kFeatures, 1), Eigen::VectorXd::Constant(1, -1000.0)};
  for (const double exponent : {std::numeric_limits<double>::infinity(), 3.0}) {
    const planning::Release release = dual_release_of(model, 0.25, exponent, QuestionKind::Gradient, 1);
    const queries::Question question = queries::GradientQuestion{Eigen::VectorXd::Zero(kFeatures)};
    const std::vector<std::int64_t> sum =
        silo::exact_sum(question, release, record, {0}, silo::make_record_sums(model).get());
    const double lost = std::sqrt(static_cast<double>(kFeatures)) + 1.0;  // units, of the whole vector
    EXPECT_NEAR(norm_of(sum, exponent), 0.25 / release.lattice().step, lost);
    EXPECT_NEAR(norm_of(sum, 2.0), static_cast<double>(release.lattice().clip), lost);
  }
  // Sparse ones are cut in the dual norm alone: e_1 to 0.25, where l2 would leave sqrt 6 as much.
  record.features.setZero();
  record.features(0, 0) = 1.0;
  const planning::Release release =
      dual_release_of(model, 0.25, std::numeric_limits<double>::infinity(), QuestionKind::Gradient, 1);
  const queries::Question question = queries::GradientQuestion{Eigen::VectorXd::Zero(kFeatures)};
  const std::vector<std::int64_t> sum =
      silo::exact_sum(question, release, record, {0}, silo::make_record_sums(model).get());
  EXPECT_NEAR(static_cast<double>(sum[0]), 0.25 / release.lattice().step, 1.0);
}

TEST(SensitivityTest, NoReplacedRecordMovesTheIntegerSumByMoreThanDeclared) {
  double largest = 0.0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const auto loss = seed % 2 == 0 ? models::Loss::Logistic : models::Loss::LeastSquares;
    const models::LinearModel model(loss, kFeatures, seed % 3 != 0);
    const auto count = static_cast<Eigen::Index>(1 + random.below(30));
    const planning::Release release =
        release_of(random, seed % 5 == 0 ? QuestionKind::Metrics : QuestionKind::Gradient, model, count);
    Eigen::VectorXd point(model.dimension());
    for (double& w : point) w = wide(random);
    const queries::Question question = release.ask.kind() == QuestionKind::Gradient
                                           ? queries::Question(queries::GradientQuestion{point})
                                           : queries::Question(queries::MetricsQuestion{point});
    models::Records records = random_records(random, loss, count, true);
    const std::int64_t drawn_count = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
    std::vector<std::int64_t> drawn;
    for (std::int64_t j = 0; j < drawn_count; ++j) drawn.push_back(j);
    const std::vector<std::int64_t> before =
        silo::exact_sum(question, release, records, drawn, silo::make_record_sums(model).get());
    for (int replacement = 0; replacement < 20; ++replacement) {
      models::Records neighbour = records;
      const auto j = static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(count)));
      const models::Records other = random_records(random, loss, 1, true);
      neighbour.features.col(j) = other.features.col(0);
      neighbour.targets[j] = other.targets[0];
      const std::vector<std::int64_t> after =
          silo::exact_sum(question, release, neighbour, drawn, silo::make_record_sums(model).get());
      const Int128 moved = squared_distance(before, after);
      ASSERT_TRUE(moved <= declared(release));
      largest = std::max(largest, std::sqrt(static_cast<double>(moved) / static_cast<double>(declared(release))));
    }
  }
  EXPECT_GT(largest, 0.9);  // the neighbours tried are not all harmless
}

models::Network random_network(RandomSource& random) {
  using models::Activation;
  using models::ConvolutionShape;
  using models::DenseShape;
  const Activation activation = random.chance(0.5) ? Activation::Relu : Activation::Tanh;
  switch (random.below(3)) {
    case 0:
      return models::Network::create({{1, 1, 5}, {}, 3}).value();
    case 1:
      return models::Network::create({{1, 1, 5}, {DenseShape{4, activation}}, 3}).value();
    default:
      return models::Network::create(
                 {{2, 6, 6}, {ConvolutionShape{3, 3, activation, true}, DenseShape{4, activation}}, 3})
          .value();
  }
}

TEST(SensitivityTest, NetworksSumsMoveByNoMoreThanDeclaredOnTheCoarsestLatticesToo) {
  double largest = 0.0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed + 5000);
    const models::Network network = random_network(random);
    const Eigen::Index d = network.dimension();
    const bool difference = seed % 3 == 0;
    const auto count = static_cast<Eigen::Index>(2 + random.below(90));  // several chunks
    planning::Release release{
        {tests::map_of(difference ? QuestionKind::GradientDifference : QuestionKind::Gradient),
         {},
         releases::L2Bound{releases::ClipNorm::create(std::pow(10.0, -3.0 + 6.0 * random.unit())).value()},
         d},
        count,
        count,
        mechanisms::GaussianLattice{}};
    auto& lattice = std::get<mechanisms::GaussianLattice>(release.mechanism).lattice;
    // From the coarsest that a plan may choose, where rounding is half of everything, to fine ones.
    lattice.clip = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(d)))) << random.below(24);
    lattice.step = release.ask.clip().value() / static_cast<double>(lattice.clip);
    Eigen::VectorXd point(difference ? 2 * d : d);
    const bool huge = seed % 7 == 0;
    for (double& w : point) w = huge ? wide(random) : 2.0 * random.unit() - 1.0;
    if (difference) point.tail(d) = point.head(d) * (1.0 + 1e-6);
    const auto random_record = [&](models::Records& records, Eigen::Index j) {
      for (Eigen::Index f = 0; f < network.features(); ++f)
        records.features(f, j) = random.chance(0.02) ? hostile(random) : 4.0 * random.unit() - 2.0;
      records.targets[j] = random.chance(0.05) ? 7.5 : static_cast<double>(random.below(3));
    };
    models::Records records{Eigen::MatrixXd(network.features(), count), Eigen::VectorXd(count)};
    for (Eigen::Index j = 0; j < count; ++j) random_record(records, j);
    std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));
    std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
    const queries::Question question = queries::question_of(release.ask.kind(), point);
    const auto sums = silo::make_record_sums(network);
    const std::vector<std::int64_t> before = silo::exact_sum(question, release, records, drawn, sums.get());
    for (int replacement = 0; replacement < 8; ++replacement) {
      models::Records neighbour = records;
      random_record(neighbour, static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(count))));
      const std::vector<std::int64_t> after = silo::exact_sum(question, release, neighbour, drawn, sums.get());
      const Int128 moved = squared_distance(before, after);
      ASSERT_TRUE(moved <= declared(release));
      largest = std::max(largest, std::sqrt(static_cast<double>(moved) / static_cast<double>(declared(release))));
    }
    // Asked again with scratch that has seen other records: the same integers.
    ASSERT_EQ(silo::exact_sum(question, release, records, drawn, sums.get()), before);
  }
  EXPECT_GT(largest, 0.7);
}

/// Clip 2^31 g of a grid from the coarsest to the finest.
mechanisms::BinomialSum random_binomial(RandomSource& random, releases::ClipNorm clip) {
  const auto grid = std::int64_t{1} << random.below(17);
  const auto parameters = mechanisms::BinomialParameters::create(grid, 1, {1, 2}).value();
  return {
      mechanisms::binomial_lattice(parameters, clip), parameters, {releases::GaussianShift::create(1.0).value(), 1e-9}};
}

/// The ends of what counts can be made of: |sum| <= K Lambda in every coordinate, or the silo's process stops.
void expect_within_range(const std::vector<std::int64_t>& sum, const planning::Release& release, std::int64_t records) {
  for (const std::int64_t one : sum) ASSERT_LE(std::abs(one), records * release.lattice().clip);
}

TEST(SensitivityTest, OnABinomialLatticeTooNoReplacedRecordMovesTheSumByMoreThanDeclared) {
  double largest = 0.0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed + 9000);
    const bool layered = seed % 2 == 0;
    const models::Network network = random_network(random);
    const models::Model model = layered
                                    ? models::Model(network)
                                    : models::Model(models::LinearModel(models::Loss::LeastSquares, kFeatures, true));
    const bool difference = seed % 3 == 0;
    const auto count = static_cast<Eigen::Index>(1 + random.below(60));
    const releases::ClipNorm clip = releases::ClipNorm::create(std::pow(10.0, -3.0 + 6.0 * random.unit())).value();
    const planning::Release release{
        {tests::map_of(difference ? QuestionKind::GradientDifference : QuestionKind::Gradient),
         {},
         releases::L2Bound{clip},
         model.dimension()},
        count,
        count,
        random_binomial(random, clip)};
    Eigen::VectorXd point(release.ask.point_size(model.dimension()));
    for (double& w : point) w = seed % 7 == 0 ? wide(random) : 2.0 * random.unit() - 1.0;
    const queries::Question question = queries::question_of(release.ask.kind(), point);
    const auto random_record = [&](models::Records& records, Eigen::Index j) {
      for (Eigen::Index f = 0; f < model.features(); ++f)
        records.features(f, j) = random.chance(0.02) ? hostile(random) : 40.0 * random.unit() - 20.0;
      records.targets[j] = layered ? static_cast<double>(random.below(3)) : 1e3 * wide(random);
    };
    models::Records records{Eigen::MatrixXd(model.features(), count), Eigen::VectorXd(count)};
    for (Eigen::Index j = 0; j < count; ++j) random_record(records, j);
    std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));
    std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
    const auto sums = silo::make_record_sums(model);
    const std::vector<std::int64_t> before = silo::exact_sum(question, release, records, drawn, sums.get());
    expect_within_range(before, release, count);
    for (int replacement = 0; replacement < 8; ++replacement) {
      models::Records neighbour = records;
      random_record(neighbour, static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(count))));
      const std::vector<std::int64_t> after = silo::exact_sum(question, release, neighbour, drawn, sums.get());
      expect_within_range(after, release, count);
      const Int128 moved = squared_distance(before, after);
      ASSERT_TRUE(moved <= declared(release));
      largest = std::max(largest, std::sqrt(static_cast<double>(moved) / static_cast<double>(declared(release))));
    }
  }
  EXPECT_GT(largest, 0.9);  // the neighbours tried are not all harmless
}

TEST(SensitivityTest, RoundingTakesFromTheClipNormWhatItMayAdd) {
  // Lambda = 100, d = 400: rounding moves a sum by up to sqrt(400) / 2 = 10 units, so a record has 90 left.
  const mechanisms::Lattice lattice{100, 0.5};
  EXPECT_NEAR(silo::clip_before_rounding(lattice, 400, 1, 0.0), 45.0, 1e-5);
  EXPECT_LT(silo::clip_before_rounding(lattice, 400, 1, 0.0), 45.0);
  EXPECT_NEAR(silo::clip_before_rounding(lattice, 400, 1, 0.25), 36.0, 1e-5);
}

/// The worst pair of records: gradients of full clip norm in opposite directions.
double worst_case_ratio(const mechanisms::Lattice& used, const mechanisms::Lattice& charged) {
  Eigen::VectorXd up = Eigen::VectorXd::Constant(kFeatures, 1e6);
  Eigen::VectorXd down = -up;
  std::vector<std::int64_t> with_up(kFeatures, 0);
  std::vector<std::int64_t> with_down(kFeatures, 0);
  mechanisms::add_clipped(up, used, with_up);
  mechanisms::add_clipped(down, used, with_down);
  return std::sqrt(static_cast<double>(squared_distance(with_up, with_down))) /
         (2.0 * static_cast<double>(charged.clip));
}

TEST(SensitivityTest, AConstructedWorstCaseReachesTheDeclaredBound) {
  RandomSource random(1);
  const models::LinearModel model(models::Loss::LeastSquares, kFeatures, false);
  const mechanisms::Lattice lattice = release_of(random, QuestionKind::Gradient, model, 10).lattice();
  const double ratio = worst_case_ratio(lattice, lattice);
  EXPECT_GE(ratio, 0.99);
  EXPECT_LE(ratio, 1.0);
}

TEST(SensitivityTest, AMutantThatClipsAtTwiceTheNormIsCaught) {
  RandomSource random(1);
  const models::LinearModel model(models::Loss::LeastSquares, kFeatures, false);
  const mechanisms::Lattice charged = release_of(random, QuestionKind::Gradient, model, 10).lattice();
  mechanisms::Lattice mutant = charged;
  mutant.clip *= 2;  // clips at twice what is charged for
  EXPECT_GT(worst_case_ratio(mutant, charged), 1.9);
}

TEST(SensitivityTest, AClippedVectorKeepsItsDirectionAndNearlyItsNorm) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomSource random(seed);
    const models::LinearModel model(models::Loss::LeastSquares, kFeatures, false);
    const mechanisms::Lattice lattice = release_of(random, QuestionKind::Gradient, model, 10).lattice();
    const double clip = static_cast<double>(lattice.clip) * lattice.step;
    Eigen::VectorXd vector(kFeatures);
    for (double& v : vector) v = clip * (2.0 * random.unit() - 1.0) * (seed % 2 == 0 ? 0.1 : 10.0);
    const Eigen::VectorXd expected = vector * std::min(1.0, clip / vector.norm());
    std::vector<std::int64_t> sum(kFeatures, 0);
    Eigen::VectorXd scratch = vector;
    mechanisms::add_clipped(scratch, lattice, sum);
    for (Eigen::Index j = 0; j < kFeatures; ++j) {
      // One step of truncation, and the 2^-20 that keeps the integer norm within the clip.
      EXPECT_NEAR(static_cast<double>(sum[static_cast<std::size_t>(j)]) * lattice.step, expected[j],
                  lattice.step + 2e-6 * clip);
    }
  }
}

TEST(SensitivityTest, ANonFiniteRecordAddsNothing) {
  RandomSource random(1);
  const models::LinearModel model(models::Loss::LeastSquares, kFeatures, false);
  const mechanisms::Lattice lattice = release_of(random, QuestionKind::Gradient, model, 10).lattice();
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    Eigen::VectorXd vector = Eigen::VectorXd::Constant(kFeatures, 1.0);
    vector[2] = bad;
    std::vector<std::int64_t> sum(kFeatures, 0);
    mechanisms::add_clipped(vector, lattice, sum);
    EXPECT_EQ(sum, std::vector<std::int64_t>(kFeatures, 0));
  }
}

TEST(SensitivityTest, AHugeFiniteRecordIsClippedNotDropped) {
  RandomSource random(1);
  const models::LinearModel model(models::Loss::LeastSquares, kFeatures, false);
  const mechanisms::Lattice lattice = release_of(random, QuestionKind::Gradient, model, 10).lattice();
  Eigen::VectorXd vector = Eigen::VectorXd::Zero(kFeatures);
  vector[3] = std::numeric_limits<double>::max();
  vector[1] = -std::numeric_limits<double>::max();
  std::vector<std::int64_t> sum(kFeatures, 0);
  mechanisms::add_clipped(vector, lattice, sum);
  EXPECT_NEAR(static_cast<double>(sum[3]), static_cast<double>(lattice.clip) / std::sqrt(2.0),
              2e-6 * static_cast<double>(lattice.clip) + 1.0);
  EXPECT_EQ(sum[1], -sum[3]);
}

/// |v|^2 in 128 bits.
Int128 squared(const std::vector<std::int64_t>& v) {
  return squared_distance(v, std::vector<std::int64_t>(v.size(), 0));
}

/// Of the columns at `positions`, with a constant 1 below them.
std::vector<double> norms_squared(const Eigen::MatrixXd& records, std::span<const std::int64_t> positions,
                                  bool constant, VectorUnits units = VectorUnits::Widest) {
  std::vector<double> out(positions.size());
  std::vector<double> products(positions.size());
  column_products(records, positions, Eigen::VectorXd::Ones(records.rows()), products, out, units);
  if (constant) {
    for (double& norm : out) norm += 1.0;
  }
  return out;
}

TEST(ClippedSumTest, WhatOneRecordAddsNeverLeavesTheClipWhateverItHolds) {
  double closest = 0.0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const auto dimension = static_cast<Eigen::Index>(1 + random.below(70));  // whole blocks of eight and what is left
    const bool constant = random.below(2) == 0 && dimension > 1;
    const mechanisms::Lattice lattice{static_cast<std::int64_t>(1 + random.below(std::uint64_t{1} << (4 + seed % 40))),
                                      std::ldexp(1.0, -static_cast<int>(random.below(60)))};
    Eigen::VectorXd x(constant ? dimension - 1 : dimension);
    for (double& value : x) {
      value = (2.0 * random.unit() - 1.0) * std::ldexp(1.0, static_cast<int>(random.below(40)) - 20);
      if (random.below(30) == 0) value = 0.0;
      if (seed % 17 == 0) value = std::ldexp(value, seed % 2 == 0 ? 1000 : -1000);  // squares leave the range
    }
    const double scales[] = {1.0, -1.0, 1e300, -1e-300, 0.0, std::nan(""), HUGE_VAL};
    const double a = scales[random.below(7)] * random.unit();
    mechanisms::ClippedSum sum(lattice, dimension);
    const std::vector<std::int64_t> first = {0};
    sum.add({&a, 1}, norms_squared(x, first, constant), x, first);
    std::vector<std::int64_t> added(static_cast<std::size_t>(dimension));
    sum.take(added);
    const Int128 clip = static_cast<Int128>(lattice.clip) * lattice.clip;
    ASSERT_TRUE(squared(added) <= clip);
    if (!std::isfinite(a)) {
      EXPECT_TRUE(squared(added) == 0);
    }
    closest = std::max(closest, static_cast<double>(squared(added)) / static_cast<double>(clip));
  }
  EXPECT_GT(closest, 0.999);  // records that are clipped use what they may
}

TEST(ClippedSumTest, AgreesWithTheReferenceToOneUnitOverManyRecords) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const auto dimension = static_cast<Eigen::Index>(1 + random.below(40));
    // So heavy a clip that block sums are flushed after every few records.
    const mechanisms::Lattice lattice{std::int64_t{1} << (20 + seed % 30), std::ldexp(1.0, -30)};
    constexpr std::size_t kRecords = 40;
    mechanisms::ClippedSum sum(lattice, dimension);
    std::vector<std::int64_t> reference(static_cast<std::size_t>(dimension), 0);
    Eigen::MatrixXd records(dimension, static_cast<Eigen::Index>(kRecords));
    std::vector<double> factors(kRecords);
    std::vector<std::int64_t> positions(kRecords);
    for (std::size_t i = 0; i < kRecords; ++i) {
      const auto column = static_cast<Eigen::Index>(i);
      for (double& value : records.col(column)) value = 2.0 * random.unit() - 1.0;
      const double odd[] = {0.0, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e200, 1e-200};  // in the midst of the others
      if (random.below(8) == 0)
        records(static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(dimension))), column) =
            odd[random.below(6)];
      factors[i] = random.below(8) == 0 ? odd[random.below(6)] : 4.0 * random.unit() - 2.0;
      positions[i] = static_cast<std::int64_t>(random.below(i + 1));  // one twice, and in any order
    }
    for (std::size_t from = 0; from < positions.size();) {
      const std::size_t count = std::min<std::size_t>(random.below(40), positions.size() - from);
      const auto now = std::span(positions).subspan(from, count);
      sum.add(std::span(factors).subspan(from, count), norms_squared(records, now, false), records, now);
      from += count;
    }
    for (std::size_t i = 0; i < kRecords; ++i) {
      Eigen::VectorXd vector = factors[i] * records.col(positions[i]);
      mechanisms::add_clipped(vector, lattice, reference);
    }
    std::vector<std::int64_t> got(static_cast<std::size_t>(dimension));
    sum.take(got);
    for (std::size_t j = 0; j < reference.size(); ++j) {
      // A unit a record, and the last bits of numbers as large as the clip.
      const double slack = kRecords * (1.0 + 1e-14 * static_cast<double>(lattice.clip));
      EXPECT_NEAR(static_cast<double>(got[j]), static_cast<double>(reference[j]), slack);
    }
  }
}

TEST(ClippedSumTest, ABatchIsTheSumOfItsRecordsToTheUnitOnEveryProcessor) {
  // What a record adds depends on nothing else in the batch, and 60 of the longest leave 2^53 behind: unless the block
  // is flushed in time, units are lost.
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const auto size = static_cast<Eigen::Index>(1 + random.below(40));
    const bool constant = random.below(2) == 0;
    const Eigen::Index dimension = constant ? size + 1 : size;
    const std::int64_t clip = seed % 3 == 0 ? (std::int64_t{1} << 50U) - 1 : std::int64_t{1} << random.below(50);
    const mechanisms::Lattice lattice{clip, std::ldexp(1.0, -50)};
    constexpr std::size_t kRecords = 60;
    Eigen::MatrixXd records(size, static_cast<Eigen::Index>(kRecords));
    std::vector<double> factors(kRecords);
    std::vector<std::int64_t> positions(kRecords);
    for (std::size_t i = 0; i < kRecords; ++i) {
      const auto column = static_cast<Eigen::Index>(i);
      for (double& value : records.col(column)) value = random.unit();  // of one sign, so that they add up
      const double odd[] = {0.0, -0.0, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e200, 1e-200, 5e-324};
      if (random.below(8) == 0)
        records(static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(size))), column) =
            odd[random.below(8)];
      factors[i] = random.below(8) == 0 ? odd[random.below(8)] : 4.0 * random.unit();
      positions[i] = static_cast<std::int64_t>(random.below(i + 1));
    }
    const auto add_up = [&](VectorUnits units, std::size_t together) {
      mechanisms::ClippedSum sum(lattice, dimension, units);
      std::vector<std::int64_t> total(static_cast<std::size_t>(dimension), 0);
      std::vector<std::int64_t> part(total.size());
      for (std::size_t from = 0; from < positions.size(); from += together) {
        const std::size_t count = std::min(together, positions.size() - from);
        const auto now = std::span(positions).subspan(from, count);
        sum.add(std::span(factors).subspan(from, count), norms_squared(records, now, constant, units), records, now);
        if (together > 1 && from + count < positions.size()) continue;
        sum.take(part);
        for (std::size_t j = 0; j < total.size(); ++j) total[j] += part[j];
      }
      return total;
    };
    const auto one_by_one = add_up(VectorUnits::None, 1);
    for (const auto units : {VectorUnits::Widest, VectorUnits::None}) {
      EXPECT_EQ(add_up(units, 60), one_by_one);
      EXPECT_EQ(add_up(units, 1 + random.below(30)), one_by_one);
    }
  }
}

}  // namespace
}  // namespace undertone
