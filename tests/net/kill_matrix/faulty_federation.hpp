#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/deployment.hpp"
#include "tests/net/kill_matrix/fault_plan.hpp"
#include "tests/support/fault_order.hpp"
#include "tests/support/federation_audit.hpp"

namespace undertone::tests {

/// A federation of processes that obey fault orders, once from its start to its end.
class FaultyFederation {
 public:
  enum class Kind {
    Shipped,    // the agents that institutions get
    TestNoise,  // the agent whose noise the simulator can repeat
    Served,     // the same, by a coordinator that serves: an operator submits the job and watches it
    Shuffled,   // as TestNoise, through shufflers
  };
  struct Setup {
    std::filesystem::path folder;  // must not exist
    Kind kind = Kind::Shipped;
    bool silo_fails = false;      // short deadlines: it will be missing
    std::string form = "counts";  // of a shuffled job: "counts" or "reports" through one shuffler, "shares" through two
  };
  /// The orders of a process' lives, one after the other.
  using Orders = std::map<std::string, std::vector<FaultOrder>>;
  struct Outcome {
    std::map<std::string, std::size_t> struck;  // how many of each process' orders
    std::uint64_t restarts = 0;
    FederationAudit audit;  // with what this class finds beside it
    bool model_equals_simulator = false;
  };

  [[nodiscard]] static Result<FaultyFederation> prepare(Setup setup);
  /// @return an error where a process cannot be started
  [[nodiscard]] Result<Outcome> run(const Orders& orders);

  [[nodiscard]] std::vector<std::string> processes(Role role) const;
  /// What a process has written to its log.
  [[nodiscard]] std::string log(const std::string& process) const;

 private:
  FaultyFederation(Setup setup, operators::Deployment deployment)
      : setup_(std::move(setup)), deployment_(std::move(deployment)) {}
  void compare_with_simulator(Outcome& outcome) const;
  Setup setup_;
  operators::Deployment deployment_;
};

[[nodiscard]] const char* to_string(FaultyFederation::Kind kind) noexcept;

}  // namespace undertone::tests
