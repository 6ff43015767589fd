#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "shared/base/random_source.hpp"
#include "shared/planning/plan.hpp"
#include "silo/oracles/statistic.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "tests/support/drawn_law.hpp"

/// Releases whose noise is not Gaussian: statistics, sums with Laplace noise, selections.
namespace undertone::silo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const queries::WireLattice kWire{queries::ReplyType::I64, -20};
const RecordPlaces kNoPlaces;

SiloId one_silo() { return SiloId::create("clinic").value(); }

releases::SiloFacts facts_of(std::int64_t records, double epsilon) {
  return {one_silo(), records, 0, false, releases::PureDp{releases::Epsilon::create(epsilon).value()}};
}

/// The release of a plan that asks for this once.
planning::Release planned(const releases::Ask& ask, std::int64_t records, double epsilon = 1.0) {
  return planning::make_plan({{ask, 1}}, facts_of(records, epsilon)).value().segments().front().release;
}

releases::Ask statistic(std::vector<std::size_t> coordinates, bool indicators, releases::RangeBound range) {
  const auto dimension = static_cast<Eigen::Index>(coordinates.size());
  return {releases::StatisticMap{std::move(coordinates), indicators}, {}, range, dimension};
}

releases::Ask selection(const geometry::Vertices& candidates, double bound) {
  return {releases::GradientMap{},
          {},
          releases::MaxBound{releases::CoordinateBound::create(bound).value()},
          candidates.dimension(),
          releases::SelectionForm{candidates}};
}

releases::Ask clipped(Eigen::Index dimension, double clip) {
  return {releases::GradientMap{}, {}, releases::L2Bound{releases::ClipNorm::create(clip).value()}, dimension};
}

std::vector<std::int64_t> everybody(const models::Records& records) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(records.count()));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

/// A number that no schema would encode, or one that it would.
double any_number(RandomSource& random) {
  constexpr std::array kSpecial = {kNan, kInfinity, -kInfinity, 1e308, -1e308, 5e-324, 0.0, -0.0, 1.0, -1.0, 0x1p-21};
  if (random.chance(0.5)) return kSpecial[static_cast<std::size_t>(random.below(kSpecial.size()))];
  return 6.0 * random.unit() - 3.0;
}

models::Records any_records(RandomSource& random, Eigen::Index features, Eigen::Index count) {
  models::Records out{Eigen::MatrixXd(features, count), Eigen::VectorXd(count)};
  for (Eigen::Index j = 0; j < count; ++j) {
    for (Eigen::Index f = 0; f < features; ++f) out.features(f, j) = any_number(random);
    out.targets[j] = any_number(random);
  }
  return out;
}

/// The records with one of them replaced, every coordinate by an extreme of one sign or by anything.
models::Records replaced(const models::Records& records, RandomSource& random) {
  models::Records out = records;
  const auto j = static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(records.count())));
  const models::Records other = any_records(random, records.features.rows(), 1);
  out.features.col(j) = other.features.col(0);
  out.targets[j] = other.targets[0];
  return out;
}

TEST(StatisticTotalsTest, ClampsRoundsAndCountsWhatIsNotFiniteAsTheMiddle) {
  models::Records records{Eigen::MatrixXd(1, 6), Eigen::VectorXd(6)};
  records.features << 0.5, 2.0, -kInfinity, kNan, 0.75 * 0x1p-20, -0.75 * 0x1p-20;
  records.targets << 1.0, 1.0, 1.0, 1.0, -1.0, 0.25;
  const std::vector<std::int64_t> drawn = everybody(records);
  const mechanisms::Lattice lattice{std::int64_t{1} << 20, 0x1p-20};
  // In units of 2^-20: 2^19, 2^20 clamped, 0 twice, 1 and -1; the label 2^20 four times, -2^20, 2^18.
  EXPECT_EQ(statistic_totals({{0, 1}, false}, {-1.0, 1.0}, lattice, {records, drawn}),
            (std::vector<std::int64_t>{(1 << 19) + (1 << 20), 3 * (1 << 20) + (1 << 18)}));
  // Of [0, 1] the middle is 2^19: 2^19, 2^20, twice 2^19, 1, and 0 clamped.
  EXPECT_EQ(statistic_totals({{0}, false}, {0.0, 1.0}, lattice, {records, drawn}),
            (std::vector<std::int64_t>{3 * (1 << 19) + (1 << 20) + 1}));
  // A record that is drawn twice counts twice, and a column that is asked for twice is two totals.
  EXPECT_EQ(statistic_totals({{0, 0}, false}, {-1.0, 1.0}, lattice, {records, std::vector<std::int64_t>{0, 0}}),
            (std::vector<std::int64_t>{1 << 20, 1 << 20}));
}

