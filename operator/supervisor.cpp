#include "operator/supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "shared/service/spawn.hpp"

namespace undertone::operators {
namespace {

constexpr std::chrono::milliseconds kPoll{20};
constexpr std::chrono::milliseconds kRestartPause{200};  // a program that cannot start does not spin
constexpr std::chrono::seconds kStopPatience{5};
constexpr std::chrono::seconds kEarly{3};
constexpr int kGivenUpLeast = 5;

}  // namespace

Supervisor::~Supervisor() { stop_all(); }

Status Supervisor::start(Program program) {
  std::error_code error;
  std::filesystem::create_directories(pids_, error);
  const std::string name = program.name;
  return spawn(programs_.insert_or_assign(name, std::move(program)).first->second);
}

Status Supervisor::spawn(const Program& program) {
  service::SpawnFiles files;
  files.read("/dev/null", STDIN_FILENO);
  files.append(program.log, STDERR_FILENO);
  if (!program.show_output) files.redirect(STDERR_FILENO, STDOUT_FILENO);
  UNDERTONE_TRY(const pid_t process, service::spawn(program.command, files, program.environment));
  running_[process] = program.name;
  lives_[program.name].began = std::chrono::steady_clock::now();
  std::ofstream(pids_ / program.name) << process << "\n";
  return {};
}

Result<int> Supervisor::supervise(const std::string& until, std::chrono::seconds limit,
                                  const std::function<bool()>& stop) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < deadline) {
    if (stop && stop()) return 0;
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
    if (Status ended_well = note_end(program, status); !ended_well) return ended_well.error();
    ++restarts_;
    std::this_thread::sleep_for(kRestartPause);
    if (Status again = spawn(program); !again) return again.error();
  }
  return Error{ErrorCode::Internal, fmt::format("{} did not end within {} s", until, limit.count())};
}

Status Supervisor::note_end(const Program& program, int wait_status) {
  Life& life = lives_.at(program.name);
  const auto now = std::chrono::steady_clock::now();
  const bool early = now - life.began < kEarly;
  if (life.given_up == 0) life.since = life.began;
  life.given_up = early && WIFEXITED(wait_status) ? life.given_up + 1 : 0;
  if (life.given_up < kGivenUpLeast || now - life.since < patience_) return {};
  return Error{ErrorCode::Internal,
               fmt::format("{} ended {} times in a row with exit code {} as soon as it was started; it says why in {}",
                           program.name, life.given_up, WEXITSTATUS(wait_status), program.log.string())};
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
