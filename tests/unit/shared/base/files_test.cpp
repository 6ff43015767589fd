#include "shared/base/files.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <iterator>

#include "shared/base/signing_key.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone {
namespace {

class FilesTest : public ::testing::Test {
 protected:
  std::filesystem::path at(const char* name) const { return folder_.path() / name; }
  std::string content(const char* name) const { return read_file(at(name), 1U << 16U).value(); }
  std::ptrdiff_t entries() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), std::filesystem::directory_iterator());
  }

  tests::TemporaryFolder folder_;
};

TEST_F(FilesTest, OfWhatHasNoEndNoMoreIsReadThanMayBe) {
  std::filesystem::create_symlink("/dev/zero", at("result.json"));
  const Result<std::string> endless = read_file(at("result.json"), 1U << 20U);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().message, at("result.json").string() + ": 1048576 bytes and more, at most 1048576 are read");
}

TEST_F(FilesTest, AFileIsReadUpToTheLastByteThatIsAllowed) {
  write_file_atomically(at("job"), std::string(100'000, 'x')).value();
  EXPECT_EQ(read_file(at("job"), 100'000).value().size(), 100'000U);
  EXPECT_EQ(read_file(at("job"), 99'999).error().message,
            at("job").string() + ": 100000 bytes, at most 99999 are read");
}

TEST_F(FilesTest, AFolderInPlaceOfAFileIsAnErrorThatNamesIt) {
  std::filesystem::create_directory(at("result.json"));
  const Result<std::string> folder = read_file(at("result.json"), 1U << 20U);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, at("result.json").string() + ": cannot be read: Is a directory");
  // A device may have no end: little of it is kept, whatever a file may have.
  EXPECT_EQ(read_file("/dev/zero", std::size_t{1} << 40U).error().code, ErrorCode::LimitExceeded);
}

TEST_F(FilesTest, NothingIsWrittenThroughALinkThatWaitsAtTheOldTemporaryName) {
  write_file_atomically(at("victim"), "untouched").value();
  std::filesystem::create_symlink(at("victim"), at("head.new"));
  ASSERT_TRUE(write_file_atomically(at("head"), "new"));
  EXPECT_EQ(content("head"), "new");
  EXPECT_EQ(content("victim"), "untouched");
  EXPECT_FALSE(std::filesystem::is_symlink(at("head")));
}

TEST_F(FilesTest, WhatACrashLeftBehindBlocksNoLaterWrite) {
  std::filesystem::create_directory(at("head.new"));
  write_file_atomically(at("head.0123456789abcdef.new"), "half").value();
  ASSERT_TRUE(write_file_atomically(at("head"), "first"));
  ASSERT_TRUE(write_file_atomically(at("head"), "second"));
  EXPECT_EQ(content("head"), "second");
  EXPECT_EQ(entries(), 3);  // no temporary file of its own is left
}

TEST_F(FilesTest, AFailedReplacementLeavesNothingBehind) {
  std::filesystem::create_directory(at("head"));
  EXPECT_EQ(write_file_atomically(at("head"), "new").error().code, ErrorCode::StorageFailed);
  EXPECT_EQ(entries(), 1);
}

TEST_F(FilesTest, ANewFileIsItsOwnersAlone) {
  ASSERT_TRUE(write_file_atomically(at("key"), "secret"));
  EXPECT_TRUE(check_private_file(at("key")));
}

TEST_F(FilesTest, ASigningKeyIsNotWrittenThroughALinkEither) {
  write_file_atomically(at("victim"), "untouched").value();
  std::filesystem::create_symlink(at("victim"), at("ledger.key.new"));
  const std::string made = SigningKey::load_or_create(at("ledger.key")).value().public_key();
  EXPECT_EQ(content("victim"), "untouched");
  EXPECT_TRUE(check_private_file(at("ledger.key")));
  EXPECT_EQ(SigningKey::load_or_create(at("ledger.key")).value().public_key(), made);
}

}  // namespace
}  // namespace undertone
