#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

namespace undertone::silo {

/// Says when something may leave an agent, so that it does not tell how long an answer took to compute. With an
/// interval, what a query leads to leaves at a multiple of it after the query, and nothing else that was put off
/// meanwhile leaves before that either. Plain state: the host asks it and waits.
class ReleaseGate {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// @param interval of the policy; 0: answers leave when they are ready
  explicit ReleaseGate(std::chrono::milliseconds interval) : interval_(interval) {}

  [[nodiscard]] bool holds() const noexcept { return interval_.count() > 0; }

  [[nodiscard]] bool closed() const noexcept { return closed_; }
  /// The agent begins to compute. From here until `open` the gate is closed.
  void close() noexcept { closed_ = true; }
  /// When the answer to a query may leave. An answer that is ready shortly before a multiple waits for the next one:
  /// the timer would not be on time, and being late would tell how late it was.
  /// @param asked when the query arrived @param ready when its answer was computed, not before `asked`
  [[nodiscard]] TimePoint leaves_at(TimePoint asked, TimePoint ready);
  /// What was computed has left. @return the shufflers that were put off meanwhile: they are served now
  [[nodiscard]] std::set<std::string> open();

  /// A shuffler is there again and wants what it has not taken. @return whether it is served at once; else `open` names
  /// it
  [[nodiscard]] bool serve_now(const std::string& shuffler);

  /// Answers that were not ready in time for the first multiple. Whoever waits for them sees as much.
  [[nodiscard]] std::uint64_t overruns() const noexcept { return overruns_; }

 private:
  std::chrono::milliseconds interval_;
  bool closed_ = false;
  std::set<std::string> put_off_;
  std::uint64_t overruns_ = 0;
};

}  // namespace undertone::silo
