#include "shared/service/spawn.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/files.hpp"

namespace undertone::service {
namespace {

class SpawnTest : public ::testing::Test {
 protected:
  SpawnTest() { std::filesystem::create_directories(folder_); }
  ~SpawnTest() override { std::filesystem::remove_all(folder_); }
  std::string content(const char* file) { return read_file(folder_ / file, 1000).value(); }
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / fmt::format("spawn-{}", ::getpid());
};

int exit_code_of(pid_t process) {
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST_F(SpawnTest, GivesTheProgramItsFilesAndItsEnvironment) {
  ASSERT_TRUE(write_file_atomically(folder_ / "in", "asked\n"));
  for (int again = 0; again < 2; ++again) {  // the second time is appended
    SpawnFiles files;
    files.read(folder_ / "in", STDIN_FILENO);
    files.append(folder_ / "out", STDOUT_FILENO);
    files.redirect(STDOUT_FILENO, STDERR_FILENO);
    const Result<pid_t> process =
        spawn({"sh", "-c", "cat; echo $SPAWN_TEST $1 >&2; exit 7", "sh", "two words"}, files, {"SPAWN_TEST=given"});
    ASSERT_TRUE(process) << process.error().message;
    EXPECT_EQ(exit_code_of(*process), 7);
  }
  EXPECT_EQ(content("out"), "asked\ngiven two words\nasked\ngiven two words\n");
}

TEST_F(SpawnTest, SaysWhichProgramCannotBeStarted) {
  const Result<pid_t> process = spawn({(folder_ / "nothing").string()}, SpawnFiles());
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().message, (folder_ / "nothing").string() + ": cannot be started: No such file or directory");
}

}  // namespace
}  // namespace undertone::service
