#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::operators {

/// A program to keep running.
struct Program {
  std::string name;
  std::vector<std::string> command;           // the first is the executable's path
  std::filesystem::path log;                  // standard error, appended
  bool show_output = false;                   // standard output goes to ours, else to the log
  std::vector<int> final_exit_codes;          // any other end, and every signal, means: start it again
  std::vector<std::string> environment = {};  // "NAME=value", beside what this process has
};

/// Starts programs and starts again what dies. Each running program's process id is in `pids`/NAME.
class Supervisor {
 public:
  /// @param patience with a program that ends by itself as soon as it is started, again and again
  explicit Supervisor(std::filesystem::path pids, std::chrono::milliseconds patience = std::chrono::seconds(20))
      : pids_(std::move(pids)), patience_(patience) {}
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  [[nodiscard]] Status start(Program program);
  /// Keeps everything running until the named program ends with one of its final codes.
  /// @param stop asked now and then whether to give that up; empty: never
  /// @return that code, or 0 where `stop` said so; an error where `limit` passes first, or where a program gives up by
  /// itself again and again as soon as it is started: it says the same each time, in its log
  [[nodiscard]] Result<int> supervise(const std::string& until, std::chrono::seconds limit,
                                      const std::function<bool()>& stop = {});
  /// SIGTERM to all, SIGKILL to those that stay.
  void stop_all();
  [[nodiscard]] std::uint64_t restarts() const noexcept { return restarts_; }

 private:
  /// A program that runs, or ran last.
  struct Life {
    std::chrono::steady_clock::time_point began;
    int given_up = 0;                             // so many lives in a row ended early with an exit code
    std::chrono::steady_clock::time_point since;  // the first of them began
  };
  [[nodiscard]] Status spawn(const Program& program);
  /// Notes that a program's life ended. @return an error where another would be no better
  [[nodiscard]] Status note_end(const Program& program, int wait_status);
  std::filesystem::path pids_;
  std::chrono::milliseconds patience_;
  std::map<std::string, Program> programs_;
  std::map<pid_t, std::string> running_;
  std::map<std::string, Life> lives_;
  std::uint64_t restarts_ = 0;
};

}  // namespace undertone::operators