TEST(StatisticTotalsTest, AnIndicatorCountsWhereItIsExactlyOne) {
  models::Records records{Eigen::MatrixXd(1, 6), Eigen::VectorXd::Zero(6)};
  records.features << 1.0, 0.0, std::nextafter(1.0, 2.0), kNan, kInfinity, -1.0;
  records.targets << 1.0, -1.0, 1.0, -1.0, 1.0, -1.0;
  EXPECT_EQ(statistic_totals({{0, 1}, true}, {0.0, 1.0}, {1, 1.0}, {records, everybody(records)}),
            (std::vector<std::int64_t>{1, 3}));
}

std::int64_t l1_distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out += std::abs(a[i] - b[i]);
  return out;
}

TEST(PureSensitivityTest, NoReplacedRecordMovesAStatisticByMoreThanItsNoiseIsFor) {
  double largest_counts = 0.0;
  double largest_values = 0.0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const bool indicators = seed % 2 == 0;
    const auto count = static_cast<Eigen::Index>(1 + random.below(12));
    const releases::RangeBound range = indicators
                                           ? releases::RangeBound{0.0, 1.0}
                                           : releases::RangeBound{-0.25 * static_cast<double>(random.below(5)),
                                                                  0.25 * static_cast<double>(1 + random.below(4))};
    const planning::Release release =
        planned(statistic(seed % 3 == 0 ? std::vector<std::size_t>{2, 2, 0} : std::vector<std::size_t>{1, 3},
                          indicators, range),
                count);
    const std::int64_t declared = std::get<mechanisms::LaplaceLattice>(release.mechanism).noise.sensitivity().value();
    const models::Records records = any_records(random, 3, count);
    const auto sum = [&](const models::Records& of) {
      return exact_sum(queries::StatisticQuestion{}, release, of, everybody(of), nullptr);
    };
    const std::vector<std::int64_t> before = sum(records);
    for (int replacement = 0; replacement < 30; ++replacement) {
      const std::int64_t moved = l1_distance(before, sum(replaced(records, random)));
      ASSERT_LE(moved, declared);
      double& largest = indicators ? largest_counts : largest_values;
      largest = std::max(largest, static_cast<double>(moved) / static_cast<double>(declared));
    }
  }
  EXPECT_EQ(largest_counts, 1.0);  // both bounds are attained
  EXPECT_EQ(largest_values, 1.0);
}

TEST(PureSensitivityTest, NoReplacedRecordMovesAClippedSumByMoreThanItsLaplaceNoiseIsFor) {
  double largest = 0.0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const auto count = static_cast<Eigen::Index>(1 + random.below(12));
    // A network's sum is computed in doubles and rounded: the bound is of the integers all the same.
    const models::Model model = seed % 2 == 0
                                    ? models::Model(models::LinearModel(models::Loss::LeastSquares, 3, seed % 4 == 0))
                                    : models::Model(models::Network::create({{1, 1, 3}, {}, 2}).value());
    const planning::Release release = planned(clipped(model.dimension(), std::exp(6.0 * random.unit() - 3.0)), count);
    const std::int64_t declared = std::get<mechanisms::LaplaceLattice>(release.mechanism).noise.sensitivity().value();
    Eigen::VectorXd point(model.dimension());
    for (double& w : point) w = 2.0 * random.unit() - 1.0;
    const auto sums = make_record_sums(model);
    const models::Records records = any_records(random, 3, count);
    const auto sum = [&](const models::Records& of) {
      return exact_sum(queries::GradientQuestion{point}, release, of, everybody(of), sums.get());
    };
    const std::vector<std::int64_t> before = sum(records);
    for (int replacement = 0; replacement < 20; ++replacement) {
      const std::int64_t moved = l1_distance(before, sum(replaced(records, random)));
      ASSERT_LE(moved, declared);
      largest = std::max(largest, static_cast<double>(moved) / static_cast<double>(declared));
    }
  }
  EXPECT_GT(largest, 0.5);
}

