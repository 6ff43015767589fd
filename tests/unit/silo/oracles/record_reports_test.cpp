#include "silo/oracles/record_reports.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "shared/planning/plan.hpp"
#include "silo/oracles/test_randomness.hpp"

/// Reports of records: each of one record, each record in one, in an order that looks at nothing.
namespace undertone::silo {
namespace {

constexpr std::int64_t kReporting = 40;

models::Records records_of(std::uint64_t seed) {
  RandomSource random(seed);
  models::Records out{Eigen::MatrixXd(3, kReporting), Eigen::VectorXd(kReporting)};
  for (double& number : out.features.reshaped()) number = 2.0 * random.unit() - 1.0;
  for (double& target : out.targets) target = random.chance(0.5) ? 1.0 : -1.0;
  return out;
}

releases::Ask vectors(releases::Randomiser randomiser, std::uint32_t copies = 1) {
  const statistics::BallMap ball{{0, 1, 2}, 1.0, 3};
  const auto norm =
      randomiser == releases::Randomiser::Gaussian ? releases::PairBound::Norm::L2 : releases::PairBound::Norm::L1;
  releases::ReportsForm form{randomiser};
  form.copies = copies;
  return {releases::FeaturesMap{ball}, {}, releases::PairBound{norm}, 3, form};
}

releases::Ask numbers() {
  return {releases::StatisticMap{{0, 1}, false},
          {},
          releases::RangeBound{-1.0, 1.0},
          2,
          releases::ReportsForm{releases::Randomiser::Laplace}};
}

releases::Ask shares() {
  return {releases::StatisticMap{{0}, true},
          {},
          releases::RangeBound{0.0, 1.0},
          1,
          releases::ReportsForm{releases::Randomiser::Laplace}};
}

releases::Ask conjunctions() {
  const statistics::ConjunctionsMap pairs{{{statistics::IndicatorCells{0, 2}, 0}, {statistics::SignCells{3}, 1}}, 2};
  return {releases::FeaturesMap{pairs},
          {},
          releases::RangeBound{0.0, 1.0},
          statistics::dimension(pairs),
          releases::ReportsForm{releases::Randomiser::Laplace}};
}

planning::Release release_of(const releases::Ask& ask) {
  releases::SiloFacts facts{SiloId::create("one").value(), kReporting, 0, false,
                            releases::ApproximateDp{*releases::Epsilon::create(2.0), *releases::Delta::create(1e-5)}};
  return *planning::make_plan({{ask, 1}}, facts).value().release({0});
}

std::vector<std::int64_t> reports(const planning::Release& release, const models::Records& block, std::uint64_t seed,
                                  bool noise) {
  const SiloId silo = SiloId::create("one").value();
  const RunId run{};
  const std::unique_ptr<ReleaseStream> stream =
      noise ? TestRandomness(seed, silo).stream(run, {0}) : NoiselessRandomness(seed, silo).stream(run, {0});
  const std::optional<releases::PersonContribution>& persons = release.ask.records.persons;
  const std::optional<PersonDraw> draw =
      persons ? std::make_optional<PersonDraw>(sha256("her draw"), persons->records_max) : std::nullopt;
  return record_reports(release, block, draw ? &*draw : nullptr, *stream).values;
}

releases::Ask of_persons(releases::Ask ask) {
  ask.records.persons = releases::PersonContribution{4, releases::PersonContribution::Form::Mean};
  return ask;
}

/// The i-th of 40 persons has held[i % size] records.
models::Records persons_of(std::uint64_t seed, const std::vector<std::int64_t>& held) {
  RandomSource random(seed);
  models::Records out;
  out.starts = {0};
  for (std::size_t i = 0; i < static_cast<std::size_t>(kReporting); ++i)
    out.starts.push_back(out.starts.back() + held[i % held.size()]);
  out.features = Eigen::MatrixXd(3, out.starts.back());
  out.targets = Eigen::VectorXd(out.starts.back());
  for (double& number : out.features.reshaped()) number = 2.0 * random.unit() - 1.0;
  for (double& target : out.targets) target = random.chance(0.5) ? 1.0 : -1.0;
  for (Eigen::Index i = 0; i < out.features.cols(); ++i)
    if (random.chance(0.3)) out.features(0, i) = 1.0;
  return out;
}

/// What is reported without noise, a set of numbers a record.
std::multiset<std::vector<std::int64_t>> grouped(const std::vector<std::int64_t>& values, std::size_t size) {
  std::multiset<std::vector<std::int64_t>> out;
  for (std::size_t i = 0; i < values.size(); i += size)
    out.insert(
        {values.begin() + static_cast<std::ptrdiff_t>(i), values.begin() + static_cast<std::ptrdiff_t>(i + size)});
  return out;
}

TEST(RecordReportsTest, EveryVectorIsReportedOnceAndNoneTwice) {
  const models::Records block = records_of(1);
  for (const std::uint32_t copies : {1U, 3U}) {
    const planning::Release release = release_of(vectors(releases::Randomiser::Gaussian, copies));
    const std::vector<std::int64_t> said = reports(release, block, 5, false);
    ASSERT_EQ(static_cast<Eigen::Index>(said.size()), release.answer_size());
    std::multiset<std::vector<std::int64_t>> expected;
    for (Eigen::Index i = 0; i < kReporting; ++i) {
      const Eigen::Vector3d x = block.features.col(i);
      std::vector<std::int64_t> one;
      for (std::uint32_t copy = 0; copy < copies; ++copy)
        for (int j = 0; j < 3; ++j)
          one.push_back(std::llround(block.targets[i] * x[j] / std::max(1.0, x.norm()) * 0x1p20));
      expected.insert(one);
    }
    // Cut toward zero on the noise's lattice, then rounded to the wire's.
    const auto& noise =
        std::get<mechanisms::VectorNoise>(std::get<mechanisms::LocalReports>(release.mechanism).randomiser);
    const double unit = noise.lattice().lattice.step * 0x1p20 + 1.0;
    const std::multiset<std::vector<std::int64_t>> found = grouped(said, std::size_t{3} * copies);
    for (const std::vector<std::int64_t>& one : found) {
      const bool known = std::any_of(expected.begin(), expected.end(), [&](const std::vector<std::int64_t>& other) {
        for (std::size_t j = 0; j < one.size(); ++j)
          if (std::abs(static_cast<double>(one[j] - other[j])) > unit) return false;
        return true;
      });
      EXPECT_TRUE(known);
    }
    EXPECT_EQ(std::set<std::vector<std::int64_t>>(found.begin(), found.end()).size(), std::size_t{kReporting});
  }
}

TEST(RecordReportsTest, AnotherRecordMovesTheReportOfOneSlotAndNoOther) {
  // With the same coins, whichever record changes and whatever it becomes: the slots look at no value.
  for (const releases::Ask& ask : {vectors(releases::Randomiser::Gaussian), numbers()}) {
    const planning::Release release = release_of(ask);
    const auto size = static_cast<std::size_t>(ask.report_size());
    for (std::int64_t changed = 0; changed < 6; ++changed) {
      SCOPED_TRACE(changed);
      const models::Records block = records_of(2);
      models::Records other = block;
      other.features.col(changed) = -5.0 * other.features.col(changed).array() + 1.0;
      other.targets[changed] = -other.targets[changed];
      const std::vector<std::int64_t> one = reports(release, block, 6, false);
      const std::vector<std::int64_t> two = reports(release, other, 6, false);
      std::set<std::size_t> moved;
      for (std::size_t i = 0; i < one.size(); ++i)
        if (one[i] != two[i]) moved.insert(i / size);
      EXPECT_EQ(moved.size(), 1U);
    }
  }
}

TEST(RecordReportsTest, TheOrderIsAnotherEachTime) {
  const models::Records block = records_of(3);
  const planning::Release release = release_of(vectors(releases::Randomiser::Gaussian));
  const std::vector<std::int64_t> first = reports(release, block, 1, false);
  const std::vector<std::int64_t> second = reports(release, block, 2, false);
  EXPECT_NE(first, second);
  EXPECT_EQ(grouped(first, 3), grouped(second, 3));
  // Nor that of the records: a vector stays in its place with chance 1/40, 13 of them with one below 1e-10.
  std::int64_t in_place = 0;
  for (Eigen::Index i = 0; i < kReporting; ++i) {
    const Eigen::Vector3d x = block.features.col(i);
    const double number = block.targets[i] * x[0] / std::max(1.0, x.norm());
    in_place += std::abs(static_cast<double>(first[static_cast<std::size_t>(3 * i)]) * 0x1p-20 - number) < 1e-5 ? 1 : 0;
  }
  EXPECT_LT(in_place, 13);
}

TEST(RecordReportsTest, DirectionsAreUnitVectorsWhateverTheRecord) {
  const models::Records block = records_of(4);
  const planning::Release release = release_of(vectors(releases::Randomiser::Direction));
  const std::vector<std::int64_t> said = reports(release, block, 7, true);
  ASSERT_EQ(said.size(), 3U * kReporting);
  for (std::size_t i = 0; i < said.size(); i += 3) {
    double square = 0.0;
    for (std::size_t j = 0; j < 3; ++j) square += std::pow(static_cast<double>(said[i + j]) * 0x1p-20, 2);
    EXPECT_NEAR(square, 1.0, 1e-5);
  }
}

/// Spec person-unit, PU2: whoever has one record reports as a record does, with the same coins.
TEST(RecordReportsTest, PersonsOfOneRecordReportAsRecordsDo) {
  const models::Records block = persons_of(8, {1});
  models::Records plain = block;
  plain.starts.clear();
  for (const releases::Ask& ask :
       {vectors(releases::Randomiser::Gaussian), vectors(releases::Randomiser::Direction), numbers()}) {
    EXPECT_EQ(reports(release_of(of_persons(ask)), block, 9, true), reports(release_of(ask), plain, 9, true));
  }
}

/// Spec person-unit, PU3, of reports: whatever a person is replaced by, the report of one slot moves, and what is
/// reported is within the range that the noise is calibrated to.
TEST(RecordReportsTest, AnotherPersonMovesTheReportOfOneSlotAndStaysWithinTheRange) {
  const double any[] = {1.0, -1.0, 0.0, 1e300, -1e-300, std::numeric_limits<double>::quiet_NaN()};
  const std::vector<std::int64_t> held = {0, 1, 3, 100, 2};
  for (const releases::Ask& ask : {vectors(releases::Randomiser::Gaussian), numbers(), shares(), conjunctions()}) {
    const planning::Release release = release_of(of_persons(ask));
    const auto size = static_cast<std::size_t>(ask.report_size());
    const auto& mechanism = std::get<mechanisms::LocalReports>(release.mechanism);
    for (std::uint64_t trial = 0; trial < 20; ++trial) {
      const models::Records block = persons_of(2, held);
      models::Records other = block;
      RandomSource random(trial);
      const std::size_t changed = random.below(static_cast<std::uint64_t>(kReporting));
      for (std::int64_t row = block.starts[changed]; row < block.starts[changed + 1]; ++row) {
        for (Eigen::Index j = 0; j < 3; ++j) other.features(j, row) = any[random.below(6)];
        other.targets[row] = any[random.below(6)];
      }
      const std::vector<std::int64_t> one = reports(release, block, 6, false);
      const std::vector<std::int64_t> two = reports(release, other, 6, false);
      std::set<std::size_t> moved;
      for (std::size_t i = 0; i < one.size(); ++i)
        if (one[i] != two[i]) moved.insert(i / size);
      EXPECT_LE(moved.size(), 1U);
      if (releases::of_vectors(mechanism.kind())) continue;
      for (const std::int64_t number : two) EXPECT_TRUE(mechanism.low <= number && number <= mechanism.high);
    }
  }
}

TEST(RecordReportsTest, APersonReportsTheShareOfHerRecords) {
  models::Records block = persons_of(2, {3});
  block.features.row(0).setZero();
  for (std::int64_t person = 0; person < kReporting; ++person) block.features(0, 3 * person) = 1.0;
  const planning::Release release = release_of(of_persons(shares()));
  for (const std::int64_t number : reports(release, block, 6, false))
    EXPECT_NEAR(static_cast<double>(number) * 0x1p-20, 1.0 / 3.0, 1e-6);
}

}  // namespace
}  // namespace undertone::silo
