#include "simulation/record_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "shared/base/files.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/data/cifar_reader.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/idx_reader.hpp"

namespace undertone::simulation {
namespace {

std::optional<double> finite_number(const std::string& cell) {
  double value = 0.0;
  const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Numbers come first, in their order: "10" after "9".
std::tuple<bool, double, std::string> order_of(const std::string& text) {
  const std::optional<double> number = finite_number(text);
  return {!number, number.value_or(0.0), text};
}

std::vector<std::string> image_columns(const data::Images& images) {
  std::vector<std::string> out = {"label"};
  for (Eigen::Index pixel = 0; pixel < images.pixels.rows(); ++pixel) out.push_back(fmt::format("p{}", pixel));
  return out;
}

}  // namespace

RecordTable::RecordTable(std::string name, std::vector<std::string> header,
                         std::variant<data::CsvTable, data::LabelledImages> content, data::NumberForm numbers)
    : name_(std::move(name)), header_(std::move(header)), content_(std::move(content)), numbers_(numbers) {}

Result<RecordTable> RecordTable::read(const jobs::RecordFiles& files, const std::filesystem::path& folder) {
  const auto of_images = [](const std::filesystem::path& first,
                            Result<data::LabelledImages> read) -> Result<RecordTable> {
    if (!read) return read.error();
    std::vector<std::string> header = image_columns(read->images);
    return RecordTable(first.string(), std::move(header), *std::move(read));
  };
  return std::visit(Overloaded{[&](const jobs::CsvRecords& csv) -> Result<RecordTable> {
                                 const std::filesystem::path file = folder / csv.file;
                                 UNDERTONE_TRY(const std::string text, read_file(file, kTableBytesMax));
                                 UNDERTONE_TRY(data::CsvTable table, data::parse_csv(text, file.string(), csv.dialect));
                                 std::vector<std::string> header = table.header;
                                 return RecordTable(file.string(), std::move(header), std::move(table),
                                                    csv.dialect.numbers);
                               },
                               [&](const jobs::IdxRecords& idx) {
                                 const std::filesystem::path images = folder / idx.images;
                                 return of_images(images, data::read_idx(images, folder / idx.labels));
                               },
                               [&](const jobs::CifarRecords& cifar) {
                                 std::vector<std::filesystem::path> batches;
                                 for (const std::string& batch : cifar.batches) batches.push_back(folder / batch);
                                 return of_images(batches.front(), data::read_cifar10(batches));
                               }},
                    files);
}

void RecordTable::conform_to(const data::Schema& schema) {
  const data::ColumnNames names(header_);
  std::map<std::size_t, std::set<std::string>> numbers;  // columns of numbers, with what means missing in them
  const auto name_it = [&](const std::string& name) {
    const std::optional<std::size_t> found = names.find(name);
    if (found) header_[*found] = name;
    return found;
  };
  const auto add = [&](const std::string& name, bool is_number, const std::vector<std::string>& missing) {
    const std::optional<std::size_t> found = name_it(name);
    if (found && is_number) numbers[*found].insert(missing.begin(), missing.end());
  };
  const auto add_number = [&](const data::NumericColumn& column) {
    add(column.name, !column.date, column.missing ? column.missing->texts : std::vector<std::string>());
  };
  for (const data::DerivedColumn& column : schema.derived) {
    for (const std::string& source : data::sources_of(column))
      add(source, data::needed_kind(column) == data::CellKind::Number, column.missing);
  }
  for (const data::FeatureColumn& column : schema.features) {
    if (const auto* number = std::get_if<data::NumericColumn>(&column)) {
      add_number(*number);
    } else {
      (void)name_it(data::name_of(column));
    }
  }
  if (const auto* number = std::get_if<data::NumericLabel>(&schema.label)) {
    add_number(number->column);
  } else {
    (void)name_it(data::label_column(schema));
  }
  auto* csv = std::get_if<data::CsvTable>(&content_);
  if (csv == nullptr) return;
  csv->header = header_;
  if (numbers_ == data::NumberForm{}) return;
  // Once each: what is plain already may read as something else.
  for (const auto& [column, missing] : numbers) {
    for (std::vector<std::string>& row : csv->rows) {
      if (!missing.contains(row[column])) row[column] = data::plain_number(row[column], numbers_);
    }
  }
}

std::size_t RecordTable::rows() const noexcept {
  if (const auto* csv = std::get_if<data::CsvTable>(&content_)) return csv->rows.size();
  return std::get_if<data::LabelledImages>(&content_)->labels.size();
}

std::string RecordTable::cell(std::size_t row, std::size_t column) const {
  if (const auto* csv = std::get_if<data::CsvTable>(&content_)) return csv->rows[row][column];
  const auto& images = std::get<data::LabelledImages>(content_);
  if (column == 0) return std::to_string(images.labels[row]);
  // A column of the file holds channel after channel.
  const auto at = static_cast<Eigen::Index>(column - 1);
  const Eigen::Index channels = images.images.channels;
  const Eigen::Index from = at % channels * (images.images.rows * images.images.columns) + at / channels;
  return std::to_string(std::lround(images.images.pixels(from, static_cast<Eigen::Index>(row)) * 255.0));
}

std::vector<std::string> RecordTable::row(std::size_t index) const {
  if (const auto* csv = std::get_if<data::CsvTable>(&content_)) return csv->rows[index];
  std::vector<std::string> out;
  out.reserve(header_.size());
  for (std::size_t column = 0; column < header_.size(); ++column) out.push_back(cell(index, column));
  return out;
}

Result<std::vector<std::string>> RecordTable::column(const std::string& name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) return Error{ErrorCode::InvalidData, fmt::format("there is no column \"{}\"", name)};
  const auto column = static_cast<std::size_t>(found - header_.begin());
  std::vector<std::string> out;
  out.reserve(rows());
  for (std::size_t row = 0; row < rows(); ++row) out.push_back(cell(row, column));
  return out;
}

ColumnClasses ColumnClasses::of(const std::vector<std::string>& cells) {
  ColumnClasses out;
  for (const std::string& cell : cells) out.known_.emplace(order_of(cell), 0);
  int next = 0;
  for (auto& one : out.known_) one.second = next++;
  return out;
}

Result<std::vector<int>> ColumnClasses::labels(const std::vector<std::string>& cells) const {
  std::vector<int> out;
  out.reserve(cells.size());
  for (const std::string& cell : cells) {
    const auto found = known_.find(order_of(cell));
    if (found == known_.end()) {
      return Error{ErrorCode::InvalidData,
                   fmt::format("record {}: expected one of the {} classes, found another", out.size() + 1, count())};
    }
    out.push_back(found->second);
  }
  return out;
}

Result<std::vector<double>> numbers_in(const std::vector<std::string>& cells, const std::string& column) {
  std::vector<double> out;
  out.reserve(cells.size());
  for (const std::string& cell : cells) {
    const std::optional<double> value = finite_number(cell);
    if (!value) {
      return Error{ErrorCode::InvalidData,
                   fmt::format("record {}: the column \"{}\" holds no finite number", out.size() + 1, column)};
    }
    out.push_back(*value);
  }
  return out;
}

}  // namespace undertone::simulation
