#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace undertone {

/// A program does these things on the way of an answer, and each is counted by itself. The kernel, TLS and the event
/// loop take the rest of a processor's time.
enum class Activity : std::uint8_t {
  Signing,      // Ed25519, made or checked
  Hashing,      // SHA-256 and HMAC
  Querying,     // of SQLite, but for what commits
  Committing,   // of SQLite, with the sync that it waits for
  WritingHead,  // of a ledger, written and synced outside it
  Encoding,     // of messages
  Decoding,     // of messages
  Computing,    // at a silo: what an answer is computed by, noise included; at a coordinator: folds and steps
};
inline constexpr std::size_t kActivities = 8;
/// "signing", ...
[[nodiscard]] const char* name_of(Activity activity) noexcept;

/// How often and how long, over all threads. A span inside another one counts for its own activity alone.
struct SpanTotals {
  struct Total {
    std::atomic<std::uint64_t> times{0};
    std::atomic<std::uint64_t> nanoseconds{0};
  };
  std::array<Total, kActivities> of;
};

/// Where spans are added up from here on; null, as at the beginning: nowhere, and a span costs one look at this.
/// Times tell of records: they are for who owns the process, and are never sent.
void count_spans_in(SpanTotals* totals) noexcept;

/// From here to its end a thread is busy with an activity. It must not outlive a wait of a coroutine.
class Span {
 public:
  explicit Span(Activity activity) noexcept;
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  void add_until(Clock::time_point now) noexcept;
  SpanTotals* totals_;
  Activity activity_;
  Span* around_ = nullptr;
  Clock::time_point since_;
};

}  // namespace undertone
