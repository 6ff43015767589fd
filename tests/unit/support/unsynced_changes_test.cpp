#include "tests/support/unsynced_changes.hpp"

#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <unistd.h>

#include "tests/support/temporary_folder.hpp"

namespace undertone::tests {
namespace {

constexpr std::uint64_t kSeeds = 64;

/// A folder of files whose changes are told as the preloaded library tells them.
class Disk {
 public:
  Disk() : changes_((folder_.path() / "limbo").string()) {
    std::filesystem::create_directory(folder_.path() / "limbo");
  }

  void write(const std::string& name, const std::string& data) {
    const int file = ::open(path(name).c_str(), O_RDWR | O_CREAT, 0600);
    changes_.before_write(file, 0, data);
    ASSERT_EQ(::pwrite(file, data.data(), data.size(), 0), static_cast<ssize_t>(data.size()));
    ::close(file);
  }
  void sync(const std::string& name) {
    const int file = ::open(path(name).c_str(), O_RDONLY);
    changes_.after_sync(file);
    ::close(file);
  }
  void rename(const std::string& from, const std::string& to) {
    changes_.before_rename(path(from), path(to));
    ASSERT_EQ(std::rename(path(from).c_str(), path(to).c_str()), 0);
  }
  void unlink(const std::string& name) {
    changes_.before_unlink(path(name));
    ASSERT_EQ(::unlink(path(name).c_str()), 0);
  }
  void lose(std::uint64_t seed) { changes_.lose(seed); }
  /// "none" where there is no such file.
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in(path(name));
    return in ? std::string(std::istreambuf_iterator<char>(in), {}) : "none";
  }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  TemporaryFolder folder_;
  UnsyncedChanges changes_;
};

TEST(UnsyncedChangesTest, APowerLossTakesWholeWritesOrSectorsOfThemAndNothingThatWasSynced) {
  const std::string synced(1024, 'a');
  const std::string unsynced(1536, 'b');
  const auto sectors = [](char first, char second) { return std::string(512, first) + std::string(512, second); };
  const std::set<std::string> possible = {
      synced,
      sectors('b', 'a'),
      unsynced,
      sectors('a', 'a') + std::string(512, 'b'),
      sectors('a', 'b') + std::string(512, 'b'),
      sectors('b', 'a') + std::string(512, 'b'),
      sectors('a', 'b'),
      sectors('b', 'b'),
  };
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Disk disk;
    disk.write("file", synced);
    disk.sync("file");
    disk.write("file", unsynced);
    disk.lose(seed);
    EXPECT_TRUE(possible.contains(disk.read("file")));
    seen.insert(disk.read("file"));
  }
  EXPECT_TRUE(seen.contains(synced));
  EXPECT_TRUE(seen.contains(unsynced));
  EXPECT_GE(seen.size(), 4U);
}

TEST(UnsyncedChangesTest, ARenameIsCertainOnceItsFolderIsSynced) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Disk disk;
    disk.write("head", "old");
    disk.write("head.new", "new");
    disk.sync("head");
    disk.sync("head.new");
    disk.rename("head.new", "head");
    const bool durable = seed % 2 == 0;
    if (durable) disk.sync(".");
    disk.lose(seed);
    if (durable) {
      EXPECT_EQ(disk.read("head"), "new");
    } else {
      seen.insert(disk.read("head") + "," + disk.read("head.new"));
    }
  }
  EXPECT_EQ(seen, (std::set<std::string>{"new,none", "old,new"}));
}

TEST(UnsyncedChangesTest, ARemovedFileMayComeBack) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Disk disk;
    disk.write("journal", "hot");
    disk.sync("journal");
    disk.unlink("journal");
    disk.lose(seed);
    seen.insert(disk.read("journal"));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"none", "hot"}));
}

}  // namespace
}  // namespace undertone::tests
