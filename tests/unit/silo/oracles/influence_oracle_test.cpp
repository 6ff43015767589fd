#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/base/random_source.hpp"
#include "shared/planning/plan.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"

/// Sums of gradients whose coordinates are cut one by one, and groups of records with a sum each.
namespace undertone::silo {
namespace {

constexpr Eigen::Index kWidth = 3;
constexpr std::int64_t kCutRecords = 23;
constexpr double kThreshold = 0.4;

models::LinearModel linear_of(std::uint64_t seed) {
  return {seed % 2 == 0 ? models::Loss::Logistic : models::Loss::LeastSquares, kWidth, seed % 3 != 0};
}

/// Numbers of every size, and what is none.
double hostile_number(RandomSource& random) {
  const double values[] = {0.0, 1.0, -1.0, 40.0, -40.0, 1e300, -std::numeric_limits<double>::infinity(), std::nan("")};
  return random.below(3) == 0 ? values[random.below(8)] : 4.0 * random.unit() - 2.0;
}

models::Records hostile_records(RandomSource& random, bool tame) {
  models::Records out{Eigen::MatrixXd(kWidth, kCutRecords), Eigen::VectorXd(kCutRecords)};
  for (double& number : out.features.reshaped()) number = tame ? 4.0 * random.unit() - 2.0 : hostile_number(random);
  for (double& target : out.targets) target = random.below(2) == 0 ? 1.0 : -1.0;
  return out;
}

planning::Release cut_release(const models::LinearModel& model, releases::Influence influence, std::uint32_t groups) {
  const releases::InfluenceBound bound =
      releases::InfluenceBound::create(kThreshold, influence, groups, model.dimension()).value();
  releases::Ask ask{releases::GradientMap{}, {}, bound, model.dimension()};
  ask.records.slice = releases::Slice{.of = 1};
  const releases::SiloFacts facts{
      SiloId::create("a").value(), kCutRecords, 0, false,
      releases::ApproximateDp{releases::Epsilon::create(1.0).value(), releases::Delta::create(1e-5).value()}};
  return *planning::make_plan({{ask, 1}}, facts).value().release(RoundIndex{0});
}

std::vector<std::int64_t> all_positions() {
  std::vector<std::int64_t> out(kCutRecords);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int64_t>(i);
  return out;
}

std::vector<std::int64_t> sum_of_all(const planning::Release& release, const models::LinearModel& model,
                                     const models::Records& records, const Eigen::VectorXd& point) {
  return exact_sum(queries::GradientQuestion{point}, release, records, all_positions(), make_record_sums(model).get());
}

TEST(InfluenceOracleTest, ARecordMovesASumByTwiceTheL2NormAtMost) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const models::LinearModel model = linear_of(seed);
    const auto influence = seed % 4 < 2 ? releases::Influence::Clip : releases::Influence::Smooth;
    const planning::Release release = cut_release(model, influence, 1);
    Eigen::VectorXd point(model.dimension());
    for (double& w : point) w = seed % 5 == 0 ? 1e9 * random.unit() : 4.0 * random.unit() - 2.0;
    const models::Records records = hostile_records(random, false);
    const std::vector<std::int64_t> before = sum_of_all(release, model, records, point);
    for (std::int64_t changed = 0; changed < kCutRecords; ++changed) {
      models::Records other = records;
      for (Eigen::Index f = 0; f < kWidth; ++f) other.features(f, changed) = hostile_number(random);
      other.targets[changed] = -other.targets[changed];
      const std::vector<std::int64_t> after = sum_of_all(release, model, other, point);
      double squares = 0.0;
      for (std::size_t j = 0; j < after.size(); ++j) squares += std::pow(static_cast<double>(after[j] - before[j]), 2);
      ASSERT_LE(squares, 4.0 * std::pow(static_cast<double>(release.lattice().clip), 2));
    }
  }
}

