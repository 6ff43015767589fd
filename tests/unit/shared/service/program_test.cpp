#include "shared/service/program.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

#include "shared/base/log.hpp"

namespace undertone::service {
namespace {

// Short output once was lost without a word: it fits the buffer, and nobody asked whether it left.
TEST(ProgramTest, OutputThatDoesNotFitTheDiskIsNoSuccess) {
  const auto printed = [](bool goes, int code) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) std::exit(99);
    if (!goes) ::close(::fileno(stdout));
    fmt::print("one line\n");
    std::exit(kUndertone.finished(code));
  };
  EXPECT_EXIT(printed(false, 0), ::testing::ExitedWithCode(3), "the output could not be written");
  EXPECT_EXIT(printed(false, 1), ::testing::ExitedWithCode(1), "the output could not be written");
  EXPECT_EXIT(printed(true, 0), ::testing::ExitedWithCode(0), "");
}

TEST(ProgramTest, AServiceOutlivesWhoReadsItsLog) {
  const auto raised = [] {
    outlive_readers();
    std::raise(SIGPIPE);
    std::exit(0);
  };
  EXPECT_EXIT(raised(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace undertone::service
