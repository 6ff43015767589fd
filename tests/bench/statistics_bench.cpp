#include <algorithm>
#include <benchmark/benchmark.h>
#include <numeric>

#include "shared/base/random_source.hpp"
#include "shared/crypto/secure_bits.hpp"
#include "shared/features/feature_map.hpp"
#include "shared/folds/reports_fold.hpp"
#include "shared/mechanisms/local_reports/local_reports.hpp"
#include "silo/oracles/statistic.hpp"

/// What a silo's pass for statistics costs beside the barest one over the same columns, and what reports cost beside as
/// many random bits.
namespace undertone::silo {
namespace {

constexpr Eigen::Index kRecords = 200'000;
constexpr Eigen::Index kColumns = 20;

const models::Records& block() {
  static const models::Records records = [] {
    RandomSource random(1);
    models::Records out{Eigen::MatrixXd(kColumns, kRecords), Eigen::VectorXd::Zero(kRecords)};
    for (double& number : out.features.reshaped()) number = 2.0 * random.unit() - 1.0;
    // The last twelve are indicators of four columns of three values.
    for (Eigen::Index i = 0; i < kRecords; ++i) {
      out.features.col(i).tail(12).setZero();
      for (Eigen::Index column = 0; column < 4; ++column)
        out.features(8 + 3 * column + static_cast<Eigen::Index>(random.below(3)), i) = 1.0;
    }
    return out;
  }();
  return records;
}

const std::vector<std::int64_t>& everybody() {
  static const std::vector<std::int64_t> out = [] {
    std::vector<std::int64_t> all(kRecords);
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
  }();
  return out;
}

/// Reads the same columns once and adds them up: what nothing that reads them can be faster than by much.
void BM_BarePass(benchmark::State& state) {
  const auto columns = state.range(0);
  for (auto _ : state) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(columns);
    for (const std::int64_t record : everybody())
      for (Eigen::Index j = 0; j < columns; ++j) sum[j] += block().features(j, record);
    benchmark::DoNotOptimize(sum.data());
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
}
BENCHMARK(BM_BarePass)->ArgName("columns")->Arg(1)->Arg(8)->Arg(20);

void totals(benchmark::State& state, const statistics::FeatureMap& map) {
  for (auto _ : state) {
    std::vector<std::int64_t> sum = feature_totals(map, {1 << 20, 0x1p-20}, {block(), everybody()});
    benchmark::DoNotOptimize(sum.data());
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
}
void BM_Mean(benchmark::State& state) {
  const releases::StatisticMap map{{0}, false};
  for (auto _ : state) {
    std::vector<std::int64_t> sum = statistic_totals(map, {-1.0, 1.0}, {1 << 20, 0x1p-20}, {block(), everybody()});
    benchmark::DoNotOptimize(sum.data());
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
}
BENCHMARK(BM_Mean);
void BM_Moments(benchmark::State& state) { totals(state, statistics::MomentsMap{0, false}); }
BENCHMARK(BM_Moments);
void BM_Histogram(benchmark::State& state) {
  statistics::BinnedCells cells{0, {}};
  for (int i = 0; i <= 32; ++i) cells.edges.push_back(i / 16.0 - 1.0);
  totals(state, statistics::CellsMap{{cells}});
}
BENCHMARK(BM_Histogram);
void BM_Table(benchmark::State& state) {
  totals(state, statistics::CellsMap{{statistics::IndicatorCells{8, 3}, statistics::IndicatorCells{11, 3}}});
}
BENCHMARK(BM_Table);
void BM_VectorMean(benchmark::State& state) { totals(state, statistics::BallMap{{0, 1, 2, 3, 4, 5, 6, 7}, 1.0}); }
BENCHMARK(BM_VectorMean);

constexpr std::int64_t kReports = 1'000'000;

/// As many random bits, added up.
void BM_RandomBits(benchmark::State& state) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  for (auto _ : state) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < kReports; ++i) sum += static_cast<std::int64_t>(bits.word() & 1U);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * kReports);
}
BENCHMARK(BM_RandomBits);

/// Reports of one bit made, folded and read: a mean.
void BM_BitReports(benchmark::State& state) {
  const releases::Ask ask{releases::StatisticMap{{0}, false},
                          {},
                          releases::RangeBound{-1.0, 1.0},
                          1,
                          releases::ReportsForm{releases::Randomiser::Bit}};
  const mechanisms::LocalReports reports = mechanisms::local_reports({-1.0, 1.0}, false, {releases::Randomiser::Bit},
                                                                     releases::Epsilon::create(1.0).value(), kReports)
                                               .value();
  const folds::ReportShape shape(ask);
  std::vector<std::int64_t> slots(kReports);
  std::iota(slots.begin(), slots.end(), std::int64_t{0});
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  std::vector<std::int64_t> records(kReports);
  for (std::size_t i = 0; i < records.size(); ++i) records[i] = static_cast<std::int64_t>(i % 1000);
  std::vector<std::int64_t> numbers(kReports);
  for (auto _ : state) {
    std::copy(records.begin(), records.end(), numbers.begin());
    reports.randomise(numbers, slots, bits);
    const std::vector<std::int64_t> sum = shape.totals(numbers);
    benchmark::DoNotOptimize(sum.data());
  }
  state.SetItemsProcessed(state.iterations() * kReports);
}
BENCHMARK(BM_BitReports);

/// Conjunctions of up to three of 60 values: no memory but the table's.
void BM_Marginals(benchmark::State& state) {
  statistics::ConjunctionsMap map;
  for (std::size_t i = 0; i < 60; ++i) map.literals.push_back({statistics::IndicatorCells{i % 20, 1}, 0});
  map.degree = 3;
  const std::vector<std::int64_t> some(everybody().begin(), everybody().begin() + 1000);
  for (auto _ : state) {
    std::vector<std::int64_t> sum = feature_totals(map, {1, 1.0}, {block(), some});
    benchmark::DoNotOptimize(sum.data());
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(BM_Marginals);

}  // namespace
}  // namespace undertone::silo
