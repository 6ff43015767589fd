#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/store/sqlite.hpp"
#include "shared/wire/messages.hpp"
#include "simulation/simulated_disk.hpp"

namespace undertone::simulation {

/// How badly the simulated world behaves. All zero: messages arrive at once and nothing dies.
struct FaultRates {
  double loss = 0.0;                         // per message
  double duplication = 0.0;                  // per message
  double corruption = 0.0;                   // per message: TLS notices, and the session breaks
  double disconnect = 0.0;                   // per message: the session breaks and all in flight is gone
  double partition = 0.0;                    // per message: nothing more gets this way, for a while
  std::chrono::milliseconds delay_max{0};    // uniform per message, so messages overtake each other
  std::chrono::milliseconds silence_max{0};  // until who was left learns that a session broke
  std::chrono::milliseconds partition_max{0};
  double slow = 0.0;                       // share of processes' lives in which all takes longer
  std::chrono::milliseconds slow_max{0};   // uniform per message
  double clock_jump = 0.0;                 // per event: the process's wall clock is set
  std::chrono::seconds clock_jump_max{0};  // either way
  double full_disk = 0.0;                  // per event: its disk is full for a while
  std::chrono::milliseconds full_disk_max{0};
  double crash_at_event = 0.0;                  // per event a process handles, before it does
  double crash_at_commit = 0.0;                 // at each side of each commit
  double crash_at_write = 0.0;                  // at each write and sync of each file
  std::optional<std::uint64_t> crash_at_point;  // exactly at this one of all such points, counted from 1
  double power_loss = 0.0;                      // share of crashes in which what was not synced may be gone, too
  std::chrono::milliseconds restart_max{0};     // a dead process is back within this
  std::chrono::milliseconds work_max{0};        // uniform, for what a process does beside its events
};

class SimulatedWorld;

/// A program on a machine of its own: what its host does between the network, its disk and the state machines, without
/// threads. Lives again and again.
class SimulatedProcess {
 public:
  SimulatedProcess(SimulatedWorld& world, std::string name);
  SimulatedProcess(const SimulatedProcess&) = delete;
  SimulatedProcess& operator=(const SimulatedProcess&) = delete;
  virtual ~SimulatedProcess() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] SimulatedDisk& disk() noexcept { return disk_; }
  [[nodiscard]] bool alive() const noexcept { return alive_; }

 protected:
  /// A life begins; the disk is as it was left.
  virtual void boot() = 0;
  /// A life is over: everything in memory goes.
  virtual void dispose() = 0;
  /// Of a server: what a client is told first. @return nothing: it is sent away
  [[nodiscard]] virtual std::optional<wire::Message> greet(SimulatedProcess& client) = 0;
  /// The session is ready. @param greeting of a client: what the server said
  virtual void on_connected(SimulatedProcess& peer, const std::optional<wire::Message>& greeting) = 0;
  virtual void on_lost(SimulatedProcess& peer) = 0;
  virtual void on_message(SimulatedProcess& peer, wire::Message message) = 0;

  [[nodiscard]] SimulatedWorld& world() noexcept { return *world_; }
  /// A database of this machine, for this life. @return an error too where the process dies or the disk is full
  [[nodiscard]] Result<store::Database> open_database(const std::string& file);
  /// Seconds since 1970, as this machine's clock says.
  [[nodiscard]] std::function<std::int64_t()> wall_clock();

 private:
  friend class SimulatedWorld;
  SimulatedWorld* world_;
  std::string name_;
  SimulatedDisk disk_;
  bool alive_ = false;
  bool retired_ = false;
  bool slow_ = false;
  std::uint64_t life_ = 0;
  std::int64_t wall_offset_ = 0;
};

/// Machines, the network between them and virtual time, in one thread: a function of its seed. A process may die at
/// every event, on both sides of every commit, and at every write and sync.
class SimulatedWorld {
 public:
  SimulatedWorld(std::uint64_t seed, const FaultRates& faults);
  SimulatedWorld(const SimulatedWorld&) = delete;
  SimulatedWorld& operator=(const SimulatedWorld&) = delete;

