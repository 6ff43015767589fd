#include "operator/supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace undertone::operators {
namespace {

constexpr std::chrono::milliseconds kPoll{20};
constexpr std::chrono::milliseconds kRestartPause{200};  // a program that cannot start does not spin
constexpr std::chrono::seconds kStopPatience{5};

/// File actions of posix_spawn, released on every way out.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  [[nodiscard]] posix_spawn_file_actions_t* get() noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// As C wants them; valid as long as the texts are.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  return out;
}

Result<pid_t> spawn_command(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                            FileActions& actions) {
  std::vector<char*> arguments = pointers_to(command);
  arguments.push_back(nullptr);
  std::vector<char*> variables = pointers_to(environment);
  for (char** own = environ; *own != nullptr; ++own) variables.push_back(*own);
  variables.push_back(nullptr);
  pid_t process = 0;
  const int code = posix_spawnp(&process, arguments[0], actions.get(), nullptr, arguments.data(), variables.data());
  if (code != 0)
    return Error{ErrorCode::Internal, fmt::format("{}: cannot be started: {}", command[0], std::strerror(code))};
  return process;
}

}  // namespace

Supervisor::~Supervisor() { stop_all(); }

Status Supervisor::start(Program program) {
  std::error_code error;
  std::filesystem::create_directories(pids_, error);
  const std::string name = program.name;
  return spawn(programs_.insert_or_assign(name, std::move(program)).first->second);
}

Status Supervisor::spawn(const Program& program) {
  FileActions actions;
  const int flags = O_WRONLY | O_CREAT | O_APPEND;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, program.log.c_str(), flags, 0600);
  if (!program.show_output) posix_spawn_file_actions_adddup2(actions.get(), STDERR_FILENO, STDOUT_FILENO);
  const Result<pid_t> process = spawn_command(program.command, program.environment, actions);
  if (!process) return process.error();
  running_[*process] = program.name;
  std::ofstream(pids_ / program.name) << *process << "\n";
  return {};
}

Result<int> Supervisor::supervise(const std::string& until, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < deadline) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended <= 0) {
      std::this_thread::sleep_for(kPoll);
      continue;
    }
    const auto found = running_.find(ended);
    if (found == running_.end()) continue;
    const Program& program = programs_.at(found->second);
    running_.erase(found);
    if (WIFEXITED(status)) {
      const std::vector<int>& codes = program.final_exit_codes;
      const bool final = std::find(codes.begin(), codes.end(), WEXITSTATUS(status)) != codes.end();
      if (final && program.name == until) return WEXITSTATUS(status);
      if (final) continue;
    }
    ++restarts_;
    std::this_thread::sleep_for(kRestartPause);
    if (Status again = spawn(program); !again) return again.error();
  }
  return Error{ErrorCode::Internal, fmt::format("{} did not end within {} s", until, limit.count())};
}

void Supervisor::stop_all() {
  for (const auto& [process, name] : running_) kill(process, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kStopPatience;
  while (!running_.empty()) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended > 0) {
      running_.erase(ended);
      continue;
    }
    if (ended < 0) break;
    if (std::chrono::steady_clock::now() > deadline) {
      for (const auto& [process, name] : running_) kill(process, SIGKILL);
    }
    std::this_thread::sleep_for(kPoll);
  }
  running_.clear();
}

}  // namespace undertone::operators
