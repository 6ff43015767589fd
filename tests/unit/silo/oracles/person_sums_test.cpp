#include "silo/oracles/person_sums.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <set>

#include "shared/base/random_source.hpp"

namespace undertone::silo {
namespace {

using mechanisms::Lattice;
using Form = releases::PersonContribution::Form;

constexpr Eigen::Index kPersonFeatures = 5;

models::LinearModel person_model(bool intercept = true, models::Loss loss = models::Loss::Logistic) {
  return {loss, kPersonFeatures, intercept};
}

Lattice person_lattice() { return {std::int64_t{1} << 20, 1.0 / (1 << 20)}; }  // of clip 1

/// Persons with so many records each.
models::Records persons(const std::vector<std::int64_t>& records, std::uint64_t seed) {
  RandomSource random(seed);
  const std::int64_t rows = std::accumulate(records.begin(), records.end(), std::int64_t{0});
  models::Records out{Eigen::MatrixXd(kPersonFeatures, rows), Eigen::VectorXd(rows), {0}};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (Eigen::Index j = 0; j < kPersonFeatures; ++j) out.features(j, i) = 2.0 * random.unit() - 1.0;
    out.targets[i] = random.below(2) == 0 ? -1.0 : 1.0;
  }
  for (const std::int64_t own : records) out.starts.push_back(out.starts.back() + own);
  return out;
}

std::vector<std::int64_t> all_of(const models::Records& block) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(block.count()));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

std::vector<std::int64_t> gradient_sum(const models::LinearModel& of, const models::Records& block,
                                       const std::vector<std::int64_t>& drawn, const PersonDraw& draw,
                                       const Eigen::VectorXd& point) {
  std::vector<std::int64_t> sum(static_cast<std::size_t>(of.dimension()));
  make_person_sums(models::Model(of), Form::ClippedMean)
      ->gradients(point, person_lattice(), {block, drawn, std::nullopt, &draw}, sum);
  return sum;
}

Eigen::VectorXd point_of(const models::LinearModel& of, std::uint64_t seed, double length) {
  RandomSource random(seed);
  Eigen::VectorXd out(of.dimension());
  for (double& number : out) number = length * (2.0 * random.unit() - 1.0);
  return out;
}

/// Spec person-unit, PU2: one record a person gives the very integers that records give.
TEST(PersonSumsTest, PersonsOfOneRecordGiveTheVeryIntegersOfRecords) {
  for (const bool intercept : {false, true}) {
    for (const models::Loss loss : {models::Loss::Logistic, models::Loss::LeastSquares}) {
      const models::LinearModel of = person_model(intercept, loss);
      for (const std::int64_t records_max : {1, 4, 16}) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
          const models::Records block = persons(std::vector<std::int64_t>(37, 1), seed);
          models::Records plain = block;
          plain.starts.clear();
          const PersonDraw draw(sha256("key"), records_max);
          const Eigen::VectorXd point = point_of(of, seed, seed % 2 == 0 ? 1.0 : 30.0);
          std::vector<std::int64_t> expected(static_cast<std::size_t>(of.dimension()));
          make_record_sums(models::Model(of))->gradients(point, person_lattice(), {plain, all_of(plain)}, expected);
          EXPECT_EQ(gradient_sum(of, block, all_of(block), draw, point), expected);
          const auto scores = static_cast<std::size_t>(of.metric_scales().size());
          std::vector<std::int64_t> metrics(scores);
          std::vector<std::int64_t> metrics_expected(scores);
          make_person_sums(models::Model(of), Form::ClippedMean)
              ->metrics(point, person_lattice(), {block, all_of(block), std::nullopt, &draw}, metrics);
          make_record_sums(models::Model(of))
              ->metrics(point, person_lattice(), {plain, all_of(plain)}, metrics_expected);
          EXPECT_EQ(metrics, metrics_expected);
        }
      }
    }
  }
}

