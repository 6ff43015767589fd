#include "lab/reproduce/grouped_table.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "shared/base/files.hpp"
#include "shared/base/random_source.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/data/numbers.hpp"

namespace undertone::lab {
namespace {

constexpr std::size_t kTableBytesMax = std::size_t{64} << 20U;
constexpr double kFeatureCut = 8.0;
constexpr double kTestShare = 0.25;

struct ReadTable {
  data::CsvTable cells;
  std::string name;

  [[nodiscard]] Result<std::size_t> column(std::string_view wanted) const {
    const auto found = std::find(cells.header.begin(), cells.header.end(), wanted);
    if (found == cells.header.end())
      return Error{ErrorCode::InvalidData, fmt::format("{} has no column \"{}\"", name, wanted)};
    return static_cast<std::size_t>(found - cells.header.begin());
  }
};

Result<ReadTable> read_table(const std::filesystem::path& file, std::size_t records_max) {
  UNDERTONE_TRY(const std::string text, read_file(file, kTableBytesMax));
  UNDERTONE_TRY(data::CsvTable cells, data::parse_csv(text, file.filename().string()));
  if (records_max != 0 && cells.rows.size() > records_max) cells.rows.resize(records_max);
  if (cells.rows.empty())
    return Error{ErrorCode::InvalidData, fmt::format("{} has no records", file.filename().string())};
  return ReadTable{std::move(cells), file.filename().string()};
}

/// Which texts stand in a column of the training records, in order: those of others set no indicator.
Result<std::vector<std::string>> texts_of(const ReadTable& train, const std::string& wanted) {
  UNDERTONE_TRY(const std::size_t column, train.column(wanted));
  std::set<std::string> texts;
  for (const std::vector<std::string>& row : train.cells.rows) texts.insert(row[column]);
  return std::vector<std::string>(texts.begin(), texts.end());
}

/// @return 0 or 1. Labels of the census's test file end with a full stop.
Result<std::vector<Eigen::Index>> divided(const ReadTable& table, const DividingColumn& by) {
  UNDERTONE_TRY(const std::size_t column, table.column(by.name));
  std::vector<Eigen::Index> out;
  for (const std::vector<std::string>& row : table.cells.rows) {
    std::string text = row[column];
    if (!text.empty() && text.back() == '.') text.pop_back();
    if (text != by.one && !by.zero.empty() && text != by.zero)
      return Error{ErrorCode::InvalidData, fmt::format("{}: a cell of \"{}\" is neither \"{}\" nor \"{}\"", table.name,
                                                       by.name, by.zero, by.one)};
    out.push_back(text == by.one ? 1 : 0);
  }
  return out;
}

/// @param texts of each column of texts, in order: others set no indicator
Result<fairness::GroupedRecords> encoded(const GroupedTable& columns, const ReadTable& table,
                                         const std::vector<std::vector<std::string>>& texts) {
  std::size_t width = columns.numbers.size() + 1;
  for (const std::vector<std::string>& one : texts) width += one.size();
  const auto n = static_cast<Eigen::Index>(table.cells.rows.size());
  fairness::GroupedRecords out{Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(width), n), {}, {}, 2, 2};
  Eigen::Index at = 0;
  for (const std::string& name : columns.numbers) {
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
    UNDERTONE_TRY(const std::size_t column, table.column(columns.texts[t]));
    for (Eigen::Index i = 0; i < n; ++i) {
      const std::string& cell = table.cells.rows[static_cast<std::size_t>(i)][column];
      const auto found = std::lower_bound(texts[t].begin(), texts[t].end(), cell);
      if (found != texts[t].end() && *found == cell) out.features(at + (found - texts[t].begin()), i) = 1.0;
    }
    at += static_cast<Eigen::Index>(texts[t].size());
  }
  out.features.row(at).setOnes();
  UNDERTONE_TRY(out.labels, divided(table, columns.label));
  UNDERTONE_TRY(out.groups, divided(table, columns.group));
  return out;
}

/// Takes a fourth of the rows off, in an order drawn from a public seed.
Result<ReadTable> dealt_off(ReadTable& train, std::uint64_t seed) {
  std::vector<std::vector<std::string>> rows = std::move(train.cells.rows);
  const auto count = static_cast<std::size_t>(kTestShare * static_cast<double>(rows.size()));
  if (count == 0) return Error{ErrorCode::InvalidData, fmt::format("{} has too few records", train.name)};
  ReadTable test{{train.cells.header, {}}, train.name};
  train.cells.rows.clear();
  RandomSource source(seed);
  const std::vector<std::size_t> order = source.permutation(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    (i < count ? test : train).cells.rows.push_back(std::move(rows[order[i]]));
  return test;
}

/// Every feature but the constant, by the training records' mean and deviation.
void standardise(GroupedSplit& records) {
  for (Eigen::Index j = 0; j + 1 < records.train.features.rows(); ++j) {
    const double mean = records.train.features.row(j).mean();
    const double deviation = std::sqrt((records.train.features.row(j).array() - mean).square().mean());
    for (fairness::GroupedRecords* part : {&records.train, &records.test}) {
      auto row = part->features.row(j).array();
      row = deviation > 0.0 ? ((row - mean) / deviation).cwiseMax(-kFeatureCut).cwiseMin(kFeatureCut).eval()
                            : (0.0 * row).eval();
    }
  }
}

}  // namespace

GroupedTable census_table() {
  return {"census income",
          "adult.data",
          "adult.test",
          {"age", "fnlwgt", "educational-num", "capital-gain", "capital-loss", "hours-per-week"},
          {"workclass", "education", "marital-status", "occupation", "relationship"},
          {"income", ">50K", "<=50K"},
          {"gender", "Female", "Male"}};
}

GroupedTable compas_table() {
  return {"COMPAS",
          "compas.csv",
          "",
          {"age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"},
          {"sex", "c_charge_degree"},
          {"two_year_recid", "1", "0"},
          {"race", "African-American", ""}};
}

Result<GroupedSplit> grouped_split(const GroupedTable& table, const std::filesystem::path& data, std::uint64_t seed,
                                   std::size_t records_max) {
  UNDERTONE_TRY(ReadTable train, read_table(data / table.train, records_max));
  UNDERTONE_TRY(const ReadTable test,
                table.test.empty() ? dealt_off(train, seed) : read_table(data / table.test, records_max));
  std::vector<std::vector<std::string>> texts;
  for (const std::string& name : table.texts) {
    UNDERTONE_TRY(std::vector<std::string> own, texts_of(train, name));
    texts.push_back(std::move(own));
  }
  GroupedSplit out;
  UNDERTONE_TRY(out.train, encoded(table, train, texts));
  UNDERTONE_TRY(out.test, encoded(table, test, texts));
  standardise(out);
  return out;
}

}  // namespace undertone::lab
