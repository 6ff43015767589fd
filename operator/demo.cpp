#include "operator/demo.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "operator/statistic_lines.hpp"
#include "shared/base/files.hpp"
#include "simulation/simulate.hpp"
#include "verifier/verification.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kTimeMax{600};

void print_statements(const Deployment& deployment, const std::string& run) {
  for (const jobs::CohortMember& member : deployment.job().cohort) {
    const SiloId& silo = member.facts.silo;
    const Result<std::string> statement = read_file(deployment.statements(silo) / (run + ".txt"), 1U << 20U);
    fmt::print("\n{}", statement ? *statement : fmt::format("{} wrote no privacy statement\n", silo.name()));
  }
}

/// @return whether every ledger is sound
bool print_ledgers(const Deployment& deployment) {
  fmt::print("\nLedgers, verified by separately written code:\n");
  bool sound = true;
  for (const jobs::CohortMember& member : deployment.job().cohort) {
    const SiloId& silo = member.facts.silo;
    const verifier::LedgerFindings findings = verifier::verify_ledger(
        deployment.ledger(silo), {deployment.head(silo), deployment.dataset(silo), std::nullopt});
    fmt::print("  {}: {} entries, epsilon {:.6f} reserved, {}\n", silo.name(), findings.entries, findings.epsilon,
               findings.problems.empty() ? "sound" : findings.problems.front());
    sound = sound && findings.problems.empty();
  }
  return sound;
}

Status report_statistics(const Deployment& deployment, const Json& result) {
  print_statements(deployment, result.at("run").get<std::string>());
  const bool sound = print_ledgers(deployment);
  fmt::print("\n");
  fmt::print("{}", statistic_lines(result.at("statistics")));
  fmt::print("Results: {}\n", deployment.results().string());
  if (!sound) return Error{ErrorCode::LedgerCorrupt, "a ledger does not verify"};
  return {};
}

Status report(const Deployment& deployment, const std::filesystem::path& job_file, std::uint64_t restarts) {
  UNDERTONE_TRY(const std::string text, read_file(deployment.results() / "result.json", kResultBytesMax));
  const Json result = Json::parse(text, nullptr, false);
  if (result.is_discarded()) return Error{ErrorCode::Internal, "result.json is not JSON"};
  if (!deployment.job().model) return report_statistics(deployment, result);
  if (!jobs::is_evaluated(deployment.job())) return report_statistics(deployment, result);
  const Json& last = result.at("metrics").back();
  UNDERTONE_TRY(const algorithms::MetricsRow plain, simulation::simulate_without_privacy(job_file));

  print_statements(deployment, result.at("run").get<std::string>());
  const bool sound = print_ledgers(deployment);
  std::int64_t holdout = 0;
  double epsilon = 0.0;
  bool all_public = true;
  for (const jobs::CohortMember& member : deployment.job().cohort) {
    holdout += member.facts.holdout_records;
    all_public = all_public && member.facts.holdout_public;
    epsilon = std::max(epsilon, member.facts.epsilon().value());
  }
  const releases::Unit protects = deployment.job().unit;
  const std::string_view unit = releases::noun_of(protects);
  fmt::print("\nOn {} held-out {}s of {} silos, {} restarts on the way, in the scale of the result:\n", holdout,
             protects == releases::Unit::Person ? "person" : "record", deployment.job().cohort.size(), restarts);
  const std::vector<std::string_view> names = deployment.job().model->metric_names();
  for (std::size_t m = 0; m < names.size() && m < plain.values.size(); ++m) {
    if (!last.contains(names[m])) continue;
    fmt::print("  {:<16} {:.4g} with privacy (epsilon {:.3g} at most for a {}), {:.4g} without noise and clip\n",
               names[m], last.at(std::string(names[m])).get<double>(), epsilon, unit, plain.values[m]);
  }
  if (last.contains("majority_class_accuracy"))
    fmt::print("  {:<16} {:.4g}\n", "majority class", last.at("majority_class_accuracy").get<double>());
  for (const Json& verdict : result.value("verdicts", Json::array())) fmt::print("  {}\n", verdict.get<std::string>());
  if (result.contains("statistics")) fmt::print("\n{}", statistic_lines(result.at("statistics")));
  fmt::print(
      "\n{} What a job's file says of parameters is not private and not charged: if they were chosen by looking "
      "at the data, that is not covered.\nResults: {}\n",
      all_public ? "The holdouts are declared public."
                 : "Holdouts that are not declared public are noised and charged.",
      deployment.results().string());
  if (!sound) return Error{ErrorCode::LedgerCorrupt, "a ledger does not verify"};
  return {};
}

}  // namespace

namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

/// Keeps coordinator and silos running until a signal asks for their end.
Status serve(const Deployment& deployment, Supervisor& supervisor) {
  constexpr std::chrono::hours kServedMax{24 * 365};
  const std::string folder = deployment.folder().string();
  fmt::print(
      "They serve until Ctrl-C. An operator's commands find the coordinator by {0}/operator.json:\n"
      "  undertone submit --config {0}/operator.json {0}/job.json\n"
      "  undertone watch --config {0}/operator.json {1}\n"
      "The coordinator's page is {2}. It asks for the token in {3}. Your browser warns of its certificate once, which "
      "is of this federation's own authority.\n",
      folder, deployment.job().name, deployment.console(), deployment.console_token().string());
  std::fflush(stdout);
  const Result<int> ended = supervisor.supervise("nobody", kServedMax, [] { return asked_to_stop != 0; });
  supervisor.stop_all();
  if (!ended) return ended.error();
  return {};
}

}  // namespace

Status run_demo(const DeploymentOptions& options) {
  if (options.drive == DeploymentOptions::Drive::Nobody) {  // before anything is started that would be left behind
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, [](int) { asked_to_stop = 1; });
  }
  UNDERTONE_TRY(const Deployment deployment, Deployment::prepare(options));
  fmt::print(
      "One coordinator, {} silos, TLS 1.3 both ways; every silo clips, adds its own noise and charges its own "
      "ledger.\n",
      deployment.job().cohort.size());
  std::fflush(stdout);
  Supervisor supervisor(deployment.pids());
  if (Status started = deployment.start(supervisor); !started) return started;
  if (options.drive == DeploymentOptions::Drive::Nobody) return serve(deployment, supervisor);
  const Result<int> code = supervisor.supervise("coordinator", kTimeMax);
  supervisor.stop_all();
  if (!code) return code.error();
  if (*code != 0)
    return Error{ErrorCode::QuorumMissed, fmt::format("the run failed; see {}", (options.folder / "logs").string())};
  return report(deployment, options.job, supervisor.restarts());
}

}  // namespace undertone::operators
