#include "silo/ledger/room_reserve.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.hpp"

namespace undertone::silo {
namespace {

class RoomReserveTest : public testing::Test {
 protected:
  /// Bytes that the file system has allocated, and not only written down as the file's length.
  [[nodiscard]] std::uint64_t allocated() const {
    struct stat facts {};
    return ::stat(file_.c_str(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_blocks) * 512 : 0;
  }

  tests::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "main.sqlite.room";
  RoomReserve reserve_{folder_.path() / "main.sqlite"};
};

TEST_F(RoomReserveTest, WhatIsSetAsideIsAllocated) {
  constexpr std::uint64_t kMany = std::uint64_t{3} << 20U;
  ASSERT_TRUE(reserve_.keep(kMany));
  EXPECT_EQ(reserve_.kept(), kMany);
  EXPECT_GE(allocated(), kMany);
}

TEST_F(RoomReserveTest, ShrinksByMoreThanAskedSoThatRoomIsThereBeforeItIsNeeded) {
  constexpr std::uint64_t kMany = std::uint64_t{3} << 20U;
  ASSERT_TRUE(reserve_.keep(kMany));
  ASSERT_TRUE(reserve_.keep(kMany - 1));
  EXPECT_LT(reserve_.kept(), kMany - 1);
  EXPECT_GE(reserve_.kept(), kMany - 1 - (std::uint64_t{256} << 10U));
  ASSERT_TRUE(reserve_.keep(10));
  EXPECT_EQ(reserve_.kept(), 0U);
  ASSERT_TRUE(reserve_.keep(0));
  EXPECT_FALSE(std::filesystem::exists(file_));
  ASSERT_TRUE(reserve_.keep(0));
}

TEST_F(RoomReserveTest, MoreThanTheDiskHasIsRefusedInNumbersAndKeepsWhatWasThere) {
  ASSERT_TRUE(reserve_.keep(4096));
  const Status refused = reserve_.keep(std::uint64_t{1} << 60U);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::NoRoom);
  EXPECT_NE(refused.error().message.find("bytes more are needed"), std::string::npos);
  EXPECT_EQ(reserve_.kept(), 4096U);
}

}  // namespace
}  // namespace undertone::silo
