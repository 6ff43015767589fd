#include "verifier/problems.hpp"

#include <nlohmann/json.hpp>

namespace undertone::verifier {
namespace {

constexpr std::size_t kPrintedBytesMax = 120;

}  // namespace

std::string printable(std::string_view text) {
  const bool whole = text.size() <= kPrintedBytesMax;
  const nlohmann::json value = std::string(text.substr(0, kPrintedBytesMax)) + (whole ? "" : "...");
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace undertone::verifier
