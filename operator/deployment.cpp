#include "operator/deployment.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <memory>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "operator/provision.hpp"
#include "shared/base/files.hpp"
#include "shared/crypto/secure_bits.hpp"
#include "shared/releases/choice_time.hpp"
#include "simulation/dealt_data.hpp"
#include "simulation/simulate.hpp"

namespace undertone::operators {
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

/// Ports that were free a moment ago, so that a restarted service is found where it was.
Result<std::vector<int>> free_ports(std::size_t count) {
  std::vector<int> descriptors(count);
  std::vector<int> ports(count);
  bool bound = true;
  for (std::size_t i = 0; i < ports.size(); ++i) {  // all are held before any is let go: they differ
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

/// A shuffler of the job, and where it is on this machine.
struct PlacedShuffler {
  std::string name;
  int port = 0;
};

Json addresses_of(const std::vector<PlacedShuffler>& shufflers) {
  Json out = Json::array();
  for (const PlacedShuffler& shuffler : shufflers)
    out.push_back({{"name", shuffler.name}, {"host", "127.0.0.1"}, {"port", shuffler.port}});
  return out;
}

Json shuffler_config(const PlacedShuffler& shuffler) {
  return {{"format", "undertone.shuffler/1"},
          {"consortium", kConsortium},
          {"name", shuffler.name},
          {"listen", {{"host", "127.0.0.1"}, {"port", shuffler.port}}},
          {"tls", tls_of("shuffler", shuffler.name)},
          {"store", shuffler.name + "/store.sqlite"},
          {"sealing_key", shuffler.name + "/sealing.key"}};
}

/// What a program says on its standard output.
Result<std::string> output_of(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += "'" + word + "' ";  // paths of ours: no quotes in them
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(line.c_str(), "r"), ::pclose);
  if (!pipe) return Error{ErrorCode::Internal, command.front() + ": cannot be started"};
  std::string out;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), pipe.get()) != nullptr) out += part.data();
  return out;
}

Json consortium_of(const jobs::Job& job, int port, const std::vector<PlacedShuffler>& shufflers) {
  Json silos = Json::array();
  for (const jobs::CohortMember& member : job.cohort) silos.push_back({{"name", member.facts.silo.name()}});
  Json out = {{"format", "undertone.consortium/1"},
              {"consortium", kConsortium},
              {"certificate_days", 30},
              {"coordinator", {{"name", "hub"}, {"hosts", {"127.0.0.1"}}, {"port", port}}},
              {"silos", std::move(silos)},
              {"operators", Json::array({{{"name", "operator"}}})}};
  for (const PlacedShuffler& shuffler : shufflers) out["shufflers"].push_back({{"name", shuffler.name}});
  return out;
}

/// What the demo's institutions believe of the job's shufflers.
Json trust_of(const jobs::Job& job) {
  const jobs::Shuffle& shuffle = *job.shuffle;
  Json names = Json::array();
  for (const jobs::Shuffle::Party& party : shuffle.shufflers) names.push_back({{"name", party.name}});
  // As many as the job's guarantee takes, whoever is left out of a round.
  return {{"shufflers", std::move(names)},
          {"forms", {std::string(jobs::to_string(shuffle.form))}},
          {"honest_min", shuffle.honest_min + job.cohort.size() - job.participation.quorum}};
}