/// What a person contributes: the clipped mean of her records' gradients, to rounding.
TEST(PersonSumsTest, APersonContributesTheMeanOfHerGradientsClippedOnce) {
  const models::LinearModel of = person_model();
  for (const double length : {0.3, 50.0}) {
    const models::Records block = persons({7}, 3);
    const Eigen::VectorXd point = point_of(of, 9, length);
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(of.dimension());
    Eigen::VectorXd own(of.dimension());
    for (Eigen::Index i = 0; i < block.rows(); ++i) {
      of.gradient(point, block, i, own);
      mean += own / 7.0;
    }
    if (mean.norm() > 1.0) mean /= mean.norm();
    const std::vector<std::int64_t> sum = gradient_sum(of, block, {0}, PersonDraw(sha256("key"), 16), point);
    for (Eigen::Index j = 0; j < mean.size(); ++j)
      EXPECT_NEAR(static_cast<double>(sum[static_cast<std::size_t>(j)]) * person_lattice().step, mean[j], 4e-6);
  }
}

double distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  double squares = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j)
    squares += static_cast<double>(a[j] - b[j]) * static_cast<double>(a[j] - b[j]);
  return std::sqrt(squares);
}

/// Spec person-unit, PU3: one person is replaced by any other, with no, one or a hundred records and any numbers in
/// them; sums over the same draw are within twice the clip, and a pair reaches it.
TEST(PersonSumsTest, ReplacingAPersonMovesASumByTwiceTheClipAtMost) {
  RandomSource random(1);
  double worst = 0.0;
  for (int trial = 0; trial < 400; ++trial) {
    const models::LinearModel of = person_model(trial % 2 == 0);
    std::vector<std::int64_t> counts(9);
    for (std::int64_t& count : counts) count = static_cast<std::int64_t>(random.below(5));
    const std::vector<std::int64_t> sizes = {0, 1, 2, 17, 100};
    counts[4] = sizes[random.below(sizes.size())];
    const models::Records block = persons(counts, 7);
    // The neighbour: her rows are others, as many as may be, and everybody else has the very same ones.
    const std::int64_t held = sizes[random.below(sizes.size())];
    models::Records neighbour{Eigen::MatrixXd(kPersonFeatures, block.rows() - counts[4] + held),
                              Eigen::VectorXd(block.rows() - counts[4] + held),
                              {0}};
    std::int64_t to = 0;
    for (std::size_t person = 0; person < counts.size(); ++person) {
      const std::int64_t own = person == 4 ? held : counts[person];
      for (std::int64_t i = 0; i < own; ++i, ++to) {
        const std::int64_t from = block.starts[person] + i;
        if (person == 4) {
          const double hostile[] = {1.0, -1.0, 1e300, 1e-300, std::numeric_limits<double>::quiet_NaN()};
          for (Eigen::Index j = 0; j < kPersonFeatures; ++j)
            neighbour.features(j, to) = trial % 4 == 0 ? hostile[random.below(5)] : (trial % 3 == 0 ? 1.0 : -1.0);
          neighbour.targets[to] = random.below(2) == 0 ? -1.0 : 1.0;
        } else {
          neighbour.features.col(to) = block.features.col(from);
          neighbour.targets[to] = block.targets[from];
        }
      }
      neighbour.starts.push_back(to);
    }
    const Eigen::VectorXd point = point_of(of, static_cast<std::uint64_t>(trial), trial % 5 == 0 ? 1e6 : 3.0);
    const PersonDraw draw(sha256(fmt::format("{}", trial)), 1 + static_cast<std::int64_t>(random.below(16)));
    const double moved = distance(gradient_sum(of, block, all_of(block), draw, point),
                                  gradient_sum(of, neighbour, all_of(neighbour), draw, point));
    EXPECT_LE(moved, 2.0 * static_cast<double>(person_lattice().clip));
    worst = std::max(worst, moved / (2.0 * static_cast<double>(person_lattice().clip)));
  }
  EXPECT_GT(worst, 0.4);
}

TEST(PersonSumsTest, OppositePersonsOfManyRecordsReachTheBoundAndNotMore) {
  const models::LinearModel of = person_model(true, models::Loss::LeastSquares);
  for (const std::int64_t held : {1, 5, 100}) {
    models::Records one = persons({held}, 1);
    one.features.setOnes();
    one.targets.setConstant(1e6);
    models::Records other = one;
    other.targets.setConstant(-1e6);
    const PersonDraw draw(sha256("key"), 16);
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(of.dimension());
    const double moved = distance(gradient_sum(of, one, {0}, draw, zero), gradient_sum(of, other, {0}, draw, zero));
    EXPECT_GT(moved, 1.99 * static_cast<double>(person_lattice().clip));
    EXPECT_LE(moved, 2.0 * static_cast<double>(person_lattice().clip));
  }
}

