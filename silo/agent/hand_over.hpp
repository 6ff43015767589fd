#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "shared/wire/messages.hpp"

namespace undertone::silo {

/// Takes a silo's committed replies to the shufflers, and tells the coordinator once all of them have one. Plain state:
/// what a crash forgets, the coordinator's next question brings again. Only the newest round of a run is kept.
class HandOver {
 public:
  using Bytes = std::shared_ptr<const std::string>;
  struct ToShuffler {
    std::string shuffler;
    RunId run;  // whose owner may have changed their mind since
    Bytes bytes;
  };
  struct ToCoordinator {
    wire::Message message;
  };
  struct Tell {
    std::string event;
  };
  using Action = std::variant<ToShuffler, ToCoordinator, Tell>;

  static constexpr std::size_t kRunsMax = 64;  // as many as a ledger keeps open

  /// A reply that may leave now, first or again. @param messages one for each shuffler, by name
  [[nodiscard]] std::vector<Action> offer(const RunId& run, RoundIndex round,
                                          const std::map<std::string, Bytes>& messages);
  [[nodiscard]] std::vector<Action> on_message(const std::string& shuffler, const wire::Message& message);
  /// What it has not taken is sent again.
  [[nodiscard]] std::vector<Action> on_connected(const std::string& shuffler) const;
  void forget(const RunId& run) { replies_.erase(run); }

 private:
  struct Reply {
    RoundIndex round;
    std::map<std::string, Bytes> waiting;    // by shuffler: not taken yet
    std::map<std::string, Digest> receipts;  // by shuffler: of those that took it, what they gave for it
  };
  std::map<RunId, Reply> replies_;
};

}  // namespace undertone::silo
