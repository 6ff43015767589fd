#include "shared/base/process_protection.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace undertone {
namespace {

rlimit open_files() {
  rlimit files{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  return files;
}

TEST(OpenFilesTest, TheSoftLimitIsRaisedAsFarAsIsNeededAndNeverLowered) {
  const rlimit before = open_files();
  const rlimit few{32, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_TRUE(allow_open_files(20, "connections_max"));
  EXPECT_EQ(open_files().rlim_cur, 32U);
  EXPECT_TRUE(allow_open_files(100, "connections_max"));
  EXPECT_EQ(open_files().rlim_cur, 100U);
  EXPECT_EQ(open_files().rlim_max, before.rlim_max);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(OpenFilesTest, BeyondTheHardLimitIsRefusedWithBothNumbers) {
  const rlimit before = open_files();
  if (before.rlim_max == RLIM_INFINITY) GTEST_SKIP() << "there is no hard limit here";
  const auto more = static_cast<std::size_t>(before.rlim_max) + 1;
  const Status refused = allow_open_files(more, "connections_max");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(fmt::format("needs {} open files, this process may have {}", more,
                                                     static_cast<std::uint64_t>(before.rlim_max))),
            std::string::npos)
      << refused.error().message;
  EXPECT_EQ(open_files().rlim_cur, before.rlim_cur);
}

}  // namespace
}  // namespace undertone
