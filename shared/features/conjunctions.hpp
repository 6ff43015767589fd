#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shared/features/cells.hpp"

namespace undertone::statistics {

/// What a record says yes or no to: whether it is in a cell.
struct Literal {
  Cells cells;
  std::size_t cell = 0;
};

/// For every choice of 1 to `degree` of the literals: 1 where the record has all of them, else 0. From these shares
/// every marginal over up to so many literals follows exactly, and wider ones nearly. The choices are in order of their
/// size; those of one size in colexicographic order. Source: spec noninteractive-ldp 2.7 (Newton basis).
struct ConjunctionsMap {
  std::vector<Literal> literals;  // p in 1 .. kLiteralsMax
  std::size_t degree = 1;         // t in 1 .. p
};

inline constexpr std::size_t kLiteralsMax = 256;

/// C(n, m), or kCellsMax + 1 where it is more than kCellsMax.
[[nodiscard]] std::size_t combinations(std::size_t n, std::size_t m) noexcept;
/// How many choices of 1 to `degree` of so many literals there are, or kCellsMax + 1 where there are more than
/// kCellsMax.
[[nodiscard]] std::size_t conjunction_count(std::size_t literals, std::size_t degree) noexcept;
/// The place of a choice. @param chosen one or more literals, ascending, each below `literals`
[[nodiscard]] std::size_t conjunction_place(std::span<const std::size_t> chosen, std::size_t literals);
/// Its inverse. @param place below conjunction_count(literals, degree)
[[nodiscard]] std::vector<std::size_t> conjunction_at(std::size_t place, std::size_t literals, std::size_t degree);

[[nodiscard]] Status check(const ConjunctionsMap& map, std::size_t encoded_width);
/// Which literals the record has, ascending.
[[nodiscard]] std::vector<std::size_t> literals_of(const ConjunctionsMap& map, const EncodedRecord& record);
/// Adds `units` to every conjunction that the record has: as many steps as there are of them.
/// @param sum [conjunction_count]
void add_conjunctions(const ConjunctionsMap& map, std::int64_t units, const EncodedRecord& record,
                      std::span<std::int64_t> sum);
/// In how many of them two records differ, at most. A record is in one cell of a column at most, so that of the
/// literals of one column it has one or none: with `alone` columns that have one literal and `several` that have more,
/// records A and B with i and j of the first kind, s = max(0, i + j - alone) in common, differ in
/// f(several + i) + f(several + j) - 2 f(s) conjunctions, f(b) = C(b, 1) + .. + C(b, t): the largest over i and j.
[[nodiscard]] std::size_t differing_conjunctions(const ConjunctionsMap& map);

/// Every number of it, to the last bit. Digests of plans are of it, so it never changes.
[[nodiscard]] std::string canonical_text(const ConjunctionsMap& map);

}  // namespace undertone::statistics
