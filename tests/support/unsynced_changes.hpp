#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace undertone::tests {

/// What a process changed in files since their last fsync, and in folders since theirs: all that a power loss may take.
/// Calls are counted as POSIX says them and no more: a file's fsync does not make its name durable.
///
/// Keeps descriptors of its own open for good: closing any descriptor of a file drops the process' locks on it, those
/// of SQLite too.
class UnsyncedChanges {
 public:
  /// @param limbo a folder on the same file system, where replaced and removed files are kept until it is certain
  explicit UnsyncedChanges(std::string limbo) : limbo_(std::move(limbo)) {}

  /// To be called before the change, whose bytes are about to be `data` at `offset`.
  void before_write(int descriptor, off_t offset, std::string_view data);
  void before_truncate(int descriptor, off_t size);
  void before_truncate(const std::string& path, off_t size);
  void before_create(const std::string& path);
  void before_rename(const std::string& from, const std::string& to);
  void before_unlink(const std::string& path);
  /// Of a file or a folder, once it has succeeded.
  void after_sync(int descriptor);

  /// Leaves what a disk may hold after a power loss: of each file nothing unsynced, or all, or some changes and of some
  /// of those only some sectors; of each folder the first few changes.
  void lose(std::uint64_t seed);

 private:
  struct Change {
    bool truncates = false;
    off_t offset = 0;
    std::string before;  // what stood there; shorter than `after` at the end of a file
    std::string after;
    off_t size_before = 0;
    off_t size_after = 0;
  };
  struct File {
    int descriptor = -1;
    std::vector<Change> changes;
  };
  struct NameChange {
    enum class Kind { Created, Renamed, Unlinked } kind;
    std::string path;  // as it is now
    std::string from;  // of a rename
    std::string kept;  // the file that had the name before, in limbo; empty if none
  };
  using Inode = std::pair<dev_t, ino_t>;

  [[nodiscard]] File* file_of(int descriptor);
  [[nodiscard]] std::string keep(const std::string& path);
  void truncate(File& file, off_t size);
  static void undo(const File& file);
  static void redo(const File& file, std::mt19937_64& random);
  static void undo(const NameChange& change);
  std::string limbo_;
  std::uint64_t kept_ = 0;
  std::map<Inode, File> files_;
  std::vector<NameChange> names_;
};

}  // namespace undertone::tests
