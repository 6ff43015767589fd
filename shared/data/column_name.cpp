#include "shared/data/column_name.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <utf8proc.h>

namespace undertone::data {
namespace {

/// The order of combining marks is found in quadratic time: nobody names a column with more.
constexpr std::size_t kComposedBytesMax = 1'000;
constexpr std::array<std::string_view, 2> kNoBreakSpaces = {"\u00a0", "\u202f"};

/// Unicode's form NFC. What is no UTF-8 is refused elsewhere, and stays as it is here.
std::string composed(std::string_view utf8) {
  if (utf8.size() > kComposedBytesMax) return std::string(utf8);
  utf8proc_uint8_t* made = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(utf8.data()), static_cast<utf8proc_ssize_t>(utf8.size()),
                   &made, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, &std::free);
  if (size < 0) return std::string(utf8);
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(size)};
}

}  // namespace

std::string comparable_name(std::string_view utf8) {
  std::string text = composed(utf8);
  for (const std::string_view space : kNoBreakSpaces) {
    for (std::size_t at = 0; (at = text.find(space, at)) != std::string::npos;) text.replace(at, space.size(), " ");
  }
  std::string out;
  for (const char c : text) {
    if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
    out += c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

bool is_same_name(std::string_view one, std::string_view other) {
  return one == other || comparable_name(one) == comparable_name(other);
}

ColumnNames::ColumnNames(const std::vector<std::string>& header) {
  places_.reserve(header.size());
  for (std::size_t i = 0; i < header.size(); ++i) {
    Place& place = places_.emplace(comparable_name(header[i]), Place{i, 0}).first->second;
    ++place.count;
  }
}

std::optional<std::size_t> ColumnNames::find(std::string_view name) const {
  const auto found = places_.find(comparable_name(name));
  return found == places_.end() ? std::nullopt : std::optional(found->second.first);
}

std::size_t ColumnNames::count(std::string_view name) const {
  const auto found = places_.find(comparable_name(name));
  return found == places_.end() ? 0 : found->second.count;
}

}  // namespace undertone::data
