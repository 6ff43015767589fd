#include "shared/statistics/tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "shared/geometry/simplex_projection.hpp"

namespace undertone::statistics {
namespace {

constexpr std::size_t kTablesMax = 256;
constexpr std::size_t kAxesMax = 12;
constexpr std::size_t kTableCellsMax = std::size_t{1} << 22U;

using Axes = std::vector<std::size_t>;

Status check_table(const Table& table) {
  const auto refused = [](const std::string& what) { return Error{ErrorCode::InvalidArgument, "a table: " + what}; };
  if (table.axes.size() != table.sizes.size() || table.axes.size() > kAxesMax)
    return refused(fmt::format("expected up to {} axes, each with its size, got {} with {}", kAxesMax,
                               table.axes.size(), table.sizes.size()));
  if (std::adjacent_find(table.axes.begin(), table.axes.end(), std::greater_equal<>()) != table.axes.end())
    return refused("its axes do not ascend");
  std::size_t cells = 1;
  for (const std::size_t size : table.sizes) {
    if (size < 1 || size > kTableCellsMax / cells)
      return refused(fmt::format("expected sizes >= 1 with a product of {} at most", kTableCellsMax));
    cells *= size;
  }
  if (static_cast<std::size_t>(table.cells.size()) != cells || !table.cells.allFinite())
    return refused(fmt::format("expected {} finite cells, got {}", cells, table.cells.size()));
  if (!(table.cell_variance > 0.0 && std::isfinite(table.cell_variance)))
    return refused(fmt::format("expected a finite noise variance > 0, got {}", table.cell_variance));
  return {};
}

/// For every cell of a table the place of its cell in the marginal. @param axes a subset, ascending
std::vector<Eigen::Index> places_in(const Table& table, const Axes& axes) {
  std::vector<std::size_t> strides(table.axes.size(), 0);
  std::size_t stride = 1;
  for (std::size_t i = table.axes.size(); i-- > 0;) {
    if (!std::binary_search(axes.begin(), axes.end(), table.axes[i])) continue;
    strides[i] = stride;
    stride *= table.sizes[i];
  }
  std::vector<Eigen::Index> places(static_cast<std::size_t>(table.cells.size()));
  std::vector<std::size_t> at(table.axes.size(), 0);
  std::size_t place = 0;
  for (Eigen::Index& out : places) {
    out = static_cast<Eigen::Index>(place);
    for (std::size_t i = at.size(); i-- > 0;) {
      place += strides[i];
      if (++at[i] < table.sizes[i]) break;
      place -= strides[i] * table.sizes[i];
      at[i] = 0;
    }
  }
  return places;
}

Eigen::Index marginal_size(const Table& table, const Axes& axes) {
  std::size_t size = 1;
  for (std::size_t i = 0; i < table.axes.size(); ++i)
    if (std::binary_search(axes.begin(), axes.end(), table.axes[i])) size *= table.sizes[i];
  return static_cast<Eigen::Index>(size);
}

Eigen::VectorXd summed_over(const Table& table, const std::vector<Eigen::Index>& places, Eigen::Index size) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(size);
  for (std::size_t i = 0; i < places.size(); ++i) out[places[i]] += table.cells[static_cast<Eigen::Index>(i)];
  return out;
}

/// All intersections of the tables' axes, smallest first.
std::vector<Axes> shared_margins(const std::vector<Table>& tables, std::size_t most) {
  std::set<Axes> closed;
  std::vector<Axes> fresh;
  for (const Table& table : tables)
    if (closed.insert(table.axes).second) fresh.push_back(table.axes);
  while (!fresh.empty() && closed.size() <= most) {
    std::vector<Axes> next;
    for (const Axes& one : fresh) {
      for (const Table& table : tables) {
        Axes both;
        std::set_intersection(one.begin(), one.end(), table.axes.begin(), table.axes.end(), std::back_inserter(both));
        if (closed.insert(both).second) next.push_back(std::move(both));
      }
    }
    fresh = std::move(next);
  }
  std::vector<Axes> out(closed.begin(), closed.end());
  std::stable_sort(out.begin(), out.end(), [](const Axes& a, const Axes& b) { return a.size() < b.size(); });
  return out;
}

bool holds_axes(const Table& table, const Axes& axes) {
  return std::includes(table.axes.begin(), table.axes.end(), axes.begin(), axes.end());
}

/// One margin of a table, and how it is found.
struct Version {
  Table* table;
  std::vector<Eigen::Index> places;
  Eigen::VectorXd cells;
  double added = 0.0;  // cells of the table in one of the margin
};

void agree(std::vector<Table>& tables, const Axes& axes, std::int64_t records) {
  std::vector<Version> versions;
  for (Table& table : tables) {
    if (!holds_axes(table, axes)) continue;
    Version version{&table, places_in(table, axes), {}, 0.0};
    const Eigen::Index size = marginal_size(table, axes);
    version.cells = summed_over(table, version.places, size);
    version.added = static_cast<double>(table.cells.size()) / static_cast<double>(size);
    versions.push_back(std::move(version));
  }
  const bool total = axes.empty();
  if (versions.empty() || (versions.size() == 1 && !total)) return;
  Eigen::VectorXd target = Eigen::VectorXd::Zero(versions.front().cells.size());
  double weights = 0.0;
  for (const Version& version : versions) {
    const double weight = 1.0 / (version.added * version.table->cell_variance);
    target += weight * version.cells;
    weights += weight;
  }
  target /= weights;
  if (total) target[0] = static_cast<double>(records);  // public
  for (Version& version : versions) {
    const Eigen::VectorXd change = (target - version.cells) / version.added;
    for (std::size_t i = 0; i < version.places.size(); ++i)
      version.table->cells[static_cast<Eigen::Index>(i)] += change[version.places[i]];
  }
}

}  // namespace

