#include "lab/deployment.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "lab/simulate.hpp"
#include "shared/base/files.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kConsortium = "demo";

/// A port that was free a moment ago, so that a restarted coordinator is found where it was.
Result<int> free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = descriptor >= 0 && ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (descriptor >= 0) ::close(descriptor);
  if (!bound) return Error{ErrorCode::Unreachable, "no free port on this machine"};
  return static_cast<int>(ntohs(address.sin_port));
}

Json tls_of(const std::string& name) {
  return {{"authority", "certificates/authority.crt"},
          {"certificate", "certificates/" + name + ".crt"},
          {"key", "certificates/" + name + ".key"}};
}

Json silo_config(const config::Job& job, const Json& job_document, const config::CohortMember& member, int port) {
  const std::string& name = member.facts.silo.name();
  return {{"format", "undertone.silo/1"},
          {"silo", name},
          {"consortium", kConsortium},
          {"coordinator",
           {{"host", "127.0.0.1"}, {"port", port}, {"reconnect_first_ms", 100}, {"reconnect_most_ms", 1000}}},
          {"tls", tls_of(name)},
          {"dataset",
           {{"name", name + "-" + job.name},
            {"csv", "data/" + name + ".csv"},
            {"schema", job_document.at("data")},
            {"holdout_fraction", job.simulation->holdout_fraction},
            {"holdout_seed", job.simulation->holdout_seed},
            {"holdout_public", member.facts.holdout_public}}},
          {"policy",
           {{"models", {std::string(models::to_string(job.model.loss()))}},
            {"algorithms", {job.algorithm_kind}},
            {"units", {"record"}},
            {"records_min", 20},
            {"epsilon_max", 4},
            {"delta_max", 1e-3},
            {"epsilon_total", 8},
            {"delta_total", 1e-2}}},
          {"ledger",
           {{"path", name + "/ledger.sqlite"}, {"head", "heads/" + name + ".json"}, {"key", name + "/ledger.key"}}},
          {"statements", name + "/statements"}};
}

}  // namespace

Result<Deployment> Deployment::prepare(DeploymentOptions options) {
  const std::filesystem::path& folder = options.folder;
  if (std::filesystem::exists(folder)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: exists already; the folder holds ledgers and is not overwritten", folder.string())};
  }
  const Result<std::string> bytes = read_file(options.job, 16U << 20U);
  if (!bytes) return bytes.error();
  Result<config::Job> job = config::parse_job(*bytes, options.job.string());
  if (!job) return job.error();
  if (!job->simulation)
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: /simulation: missing", options.job.string())};
  const Json document = Json::parse(*bytes);

  std::error_code error;
  for (const char* part : {"certificates", "data", "heads", "coordinator", "logs"})
    std::filesystem::create_directories(folder / part, error);
  if (error) return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", folder.string(), error.message())};
  if (const auto files = partition(options.job, folder / "data"); !files) return files.error();
  std::vector<std::string> make = {options.make_certificates.string(), (folder / "certificates").string(), kConsortium,
                                   "coordinator:hub"};
  for (const config::CohortMember& member : job->cohort) make.push_back("silo:" + member.facts.silo.name());
  if (Status made = run_command(make); !made) return made.error();

  const Result<int> port = free_port();
  if (!port) return port.error();
  const Json coordinator = {{"format", "undertone.coordinator/1"},
                            {"consortium", kConsortium},
                            {"listen", {{"host", "127.0.0.1"}, {"port", *port}}},
                            {"tls", tls_of("hub")},
                            {"store", "coordinator/store.sqlite"},
                            {"results", "results"}};
  if (Status written = write_file_atomically(folder / "coordinator.json", coordinator.dump(2) + "\n"); !written)
    return written.error();
  if (Status written = write_file_atomically(folder / "job.json", *bytes); !written) return written.error();
  for (const config::CohortMember& member : job->cohort) {
    const std::string& name = member.facts.silo.name();
    std::filesystem::create_directories(folder / name, error);
    const std::string text = silo_config(*job, document, member, *port).dump(2) + "\n";
    if (Status written = write_file_atomically(folder / (name + ".json"), text); !written) return written.error();
  }
  return Deployment(std::move(options), *std::move(job));
}

Status Deployment::start(Supervisor& supervisor) const {
  const std::filesystem::path& folder = options_.folder;
  std::vector<std::string> command = {(options_.programs / "coordinator" / "undertone-coordinator").string(),
                                      "--config", (folder / "coordinator.json").string(), "--job",
                                      (folder / "job.json").string()};
  if (!options_.nonce.empty()) command.insert(command.end(), {"--nonce", options_.nonce});
  if (Status started =
          supervisor.start({"coordinator", std::move(command), folder / "logs" / "coordinator.log", true, {0, 1}});
      !started)
    return started;
  for (const config::CohortMember& member : job_.cohort) {
    const std::string& name = member.facts.silo.name();
    const std::vector<std::string> run = {(options_.programs / "silo" / options_.silo_program).string(), "run",
                                          "--config", (folder / (name + ".json")).string()};
    if (Status started = supervisor.start({name, run, folder / "logs" / (name + ".log"), false, {}}); !started)
      return started;
  }
  return {};
}

}  // namespace undertone::lab
