#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "coordinator/host/coordinator_config.hpp"
#include "lab/account/account_command.hpp"
#include "lab/sweep/sweep_plan.hpp"
#include "operator/operator_config.hpp"
#include "operator/provision.hpp"
#include "shared/config/document_schema.hpp"
#include "shared/jobs/job.hpp"
#include "shuffler/host/shuffler_config.hpp"
#include "silo/owner/silo_config.hpp"

/// Prints docs/configuration.md and writes docs/schemas from what the parsers ask for, so that they cannot drift from
/// them.
namespace undertone {
namespace {

/// A kind of file that people write.
struct File {
  const char* name;  // of its schema
  const char* title;
  const char* about;  // for the schema
  const char* introduction;
  std::function<void(const nlohmann::json&, config::Problems&)> parse;

  [[nodiscard]] std::string heading() const { return fmt::format("{} (`undertone.{}/1`)", title, name); }
  void run(config::Problems& problems) const { parse(nlohmann::json::object(), problems); }
};

std::vector<File> files() {
  using Json = nlohmann::json;
  using config::Problems;
  return {
      {"job", "Job", "What is computed, by whom, and what it is promised to cost.",
       "Its exact bytes are its identity: every message names their SHA-256. Everything in it is public. At "
       "most 1 MiB.\n"
       "A feature has either `categories` or `min` and `max`; a label either `negative` and `positive` or `min` "
       "and `max`.",
       [](const Json& root, Problems& p) { (void)jobs::read_job(root, p); }},
      {"coordinator", "Coordinator", "For undertone-coordinator serve and run.",
       "For `undertone-coordinator serve` and `run`.",
       [](const Json& root, Problems& p) { (void)coordinator::parse_coordinator_config(root, "", p); }},
      {"shuffler", "Shuffler", "For every command of undertone-shuffler.", "For every command of `undertone-shuffler`.",
       [](const Json& root, Problems& p) { (void)shuffler::parse_shuffler_config(root, "", p); }},
      {"silo", "Silo", "For every command of undertone-silo: its data sets, its policy and where it dials.",
       "For every command of `undertone-silo`. A single data set may also stand as `dataset` with `ledger` "
       "beside it, as\n"
       "in version 0.1. A ledger takes at most 10,000 jobs, 64 of them open at a time.",
       [](const Json& root, Problems& p) { (void)silo::parse_silo_config(root, "", p); }},
      {"operator", "Operator", "For the operator's verbs of undertone.",
       "For the operator's verbs of `undertone`: `--config`, `$UNDERTONE_OPERATOR` or `operator.json`.",
       [](const Json& root, Problems& p) { (void)operators::parse_operator_config(root, "", p); }},
      {"consortium", "Consortium", "For undertone provision.", "For `undertone provision`.",
       [](const Json& root, Problems& p) { (void)operators::parse_consortium(root, p); }},
      {"sweep", "Sweep", "For undertone sweep: a job of which some values are varied.",
       "For `undertone sweep`: a job of which some values are varied.",
       [](const Json& root, Problems& p) { (void)lab::parse_sweep(root, "", p); }},
      {"account", "Account", "For undertone account --file: releases to compose.",
       "For `undertone account --file`: releases to compose.",
       [](const Json& root, Problems& p) { (void)lab::parse_mechanisms(root, p); }},
  };
}

void print_table(const File& file) {
  fmt::print("\n## {}\n\n{}\n\n| key | expected | meaning |\n| --- | --- | --- |\n", file.heading(), file.introduction);
  config::Problems keys = config::Problems::recording();
  file.run(keys);
  std::set<std::string> printed;  // methods that are written alike are read one after the other
  for (const config::ConfigKey& key : keys.keys()) {
    if (!printed.insert(fmt::format("{}\n{}\n{}", key.pointer, key.expected, key.about)).second) continue;
    std::string pointer = key.pointer.substr(1);
    for (char& c : pointer) {
      if (c == '/') c = '.';
    }
    std::string about = key.about;
    for (std::size_t at = 0; (at = about.find('|', at)) != std::string::npos; at += 2) about.insert(at, 1, '\\');
    fmt::print("| `{}`{} | {} | {} |\n", pointer, key.optional ? " (optional)" : "", key.expected, about);
  }
}

void print_reference() {
  fmt::print(
      "# Configuration\n\nMade from the parsers: `scripts/docs` writes this page, a test compares it.\n\n"
      "JSON files. Unknown keys are errors, so are two equal keys; every problem is reported at once with file and "
      "JSON\n"
      "pointer. Worked examples: `configs/`. Relative paths start from the file's folder. `*` stands for each entry of "
      "an\n"
      "array.\n\n"
      "The same as JSON Schemas (draft 2020-12): [schemas](schemas), or `undertone schema job`, and so on. Give one to "
      "an\n"
      "editor, and it completes keys, shows what they mean and marks what is wrong while you type: in Visual Studio "
      "Code,\n"
      "`\"json.schemas\": [{{\"fileMatch\": [\"job*.json\"], \"url\": \"./docs/schemas/job.json\"}}]` in "
      "`settings.json`. They leave\n"
      "out what is said of several values together (a quorum above the cohort): `undertone validate` and each "
      "program's\n"
      "start say that.\n");
  for (const File& file : files()) print_table(file);
}

/// @return whether all were written
bool write_schemas(const std::filesystem::path& folder) {
  for (const File& file : files()) {
    const config::DocumentSchema schema = config::document_schema([&](config::Problems& p) { file.run(p); },
                                                                  fmt::format("undertone.{}/1", file.name), file.about);
    std::ofstream out(folder / fmt::format("{}.json", file.name));
    out << schema.root.dump(1) << '\n';
    if (!out.flush()) return false;
  }
  return true;
}

}  // namespace
}  // namespace undertone

/// Prints the reference, or with a folder writes the schemas there.
int main(int argc, char** argv) {
  if (argc == 2) return undertone::write_schemas(argv[1]) ? 0 : 1;
  undertone::print_reference();
  return 0;
}
