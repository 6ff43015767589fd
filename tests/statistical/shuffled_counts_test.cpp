#include <array>
#include <cmath>
#include <gtest/gtest.h>

#include "shared/crypto/secure_bits.hpp"
#include "silo/oracles/bits_stream.hpp"
#include "silo/oracles/counts_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "tests/support/shuffled_round.hpp"

/// The law of what silos' counts come to, and what one of two shufflers sees of them.
namespace undertone {
namespace {

using tests::ShuffledRound;
using tests::ShuffleForm;

constexpr Eigen::Index kDimension = 3;
constexpr Eigen::Index kRecords = ShuffledRound::kRecords;

data::Dataset dataset(std::uint64_t seed) {
  RandomSource random(seed);
  data::Dataset out;
  out.training = {Eigen::MatrixXd(kDimension, kRecords), Eigen::VectorXd(kRecords)};
  for (Eigen::Index j = 0; j < kRecords; ++j) {
    for (Eigen::Index f = 0; f < kDimension; ++f) out.training.features(f, j) = 2.0 * random.unit() - 1.0;
    out.training.targets[j] = 6.0 * random.unit() - 3.0;
  }
  return out;
}

TEST(ShuffledCountsTest, AreUnbiasedAndHaveTheVarianceOfTheFormula) {
  // One coin a record: 12 of them have a variance of 3 beside roundings of up to 3/4.
  ShuffledRound round(ShuffleForm::Counts);
  const auto parameters = mechanisms::BinomialParameters::create(3, 1, {1, 2}).value();
  auto& binomial = std::get<mechanisms::BinomialSum>(round.release.mechanism);
  binomial.parameters = parameters;
  const double unit = binomial.lattice.step * 0x1p32;  // of the grid
  const auto sums = silo::make_record_sums(models::LinearModel(models::Loss::LeastSquares, kDimension, false));

  std::vector<data::Dataset> silos;
  Eigen::VectorXd truth = Eigen::VectorXd::Zero(kDimension);
  Eigen::VectorXd rounding = truth;
  for (std::size_t i = 0; i < ShuffledRound::kCohort; ++i) {
    silos.push_back(dataset(i));
    const std::vector<std::int64_t> sum =
        silo::exact_sum(round.query.question, round.release, silos.back().training, {0, 1, 2, 3}, sums.get());
    for (Eigen::Index j = 0; j < kDimension; ++j) {
      const double units = static_cast<double>(sum[static_cast<std::size_t>(j)]) * 0x1p-32 + 0.5 * 3.0 * kRecords;
      const double fraction = units - std::floor(units);
      truth[j] += (units - 0.5 * 3.0 * kRecords) * unit;
      rounding[j] += fraction * (1.0 - fraction);
    }
  }
  // A mean of n estimates is 6.5 of its standard errors off with probability 8e-11, and so is a variance, whose
  // standard error is sqrt((kurtosis - 1) / n) of it: a binomial of 1/2 has a kurtosis below 3, three roundings add at
  // most (3/24) / 3^2. Six looks: false alarm below 1e-9. Roundings that were left out would be up to 20 % of it, a
  // coin 8 %.
  constexpr int kRounds = 100'000;
  silo::BinomialCoins coins;
  Eigen::VectorXd off_sum = Eigen::VectorXd::Zero(kDimension);
  Eigen::VectorXd squares = off_sum;
  for (int r = 0; r < kRounds; ++r) {
    round.query.round = RoundIndex{static_cast<std::uint64_t>(r)};
    std::vector<std::int64_t> total(static_cast<std::size_t>(kDimension), 0);
    for (std::size_t i = 0; i < silos.size(); ++i) {
      const auto stream = silo::TestRandomness(11, SiloId::create(fmt::format("silo-{}", i)).value())
                              .stream(round.run, round.query.round);
      const std::vector<std::int64_t> counts =
          silo::draw_and_count(round.query, round.release, {silos[i], {}}, *sums, coins, *stream);
      for (std::size_t j = 0; j < total.size(); ++j) total[j] += counts[j];
    }
    const Eigen::VectorXd off =
        mechanisms::estimate_of(total, parameters, round.release.ask.clip(), 3 * kRecords).value().sum - truth;
    off_sum += off;
    squares += off.cwiseAbs2();
  }
  for (Eigen::Index j = 0; j < kDimension; ++j) {
    SCOPED_TRACE(j);
    const double expected =
        mechanisms::binomial_sum_variance(parameters, round.release.ask.clip(), 3 * kRecords, rounding[j]);
    EXPECT_LE(expected, mechanisms::binomial_sum_variance(parameters, round.release.ask.clip(), 3 * kRecords, 0.75));
    EXPECT_NEAR(off_sum[j] / kRounds, 0.0, 6.5 * std::sqrt(expected / kRounds));
    EXPECT_NEAR(squares[j] / kRounds, expected, 6.5 * expected * std::sqrt(2.02 / kRounds));
  }
}

using Cells = std::array<double, 256>;

/// How often a byte has each value at a place of a word.
Cells cells_of(std::string_view share, std::size_t word_bytes, std::size_t place) {
  Cells cells{};
  for (std::size_t at = place; at < share.size(); at += word_bytes) cells[static_cast<std::uint8_t>(share[at])] += 1.0;
  return cells;
}

// Chi-square of 255 degrees: 8 standard deviations above its mean with probability 1.5e-11, by Wilson and Hilferty.
const double kChiSquareMax = 255.0 + 8.0 * std::sqrt(510.0);

TEST(ShuffledCountsTest, OneShufflersShareLooksTheSameWhateverTheDataAre) {
  // All counts zero, and all as large as they can be: 18 looks, false alarm below 1e-9. Of 10^5 bytes a value that is
  // seen twice as often as others in one of the two would add 100 and more.
  constexpr Eigen::Index kLong = 100'000;
  constexpr std::size_t kWordBytes = 3;
  ShuffledRound round(ShuffleForm::Shares, kLong);
  std::get<mechanisms::BinomialSum>(round.release.mechanism).parameters =
      mechanisms::BinomialParameters::create(1000, 100'000, {1, 2}).value();
  round.layout =
      sealed::RoundLayout::create(round.shuffle, round.release, {queries::ReplyType::I64, -20}, ShuffledRound::kCohort)
          .value();
  ASSERT_EQ(round.layout.word_bytes(), kWordBytes);
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  silo::BitsStream<crypto::SecureBits> stream(bits);
  const auto share_of = [&](std::int64_t count, std::size_t shuffler) {
    const std::vector<std::int64_t> counts(static_cast<std::size_t>(kLong), count);
    const auto messages = sealed::seal_counts(counts, round.layout, round.seal_for(), stream).value();
    const sealed::OpenedReply opened =
        sealed::open(round.adders[shuffler], sealed::adder_mac_key(round.run),
                     round.layout.terms(round.run, round.query.round, round.seal_for().query), messages[shuffler].units)
            .value();
    return std::string(opened.body());
  };
  for (std::size_t shuffler = 0; shuffler < 2; ++shuffler) {
    const std::string none = share_of(0, shuffler);
    const std::string all = share_of(round.layout.bits_of_coordinate(), shuffler);
    for (std::size_t place = 0; place < kWordBytes; ++place) {
      SCOPED_TRACE(fmt::format("shuffler {}, byte {}", shuffler, place));
      const Cells of_none = cells_of(none, kWordBytes, place);
      const Cells of_all = cells_of(all, kWordBytes, place);
      double uniform_none = 0.0;
      double uniform_all = 0.0;
      double between = 0.0;
      for (std::size_t cell = 0; cell < 256; ++cell) {
        constexpr double kExpected = kLong / 256.0;
        uniform_none += (of_none[cell] - kExpected) * (of_none[cell] - kExpected) / kExpected;
        uniform_all += (of_all[cell] - kExpected) * (of_all[cell] - kExpected) / kExpected;
        const double apart = of_none[cell] - of_all[cell];
        between += apart * apart / (of_none[cell] + of_all[cell]);  // of as many bytes each
      }
      EXPECT_LT(uniform_none, kChiSquareMax);
      EXPECT_LT(uniform_all, kChiSquareMax);
      EXPECT_LT(between, kChiSquareMax);
    }
  }
}

TEST(ShuffledCountsTest, OneShufflersShareTellsNothingOfWhichCoordinatesAreLarge) {
  // Half of the coordinates 0, half 20: words of one byte in two columns, 255 degrees of freedom, for each shuffler.
  constexpr Eigen::Index kLong = 200'000;
  ShuffledRound round(ShuffleForm::Shares, kLong);
  ASSERT_EQ(round.layout.word_bytes(), 1U);
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  silo::BitsStream<crypto::SecureBits> stream(bits);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(kLong));
  for (std::size_t j = 0; j < counts.size(); ++j) counts[j] = j % 2 == 0 ? 0 : ShuffledRound::kMost;
  const auto messages = sealed::seal_counts(counts, round.layout, round.seal_for(), stream).value();
  for (std::size_t shuffler = 0; shuffler < 2; ++shuffler) {
    const sealed::OpenedReply opened =
        sealed::open(round.adders[shuffler], sealed::adder_mac_key(round.run),
                     round.layout.terms(round.run, round.query.round, round.seal_for().query), messages[shuffler].units)
            .value();
    const Cells even = cells_of(opened.body(), 2, 0);
    const Cells odd = cells_of(opened.body(), 2, 1);
    double chi_square = 0.0;
    for (std::size_t cell = 0; cell < 256; ++cell)
      chi_square += (even[cell] - odd[cell]) * (even[cell] - odd[cell]) / (even[cell] + odd[cell]);
    EXPECT_LT(chi_square, kChiSquareMax);
  }
}

}  // namespace
}  // namespace undertone
