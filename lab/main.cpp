#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lab/demo.hpp"
#include "lab/ledger_verify.hpp"
#include "lab/simulate.hpp"
#include "shared/base/log.hpp"

namespace undertone::lab {
namespace {

enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kRefused = 3 };

int fail(const Error& error) {
  fmt::print(stderr, "undertone: {}\n", error.message);
  return error.code == ErrorCode::QuorumMissed ? kFailed : kRefused;
}

struct SimulateArguments {
  std::string job;
  std::string out;
  std::uint64_t seed = 0;
  std::vector<std::string> set;
  std::string nonce;
  std::string noise = "seeded";
};

int run_simulate(const SimulateArguments& arguments) {
  SimulateOptions options;
  options.job = arguments.job;
  options.seed = arguments.seed;
  options.set = arguments.set;
  options.noise = arguments.noise == "none" ? SimulatedNoise::None : SimulatedNoise::Seeded;
  if (!arguments.nonce.empty()) {
    const Result<std::string> bytes = from_hex(arguments.nonce);
    if (!bytes || bytes->size() != Nonce().size())
      return fail({ErrorCode::InvalidArgument, "--nonce: expected 32 hexadecimal digits"});
    options.nonce.emplace();
    std::copy(bytes->begin(), bytes->end(), options.nonce->begin());
  }
  const Result<algorithms::Outcome> outcome =
      simulate(options, arguments.out, [](const coordinator::RunMachine::Action& action) {
        const auto* closed = std::get_if<coordinator::RunMachine::RoundClosed>(&action);
        if (closed == nullptr || !closed->metrics) return;
        std::string line = fmt::format("round {:>4}/{}  after {} steps", closed->round.value + 1, closed->rounds,
                                       closed->metrics->steps);
        for (const double value : closed->metrics->values) line += fmt::format("  {:.4f}", value);
        fmt::print("{}\n", line);
      });
  if (!outcome) return fail(outcome.error());
  fmt::print("result {}\n", (std::filesystem::path(arguments.out) / "result.json").string());
  return kDone;
}

struct VerifyArguments {
  std::string ledger;
  std::string head;
  std::string dataset;
  std::string public_key;
  bool json = false;
};

int run_verify(const VerifyArguments& arguments) {
  LedgerExpectations expectations;
  if (!arguments.head.empty()) expectations.head = arguments.head;
  if (!arguments.dataset.empty()) expectations.dataset = arguments.dataset;
  if (!arguments.public_key.empty()) expectations.public_key = arguments.public_key;
  const LedgerFindings findings = verify_ledger(arguments.ledger, expectations);
  if (arguments.json) {
    nlohmann::ordered_json out = {{"sound", findings.problems.empty()},
                                  {"problems", findings.problems},
                                  {"dataset", findings.dataset},
                                  {"noise", findings.noise},
                                  {"public_key", findings.public_key},
                                  {"ledger", findings.ledger},
                                  {"entries", findings.entries},
                                  {"head", findings.head_hash},
                                  {"epsilon", findings.epsilon},
                                  {"delta", findings.delta},
                                  {"epsilon_units", findings.epsilon_units},
                                  {"delta_units", findings.delta_units}};
    out["runs"] = nlohmann::ordered_json::array();
    for (const RunFindings& run : findings.runs) {
      out["runs"].push_back({{"run", run.run},
                             {"state", run.state},
                             {"epsilon", run.epsilon_reserved},
                             {"delta", run.delta_reserved},
                             {"epsilon_odometer", run.epsilon_spent},
                             {"releases", run.releases}});
    }
    fmt::print("{}\n", out.dump(2));
  } else {
    for (const std::string& problem : findings.problems) fmt::print("{}: {}\n", arguments.ledger, problem);
    fmt::print("data set \"{}\": {} entries, {} noise, epsilon {:.6f} and delta {:.3g} reserved: {}\n",
               findings.dataset, findings.entries, findings.noise, findings.epsilon, findings.delta,
               findings.problems.empty() ? "sound" : "REFUSED");
    for (const RunFindings& run : findings.runs) {
      fmt::print("  run {} {}: epsilon {:.6f}, delta {:.3g} reserved, odometer {:.6f} for {} releases\n",
                 run.run.substr(0, 16), run.state, run.epsilon_reserved, run.delta_reserved, run.epsilon_spent,
                 run.releases);
    }
  }
  return findings.problems.empty() ? kDone : kRefused;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Undertone's command for operators and researchers.\n"
      "Exit codes: 0 done, 1 the run failed, 2 usage, 3 refused: bad input, or a ledger that does not verify."};
  app.require_subcommand(1);