TEST(InfluenceOracleTest, ASumIsThatOfEveryCoordinatesInfluence) {
  for (const auto influence : {releases::Influence::Clip, releases::Influence::Smooth}) {
    RandomSource random(3);
    const models::LinearModel model = linear_of(1);
    const planning::Release release = cut_release(model, influence, 1);
    const models::Records records = hostile_records(random, true);
    const Eigen::VectorXd point = Eigen::VectorXd::Constant(model.dimension(), 0.7);
    Eigen::VectorXd expected = Eigen::VectorXd::Zero(model.dimension());
    for (std::int64_t i = 0; i < kCutRecords; ++i) {
      const double residual = records.features.col(i).dot(point.head(kWidth)) + point[kWidth] - records.targets[i];
      for (Eigen::Index j = 0; j < model.dimension(); ++j) {
        const double x = j < kWidth ? records.features(j, i) : 1.0;
        expected[j] += releases::influence_of(influence, residual * x, kThreshold);
      }
    }
    const std::vector<std::int64_t> sum = sum_of_all(release, model, records, point);
    for (Eigen::Index j = 0; j < model.dimension(); ++j)
      EXPECT_NEAR(static_cast<double>(sum[static_cast<std::size_t>(j)]) * release.lattice().step, expected[j],
                  kCutRecords * release.lattice().step + 1e-4 * kThreshold);
  }
}

TEST(InfluenceOracleTest, ARecordThatIsNoNumberAddsNothing) {
  const models::LinearModel model = linear_of(1);
  const planning::Release release = cut_release(model, releases::Influence::Clip, 1);
  models::Records records{Eigen::MatrixXd::Zero(kWidth, kCutRecords), Eigen::VectorXd::Zero(kCutRecords)};
  records.features(1, 4) = std::nan("");
  records.features(2, 5) = std::numeric_limits<double>::infinity();
  const std::vector<std::int64_t> sum = sum_of_all(release, model, records, Eigen::VectorXd::Zero(model.dimension()));
  EXPECT_TRUE(std::all_of(sum.begin(), sum.end(), [](std::int64_t number) { return number == 0; }));
}

/// Groups have no record in common, hold all of them, and a record moves the block of its own group alone.
TEST(InfluenceOracleTest, AGroupsMeanIsOfItsOwnRecords) {
  const models::LinearModel model = linear_of(1);
  constexpr std::uint32_t kGroups = 5;
  const planning::Release release = cut_release(model, releases::Influence::Clip, kGroups);
  std::int64_t covered = 0;
  for (std::uint32_t group = 0; group < kGroups; ++group) {
    const planning::Release own = release.of_group(group);
    EXPECT_EQ(own.positions.from, covered);
    EXPECT_EQ(own.records_drawn, own.positions.to - own.positions.from);
    EXPECT_GE(own.records_drawn, kCutRecords / kGroups);
    covered = own.positions.to;
  }
  EXPECT_EQ(covered, kCutRecords);

  RandomSource random(9);
  const auto dataset_of = [](const models::Records& records) {
    data::Dataset out;
    out.training = records;
    return out;
  };
  std::vector<std::int64_t> order = all_positions();
  std::reverse(order.begin(), order.end());
  const RecordPlaces places = RecordPlaces::permuted(order);
  models::Records records = hostile_records(random, true);
  const queries::Query query{RoundIndex{0}, queries::GradientQuestion{Eigen::VectorXd::Zero(model.dimension())}};
  const queries::WireLattice wire{queries::ReplyType::I64, -30};
  const auto answer = [&](const models::Records& of) {
    const data::Dataset dataset = dataset_of(of);
    // The same noise each time: only what records add differs.
    const std::unique_ptr<ReleaseStream> stream =
        TestRandomness(7, SiloId::create("a").value()).stream(RunId{}, RoundIndex{0});
    const queries::Answer out =
        draw_and_sum(query, release, {dataset, places}, make_record_sums(model).get(), wire, *stream);
    return std::get<queries::NoisedSums>(out).values;
  };
  const std::vector<std::int64_t> before = answer(records);
  ASSERT_EQ(before.size(), static_cast<std::size_t>(kGroups * model.dimension()));
  records.features.col(0).setConstant(3.0);  // at the last place: of the last group
  const std::vector<std::int64_t> after = answer(records);
  const auto last = before.size() - static_cast<std::size_t>(model.dimension());
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(last), after.begin()));
  EXPECT_NE(before, after);
}

}  // namespace
}  // namespace undertone::silo
