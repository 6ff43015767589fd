#include "shared/data/column_name.hpp"

#include <cstdlib>
#include <memory>
#include <utf8proc.h>

namespace undertone::data {

std::string comparable_name(std::string_view utf8) {
  utf8proc_uint8_t* made = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(utf8.data()), static_cast<utf8proc_ssize_t>(utf8.size()),
                   &made, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, &std::free);
  // What is no UTF-8 is refused elsewhere, and is equal to itself alone here.
  const std::string text =
      size < 0 ? std::string(utf8) : std::string(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
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

}  // namespace undertone::data
