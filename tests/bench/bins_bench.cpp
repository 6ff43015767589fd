#include <benchmark/benchmark.h>
#include <cmath>
#include <memory>
#include <vector>

#include "shared/planning/secret_parts.hpp"
#include "silo/oracles/record_places.hpp"
#include "silo/oracles/record_sums.hpp"
#include "silo/oracles/secure_randomness.hpp"
#include "tests/bench/paired.hpp"

namespace undertone::silo {
namespace {

/// The bins of a run against its permutation, each with the table that rounds look into. At most 2 was asked for.
void BM_DrawBins(benchmark::State& state) {
  const std::int64_t records = state.range(0);
  const PermutationName name{RunId{sha256("job"), {1}}, releases::Block::Training, sha256("key")};
  SecureRandomness randomness;
  bench::compare(
      state, [&] { benchmark::DoNotOptimize(RecordPlaces::binned(randomness.bins(name, records)).records()); },
      [&] { benchmark::DoNotOptimize(RecordPlaces::permuted(randomness.permutation(name, records)).records()); });
  state.SetItemsProcessed(state.iterations() * records);
}

/// A pass over all bins of a logistic regression's records.
class BinnedPass {
 public:
  BinnedPass(std::int64_t records, std::int64_t parts)
      : records_(records), parts_(parts), places_(RecordPlaces::binned(drawn(records))) {
    block_.features = Eigen::MatrixXd::Random(kFeatures, records);
    block_.targets = Eigen::VectorXd::Random(records).array().sign();
  }
  [[nodiscard]] std::int64_t positions() const { return records_ / parts_; }
  /// @param rows of a part's work, or 0: as many as it holds
  void sums(std::int64_t rows) {
    for (std::int64_t part = 0; part < parts_; ++part) {
      const releases::Slice::Positions where{part * positions(), (part + 1) * positions()};
      const std::int64_t held = std::max<std::int64_t>(1, places_.bin(where, records_).counted);
      add(where, rows == 0 ? held : rows);
    }
  }
  /// One part's sum, of which nothing, or everything, counts.
  void one(std::int64_t rows, bool everything) {
    const RecordPlaces::Rows bin = places_.bin({0, positions()}, rows);
    add_rows(bin.records, everything ? rows : 0);
  }

 private:
  static constexpr Eigen::Index kFeatures = 100;
  static std::vector<std::int64_t> drawn(std::int64_t records) {
    return SecureRandomness().bins({RunId{sha256("job"), {1}}, releases::Block::Training, sha256("key")}, records);
  }
  void add(const releases::Slice::Positions& where, std::int64_t rows) {
    const RecordPlaces::Rows bin = places_.bin(where, rows);
    add_rows(bin.records, bin.counted);
  }
  void add_rows(const std::vector<std::int64_t>& rows, std::int64_t counted) {
    sums_->gradients(point_, lattice_, {block_, rows, static_cast<std::size_t>(counted)}, sum_);
    benchmark::DoNotOptimize(sum_.data());
  }
  std::int64_t records_;
  std::int64_t parts_;
  RecordPlaces places_;
  models::Records block_;
  std::unique_ptr<RecordSums> sums_ =
      make_record_sums(models::Model(models::LinearModel(models::Loss::Logistic, kFeatures, true)));
  Eigen::VectorXd point_ = Eigen::VectorXd::Constant(kFeatures + 1, 0.01);
  mechanisms::Lattice lattice_{std::int64_t{1} << 30U, 0x1p-30};
  std::vector<std::int64_t> sum_ = std::vector<std::int64_t>(kFeatures + 1);
};

/// As a plan pads at epsilon 1 and delta 1e-6.
planning::BinPadding padding_for(std::int64_t parts) {
  return planning::BinPadding::create(releases::DeltaAmount::rounded_down(1e-6).value(),
                                      releases::Epsilon::create(1.0).value(), static_cast<std::uint64_t>(parts))
      .value();
}

/// All rounds of a pass on padded parts, against rounds that work on what a part holds. "bound" is 1 + 2 sqrt(t L / n),
/// "rows" the rows of padded work over those without.
void BM_PaddedPass(benchmark::State& state) {
  const std::int64_t records = state.range(0);
  const std::int64_t parts = state.range(1);
  BinnedPass pass(records, parts);
  const planning::BinPadding padding = padding_for(parts);
  const std::int64_t rows = padding.rows(pass.positions(), records);
  bench::compare(
      state, [&] { pass.sums(rows); }, [&] { pass.sums(0); });
  state.counters["bound"] =
      1.0 + 2.0 * std::sqrt(static_cast<double>(parts) * padding.log_share / static_cast<double>(records));
  state.counters["rows"] = static_cast<double>(rows * parts) / static_cast<double>(records);
}

/// A part of which every row counts, against one of which none does: what the time tells of its size.
void BM_FullPartAgainstEmpty(benchmark::State& state) {
  const std::int64_t records = state.range(0);
  const std::int64_t parts = state.range(1);
  BinnedPass pass(records, parts);
  const std::int64_t rows = padding_for(parts).rows(pass.positions(), records);
  bench::compare(
      state, [&] { pass.one(rows, true); }, [&] { pass.one(rows, false); });
}

void passes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"records", "parts"})->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (const std::int64_t parts : {10, 100}) bench->Args({10'000, parts})->Args({100'000, parts});
}
BENCHMARK(BM_DrawBins)->ArgName("records")->Arg(1'000)->Arg(100'000)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PaddedPass)->Apply(passes);
BENCHMARK(BM_FullPartAgainstEmpty)->Apply(passes);

}  // namespace
}  // namespace undertone::silo
