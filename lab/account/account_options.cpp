#include "lab/account/account_options.hpp"

#include <CLI/CLI.hpp>

namespace undertone::lab {

CLI::App* add_account_command(CLI::App& app, AccountRequest& request) {
  CLI::App* command = app.add_subcommand(
      "account", "What releases cost: epsilon by every accountant, or the smallest sigma for a target");
  MechanismText& text = request.mechanism;
  const auto number = [&](const char* name, std::optional<double>& value, const char* about) {
    command->add_option(name, value, about);
  };
  command
      ->add_option_function<std::string>(
          "mechanism",
          [&request](const std::string& name) {
            const Result<MechanismKind> kind = parse_mechanism(name);
            if (name == "shuffled") {
              request.shuffled = true;
            } else if (name == "person") {
              request.person = true;
            } else if (name == "allocation") {
              request.allocation = true;
            } else if (kind) {
              request.mechanism.kind = *kind;
            } else if (name.find('.') != std::string::npos) {
              request.file = name;
            } else {
              throw CLI::ValidationError("mechanism", kind.error().message + ", or a .json file of several");
            }
          },
          "gaussian, discrete-gaussian, laplace, exponential, randomised-response, approximate, generalised-gaussian, "
          "zcdp; shuffled: one round of silos' replies through a shuffler; allocation: every record in one secret "
          "part, "
          "beside other draws; person: what runs of a ledger promise somebody with several records; or a file of "
          "mechanisms to compose")
      ->required();
  number("--delta", request.delta, "of the whole; not needed where every release is pure");
  number("--epsilon", request.target_epsilon, "a target for the whole: prints the smallest sigma instead");
  number("--rho", request.target_rho, "a zCDP target for the whole: prints the smallest sigma instead");
  number("--sigma", text.sigma, "noise standard deviation, in the unit of the sensitivity");
  number("--scale", text.scale, "of Laplace or generalised Gaussian noise");
  number("--sensitivity", text.sensitivity, "l2 (Laplace: l1) change of the release under the adjacency");
  number("--clip", text.clip, "instead of the sensitivity: the norm a record is clipped to (replace-one: twice it)");
  number("--epsilon-each", text.epsilon, "of one exponential, randomised-response or approximate release");
  number("--delta-each", text.delta, "of one approximate release");
  number("--rho-each", text.rho, "of one zcdp release");
  command->add_option("--norm", text.norm, "p of a generalised Gaussian")->capture_default_str();
  command
      ->add_option(
          "--sampling", text.sampling,
          "none, wor:RATE or wor:K/N (fixed size), known:K/N (the same, known to everybody), wr:K/N, poisson:RATE")
      ->capture_default_str();
  command->add_option("--steps", text.steps, "how many such releases")->capture_default_str();
  command->add_option("--silos", request.silos, "shuffled: how many replies are shuffled");
  command->add_option("--records", request.records, "shuffled: records of the smallest silo; allocation: of the silo");
  command->add_option("--ledger", request.ledger, "person: a silo's ledger, as a copy or where it is");
  command->add_option("--run", request.run, "person: the beginning of a run's id in the ledger (default: every run)");
  command->add_option("--of-person", request.of_person, "person: how many records somebody has (default 2 5 10 20)")
      ->check(CLI::Range(1, 10'000));
  command->add_option("--parts", request.parts, "allocation: parts of a pass");
  command->add_option("--epochs", request.epochs, "allocation: passes, each with parts drawn afresh")
      ->capture_default_str();
  command->add_option("--adjacency", request.adjacency, "replace-one or add-remove")->capture_default_str();
  command->add_option("--method", request.method, "with --epsilon: numeric, analytic, classical, zcdp or rdp")
      ->capture_default_str();
  command->add_flag("--json", request.json, "print JSON");
  return command;
}

}  // namespace undertone::lab
