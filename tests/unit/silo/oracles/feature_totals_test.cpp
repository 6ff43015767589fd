#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "shared/base/random_source.hpp"
#include "shared/planning/plan.hpp"
#include "silo/oracles/statistic.hpp"
#include "silo/oracles/sum_oracle.hpp"

/// Feature maps of records: their exact totals, and how far one record moves them.
namespace undertone::silo {
namespace {

using statistics::BinnedCells;
using statistics::CellsMap;
using statistics::CountMap;
using statistics::FeatureMap;
using statistics::IndicatorCells;
using statistics::MomentsMap;
using statistics::SignCells;
using statistics::SumMap;
using statistics::TreeMap;
using statistics::VectorMomentsMap;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::int64_t> everybody(const models::Records& records) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(records.count()));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

std::vector<std::int64_t> totals_of(const FeatureMap& map, const models::Records& records, std::int64_t units = 1) {
  const std::vector<std::int64_t> drawn = everybody(records);
  return feature_totals(map, {units, 1.0 / static_cast<double>(units)}, {records, drawn});
}

TEST(FeatureTotalsTest, CountsTheCellsThatRecordsLieIn) {
  models::Records records{Eigen::MatrixXd(3, 5), Eigen::VectorXd(5)};
  // A number, then two indicators.
  records.features << -1.0, -0.5, 0.0, 0.5, 7.0,  //
      1.0, 1.0, 0.0, 0.0, 0.0,                    //
      0.0, 0.0, 1.0, 1.0, 0.0;
  records.targets << -1.0, 1.0, 1.0, -1.0, 1.0;
  const BinnedCells halves{0, {-1.0, 0.0, 1.0}};
  // A cell holds its upper edge: -1, -0.5 and 0 are in the first; 7 is cut to 1.
  EXPECT_EQ(totals_of(CellsMap{{halves}}, records), (std::vector<std::int64_t>{3, 2}));
  // By the indicators, of which the last record has none: it is in no cell. Units of a count multiply.
  EXPECT_EQ(totals_of(CellsMap{{IndicatorCells{1, 2}}}, records, 5), (std::vector<std::int64_t>{10, 10}));
  // By indicators and label: (first, -) 1, (first, +) 1, (second, -) 1, (second, +) 1.
  EXPECT_EQ(totals_of(CellsMap{{IndicatorCells{1, 2}, SignCells{3}}}, records),
            (std::vector<std::int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(totals_of(CountMap{IndicatorCells{2, 1}, 0}, records), (std::vector<std::int64_t>{2}));
}

TEST(FeatureTotalsTest, ATreeHasEveryLevelBelowItsRoot) {
  models::Records records{Eigen::MatrixXd(1, 4), Eigen::VectorXd::Zero(4)};
  records.features << -0.9, -0.9, 0.1, 0.9;
  const TreeMap tree{{0, {-1.0, -0.5, 0.0, 0.5, 1.0}}};
  // Halves 2 and 2; quarters 2, 0, 1, 1.
  EXPECT_EQ(totals_of(tree, records), (std::vector<std::int64_t>{2, 2, 2, 0, 1, 1}));
}

TEST(FeatureTotalsTest, MomentsAreOfClampedNumbersCutTowardZero) {
  models::Records records{Eigen::MatrixXd(2, 3), Eigen::VectorXd::Zero(3)};
  records.features << 0.5, kNan, -kInfinity,  //
      3.0, 0.25, -1.0;
  // In units of 1/8: 4; 0 (not finite is the centre); 0.
  EXPECT_EQ(totals_of(SumMap{0}, records, 8), (std::vector<std::int64_t>{4}));
  // Of the second: 8 + 2 - 8 = 2; halves of squares 4 + trunc(0.25) + 4 = 8.
  EXPECT_EQ(totals_of(MomentsMap{1, true}, records, 8), (std::vector<std::int64_t>{2, 8}));
}

/// Numbers that a schema would encode, and ones that none would.
double any_number(RandomSource& random) {
  constexpr std::array kSpecial = {kNan, kInfinity, -kInfinity, 1e308, 5e-324, 0.0, 1.0, -1.0};
  if (random.chance(0.6)) return kSpecial[static_cast<std::size_t>(random.below(kSpecial.size()))];
  return 4.0 * random.unit() - 2.0;
}

models::Records any_records(RandomSource& random, Eigen::Index count) {
  models::Records out{Eigen::MatrixXd(4, count), Eigen::VectorXd(count)};
  for (Eigen::Index j = 0; j < count; ++j) {
    for (Eigen::Index f = 0; f < 4; ++f) out.features(f, j) = any_number(random);
    out.targets[j] = any_number(random);
  }
  return out;
}

planning::Release planned(const FeatureMap& map, std::int64_t records, bool gaussian) {
  const releases::Target target =
      gaussian
          ? releases::Target(releases::ApproximateDp{*releases::Epsilon::create(1.0), *releases::Delta::create(1e-6)})
          : releases::Target(releases::PureDp{*releases::Epsilon::create(1.0)});
  const releases::Ask ask{releases::FeaturesMap{map},
                          {},
                          releases::PairBound{gaussian ? releases::PairBound::Norm::L2 : releases::PairBound::Norm::L1},
                          statistics::dimension(map)};
  const auto plan = planning::make_plan({{ask, 1}}, {SiloId::create("clinic").value(), records, 0, false, target});
  return plan.value().segments().front().release;
}

/// Over all data sets and replacements that are tried, the largest movement over what the noise is for.
double largest_reach(const FeatureMap& map, bool gaussian) {
  double largest = 0.0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomSource random(seed);
    const auto count = static_cast<Eigen::Index>(1 + random.below(6));
    const planning::Release release = planned(map, count, gaussian);
    const models::Records records = any_records(random, count);
    const auto sum_of = [&](const models::Records& of) {
      return exact_sum(queries::StatisticQuestion{}, release, of, everybody(of), nullptr);
    };
    const std::vector<std::int64_t> before = sum_of(records);
    for (int replacement = 0; replacement < 40; ++replacement) {
      models::Records other = records;
      const models::Records one = any_records(random, 1);
      other.features.col(0) = one.features.col(0);
      other.targets[0] = one.targets[0];
      const std::vector<std::int64_t> after = sum_of(other);
      double l1 = 0.0;
      double squares = 0.0;
      for (std::size_t i = 0; i < after.size(); ++i) {
        const auto moved = static_cast<double>(after[i] - before[i]);
        l1 += std::abs(moved);
        squares += moved * moved;
      }
      const auto* laplace = std::get_if<mechanisms::LaplaceLattice>(&release.mechanism);
      const double reach =
          laplace != nullptr
              ? l1 / static_cast<double>(laplace->noise.sensitivity().value())
              : std::sqrt(squares) / std::ldexp(std::sqrt(release.cost().gaussian.value_rounded_up()),
                                                std::get<mechanisms::GaussianLattice>(release.mechanism).log2_stddev);
      EXPECT_LE(reach, 1.0 + 1e-12);
      largest = std::max(largest, reach);
    }
  }
  return largest;
}

TEST(FeatureSensitivityTest, NoReplacedRecordMovesTotalsByMoreThanTheirNoiseIsFor) {
  const BinnedCells quarters{0, {-1.0, -0.5, 0.0, 0.5, 1.0}};
  const std::vector<FeatureMap> maps = {CellsMap{{quarters}},
                                        CellsMap{{quarters, SignCells{4}}},
                                        TreeMap{quarters},
                                        CountMap{IndicatorCells{1, 1}, 0},
                                        SumMap{0},
                                        MomentsMap{0, false},
                                        VectorMomentsMap{{0, 1}}};
  for (const FeatureMap& map : maps) {
    SCOPED_TRACE(statistics::name_of(map));
    EXPECT_GT(largest_reach(map, true), 0.98);  // the bounds are attained, but for what units are rounded by
    if (std::holds_alternative<MomentsMap>(map) || std::holds_alternative<VectorMomentsMap>(map)) continue;
    EXPECT_GT(largest_reach(map, false), 0.98);
  }
  EXPECT_GT(largest_reach(MomentsMap{0, true}, false), 0.98);
}

TEST(FeatureSensitivityTest, PureTargetsHaveNoGaussianNoise) {
  const releases::Ask ask{releases::FeaturesMap{SumMap{0}}, {}, releases::PairBound{releases::PairBound::Norm::L2}, 1};
  const auto plan = planning::make_plan(
      {{ask, 1}}, {SiloId::create("clinic").value(), 10, 0, false, releases::PureDp{*releases::Epsilon::create(1.0)}});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("a pure target has none"), std::string::npos) << plan.error().message;
}

}  // namespace
}  // namespace undertone::silo
