#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace undertone::coordinator {

/// A file of the console, which whoever comes may have: there is nothing in it that is anybody's.
struct ConsoleAsset {
  std::string_view type;  // of its content
  std::string_view text;
};
/// @param path without a query, "/" for the page itself @return nothing where there is no such file
[[nodiscard]] std::optional<ConsoleAsset> console_asset(std::string_view path);

}  // namespace undertone::coordinator
