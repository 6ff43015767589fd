#include <benchmark/benchmark.h>
#include <fmt/ranges.h>
#include <fstream>

#include "shared/base/random_source.hpp"
#include "shared/data/csv_reader.hpp"
#include "shared/data/record_gatherer.hpp"
#include "shared/data/snapshot.hpp"
#include "tests/support/temporary_folder.hpp"

/// How fast tables become records: a million rows of 20 columns, as a CSV file and as a snapshot of it. Bytes of a CSV
/// file are its own; of a snapshot they are those of the records that it becomes, doubles.
namespace undertone::data {
namespace {

class Table {
 public:
  explicit Table(std::int64_t rows) {
    for (int i = 0; i < 16; ++i) {
      NumericColumn column;
      column.name = fmt::format("x{}", i);
      column.min = -10;
      column.max = 10;
      schema_.features.emplace_back(column);
    }
    for (int i = 0; i < 3; ++i)
      schema_.features.emplace_back(CategoricalColumn{fmt::format("c{}", i), {"red", "green", "blue", "brown"}, false});
    BinaryLabel label;
    label.column = "y";
    label.negative = "no";
    label.positive = "yes";
    schema_.label = label;
    write_csv(rows);
    freeze();
  }

  [[nodiscard]] std::uint64_t csv_bytes() const { return std::filesystem::file_size(csv_); }
  [[nodiscard]] TableRecords from_csv() const { return read_csv(csv_, schema_, {}).value(); }
  [[nodiscard]] TableRecords from_snapshot() const {
    const GatherOptions options;
    RecordGatherer gatherer(schema_, options);
    UNDERTONE_CHECK(read_snapshot_into(snapshot_, nullptr, gatherer).has_value());
    return gatherer.take();
  }

 private:
  void write_csv(std::int64_t rows) const {
    constexpr const char* kColours[] = {"red", "green", "blue", "brown"};
    std::ofstream file(csv_);
    file << fmt::format("{}\n", fmt::join(columns_of_file(schema_), ","));
    RandomSource random(1);
    std::string line;
    for (std::int64_t row = 0; row < rows; ++row) {
      line.clear();
      for (int i = 0; i < 16; ++i) line += fmt::format("{:.{}f},", 20.0 * random.unit() - 10.0, i < 12 ? 3 : 5);
      for (int i = 0; i < 3; ++i) line += fmt::format("{},", kColours[random.below(4)]);
      file << line << (random.chance(0.5) ? "yes\n" : "no\n");
    }
  }
  void freeze() const {
    std::ofstream file(snapshot_, std::ios::binary);
    SnapshotWriter writer(columns_of_file(schema_), {}, [&file](std::string_view bytes) {
      file << bytes;
      return Status();
    });
    UNDERTONE_CHECK(read_csv_into(csv_, {}, writer).has_value());
    UNDERTONE_CHECK(writer.finish().has_value());
  }

  Schema schema_;
  tests::TemporaryFolder folder_;
  std::filesystem::path csv_ = folder_.path() / "table.csv";
  std::filesystem::path snapshot_ = folder_.path() / "table.snapshot";
};

void BM_Csv(benchmark::State& state) {
  const Table table(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(table.from_csv().records.targets.data());
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(table.csv_bytes()));
}
BENCHMARK(BM_Csv)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void BM_Snapshot(benchmark::State& state) {
  const Table table(state.range(0));
  std::int64_t numbers = 0;
  for (auto _ : state) {
    const TableRecords read = table.from_snapshot();
    numbers += read.records.features.size() + read.records.targets.size();
  }
  state.SetBytesProcessed(numbers * static_cast<std::int64_t>(sizeof(double)));
}
BENCHMARK(BM_Snapshot)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace undertone::data