TEST(PersonSumsTest, APersonWithoutARecordAddsZeroAndIsCounted) {
  const models::LinearModel of = person_model();
  const models::Records block = persons({0, 3, 0}, 2);
  const PersonDraw draw(sha256("key"), 4);
  const Eigen::VectorXd point = point_of(of, 1, 1.0);
  EXPECT_EQ(gradient_sum(of, block, {0, 1, 2}, draw, point), gradient_sum(of, block, {1}, draw, point));
  const models::Records nobody = persons({0, 0}, 2);
  EXPECT_EQ(gradient_sum(of, nobody, {0, 1}, draw, point), std::vector<std::int64_t>(6, 0));
}

TEST(PersonSumsTest, RowsOfABinThatAreNotCountedAreWorkedOnAndDropped) {
  const models::LinearModel of = person_model();
  const models::Records block = persons({2, 5, 1, 40, 3, 0, 2, 9}, 2);
  const PersonDraw draw(sha256("key"), 4);
  const Eigen::VectorXd point = point_of(of, 1, 1.0);
  const std::vector<std::int64_t> rows = {3, 6, 1, 0, 2};
  std::vector<std::int64_t> sum(6);
  make_person_sums(models::Model(of), Form::ClippedMean)
      ->gradients(point, person_lattice(), {block, rows, std::size_t{2}, &draw}, sum);
  EXPECT_EQ(sum, gradient_sum(of, block, {3, 6}, draw, point));
}

/// A person with no, one or a hundred records, whose gradients all point one way, as far as they can, or who has any
/// numbers.
models::Records any_person(RandomSource& random, bool hostile) {
  const std::int64_t sizes[] = {0, 1, 2, 17, 100};
  models::Records out = persons({sizes[random.below(5)]}, random.word());
  const double any[] = {1.0, -1.0, 1e300, 1e-300, std::numeric_limits<double>::quiet_NaN()};
  const double side = random.below(2) == 0 ? -1.0 : 1.0;
  for (double& number : out.features.reshaped()) number = hostile ? any[random.below(5)] : side;
  if (!hostile) out.targets.setConstant(-1e3);
  return out;
}

std::vector<std::int64_t> moment_sum(const models::Records& block, const PersonDraw& draw) {
  const models::MomentsModel of(kPersonFeatures);
  std::vector<std::int64_t> sum(static_cast<std::size_t>(of.dimension()));
  const std::vector<std::int64_t> everybody = all_of(block);
  make_person_sums(models::Model(of), Form::ClippedMean)
      ->gradients(Eigen::VectorXd::Zero(of.dimension()), person_lattice(), {block, everybody, std::nullopt, &draw},
                  sum);
  return sum;
}

TEST(PersonSumsTest, MomentsOfPersonsAreMeansOfTheirRecordsMoments) {
  const models::MomentsModel of(kPersonFeatures);
  const PersonDraw draw(sha256("key"), 16);
  // One record each: the very integers of records.
  const models::Records single = persons(std::vector<std::int64_t>(20, 1), 5);
  models::Records plain = single;
  plain.starts.clear();
  std::vector<std::int64_t> expected(static_cast<std::size_t>(of.dimension()));
  make_record_sums(models::Model(of))
      ->gradients(Eigen::VectorXd::Zero(of.dimension()), person_lattice(), {plain, all_of(plain)}, expected);
  EXPECT_EQ(moment_sum(single, draw), expected);
  // Several: the mean, clipped once.
  const models::Records block = persons({6}, 4);
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(of.dimension());
  Eigen::VectorXd own(of.dimension());
  for (Eigen::Index i = 0; i < 6; ++i) {
    of.gradient(Eigen::VectorXd::Zero(of.dimension()), block, i, own);
    mean += own / 6.0;
  }
  mean /= std::max(1.0, mean.norm());
  const std::vector<std::int64_t> sum = moment_sum(block, draw);
  for (Eigen::Index j = 0; j < mean.size(); ++j)
    EXPECT_NEAR(static_cast<double>(sum[static_cast<std::size_t>(j)]) * person_lattice().step, mean[j], 4e-6);
}