  /// @param process outlives the world's last event
  void add(SimulatedProcess& process, std::chrono::milliseconds first_boot);
  /// The client dials whenever it has no session with the server.
  void link(SimulatedProcess& client, SimulatedProcess& server);
  void send(SimulatedProcess& from, SimulatedProcess& to, const std::shared_ptr<const std::string>& bytes);

  void after(std::chrono::milliseconds delay, std::function<void()> happen);
  /// An event of this life of a process, which may die in it.
  void after(SimulatedProcess& process, std::chrono::milliseconds delay, std::function<void()> happen);
  /// The process ends its life itself, its work undone, once the present event is over. It is started again.
  void give_up(SimulatedProcess& process);
  /// Called where a process gives up although its disk has failed it in nothing.
  void watch_despair(std::function<void(const std::string& process)> watch) { despair_ = std::move(watch); }
  /// It never comes back.
  void retire(SimulatedProcess& process);

  [[nodiscard]] std::chrono::steady_clock::time_point now() const {
    return std::chrono::steady_clock::time_point(now_);
  }
  [[nodiscard]] std::chrono::milliseconds elapsed() const noexcept { return now_; }
  [[nodiscard]] RandomSource& chance() noexcept { return chance_; }
  [[nodiscard]] std::chrono::milliseconds random_delay(std::chrono::milliseconds most);
  /// How long a process works beside its events.
  [[nodiscard]] std::chrono::milliseconds random_work() { return random_delay(faults_.work_max); }

  /// @param over asked after every event @return whether it was over in time
  [[nodiscard]] bool run(std::chrono::milliseconds time_max, const std::function<bool()>& over);
  /// From now on nothing fails any more. All sessions break once more: what a session lost on its way, and no TCP
  /// loses, is said again in the next.
  void calm();

  [[nodiscard]] std::uint64_t crashes() const noexcept { return crashes_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  /// Points at which a process could have died.
  [[nodiscard]] std::uint64_t crash_points() const noexcept { return crash_points_; }

 private:
  friend class SimulatedProcess;
  struct Crash {};
  struct Event {
    std::chrono::milliseconds at;
    std::uint64_t order;
    std::function<void()> happen;
    bool operator>(const Event& other) const noexcept { return at != other.at ? at > other.at : order > other.order; }
  };
  /// A session is known to its ends by its number; 0: none.
  struct Link {
    SimulatedProcess* client;
    SimulatedProcess* server;
    std::uint64_t at_client = 0;
    std::uint64_t at_server = 0;
    bool dialling = false;
  };

  [[nodiscard]] bool dies_here(double probability);
  void maybe_crash(double probability);
  /// Runs an event of a process that lives; it may not survive.
  void live(SimulatedProcess& process, const std::function<void()>& event);
  void die(SimulatedProcess& process);
  void boot(SimulatedProcess& process);
  void disturb(SimulatedProcess& process);
  [[nodiscard]] Link* link_of(SimulatedProcess& one, SimulatedProcess& other);
  void dial_later(Link& link);
  void dial(Link& link);
  void break_session(Link& link, bool half_open);
  void lose(Link& link, bool at_client);
  [[nodiscard]] bool is_cut(const SimulatedProcess& from, const SimulatedProcess& to) const;
  void deliver(Link& link, bool to_server, std::uint64_t session, const std::string& bytes);

  FaultRates faults_;
  RandomSource chance_;
  std::chrono::milliseconds now_{0};
  std::uint64_t next_order_ = 0;
  std::uint64_t next_session_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<SimulatedProcess*> processes_;
  std::map<std::pair<std::string, std::string>, std::chrono::milliseconds> cut_until_;  // (from, to)
  std::function<void(const std::string& process)> despair_;
  bool over_ = false;
  bool calm_ = false;
  std::uint64_t crashes_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t crash_points_ = 0;
};

}  // namespace undertone::simulation
