#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

#include "lab/account/account_options.hpp"
#include "lab/audit/audit_command.hpp"
#include "lab/draft/draft_command.hpp"
#include "lab/examples.hpp"
#include "lab/report/report_command.hpp"
#include "lab/reproduce/reproduce_command.hpp"
#include "lab/sweep/sweep_command.hpp"
#include "operator/advise_command.hpp"
#include "operator/components_command.hpp"
#include "operator/demo.hpp"
#include "operator/moment_bound_command.hpp"
#include "operator/operator_commands.hpp"
#include "operator/predict_command.hpp"
#include "operator/provision.hpp"
#include "operator/query_command.hpp"
#include "operator/regression_model_command.hpp"
#include "operator/schema_command.hpp"
#include "operator/standardisation_command.hpp"
#include "operator/statistic_lines.hpp"
#include "operator/warm_start_command.hpp"
#include "shared/base/files.hpp"
#include "shared/base/process_protection.hpp"
#include "shared/certificates/start_up_kit.hpp"
#include "shared/jobs/metric_values.hpp"
#include "shared/preview/job_preview.hpp"
#include "shared/service/clock.hpp"
#include "shared/service/exit_code.hpp"
#include "shared/service/help_texts.hpp"
#include "shared/service/program.hpp"
#include "shared/service/suggestion.hpp"
#include "simulation/dealt_data.hpp"
#include "simulation/simulate.hpp"
#include "simulation/table_partition.hpp"
#include "verifier/evidence_pack.hpp"
#include "verifier/findings_json.hpp"
#include "verifier/verification.hpp"

