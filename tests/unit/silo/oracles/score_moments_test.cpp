#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "shared/base/random_source.hpp"
#include "silo/oracles/record_sums.hpp"

/// What silos answer to a regression's questions: how far one record moves it, whatever is asked, and that it is what
/// its records add up to.
namespace undertone::silo {
namespace {

using statistics::ScoreTerms;

double any_score_number(RandomSource& random) {
  constexpr std::array kSpecial = {
      std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL, 1e308, -1e308, 5e-324, 0.0, -0.0, 1.0, -1.0, 1e9};
  if (random.chance(0.1)) return kSpecial[static_cast<std::size_t>(random.below(kSpecial.size()))];
  return 4.0 * random.unit() - 2.0;
}

models::Records any_score_records(Eigen::Index features, Eigen::Index count, RandomSource& random) {
  models::Records out{Eigen::MatrixXd(features, count), Eigen::VectorXd(count)};
  for (double& number : out.features.reshaped()) number = any_score_number(random);
  for (double& target : out.targets)
    target = random.chance(0.05) ? any_score_number(random) : random.chance(0.5) ? 1.0 : -1.0;
  return out;
}

std::vector<std::int64_t> score_sum(const models::Records& records, const Eigen::VectorXd& point,
                                    const ScoreTerms& terms, const mechanisms::Lattice& lattice) {
  const models::Loss loss = terms.link == statistics::ScoreLink::Log ? models::Loss::Poisson : models::Loss::Logistic;
  const models::Model model(models::LinearModel(loss, records.features.rows(), true));
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(records.count()));
  std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
  std::vector<std::int64_t> sum(static_cast<std::size_t>(statistics::score_numbers(terms.covariates())), 99);
  make_record_sums(model)->score_moments(point, terms, lattice, {records, drawn}, sum);
  return sum;
}

TEST(ScoreSumsTest, OneRecordMovesASumByTheDistanceOfPairsAndRoundingWhateverIsAsked) {
  RandomSource random(17);
  double farthest = 0.0;
  for (int i = 0; i < 10'000; ++i) {
    const auto features = static_cast<Eigen::Index>(1 + random.below(4));
    ScoreTerms terms{{}, 1.0 + 2.0 * random.unit()};
    for (Eigen::Index j = 0; j < features; ++j)
      if (random.chance(0.7)) terms.of.push_back({static_cast<std::size_t>(j), random.chance(0.3)});
    if (random.chance(0.5)) {
      terms.link = statistics::ScoreLink::Log;
      if (random.chance(0.5)) terms.exposure = {static_cast<std::size_t>(features - 1), 0.9 * random.unit()};
    }
    const std::int64_t units = random.chance(0.3) ? 8 : std::int64_t{1} << 30U;
    const mechanisms::Lattice lattice{units, 1.0 / static_cast<double>(units)};
    models::Records records = any_score_records(features, 4, random);
    Eigen::VectorXd point(features + 1);
    const double size = std::pow(10.0, 8.0 * random.unit() - 2.0);
    for (double& number : point) number = random.chance(0.05) ? any_score_number(random) : size * (random.unit() - 0.5);
    const std::vector<std::int64_t> before = score_sum(records, point, terms, lattice);
    const models::Records other = any_score_records(features, 1, random);
    records.features.col(2) = other.features.col(0);
    records.targets[2] = other.targets[0];
    const std::vector<std::int64_t> after = score_sum(records, point, terms, lattice);
    double squares = 0.0;
    for (std::size_t j = 0; j < before.size(); ++j) squares += std::pow(static_cast<double>(after[j] - before[j]), 2);
    const double allowed = statistics::score_distance(terms.link) * static_cast<double>(units) +
                           std::sqrt(static_cast<double>(before.size()));
    ASSERT_LE(std::sqrt(squares), allowed + 1.0);
    farthest = std::max(farthest, std::sqrt(squares) / static_cast<double>(units));
  }
  EXPECT_GT(farthest, 1.9);  // the pairs were hostile
}

TEST(ScoreSumsTest, ASumIsWhatItsRecordsAddUpTo) {
  RandomSource random(29);
  models::Records records{Eigen::MatrixXd::Random(3, 50), Eigen::VectorXd(50)};
  for (double& target : records.targets) target = random.chance(0.5) ? 1.0 : -1.0;
  const ScoreTerms terms{{{0, false}, {2, true}}, 2.0};
  const Eigen::VectorXd point = Eigen::Vector4d(0.5, -1.0, 0.25, 0.75);
  const mechanisms::Lattice lattice{std::int64_t{1} << 40U, std::ldexp(1.0, -40)};
  const std::vector<std::int64_t> sum = score_sum(records, point, terms, lattice);
  Eigen::VectorXd expected = Eigen::VectorXd::Zero(statistics::score_numbers(3));
  Eigen::VectorXd one(expected.size());
  for (Eigen::Index j = 0; j < 50; ++j) {
    const Eigen::Vector3d x = Eigen::Vector3d(records.features(0, j), 2.0 * records.features(2, j) - 1.0, 1.0) / 2.0;
    const double score = point.head(3).dot(records.features.col(j)) + point[3];
    const double residual = (records.targets[j] > 0.0 ? 1.0 : 0.0) - 1.0 / (1.0 + std::exp(-score));
    statistics::score_moments(residual, x, one);
    expected += one;
  }
  for (std::size_t j = 0; j < sum.size(); ++j)
    EXPECT_NEAR(static_cast<double>(sum[j]) * lattice.step, expected[static_cast<Eigen::Index>(j)], 1e-9);
}

TEST(ScoreSumsTest, ASumOfTheLogLinkIsWhatItsRecordsAddUpTo) {
  RandomSource random(31);
  models::Records records{Eigen::MatrixXd::Random(3, 50), Eigen::VectorXd(50)};
  for (double& target : records.targets) target = 2.0 * random.unit() - 1.0;
  ScoreTerms terms{{{0, false}}, 1.5, statistics::ScoreLink::Log, statistics::ExposureFeature{1, 0.2}};
  const Eigen::VectorXd point = Eigen::Vector4d(0.5, 0.0, 0.0, -0.75);
  const mechanisms::Lattice lattice{std::int64_t{1} << 40U, std::ldexp(1.0, -40)};
  const std::vector<std::int64_t> sum = score_sum(records, point, terms, lattice);
  Eigen::VectorXd expected = Eigen::VectorXd::Zero(statistics::score_numbers(2));
  Eigen::VectorXd one(expected.size());
  for (Eigen::Index j = 0; j < 50; ++j) {
    const double exposure = 0.2 + 0.8 * (records.features(1, j) + 1.0) / 2.0;
    const double mean = exposure * std::exp(0.5 * records.features(0, j) - 0.75);
    statistics::log_score_moments((records.targets[j] + 1.0) / 2.0, mean,
                                  Eigen::Vector2d(records.features(0, j), 1.0) / 1.5, one);
    expected += one;
  }
  for (std::size_t j = 0; j < sum.size(); ++j)
    EXPECT_NEAR(static_cast<double>(sum[j]) * lattice.step, expected[static_cast<Eigen::Index>(j)], 1e-9);
}

}  // namespace
}  // namespace undertone::silo