Json silo_config(const jobs::Job& job, const Json& job_document, const jobs::CohortMember& member, int port,
                 const std::vector<PlacedShuffler>& shufflers) {
  const std::string& name = member.facts.silo.name();
  const data::SplitRule split = simulation::split_of(job, member);
  Json out = {{"format", "undertone.silo/1"},
              {"silo", name},
              {"consortium", kConsortium},
              {"coordinator",
               {{"host", "127.0.0.1"}, {"port", port}, {"reconnect_first_ms", 100}, {"reconnect_most_ms", 1000}}},
              {"tls", tls_of("silo", name)},
              {"dataset",
               {{"name", dataset_name(name, job.name)},
                {"csv", "data/" + name + ".csv"},
                {"schema", job_document.at("data")},
                {"holdout_fraction", split.holdout_fraction},
                {"holdout_public", member.facts.holdout_public}}},
              {"policy",
               {{"models", job.model ? nlohmann::json{std::string(job.model->name())} : nlohmann::json::array()},
                {"algorithms", {std::string(job.algorithm->name())}},
                {"units", {std::string(releases::to_string(job.unit))}},
                {"epsilon_max", 4},
                {"delta_max", 1e-3},
                {"epsilon_total", 8},
                {"delta_total", 1e-2},
                {"approval", "automatic"}}},
              {"ledger",
               {{"path", name + "/ledger.sqlite"}, {"head", "heads/" + name + ".json"}, {"key", name + "/ledger.key"}}},
              {"desk", name + "/desk.sqlite"},
              {"statements", name + "/statements"}};
  if (job.unit == releases::Unit::Person) {
    out["dataset"]["person"] = {{"column", job.simulation->person_column}};
    out["policy"]["persons_min"] = 10;
  } else {
    out["dataset"]["holdout_seed"] = split.seed;
    out["policy"]["records_min"] = 20;
  }
  if (job.unit == releases::Unit::SensitiveAttribute) out["dataset"]["unit"] = releases::to_string(job.unit);
  if (member.facts.public_records > 0) out["dataset"]["public"] = {{"file", "data/" + name + "-public.csv"}};
  if (job.projection) out["policy"]["projections"] = true;
  const bool secret_parts = job.parts != releases::Slice::Assignment::Permutation;
  if (secret_parts) out["policy"]["allocation_accounting"] = true;
  const planning::Schedule schedule = jobs::schedule_of(job);
  if (std::any_of(schedule.begin(), schedule.end(),
                  [](const planning::ScheduledRounds& part) { return part.ask.reports() != nullptr; }))
    out["policy"]["local_reports"] = true;
  // How long a choice takes, a smooth influence or a sum over a secret part, depends on the records: the policy has to
  // hold such replies to an interval.
  const bool choices = std::any_of(schedule.begin(), schedule.end(), [](const planning::ScheduledRounds& part) {
    return releases::needs_interval(part.ask);
  });
  if (secret_parts || choices) out["policy"]["release_interval_ms"] = 50;
  if (job.shuffle) {
    out["shufflers"] = addresses_of(shufflers);
    out["policy"]["shuffle"] = trust_of(job);
  }
  return out;
}

/// Has the programs make their keys, and writes their public halves into the job.
Status make_keys(const DeploymentOptions& options, const jobs::Shuffle& shuffle,
                 const std::vector<PlacedShuffler>& shufflers, Json& job) {
  const std::filesystem::path& folder = options.folder;
  Json& section = job["privacy"]["shuffle"];
  const auto ask = [](const std::filesystem::path& program, const char* verb,
                      const std::filesystem::path& config) -> Result<std::string> {
    Result<std::string> said = output_of({program.string(), verb, "--config", config.string()});
    if (said && said->size() >= 64) return said->substr(0, 64);
    return Error{ErrorCode::Internal, fmt::format("{} {} said no key", program.string(), verb)};
  };
  for (std::size_t i = 0; i < shufflers.size(); ++i) {
    std::error_code error;
    std::filesystem::create_directories(folder / shufflers[i].name, error);
    const std::filesystem::path file = folder / (shufflers[i].name + ".json");
    if (Status written = write_file_atomically(file, shuffler_config(shufflers[i]).dump(2) + "\n"); !written)
      return written;
    UNDERTONE_TRY(const std::string key, ask(options.programs / "shuffler" / "undertone-shuffler", "key", file));
    if (shuffle.adds()) section["shufflers"][i]["key"] = key;
  }
  if (shuffle.adds()) return {};
  UNDERTONE_TRY(const std::string key, ask(options.programs / "coordinator" / "undertone-coordinator", "sealing-key",
                                           folder / "coordinator.json"));
  section["coordinator_key"] = key;
  return {};
}

