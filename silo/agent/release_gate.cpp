#include "silo/agent/release_gate.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/result.hpp"

namespace undertone::silo {

using std::chrono::nanoseconds;

ReleaseGate::TimePoint ReleaseGate::leaves_at(TimePoint asked, TimePoint ready) {
  UNDERTONE_CHECK(holds() && ready >= asked);
  // More than a timer and a wake-up take on a busy machine.
  constexpr nanoseconds kMarginMax = std::chrono::milliseconds(5);
  const nanoseconds interval = interval_;
  const nanoseconds margin = std::min(kMarginMax, interval / 8);
  const auto multiple = (ready - asked + margin) / interval + 1;
  if (multiple > 1) ++overruns_;
  return asked + multiple * interval;
}

std::set<std::string> ReleaseGate::open() {
  closed_ = false;
  return std::exchange(put_off_, {});
}

bool ReleaseGate::serve_now(const std::string& shuffler) {
  if (closed_) put_off_.insert(shuffler);
  return !closed_;
}

}  // namespace undertone::silo
