#include "silo/host/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "shared/base/large_memory.hpp"
#include "shared/base/log.hpp"
#include "shared/service/help_texts.hpp"
#include "shared/service/program.hpp"
#include "shared/service/suggestion.hpp"
#include "shared/store/wiped_memory.hpp"
#include "silo/desk/desk_service.hpp"
#include "silo/owner/evidence_pack.hpp"
#include "silo/owner/exit_code.hpp"
#include "silo/owner/owner_commands.hpp"

namespace undertone::silo {
namespace {

constexpr const char* kDescription =
    "An institution's agent: answers planned questions about its records, clipped, noised and charged to its own "
    "ledger.\n"
    "Exit codes: 0 done, or told to stop; 1 refused, the answer was no, or `health` found none; 2 usage; 3 it cannot "
    "start or read its "
    "files; 5 halted: a person must look at the ledger.";

/// What the manual page shows.
std::vector<service::Example> examples(const std::string& program) {
  const auto of = [&](const char* command, const char* about) {
    return service::Example{fmt::format("{} {}", program, command), about};
  };
  return {
      of("init --kit .",
         "In the folder of the start-up kit: make the key, which never leaves it, and a signing request."),
      of("dataset add main --csv patients.csv --schema schema.json --holdout-fraction 0.2",
         "Enter a data set into silo.json and begin its ledger."),
      of("check", "Read the data as `run` would and show what would be used; nothing is sent."),
      of("check --job job.json", "What an offer of this job would be answered, and why."),
      of("run", "Connect to the coordinator and serve until SIGTERM."),
      of("jobs", "Jobs that wait, that run, that ended and that were refused, with the reasons."),
      of("approve breast-cancer", "Read what the job would release and cost, then take part in it, or not."),
      of("evidence breast-cancer --out pack.zip",
         "For an evaluator: everything about this run, signed by the ledger's key."),
      of("desk", "The same in a browser: offers, what they cost, decisions, budget, ledger."),
      of("budget --dataset main", "What the policy grants, what is reserved, what is left."),
      of("releases breast-cancer --values --json", "Exactly what left the building in a run, with the numbers."),
      of("withdraw breast-cancer", "Answer nothing more in this run; what was sent stays charged."),
      of("ledger verify", "Read the ledgers back and check them."),
      of("ledger export --out ledger.jsonl", "Every entry as a JSON line, for an auditor."),
      of("dataset amend main --yes", "Accept the data set's present content; all spending is carried over."),
  };
}

}  // namespace

int silo_main(int argc, char** argv, const char* program, crypto::NoiseKind noise,
              const MakeRandomness& make_randomness) {
  keep_large_blocks();
  CLI::App app{kDescription, program};
  app.require_subcommand(1);
  app.set_version_flag("--version", service::Program(program).build());
  const service::HelpCommands help(app, program, service::Program(program).build(), examples(program),
                                   {{"job", "complete-jobs"}});
  OwnerOptions options;
  options.noise = noise;
  // What each command does once everything is parsed.
  std::map<const CLI::App*, std::function<int()>> actions;
  const auto add = [&](CLI::App& parent, const char* name, const char* about, std::function<int()> action) {
    CLI::App* command = parent.add_subcommand(name, about);
    command->add_option("--config", options.config, "the silo's configuration (docs/configuration.md)")
        ->default_val("silo.json");
    actions[command] = std::move(action);
    return command;
  };
  const auto takes_job = [&](CLI::App* command) {
    command->add_option("job", options.job, "the beginning of a run's id as `jobs` shows it, or a job's name")
        ->required();
    return command;
  };
  const auto takes_dataset = [&](CLI::App* command) {
    command->add_option("--dataset", options.dataset, "only this data set");
    return command;
  };
  const auto speaks_json = [&](CLI::App* command) {
    command->add_flag("--json", options.json, "print JSON");
    return command;
  };
  const auto asks = [&](CLI::App* command) {
    command->add_flag("--yes", options.yes, "do not ask");
    return command;
  };

  const auto takes_source = [](CLI::App* command, SourceOptions& source) {
    command->add_option("--parquet", source.parquet, "or a Parquet or Feather file, which Python with pyarrow reads");
    command->add_option("--query", source.query, "or a file with one SELECT, whose rows are the data");
    command->add_option("--connection", source.connection,
                        "of --query: a file with one line such as postgresql://host=db.example dbname=heart");
    command->add_option("--connection-variable", source.variable,
                        "or the variable of the environment that holds such a line");
    command->add_option("--parameter", source.parameters, "NAME=VALUE: what :NAME stands for in the query");
    command->add_option("--rows-max", source.rows_max, "a query that finds more rows is refused (10,000,000)")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
    command->add_option("--seconds-max", source.seconds_max, "a query that takes longer is given up (600)")
        ->check(CLI::Range(1, 86'400));
  };

  std::string kit = ".";
  bool renew = false;
  CLI::App* init = app.add_subcommand("init", "Make this silo's key and signing request in its start-up kit");
  init->add_option("--kit", kit, "the kit's folder")->capture_default_str();
  init->add_flag("--renew", renew, "a new key and request beside the old ones");
  actions[init] = [&] { return init_party(kit, renew); };

  CLI::App* check = takes_dataset(
      add(app, "check", "Read the data against the schema and show what would be used; nothing of them is sent",
          [&] { return check_data(options); }));
  check->add_option("--job", options.job_file, "a job's file: say what an offer of it would be answered");
  check->add_flag("--connect", options.connect, "try the way to the coordinator and the shufflers, too");
  bool profile = false;
  add(app, "run", "Connect to the coordinator and serve until SIGTERM", [&] {
    return run_agent(options.config, make_randomness, profile);
  })->add_flag("--profile", profile, "log at the end what the time went into: it tells of records, so keep the log");
  speaks_json(add(app, "jobs", "Jobs that were offered, and where they stand", [&] { return list_jobs(options); }));
  CLI::App* complete = add(app, "complete-jobs", "Names of jobs, for a shell that completes one",
                           [&] { return complete_jobs(options); });
  complete->group("");  // the completion script's own
  complete->add_option("job", options.job, "what was typed of it");
  asks(takes_job(add(app, "approve", "Show what a job would release and cost, and take part in it",
                     [&] { return approve_job(options); })));
  std::string reason;
  asks(takes_job(add(app, "refuse", "Refuse a job that waits", [&] { return refuse_job(options, reason); })))
      ->add_option("--reason", reason,
                   "why, for your own list; the coordinator is told it where policy.explain_refusals is \"full\"");
  asks(takes_job(add(app, "withdraw", "Leave a run for good: nothing more is answered in it",
                     [&] { return withdraw_job(options); })));
  bool values = false;
  CLI::App* releases = takes_job(
      add(app, "releases", "Exactly what left for a run, and when", [&] { return list_releases(options, values); }));
  speaks_json(releases)->add_flag("--values", values, "the numbers too");
  speaks_json(takes_dataset(add(app, "budget", "What the policy grants, what is reserved, what is left",
                                [&] { return show_budget(options); })));
  add(app, "health", "Say whether an agent here is connected to the coordinator; for supervisors",
      [&] { return check_health(options); });
  std::vector<std::string> evidenced;
  std::string pack = "evidence.zip";
  CLI::App* evidence = takes_dataset(add(
      app, "evidence", "Write a pack for an evaluator: jobs, decisions, statements, what left, and the ledgers", [&] {
        const Status written = write_evidence(options, evidenced, pack);
        if (!written) return fail(written.error());
        fmt::print("{} is a pack of evidence; `undertone ledger verify {}` checks it.\n", pack, pack);
        return static_cast<int>(kDone);
      }));
  evidence->add_option("runs", evidenced, "beginnings of ids, or jobs' names; all that were accepted without them");
  evidence->add_option("--out", pack, "the file")->capture_default_str();
  std::uint16_t desk_port = 0;
  add(app, "desk", "Open the desk: a page in your browser for offers, budget and ledger", [&] {
    return serve_desk(options, desk_port);
  })->add_option("--port", desk_port, "of this machine, loopback alone; any that is free without it");
  add(app, "pause", "Answer nothing until `resume`", [&] { return set_paused(options, true); });
  add(app, "resume", "Answer again", [&] { return set_paused(options, false); });

  CLI::App* ledger = app.add_subcommand("ledger", "What the data sets have been charged");
  ledger->require_subcommand(1);
  speaks_json(takes_dataset(add(*ledger, "show", "Every entry", [&] { return show_ledger(options); })));
  takes_dataset(add(*ledger, "verify", "Read everything back and check it", [&] { return verify_ledgers(options); }));
  std::string out;
  takes_dataset(add(*ledger, "export", "Every entry as a JSON line, for an auditor", [&] {
    return export_ledger(options, out);
  }))->add_option("--out", out, "a file; without it, standard output");

  CLI::App* dataset = app.add_subcommand("dataset", "The institution's data sets");
  dataset->require_subcommand(1);
  speaks_json(
      add(*dataset, "list", "Data sets and what they have been charged", [&] { return list_datasets(options); }));
  DraftedDataset drafted;
  CLI::App* draft_command =
      dataset->add_subcommand("draft", "Guess a schema from a file or a query, with its bounds left for you to say");
  actions[draft_command] = [&] { return draft_dataset(drafted); };
  draft_command->add_option("csv", drafted.source.csv, "the data, with a header");
  takes_source(draft_command, drafted.source);
  draft_command->add_option("--label", drafted.label, "the column that is to be predicted");
  const auto takes_dialect = [](CLI::App* command, data::DialectOptions& dialect, const std::string& otherwise) {
    command->add_option("--separator", dialect.separator, "between cells; " + otherwise)
        ->check(CLI::IsMember(data::separator_names()));
    command->add_option("--decimal", dialect.decimal, "how numbers are written; " + otherwise)
        ->check(CLI::IsMember({"point", "comma"}));
    command->add_option("--encoding", dialect.encoding, "how the file's bytes are text; " + otherwise)
        ->check(CLI::IsMember(data::encoding_names()));
  };
  takes_dialect(draft_command, drafted.dialect, "guessed without it");
  draft_command->add_option("--out", drafted.out, "a file; without it, the terminal");
  NewDataset added;
  CLI::App* add_command = add(*dataset, "add", "Enter a data set into the configuration and begin its ledger",
                              [&] { return add_dataset(options, added); });
  add_command->add_option("name", options.dataset, "1 to 64 of [a-z0-9-]")->required();
  add_command->add_option("--csv", added.source.csv, "the data: a text with a line of names");
  takes_source(add_command, added.source);
  takes_dialect(add_command, added.dialect, "without it as the draft says under \"file\"");
  add_command->add_flag("--grouped", added.dialect.grouped, "digits may stand in groups of three: 12,345.6");
  add_command->add_option("--schema", added.schema, "a JSON file with label and features, a draft, or a job")
      ->required();
  add_command->add_option(
      "--map", added.map,
      "a JSON file with \"map\": how this table's names, words, units and dates become the schema's");
  asks(add_command);
  add_command->add_option("--instead-of", added.instead_of,
                          "a data set that was added by mistake, and whose ledger nothing was written to: it goes");
  add_command->add_option("--holdout-fraction", added.holdout_fraction, "of the records, kept for evaluation")
      ->check(CLI::Range(0.0, 0.9));
  add_command->add_option("--holdout-seed", added.holdout_seed, "chooses them")->capture_default_str();
  add_command->add_flag("--holdout-public", added.holdout_public, "you declare the holdout's records public");
  add_command->add_option("--public-file", added.public_file,
                          "a second CSV file whose records you declare public, for good: nothing protects them");
  add_command->add_option("--public-column", added.public_column,
                          "or a column of the data, which no job reads, that marks public records");
  add_command->add_option("--public-value", added.public_value, "what public records have in that column");
  add_command->add_option("--person", added.person_column,
                          "a column of the data that holds a person's id: persons are then protected, for good");
  add_command
      ->add_option("--without-id", added.without_id,
                   "a record without an id: refuse (default), or alone, which makes it a person of its own")
      ->check(CLI::IsMember({"refuse", "alone"}));
  CLI::App* moved = add(*dataset, "moved", "Say that a ledger and its head were moved, and that no copy is left",
                        [&] { return move_dataset(options); });
  moved->add_option("name", options.dataset, "of the data set; may be left out if there is one");
  bool publish = false;
  CLI::App* amend =
      add(*dataset, "amend", "Accept a data set's present content for its ledger; all spending is carried over",
          [&] { return amend_dataset(options, publish); });
  amend->add_option("name", options.dataset, "of the data set; may be left out if there is one");
  asks(amend);
  amend->add_flag(
      "--publish-holdout", publish,
      "the owner declares the records of the present holdout public: they are evaluated exactly from now on");

  CLI::App* remove =
      add(*dataset, "remove", "Serve a data set no more; its ledger is kept", [&] { return remove_dataset(options); });
  remove->add_option("name", options.dataset, "of the data set")->required();
  asks(remove);

  FilterGrant grant;
  CLI::App* filter =
      add(*dataset, "filter", "Charge a data set's later jobs release by release to one (epsilon, delta), for good",
          [&] { return filter_dataset(options, grant); });
  filter->add_option("name", options.dataset, "of the data set; may be left out if there is one");
  filter->add_option("--epsilon", grant.epsilon, "of the filter");
  filter->add_option("--delta", grant.delta, "of the filter");
  filter->add_flag("--all", grant.everything, "instead of --epsilon and --delta: all that the policy has left");
  filter->add_flag("--another", grant.another, "even though the present filter has spent nothing, which is then lost");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return kDone;
    if (const std::string meant = service::suggestion(app, argc, argv); !meant.empty())
      fmt::print(stderr, "{}: {}\n", program, meant);
    return kUsage;
  }
  if (help.print()) return kDone;
  try {
    start_log("silo");
    protect_process();
    if (const Status wiping = store::wipe_freed_memory(); !wiping) return fail(wiping.error());
    for (const auto& [command, action] : actions) {
      if (command->parsed()) return service::kSilo.finished(action());
    }
    return kUsage;
  } catch (const std::exception& exception) {
    fmt::print(stderr, "{}: {}\n", program, exception.what());
    return kCannotStart;
  }
}

}  // namespace undertone::silo