TEST(PersonSumsTest, ReplacingAPersonMovesMomentsByTwiceTheClipAtMost) {
  RandomSource random(11);
  double worst = 0.0;
  for (int trial = 0; trial < 400; ++trial) {
    const PersonDraw draw(sha256(fmt::format("{}", trial)), 1 + static_cast<std::int64_t>(random.below(16)));
    models::Records one = any_person(random, trial % 2 == 0);
    const models::Records other = any_person(random, trial % 3 == 0);
    const double moved = distance(moment_sum(one, draw), moment_sum(other, draw));
    EXPECT_LE(moved, 2.0 * static_cast<double>(person_lattice().clip));
    worst = std::max(worst, moved / (2.0 * static_cast<double>(person_lattice().clip)));
  }
  EXPECT_GT(worst, 0.4);
}

std::vector<std::int64_t> capped_sum(const models::LinearModel& of, const models::Records& block,
                                     const PersonDraw& draw, const Eigen::VectorXd& point, bool differences) {
  std::vector<std::int64_t> sum(static_cast<std::size_t>(of.dimension()));
  const std::vector<std::int64_t> everybody = all_of(block);
  const std::unique_ptr<RecordSums> sums = make_person_sums(models::Model(of), Form::CappedSum);
  const RecordSums::Drawn drawn{block, everybody, std::nullopt, &draw};
  const Eigen::VectorXd from = -0.5 * point;
  if (differences) {
    sums->differences({point, from}, person_lattice(), drawn, sum);
  } else {
    sums->gradients(point, person_lattice(), drawn, sum);
  }
  return sum;
}

/// Spec person-unit 3.1: each record is clipped by itself and counts one of as many as may count, so that whoever has
/// more of them weighs more.
TEST(PersonSumsTest, ACappedSumGrowsWithHerRecordsUpToAsManyAsMayCount) {
  const models::LinearModel of = person_model(true, models::Loss::LeastSquares);
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(of.dimension());
  constexpr std::int64_t kMost = 8;
  for (const std::int64_t held : {0, 1, 3, 8, 100}) {
    models::Records block = persons({held}, 1);
    block.features.setOnes();
    block.targets.setConstant(1e6);  // longer than the clip, each of them
    const std::vector<std::int64_t> sum = capped_sum(of, block, PersonDraw(sha256("key"), kMost), zero, false);
    const double length = distance(sum, std::vector<std::int64_t>(sum.size(), 0)) * person_lattice().step;
    EXPECT_NEAR(length, static_cast<double>(std::min(held, kMost)) / static_cast<double>(kMost), 1e-4) << held;
  }
}

TEST(PersonSumsTest, ACappedSumOfOneRecordAPersonIsThatOfRecords) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const models::LinearModel of = person_model(seed % 2 == 0);
    const models::Records block = persons(std::vector<std::int64_t>(37, 1), seed);
    models::Records plain = block;
    plain.starts.clear();
    const Eigen::VectorXd point = point_of(of, seed, seed % 3 == 0 ? 1.0 : 30.0);
    std::vector<std::int64_t> expected(static_cast<std::size_t>(of.dimension()));
    make_record_sums(models::Model(of))->gradients(point, person_lattice(), {plain, all_of(plain)}, expected);
    EXPECT_EQ(capped_sum(of, block, PersonDraw(sha256("key"), 1), point, false), expected);
  }
}

TEST(PersonSumsTest, ReplacingAPersonMovesACappedSumByTwiceTheClipAtMost) {
  RandomSource random(12);
  double worst = 0.0;
  for (int trial = 0; trial < 400; ++trial) {
    const models::LinearModel of = person_model(trial % 2 == 0, models::Loss::LeastSquares);
    const models::Records one = any_person(random, trial % 4 == 0);
    const models::Records other = any_person(random, trial % 4 == 0);
    const Eigen::VectorXd point = point_of(of, random.word(), trial % 5 == 0 ? 1e6 : 1.0);
    const PersonDraw draw(sha256(fmt::format("{}", trial)), 1 + static_cast<std::int64_t>(random.below(64)));
    const double moved =
        distance(capped_sum(of, one, draw, point, trial % 3 == 0), capped_sum(of, other, draw, point, trial % 3 == 0));
    const double bound = 2.0 * static_cast<double>(person_lattice().clip);
    EXPECT_LE(moved, bound);
    worst = std::max(worst, moved / bound);
  }
  EXPECT_GT(worst, 0.9);
}

