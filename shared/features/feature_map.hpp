#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/features/ball.hpp"
#include "shared/features/cells.hpp"
#include "shared/features/conjunctions.hpp"
#include "shared/features/cosines.hpp"
#include "shared/features/influence.hpp"
#include "shared/features/losses.hpp"

namespace undertone::statistics {

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
/// (1, u): a sum beside the number of what adds to it, which costs nothing. Somebody without a record adds (0, 0), so
/// that a total of up to s records is in the triangle with the corners (0, 0), s (1, 1) and s (1, -1), which is 2 s
/// wide in l1 and in l2. Source: spec person-unit 6.3.
struct CountedSumMap {
  std::size_t coordinate = 0;
};
/// (u, k u^2), k = sqrt(2) with Gaussian noise, 1/2 with Laplace noise: the square costs nothing.
struct MomentsMap {
  std::size_t coordinate = 0;
  bool laplace = false;
};
/// (v, k v^2) as above, of v = (u - centre) / radius cut to [-1, 1], or of its smooth influence over the largest one: a
/// number whose bounds are far wider than where most of it lies.
struct CutMomentsMap {
  std::size_t coordinate = 0;
  double centre = 0.0;  // in [-1, 1]
  double radius = 1.0;  // the threshold, at least kCutRadiusMin
  bool laplace = false;
  Influence influence = Influence::Clip;
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
    std::variant<CountMap, CellsMap, SumMap, CountedSumMap, MomentsMap, CutMomentsMap, FourMomentsMap, GroupMomentsMap,
                 VectorMomentsMap, TreeMap, ConjunctionsMap, CosinesMap, LossesMap, BallMap>;

/// How far phi(x) and phi(x') of any two records lie apart, at most: what replacing one record moves a sum by.
struct PairwiseBound {
  double l1 = 0.0;
  double l2 = 0.0;
};

inline constexpr std::size_t kMomentCoordinatesMax = 256;
inline constexpr double kCutRadiusMin = 1e-9;                      // an encoded number has some sixteen digits
inline constexpr std::int64_t kUnitsMax = std::int64_t{1} << 40U;  // of a lattice, per 1
inline constexpr std::int64_t kProbabilityDenominatorMax = std::int64_t{1} << 20U;  // of a share that is asked for

/// @param encoded_width of a record, its label included: coordinates are below it
/// @return an error that names what is wrong: a coordinate beyond the record, edges that do not ascend or are not
/// finite, a cell that is none, more than kCellsMax numbers, leaves that are no power of two
[[nodiscard]] Status check(const FeatureMap& map, std::size_t encoded_width);
/// "count", "cells", "sum", "counted sum", "moments", "cut moments", "four moments", "group moments", "vector moments",
/// "tree", "conjunctions", "cosines", "losses", "ball"
[[nodiscard]] std::string_view name_of(const FeatureMap& map) noexcept;
/// D, of a checked map.
[[nodiscard]] Eigen::Index dimension(const FeatureMap& map);
/// Of phi in real numbers. Source: spec statistics 3, where rows with a double dagger are no ball's diameter.
[[nodiscard]] PairwiseBound pairwise_bound(const FeatureMap& map);
/// phi is 0 or 1 in every coordinate: on any lattice on which 1 is a whole number of units nothing is rounded.
[[nodiscard]] bool counts(const FeatureMap& map) noexcept;

/// A range that every coordinate of phi is in, for maps of which a record may report one coordinate by itself.
struct CoordinateRange {
  double low = 0.0;
  double high = 0.0;  // > low
};
/// @return nothing of other maps
[[nodiscard]] std::optional<CoordinateRange> reported_range(const FeatureMap& map) noexcept;
/// One coordinate of phi(record). @param place below the dimension @pre the map has a reported range
[[nodiscard]] double coordinate_of(const FeatureMap& map, const EncodedRecord& record, std::size_t place);

/// phi(record). @param out [dimension], overwritten
void contribution(const FeatureMap& map, const EncodedRecord& record, Eigen::Ref<Eigen::VectorXd> out);

/// The pairwise bound of the integers phi x units, rounded to the nearest. Of counts and sums nothing is rounded and it
/// is units x the bound; else rounding raises the distance by a unit at most in every coordinate that may differ, c of
/// them: ceil(l1 units + c), l2 units + sqrt(c). Replacing a record moves a silo's sum by at most that.
struct IntegerPairwiseBound {
  std::int64_t l1 = 0;
  double l2 = 0.0;  // rounded up
};
[[nodiscard]] IntegerPairwiseBound integer_bound(const FeatureMap& map, std::int64_t units);

/// Its kind and every number of it, to the last bit: each map says its own. Digests of plans are of it.
[[nodiscard]] std::string canonical_text(const FeatureMap& map);

}  // namespace undertone::statistics
