#pragma once

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace undertone::verifier {

/// Whatever a file holds, made safe to print and short.
[[nodiscard]] std::string printable(std::string_view text);

/// The list of what is wrong with a ledger, one sentence each. It ends at a maximum, so that a hostile file cannot fill
/// the memory; its last line then says so.
class Problems {
 public:
  /// @param lines outlives this
  explicit Problems(std::vector<std::string>& lines) : lines_(lines) {}

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (full()) return;
    const bool last = lines_.size() + 1 == kLinesMax;
    lines_.push_back(last ? "there are further problems, and what follows was not read"
                          : fmt::format(format, std::forward<Args>(args)...));
  }
  [[nodiscard]] bool full() const { return lines_.size() >= kLinesMax; }

 private:
  static constexpr std::size_t kLinesMax = 100;

  std::vector<std::string>& lines_;
};

}  // namespace undertone::verifier