/// Everything that a linear model's persons are added up to, by what is asked.
enum class PersonAsk { Gradients, Differences, DualGradients, DualDifferences, Clamped, Path, Carried, Scores };
constexpr PersonAsk kPersonAsks[] = {PersonAsk::Gradients,       PersonAsk::Differences, PersonAsk::DualGradients,
                                     PersonAsk::DualDifferences, PersonAsk::Clamped,     PersonAsk::Path,
                                     PersonAsk::Carried,         PersonAsk::Scores};
constexpr std::int64_t kPersonLevels = 1 << 10;
const RecordSums::DualClip kPersonDual{3.0, 0.7};

bool is_clamped(PersonAsk asked) {
  return asked == PersonAsk::Clamped || asked == PersonAsk::Path || asked == PersonAsk::Carried;
}

std::vector<std::int64_t> asked_sum(PersonAsk asked, RecordSums& sums, const models::LinearModel& of,
                                    const Eigen::VectorXd& point, const RecordSums::Drawn& drawn) {
  std::vector<std::int64_t> sum(static_cast<std::size_t>(of.dimension()));
  const Eigen::VectorXd from = -0.5 * point;
  const RecordSums::PointPair pair{point, from};
  const mechanisms::ClampUnits units{static_cast<double>(kPersonLevels) / 0.4, kPersonLevels, 1000};
  switch (asked) {
    case PersonAsk::Gradients:
      sums.gradients(point, person_lattice(), drawn, sum);
      break;
    case PersonAsk::Differences:
      sums.differences(pair, person_lattice(), drawn, sum);
      break;
    case PersonAsk::DualGradients:
      sums.dual_gradients(point, kPersonDual, person_lattice(), drawn, sum);
      break;
    case PersonAsk::DualDifferences:
      sums.dual_differences(pair, kPersonDual, person_lattice(), drawn, sum);
      break;
    case PersonAsk::Clamped:
      sums.clamped_gradients(point, mechanisms::ClampLattice::create(0.4, 10, 1000).value(), drawn, sum);
      break;
    case PersonAsk::Path:
      sums.add_clamped_terms({point, point, 0.0}, units, drawn, sum);
      break;
    case PersonAsk::Carried:
      sums.add_clamped_terms({point, from, 0.75}, units, drawn, sum);
      break;
    case PersonAsk::Scores: {
      Eigen::MatrixXd directions(of.dimension(), 3);
      for (Eigen::Index k = 0; k < directions.size(); ++k)
        directions.data()[k] = 0.5 - 0.1 * static_cast<double>(k % 7);
      sum.resize(3);
      sums.scores(point, directions, person_lattice(), drawn, sum);
      break;
    }
  }
  return sum;
}

std::vector<std::int64_t> asked_sum(PersonAsk asked, const models::LinearModel& of, const models::Records& block,
                                    const PersonDraw& draw, const Eigen::VectorXd& point) {
  const std::vector<std::int64_t> everybody = all_of(block);
  return asked_sum(asked, *make_person_sums(models::Model(of), Form::ClippedMean), of, point,
                   {block, everybody, std::nullopt, &draw});
}

/// PU2 again, of selections, dual norms and paths.
TEST(PersonSumsTest, WhateverIsAskedPersonsOfOneRecordGiveTheVeryIntegersOfRecords) {
  for (const PersonAsk asked : kPersonAsks) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(asked), seed));
      const models::LinearModel of = person_model(seed % 3 != 0);
      const models::Records block = persons(std::vector<std::int64_t>(37, 1), seed);
      models::Records plain = block;
      plain.starts.clear();
      const Eigen::VectorXd point = point_of(of, seed, seed % 2 == 0 ? 1.0 : 30.0);
      const std::vector<std::int64_t> everybody = all_of(plain);
      EXPECT_EQ(asked_sum(asked, of, block, PersonDraw(sha256("key"), 4), point),
                asked_sum(asked, *make_record_sums(models::Model(of)), of, point, {plain, everybody}));
    }
  }
}