/// Draws what an operator types into the coordinator's page.
Status write_secret(const std::filesystem::path& file) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  UNDERTONE_TRY(write_file_atomically(file, fmt::format("{:016x}{:016x}\n", bits.word(), bits.word())));
  return make_private_file(file);
}

}  // namespace

Result<Deployment> Deployment::prepare(DeploymentOptions options) {
  const std::filesystem::path& folder = options.folder;
  if (std::filesystem::exists(folder)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: exists already; the folder holds ledgers and is not overwritten", folder.string())};
  }
  UNDERTONE_TRY(const std::string bytes, read_file(options.job, 16U << 20U));
  Result<jobs::Job> job = jobs::parse_job(bytes, options.job.string());
  if (!job) return job.error();
  if (!job->simulation)
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: /simulation: missing", options.job.string())};
  if (job->simulation->shared) {
    // Every silo would state an epsilon for records that four others speak of, too.
    return Error{
        ErrorCode::InvalidConfig,
        fmt::format("{}: /simulation/sharing: expected \"disjoint\" for silos of their own, got \"shared\": {}",
                    options.job.string(), jobs::kSharedRecords)};
  }
  Json document = Json::parse(bytes);

  std::error_code error;
  for (const char* part : {"data", "heads", "coordinator", "logs"})
    std::filesystem::create_directories(folder / part, error);
  if (error) return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", folder.string(), error.message())};
  if (const auto files = simulation::partition(options.job, folder / "data"); !files) return files.error();
  if (job->public_terms && job->public_terms->file) {
    std::filesystem::create_directories(folder / "public", error);
    std::filesystem::copy_file(options.job.parent_path() / job->public_terms->file->name,
                               folder / "public" / job->public_terms->file->name,
                               std::filesystem::copy_options::overwrite_existing, error);
    if (error)
      return Error{ErrorCode::StorageFailed,
                   fmt::format("{}: /public/file: {}", options.job.string(), error.message())};
  }
  const std::size_t shuffler_count = job->shuffle ? job->shuffle->shufflers.size() : 0;
  UNDERTONE_TRY(const std::vector<int> ports, free_ports(2 + shuffler_count));
  std::vector<PlacedShuffler> shufflers;
  for (std::size_t i = 0; i < shuffler_count; ++i) shufflers.push_back({job->shuffle->shufflers[i].name, ports[2 + i]});
  const int port = ports[0];
  const int http_port = ports[1];
  if (Status written =
          write_file_atomically(folder / "consortium.json", consortium_of(*job, port, shufflers).dump(2) + "\n");
      !written)
    return written.error();
  if (const auto kits = provision(folder / "consortium.json", folder / "provision", true); !kits) return kits.error();
  Json coordinator = {
      {"format", "undertone.coordinator/1"},
      {"consortium", kConsortium},
      {"listen", {{"host", "127.0.0.1"}, {"port", port}}},
      {"tls", tls_of("coordinator", "hub")},
      {"store", "coordinator/store.sqlite"},
      {"results", "results"},
      {"http", {{"host", "127.0.0.1"}, {"port", http_port}, {"tls", true}, {"token_file", kConsoleToken}}}};
  if (Status written = write_secret(folder / kConsoleToken); !written) return written.error();
  if (job->shuffle) coordinator["shufflers"] = addresses_of(shufflers);
  if (job->public_terms && job->public_terms->file) coordinator["public_folder"] = "public";
  const Json op = {{"format", "undertone.operator/1"},
                   {"consortium", kConsortium},
                   {"operator", "operator"},
                   {"url", fmt::format("https://127.0.0.1:{}", http_port)},
                   {"tls", tls_of("operator", "operator")}};
  if (Status written = write_file_atomically(folder / "operator.json", op.dump(2) + "\n"); !written)
    return written.error();
  if (Status written = write_file_atomically(folder / "coordinator.json", coordinator.dump(2) + "\n"); !written)
    return written.error();
  std::string job_bytes = bytes;
  if (job->shuffle) {  // the job names keys, and those of these parties have only just been made
    if (Status made = make_keys(options, *job->shuffle, shufflers, document); !made) return made.error();
    job_bytes = document.dump(2) + "\n";
    Result<jobs::Job> keyed = jobs::parse_job(job_bytes, options.job.string());
    if (!keyed) return keyed.error();
    job = std::move(keyed);
  }
  if (Status written = write_file_atomically(folder / "job.json", job_bytes); !written) return written.error();
  for (const jobs::CohortMember& member : job->cohort) {
    const std::string& name = member.facts.silo.name();
    std::filesystem::create_directories(folder / name, error);
    const std::string text = silo_config(*job, document, member, port, shufflers).dump(2) + "\n";
    if (Status written = write_file_atomically(folder / (name + ".json"), text); !written) return written.error();
  }
  Deployment deployment(std::move(options), *std::move(job));
  deployment.job_digest_ = sha256(job_bytes);
  deployment.console_ = fmt::format("https://127.0.0.1:{}/", http_port);
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

Status Deployment::keep(Supervisor& supervisor, const std::string& name, std::vector<std::string> command,
                        bool show_output, std::vector<int> final_exit_codes) const {
  const auto own = options_.environment.find(name);
  return supervisor.start({name, std::move(command), log(name), show_output, std::move(final_exit_codes),
                           own == options_.environment.end() ? std::vector<std::string>() : own->second});
}

Status Deployment::start_operator(Supervisor& supervisor) const {
  // As a person would type it, again and again while the coordinator is away: the same bytes are the same run.
  constexpr const char* kCommands = R"(
    "$1" submit "$2/job.json" || exit 4
    "$1" watch "$3" || code=$?
    [ "${code:-0}" -le 1 ] && "$1" export "$3" --out "$2/exported" || exit 4
    exit ${code:-0})";
  std::vector<std::string> command = {"/bin/sh",
                                      "-c",
                                      kCommands,
                                      "operator",
                                      (options_.programs / "lab" / "undertone").string(),
                                      options_.folder.string(),
                                      job_.name};
  return keep(supervisor, "operator", std::move(command), false, {0, 1});
}

