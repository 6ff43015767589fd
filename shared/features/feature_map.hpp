#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::statistics {

/// A record as schemas encode it: its features and, as the coordinate after them, its label. Numbers are meant to be in
/// [-1, 1]; nothing here trusts that.
struct EncodedRecord {
  std::span<const double> features;  // one column of models::Records
  double label = 0.0;
  /// @param coordinate at most features.size()
  [[nodiscard]] double operator[](std::size_t coordinate) const {
    return coordinate == features.size() ? label : features[coordinate];
  }
};

/// Cells of which a record is in one at most. Coordinates are those of an encoded record.
/// Of a column with an indicator a value: the cell whose indicator is exactly 1, none where no or several are.
struct IndicatorCells {
  std::size_t first = 0;
  std::size_t count = 0;  // >= 1
};
/// Of a binary label: cell 1 where it is above 0, else cell 0.
struct SignCells {
  std::size_t coordinate = 0;
};
/// Of a label with classes 0 .. count - 1: none where it is no such number.
struct ClassCells {
  std::size_t coordinate = 0;
  std::size_t count = 0;  // >= 1
};
/// Of a number: cell j is (e_j, e_(j+1)]; what is below e_1 is in the first and what is above e_(m-1) in the last,
/// since numbers are clamped; what is not finite counts as 0, the centre.
struct BinnedCells {
  std::size_t coordinate = 0;
  std::vector<double> edges;  // e_0 < .. < e_m, public, in the unit of the encoded number
};
using Cells = std::variant<IndicatorCells, SignCells, ClassCells, BinnedCells>;
[[nodiscard]] std::size_t cell_count(const Cells& cells) noexcept;
/// @return nothing where the record is in no cell
[[nodiscard]] std::optional<std::size_t> cell_of(const Cells& cells, const EncodedRecord& record);

/// What a record contributes to a question; u is a coordinate clamped to [-1, 1], 0 where it is not finite.
/// 1 where the record is in the cell.
struct CountMap {
  Cells cells;
  std::size_t cell = 0;
};
/// One-hot over the product of the axes' cells, the last axis fastest: group counts, a histogram, a table.
struct CellsMap {
  std::vector<Cells> axes;  // one or more
};
/// u: a sum or a mean.
struct SumMap {
  std::size_t coordinate = 0;
};
/// (u, k u^2), k = sqrt(2) with Gaussian noise, 1/2 with Laplace noise: the square costs nothing.
struct MomentsMap {
  std::size_t coordinate = 0;
  bool laplace = false;
};
/// (u, 1.2 u^2, 0.5 u^3, 0.8 u^4). Gaussian noise.
struct FourMomentsMap {
  std::size_t coordinate = 0;
};
/// For every cell (1, u), or with squares (1, u, u^2 / sqrt(2)) and Gaussian noise: of the cell that the record is in.
struct GroupMomentsMap {
  Cells cells;
  std::size_t coordinate = 0;
  bool squares = false;
};
/// (x / R, svec(x x') / (sqrt(2) R^2)), R = sqrt(d). Gaussian noise. @see VectorMoments
struct VectorMomentsMap {
  std::vector<std::size_t> coordinates;  // d >= 1
};
/// One-hot on every level of a dyadic tree over m = 2^L leaves but its root. @see TreeCounts
struct TreeMap {
  BinnedCells leaves;  // m a power of two, at least 2
};
using FeatureMap =
    std::variant<CountMap, CellsMap, SumMap, MomentsMap, FourMomentsMap, GroupMomentsMap, VectorMomentsMap, TreeMap>;

/// How far phi(x) and phi(x') of any two records lie apart, at most: what replacing one record moves a sum by.
struct PairwiseBound {
  double l1 = 0.0;
  double l2 = 0.0;
};

inline constexpr std::size_t kCellsMax = std::size_t{1} << 20U;
inline constexpr std::size_t kMomentCoordinatesMax = 256;

/// @param encoded_width of a record, its label included: coordinates are below it
/// @return an error that names what is wrong: a coordinate beyond the record, edges that do not ascend or are not
/// finite, a cell that is none, more than kCellsMax numbers, leaves that are no power of two
[[nodiscard]] Status check(const FeatureMap& map, std::size_t encoded_width);
/// "count", "cells", "sum", "moments", "four moments", "group moments", "vector moments", "tree"
[[nodiscard]] std::string_view name_of(const FeatureMap& map) noexcept;
/// D, of a checked map.
[[nodiscard]] Eigen::Index dimension(const FeatureMap& map);
/// Of phi in real numbers. Source: spec statistics 3, where rows with a double dagger are no ball's diameter.
[[nodiscard]] PairwiseBound pairwise_bound(const FeatureMap& map);
/// phi is 0 or 1 in every coordinate: on any lattice on which 1 is a whole number of units nothing is rounded.
[[nodiscard]] bool counts(const FeatureMap& map) noexcept;

/// phi(record). @param out [dimension], overwritten
void contribution(const FeatureMap& map, const EncodedRecord& record, Eigen::Ref<Eigen::VectorXd> out);

/// The same on integers: phi x units, truncated toward zero, added to a sum. @param units per 1, in 1 .. 2^40
/// @param scratch [dimension] @param sum [dimension]
void add_contribution(const FeatureMap& map, std::int64_t units, const EncodedRecord& record,
                      Eigen::Ref<Eigen::VectorXd> scratch, std::span<std::int64_t> sum);
/// The pairwise bound of those integers. Of counts and sums nothing is rounded and it is units x the bound; else
/// truncation raises the distance by less than a unit in every coordinate that may differ, c of them: ceil(l1 units +
/// c), l2 units + sqrt(c). Replacing a record moves a silo's sum by at most that.
struct IntegerPairwiseBound {
  std::int64_t l1 = 0;
  double l2 = 0.0;  // rounded up
};
[[nodiscard]] IntegerPairwiseBound integer_bound(const FeatureMap& map, std::int64_t units);

}  // namespace undertone::statistics