/// PU3 again: another person with any number of records and any numbers in them moves a clipped sum by twice the clip
/// in l2 at most, and a clamped one by twice the levels in every coordinate; and everybody else adds what she added.
TEST(PersonSumsTest, WhateverIsAskedReplacingAPersonMovesASumByNoMoreThanARecord) {
  RandomSource random(11);
  for (const PersonAsk asked : kPersonAsks) {
    double worst = 0.0;
    for (int trial = 0; trial < 150; ++trial) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(asked), trial));
      const models::LinearModel of = person_model(trial % 2 == 0, models::Loss::LeastSquares);
      const models::Records one = any_person(random, trial % 4 == 0);
      const models::Records other = any_person(random, trial % 4 == 0);
      const Eigen::VectorXd point = point_of(of, random.word(), trial % 5 == 0 ? 1e6 : 1.0);
      const PersonDraw draw(sha256(fmt::format("{}", trial)), 1 + static_cast<std::int64_t>(random.below(16)));
      const std::vector<std::int64_t> with = asked_sum(asked, of, one, draw, point);
      const std::vector<std::int64_t> without = asked_sum(asked, of, other, draw, point);
      double most = 0.0;
      for (std::size_t j = 0; j < with.size(); ++j)
        most = std::max(most, static_cast<double>(std::abs(with[j] - without[j])));
      const double moved = is_clamped(asked) ? most : distance(with, without);
      const double bound = 2.0 * static_cast<double>(is_clamped(asked) ? kPersonLevels : person_lattice().clip);
      EXPECT_LE(moved, bound);
      worst = std::max(worst, moved / bound);
    }
    EXPECT_GT(worst, asked == PersonAsk::DualGradients || asked == PersonAsk::DualDifferences ? 0.5 : 0.9)
        << static_cast<int>(asked);
  }
}

/// In the dual norm, too: what one person adds is no longer than the job's clip, to rounding.
TEST(PersonSumsTest, APersonsMeanIsClippedInTheDualNorm) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const models::LinearModel of = person_model(seed % 2 == 0, models::Loss::LeastSquares);
    const models::Records block = persons({9}, seed);
    const std::vector<std::int64_t> sum =
        asked_sum(seed % 3 == 0 ? PersonAsk::DualDifferences : PersonAsk::DualGradients, of, block,
                  PersonDraw(sha256("key"), 4), point_of(of, seed, 9.0));
    double length = 0.0;
    for (const std::int64_t unit : sum)
      length += std::pow(std::abs(static_cast<double>(unit) * person_lattice().step), kPersonDual.exponent);
    EXPECT_LE(std::pow(length, 1.0 / kPersonDual.exponent), kPersonDual.norm * (1.0 + 1e-9));
  }
}

/// A dense network, and one that convolves and writes gradients out or not.
std::vector<models::Network> person_networks() {
  return {
      models::Network::create({{1, 1, kPersonFeatures}, {models::DenseShape{4, models::Activation::Tanh}}, 3}).value(),
      models::Network::create({{1, 1, kPersonFeatures}, {}, 3}).value(),
      models::Network::create({{1, 1, kPersonFeatures}, {models::ConvolutionShape{2, 1}}, 3}).value()};
}

models::Records classed(models::Records block, RandomSource& random) {
  for (double& target : block.targets) target = static_cast<double>(random.below(3));
  return block;
}

struct NetworkSums {
  std::vector<std::int64_t> gradients;
  std::vector<std::int64_t> differences;
};
NetworkSums sums_of(RecordSums& sums, const models::Network& network, const RecordSums::Drawn& drawn, double length) {
  RandomSource random(11);
  Eigen::VectorXd here(network.dimension());
  Eigen::VectorXd there(network.dimension());
  for (double& number : here) number = length * (2.0 * random.unit() - 1.0);
  for (double& number : there) number = length * (2.0 * random.unit() - 1.0);
  NetworkSums out;
  out.gradients.resize(static_cast<std::size_t>(network.dimension()));
  out.differences.resize(out.gradients.size());
  sums.gradients(here, person_lattice(), drawn, out.gradients);
  sums.differences({here, there}, person_lattice(), drawn, out.differences);
  return out;
}

TEST(PersonSumsTest, OfNetworksPersonsOfOneRecordGiveTheVeryIntegersOfRecords) {
  RandomSource random(5);
  for (const models::Network& network : person_networks()) {
    const models::Records block = classed(persons(std::vector<std::int64_t>(70, 1), 4), random);
    models::Records plain = block;
    plain.starts.clear();
    const PersonDraw draw(sha256("key"), 1);
    const std::vector<std::int64_t> all = all_of(block);
    const NetworkSums of_persons = sums_of(*make_person_sums(models::Model(network), Form::MeanOfClipped), network,
                                           {block, all, std::nullopt, &draw}, 1.0);
    const NetworkSums of_records = sums_of(*make_record_sums(models::Model(network)), network, {plain, all}, 1.0);
    EXPECT_EQ(of_persons.gradients, of_records.gradients);
    EXPECT_EQ(of_persons.differences, of_records.differences);
  }
}

