#include "lab/reproduce/census_records.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "shared/base/files.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/data/numbers.hpp"

namespace undertone::lab {
namespace {

constexpr std::size_t kCensusBytesMax = std::size_t{64} << 20U;
constexpr double kCensusCut = 8.0;
constexpr std::array kCensusNumbers = {"age",          "fnlwgt",       "educational-num",
                                       "capital-gain", "capital-loss", "hours-per-week"};
constexpr std::array kCensusTexts = {"workclass", "education", "marital-status", "occupation", "relationship"};

struct CensusTable {
  data::CsvTable cells;
  std::string name;

  [[nodiscard]] Result<std::size_t> column(std::string_view wanted) const {
    const auto found = std::find(cells.header.begin(), cells.header.end(), wanted);
    if (found == cells.header.end())
      return Error{ErrorCode::InvalidData, fmt::format("{} has no column \"{}\"", name, wanted)};
    return static_cast<std::size_t>(found - cells.header.begin());
  }
};

Result<CensusTable> read_census(const std::filesystem::path& file, std::size_t records_max) {
  UNDERTONE_TRY(const std::string text, read_file(file, kCensusBytesMax));
  UNDERTONE_TRY(data::CsvTable cells, data::parse_csv(text, file.filename().string()));
  if (records_max != 0 && cells.rows.size() > records_max) cells.rows.resize(records_max);
  if (cells.rows.empty())
    return Error{ErrorCode::InvalidData, fmt::format("{} has no records", file.filename().string())};
  return CensusTable{std::move(cells), file.filename().string()};
}

/// Which texts stand in a column of the training records, in order: those of others set no indicator.
Result<std::vector<std::string>> texts_of(const CensusTable& train, std::string_view wanted) {
  UNDERTONE_TRY(const std::size_t column, train.column(wanted));
  std::set<std::string> texts;
  for (const std::vector<std::string>& row : train.cells.rows) texts.insert(row[column]);
  return std::vector<std::string>(texts.begin(), texts.end());
}

/// @return 0 or 1. The test file's labels end with a full stop.
Result<Eigen::Index> one_of_two(const CensusTable& table, std::string text, const std::array<const char*, 2>& values) {
  if (!text.empty() && text.back() == '.') text.pop_back();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (text == values.at(i)) return static_cast<Eigen::Index>(i);
  return Error{ErrorCode::InvalidData,
               fmt::format("{}: a cell is neither \"{}\" nor \"{}\"", table.name, values[0], values[1])};
}

Result<fairness::GroupedRecords> encoded(const CensusTable& table, const std::vector<std::vector<std::string>>& texts) {
  std::size_t width = kCensusNumbers.size() + 1;
  for (const std::vector<std::string>& one : texts) width += one.size();
  const auto n = static_cast<Eigen::Index>(table.cells.rows.size());
  fairness::GroupedRecords out{Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(width), n), {}, {}, 2, 2};
  Eigen::Index at = 0;
  for (const char* name : kCensusNumbers) {
    UNDERTONE_TRY(const std::size_t column, table.column(name));
    for (Eigen::Index i = 0; i < n; ++i) {
      const std::optional<double> number =
          data::parse_number(table.cells.rows[static_cast<std::size_t>(i)][column], data::NumberForm{});
      if (!number)
        return Error{ErrorCode::InvalidData,
                     fmt::format("{}, record {}: \"{}\" is no number", table.name, i + 1, name)};
      out.features(at, i) = *number;
    }
    ++at;
  }
  for (std::size_t t = 0; t < texts.size(); ++t) {
    UNDERTONE_TRY(const std::size_t column, table.column(kCensusTexts.at(t)));
    for (Eigen::Index i = 0; i < n; ++i) {
      const std::string& cell = table.cells.rows[static_cast<std::size_t>(i)][column];
      const auto found = std::lower_bound(texts[t].begin(), texts[t].end(), cell);
      if (found != texts[t].end() && *found == cell) out.features(at + (found - texts[t].begin()), i) = 1.0;
    }
    at += static_cast<Eigen::Index>(texts[t].size());
  }
  out.features.row(at).setOnes();
  UNDERTONE_TRY(const std::size_t income, table.column("income"));
  UNDERTONE_TRY(const std::size_t gender, table.column("gender"));
  for (const std::vector<std::string>& row : table.cells.rows) {
    UNDERTONE_TRY(const Eigen::Index label, one_of_two(table, row[income], {"<=50K", ">50K"}));
    UNDERTONE_TRY(const Eigen::Index group, one_of_two(table, row[gender], {"Male", "Female"}));
    out.labels.push_back(label);
    out.groups.push_back(group);
  }
  return out;
}

/// Every feature but the constant, by the training records' mean and deviation.
void standardise(CensusRecords& records) {
  for (Eigen::Index j = 0; j + 1 < records.train.features.rows(); ++j) {
    const double mean = records.train.features.row(j).mean();
    const double deviation = std::sqrt((records.train.features.row(j).array() - mean).square().mean());
    for (fairness::GroupedRecords* part : {&records.train, &records.test}) {
      auto row = part->features.row(j).array();
      row = deviation > 0.0 ? ((row - mean) / deviation).cwiseMax(-kCensusCut).cwiseMin(kCensusCut).eval()
                            : (0.0 * row).eval();
    }
  }
}

}  // namespace

Result<CensusRecords> census_records(const std::filesystem::path& data, std::size_t records_max) {
  UNDERTONE_TRY(const CensusTable train, read_census(data / "adult.data", records_max));
  UNDERTONE_TRY(const CensusTable test, read_census(data / "adult.test", records_max));
  std::vector<std::vector<std::string>> texts;
  for (const char* name : kCensusTexts) {
    UNDERTONE_TRY(std::vector<std::string> own, texts_of(train, name));
    texts.push_back(std::move(own));
  }
  CensusRecords out;
  UNDERTONE_TRY(out.train, encoded(train, texts));
  UNDERTONE_TRY(out.test, encoded(test, texts));
  standardise(out);
  return out;
}

}  // namespace undertone::lab
