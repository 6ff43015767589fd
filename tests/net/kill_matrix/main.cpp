// Federations of the shipped programs that are killed at labelled points: between the bytes of a write, around a sync,
// a rename or a send, with and without loss of what was not synced; and federations on disks that fill up or fail.
//
//   kill_matrix KILLS [SEED]

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <random>
#include <unistd.h>

#include "shared/base/files.hpp"
#include "tests/net/kill_matrix/fault_plan.hpp"
#include "tests/net/kill_matrix/faulty_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::tests {
namespace {

using Kind = FaultyFederation::Kind;
using Fault = FaultOrder::Fault;

constexpr std::size_t kProblemsMax = 20;

/// Runs federations one after the other and keeps the folders of those that something is wrong with.
class KillMatrix {
 public:
  KillMatrix(std::filesystem::path folder, std::uint64_t seed) : folder_(std::move(folder)), seed_(seed) {}

  void kill(std::size_t kills) {
    FaultPlan plan(kills, seed_);
    while (plan.waiting() > 0 && problems_ < kProblemsMax) {
      const bool others = plan.waits_for(Role::Coordinator) || plan.waits_for(Role::Silo);
      constexpr std::array kInTurn = {Kind::Shipped, Kind::Served, Kind::Shuffled, Kind::TestNoise};
      const Kind kind = plan.waits_for(Role::Shuffler) && !others ? Kind::Shuffled : kInTurn[federations_ % 4];
      run_under_kills(plan, kind);
    }
    fmt::print("\n{}", plan.table());
  }

  /// Every role loses its disk at least once. @param federations at most nine: each role in each way
  void fail_disks(std::size_t federations) {
    fmt::print("\n");
    constexpr std::array kRoles = {Role::Silo, Role::Coordinator, Role::Shuffler};
    constexpr std::array kFaults = {Fault::FullDisk, Fault::ReadOnly, Fault::DiskError};
    RandomSource random(seed_);
    for (std::size_t i = 0; i < federations; ++i)
      run_on_failing_disk(kRoles[i % 3], kFaults[(i / 3 + i + seed_) % 3], 1 + random.below(60));
  }

  /// @return whether nothing was wrong
  [[nodiscard]] bool conclude() const {
    fmt::print(
        "\n{} federations, {} processes started again, {} replies held against their ledgers, {} models equal to the "
        "simulator's to the bit, {} problems\n",
        federations_, restarts_, replies_, models_, problems_);
    return problems_ == 0;
  }

 private:
  FaultyFederation::Setup next(Kind kind, bool silo_fails) {
    begun_ = std::chrono::steady_clock::now();
    constexpr std::array kForms = {"counts", "shares", "reports"};
    const char* form = kForms[kind == Kind::Shuffled ? shuffled_++ % kForms.size() : 0];
    return {folder_ / fmt::format("federation-{}", ++federations_), kind, silo_fails, form};
  }

  void run_under_kills(FaultPlan& plan, Kind kind) {
    const FaultyFederation::Setup setup = next(kind, false);
    Result<FaultyFederation> federation = FaultyFederation::prepare(setup);
    if (!federation) return problem(setup, federation.error().message);
    std::map<Role, std::vector<std::string>> processes;
    for (const Role role : {Role::Coordinator, Role::Silo, Role::Shuffler})
      processes[role] = federation->processes(role);
    const FaultPlan::Lives lives = plan.take(processes);
    FaultyFederation::Orders orders;
    for (const auto& [name, kills] : lives) {
      for (const PlannedKill& kill : kills) orders[name].push_back(kill.order);
    }
    const std::size_t before = plan.waiting();
    const Result<FaultyFederation::Outcome> outcome = federation->run(orders);
    if (!outcome) return problem(setup, outcome.error().message);
    for (const std::string& text : plan.settle(lives, outcome->struck)) problem(setup, text);
    std::size_t planned = 0;
    for (const auto& [name, kills] : lives) planned += kills.size();
    count(setup, *outcome);
    const FederationAudit& audit = outcome->audit;
    if (audit.succeeded && !audit.everybody_answered) problem(setup, "a silo that was killed missed a round");
    if (!audit.failure.empty()) problem(setup, "the run failed: " + audit.failure);
    say(setup, fmt::format("{} kills, {} to go", planned - (plan.waiting() - before), plan.waiting()));
    discard_if_sound(setup);
  }

