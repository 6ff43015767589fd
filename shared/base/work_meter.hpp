#pragma once

#include <atomic>
#include <cstdint>

namespace undertone {

/// Bounds a computation whose size a stranger chooses. Work is counted in operations, about one elementary function of
/// a number each, and not in time: the same computation is refused or not on every machine, idle or busy.
///
/// A meter is for the thread that makes it, for as long as it lives. What computes much charges its work to all meters
/// of its thread, wherever it was called from, and looks now and then whether it is to stop; its caller is told by an
/// error as of any other failure. Whoever made the meter asks it at the end, since an accountant that was stopped may
/// have been passed over for another.
class WorkMeter {
 public:
  /// @param most operations that the computation may take
  /// @param cancelled stops it as well, once it is true; may be null, else outlives the meter
  explicit WorkMeter(std::uint64_t most, const std::atomic<bool>* cancelled = nullptr) noexcept;
  ~WorkMeter();
  WorkMeter(const WorkMeter&) = delete;
  WorkMeter& operator=(const WorkMeter&) = delete;

  [[nodiscard]] std::uint64_t done() const noexcept { return done_; }
  [[nodiscard]] std::uint64_t most() const noexcept { return most_; }
  [[nodiscard]] bool exhausted() const noexcept { return done_ > most_; }
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_ != nullptr && *cancelled_; }

  /// Counts operations with every meter of this thread.
  static void charge(std::uint64_t operations) noexcept;
  /// Whether a meter of this thread is exhausted or cancelled.
  [[nodiscard]] static bool stopped() noexcept;

 private:
  std::uint64_t most_;
  std::uint64_t done_ = 0;
  const std::atomic<bool>* cancelled_;
  WorkMeter* outer_;  // that was there before, on the same thread
};

}  // namespace undertone
