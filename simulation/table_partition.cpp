#include "simulation/table_partition.hpp"

#include <algorithm>

#include "shared/base/files.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/data/partition.hpp"
#include "simulation/record_table.hpp"

namespace undertone::simulation {
namespace {

constexpr std::size_t kSilosMax = 10'000;
constexpr int kPairedClasses = 10;
constexpr std::size_t kPairedSilos = 5;  // that hold a class

Result<data::Partition> deal_cells(std::size_t rows, const std::vector<std::string>& cells, const TablePartition& how) {
  RandomSource source(how.seed);
  if (how.by == TablePartition::By::Iid) {
    const std::size_t each = how.silos == 0 ? 0 : rows / how.silos;
    return data::partition_iid(rows, std::vector<std::size_t>(how.silos, each), source);
  }
  if (how.by == TablePartition::By::Sorted) {
    UNDERTONE_TRY(const std::vector<double> targets, numbers_in(cells, how.column));
    return data::partition_sorted(targets, how.silos);
  }
  const ColumnClasses classes = ColumnClasses::of(cells);
  const std::vector<int> labels = classes.labels(cells).value();  // its own
  if (how.by == TablePartition::By::Label)
    return data::partition_by_label(labels, classes.count(), std::nullopt, source);
  if (how.by == TablePartition::By::LabelPair) {
    if (classes.count() != kPairedClasses) {
      return Error{ErrorCode::InvalidData, fmt::format("expected {} classes in the column \"{}\", found {}",
                                                       kPairedClasses, how.column, classes.count())};
    }
    std::vector<std::size_t> sizes(kPairedClasses, 0);
    for (const int label : labels) ++sizes[static_cast<std::size_t>(label)];
    const std::size_t smallest = *std::min_element(sizes.begin(), sizes.end());
    UNDERTONE_TRY(
        data::PairPartition pairs,
        data::partition_by_label_pair(labels, how.disjoint ? smallest / kPairedSilos : smallest,
                                      how.disjoint ? data::Sharing::Disjoint : data::Sharing::Shared, source));
    return std::move(pairs.silos);
  }
  return data::partition_dirichlet(labels, classes.count(), how.silos, how.concentration, source);
}

jobs::RecordFiles files_of(const std::filesystem::path& file, const TablePartition& partition) {
  if (!partition.idx_labels.empty()) return jobs::IdxRecords{file.string(), partition.idx_labels.string()};
  if (partition.cifar) return jobs::CifarRecords{{file.string()}};
  return jobs::CsvRecords{file.string()};
}

}  // namespace

Result<data::Partition> deal_rows(std::size_t rows, const std::vector<std::string>& cells,
                                  const TablePartition& partition) {
  const bool by_class = partition.by == TablePartition::By::Label || partition.by == TablePartition::By::LabelPair;
  if (!by_class && (partition.silos == 0 || partition.silos > kSilosMax)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("expected 1 to {} silos, got {}", kSilosMax, partition.silos)};
  }
  UNDERTONE_TRY(data::Partition silos, deal_cells(rows, cells, partition));
  for (std::size_t i = 0; i < silos.size(); ++i) {
    if (silos[i].empty()) return Error{ErrorCode::InvalidArgument, fmt::format("silo {} gets no record", i + 1)};
  }
  return silos;
}

Result<std::vector<std::filesystem::path>> partition_table(const std::filesystem::path& file,
                                                           const TablePartition& partition,
                                                           const std::filesystem::path& out) {
  UNDERTONE_TRY(const RecordTable table, RecordTable::read(files_of(file, partition), {}));
  std::vector<std::string> cells;
  if (partition.by != TablePartition::By::Iid) {
    UNDERTONE_TRY(cells, table.column(partition.column));
  }
  const Result<data::Partition> silos = deal_rows(table.rows(), cells, partition);
  if (!silos) return Error{silos.error().code, fmt::format("{}: {}", file.string(), silos.error().message)};
  std::vector<std::filesystem::path> files;
  for (const data::Indices& rows : *silos) {
    std::string content = data::csv_line(table.header());
    for (const std::size_t row : rows) content += data::csv_line(table.row(row));
    files.push_back(out / fmt::format("silo-{}.csv", files.size() + 1));
    if (Status made = make_folder_for(files.back()); !made) return made.error();
    if (Status written = write_file_atomically(files.back(), content); !written) return written.error();
  }
  return files;
}

}  // namespace undertone::simulation