  SimulateArguments simulated;
  CLI::App* simulate_command =
      app.add_subcommand("simulate", "Run a job in this process, with seeded noise: fast, reproducible, not private");
  simulate_command->add_option("job", simulated.job, "the job's file; its simulation section says where the data are")
      ->required();
  simulate_command->add_option("--out", simulated.out, "folder for result.json and model.json")->required();
  simulate_command->add_option("--seed", simulated.seed, "of noise and sampling")->capture_default_str();
  simulate_command->add_option("--set", simulated.set,
                               "replace a value of the job: /json/pointer=value; may be repeated");
  simulate_command->add_option("--nonce", simulated.nonce,
                               "the run's nonce, 32 hexadecimal digits; drawn from the seed if not given");
  simulate_command->add_option("--noise", simulated.noise, "seeded, or none for a baseline")
      ->check(CLI::IsMember({"seeded", "none"}))
      ->capture_default_str();

  std::string partition_job;
  std::string partition_out;
  CLI::App* partition_command =
      app.add_subcommand("partition", "Deal a job's simulation data to its silos: one CSV file each");
  partition_command->add_option("job", partition_job, "the job's file")->required();
  partition_command->add_option("--out", partition_out, "folder for SILO.csv")->required();

  VerifyArguments verified;
  CLI::App* ledger_command = app.add_subcommand("ledger", "Silos' ledgers");
  ledger_command->require_subcommand(1);
  CLI::App* verify_command =
      ledger_command->add_subcommand("verify", "Recompute a ledger with code that shares nothing with the silo's");
  verify_command->add_option("ledger", verified.ledger, "the ledger's file")->required();
  verify_command->add_option("--head", verified.head, "the head file that lives outside the ledger");
  verify_command->add_option("--dataset", verified.dataset, "the data set whose ledger this must be");
  verify_command->add_option("--public-key", verified.public_key, "the ledger's public key, hexadecimal");
  verify_command->add_flag("--json", verified.json, "print JSON");

  DeploymentOptions demo;
  CLI::App* demo_command = app.add_subcommand("demo", "A whole federation on this machine, as processes over TLS");
  demo_command->add_option("job", demo.job, "the job's file")->required();
  demo_command->add_option("--dir", demo.folder, "folder to make, for data, keys, ledgers and results")->required();
  demo_command->add_option("--programs", demo.programs, "the build folder that holds coordinator/ and silo/")
      ->required();
  demo_command->add_option("--make-certificates", demo.make_certificates, "scripts/make-certificates")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  if (simulate_command->parsed()) return run_simulate(simulated);
  if (partition_command->parsed()) {
    const auto files = partition(partition_job, partition_out);
    if (!files) return fail(files.error());
    for (const std::filesystem::path& file : *files) fmt::print("{}\n", file.string());
    return kDone;
  }
  if (verify_command->parsed()) return run_verify(verified);
  const Status done = run_demo(demo);
  return done ? kDone : fail(done.error());
}

}  // namespace
}  // namespace undertone::lab

int main(int argc, char** argv) {
  try {
    return undertone::lab::run(argc, argv);
  } catch (const std::exception& exception) {
    fmt::print(stderr, "undertone: {}\n", exception.what());
    return 3;
  }
}
