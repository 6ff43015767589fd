#include "shared/base/file_lock.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "shared/base/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone {
namespace {

TEST(FileLockTest, ARefusalNamesTheProcessThatHoldsItAndSaysWhatToDo) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "main.sqlite.lock";
  const Result<FileLock> held = FileLock::acquire(file);
  ASSERT_TRUE(held.has_value());
  const Result<FileLock> second = FileLock::acquire(file);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().message, fmt::format("{}: process {} holds it: stop that one or let it end, and try again",
                                                file.string(), ::getpid()));
}

TEST(FileLockTest, AHolderThatCouldNotSayWhoItIsIsAnotherProcess) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "main.sqlite.lock";
  const Result<FileLock> held = FileLock::acquire(file);
  for (const char* content : {"", "nobody", "-3\n", "99999999999999999999999999999999999999\n"}) {
    std::filesystem::resize_file(file, 0);
    FILE* out = std::fopen(file.c_str(), "w");
    std::fputs(content, out);
    std::fclose(out);
    EXPECT_NE(FileLock::acquire(file).error().message.find("another process holds it"), std::string::npos) << content;
  }
}

TEST(FileLockTest, ALongerNumberOfAnEarlierHolderIsReplaced) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "lock";
  ASSERT_TRUE(write_file_atomically(file, "123456789012\n").has_value());
  const Result<FileLock> held = FileLock::acquire(file);
  EXPECT_EQ(read_file(file, 100).value(), fmt::format("{}\n", ::getpid()));
}

TEST(FileLockTest, IsFreeAgainOnceItsHolderIsGone) {
  const tests::TemporaryFolder folder;
  { ASSERT_TRUE(FileLock::acquire(folder.path() / "lock").has_value()); }
  EXPECT_TRUE(FileLock::acquire(folder.path() / "lock").has_value());
}

// In a folder where others may write, one could have another file of the service's overwritten.
TEST(FileLockTest, ALinkInItsPlaceIsNotFollowed) {
  const tests::TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "precious", "a key").has_value());
  std::filesystem::create_symlink(folder.path() / "precious", folder.path() / "lock");
  EXPECT_FALSE(FileLock::acquire(folder.path() / "lock").has_value());
  EXPECT_EQ(read_file(folder.path() / "precious", 100).value(), "a key");
}

// Two agents once answered one round with two noises: the one's ledger was a hard link to the other's.
TEST(FileLockTest, AFileThatIsHeldIsSoUnderEveryName) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "main.sqlite";
  const std::filesystem::path link = folder.path() / "other.sqlite";
  ASSERT_TRUE(write_file_atomically(file, "a database").has_value());
  std::filesystem::create_hard_link(file, link);
  {
    const Result<FileLock> held = FileLock::hold(file);
    ASSERT_TRUE(held.has_value());
    const Result<FileLock> second = FileLock::hold(link);
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().message.find("under this name or another"), std::string::npos);
  }
  EXPECT_TRUE(FileLock::hold(link).has_value());
  EXPECT_EQ(read_file(file, 100).value(), "a database");  // nothing is written to it
  EXPECT_FALSE(FileLock::hold(folder.path() / "none").has_value());
}

}  // namespace
}  // namespace undertone
