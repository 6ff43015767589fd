#include "lab/deployment.hpp"

#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "lab/provision.hpp"
#include "lab/simulate.hpp"
#include "shared/base/files.hpp"

namespace undertone::lab {
namespace {

/// A data set's name from two names for people: what a data set's may not hold becomes "-".
std::string dataset_name(const std::string& silo, const std::string& job) {
  std::string out = (silo + "-" + job).substr(0, 64);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) c = '-';
  }
  return out;
}

using Json = nlohmann::ordered_json;

constexpr const char* kConsortium = "demo";

/// Two ports that were free a moment ago, so that a restarted coordinator is found where it was.
Result<std::array<int, 2>> free_ports() {
  std::array<int, 2> descriptors{};
  std::array<int, 2> ports{};
  bool bound = true;
  for (std::size_t i = 0; i < ports.size(); ++i) {  // both are held before either is let go: they differ
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    descriptors[i] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bound = bound && descriptors[i] >= 0 && ::bind(descriptors[i], reinterpret_cast<sockaddr*>(&address), size) == 0 &&
            ::getsockname(descriptors[i], reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ports[i] = ntohs(address.sin_port);
  }
  for (const int descriptor : descriptors) {
    if (descriptor >= 0) ::close(descriptor);
  }
  if (!bound) return Error{ErrorCode::Unreachable, "no free port on this machine"};
  return ports;
}

Json tls_of(const std::string& role, const std::string& name) {
  const std::string kit = "provision/kits/" + role + "-" + name + "/";
  return {{"authority", kit + "authority.crt"},
          {"certificate", kit + "certificate.pem"},
          {"key", kit + "key.pem"},
          {"revoked", kit + "revoked.crl"}};
}

Json consortium_of(const config::Job& job, int port) {
  Json silos = Json::array();
  for (const config::CohortMember& member : job.cohort) silos.push_back({{"name", member.facts.silo.name()}});
  return {{"format", "undertone.consortium/1"},
          {"consortium", kConsortium},
          {"certificate_days", 30},
          {"coordinator", {{"name", "hub"}, {"hosts", {"127.0.0.1"}}, {"port", port}}},
          {"silos", std::move(silos)},
          {"operators", Json::array({{{"name", "operator"}}})}};
}

Json silo_config(const config::Job& job, const Json& job_document, const config::CohortMember& member, int port) {
  const std::string& name = member.facts.silo.name();
  return {{"format", "undertone.silo/1"},
          {"silo", name},
          {"consortium", kConsortium},
          {"coordinator",
           {{"host", "127.0.0.1"}, {"port", port}, {"reconnect_first_ms", 100}, {"reconnect_most_ms", 1000}}},
          {"tls", tls_of("silo", name)},
          {"dataset",
           {{"name", dataset_name(name, job.name)},
            {"csv", "data/" + name + ".csv"},
            {"schema", job_document.at("data")},
            {"holdout_fraction", job.simulation->holdout_fraction},
            {"holdout_seed", job.simulation->holdout_seed},
            {"holdout_public", member.facts.holdout_public}}},
          {"policy",
           {{"models", {std::string(job.model.name())}},
            {"algorithms", {job.algorithm_kind}},
            {"units", {"record"}},
            {"records_min", 20},
            {"epsilon_max", 4},
            {"delta_max", 1e-3},
            {"epsilon_total", 8},
            {"delta_total", 1e-2},
            {"approval", "automatic"}}},
          {"ledger",
           {{"path", name + "/ledger.sqlite"}, {"head", "heads/" + name + ".json"}, {"key", name + "/ledger.key"}}},
          {"desk", name + "/desk.sqlite"},
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
  for (const char* part : {"data", "heads", "coordinator", "logs"})
    std::filesystem::create_directories(folder / part, error);
  if (error) return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", folder.string(), error.message())};
  if (const auto files = partition(options.job, folder / "data"); !files) return files.error();
  const Result<std::array<int, 2>> ports = free_ports();
  if (!ports) return ports.error();
  const int port = (*ports)[0];
  const int http_port = (*ports)[1];
  if (Status written = write_file_atomically(folder / "consortium.json", consortium_of(*job, port).dump(2) + "\n");
      !written)
    return written.error();
  if (const auto kits = provision(folder / "consortium.json", folder / "provision", true); !kits) return kits.error();
  const Json coordinator = {{"format", "undertone.coordinator/1"},
                            {"consortium", kConsortium},
                            {"listen", {{"host", "127.0.0.1"}, {"port", port}}},
                            {"tls", tls_of("coordinator", "hub")},
                            {"store", "coordinator/store.sqlite"},
                            {"results", "results"},
                            {"http", {{"host", "127.0.0.1"}, {"port", http_port}, {"tls", true}}}};
  const Json op = {{"format", "undertone.operator/1"},
                   {"consortium", kConsortium},
                   {"operator", "operator"},
                   {"url", fmt::format("https://127.0.0.1:{}", http_port)},
                   {"tls", tls_of("operator", "operator")}};
  if (Status written = write_file_atomically(folder / "operator.json", op.dump(2) + "\n"); !written)
    return written.error();
  if (Status written = write_file_atomically(folder / "coordinator.json", coordinator.dump(2) + "\n"); !written)
    return written.error();
  if (Status written = write_file_atomically(folder / "job.json", *bytes); !written) return written.error();
  for (const config::CohortMember& member : job->cohort) {
    const std::string& name = member.facts.silo.name();
    std::filesystem::create_directories(folder / name, error);
    const std::string text = silo_config(*job, document, member, port).dump(2) + "\n";
    if (Status written = write_file_atomically(folder / (name + ".json"), text); !written) return written.error();
  }
  Deployment deployment(std::move(options), *std::move(job));
  deployment.job_digest_ = sha256(*bytes);
  return deployment;
}

std::filesystem::path Deployment::results() const {
  // One job, one run: the only folder there is.
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder / "results", none)) {
    if (entry.path().filename().string().starts_with(to_hex(job_digest_))) return entry.path();
  }
  return options_.folder / "results";
}

Status Deployment::start(Supervisor& supervisor) const {
  const std::filesystem::path& folder = options_.folder;
  std::vector<std::string> command = {(options_.programs / "coordinator" / "undertone-coordinator").string(),
                                      "run",
                                      "--config",
                                      (folder / "coordinator.json").string(),
                                      "--job",
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
