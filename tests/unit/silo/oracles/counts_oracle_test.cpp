#include "silo/oracles/counts_oracle.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "silo/oracles/test_randomness.hpp"
#include "tests/support/shuffled_round.hpp"

namespace undertone::silo {
namespace {

using tests::ShuffledRound;
using tests::ShuffleForm;

constexpr Eigen::Index kDimension = 3;

/// Records of least squares without intercept, so that a record's gradient at w is (x w - y) x.
data::Dataset dataset(std::uint64_t seed, Eigen::Index count) {
  RandomSource random(seed);
  data::Dataset out;
  out.training = {Eigen::MatrixXd(kDimension, count), Eigen::VectorXd(count)};
  for (Eigen::Index j = 0; j < count; ++j) {
    for (Eigen::Index f = 0; f < kDimension; ++f) out.training.features(f, j) = 2.0 * random.unit() - 1.0;
    out.training.targets[j] = 6.0 * random.unit() - 3.0;
  }
  return out;
}

std::unique_ptr<RecordSums> record_sums() {
  return make_record_sums(models::LinearModel(models::Loss::LeastSquares, kDimension, false));
}

SiloId silo(std::size_t i) { return SiloId::create(fmt::format("silo-{}", i)).value(); }

/// What three silos of 9 records, of which they draw 4, come to in a form. @param randomness of each silo
template <class Randomness>
folds::Gathered gathered(ShuffledRound& round, std::uint64_t seed) {
  round.release.population = round.release.block_records = round.release.positions.to = 9;
  const std::unique_ptr<RecordSums> sums = record_sums();
  BinomialCoins coins;
  std::vector<std::vector<sealed::SealedMessage>> messages(round.layout.shufflers());
  for (std::size_t i = 0; i < ShuffledRound::kCohort; ++i) {
    const data::Dataset records = dataset(i, 9);
    const std::unique_ptr<ReleaseStream> stream = Randomness(seed, silo(i)).stream(round.run, round.query.round);
    const std::vector<std::int64_t> counts =
        draw_and_count(round.query, round.release, {records, {}}, *sums, coins, *stream);
    std::vector<sealed::SealedMessage> each =
        sealed::seal_counts(counts, round.layout, round.seal_for(), *stream).value();
    for (std::size_t k = 0; k < each.size(); ++k) messages[k].push_back(std::move(each[k]));
  }
  const std::unique_ptr<sealed::BatchFold> fold = round.fold();
  for (std::size_t k = 0; k < messages.size(); ++k)
    EXPECT_TRUE(fold->take(k, ShuffledRound::kCohort, round.forwarded(k, messages[k])));
  return fold->gathered().value();
}

TEST(CountsOracleTest, OneSeedGivesTheAnalyzerTheSameNumbersInEveryEncoding) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    ShuffledRound bits(ShuffleForm::Bits);
    ShuffledRound counts(ShuffleForm::Counts);
    ShuffledRound shares(ShuffleForm::Shares);
    const Eigen::VectorXd mean = gathered<TestRandomness>(bits, seed).mean();
    EXPECT_EQ(gathered<TestRandomness>(counts, seed).mean(), mean);
    EXPECT_EQ(gathered<TestRandomness>(shares, seed).mean(), mean);
    EXPECT_NE(gathered<TestRandomness>(shares, seed + 100).mean(), mean);
  }
}

TEST(CountsOracleTest, WithoutNoiseTheMeanIsOffByAtMostAStepOfTheGrid) {
  // 4 records of 2 coins: 4 heads, exactly. A sum is off by half a step for rounding, and a record by 2^-31 for being
  // cut to the lattice.
  ShuffledRound round(ShuffleForm::Shares);
  round.release.records_drawn = 4;
  const Eigen::VectorXd mean = gathered<NoiselessRandomness>(round, 3).mean();
  Eigen::VectorXd expected = Eigen::VectorXd::Zero(kDimension);
  for (std::size_t i = 0; i < ShuffledRound::kCohort; ++i) {
    const data::Dataset records = dataset(i, 9);
    for (const std::int64_t j : NoiselessRandomness(3, silo(i)).stream(round.run, round.query.round)->subset(9, 4)) {
      const Eigen::VectorXd x = records.training.features.col(j);
      Eigen::VectorXd gradient = (x.sum() - records.training.targets[j]) * x;
      gradient *= std::min(1.0, 2.0 / gradient.norm());
      expected += gradient / 12.0;
    }
  }
  const double step = 2.0 * 2.0 / 3.0;  // 2 L / g
  for (Eigen::Index j = 0; j < kDimension; ++j) EXPECT_NEAR(mean[j], expected[j], 3.0 * 0.5 * step / 12.0 + 1e-5);
}