TEST(PureSensitivityTest, NoReplacedRecordMovesTwoScoresApartByMoreThanTheRange) {
  Eigen::MatrixXd corners(3, 4);
  corners << 1.0, 0.5, -1.0, 0.0, 0.0, 1.0, 0.25, -1.0, 2.0, 0.0, 0.0, 0.5;
  const std::vector<geometry::Vertices> sets = {geometry::Vertices::of_l1_ball(3, 2.0).value(),
                                                geometry::Vertices::of_simplex(3, 1.0).value(),
                                                geometry::Vertices::listed(corners).value()};
  double largest = 0.0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const geometry::Vertices& candidates = sets[seed % sets.size()];
    const auto count = static_cast<Eigen::Index>(1 + random.below(8));
    const planning::Release release = planned(selection(candidates, std::exp(4.0 * random.unit() - 2.0)), count);
    const auto& mechanism = std::get<mechanisms::Selection>(release.mechanism);
    const models::LinearModel model(models::Loss::LeastSquares, seed % 2 == 0 ? 3 : 2, seed % 2 != 0);
    Eigen::VectorXd point(3);
    for (double& w : point) w = 4.0 * random.unit() - 2.0;
    const auto sums = make_record_sums(model);
    const models::Records records = any_records(random, model.features(), count);
    const auto scores = [&](const models::Records& of) {
      std::vector<std::int64_t> out(static_cast<std::size_t>(candidates.count()));
      candidates.scores(exact_sum(queries::GradientQuestion{point}, release, of, everybody(of), sums.get()), out);
      return out;
    };
    const std::vector<std::int64_t> before = scores(records);
    for (int replacement = 0; replacement < 20; ++replacement) {
      const std::vector<std::int64_t> after = scores(replaced(records, random));
      for (std::size_t i = 0; i < before.size(); ++i) {
        for (std::size_t k = 0; k < before.size(); ++k) {
          const std::int64_t apart = (before[i] - before[k]) - (after[i] - after[k]);
          ASSERT_LE(apart, mechanism.draw.range().value());
          largest = std::max(largest, static_cast<double>(apart) / static_cast<double>(mechanism.draw.range().value()));
        }
      }
    }
  }
  EXPECT_EQ(largest, 1.0);  // the l1 ball's and the simplex's range is attained
}

TEST(SumOracleTest, ScoresAreTakenFromTheVerticesAnchor) {
  // Gradients -y x of two records at 0: (-1, -2) and (3, 1), their sum (2, -1). From the anchor (8, 8) the vertices are
  // (1, 1), (-1, 1) and (0, -1), the last of which the question names first and once more at its end.
  const Eigen::MatrixXd corners = (Eigen::MatrixXd(2, 3) << 9, 7, 8, 9, 9, 7).finished();
  const releases::ScoresMap map{geometry::Vertices::listed(corners).value(), 4};
  ASSERT_EQ(map.vertices.anchor(), Eigen::Vector2d(8, 8));
  const releases::Ask ask{map, {}, releases::L2Bound{releases::ClipNorm::create(64.0).value()}, 4};
  models::Records records{Eigen::MatrixXd(2, 2), Eigen::Vector2d(1.0, -1.0)};
  records.features << 1.0, 3.0, 2.0, 1.0;
  const models::LinearModel model(models::Loss::LeastSquares, 2, false);
  const auto sums = make_record_sums(model);
  const planning::Release release = planned(ask, 2);
  Eigen::VectorXd asked(6);
  asked << 0.0, 0.0, 2.0, 0.0, 1.0, 2.0;
  const std::vector<std::int64_t> sum =
      exact_sum(queries::ScoresQuestion{asked}, release, records, everybody(records), sums.get());
  const double step = release.lattice().step;
  const double expected[] = {1.0, 1.0, -3.0, 1.0};
  ASSERT_EQ(sum.size(), 4U);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(static_cast<double>(sum[k]) * step, expected[k], 4.0 * step) << k;
}

/// Least squares without intercept at 0: the gradient of (x, y) is -y x.
models::LinearModel plain_model(Eigen::Index features) { return {models::Loss::LeastSquares, features, false}; }

TEST(PureOraclesTest, ACountsNoiseIsDiscreteLaplaceOfItsOwnScale) {
  data::Dataset dataset;
  dataset.training = {Eigen::MatrixXd(1, 4), Eigen::VectorXd::Zero(4)};
  dataset.training.features << 1.0, 0.0, 1.0, 1.0;
  const planning::Release release = planned(statistic({0}, true, {0.0, 1.0}), 4, 0.5);
  const TestRandomness randomness(5, one_silo());
  std::map<std::int64_t, double> counts;
  constexpr std::uint64_t kDraws = 20'000;
  for (std::uint64_t round = 0; round < kDraws; ++round) {
    const auto stream = randomness.stream(RunId{}, {round});
    const queries::Answer answer =
        draw_and_sum({{round}, queries::StatisticQuestion{}}, release, {dataset, kNoPlaces}, nullptr, kWire, *stream);
    ++counts[std::get<queries::NoisedSums>(answer).values.at(0)];
  }
  // Three records have it; P[z] = (1 - q) / (1 + q) q^|z| with q = e^(-epsilon / 1).
  const double q = std::exp(-0.5);
  tests::expect_law(
      counts, -40, 46, [&](std::int64_t x) { return (1.0 - q) / (1.0 + q) * std::pow(q, std::abs(x - 3)); }, kDraws);
}

