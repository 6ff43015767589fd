#include "coordinator/jobs/shown_tables.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "shared/statistics/tables.hpp"

namespace undertone::coordinator {
namespace {

using Json = nlohmann::ordered_json;

/// One row's table, and where the row stands.
struct RowTable {
  std::size_t row = 0;
  statistics::Table table;
};

/// The axes of a question's cells by name and size; empty where some record may be in none of them.
std::vector<std::pair<std::string, std::size_t>> axes_of(const algorithms::StatisticAsked& asked, std::size_t row) {
  std::vector<std::pair<std::string, std::size_t>> out;
  if (const auto* histogram = std::get_if<algorithms::HistogramAsked>(&asked.what))
    out.emplace_back(fmt::format("cells of question {}", row), histogram->edges.size() - 1);
  if (const auto* table = std::get_if<algorithms::TableAsked>(&asked.what)) {
    for (const algorithms::TableAxis& axis : table->axes) {
      if (!axis.whole) return {};
      out.emplace_back("column " + axis.column, axis.values.size());
    }
  }
  return out;
}

std::vector<RowTable> tables_of(const algorithms::StatisticsSettings& settings, const Json& statistics,
                                std::int64_t records) {
  std::map<std::string, std::size_t> places;  // of axes
  std::vector<RowTable> out;
  for (std::size_t row = 0; row < std::min(statistics.size(), settings.questions.size()); ++row) {
    // Only such a table adds up to the number of units, and tables that are made to agree are counted in one way.
    const algorithms::StatisticAsked& asked = settings.questions[row];
    if (asked.persons != releases::PersonContribution::Form::Mean || algorithms::takes_one_record(asked)) continue;
    const auto axes = axes_of(asked, row);
    const Json& one = statistics[row];
    if (axes.empty() || !one.contains("estimates") || one["records"] != records) continue;
    RowTable made{row, {}};
    for (const auto& [name, size] : axes) {
      made.table.axes.push_back(places.try_emplace(name, places.size()).first->second);
      made.table.sizes.push_back(size);
    }
    if (!std::is_sorted(made.table.axes.begin(), made.table.axes.end())) continue;
    const Json& cells = one["estimates"];
    std::size_t count = 1;  // what is inferred from the cells stands after them
    for (const std::size_t size : made.table.sizes) count *= size;
    made.table.cells.resize(static_cast<Eigen::Index>(count));
    bool complete = cells.size() >= count;
    for (std::size_t i = 0; complete && i < count; ++i) {
      complete = complete && cells[i]["value"].is_number() && cells[i].contains("noise_stddev");
      if (!complete) break;
      const auto stddev = cells[i]["noise_stddev"].get<double>();
      made.table.cells[static_cast<Eigen::Index>(i)] = cells[i]["value"].get<double>();
      made.table.cell_variance = stddev * stddev;
    }
    if (complete) out.push_back(std::move(made));
  }
  return out;
}

/// Whether some column is an axis of two tables.
bool share_axes(const std::vector<RowTable>& tables) {
  std::set<std::size_t> seen;
  for (const RowTable& one : tables)
    for (const std::size_t axis : one.table.axes)
      if (!seen.insert(axis).second) return true;
  return false;
}

Json numbers_of(const Eigen::VectorXd& cells) { return std::vector<double>(cells.begin(), cells.end()); }

}  // namespace

void put_shown_tables(const algorithms::StatisticsSettings& settings, Json& statistics) {
  if (statistics.empty() || !statistics[0].contains("records")) return;
  const auto records = statistics[0]["records"].get<std::int64_t>();
  std::vector<RowTable> tables = tables_of(settings, statistics, records);
  if (share_axes(tables)) {
    std::vector<statistics::Table> raw(tables.size());
    std::transform(tables.begin(), tables.end(), raw.begin(), [](const RowTable& one) { return one.table; });
    const Result<std::vector<statistics::Table>> agreed = statistics::consistent(std::move(raw), records);
    for (std::size_t i = 0; agreed && i < tables.size(); ++i) {
      tables[i].table.cells = (*agreed)[i].cells;
      statistics[tables[i].row]["consistent"] = numbers_of(tables[i].table.cells);
    }
  }
  for (const RowTable& one : tables) {
    const Result<statistics::ProjectedCells> shown = statistics::non_negative(one.table.cells, records);
    if (shown) statistics[one.row]["non_negative"] = numbers_of(shown->cells);
  }
}

}  // namespace undertone::coordinator