TEST(CountsOracleTest, NoiselessCountsAreNearestWithHalfACoinDown) {
  // One record at the centre of the grid {0 .. 3}, 1.5, goes up; 3 coins of 1/2 are 1.5 heads, 3 of 1/4 are 0.75.
  const std::unique_ptr<ReleaseStream> stream = NoiselessRandomness(1, silo(0)).stream(RunId{}, RoundIndex{0});
  const auto count = [&](noise::Rational heads) {
    const auto parameters = mechanisms::BinomialParameters::create(3, 3, heads).value();
    std::vector<std::int64_t> counts(1, 0);
    stream->add_rounded(std::vector<std::int64_t>{0}, 1, parameters, counts);
    EXPECT_EQ(counts[0], 2);
    stream->add_coins(BinomialCoins().of(parameters, 1), counts);
    return counts[0] - 2;
  };
  EXPECT_EQ(count({1, 2}), 1);
  EXPECT_EQ(count({1, 4}), 1);
}

TEST(CountsOracleTest, DifferencesAreClippedToWhatTheirPointsAllow) {
  // Points 0.02 apart and smoothness 3: gradients' differences of x (x (w - w')) are clipped to 0.06 instead of 2, and
  // the grid's step is that much finer.
  const Eigen::Vector3d here(1.0, 1.0, 1.0);
  const Eigen::Vector3d there(1.02, 1.0, 1.0);
  ShuffledRound round(ShuffleForm::Counts);
  Eigen::VectorXd pair(6);
  pair << here, there;
  round.query.question = queries::GradientDifferenceQuestion{pair};
  round.release.ask.map = releases::GradientDifferenceMap{};
  std::get<releases::L2Bound>(round.release.ask.bound).smoothness = 3.0;
  round.layout =
      sealed::RoundLayout::create(round.shuffle, round.release, {queries::ReplyType::I64, -20}, ShuffledRound::kCohort)
          .value();
  const Eigen::VectorXd mean = gathered<NoiselessRandomness>(round, 3).mean();
  Eigen::VectorXd expected = Eigen::VectorXd::Zero(kDimension);
  for (std::size_t i = 0; i < ShuffledRound::kCohort; ++i) {
    const data::Dataset records = dataset(i, 9);
    for (const std::int64_t j : NoiselessRandomness(3, silo(i)).stream(round.run, round.query.round)->subset(9, 4)) {
      const Eigen::VectorXd x = records.training.features.col(j);
      expected += x.dot(here - there) * x / 12.0;
    }
  }
  const double step = 2.0 * 0.06 / 3.0;
  for (Eigen::Index j = 0; j < kDimension; ++j) EXPECT_NEAR(mean[j], expected[j], 3.0 * 0.5 * step / 12.0 + 1e-6);
}

TEST(CountsOracleTest, CountsStayWithinWhatTheLayoutSends) {
  // Gradients far beyond the clip norm, all in one direction: sums at the ends of the grid.
  const ShuffledRound round(ShuffleForm::Counts);
  const std::unique_ptr<RecordSums> sums = record_sums();
  BinomialCoins coins;
  for (const double sign : {-1.0, 1.0}) {
    data::Dataset records;
    records.training = {Eigen::MatrixXd::Zero(kDimension, 4), Eigen::VectorXd::Constant(4, sign * 1e6)};
    records.training.features.row(1).setOnes();
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const auto stream = TestRandomness(seed, silo(0)).stream(round.run, round.query.round);
      const std::vector<std::int64_t> counts =
          draw_and_count(round.query, round.release, {records, {}}, *sums, coins, *stream);
      // 12 or 0 on the grid, but for the lattice's last unit, and 0 .. 8 heads.
      EXPECT_GE(counts[1], sign < 0 ? 11 : 0);
      EXPECT_LE(counts[1], sign < 0 ? ShuffledRound::kMost : 9);
      EXPECT_TRUE(sealed::seal_counts(counts, round.layout, round.seal_for(), *stream));
    }
  }
}

TEST(BinomialCoinsTest, ALawIsMadeOnceAndKeptWhileItIsOfTheLatest) {
  BinomialCoins coins;
  const mechanisms::BinomialParameters two = ShuffledRound::parameters();
  const noise::BinomialTable* first = &coins.of(two, 4);
  EXPECT_EQ(first->trials(), 8);
  EXPECT_EQ(coins.of(two, 5).trials(), 10);
  EXPECT_EQ(&coins.of(two, 4), first);
  const auto biased = mechanisms::BinomialParameters::create(3, 2, {1, 4}).value();
  EXPECT_EQ(coins.of(biased, 4).p().denominator, 4U);
  EXPECT_EQ(&coins.of(two, 4), first);
  for (std::int64_t records = 10; records < 20; ++records) EXPECT_EQ(coins.of(two, records).trials(), 2 * records);
  EXPECT_EQ(coins.of(two, 4).trials(), 8);
}

}  // namespace
}  // namespace undertone::silo
