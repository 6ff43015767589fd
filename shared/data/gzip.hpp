#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::data {

/// What deflate makes of one byte at most: a match of 258 bytes takes two bits (RFC 1951, 3.2.5).
inline constexpr std::size_t kInflatedPerByteMax = 1032;

/// Whether the content begins as gzip does (RFC 1952).
[[nodiscard]] bool is_gzip(std::string_view content) noexcept;

/// The beginning of what a gzip file holds.
struct Inflated {
  std::string bytes;
  bool whole;  // nothing comes after these bytes, and their checksum holds
};

/// Inflates one gzip member.
/// @param bytes_max no more is inflated, and no more than twice that is allocated
/// @return an error where the content is damaged or ends early, or where anything stands after the member
[[nodiscard]] Result<Inflated> inflate(std::string_view content, std::size_t bytes_max);

}  // namespace undertone::data
