#include "lab/demo.hpp"

#include <arpa/inet.h>
#include <cstdio>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "lab/ledger_verify.hpp"
#include "lab/simulate.hpp"
#include "lab/supervisor.hpp"
#include "shared/base/atomic_file.hpp"
#include "shared/config/job.hpp"
#include "shared/data/csv_table.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;
using std::filesystem::path;

constexpr std::chrono::seconds kTimeMax{600};
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
           {{"name", name + "-breast-cancer"},
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

/// Everything the parties need, as their administrators would have prepared it.
Status prepare(const DemoOptions& options, const config::Job& job, const Json& job_document,
               const std::string& job_bytes) {
  const path& folder = options.folder;
  std::error_code error;
  for (const char* part : {"certificates", "data", "heads", "coordinator", "logs"})
    std::filesystem::create_directories(folder / part, error);
  if (error) return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", folder.string(), error.message())};
  if (const auto files = partition(options.job, folder / "data"); !files) return files.error();
  std::vector<std::string> make = {options.make_certificates.string(), (folder / "certificates").string(), kConsortium,
                                   "coordinator:hub"};
  for (const config::CohortMember& member : job.cohort) make.push_back("silo:" + member.facts.silo.name());
  if (Status made = run_command(make); !made) return made;

  const Result<int> port = free_port();
  if (!port) return port.error();
  const Json coordinator = {{"format", "undertone.coordinator/1"},
                            {"consortium", kConsortium},
                            {"listen", {{"host", "127.0.0.1"}, {"port", *port}}},
                            {"tls", tls_of("hub")},
                            {"store", "coordinator/store.sqlite"},
                            {"results", "results"}};
  if (Status written = write_file_atomically(folder / "coordinator.json", coordinator.dump(2) + "\n"); !written)
    return written;
  if (Status written = write_file_atomically(folder / "job.json", job_bytes); !written) return written;
  for (const config::CohortMember& member : job.cohort) {
    const std::string& name = member.facts.silo.name();
    std::filesystem::create_directories(folder / name, error);
    const std::string text = silo_config(job, job_document, member, *port).dump(2) + "\n";
    if (Status written = write_file_atomically(folder / (name + ".json"), text); !written) return written;
  }
  return {};
}

Status run_processes(const DemoOptions& options, const config::Job& job, std::uint64_t& restarts) {
  const path& folder = options.folder;
  Supervisor supervisor(folder / "pids");
  Status started = supervisor.start({"coordinator",
                                     {(options.programs / "coordinator" / "undertone-coordinator").string(), "--config",
                                      (folder / "coordinator.json").string(), "--job", (folder / "job.json").string()},
                                     folder / "logs" / "coordinator.log",
                                     true,
                                     {0, 1}});
  if (!started) return started;
  for (const config::CohortMember& member : job.cohort) {
    const std::string& name = member.facts.silo.name();
    started = supervisor.start({name,
                                {(options.programs / "silo" / "undertone-silo").string(), "run", "--config",
                                 (folder / (name + ".json")).string()},
                                folder / "logs" / (name + ".log"),
                                false,
                                {}});
    if (!started) return started;
  }
  const Result<int> code = supervisor.supervise("coordinator", kTimeMax);
  supervisor.stop_all();
  restarts = supervisor.restarts();
  if (!code) return code.error();
  if (*code != 0)
    return Error{ErrorCode::QuorumMissed, fmt::format("the run failed; see {}", (folder / "logs").string())};
  return {};
}

/// The same data and the same algorithm with neither clipping that bites nor noise, run to convergence.
Result<algorithms::MetricsRow> without_privacy(const DemoOptions& options) {
  SimulateOptions plain;
  plain.job = options.job;
  plain.noise = SimulatedNoise::None;
  plain.set = {"/algorithm/rounds=1500", "/algorithm/step_size=0.5", "/privacy/clip_norm=100", "/evaluation/every=0",
               "/wire/replies=i64"};
  const Result<algorithms::Outcome> outcome = simulate(plain, std::nullopt, nullptr);
  if (!outcome) return outcome.error();
  return outcome->metrics.back();
}

Status report(const DemoOptions& options, const config::Job& job, std::uint64_t restarts) {
  const Result<std::string> text = data::read_file(options.folder / "results" / "result.json", 64U << 20U);
  if (!text) return text.error();
  const Json result = Json::parse(*text, nullptr, false);
  if (result.is_discarded()) return Error{ErrorCode::Internal, "result.json is not JSON"};
  const Json& last = result.at("metrics").back();
  const Result<algorithms::MetricsRow> plain = without_privacy(options);
  if (!plain) return plain.error();

  for (const config::CohortMember& member : job.cohort) {
    const path base = options.folder / member.facts.silo.name() / "statements" / result.at("run").get<std::string>();
    const Result<std::string> statement = data::read_file(base.string() + ".txt", 1U << 20U);
    fmt::print("\n{}",
               statement ? *statement : fmt::format("{} wrote no privacy statement\n", member.facts.silo.name()));
  }
  fmt::print("\nLedgers, verified by separately written code:\n");
  bool sound = true;
  for (const config::CohortMember& member : job.cohort) {
    const std::string& name = member.facts.silo.name();
    const LedgerFindings findings =
        verify_ledger(options.folder / name / "ledger.sqlite",
                      {options.folder / "heads" / (name + ".json"), name + "-breast-cancer", std::nullopt});
    fmt::print("  {}: {} entries, epsilon {:.6f} reserved, {}\n", name, findings.entries, findings.epsilon,
               findings.problems.empty() ? "sound" : findings.problems.front());
    sound = sound && findings.problems.empty();
  }
  fmt::print(
      "\nTest accuracy on {} held-out records of {} silos, {} restarts on the way:\n",
      [&] {
        std::int64_t records = 0;
        for (const config::CohortMember& member : job.cohort) records += member.facts.holdout_records;
        return records;
      }(),
      job.cohort.size(), restarts);
  fmt::print("  with privacy (epsilon <= {:.3g} a record and silo)   {:.1f} %\n",
             job.cohort.front().facts.epsilon.value(), 100.0 * last.at("accuracy").get<double>());
  fmt::print("  without privacy (same data, no noise, no clip)   {:.1f} %\n", 100.0 * plain->values[1]);
  fmt::print("  always the majority class                        {:.1f} %\n",
             100.0 * last.at("majority_class_accuracy").get<double>());
  fmt::print(
      "\nThe job's parameters were chosen on this public data set; that choice is not private and not charged.\n");
  fmt::print("Results: {}\n", (options.folder / "results").string());
  return sound ? Status() : Status(Error{ErrorCode::LedgerCorrupt, "a ledger does not verify"});
}

}  // namespace

Status run_demo(const DemoOptions& options) {
  if (std::filesystem::exists(options.folder)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: exists already; a demo's folder holds ledgers and is not overwritten",
                             options.folder.string())};
  }
  const Result<std::string> bytes = data::read_file(options.job, 16U << 20U);
  if (!bytes) return bytes.error();
  const Result<config::Job> job = config::parse_job(*bytes, options.job.string());
  if (!job) return job.error();
  if (!job->simulation)
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: /simulation: missing", options.job.string())};
  const Json document = Json::parse(*bytes);
  if (Status prepared = prepare(options, *job, document, *bytes); !prepared) return prepared;
  fmt::print(
      "One coordinator, {} silos, TLS 1.3 both ways; every silo clips, adds its own noise and charges its own "
      "ledger.\n",
      job->cohort.size());
  std::fflush(stdout);
  std::uint64_t restarts = 0;
  if (Status ran = run_processes(options, *job, restarts); !ran) return ran;
  return report(options, *job, restarts);
}

}  // namespace undertone::lab