/// A person's part is the mean of her clipped gradients, and what stands where she has no record does not matter.
TEST(PersonSumsTest, OfNetworksAPersonAddsTheMeanOfHerClippedRecords) {
  RandomSource random(6);
  for (const models::Network& network : person_networks()) {
    models::Records block = classed(persons({3, 1, 40}, 4), random);
    const PersonDraw draw(sha256("key"), 16);
    const std::vector<std::int64_t> two = {0, 1};
    const auto sums = make_person_sums(models::Model(network), Form::MeanOfClipped);
    const NetworkSums found = sums_of(*sums, network, {block, two, std::nullopt, &draw}, 3.0);
    models::Records plain = block;
    plain.starts.clear();
    const auto records = make_record_sums(models::Model(network));
    std::vector<double> expected(found.gradients.size());
    for (const std::int64_t row : {0, 1, 2, 3}) {
      const std::vector<std::int64_t> one = {row};
      const NetworkSums own = sums_of(*records, network, {plain, one}, 3.0);
      for (std::size_t j = 0; j < expected.size(); ++j)
        expected[j] += static_cast<double>(own.gradients[j]) / (row == 3 ? 1.0 : 3.0);
    }
    for (std::size_t j = 0; j < expected.size(); ++j)
      EXPECT_NEAR(static_cast<double>(found.gradients[j]), expected[j], 4.0);
    for (Eigen::Index row = 4; row < 44; ++row)
      block.features.col(row).setConstant(row % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : 1e300);
    const NetworkSums again = sums_of(*sums, network, {block, two, std::nullopt, &draw}, 3.0);
    EXPECT_EQ(again.gradients, found.gradients);
    EXPECT_EQ(again.differences, found.differences);
  }
}

TEST(PersonSumsTest, OfNetworksReplacingAPersonMovesASumByTwiceTheClipAtMost) {
  RandomSource random(7);
  double worst = 0.0;
  for (const models::Network& network : person_networks()) {
    for (int trial = 0; trial < 40; ++trial) {
      const std::int64_t sizes[] = {0, 1, 2, 17, 100};
      const std::int64_t others[] = {3, 1};
      const models::Records rest = classed(persons({others[0], others[1]}, 8), random);
      const auto with = [&](std::int64_t held) {
        models::Records own = classed(persons({held}, random.below(1000)), random);
        models::Records out{Eigen::MatrixXd(kPersonFeatures, 4 + held), Eigen::VectorXd(4 + held), {0, 3, 4, 4 + held}};
        out.features << rest.features, 50.0 * own.features;
        out.targets << rest.targets, own.targets;
        if (held > 1 && trial % 5 == 0) out.features(0, 5) = std::numeric_limits<double>::infinity();
        return out;
      };
      const models::Records one = with(sizes[random.below(5)]);
      const models::Records other = with(sizes[random.below(5)]);
      const PersonDraw draw(sha256(fmt::format("{}", trial)), 1 + static_cast<std::int64_t>(random.below(16)));
      const std::vector<std::int64_t> all = {0, 1, 2};
      const auto sums = make_person_sums(models::Model(network), Form::MeanOfClipped);
      const NetworkSums a = sums_of(*sums, network, {one, all, std::nullopt, &draw}, 2.0);
      const NetworkSums b = sums_of(*sums, network, {other, all, std::nullopt, &draw}, 2.0);
      const double most = 2.0 * static_cast<double>(person_lattice().clip);
      EXPECT_LE(distance(a.gradients, b.gradients), most);
      EXPECT_LE(distance(a.differences, b.differences), most);
      worst = std::max(worst, distance(a.gradients, b.gradients) / most);
    }
  }
  EXPECT_GT(worst, 0.6);
}