Status Deployment::start(Supervisor& supervisor) const {
  const std::filesystem::path& folder = options_.folder;
  const auto run = [&folder](const std::filesystem::path& program, const std::string& config) {
    return std::vector<std::string>{program.string(), "run", "--config", (folder / (config + ".json")).string()};
  };
  if (job_.shuffle) {
    for (const jobs::Shuffle::Party& party : job_.shuffle->shufflers) {
      const std::filesystem::path program = options_.programs / "shuffler" / "undertone-shuffler";
      if (Status started = keep(supervisor, party.name, run(program, party.name), false, {}); !started) return started;
    }
  }
  std::vector<std::string> command = run(options_.programs / "coordinator" / "undertone-coordinator", "coordinator");
  std::vector<int> final_exit_codes;
  if (options_.drive != DeploymentOptions::Drive::Coordinator) {
    command[1] = "serve";
  } else {
    command.insert(command.end(), {"--job", (folder / "job.json").string()});
    if (!options_.nonce.empty()) command.insert(command.end(), {"--nonce", options_.nonce});
    final_exit_codes = {0, 1};
  }
  if (Status started = keep(supervisor, "coordinator", std::move(command), options_.show_progress, final_exit_codes);
      !started)
    return started;
  if (options_.drive == DeploymentOptions::Drive::Operator) {
    if (Status started = start_operator(supervisor); !started) return started;
  }
  for (const jobs::CohortMember& member : job_.cohort) {
    const std::string& name = member.facts.silo.name();
    const std::filesystem::path program = options_.programs / "silo" / options_.silo_program;
    if (Status started = keep(supervisor, name, run(program, name), false, {}); !started) return started;
  }
  return {};
}

}  // namespace undertone::operators
