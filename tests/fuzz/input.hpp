#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace undertone::fuzz {

/// An input as a source of choices. What it no longer holds is 0.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  /// 0 .. count-1. @pre 1 <= count <= 256
  [[nodiscard]] std::uint32_t below(std::uint32_t count) { return byte() % count; }
  /// Once in so many bytes.
  [[nodiscard]] bool rarely(std::uint32_t times) { return byte() % times == times - 1; }
  /// Little-endian.
  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= std::uint64_t{byte()} << (8 * i);
    return value;
  }
  /// At most so many bytes.
  [[nodiscard]] std::string_view take(std::size_t most) {
    const std::string_view taken = rest_.substr(0, most);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  /// Up to the mark, which is taken off with it; everything where there is none.
  [[nodiscard]] std::string_view take_until(char mark) {
    const std::string_view taken = take(std::min(rest_.find(mark), rest_.size()));
    (void)take(1);
    return taken;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace undertone::fuzz
