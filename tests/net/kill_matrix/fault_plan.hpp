#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "shared/base/random_source.hpp"
#include "tests/support/fault_order.hpp"

namespace undertone::tests {

enum class Role { Coordinator, Silo, Shuffler };
[[nodiscard]] const char* to_string(Role role) noexcept;

/// A kind of call at which a process may die.
struct FaultPoint {
  Role role;
  const char* label;
  FaultOrder::Call call;
  const char* files;
  std::uint64_t calls;  // about as many as a calm life of the matrix' jobs has
};

inline constexpr std::array kFaultPoints = {
    FaultPoint{Role::Coordinator, "store's log, write", FaultOrder::Call::Write, "*/coordinator/store.sqlite-wal", 80},
    FaultPoint{Role::Coordinator, "store's log, sync", FaultOrder::Call::Sync, "*/coordinator/store.sqlite-wal", 20},
    FaultPoint{Role::Coordinator, "store's file, write", FaultOrder::Call::Write, "*/coordinator/store.sqlite", 12},
    FaultPoint{Role::Coordinator, "results, rename", FaultOrder::Call::Rename, "*/results/*", 2},
    FaultPoint{Role::Coordinator, "send", FaultOrder::Call::Send, "*", 80},
    FaultPoint{Role::Silo, "ledger's log, write", FaultOrder::Call::Write, "*/ledger.sqlite-wal", 60},
    FaultPoint{Role::Silo, "ledger's log, sync", FaultOrder::Call::Sync, "*/ledger.sqlite-wal", 15},
    FaultPoint{Role::Silo, "ledger's file, write", FaultOrder::Call::Write, "*/ledger.sqlite", 12},
    FaultPoint{Role::Silo, "ledger's head, write", FaultOrder::Call::Write, "*/heads/*", 12},
    FaultPoint{Role::Silo, "ledger's head, sync", FaultOrder::Call::Sync, "*/heads/*", 12},
    FaultPoint{Role::Silo, "ledger's head, rename", FaultOrder::Call::Rename, "*/heads/*", 1},
    FaultPoint{Role::Silo, "desk's log, write", FaultOrder::Call::Write, "*/desk.sqlite-wal", 8},
    FaultPoint{Role::Silo, "statement, rename", FaultOrder::Call::Rename, "*/statements/*", 2},
    FaultPoint{Role::Silo, "send", FaultOrder::Call::Send, "*", 20},
    FaultPoint{Role::Shuffler, "store's log, write", FaultOrder::Call::Write, "*/store.sqlite-wal", 80},
    FaultPoint{Role::Shuffler, "store's log, sync", FaultOrder::Call::Sync, "*/store.sqlite-wal", 30},
    FaultPoint{Role::Shuffler, "store's file, write", FaultOrder::Call::Write, "*/store.sqlite", 60},
    FaultPoint{Role::Shuffler, "send", FaultOrder::Call::Send, "*", 60},
};

/// A death that is to come.
struct PlannedKill {
  std::size_t point = 0;  // in kFaultPoints
  FaultOrder order;
  int tries = 0;
};

/// So many kills, dealt over all points in turn; when, on which side of the call and whether with the power is drawn.
class FaultPlan {
 public:
  using Lives = std::map<std::string, std::vector<PlannedKill>>;  // of each process, one kill a life

  FaultPlan(std::size_t kills, std::uint64_t seed);

  /// Takes kills out for the processes of a federation.
  [[nodiscard]] Lives take(const std::map<Role, std::vector<std::string>>& processes);
  /// Puts back what did not happen, at an earlier call.
  /// @param struck how many of each process' kills happened
  /// @return what has been tried too often to go on with, one sentence each
  std::vector<std::string> settle(const Lives& lives, const std::map<std::string, std::size_t>& struck);

  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  [[nodiscard]] bool waits_for(Role role) const noexcept;
  /// What happened: a line a point.
  [[nodiscard]] std::string table() const;

 private:
  struct Tally {
    std::uint64_t kills = 0;  // without loss of power
    std::uint64_t power_losses = 0;
  };
  [[nodiscard]] PlannedKill draw(std::size_t point);
  RandomSource random_;
  std::deque<PlannedKill> waiting_;
  std::array<Tally, kFaultPoints.size()> tallies_{};
};

}  // namespace undertone::tests
