#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/features/scalar_loss.hpp"

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
/// These cells say how long a record's gradient is at a public point w of a linear model of all features. Its length is
/// |f'(s)| times that of (x, 1), s = <w, (x, 1)>. Features are clamped to [-1, 1], and what is not finite counts as 0.
/// Cell j is (e_j, e_(j+1)]. The first one holds what is shorter too, and the last one what is longer.
struct GradientCells {
  ScalarLoss loss = ScalarLoss::Squared;  // of a binary label the sign is y, of a number itself
  bool intercept = false;                 // (x, 1) has its last number
  std::vector<double> point;              // w: one for each feature, and for the intercept
  std::vector<double> edges;              // 0 = e_0 < .. < e_m, public
};
/// When and how a record leaves a survival table. With J intervals and K causes these are (K + 1) J + 2 cells, in this
/// order: of an event of each cause in each interval, cause by cause; of being censored in each interval; of having
/// been seen after the last edge, or censored on it; of a time or an event that is missing. Source: spec survival 2.1.
struct ExitCells {
  std::size_t time = 0;                     // coordinate of a number
  std::optional<std::size_t> time_missing;  // coordinate that is exactly 1 where the time is missing
  std::vector<double> edges;                // t_0 < .. < t_J, public, in the unit of the encoded number; J >= 1
  std::variant<IndicatorCells, SignCells, ClassCells> event;
  std::vector<std::size_t> cause_of;  // of each cell of `event`: below K, or K where it says that nothing happened
  std::size_t causes = 1;             // K
  [[nodiscard]] std::size_t intervals() const noexcept { return edges.size() - 1; }
};
using Cells = std::variant<IndicatorCells, SignCells, ClassCells, BinnedCells, GradientCells, ExitCells>;
[[nodiscard]] std::size_t cell_count(const Cells& cells) noexcept;
/// The length that GradientCells have cells of. @pre the record has as many features as the point is of
[[nodiscard]] double gradient_length(const GradientCells& cells, const EncodedRecord& record);
/// @return nothing where the record is in no cell
[[nodiscard]] std::optional<std::size_t> cell_of(const Cells& cells, const EncodedRecord& record);
/// @param encoded_width of a record, its label included: coordinates are below it
/// @return an error that names what is wrong: a coordinate beyond the record, no cell or too many, edges that do not
/// ascend or are not finite
[[nodiscard]] Status check_cells(const Cells& cells, std::size_t encoded_width);
[[nodiscard]] Status check_coordinate(std::size_t coordinate, std::size_t encoded_width);
[[nodiscard]] Error refused_map(std::string_view what);

inline constexpr std::size_t kCellsMax = std::size_t{1} << 20U;

/// The coordinate clamped to [-1, 1], 0 where it is not finite.
[[nodiscard]] double clamped(const EncodedRecord& record, std::size_t coordinate);

/// Every number of it, to the last bit. Digests of plans are of it, so it never changes.
[[nodiscard]] std::string canonical_text(const Cells& cells);

}  // namespace undertone::statistics