namespace undertone::lab {
namespace {

struct SimulateArguments {
  std::string job;
  std::string out;
  std::uint64_t seed = 0;
  std::vector<std::string> set;
  std::string nonce;
  std::string noise = "seeded";
  bool direct = false;
  std::size_t answering = 0;
  std::size_t threads = 0;
};

int run_simulate(const SimulateArguments& arguments) {
  simulation::SimulateOptions options;
  options.job = arguments.job;
  options.seed = arguments.seed;
  options.set = arguments.set;
  options.noise = arguments.noise == "none" ? simulation::SimulatedNoise::None : simulation::SimulatedNoise::Seeded;
  options.direct = arguments.direct;
  options.answering = arguments.answering;
  options.threads = arguments.threads != 0 ? arguments.threads : std::max(1U, std::thread::hardware_concurrency());
  if (!options.direct && (arguments.answering != 0 || arguments.threads != 0))
    return service::fail({ErrorCode::InvalidArgument, "--answering and --threads: only with --direct"});
  if (!arguments.nonce.empty()) {
    const Result<std::string> bytes = from_hex(arguments.nonce);
    if (!bytes || bytes->size() != Nonce().size())
      return service::fail({ErrorCode::InvalidArgument, "--nonce: expected 32 hexadecimal digits"});
    options.nonce.emplace();
    std::copy(bytes->begin(), bytes->end(), options.nonce->begin());
  }
  std::vector<std::string> verdicts;
  const Result<algorithms::Outcome> outcome =
      simulation::simulate(options, arguments.out, [&](const simulation::SimulatedRound& over, const jobs::Job& job) {
        if (!over.metrics) return;
        verdicts = jobs::verdicts(job, *over.metrics);
        fmt::print("round {:>4}/{}  after {} steps{}\n", over.round.value + 1, over.rounds, over.metrics->steps,
                   jobs::shown_values(jobs::metric_values(job, *over.metrics)));
      });
  if (!outcome) return service::fail(outcome.error());
  for (const std::string& verdict : verdicts) fmt::print("{}\n", verdict);
  const std::filesystem::path result = std::filesystem::path(arguments.out) / "result.json";
  if (!outcome->statistics.empty() || outcome->regression) {
    const Result<std::string> written = read_file(result, operators::kResultBytesMax);
    if (!written) return service::fail(written.error());
    fmt::print("{}", operators::statistic_lines(nlohmann::ordered_json::parse(*written).at("statistics")));
    if (options.noise == simulation::SimulatedNoise::None)
      fmt::print(
          "WARNING: no noise was drawn, and estimates still subtract what the planned noise would add: variances, what "
          "is made of them, and linear models of reports are no baseline\n");
  }
  fmt::print("result {}\n", result.string());
  if (simulation::shares_records(std::filesystem::path(arguments.out) / "job.json"))
    fmt::print("{}\n", jobs::kSharedRecords);
  return service::kDone;
}

struct VerifyArguments {
  std::string ledger;
  std::string head;
  std::string dataset;
  std::string public_key;
  bool json = false;
};

/// A pack of evidence, with the ledgers that it holds.
int run_verify_pack(const VerifyArguments& arguments) {
  std::string folder = (std::filesystem::temp_directory_path() / "undertone-verify-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    return service::fail({ErrorCode::StorageFailed, "no folder can be made for the ledgers"});
  const verifier::PackFindings findings = verifier::verify_pack(arguments.ledger, folder, arguments.public_key);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (arguments.json) {
    nlohmann::ordered_json ledgers = nlohmann::ordered_json::array();
    for (const verifier::PackedLedger& one : findings.ledgers) {
      ledgers.push_back(verifier::to_json(one.findings));
      ledgers.back()["signs_the_pack"] = one.is_signed;
    }
    fmt::print("{}\n", nlohmann::ordered_json{{"sound", findings.problems.empty()},
                                              {"problems", findings.problems},
                                              {"silo", findings.silo},
                                              {"made_at", findings.made_at},
                                              {"files", findings.files},
                                              {"ledgers", std::move(ledgers)}}
                           .dump(2));
  } else {
    for (const std::string& problem : findings.problems) fmt::print("{}: {}\n", arguments.ledger, problem);
    for (const verifier::PackedLedger& one : findings.ledgers)
      fmt::print("data set \"{}\": {} entries, epsilon {:.6f} and delta {:.3g} reserved, public key {}\n", one.dataset,
                 one.findings.entries, one.findings.epsilon, one.findings.delta, one.findings.public_key);
    fmt::print("evidence of {}, made at {}, {} files: {}\n", findings.silo, findings.made_at, findings.files,
               findings.problems.empty() ? "sound" : "REFUSED");
  }
  return findings.problems.empty() ? service::kDone : service::kRefused;
}

int run_verify(const VerifyArguments& arguments) {
  if (verifier::is_pack(arguments.ledger)) return run_verify_pack(arguments);
  verifier::LedgerExpectations expectations;
  if (!arguments.head.empty()) expectations.head = arguments.head;
  if (!arguments.dataset.empty()) expectations.dataset = arguments.dataset;
  if (!arguments.public_key.empty()) expectations.public_key = arguments.public_key;
  const verifier::LedgerFindings findings = verifier::verify_ledger(arguments.ledger, expectations);
  if (arguments.json) {
    fmt::print("{}\n", verifier::to_json(findings).dump(2));
  } else {
    for (const std::string& problem : findings.problems) fmt::print("{}: {}\n", arguments.ledger, problem);
    fmt::print("data set \"{}\": {} entries, {} noise, epsilon {:.6f} and delta {:.3g} reserved{}: {}\n",
               findings.dataset, findings.entries, findings.noise, findings.epsilon, findings.delta,
               findings.unit.empty() ? "" : fmt::format(" for each {}", findings.unit),
               findings.problems.empty() ? "sound" : "REFUSED");
    for (const verifier::RunFindings& run : findings.runs) {
      fmt::print("  run {} {}: epsilon {:.6f}, delta {:.3g} reserved, odometer {:.6f} for {} releases\n",
                 run.run.substr(0, 16), run.state, run.epsilon_reserved, run.delta_reserved, run.epsilon_spent,
                 run.releases);
    }
  }
  return findings.problems.empty() ? service::kDone : service::kRefused;
}

int run_provision(const std::string& consortium, const std::string& out, bool with_keys) {
  const auto kits = operators::provision(consortium, out, with_keys);
  if (!kits) return service::fail(kits.error());
  for (const std::filesystem::path& kit : *kits) fmt::print("{}\n", kit.string());
  fmt::print(
      fmt::runtime(with_keys
                       ? "Every key was made here: for tests alone.\n"
                       : "Give each party its kit. Each makes its key with `init` and sends a request; sign it with\n"
                         "  undertone provision sign --authority {0}/authority REQUEST\n"
                         "once you know by telephone that its key's digest is the party's.\n"
                         "Keep {0}/authority where nobody else reads it, and a copy of it.\n"),
      out);
  return service::kDone;
}

/// Has a person compare the digest of a request's key with what the party reads out.
Status ask_about_key(const certificates::Authority::RequestFacts& asked) {
  if (isatty(STDIN_FILENO) == 0) {
    return Error{ErrorCode::InvalidArgument,
                 "nothing was signed: not a terminal, and no --key-sha256: have the party read out the digest of its "
                 "key, which `init` printed, by another way than the request came, and give it"};
  }
  fmt::print(stderr,
             "the request is for the {}; the digest of its key is\n  {}\n"
             "Is that what the party reads out to you, by telephone and not by mail? [y/N] ",
             describe(asked.party), asked.key_sha256);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return {};
  return Error{ErrorCode::InvalidArgument, "nothing was signed"};
}

int run_sign(const std::string& authority, const std::string& request, const std::string& key_sha256,
             const std::string& out) {
  const Result<operators::Signed> done = operators::sign_request(
      authority, request,
      key_sha256.empty() ? operators::ConfirmKey(ask_about_key) : operators::key_has_digest(key_sha256));
  if (!done) return service::fail(done.error());
  fmt::print(stderr, "signed for the {}, valid until {}\nits key's digest: {}\n", describe(done->party),
             service::utc_minute(done->not_after), done->key_sha256);
  if (done->still_valid > 0) {
    fmt::print(stderr,
               "this renews: {} earlier certificate(s) stay valid until they end; `provision revoke` ends all "
               "of a party's certificates, this one too\n",
               done->still_valid);
  }
  if (out.empty() || out == "-") {
    fmt::print("{}", done->certificate);
    return service::kDone;
  }
  const Status written = write_file_atomically(out, done->certificate);
  return written ? static_cast<int>(service::kDone) : service::fail(written.error());
}

int run_revoke(const std::string& authority, const std::string& role_name, const std::string& name) {
  const Result<certificates::Role> role = certificates::parse_role(role_name);
  if (!role) return service::fail(role.error());
  const Result<std::size_t> revoked = operators::revoke_party(authority, *role, name);
  if (!revoked) return service::fail(revoked.error());
  fmt::print(
      "{} certificate(s) of the {} {} revoked. Give every party the new list, {}/revoked.crl: running programs take "
      "it up by themselves.\n",
      *revoked, role_name, name, authority);
  return service::kDone;
}

int run_issued(const std::string& folder) {
  const Result<certificates::Authority> authority = certificates::Authority::open(folder);
  if (!authority) return service::fail(authority.error());
  const std::time_t now = service::wall_clock();
  for (const certificates::Issued& issued : authority->issued()) {
    const char* state = issued.revoked != 0                                          ? "revoked"
                        : issued.facts.not_after < now                               ? "expired"
                        : issued.facts.not_after - now < std::time_t{30} * 24 * 3600 ? "expires soon"
                                                                                     : "valid";
    fmt::print("{:12} {:20} {:12} until {}  serial {}\n", to_string(issued.facts.party.role), issued.facts.party.name,
               state, service::utc_minute(issued.facts.not_after), issued.facts.serial);
  }
  return service::kDone;
}

/// Where the operator's configuration is looked for.
std::string default_operator_config() {
  const char* named = std::getenv("UNDERTONE_OPERATOR");
  return named == nullptr ? "operator.json" : named;
}

/// The commands of a program, and what each does once everything is parsed.
using Actions = std::map<const CLI::App*, std::function<int()>>;

CLI::App* add(CLI::App& parent, Actions& actions, const char* name, const char* about, std::function<int()> action) {
  CLI::App* command = parent.add_subcommand(name, about);
  actions[command] = std::move(action);
  return command;
}

struct OperatorArguments {
  operators::OperatorOptions options;
  std::string config = default_operator_config();
  std::string job;
  std::string kind;  // of a file
  std::string out;
  std::string model;
  std::string csv;
  data::DialectOptions dialect;  // of csv
  std::string id;                // a column of csv
  std::vector<std::string> runs;
  std::vector<std::filesystem::path> files;
  std::int64_t count = 0;
  bool again = false;
  bool full = false;
  operators::ResultQuery query;
  std::string ready;
  double order = 2.0;  // of a moment
  bool fit_steps = false;
};

void add_operator_commands(CLI::App& app, Actions& actions, OperatorArguments& arguments) {
  const auto online = [&](const char* name, const char* about, std::function<int()> action) {
    CLI::App* command = add(app, actions, name, about, [&arguments, action = std::move(action)] {
      arguments.options.config = arguments.config;
      return action();
    });
    command->add_option("--config", arguments.config, "how the coordinator is reached, or $UNDERTONE_OPERATOR")
        ->capture_default_str();
    command->add_flag("--json", arguments.options.json, "print JSON");
    return command;
  };
  const auto takes_run = [&](CLI::App* command, bool required) {
    command->add_option("run", arguments.options.run, "the beginning of a run's id, or a job's name (its newest run)")
        ->required(required);
  };
  CLI::App* submit = online("submit", "Queue a job at the coordinator",
                            [&] { return operators::submit_job(arguments.options, arguments.job, arguments.again); });
  submit->add_option("job", arguments.job, "the job's file")->required();
  submit->add_flag("--again", arguments.again, "begin a new run even if the job has ended before");
  takes_run(
      online("status", "Runs and silos, or one run in full", [&] { return operators::show_status(arguments.options); }),
      false);
  takes_run(online("watch", "Follow a run to its end: a progress bar on a terminal, else a line for each round",
                   [&] { return operators::watch_run(arguments.options); }),
            true);
  online("sealing-key", "Have the coordinator draw a key that a shuffled job's replies are sealed to",
         [&] { return operators::make_sealing_key(arguments.options); });
  takes_run(online("cancel", "End a run; what was sent stays charged",
                   [&] { return operators::cancel_run(arguments.options); }),
            true);
  CLI::App* export_command = online("export", "Write a run's job, result, model and rounds into a folder",
                                    [&] { return operators::export_run(arguments.options, arguments.out); });
  takes_run(export_command, true);
  export_command->add_option("--out", arguments.out, "the folder")->required();
  CLI::App* complete = online("complete-runs", "Names of runs, for a shell that completes one",
                              [&] { return operators::complete_runs(arguments.options); });
  complete->group("");  // the completion script's own
  complete->add_option("run", arguments.options.run, "what was typed of it");
  CLI::App* compare = online("compare", "Runs side by side; a star marks what differs",
                             [&] { return operators::compare_runs(arguments.options, arguments.runs); });
  compare->add_option("runs", arguments.runs, "runs of the coordinator, or folders that hold a result.json")
      ->required();

  CLI::App* validate = add(app, actions, "validate", "Everything that is wrong with a job's file, at once", [&] {
    return preview::validate_job(arguments.job, arguments.options.json, arguments.full);
  });
  validate->add_flag("--full", arguments.full, "print the whole job, with what stands for what its file leaves out");
  CLI::App* advise =
      add(app, actions, "advise", "What a job's public records are good for, and whether it needs silos at all",
          [&] { return operators::advise_job(arguments.job, arguments.options.json); });
  CLI::App* plan = add(app, actions, "plan", "What each silo would release and pay, before anybody runs the job",
                       [&] { return preview::plan_job(arguments.job, arguments.options.json); });
  for (CLI::App* command : {validate, advise, plan}) {
    command->add_option("job", arguments.job, "the job's file")->required();
    command->add_flag("--json", arguments.options.json, "print JSON");
  }
  CLI::App* schema_command = add(
      app, actions, "schema", "The JSON Schema of a kind of file; with compare or merge, the schemas of several silos",
      [&] { return operators::print_schema(arguments.kind); });
  schema_command->add_option("kind", arguments.kind, "what the file is")
      ->check(CLI::IsMember(operators::schema_kinds()));
  CLI::App* compare_command = add(*schema_command, actions, "compare", "In what the schemas of several silos differ",
                                  [&] { return operators::compare_schemas(arguments.files); });
  CLI::App* merge_command =
      add(*schema_command, actions, "merge", "One schema of several: lists united, bounds widened",
          [&] { return operators::merge_schemas(arguments.files, arguments.out); });
  for (CLI::App* command : {compare_command, merge_command})
    command->add_option("files", arguments.files, "two or more schemas, drafts or jobs")->required();
  merge_command->add_option("--out", arguments.out, "a file; without it, standard output");
  CLI::App* predict_command = add(app, actions, "predict", "Predictions of a model for the records of a CSV file", [&] {
    return operators::predict({arguments.model, arguments.csv, arguments.dialect.dialect(), arguments.id, arguments.out,
                               arguments.options.json});
  });
  predict_command->add_option("model", arguments.model, "a model.json")->required();
  predict_command->add_option("csv", arguments.csv, "records; the label's column may be missing")->required();
  predict_command->add_option("--id", arguments.id, "the column that names the records, instead of their numbers");
  predict_command->add_option("--separator", arguments.dialect.separator, "between cells; a comma without it")
      ->check(CLI::IsMember(data::separator_names()));
  predict_command->add_option("--decimal", arguments.dialect.decimal, "how numbers are written; a point without it")
      ->check(CLI::IsMember({"point", "comma"}));
  predict_command->add_flag("--grouped", arguments.dialect.grouped, "digits may stand in groups of three: 12,345.6");
  predict_command
      ->add_option("--encoding", arguments.dialect.encoding, "how the file's bytes are text; UTF-8 without it")
      ->check(CLI::IsMember(data::encoding_names()));
  predict_command->add_option("--out", arguments.out, "a file; without it, standard output");
  predict_command->add_flag("--json", arguments.options.json, "print JSON");
  CLI::App* warm_start_command = add(app, actions, "warm-start", "A job that starts at a public model's weights", [&] {
    return operators::warm_start(arguments.job, arguments.model, arguments.out);
  });
  warm_start_command->add_option("job", arguments.job, "the job file")->required();
  warm_start_command->add_option("model", arguments.model, "the model.json of a run, as export writes it")->required();
  warm_start_command->add_option("--out", arguments.out, "the new job; without it, standard output");
  CLI::App* components_command =
      add(app, actions, "components", "Principal components of a model of moments, as a job's projection",
          [&] { return operators::components(arguments.model, arguments.count, arguments.out); });
  components_command->add_option("model", arguments.model, "the model.json of a job whose model is \"moments\"")
      ->required();
  components_command->add_option("--count", arguments.count, "how many of the leading ones")
      ->required()
      ->check(CLI::Range(1, 4096));
  components_command->add_option("--out", arguments.out, "a file; without it, standard output");
  CLI::App* standardisation_command =
      add(app, actions, "standardisation", "Means and variances of a run of statistics, as a job's standardisation",
          [&] { return operators::standardisation(arguments.model, arguments.job, arguments.out, arguments.ready); });
  standardisation_command
      ->add_option("result", arguments.model, "the result.json of a run with variances or covariances")
      ->required();
  standardisation_command->add_option("job", arguments.job, "the job file whose features they are")->required();
  standardisation_command->add_option("--out", arguments.out, "a file; without it, standard output");
  standardisation_command->add_option("--job", arguments.ready, "a file for the whole job with its standardisation");
  CLI::App* moment_command =
      add(app, actions, "moment-bound", "Lengths of gradients of a run of statistics, as a job's moments", [&] {
        return operators::moment_bound(arguments.model, arguments.order, arguments.job, arguments.ready,
                                       arguments.fit_steps);
      });
  moment_command->add_option("result", arguments.model, "the result.json of a run with gradient_norms")->required();
  moment_command->add_option("--order", arguments.order, "k of the moment (default 2)")->check(CLI::Range(2.0, 64.0));
  CLI::Option* moment_job =
      moment_command->add_option("--for", arguments.job, "a job file that is to have the moments");
  CLI::Option* moment_ready =
      moment_command->add_option("--job", arguments.ready, "a file for that job with its moments");
  moment_command
      ->add_flag("--fit-steps", arguments.fit_steps,
                 "its step_size is fitted to the new clip, and is short enough for every record that the schema "
                 "allows: for drafts")
      ->needs(moment_ready);
  moment_job->needs(moment_ready);
  moment_ready->needs(moment_job);
  CLI::App* regression_command =
      add(app, actions, "regression-model", "The regression of a run of statistics, as a model that predicts",
          [&] { return operators::regression_model(arguments.model, arguments.job, arguments.out); });
  regression_command->add_option("result", arguments.model, "the result.json of a run with a regression")->required();
  regression_command->add_option("job", arguments.job, "the job file that asked for it")->required();
  regression_command->add_option("--out", arguments.out, "a file; without it, standard output");
  operators::ResultQuery& query = arguments.query;
  CLI::App* query_command =
      add(app, actions, "query",
          "What a run of statistics released: functions at any point, survival at other times, rows as CSV",
          [&] { return operators::query_result(query); });
  query_command
      ->add_option(
          "result", query.result,
          "the result.json of a run with marginals, kernels, a loss or survival; with --csv of any run of statistics")
      ->required();
  query_command->add_option("--statistic", query.statistic, "its name or number, where there are several");
  query_command->add_option("--marginal", query.all, "COLUMN=VALUE,...: the share of the records with all of these");
  query_command->add_option("--any", query.any, "COLUMN=VALUE,...: the share with one of these at least");
  query_command->add_option("--kernel", query.kernel,
                            "COLUMN=NUMBER,...: the mean of a Gaussian kernel around the point");
  query_command->add_option("--width", query.width, "of the kernel, where each column is scaled to [-1, 1]")
      ->capture_default_str();
  query_command->add_option("--at", query.at, "W,...: the empirical risk at these parameters");
  query_command->add_flag("--minimum", query.minimum, "where the risk is least");
  query_command->add_option("--times", query.times, "T,...: of survival, at these edges of its grid");
  query_command->add_option("--quantiles", query.quantiles, "P,...: of survival, of the time until the event");
  query_command->add_option("--against", query.against,
                            "COLUMN=VALUE: of survival, the group that the others are compared with");
  query_command->add_option("--test", query.test, "log_rank or gehan: of survival, between the groups");
  query_command->add_option("--confidence", query.confidence,
                            "of an interval (default .95, of survival that of the run)");
  query_command->add_flag("--csv", query.csv,
                          "print a row an estimate, for a spreadsheet: those of the run, or what is asked of survival");
  query_command->add_flag("--json", query.json, "print JSON");
}

struct ProvisionArguments {
  std::string consortium;
  std::string out;
  bool with_keys = false;
  std::string authority;
  std::string request;
  std::string certificate;
  std::string key_sha256;
  std::string role;
  std::string name;
  std::string kit = ".";
  bool renew = false;
};

void add_provision_commands(CLI::App& app, Actions& actions, ProvisionArguments& arguments) {
  CLI::App* provision_command =
      app.add_subcommand("provision", "A consortium's authority, start-up kits, certificates");
  provision_command->require_subcommand(0, 1);
  actions[provision_command] = [&] {
    if (arguments.consortium.empty() || arguments.out.empty())
      return service::fail({ErrorCode::InvalidArgument, "provision: expected CONSORTIUM.json and --out, or a command"});
    return run_provision(arguments.consortium, arguments.out, arguments.with_keys);
  };
  provision_command->add_option("consortium", arguments.consortium, "the consortium's file (docs/configuration.md)");
  provision_command->add_option("--out", arguments.out, "folder for the authority and the kits");
  provision_command->add_flag("--with-keys", arguments.with_keys, "make every party's key here too: for tests");
  const auto of_authority = [&](const char* name, const char* about, std::function<int()> action) {
    CLI::App* command = add(*provision_command, actions, name, about, std::move(action));
    command->add_option("--authority", arguments.authority, "the authority's folder")->required();
    return command;
  };
  CLI::App* sign = of_authority(
      "sign", "Sign a party's request; again for a party that has a certificate: renewal",
      [&] { return run_sign(arguments.authority, arguments.request, arguments.key_sha256, arguments.certificate); });
  sign->add_option("request", arguments.request, "the request, PEM")->required();
  sign->add_option("--key-sha256", arguments.key_sha256,
                   "the digest of its key, as the party read it out; without it, a person is asked on the terminal");
  sign->add_option("--out", arguments.certificate, "a file; without it, standard output");
  CLI::App* revoke = of_authority("revoke", "Revoke a party's certificates",
                                  [&] { return run_revoke(arguments.authority, arguments.role, arguments.name); });
  revoke->add_option("role", arguments.role, "coordinator, silo, shuffler or operator")->required();
  revoke->add_option("name", arguments.name, "the party's name")->required();
  of_authority("list", "Certificates that were issued", [&] { return run_issued(arguments.authority); });

  CLI::App* init = add(app, actions, "init", "Make an operator's key and signing request in a start-up kit", [&] {
    const Result<certificates::InitDone> done = certificates::init_party(arguments.kit, arguments.renew);
    if (!done) return service::fail(done.error());
    fmt::print("{}", done->instructions);
    return static_cast<int>(service::kDone);
  });
  init->add_option("--kit", arguments.kit, "the kit's folder")->capture_default_str();
  init->add_flag("--renew", arguments.renew, "a new key and request beside the old ones");
}

struct LabArguments {
  DraftRequest drafted;
  SweepRequest swept;
  ReproduceRequest reproduced;
  SimulateArguments simulated;
  std::string partition_job;
  std::string partition_out;
  std::string partition_by;
  simulation::TablePartition partition;
  VerifyArguments verified;
  report::ReportRequest reported;
  operators::DeploymentOptions demo;
};

/// Says beside each silo's file how its owner has to split it, for what was dealt as a holdout to be held out.
Status print_dealt(const std::string& job_file, const std::vector<std::filesystem::path>& files) {
  UNDERTONE_TRY(const std::string bytes, read_file(job_file, jobs::kJobBytesMax));
  UNDERTONE_TRY(const jobs::Job job, jobs::parse_job(bytes, job_file));
  for (std::size_t i = 0; i < files.size() && i < job.cohort.size(); ++i) {
    const data::SplitRule rule = simulation::split_of(job, job.cohort[i]);
    fmt::print("{}  holdout_fraction {} holdout_seed {}\n", files[i].string(), rule.holdout_fraction, rule.seed);
  }
  if (job.simulation->shared) fmt::print("{}\n", jobs::kSharedRecords);
  return {};
}

int run_partition(const LabArguments& arguments) {
  const simulation::TablePartition& how = arguments.partition;
  const bool pairs = how.by == simulation::TablePartition::By::LabelPair;
  if (pairs && how.silos != 0) return service::fail({ErrorCode::InvalidArgument, "--silos: label-pair deals to 25"});
  if (!pairs && how.disjoint)
    return service::fail({ErrorCode::InvalidArgument, "--disjoint: only with --by label-pair"});
  if (arguments.partition_by.empty() && (how.cifar || !how.idx_labels.empty()))
    return service::fail(
        {ErrorCode::InvalidArgument, "--labels, --cifar: only with --by; a job's file says what it reads"});
  const auto files =
      arguments.partition_by.empty()
          ? simulation::partition(arguments.partition_job, arguments.partition_out)
          : simulation::partition_table(arguments.partition_job, arguments.partition, arguments.partition_out);
  if (!files) return service::fail(files.error());
  if (arguments.partition_by.empty()) {
    if (Status printed = print_dealt(arguments.partition_job, *files); !printed) return service::fail(printed.error());
    return service::kDone;
  }
  for (const std::filesystem::path& file : *files) fmt::print("{}\n", file.string());
  if (pairs && !how.disjoint) {
    fmt::print(
        "each record is in five silos, some of which train on what others hold out, and no silo's epsilon bounds "
        "what all of them say of it\n");
  }
  return service::kDone;
}

void add_lab_commands(CLI::App& app, Actions& actions, LabArguments& arguments) {
  SimulateArguments& simulated = arguments.simulated;
  CLI::App* simulate_command =
      add(app, actions, "simulate", "Run a job in this process, with seeded noise: fast, reproducible, not private",
          [&] { return run_simulate(simulated); });
  simulate_command->add_option("job", simulated.job, "the job's file; its simulation section says where the data are")
      ->required();
  simulate_command->add_option("--out", simulated.out, "folder for result.json and model.json")->required();
  simulate_command->add_option("--seed", simulated.seed, "of noise and sampling")->capture_default_str();
  simulate_command->add_option(
      "--set", simulated.set,
      "replace a value of the job: /json/pointer=value, where * stands for every element of an "
      "array (/cohort/*/epsilon=2); may be repeated");
  simulate_command->add_option("--nonce", simulated.nonce,
                               "the run's nonce, 32 hexadecimal digits; drawn from the seed if not given");
  simulate_command->add_option("--noise", simulated.noise, "seeded, or none for a baseline")
      ->check(CLI::IsMember({"seeded", "none"}))
      ->capture_default_str();
  simulate_command->add_flag("--direct", simulated.direct,
                             "without messages, ledgers and faults: the same model, much faster");
  simulate_command->add_option("--answering", simulated.answering,
                               "with --direct: how many silos answer a round, drawn afresh; without it, all");
  simulate_command->add_option("--threads", simulated.threads,
                               "with --direct: as many as there are processors without it; changes no result");
  DraftRequest& drafted = arguments.drafted;
  CLI::App* draft_command =
      add(app, actions, "draft", "A whole job for a schema and a cohort, its numbers chosen on invented records",
          [&] { return run_draft(drafted); });
  draft_command->add_option("--schema", drafted.schema, "a JSON file with label and features, a draft, or a job")
      ->required();
  draft_command
      ->add_option("--cohort", drafted.cohort,
                   "the silos with their training and holdout records, or persons: clinic-1=400+100 ...; with public "
                   "records, too: clinic-1=400+100+20 ...")
      ->required();
  draft_command->add_option("--public", drafted.open_records,
                            "a CSV file of records that need no protection and that the schema reads");
  draft_command->add_option("--epsilon", drafted.epsilon, "promised to every record, or person")
      ->required()
      ->check(CLI::Range(1e-9, 30.0));
  draft_command
      ->add_option("--delta", drafted.delta,
                   "of the same promise; without it at most a hundredth of one in a silo's records")
      ->check(CLI::Range(1e-30, 0.5));
  draft_command->add_flag("--holdout-public", drafted.holdout_public,
                          "the owners declare their holdouts public: evaluated exactly, at no cost");
  draft_command->add_flag("--persons", drafted.persons,
                          "a person with all of her records is protected, and the cohort counts persons");
  draft_command
      ->add_option("--records-max", drafted.person_records_max,
                   "with --persons: so many of a person's records may count, whatever she has")
      ->capture_default_str();
  draft_command->add_flag("--wide-bounds", drafted.wide_bounds,
                          "the bounds of a label of numbers are far wider than where most of it is: a first job buys a "
                          "bound of how long gradients are, from which their clip follows");
  draft_command->add_option(
      "--label-guess", drafted.label_guess,
      "with --wide-bounds: a public guess of the label's mean (default: the middle of its bounds)");
  draft_command->add_option("--name", drafted.name, "the job's (default: its label and the day)");
  draft_command->add_option("--seed", drafted.seed, "of the invented records")->capture_default_str();
  draft_command->add_option("--out", drafted.out, "a file; without it, standard output");
  CLI::App* partition_command =
      add(app, actions, "partition", "Deal a job's simulation data to its silos: one CSV file each",
          [&] { return run_partition(arguments); });
  partition_command->add_option("job", arguments.partition_job, "the job's file; with --by, a table as CSV")
      ->required();
  partition_command->add_option("--out", arguments.partition_out, "folder for SILO.csv")->required();
  using By = simulation::TablePartition::By;
  static const std::map<std::string, By> kinds = {{"iid", By::Iid},
                                                  {"label", By::Label},
                                                  {"label-pair", By::LabelPair},
                                                  {"sorted", By::Sorted},
                                                  {"dirichlet", By::Dirichlet}};
  partition_command
      ->add_option("--by", arguments.partition_by,
                   "of a public table: iid, label (a class each), label-pair (of ten classes an even and an odd one "
                   "each: 25 silos), sorted (slices by a number) or dirichlet")
      ->check(CLI::IsMember(kinds))
      ->each([&arguments](const std::string& by) { arguments.partition.by = kinds.at(by); });
  partition_command->add_option("--column", arguments.partition.column, "with --by: the class, or the number");
  partition_command->add_option("--silos", arguments.partition.silos, "with --by: how many");
  partition_command->add_option("--concentration", arguments.partition.concentration,
                                "with --by dirichlet: the less, the less alike the silos are");
  partition_command->add_flag("--disjoint", arguments.partition.disjoint,
                              "with --by label-pair: no record in two silos; without it each is in five");
  partition_command->add_option("--seed", arguments.partition.seed, "with --by");
  CLI::Option* labels = partition_command->add_option(
      "--labels", arguments.partition.idx_labels,
      "with --by: the table is a file of IDX images, as MNIST has them, and these are their labels; the columns are "
      "label, p0, p1, ...");
  partition_command
      ->add_flag("--cifar", arguments.partition.cifar,
                 "with --by: the table is a binary batch of CIFAR-10, with the same columns")
      ->excludes(labels);

  CLI::App* sweep_command =
      add(app, actions, "sweep", "Run a job with its values varied, every combination, as often as asked",
          [&] { return run_sweep(arguments.swept); });
  sweep_command->add_option("file", arguments.swept.file, "what is varied: docs/researchers-guide.md")->required();
  sweep_command
      ->add_option("--out", arguments.swept.out, "folder for sweep.jsonl and sweep.csv; goes on where it stood")
      ->required();
  sweep_command->add_option("--threads", arguments.swept.threads,
                            "runs at a time: as many as there are processors without it; changes no result");

  CLI::App* reproduce_command =
      add(app, actions, "reproduce", "A figure of the source's experiments: table, picture and a verdict on each claim",
          [&] { return run_reproduce(arguments.reproduced); });
  reproduce_command
      ->add_option("figure", arguments.reproduced.figure,
                   "fig2.1, fig2.2, fig3.3 to fig3.12, fig4.1, fig5.1, fig5.1-compas, fig5.2, fig5.3, fig6.2, fig6.4, "
                   "figA.1, figA.2, "
                   "figA.6, figB.1 to figB.5, "
                   "figD.1, or all")
      ->required();
  reproduce_command->add_option("--data", arguments.reproduced.data,
                                "folder of the data sets: docs/experiments.md; figures on invented records read none");
  reproduce_command->add_option("--out", arguments.reproduced.out, "folder for what is written; goes on where it stood")
      ->required();
  CLI::Option* quick = reproduce_command->add_flag_callback(
      "--quick", [&] { arguments.reproduced.size = FigureSize::Quick; },
      "a small part of the grid, of four splits unless --splits says more; in minutes");
  reproduce_command
      ->add_flag_callback(
          "--full", [&] { arguments.reproduced.size = FigureSize::Full; },
          "of fig2.2: at the source's own size, of 75,000 records in 2,000 dimensions, which takes hours")
      ->excludes(quick);
  reproduce_command->add_option("--splits", arguments.reproduced.splits,
                                "at most so many splits of the data; a later run with more goes on from there");
  reproduce_command->add_option("--threads", arguments.reproduced.threads,
                                "points at a time: as many as there are processors without it; changes no result");

  CLI::App* report_command = add(app, actions, "report", "One HTML page for a run's results, or for several runs",
                                 [&] { return report::run_report(arguments.reported); });
  report_command
      ->add_option("dir", arguments.reported.folder,
                   "a folder with a result.json, with such folders below, or of a sweep")
      ->required();
  report_command->add_option("--out", arguments.reported.out, "a file; without it, report.html in the folder");

  VerifyArguments& verified = arguments.verified;
  CLI::App* ledger_command = app.add_subcommand("ledger", "Silos' ledgers");
  ledger_command->require_subcommand(1);
  CLI::App* verify_command =
      add(*ledger_command, actions, "verify", "Recompute a ledger with code that shares nothing with the silo's",
          [&] { return run_verify(verified); });
  verify_command->add_option("ledger", verified.ledger, "the ledger's file, or a pack of evidence")->required();
  verify_command->add_option("--head", verified.head, "the head file that lives outside the ledger");
  verify_command->add_option("--dataset", verified.dataset, "the data set whose ledger this must be");
  verify_command->add_option("--public-key", verified.public_key, "the ledger's public key, hexadecimal");
  verify_command->add_flag("--json", verified.json, "print JSON");

  CLI::App* demo_command = add(app, actions, "demo", "A whole federation on this machine, as processes over TLS", [&] {
    const Status done = operators::run_demo(arguments.demo);
    return done ? static_cast<int>(service::kDone) : service::fail(done.error());
  });
  demo_command->add_option("job", arguments.demo.job, "the job's file")->required();
  demo_command->add_option("--dir", arguments.demo.folder, "folder to make, for data, keys, ledgers and results")
      ->required();
  demo_command->add_flag_callback(
      "--serve", [&arguments] { arguments.demo.drive = operators::DeploymentOptions::Drive::Nobody; },
      "do not run the job: coordinator and silos serve until Ctrl-C, and jobs are submitted to them");
  demo_command->add_option("--programs", arguments.demo.programs, "the build folder that holds coordinator/ and silo/")
      ->required();
}

void add_audit_command(CLI::App& app, Actions& actions, AuditRequest& request) {
  CLI::App* command = add(app, actions, "audit",
                          "Look for a lower bound on epsilon by experiment: many neighbouring transcripts, or canaries",
                          [&] { return run_audit(request); });
  command->add_option("job", request.job, "the job's file")->required();
  command->add_option("--silo", request.silo, "of the cohort; the first if not given");
  command->add_option("--trials", request.settings.trials, "transcripts of each data set")->capture_default_str();
  command->add_option("--delta", request.settings.delta, "at which epsilon is claimed and tested")
      ->capture_default_str();
  command->add_flag("--canaries", request.canaries, "one run with a canary in every feature's direction");
  command->add_option("--coins", request.coins, "seed of the canaries' coins")->capture_default_str();
  command->add_flag("--json", request.json, "print JSON");
}

int run(int argc, char** argv) {
  CLI::App app{
      "Undertone's command for operators and researchers.\n"
      "Exit codes: 0 done; 1 the run failed or was cancelled; 2 usage; 3 refused: bad input, or a ledger that does not "
      "verify; 4 the coordinator cannot be reached or does not let this operator in.",
      "undertone"};
  app.require_subcommand(1);
  app.set_version_flag("--version", service::kUndertone.build());
  const service::HelpCommands help(app, "undertone", service::kUndertone.build(), examples(),
                                   {{"run", "complete-runs"}, {"runs", "complete-runs"}});
  Actions actions;
  OperatorArguments operating;
  ProvisionArguments provisioning;
  LabArguments researching;
  AccountRequest accounting;
  AuditRequest auditing;
  add_operator_commands(app, actions, operating);
  add_provision_commands(app, actions, provisioning);
  add_lab_commands(app, actions, researching);
  add_audit_command(app, actions, auditing);
  actions[add_account_command(app, accounting)] = [&] { return run_account(accounting); };
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return service::kDone;
    if (const std::string meant = service::suggestion(app, argc, argv); !meant.empty())
      fmt::print(stderr, "undertone: {}\n", meant);
    return service::kUsage;
  }
  if (help.print()) return service::kDone;
  // Authorities' keys and operators' tokens pass through it.
  if (const Status guarded = forbid_dumps(); !guarded) return service::fail(guarded.error());
  // A command under another one counts, not the one above it.
  const CLI::App* chosen = &app;
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  const auto action = actions.find(chosen);
  return action == actions.end() ? static_cast<int>(service::kUsage) : action->second();
}

}  // namespace
}  // namespace undertone::lab

int main(int argc, char** argv) {
  try {
    return undertone::service::kUndertone.finished(undertone::lab::run(argc, argv));
  } catch (const nlohmann::json::exception& /*of a library*/) {
    fmt::print(stderr,
               "undertone: a file or an answer has a value of another type than this version reads, or lacks one\n");
    return 3;
  } catch (const std::exception& exception) {
    fmt::print(stderr, "undertone: {}\n", exception.what());
    return 3;
  }
}
