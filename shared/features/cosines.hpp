#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <string>
#include <vector>

#include "shared/features/cells.hpp"

namespace undertone::statistics {

/// phi_v(u) = prod_j cos(v_j arccos u_j) = prod_j T_(v_j)(u_j), in [-1, 1], for every v in {0 .. t-1}^p but 0, which is
/// 1 of every record: from their means the mean of any smooth function of the coordinates follows nearly. The first
/// coordinate's v runs fastest. Source: spec noninteractive-ldp 2.8.
struct CosinesMap {
  std::vector<std::size_t> coordinates;  // p in 1 .. kCosineCoordinatesMax, each once
  std::size_t terms = 2;                 // t >= 2
};

inline constexpr std::size_t kCosineCoordinatesMax = 8;

/// t^p - 1, or kCellsMax + 1 where it is more than kCellsMax.
[[nodiscard]] std::size_t cosine_count(std::size_t coordinates, std::size_t terms) noexcept;
[[nodiscard]] Status check(const CosinesMap& map, std::size_t encoded_width);
/// @param out [cosine_count], overwritten
void cosines(const CosinesMap& map, const EncodedRecord& record, Eigen::Ref<Eigen::VectorXd> out);
/// One of them. @param place below cosine_count
[[nodiscard]] double cosine_at(const CosinesMap& map, const EncodedRecord& record, std::size_t place);

/// Every number of it, to the last bit. Digests of plans are of it, so it never changes.
[[nodiscard]] std::string canonical_text(const CosinesMap& map);

}  // namespace undertone::statistics
