#include "tests/net/kill_matrix/faulty_federation.hpp"

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "shared/base/files.hpp"
#include "simulation/simulate.hpp"

namespace undertone::tests {
namespace {

using Kind = FaultyFederation::Kind;

constexpr const char* kNonce = "000102030405060708090a0b0c0d0e0f";
constexpr std::uint64_t kSeed = 42;
constexpr std::chrono::seconds kPatience{180};
constexpr std::size_t kFileBytesMax = std::size_t{64} << 20U;

/// A short job on real data.
Result<std::string> job_text(const FaultyFederation::Setup& setup) {
  const Kind kind = setup.kind;
  const std::filesystem::path source = UNDERTONE_SOURCE_DIR;
  const char* name = kind == Kind::Shuffled ? "breast-cancer-shuffle.json" : "breast-cancer.json";
  const Result<std::string> text = read_file(source / "configs/jobs" / name, jobs::kJobBytesMax);
  if (!text) return text.error();
  nlohmann::json job = nlohmann::json::parse(*text);
  job["simulation"]["csv"] = (source / "datasets/wdbc/wdbc.csv").string();
  job["algorithm"]["rounds"] = 8;
  job["evaluation"]["every"] = 4;
  job["participation"]["resend_ms"] = 200;
  if (setup.silo_fails) job["participation"].update({{"join_deadline_ms", 8000}, {"round_deadline_ms", 2000}});
  if (kind != Kind::Shipped) job["privacy"]["noise"] = "test";
  if (kind == Kind::Shuffled) {
    job["algorithm"]["draw_fraction"] = 0.1;
    nlohmann::json& shuffle = job["privacy"]["shuffle"];
    shuffle["form"] = setup.form;
    if (setup.form != "shares") shuffle["shufflers"].erase(1);
    if (setup.form == "reports") {  // it mixes and opens nothing
      shuffle["shufflers"][0].erase("key");
      shuffle["coordinator_key"] = std::string(64, '0');
    }
    for (nlohmann::json& member : job["cohort"]) member["epsilon"] = 4.0;
  }
  return job.dump();
}

std::vector<std::string> processes_of(const jobs::Job& job, Role role) {
  std::vector<std::string> out;
  switch (role) {
    case Role::Coordinator:
      out.emplace_back("coordinator");
      break;
    case Role::Silo:
      for (const jobs::CohortMember& member : job.cohort) out.push_back(member.facts.silo.name());
      break;
    case Role::Shuffler:
      if (!job.shuffle) break;
      for (const jobs::Shuffle::Party& party : job.shuffle->shufflers) out.push_back(party.name);
      break;
  }
  return out;
}

}  // namespace

const char* to_string(Kind kind) noexcept {
  switch (kind) {
    case Kind::Shipped:
      return "of shipped programs";
    case Kind::TestNoise:
      return "with test noise";
    case Kind::Served:
      return "of a service";
    case Kind::Shuffled:
      return "with shufflers";
  }
  return "";
}

Result<FaultyFederation> FaultyFederation::prepare(Setup setup) {
  const std::filesystem::path& folder = setup.folder;
  const Result<std::string> text = job_text(setup);
  if (!text) return text.error();
  const std::filesystem::path file = folder.string() + ".json";
  if (Status written = write_file_atomically(file, *text); !written) return written.error();
  const Result<jobs::Job> job = jobs::parse_job(*text, file.string());
  if (!job) return job.error();

  operators::DeploymentOptions options{file, folder, UNDERTONE_BINARY_DIR, "undertone-silo", ""};
  if (setup.kind != Kind::Shipped) {
    options.silo_program = "undertone-silo-test";
    options.nonce = kNonce;
  }
  options.show_progress = false;
  if (setup.kind == Kind::Served) options.drive = operators::DeploymentOptions::Drive::Operator;
  options.environment["operator"] = {fmt::format("UNDERTONE_OPERATOR={}", (folder / "operator.json").string())};
  for (const Role role : {Role::Coordinator, Role::Silo, Role::Shuffler}) {
    for (const std::string& name : processes_of(*job, role)) {
      options.environment[name] = {fmt::format("LD_PRELOAD={}", UNDERTONE_FAULT_POINTS),
                                   fmt::format("UNDERTONE_FAULT_FOLDER={}", folder.string()),
                                   fmt::format("UNDERTONE_FAULT_ORDERS={}", (folder / "orders" / name).string()),
                                   fmt::format("UNDERTONE_TEST_SEED={}", kSeed)};
    }
  }
  Result<operators::Deployment> deployment = operators::Deployment::prepare(std::move(options));
  if (!deployment) return deployment.error();
  std::error_code error;
  for (const char* part : {"orders", "limbo"}) std::filesystem::create_directories(folder / part, error);
  if (error) return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", folder.string(), error.message())};
  return FaultyFederation(std::move(setup), *std::move(deployment));
}

std::vector<std::string> FaultyFederation::processes(Role role) const { return processes_of(deployment_.job(), role); }

std::string FaultyFederation::log(const std::string& process) const {
  const Result<std::string> text = read_file(deployment_.log(process), kFileBytesMax);
  return text ? *text : std::string();
}

Result<FaultyFederation::Outcome> FaultyFederation::run(const Orders& orders) {
  const std::filesystem::path folder = setup_.folder / "orders";
  for (const auto& [name, lives] : orders) {
    std::ofstream file(folder / name);
    for (const FaultOrder& order : lives) file << order.to_line() << "\n";
  }
  Outcome out;
  Result<int> code = 0;
  {
    operators::Supervisor supervisor(deployment_.pids());
    if (Status started = deployment_.start(supervisor); !started) return started.error();
    code = supervisor.supervise(deployment_.last(), kPatience);
    supervisor.stop_all();
    out.restarts = supervisor.restarts();
  }
  for (const auto& [name, lives] : orders) {
    std::ifstream fired(folder / (name + ".fired"));
    std::string line;
    while (std::getline(fired, line)) ++out.struck[name];
  }
  out.audit = audit(deployment_);
  if (!code) out.audit.problems.push_back(code.error().message);
  if (out.audit.everybody_answered && setup_.kind != Kind::Shipped) compare_with_simulator(out);
  return out;
}

void FaultyFederation::compare_with_simulator(Outcome& outcome) const {
  simulation::SimulateOptions options;
  options.job = setup_.folder / "job.json";  // with the keys that its parties have made, where it is shuffled
  options.seed = kSeed;
  const Result<RunId> run = RunId::from_hex(deployment_.results().filename().string());
  if (!run) return outcome.audit.problems.push_back("no results: " + run.error().message);
  options.nonce = run->nonce;  // a service draws it
  const std::filesystem::path simulated = setup_.folder / "simulated";
  const auto done = simulation::simulate(options, simulated, nullptr);
  if (!done) return outcome.audit.problems.push_back(done.error().message);
  const Result<std::string> expected = read_file(simulated / "model.json", kFileBytesMax);
  const Result<std::string> model = read_file(deployment_.results() / "model.json", kFileBytesMax);
  outcome.model_equals_simulator = expected && model && *expected == *model;
  if (setup_.kind == Kind::Served) {
    const Result<std::string> exported = read_file(deployment_.exported() / "model.json", kFileBytesMax);
    if (!exported || *exported != *model) outcome.audit.problems.emplace_back("the operator exported another model");
  }
  if (!outcome.model_equals_simulator) outcome.audit.problems.emplace_back("the model is not the simulator's");
}

}  // namespace undertone::tests