  /// A silo's disk fails for good, the others' are mended after three lives.
  void run_on_failing_disk(Role role, Fault fault, std::uint64_t first_failure) {
    const FaultyFederation::Setup setup = next(role == Role::Shuffler      ? Kind::Shuffled
                                               : role == Role::Coordinator ? Kind::Served
                                                                           : Kind::Shipped,
                                               role == Role::Silo);
    Result<FaultyFederation> federation = FaultyFederation::prepare(setup);
    if (!federation) return problem(setup, federation.error().message);
    const std::string name = federation->processes(role).front();
    FaultOrder order;
    order.fault = fault;
    order.files = "*.sqlite-wal";  // at what it fails first; then nothing can be written
    order.count = first_failure;
    std::vector<FaultOrder> lives = {order};
    order.files = "*";
    order.count = 1;
    lives.resize(role == Role::Silo ? 1000 : 3, order);
    const Result<FaultyFederation::Outcome> outcome = federation->run({{name, lives}});
    if (!outcome) return problem(setup, outcome.error().message);
    count(setup, *outcome);
    if (!outcome->struck.contains(name)) problem(setup, name + ": its disk never failed");
    if (!says_why(federation->log(name), fault)) problem(setup, name + " does not say why it fails");
    const FederationAudit& audit = outcome->audit;
    if (!audit.succeeded) problem(setup, "the run did not succeed: " + audit.failure);
    const char* what = fault == Fault::FullDisk ? "full disk" : fault == Fault::ReadOnly ? "read-only" : "I/O errors";
    say(setup, fmt::format("{}, {} from a log's write {} on: {}", name, what, first_failure,
                           audit.everybody_answered ? "succeeded with everybody"
                           : audit.succeeded        ? "succeeded without it"
                                                    : "failed"));
    discard_if_sound(setup);
  }

  static bool says_why(const std::string& log, Fault fault) {
    const std::array<const char*, 3> reasons = fault == Fault::FullDisk ? std::array{"is full", "No space", "disk I/O"}
                                               : fault == Fault::ReadOnly
                                                   ? std::array{"readonly", "ead-only", "disk I/O"}
                                                   : std::array{"disk I/O", "nput/output", "I/O"};
    return std::any_of(reasons.begin(), reasons.end(),
                       [&log](const char* reason) { return log.find(reason) != std::string::npos; });
  }

  void count(const FaultyFederation::Setup& setup, const FaultyFederation::Outcome& outcome) {
    for (const std::string& text : outcome.audit.problems) problem(setup, text);
    restarts_ += outcome.restarts;
    replies_ += outcome.audit.replies;
    models_ += outcome.model_equals_simulator ? 1 : 0;
  }
  void problem(const FaultyFederation::Setup& setup, const std::string& text) {
    ++problems_;
    faulty_ = setup.folder;
    fmt::print("PROBLEM in {}: {}\n", setup.folder.string(), text);
    std::fflush(stdout);
  }
  void say(const FaultyFederation::Setup& setup, const std::string& text) const {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun_;
    const std::string kind = setup.kind == Kind::Shuffled ? "shuffled, " + setup.form : to_string(setup.kind);
    fmt::print("{:>4} {:<20} {:>5.1f} s  {}\n", federations_, kind, took.count(), text);
    std::fflush(stdout);
  }
  void discard_if_sound(const FaultyFederation::Setup& setup) const {
    std::error_code ignored;
    if (faulty_ != setup.folder) std::filesystem::remove_all(setup.folder, ignored);
  }

  std::filesystem::path folder_;
  std::uint64_t seed_;
  std::filesystem::path faulty_;                 // the newest
  std::chrono::steady_clock::time_point begun_;  // of the federation
  std::size_t federations_ = 0;
  std::size_t shuffled_ = 0;  // of them
  std::size_t problems_ = 0;
  std::uint64_t restarts_ = 0;
  std::size_t replies_ = 0;
  std::size_t models_ = 0;
};

bool read_number(const char* text, std::uint64_t& out) {
  const char* end = text + std::strlen(text);
  const auto [at, code] = std::from_chars(text, end, out);
  return code == std::errc() && at == end;
}

int run(int argc, char** argv) {
  std::uint64_t kills = 0;
  std::uint64_t seed = std::random_device()();
  if (argc < 2 || argc > 3 || !read_number(argv[1], kills) || (argc == 3 && !read_number(argv[2], seed))) {
    fmt::print(stderr, "usage: kill_matrix KILLS [SEED]\n");
    return 2;
  }
  fmt::print("seed {}\n", seed);
  const auto begun = std::chrono::steady_clock::now();
  const std::filesystem::path folder = std::filesystem::canonical(std::filesystem::temp_directory_path()) /
                                       fmt::format("undertone-kills-{}", ::getpid());
  std::filesystem::create_directories(folder);
  KillMatrix matrix(folder, seed);
  matrix.kill(kills);
  matrix.fail_disks(std::clamp<std::size_t>(kills / 10, 3, 9));
  const bool sound = matrix.conclude();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  fmt::print("{:.0f} s; repeat with: kill_matrix {} {}\n", took.count(), kills, seed);
  if (sound) std::filesystem::remove_all(folder);
  return sound ? 0 : 1;
}

}  // namespace
}  // namespace undertone::tests

int main(int argc, char** argv) { return undertone::tests::run(argc, argv); }