TEST(PureOraclesTest, ATotalIsNotDividedByTheRecords) {
  data::Dataset dataset;
  dataset.training = {Eigen::MatrixXd::Constant(1, 1000, 0.5), Eigen::VectorXd::Zero(1000)};
  const planning::Release release = planned(statistic({0}, false, {-1.0, 1.0}), 1000);
  const auto stream = NoiselessRandomness(5, one_silo()).stream(RunId{}, {0});
  const queries::Answer answer =
      draw_and_sum({{0}, queries::StatisticQuestion{}}, release, {dataset, kNoPlaces}, nullptr, kWire, *stream);
  EXPECT_EQ(std::get<queries::NoisedSums>(answer).values, std::vector<std::int64_t>{std::int64_t{1000} * (1 << 19)});
}

TEST(PureOraclesTest, AStatisticOfASliceReadsThePermutationsRecords) {
  data::Dataset dataset;
  dataset.training = {Eigen::MatrixXd(1, 4), Eigen::VectorXd::Zero(4)};
  dataset.training.features << 1.0, 0.0, 1.0, 1.0;
  const RecordPlaces permutation = RecordPlaces::permuted({1, 3, 0, 2});
  for (std::uint64_t part = 0; part < 2; ++part) {
    releases::Ask ask = statistic({0}, true, {0.0, 1.0});
    ask.records.slice = releases::Slice{releases::Slice::Cut::Equal, part, 2};
    const auto stream = NoiselessRandomness(5, one_silo()).stream(RunId{}, {0});
    const queries::Answer answer = draw_and_sum({{0}, queries::StatisticQuestion{}}, planned(ask, 4),
                                                {dataset, permutation}, nullptr, kWire, *stream);
    // No record is read twice in place of another.
    EXPECT_EQ(queries::values_of(answer), std::vector<std::int64_t>{part == 0 ? 1 : 2});
  }
}

/// exp(epsilon s_j / R) over its sum, by hand for scores -+<e_i, g> of the l1 ball: R is 4 levels.
std::vector<double> law_of(const Eigen::VectorXd& gradient_sum_over_bound, double epsilon) {
  std::vector<double> out;
  double sum = 0.0;
  for (const double g : gradient_sum_over_bound) {
    for (const double sign : {-1.0, 1.0}) {
      out.push_back(std::exp(epsilon * sign * g / 4.0));
      sum += out.back();
    }
  }
  for (double& p : out) p /= sum;
  return out;
}

