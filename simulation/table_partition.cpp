#include "simulation/table_partition.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "shared/base/files.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/data/partition.hpp"

namespace undertone::simulation {
namespace {

constexpr std::size_t kSilosMax = 10'000;
constexpr int kPairedClasses = 10;
constexpr std::size_t kPairedSilos = 5;  // that hold a class

/// The classes of a column, numbered in their order.
struct Classes {
  std::vector<int> labels;
  int count = 0;
};

/// Numbers come first, in their order: "10" after "9".
std::tuple<bool, double, std::string> order_of(const std::string& text) {
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = code == std::errc() && end == text.data() + text.size() && std::isfinite(value);
  return {!number, number ? value : 0.0, text};
}

Classes classes_of(const data::CsvTable& table, std::size_t column) {
  std::map<std::tuple<bool, double, std::string>, int> known;
  for (const std::vector<std::string>& row : table.rows) known.emplace(order_of(row[column]), 0);
  Classes out;
  for (auto& one : known) one.second = out.count++;
  out.labels.reserve(table.rows.size());
  for (const std::vector<std::string>& row : table.rows) out.labels.push_back(known.at(order_of(row[column])));
  return out;
}

struct Numbers {
  std::vector<double> values;
};

Result<Numbers> numbers_of(const data::CsvTable& table, std::size_t column, const std::string& name) {
  Numbers out;
  out.values.reserve(table.rows.size());
  for (const std::vector<std::string>& row : table.rows) {
    const std::string& cell = row[column];
    double value = 0.0;
    const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (code != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) {
      return Error{ErrorCode::InvalidData,
                   fmt::format("line {}: the column \"{}\" holds no finite number", out.values.size() + 2, name)};
    }
    out.values.push_back(value);
  }
  return out;
}

Result<data::Partition> deal_table(const data::CsvTable& table, const TablePartition& how) {
  RandomSource source(how.seed);
  if (how.by == TablePartition::By::Iid) {
    const std::size_t each = how.silos == 0 ? 0 : table.rows.size() / how.silos;
    return data::partition_iid(table.rows.size(), std::vector<std::size_t>(how.silos, each), source);
  }
  const auto found = std::find(table.header.begin(), table.header.end(), how.column);
  if (found == table.header.end())
    return Error{ErrorCode::InvalidData, fmt::format("there is no column \"{}\"", how.column)};
  const auto column = static_cast<std::size_t>(found - table.header.begin());
  if (how.by == TablePartition::By::Sorted) {
    const Result<Numbers> targets = numbers_of(table, column, how.column);
    if (!targets) return targets.error();
    return data::partition_sorted(targets->values, how.silos);
  }
  const Classes classes = classes_of(table, column);
  if (how.by == TablePartition::By::Label)
    return data::partition_by_label(classes.labels, classes.count, std::nullopt, source);
  if (how.by == TablePartition::By::LabelPair) {
    if (classes.count != kPairedClasses) {
      return Error{ErrorCode::InvalidData, fmt::format("expected {} classes in the column \"{}\", found {}",
                                                       kPairedClasses, how.column, classes.count)};
    }
    std::vector<std::size_t> sizes(kPairedClasses, 0);
    for (const int label : classes.labels) ++sizes[static_cast<std::size_t>(label)];
    const std::size_t smallest = *std::min_element(sizes.begin(), sizes.end());
    Result<data::PairPartition> pairs =
        data::partition_by_label_pair(classes.labels, how.disjoint ? smallest / kPairedSilos : smallest,
                                      how.disjoint ? data::Sharing::Disjoint : data::Sharing::Shared, source);
    if (!pairs) return pairs.error();
    return std::move(pairs->silos);
  }
  return data::partition_dirichlet(classes.labels, classes.count, how.silos, how.concentration, source);
}

}  // namespace

Result<std::vector<std::filesystem::path>> partition_table(const std::filesystem::path& csv,
                                                           const TablePartition& partition,
                                                           const std::filesystem::path& out) {
  const bool by_class = partition.by == TablePartition::By::Label || partition.by == TablePartition::By::LabelPair;
  if (!by_class && (partition.silos == 0 || partition.silos > kSilosMax)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("expected 1 to {} silos, got {}", kSilosMax, partition.silos)};
  }
  const Result<std::string> text = read_file(csv, kTableBytesMax);
  if (!text) return text.error();
  const Result<data::CsvTable> table = data::parse_csv(*text, csv.string());
  if (!table) return table.error();
  const Result<data::Partition> silos = deal_table(*table, partition);
  if (!silos) return Error{silos.error().code, fmt::format("{}: {}", csv.string(), silos.error().message)};
  std::vector<std::filesystem::path> files;
  for (const data::Indices& rows : *silos) {
    if (rows.empty()) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{}: silo {} gets no record", csv.string(), files.size() + 1)};
    }
    std::string content = data::csv_line(table->header);
    for (const std::size_t row : rows) content += data::csv_line(table->rows[row]);
    files.push_back(out / fmt::format("silo-{}.csv", files.size() + 1));
    if (Status made = make_folder_for(files.back()); !made) return made.error();
    if (Status written = write_file_atomically(files.back(), content); !written) return written.error();
  }
  return files;
}

}  // namespace undertone::simulation
