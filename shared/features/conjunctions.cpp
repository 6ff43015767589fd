#include "shared/features/conjunctions.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "shared/base/overloaded.hpp"

namespace undertone::statistics {
namespace {

/// What literals of one column have in common, of which a record has one at most. Two that read the same coordinates in
/// different ways count as of different columns: a record may have both.
using ColumnKey = std::tuple<std::size_t, std::size_t, std::size_t>;
ColumnKey column_of(const Cells& cells) {
  const auto [first, count] =
      std::visit(Overloaded{[](const IndicatorCells& of) { return std::pair(of.first, of.count); },
                            [](const SignCells& of) { return std::pair(of.coordinate, std::size_t{2}); },
                            [](const ClassCells& of) { return std::pair(of.coordinate, of.count); },
                            [](const BinnedCells& of) { return std::pair(of.coordinate, of.edges.size()); },
                            [](const GradientCells& of) { return std::pair(std::size_t{0}, of.edges.size()); },
                            [](const ExitCells& of) { return std::pair(of.time, of.edges.size()); }},
                 cells);
  return {cells.index(), first, count};
}

}  // namespace

std::size_t combinations(std::size_t n, std::size_t m) noexcept {
  if (m > n) return 0;
  m = std::min(m, n - m);
  std::size_t out = 1;
  for (std::size_t i = 1; i <= m; ++i) {
    // out * (n - m + i) / i is C(n - m + i, i), an integer; out is at most kCellsMax, so that nothing overflows.
    out = out * (n - m + i) / i;
    if (out > kCellsMax) return kCellsMax + 1;
  }
  return out;
}

std::size_t conjunction_count(std::size_t literals, std::size_t degree) noexcept {
  std::size_t out = 0;
  for (std::size_t m = 1; m <= std::min(degree, literals); ++m) {
    out += combinations(literals, m);
    if (out > kCellsMax) return kCellsMax + 1;
  }
  return out;
}

std::size_t conjunction_place(std::span<const std::size_t> chosen, std::size_t literals) {
  UNDERTONE_CHECK(!chosen.empty() && chosen.back() < literals);
  std::size_t place = conjunction_count(literals, chosen.size() - 1);
  for (std::size_t i = 0; i < chosen.size(); ++i) place += combinations(chosen[i], i + 1);
  return place;
}

std::vector<std::size_t> conjunction_at(std::size_t place, std::size_t literals, std::size_t degree) {
  UNDERTONE_CHECK(place < conjunction_count(literals, degree));
  std::size_t size = 1;
  for (; place >= combinations(literals, size); ++size) place -= combinations(literals, size);
  std::vector<std::size_t> chosen(size);
  std::size_t below = literals;
  for (std::size_t i = size; i > 0; --i) {
    // The largest literal with C(literal, i) <= place.
    std::size_t literal = below - 1;
    while (combinations(literal, i) > place) --literal;
    place -= combinations(literal, i);
    chosen[i - 1] = literal;
    below = literal;
  }
  return chosen;
}

Status check(const ConjunctionsMap& map, std::size_t encoded_width) {
  const std::size_t literals = map.literals.size();
  if (literals < 1 || literals > kLiteralsMax)
    return refused_map(fmt::format("expected 1 to {} literals, got {}", kLiteralsMax, literals));
  if (map.degree < 1 || map.degree > literals)
    return refused_map(fmt::format("expected conjunctions of 1 to {} literals, got {}", literals, map.degree));
  if (conjunction_count(literals, map.degree) > kCellsMax)
    return refused_map(fmt::format("expected {} conjunctions at most", kCellsMax));
  std::map<ColumnKey, std::vector<std::size_t>> known;
  for (const Literal& literal : map.literals) {
    UNDERTONE_TRY(check_cells(literal.cells, encoded_width));
    // Of two cuts of one number a record may be in a cell of each.
    const bool listed = std::holds_alternative<IndicatorCells>(literal.cells) ||
                        std::holds_alternative<SignCells>(literal.cells) ||
                        std::holds_alternative<ClassCells>(literal.cells);
    if (!listed) return refused_map("expected literals of listed values");
    if (literal.cell >= cell_count(literal.cells))
      return refused_map(fmt::format("expected a cell below {}, got {}", cell_count(literal.cells), literal.cell));
    std::vector<std::size_t>& cells = known[column_of(literal.cells)];
    if (std::find(cells.begin(), cells.end(), literal.cell) != cells.end())
      return refused_map("expected literals that differ");
    cells.push_back(literal.cell);
  }
  return {};
}

std::vector<std::size_t> literals_of(const ConjunctionsMap& map, const EncodedRecord& record) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < map.literals.size(); ++i)
    if (cell_of(map.literals[i].cells, record) == map.literals[i].cell) out.push_back(i);
  return out;
}

void add_conjunctions(const ConjunctionsMap& map, std::int64_t units, const EncodedRecord& record,
                      std::span<std::int64_t> sum) {
  const std::vector<std::size_t> held = literals_of(map, record);
  const std::size_t literals = map.literals.size();
  UNDERTONE_CHECK(sum.size() == conjunction_count(literals, map.degree));
  std::size_t first = 0;  // of the conjunctions of one size
  for (std::size_t size = 1; size <= std::min(map.degree, held.size()); ++size) {
    // Every choice of so many of the record's literals, as places among them, in colexicographic order.
    std::vector<std::size_t> at(size);
    for (std::size_t i = 0; i < size; ++i) at[i] = i;
    while (true) {
      std::size_t place = first;
      for (std::size_t i = 0; i < size; ++i) place += combinations(held[at[i]], i + 1);
      sum[place] += units;
      std::size_t moved = 0;
      while (moved + 1 < size && at[moved] + 1 == at[moved + 1]) ++moved;
      if (moved + 1 == size && at[moved] + 1 == held.size()) break;
      ++at[moved];
      for (std::size_t i = 0; i < moved; ++i) at[i] = i;
    }
    first += combinations(literals, size);
  }
}

std::size_t differing_conjunctions(const ConjunctionsMap& map) {
  std::map<ColumnKey, std::size_t> columns;
  for (const Literal& literal : map.literals) ++columns[column_of(literal.cells)];
  std::size_t alone = 0;
  std::size_t several = 0;
  for (const auto& [column, literals] : columns) ++(literals == 1 ? alone : several);
  const auto held = [&](std::size_t literals) { return conjunction_count(literals, map.degree); };
  std::size_t out = 0;
  for (std::size_t i = 0; i <= alone; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const std::size_t common = i + j > alone ? i + j - alone : 0;
      out = std::max(out, held(several + i) + held(several + j) - 2 * held(common));
    }
  }
  return std::min(out, conjunction_count(map.literals.size(), map.degree));
}

std::string canonical_text(const ConjunctionsMap& map) {
  std::string out = fmt::format("{}", map.degree);
  for (const Literal& literal : map.literals) out += fmt::format(":{}={}", canonical_text(literal.cells), literal.cell);
  return out;
}

}  // namespace undertone::statistics