TEST(PureOraclesTest, ASelectionFollowsTheExponentialLawOfTheSum) {
  data::Dataset dataset;
  dataset.training = {Eigen::MatrixXd(2, 3), Eigen::VectorXd(3)};
  dataset.training.features << 1.0, -1.0, 0.5, 0.25, 1.0, 0.0;
  dataset.training.targets << 1.0, 0.5, 4.0;
  // -y x: (-1, -1/4), (1/2, -1/2), (-2, 0), of which -2 is clamped to -1. In all (-3/2, -3/4).
  const geometry::Vertices ball = geometry::Vertices::of_l1_ball(2, 3.0).value();
  const auto sums = make_record_sums(plain_model(2));
  const TestRandomness randomness(6, one_silo());
  const auto drawn_law = [&](const planning::Release& release) {
    std::map<std::int64_t, double> counts;
    for (std::uint64_t round = 0; round < 20'000; ++round) {
      const auto stream = randomness.stream(RunId{}, {round});
      const queries::Answer answer = draw_and_sum({{round}, queries::GradientQuestion{Eigen::VectorXd::Zero(2)}},
                                                  release, {dataset, kNoPlaces}, sums.get(), kWire, *stream);
      ++counts[std::get<queries::Selected>(answer).values.at(0)];
    }
    return counts;
  };
  const std::vector<double> whole = law_of(Eigen::Vector2d(-1.5, -0.75), 2.0);
  tests::expect_law(
      drawn_law(planned(selection(ball, 1.0), 3, 2.0)), 0, 3,
      [&](std::int64_t j) { return whole[static_cast<std::size_t>(j)]; }, 20'000);

  // Of two records drawn afresh, each of the three pairs as often.
  releases::Ask some = selection(ball, 1.0);
  some.records.draw_fraction = 0.7;
  const planning::Release of_two = planned(some, 3, 2.0);
  ASSERT_EQ(of_two.records_drawn, 2);
  std::vector<double> mixed(4, 0.0);
  for (const auto& pair : {Eigen::Vector2d(-0.5, -0.75), Eigen::Vector2d(-2.0, -0.25), Eigen::Vector2d(-0.5, -0.5)})
    for (std::size_t j = 0; j < 4; ++j) mixed[j] += law_of(pair, 2.0)[j] / 3.0;
  tests::expect_law(
      drawn_law(of_two), 0, 3, [&](std::int64_t j) { return mixed[static_cast<std::size_t>(j)]; }, 20'000);
}

TEST(PureOraclesTest, WithoutNoiseTheVertexThatMinimisesIsChosen) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    data::Dataset dataset;
    dataset.training = {Eigen::MatrixXd(4, 20), Eigen::VectorXd(20)};
    for (Eigen::Index j = 0; j < 20; ++j) {
      for (Eigen::Index f = 0; f < 4; ++f) dataset.training.features(f, j) = 2.0 * random.unit() - 1.0;
      dataset.training.targets[j] = 2.0 * random.unit() - 1.0;
    }
    const geometry::Vertices ball = geometry::Vertices::of_l1_ball(4, 1.0).value();
    const auto sums = make_record_sums(plain_model(4));
    const auto stream = NoiselessRandomness(seed, one_silo()).stream(RunId{}, {0});
    const queries::Answer answer =
        draw_and_sum({{0}, queries::GradientQuestion{Eigen::VectorXd::Zero(4)}}, planned(selection(ball, 10.0), 20),
                     {dataset, kNoPlaces}, sums.get(), kWire, *stream);
    const Eigen::VectorXd gradient = -dataset.training.features * dataset.training.targets;
    EXPECT_EQ(queries::values_of(answer).at(0), ball.minimiser(gradient));
  }
}

TEST(PureOraclesTest, AClippedSumWithLaplaceNoiseIsAMeanOnTheWire) {
  data::Dataset dataset;
  dataset.training = {Eigen::MatrixXd::Constant(1, 8, 1.0), Eigen::VectorXd::Constant(8, -0.5)};
  const planning::Release release = planned(clipped(1, 1.0), 8, 2.0);
  const auto& laplace = std::get<mechanisms::LaplaceLattice>(release.mechanism);
  const auto sums = make_record_sums(plain_model(1));
  const TestRandomness randomness(7, one_silo());
  std::map<std::int64_t, double> counts;
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    const auto stream = randomness.stream(RunId{}, {round});
    const queries::Answer answer = draw_and_sum({{round}, queries::GradientQuestion{Eigen::VectorXd::Zero(1)}}, release,
                                                {dataset, kNoPlaces}, sums.get(), kWire, *stream);
    // The mean in steps of 2^-20, back on the lattice, in cells of 64 units.
    const double mean = std::ldexp(static_cast<double>(std::get<queries::NoisedSums>(answer).values.at(0)), -20);
    const auto units = static_cast<std::int64_t>(std::lround(8.0 * mean / laplace.lattice.step));
    ++counts[static_cast<std::int64_t>(std::floor(static_cast<double>(units) / 64.0))];
  }
  // Eight gradients of 1/2 are half of 8 Lambda; the noise has scale 2 Lambda / epsilon = Lambda units.
  const auto lambda = static_cast<double>(laplace.lattice.clip);
  const double centre = 4.0 * lambda;
  const double q = std::exp(-1.0 / lambda);
  const auto below = [&](double x) {  // P[sum <= x] of integers
    const double z = x - centre;
    return z < 0.0 ? std::pow(q, -z) / (1.0 + q) : 1.0 - std::pow(q, z + 1.0) / (1.0 + q);
  };
  tests::expect_law(
      counts, -200, 400,
      [&](std::int64_t cell) {
        const auto first = static_cast<double>(cell) * 64.0;
        return below(first + 63.0) - below(first - 1.0);
      },
      20'000);
}

TEST(PureOraclesDeathTest, WhatAModelMakesOfRecordsNeedsItsSums) {
  const planning::Release release = planned(clipped(1, 1.0), 1);
  const models::Records records{Eigen::MatrixXd::Zero(1, 1), Eigen::VectorXd::Zero(1)};
  EXPECT_DEATH((void)exact_sum(queries::GradientQuestion{Eigen::VectorXd::Zero(1)}, release, records, {0}, nullptr),
               "");
}

}  // namespace
}  // namespace undertone::silo
