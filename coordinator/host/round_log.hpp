#pragma once

#include <chrono>
#include <cstdint>
#include <map>

#include "coordinator/rounds/round.hpp"

namespace undertone::coordinator {

/// Which closed rounds are worth a line of their own: every tenth of a run, its last, and one that comes a second or
/// more after the last line. The others are for whoever debugs.
class RoundLog {
 public:
  /// @param rounds of the whole run
  [[nodiscard]] bool is_worth_a_line(const RunId& run, RoundIndex round, std::uint64_t rounds, TimePoint now);
  /// The run is over.
  void forget(const RunId& run) { said_.erase(run); }

 private:
  std::map<RunId, TimePoint> said_;  // the last line
};

}  // namespace undertone::coordinator
