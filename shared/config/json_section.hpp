#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "shared/config/section.hpp"

namespace undertone::config {

/// A parsed document. A type of its own, since a JSON value claims to be constructible from anything.
struct JsonDocument {
  nlohmann::json root;
};

inline constexpr std::size_t kJsonBytesMax = std::size_t{16} << 20U;

/// Parses JSON of bounded size and depth. Two equal keys in an object are an error.
[[nodiscard]] Result<JsonDocument> parse_json(std::string_view text, const std::string& file,
                                              std::size_t bytes_max = kJsonBytesMax);

/// Reads and parses a file. @param bytes_max larger files are refused unread
[[nodiscard]] Result<JsonDocument> load_json(const std::filesystem::path& file, std::size_t bytes_max);

}  // namespace undertone::config
