#pragma once

#include <algorithm>
#include <chrono>

#include "shared/base/random_source.hpp"

namespace undertone::net {

/// How long to wait before the next attempt: doubling up to a maximum, each drawn from the upper half of its range so
/// that silos that lost the coordinator together do not come back together.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds most, std::uint64_t jitter_seed)
      : first_(first), most_(most), next_(first), jitter_(jitter_seed) {}

  [[nodiscard]] std::chrono::milliseconds next() {
    const double factor = 0.5 + 0.5 * jitter_.unit();
    const auto wait = std::chrono::milliseconds(static_cast<std::int64_t>(static_cast<double>(next_.count()) * factor));
    next_ = std::min(most_, 2 * next_);
    return wait;
  }
  /// After an attempt that worked.
  void reset() { next_ = first_; }

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds most_;
  std::chrono::milliseconds next_;
  RandomSource jitter_;
};

}  // namespace undertone::net