Result<Table> marginal(const Table& table, const std::vector<std::size_t>& axes) {
  UNDERTONE_TRY(check_table(table));
  if (std::adjacent_find(axes.begin(), axes.end(), std::greater_equal<>()) != axes.end() || !holds_axes(table, axes))
    return Error{ErrorCode::InvalidArgument, "a marginal: expected ascending axes of the table"};
  Table out;
  out.axes = axes;
  for (std::size_t i = 0; i < table.axes.size(); ++i)
    if (std::binary_search(axes.begin(), axes.end(), table.axes[i])) out.sizes.push_back(table.sizes[i]);
  const Eigen::Index size = marginal_size(table, axes);
  out.cells = summed_over(table, places_in(table, axes), size);
  out.cell_variance = table.cell_variance * static_cast<double>(table.cells.size()) / static_cast<double>(size);
  return out;
}

Result<std::vector<Table>> consistent(std::vector<Table> tables, std::int64_t records) {
  if (tables.empty() || tables.size() > kTablesMax || records < 1) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("tables: expected 1 to {} of them over one record or more, got {} over {}", kTablesMax,
                             tables.size(), records)};
  }
  std::map<std::size_t, std::size_t> sizes;
  std::size_t cells = 0;
  for (const Table& table : tables) {
    UNDERTONE_TRY(check_table(table));
    cells += static_cast<std::size_t>(table.cells.size());
    for (std::size_t i = 0; i < table.axes.size(); ++i) {
      const auto [known, is_new] = sizes.emplace(table.axes[i], table.sizes[i]);
      if (!is_new && known->second != table.sizes[i]) {
        return Error{ErrorCode::InvalidArgument, fmt::format("tables: axis {} has {} values in one and {} in another",
                                                             table.axes[i], known->second, table.sizes[i])};
      }
    }
  }
  if (cells > kTableCellsMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("tables: expected {} cells together at most, got {}", kTableCellsMax, cells)};
  }
  constexpr std::size_t kMarginsMax = 4096;
  const std::vector<Axes> margins = shared_margins(tables, kMarginsMax);
  if (margins.size() > kMarginsMax) {
    return Error{ErrorCode::LimitExceeded, fmt::format("tables: they share more than {} sub-margins", kMarginsMax)};
  }
  agree(tables, {}, records);
  for (const Axes& axes : margins)
    if (!axes.empty()) agree(tables, axes, records);
  return tables;
}

Result<ProjectedCells> non_negative(const Eigen::VectorXd& cells, std::int64_t records) {
  if (cells.size() < 1 || !cells.allFinite() || records < 1) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("cells without negative ones: expected one finite cell or more over one record or more, got "
                    "{} over {}",
                    cells.size(), records)};
  }
  ProjectedCells out{cells};
  geometry::project_onto_simplex(static_cast<double>(records), out.cells);
  return out;
}

}  // namespace undertone::statistics
