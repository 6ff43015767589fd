#include <cstdio>

#include "coordinator/host/coordinator_config.hpp"
#include "operator/operator_config.hpp"
#include "operator/provision.hpp"
#include "shared/jobs/job.hpp"
#include "shuffler/host/shuffler_config.hpp"
#include "silo/owner/silo_config.hpp"

/// Prints docs/configuration.md from what the parsers ask for, so that the page cannot drift from them.
namespace undertone {
namespace {

void print_table(const char* title, const char* introduction, const config::Problems& keys) {
  fmt::print("\n## {}\n\n{}\n\n| key | expected | meaning |\n| --- | --- | --- |\n", title, introduction);
  for (const config::ConfigKey& key : keys.keys()) {
    std::string pointer = key.pointer.substr(1);
    for (char& c : pointer) {
      if (c == '/') c = '.';
    }
    std::string about = key.about;
    for (std::size_t at = 0; (at = about.find('|', at)) != std::string::npos; at += 2) about.insert(at, 1, '\\');
    fmt::print("| `{}`{} | {} | {} |\n", pointer, key.optional ? " (optional)" : "", key.expected, about);
  }
}

template <class Parse>
config::Problems recorded(Parse parse) {
  config::Problems problems = config::Problems::recording();
  (void)parse(problems);
  return problems;
}

}  // namespace
}  // namespace undertone

int main() {
  using namespace undertone;
  const nlohmann::json nothing = nlohmann::json::object();
  fmt::print(
      "# Configuration\n\nMade from the parsers: `scripts/docs` writes this page, a test compares it.\n\n"
      "JSON files. Unknown keys are errors, so are two equal keys; every problem is reported at once with file and "
      "JSON\n"
      "pointer. Worked examples: `configs/`. Relative paths start from the file's folder. `*` stands for each entry of "
      "an\n"
      "array.\n");
  print_table("Job (`undertone.job/1`)",
              "Its exact bytes are its identity: every message names their SHA-256. Everything in it is public. At "
              "most 1 MiB.\n"
              "A feature has either `categories` or `min` and `max`; a label either `negative` and `positive` or `min` "
              "and `max`.",
              recorded([&](config::Problems& p) { return jobs::parse_job(nothing, p); }));
  print_table("Coordinator (`undertone.coordinator/1`)", "For `undertone-coordinator serve` and `run`.",
              recorded([&](config::Problems& p) { return coordinator::parse_coordinator_config(nothing, "", p); }));
  print_table("Shuffler (`undertone.shuffler/1`)", "For every command of `undertone-shuffler`.",
              recorded([&](config::Problems& p) { return shuffler::parse_shuffler_config(nothing, "", p); }));
  print_table("Silo (`undertone.silo/1`)",
              "For every command of `undertone-silo`. A single data set may also stand as `dataset` with `ledger` "
              "beside it, as\n"
              "in version 0.1. A ledger takes at most 10,000 jobs, 64 of them open at a time.",
              recorded([&](config::Problems& p) { return silo::parse_silo_config(nothing, "", p); }));
  print_table("Operator (`undertone.operator/1`)",
              "For the operator's verbs of `undertone`: `--config`, `$UNDERTONE_OPERATOR` or `operator.json`.",
              recorded([&](config::Problems& p) { return operators::parse_operator_config(nothing, "", p); }));
  print_table("Consortium (`undertone.consortium/1`)", "For `undertone provision`.",
              recorded([&](config::Problems& p) { return operators::parse_consortium(nothing, p); }));
  return 0;
}
