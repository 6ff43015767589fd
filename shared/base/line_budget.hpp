#pragma once

#include <chrono>
#include <cstdint>

namespace undertone {

/// How often a line that strangers cause may stand in the log: ten times a second, and then how many were left out.
class LineBudget {
 public:
  static constexpr int kLinesASecond = 10;

  struct Verdict {
    bool log = true;
    std::uint64_t left_out = 0;  // in the seconds before: say so first
  };
  [[nodiscard]] Verdict ask(std::chrono::steady_clock::time_point now) {
    Verdict verdict;
    if (now - second_began_ >= std::chrono::seconds(1)) {
      second_began_ = now;
      lines_ = 0;
      verdict.left_out = left_out_;
      left_out_ = 0;
    }
    verdict.log = ++lines_ <= kLinesASecond;
    if (!verdict.log) ++left_out_;
    return verdict;
  }

 private:
  std::chrono::steady_clock::time_point second_began_{};
  int lines_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace undertone
