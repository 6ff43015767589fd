#include "silo/host/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "shared/base/log.hpp"

namespace undertone::silo {

int silo_main(int argc, char** argv, const char* program, privacy::NoiseKind noise,
              const MakeRandomness& make_randomness) {
  CLI::App app{
      "An institution's agent: answers planned questions about its records, clipped, noised and charged to its own "
      "ledger.\n"
      "Exit codes: 0 told to stop, 2 usage, 3 it could not start, 5 halted: a person must look at the ledger.",
      program};
  app.require_subcommand(1);
  std::string config;
  CLI::App* run = app.add_subcommand("run", "Connect to the coordinator and serve until SIGTERM");
  CLI::App* amend =
      app.add_subcommand("amend", "Accept the data set's present content for its ledger; all spending is carried over");
  bool publish_holdout = false;
  amend->add_flag(
      "--publish-holdout", publish_holdout,
      "the owner declares the records of the present holdout public: they are evaluated exactly from now on");
  for (CLI::App* command : {run, amend})
    command->add_option("--config", config, "the silo's configuration (docs/configuration.md)")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kStopped : kUsage;
  }
  try {
    start_log("silo");
    return amend->parsed() ? amend_dataset(config, noise, publish_holdout) : run_agent(config, make_randomness);
  } catch (const std::exception& exception) {
    fmt::print(stderr, "{}: {}\n", program, exception.what());
    return kCannotStart;
  }
}

}  // namespace undertone::silo