TEST(PersonDrawTest, DrawsEveryRecordOfFewAndDifferentOnesOfMany) {
  const models::Records block = persons({3, 100, 16}, 2);
  const PersonDraw draw(sha256("key"), 16);
  PersonRows pass(draw, block);
  std::vector<std::int64_t> rows(16);
  EXPECT_EQ(pass.next(0, rows), 3U);
  EXPECT_EQ((std::vector<std::int64_t>(rows.begin(), rows.begin() + 3)), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(pass.next(2, rows), 16U);
  EXPECT_EQ(rows.front(), 103);
  EXPECT_EQ(rows.back(), 118);
  EXPECT_EQ(pass.next(1, rows), 16U);
  const std::set<std::int64_t> different(rows.begin(), rows.end());
  EXPECT_EQ(different.size(), 16U);
  EXPECT_GE(*different.begin(), 3);
  EXPECT_LT(*different.rbegin(), 103);
}

/// Each of her records is as likely as any other: a chi square over 2,000 releases.
TEST(PersonDrawTest, EachRecordIsAsLikelyAsAnyOther) {
  const models::Records block = persons({20}, 2);
  std::vector<int> seen(20);
  std::vector<std::int64_t> rows(5);
  constexpr int kReleases = 2000;
  for (int release = 0; release < kReleases; ++release) {
    const PersonDraw draw(sha256(fmt::format("{}", release)), 5);
    EXPECT_EQ(PersonRows(draw, block).next(0, rows), 5U);
    for (const std::int64_t row : rows) ++seen[static_cast<std::size_t>(row)];
  }
  const double expected = kReleases * 5.0 / 20.0;
  double chi_square = 0.0;
  for (const int count : seen) chi_square += (count - expected) * (count - expected) / (expected * (1.0 - 5.0 / 20.0));
  EXPECT_LT(chi_square * 19.0 / 20.0, 52.0);  // 19 degrees: 7e-5
}

/// A round that is done again after a crash looks at the same records of everybody.
TEST(PersonDrawTest, APassThatIsDoneAgainLooksAtTheSameRecords) {
  const models::Records block = persons(std::vector<std::int64_t>(50, 40), 2);
  const PersonDraw draw(sha256("key"), 5);
  const PersonDraw another(sha256("another key"), 5);
  PersonRows first(draw, block);
  PersonRows again(draw, block);
  PersonRows other(another, block);
  int differ = 0;
  std::set<std::vector<std::int64_t>> places;
  for (std::int64_t person = 0; person < 50; ++person) {
    std::vector<std::int64_t> one(5);
    std::vector<std::int64_t> two(5);
    std::vector<std::int64_t> three(5);
    (void)first.next(person, one);
    (void)again.next(person, two);
    (void)other.next(person, three);
    EXPECT_EQ(one, two);
    differ += one == three ? 0 : 1;
    for (std::int64_t& row : one) row -= 40 * person;
    places.insert(one);
  }
  EXPECT_GT(differ, 45);
  EXPECT_GT(places.size(), 45U);  // of 658,008 ways to draw five of forty
}

/// Whoever else is drawn, in whatever order, changes nobody's records: what a sum over a secret draw is calibrated to
/// compares draws that differ in one person, and takes everybody else's part for the same.
TEST(PersonDrawTest, HerRecordsDoNotDependOnWhoElseIsDrawn) {
  const models::Records block = persons(std::vector<std::int64_t>(50, 40), 2);
  for (const std::int64_t most : {1, 4, 8, 9, 64}) {
    const PersonDraw draw(sha256("key"), most);
    std::vector<std::vector<std::int64_t>> all;
    PersonRows pass(draw, block);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(most));
    for (std::int64_t person = 0; person < 50; ++person) {
      (void)pass.next(person, rows);
      all.push_back(rows);
    }
    PersonRows some(draw, block);
    for (const std::int64_t person : {49, 3, 4, 5, 17, 16, 3, 0, 48}) {
      (void)some.next(person, rows);
      EXPECT_EQ(rows, all[static_cast<std::size_t>(person)]) << person << " of " << most;
    }
  }
}

/// Spec person-unit 4: every row that is looked at is one of the block's, whatever she has, and as many.
TEST(PersonDrawTest, TheNumberOfRowsThatAreLookedAtDoesNotDependOnHers) {
  const models::Records block = persons({0, 1, 100}, 2);
  const PersonDraw draw(sha256("key"), 8);
  PersonRows pass(draw, block);
  for (std::int64_t person = 0; person < 3; ++person) {
    std::vector<std::int64_t> rows(8, -1);
    (void)pass.next(person, rows);
    for (const std::int64_t row : rows) {
      EXPECT_GE(row, 0);
      EXPECT_LT(row, block.rows());
    }
  }
}

}  // namespace
}  // namespace undertone::silo
