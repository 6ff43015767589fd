#include "shuffler/host/sealing_key_file.hpp"

#include <gtest/gtest.h>

#include "shared/base/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::shuffler {
namespace {

namespace fs = std::filesystem;

class SealingKeyFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path file() const { return folder_.path() / "state" / "sealing.key"; }

 private:
  tests::TemporaryFolder folder_;
};

TEST_F(SealingKeyFileTest, IsMadeOnceForItsOwnerAloneAndIsTheSameKeyEverAfter) {
  const Result<sealed::SealingKey> made = load_or_make_sealing_key(file());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(fs::file_size(file()), 32U);
  EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const Result<sealed::SealingKey> again = load_or_make_sealing_key(file());
  const Result<sealed::SealingKey> loaded = load_sealing_key(file());
  ASSERT_TRUE(again && loaded);
  EXPECT_EQ(public_key_of(*again), public_key_of(*made));
  EXPECT_EQ(public_key_of(*loaded), public_key_of(*made));
  EXPECT_EQ(as_bytes(public_key_of(*made)), made->public_key().bytes());
}

TEST_F(SealingKeyFileTest, ServingMakesNoKey) {
  const Result<sealed::SealingKey> missing = load_sealing_key(file());
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("undertone-shuffler key"), std::string::npos) << missing.error().message;
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(SealingKeyFileTest, AFileThatOthersMayReadIsRefused) {
  ASSERT_TRUE(load_or_make_sealing_key(file()));
  fs::permissions(file(), fs::perms::group_read, fs::perm_options::add);
  const Result<sealed::SealingKey> open = load_sealing_key(file());
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message.find("owner alone"), std::string::npos) << open.error().message;
}

TEST_F(SealingKeyFileTest, AFileOfAnotherLengthIsRefusedAndStaysAsItIs) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{31}, std::size_t{33}}) {
    SCOPED_TRACE(bytes);
    ASSERT_TRUE(make_folder_for(file()));
    ASSERT_TRUE(write_file_atomically(file(), std::string(bytes, 'k')));
    const Result<sealed::SealingKey> key = load_or_make_sealing_key(file());
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().message.find("kkk"), std::string::npos) << key.error().message;
    EXPECT_EQ(fs::file_size(file()), bytes);
  }
}

}  // namespace
}  // namespace undertone::shuffler
