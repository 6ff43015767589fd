#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "silo/policy/objections.hpp"

namespace undertone::silo {

/// Whoever offers jobs that are refused would otherwise fill the owner's log and desk: of refusals of one kind some are
/// noted one by one in a minute, and the others counted.
class AlikeRefusals {
 public:
  static constexpr std::uint64_t kNotedAMinute = 16;  // of each kind

  /// @param now seconds since 1970
  /// @return how many of the kind were passed over since the last that was noted; nothing: this one is passed over, too
  [[nodiscard]] std::optional<std::uint64_t> worth_noting(ObjectionKind kind, std::int64_t now) {
    Minute& own = minutes_[kind];
    if (now / 60 != own.minute) own = {now / 60, 0, own.passed_over};
    if (own.noted >= kNotedAMinute) {
      ++own.passed_over;
      return std::nullopt;
    }
    ++own.noted;
    const std::uint64_t before = own.passed_over;
    own.passed_over = 0;
    return before;
  }

 private:
  struct Minute {
    std::int64_t minute = 0;
    std::uint64_t noted = 0;
    std::uint64_t passed_over = 0;
  };
  std::map<ObjectionKind, Minute> minutes_;
};

}  // namespace undertone::silo
