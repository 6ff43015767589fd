#include "silo/owner/disk_room.hpp"

#include <cstdint>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"

namespace undertone::silo {
namespace {

// That a disk which really is full makes `health` say so is tests/net/full_disk's.
TEST(DiskRoomTest, ADiskWithTooLittleRoomIsNamedByTheFileThatStandsOnIt) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "main.sqlite";
  EXPECT_TRUE(check_room(file, 1).has_value());
  const Status none = check_room(file, UINTMAX_MAX);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message.find(file.string() + ": its disk is full: "), 0U) << none.error().message;
}

TEST(DiskRoomTest, AFolderThatIsYetToBeMadeIsLookedForAbove) {
  const tests::TemporaryFolder folder;
  EXPECT_TRUE(check_room(folder.path() / "not" / "there" / "yet.sqlite", 1).has_value());
  EXPECT_FALSE(check_room(folder.path() / "not" / "there" / "yet.sqlite", UINTMAX_MAX).has_value());
}

}  // namespace
}  // namespace undertone::silo
