#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "shared/base/random_source.hpp"

struct sqlite3_vfs;

namespace undertone::simulation {

/// A file system of one machine, in memory, for SQLite: what is written stands at once for whoever reads, and is safe
/// from a loss of power only once it was synced. Then of every write since a file's last sync some sectors stay and
/// others do not, in any combination. Files appear and vanish at once and for good. One process uses it at a time: its
/// locks are always granted.
class SimulatedDisk {
 public:
  /// Called before every write and sync. @return whether the process dies there
  using Watch = std::function<bool()>;

  /// @param chance outlives the disk @param watch may be empty
  SimulatedDisk(RandomSource& chance, Watch watch);
  ~SimulatedDisk();
  SimulatedDisk(const SimulatedDisk&) = delete;
  SimulatedDisk& operator=(const SimulatedDisk&) = delete;

  /// SQLite's name of this file system.
  [[nodiscard]] const char* vfs() const noexcept { return name_.c_str(); }

  /// The process that uses the disk is gone: what it still holds open writes nowhere. @param power went, too
  void abandon(bool power);
  /// Another process uses the disk.
  void revive() noexcept { dead_ = refused_ = false; }
  /// Whether a process died in the midst of a write: nothing it does reaches the disk.
  [[nodiscard]] bool dead() const noexcept { return dead_; }
  /// A full disk takes no write that makes a file longer.
  void set_full(bool full) noexcept { full_ = full; }
  /// Whether that happened to the process that uses it.
  [[nodiscard]] bool refused() const noexcept { return refused_; }

  /// Beside databases: a small file that is replaced as a whole. @return whether it was
  [[nodiscard]] bool replace(const std::string& name, std::string content);
  [[nodiscard]] const std::string* content(const std::string& name) const;

 private:
  struct File;
  struct Methods;
  struct Handle;
  [[nodiscard]] bool dies();

  RandomSource* chance_;
  Watch watch_;
  std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  std::map<std::string, std::shared_ptr<File>> files_;
  std::map<std::string, std::string> small_;
  bool dead_ = false;
  bool full_ = false;
  bool refused_ = false;
};

}  // namespace undertone::simulation
