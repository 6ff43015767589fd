#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "operator/supervisor.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::operators {

/// A federation of processes on this machine.
struct DeploymentOptions {
  std::filesystem::path job;       // with a simulation section, which says where the data are
  std::filesystem::path folder;    // must not exist: data, keys, ledgers and results are made there
  std::filesystem::path programs;  // the build folder that holds coordinator/ and silo/
  std::string silo_program = "undertone-silo";
  std::string nonce;          // of the run; drawn by the coordinator if empty
  bool show_progress = true;  // the coordinator's lines on our standard output, else in its log
  /// Who has the job run: the coordinator, which is given it and ends with it; an operator, who submits it over HTTP to
  /// a coordinator that serves, watches the run and exports it; or nobody, so that others may submit jobs.
  enum class Drive { Coordinator, Operator, Nobody };
  Drive drive = Drive::Coordinator;
  std::map<std::string, std::vector<std::string>> environment = {};  // "NAME=value", by the program's name
};

/// Everything the parties need, as their administrators would have prepared it, and how to start them.
class Deployment {
 public:
  [[nodiscard]] static Result<Deployment> prepare(DeploymentOptions options);

  /// Starts the coordinator and every silo, and the operator if one drives.
  [[nodiscard]] Status start(Supervisor& supervisor) const;
  /// The program whose end with code 0 or 1 ends the run.
  [[nodiscard]] const char* last() const noexcept {
    return options_.drive == DeploymentOptions::Drive::Operator ? "operator" : "coordinator";
  }

  [[nodiscard]] const jobs::Job& job() const noexcept { return job_; }
  [[nodiscard]] std::filesystem::path pids() const { return options_.folder / "pids"; }
  /// The folder of the job's run, once it has ended.
  [[nodiscard]] std::filesystem::path results() const;
  /// What the operator has exported of it.
  [[nodiscard]] std::filesystem::path exported() const { return options_.folder / "exported"; }
  [[nodiscard]] std::filesystem::path folder() const { return options_.folder; }
  /// The address of the coordinator's page, and the file with the token that it asks for.
  [[nodiscard]] const std::string& console() const noexcept { return console_; }
  [[nodiscard]] std::filesystem::path console_token() const { return options_.folder / kConsoleToken; }
  [[nodiscard]] std::filesystem::path log(const std::string& program) const {
    return options_.folder / "logs" / (program + ".log");
  }
  [[nodiscard]] std::filesystem::path store() const { return options_.folder / "coordinator" / "store.sqlite"; }
  [[nodiscard]] std::filesystem::path ledger(const SiloId& silo) const {
    return options_.folder / silo.name() / "ledger.sqlite";
  }
  [[nodiscard]] std::filesystem::path head(const SiloId& silo) const {
    return options_.folder / "heads" / (silo.name() + ".json");
  }
  [[nodiscard]] std::filesystem::path statements(const SiloId& silo) const {
    return options_.folder / silo.name() / "statements";
  }
  [[nodiscard]] std::string dataset(const SiloId& silo) const { return silo.name() + "-" + job_.name; }

 private:
  Deployment(DeploymentOptions options, jobs::Job job) : options_(std::move(options)), job_(std::move(job)) {}
  /// Keeps one of the deployment's programs running.
  [[nodiscard]] Status keep(Supervisor& supervisor, const std::string& name, std::vector<std::string> command,
                            bool show_output, std::vector<int> final_exit_codes) const;
  [[nodiscard]] Status start_operator(Supervisor& supervisor) const;
  static constexpr const char* kConsoleToken = "coordinator/console-token";
  DeploymentOptions options_;
  jobs::Job job_;
  std::string console_;
  Digest job_digest_{};
};

}  // namespace undertone::operators
