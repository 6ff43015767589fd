#include "silo/host/owner_commands.hpp"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/certificates/start_up_kit.hpp"
#include "shared/data/record_encoder.hpp"
#include "shared/wire/codec.hpp"
#include "silo/agent/job_summary.hpp"
#include "silo/host/agent.hpp"
#include "silo/host/institution.hpp"
#include "silo/ledger/ledger_entry.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;

int fail(const Error& error, ExitCode code = kCannotStart) {
  fmt::print(stderr, "undertone-silo: {}\n", error.message);
  return code;
}

/// "3f2a…": the nonce's beginning tells runs apart, the job's digest does not tell runs of one job apart.
std::string short_name(const RunId& run) { return run.hex().substr(64, 12); }

/// Whether the owner's word names this run: a prefix of its nonce or of its whole id, or the job's name.
bool names(const std::string& word, const RunId& run, const std::string& job_name) {
  const std::string hex = run.hex();
  return word.size() >= 4 &&
         (hex.compare(64, word.size(), word) == 0 || hex.compare(0, word.size(), word) == 0 || word == job_name);
}

struct KnownRun {
  RunId run;
  std::string dataset;
  std::string state;
  std::string name;
  std::optional<config::Job> job;
  std::string job_bytes;
  const RunAccount* account = nullptr;  // null: not in the ledger
};

/// What the agent's files say, read once for one command.
struct Files {
  SiloConfig config;
  DeskFile desk;
  std::map<std::string, LedgerView> ledgers;  // by data set; those that exist
  std::vector<KnownRun> runs;                 // newest last
};

Status collect_runs(Files& files) {
  Result<std::vector<DeskOffer>> offers = files.desk.desk->offers();
  if (!offers) return offers.error();
  std::map<RunId, Decision> decisions;
  for (const DeskOffer& offer : *offers) decisions[offer.run] = offer.decision;
  const auto add = [&files](KnownRun run) {
    if (!run.job_bytes.empty()) {
      Result<config::Job> job = config::parse_job(run.job_bytes, "job");
      if (job) run.name = job->name;
      if (job) run.job.emplace(*std::move(job));
    }
    files.runs.push_back(std::move(run));
  };
  std::set<RunId> seen;
  for (auto& [dataset, view] : files.ledgers) {
    for (const auto& [run, account] : view.ledger->accounts()) {
      const Result<std::optional<std::string>> job = view.ledger->job_of(run);
      if (!job) return job.error();
      const auto decision = decisions.find(run);
      const bool withdrawn = decision != decisions.end() &&
                             (decision->second == Decision::Withdrawn || decision->second == Decision::Refused);
      std::string state = account.returned ? "returned" : account.ended ? "ended" : withdrawn ? "withdrawn" : "open";
      seen.insert(run);
      add({run, dataset, std::move(state), "", std::nullopt, job->value_or(""), &account});
    }
  }
  for (const DeskOffer& offer : *offers) {
    if (!seen.contains(offer.run))
      add({offer.run, offer.dataset, to_string(offer.decision), "", std::nullopt, offer.job, nullptr});
  }
  return {};
}

Result<Files> open_files(const OwnerOptions& options) {
  Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return config.error();
  Result<DeskFile> desk = open_desk(*config);
  if (!desk) return desk.error();
  Files files{*std::move(config), *std::move(desk), {}, {}};
  for (const DatasetConfig& dataset : files.config.datasets) {
    if (!options.dataset.empty() && options.dataset != dataset.name) continue;
    if (!std::filesystem::exists(dataset.ledger)) continue;
    Result<LedgerView> view = view_ledger(dataset, files.config.policy, options.noise);
    if (!view) return view.error();
    files.ledgers.emplace(dataset.name, *std::move(view));
  }
  if (Status collected = collect_runs(files); !collected) return collected.error();
  return files;
}

Result<const KnownRun*> find_run(const Files& files, const std::string& word) {
  const KnownRun* found = nullptr;
  for (const KnownRun& run : files.runs) {
    if (!names(word, run.run, run.name)) continue;
    if (found != nullptr) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("\"{}\" names more than one run: give the beginning of one of the ids that `jobs` shows",
                               plain_text(word))};
    }
    found = &run;
  }
  if (found == nullptr)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("no run is called \"{}\"; `jobs` lists them", plain_text(word))};
  return found;
}

bool confirmed(const OwnerOptions& options, const char* question) {
  if (options.yes) return true;
  if (isatty(STDIN_FILENO) == 0) {
    fmt::print(stderr, "undertone-silo: not a terminal: give --yes to answer beforehand\n");
    return false;
  }
  fmt::print("{} [y/N] ", question);
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

const DatasetConfig* config_of(const SiloConfig& config, const std::string& dataset) {
  for (const DatasetConfig& candidate : config.datasets) {
    if (candidate.name == dataset) return &candidate;
  }
  return nullptr;
}

/// What the ledger has of the data set, or nothing reserved where it has not begun.
Budget reserved_of(const Files& files, const std::string& dataset) {
  const auto view = files.ledgers.find(dataset);
  if (view == files.ledgers.end()) return {};
  return {view->second.ledger->epsilon_reserved(), view->second.ledger->delta_reserved()};
}

Result<std::string> summary_of(const Files& files, const KnownRun& run) {
  if (!run.job) return Error{ErrorCode::UnknownRun, "the job of this run is not kept any more"};
  const config::CohortMember* member = run.job->member(files.config.id);
  if (member == nullptr) return Error{ErrorCode::PolicyRefused, "the job's cohort does not name this silo"};
  Result<privacy::Plan> plan = config::plan_of(*run.job, *member);
  if (!plan) return plan.error();
  return describe_job(run.run, {*run.job, *std::move(plan)}, files.config.id, run.dataset,
                      reserved_of(files, run.dataset), files.config.policy.total);
}

int decide(const OwnerOptions& options, Decision decision, const char* question, const char* done) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  const Result<const KnownRun*> run = find_run(*files, options.job);
  if (!run) return fail(run.error(), kRefused);
  const Result<std::string> summary = summary_of(*files, **run);
  if (summary) fmt::print("{}", *summary);
  if (!summary && decision == Decision::Approved) return fail(summary.error(), kRefused);
  if ((*run)->account != nullptr && decision == Decision::Approved)
    return fail({ErrorCode::InvalidArgument, "this run was accepted already"}, kRefused);
  if ((*run)->account != nullptr && decision == Decision::Refused)
    return fail({ErrorCode::InvalidArgument, "this run was accepted already: `withdraw` leaves it"}, kRefused);
  if (!confirmed(options, question)) return kRefused;
  const Result<bool> made = files->desk.desk->decide((*run)->run, decision);
  if (!made) return fail(made.error());
  if (!*made) return fail({ErrorCode::InvalidArgument, "this run was withdrawn; that is final"}, kRefused);
  fmt::print("{}\n", done);
  return kStopped;
}

Json amounts(const privacy::EpsilonAmount& epsilon, const privacy::DeltaAmount& delta) {
  return {{"epsilon", epsilon.value_rounded_up()}, {"delta", delta.value_rounded_up()}};
}

nlohmann::json body_of(const LedgerEntry& entry) { return nlohmann::json::parse(entry.body, nullptr, false); }

std::string text_of(const nlohmann::json& body, const char* key) {
  return body.is_object() && body.contains(key) && body[key].is_string() ? body[key].get<std::string>() : "";
}

void print_column(const data::ColumnFacts& facts, const data::Schema& schema, bool values) {
  std::string line = fmt::format("  {:24}", plain_text(facts.name));
  if (!values) {
    fmt::print("{}\n", line);
    return;
  }
  if (!facts.counts.empty()) {
    line += "values";
    for (const std::int64_t count : facts.counts) line += fmt::format(" {}", count);
    if (facts.clamped > 0) line += fmt::format("  others {}", facts.clamped);
  } else {
    line += fmt::format("from {:.6g} to {:.6g}", facts.least, facts.most);
    for (const data::FeatureColumn& column : schema.features) {
      const auto* numeric = std::get_if<data::NumericColumn>(&column);
      if (numeric != nullptr && numeric->name == facts.name)
        line += fmt::format("  bounds {:.6g} to {:.6g}", numeric->min, numeric->max);
    }
    if (facts.clamped > 0) line += fmt::format("  outside, clamped {}", facts.clamped);
  }
  if (facts.missing > 0) line += fmt::format("  missing {}", facts.missing);
  fmt::print("{}\n", line);
}

}  // namespace

int init_party(const std::filesystem::path& kit, bool renew) {
  const Result<certificates::InitDone> done = certificates::init_party(kit, renew);
  if (!done) return fail(done.error());
  fmt::print("{}", done->instructions);
  return kStopped;
}

int check_data(const OwnerOptions& options) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return fail(config.error());
  const bool values = isatty(STDOUT_FILENO) != 0;
  for (const DatasetConfig& dataset : config->datasets) {
    if (!options.dataset.empty() && options.dataset != dataset.name) continue;
    // The digest is of no use here, so a key of the moment will do.
    const Result<SigningKey> key = SigningKey::from_seed(std::string(32, '\0'));
    const Result<LoadedDataset> loaded = load_dataset(dataset, *key, progress_line());
    if (!loaded) return fail(loaded.error());
    fmt::print("data set \"{}\"\n", dataset.name);
    fmt::print("  {} training and {} holdout records{}, {} columns used, {} features after encoding\n",
               loaded->dataset.training.count(), loaded->dataset.holdout.count(),
               dataset.holdout_public ? " (declared public)" : "", loaded->columns.size(),
               loaded->dataset.training.features.rows());
    for (const data::ColumnFacts& facts : loaded->columns) print_column(facts, dataset.schema, values);
  }
  if (!values) fmt::print("What the columns hold is shown on a terminal alone.\n");
  fmt::print("Nothing was sent and nothing was charged.\n");
  return kStopped;
}

int list_jobs(const OwnerOptions& options) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  const Result<bool> paused = files->desk.desk->paused();
  if (!paused) return fail(paused.error());
  Json out = Json::array();
  for (const KnownRun& run : files->runs) {
    const config::CohortMember* member = run.job ? run.job->member(files->config.id) : nullptr;
    const std::uint64_t releases = run.account == nullptr ? 0 : run.account->releases;
    if (options.json) {
      out.push_back({{"run", run.run.hex()},
                     {"id", short_name(run.run)},
                     {"name", run.name},
                     {"dataset", run.dataset},
                     {"state", run.state},
                     {"releases", releases},
                     {"epsilon", member == nullptr ? 0.0 : member->facts.epsilon.value()},
                     {"delta", member == nullptr ? 0.0 : member->facts.delta.value()}});
      continue;
    }
    fmt::print("{}  {:10} {:24} data set {:16} epsilon {:<6.4g} {} answers sent\n", short_name(run.run), run.state,
               plain_text(run.name), run.dataset, member == nullptr ? 0.0 : member->facts.epsilon.value(), releases);
  }
  if (options.json) {
    fmt::print("{}\n", Json{{"paused", *paused}, {"jobs", std::move(out)}}.dump(2));
  } else {
    if (files->runs.empty()) fmt::print("No job has been offered yet.\n");
    if (*paused) fmt::print("The silo is paused: it answers nothing until `undertone-silo resume`.\n");
  }
  return kStopped;
}

int approve_job(const OwnerOptions& options) {
  return decide(options, Decision::Approved, "Take part, and charge this?",
                "Approved. The agent takes part when the coordinator offers the job again.");
}

int refuse_job(const OwnerOptions& options) {
  return decide(options, Decision::Refused, "Refuse this job?", "Refused. The coordinator is told a code, no reason.");
}

int withdraw_job(const OwnerOptions& options) {
  return decide(options, Decision::Withdrawn, "Withdraw for good? What was sent stays sent and charged.",
                "Withdrawn. Nothing more is answered in this run.");
}

int list_releases(const OwnerOptions& options, bool values) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  const Result<const KnownRun*> run = find_run(*files, options.job);
  if (!run) return fail(run.error(), kRefused);
  const auto view = files->ledgers.find((*run)->dataset);
  if ((*run)->account == nullptr || view == files->ledgers.end()) {
    fmt::print("Nothing has left for this run.\n");
    return kStopped;
  }
  store::Database& database = *view->second.database;
  Json out = Json::array();
  const Status read = each_entry(database, [&](const LedgerEntry& entry) -> Status {
    const nlohmann::json body = body_of(entry);
    if (text_of(body, "kind") != "released" || text_of(body, "run") != (*run)->run.hex()) return {};
    Result<store::Statement> row = database.prepare("SELECT bytes FROM replies WHERE run = ? AND round = ?");
    const Result<privacy::UInt128> round = privacy::parse_decimal(text_of(body, "round"));
    if (!row || !round) return Error{ErrorCode::LedgerCorrupt, "a reply cannot be read"};
    row->bind_blob(1, (*run)->run.bytes()).bind(2, static_cast<std::int64_t>(*round));
    const Result<bool> found = row->step();
    wire::Decoder decoder{wire::Limits{}};
    const std::string bytes = found && *found ? row->bytes(0) : "";
    const Result<std::vector<wire::Message>> messages = decoder.feed(bytes);
    const auto* reply =
        messages && messages->size() == 1 ? std::get_if<wire::ReplyMessage>(&messages->front()) : nullptr;
    if (reply == nullptr)
      return Error{ErrorCode::LedgerCorrupt, fmt::format("the reply of entry {} cannot be read", entry.sequence)};
    const std::vector<std::int64_t>& sent = queries::values_of(reply->reply.answer);
    Json line = {{"entry", entry.sequence},
                 {"at", text_of(body, "at")},
                 {"round", static_cast<std::uint64_t>(*round)},
                 {"block", text_of(body, "block")},
                 {"numbers", sent.size()},
                 {"bytes", bytes.size()},
                 {"noised", std::holds_alternative<queries::NoisedSums>(reply->reply.answer)},
                 {"sha256", text_of(body, "reply")}};
    if (values) {
      line["values"] = Json::array();
      for (const std::int64_t value : sent)
        line["values"].push_back(std::ldexp(static_cast<double>(value), reply->reply.step_log2));
    }
    out.push_back(std::move(line));
    return {};
  });
  if (!read) return fail(read.error());
  if (options.json) {
    fmt::print("{}\n", Json{{"run", (*run)->run.hex()}, {"releases", std::move(out)}}.dump(2));
    return kStopped;
  }
  for (const Json& line : out) {
    fmt::print("{}  round {:>5}  {:8}  {} numbers{}, {} bytes, SHA-256 {}\n", line["at"].get<std::string>(),
               line["round"].get<std::uint64_t>(), line["block"].get<std::string>(), line["numbers"].get<std::size_t>(),
               line["noised"].get<bool>() ? " with noise" : " exactly (public records)",
               line["bytes"].get<std::size_t>(), line["sha256"].get<std::string>().substr(0, 16));
    if (!values) continue;
    std::string numbers;
    for (const Json& value : line["values"]) numbers += fmt::format(" {:.6g}", value.get<double>());
    fmt::print("   {}\n", numbers);
  }
  fmt::print("{} answers left for the run {}.\n", out.size(), short_name((*run)->run));
  return kStopped;
}

int show_ledger(const OwnerOptions& options) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  Json out = Json::array();
  for (const auto& [dataset, view] : files->ledgers) {
    const queries::Receipt& head = view.ledger->head();
    if (!options.json) fmt::print("data set \"{}\", ledger {}\n", dataset, to_hex(head.ledger));
    const Status read = each_entry(*view.database, [&](const LedgerEntry& entry) -> Status {
      const nlohmann::json body = body_of(entry);
      if (options.json) {
        out.push_back(
            {{"dataset", dataset}, {"sequence", entry.sequence}, {"hash", to_hex(entry.hash)}, {"body", body}});
        return {};
      }
      const std::string run = text_of(body, "run");
      std::string line = fmt::format("{:>7}  {:20}  {:9}", entry.sequence, text_of(body, "at"), text_of(body, "kind"));
      if (!run.empty()) line += "  run " + run.substr(64, 12);
      if (const std::string round = text_of(body, "round"); !round.empty()) line += "  round " + round;
      fmt::print("{}\n", line);
      return {};
    });
    if (!read) return fail(read.error());
  }
  if (options.json) fmt::print("{}\n", out.dump(2));
  if (files->ledgers.empty()) fmt::print("There is no ledger yet.\n");
  return kStopped;
}

int verify_ledgers(const OwnerOptions& options) {
  const Result<Files> files = open_files(options);  // opening reads everything back and checks it
  if (!files) return fail(files.error(), exit_code_of(files.error()));
  for (const auto& [dataset, view] : files->ledgers)
    fmt::print("data set \"{}\": {} entries, sound\n", dataset, view.ledger->head().sequence);
  fmt::print("`undertone ledger verify` checks the same files with separately written code.\n");
  return kStopped;
}

int export_ledger(const OwnerOptions& options, const std::filesystem::path& out) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  if (files->ledgers.size() != 1)
    return fail({ErrorCode::InvalidArgument, "--dataset: name one data set that has a ledger"}, kUsage);
  const LedgerView& view = files->ledgers.begin()->second;
  std::string lines;
  const Status read = each_entry(*view.database, [&](const LedgerEntry& entry) -> Status {
    lines +=
        Json{{"sequence", entry.sequence}, {"previous", to_hex(entry.previous)}, {"body_hex", to_hex(entry.body)},
             {"body", body_of(entry)},     {"hash", to_hex(entry.hash)},         {"signature", to_hex(entry.signature)}}
            .dump() +
        "\n";
    return {};
  });
  if (!read) return fail(read.error());
  if (out.empty() || out == "-") {
    fmt::print("{}", lines);
    return kStopped;
  }
  const Status written = write_file_atomically(out, lines);
  return written ? static_cast<int>(kStopped) : fail(written.error());
}

int show_budget(const OwnerOptions& options) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  const Budget& total = files->config.policy.total;
  Json out = Json::array();
  for (const DatasetConfig& dataset : files->config.datasets) {
    if (!options.dataset.empty() && options.dataset != dataset.name) continue;
    const Budget reserved = reserved_of(*files, dataset.name);
    const auto left = [](auto granted, auto used) {
      using Amount = decltype(granted);
      return used > granted ? Amount() : Amount::from_units(granted.units() - used.units());
    };
    const privacy::EpsilonAmount epsilon_left = left(total.epsilon, reserved.epsilon);
    const privacy::DeltaAmount delta_left = left(total.delta, reserved.delta);
    if (options.json) {
      out.push_back({{"dataset", dataset.name},
                     {"total", amounts(total.epsilon, total.delta)},
                     {"reserved", amounts(reserved.epsilon, reserved.delta)},
                     {"left", amounts(epsilon_left, delta_left)}});
      continue;
    }
    fmt::print("data set \"{}\": epsilon {:.6g} of {:.6g} reserved, {:.6g} left; delta {:.3g} of {:.3g}, {:.3g} left\n",
               dataset.name, reserved.epsilon.value_rounded_up(), total.epsilon.value_rounded_up(),
               epsilon_left.value_rounded_up(), reserved.delta.value_rounded_up(), total.delta.value_rounded_up(),
               delta_left.value_rounded_up());
  }
  if (options.json) fmt::print("{}\n", out.dump(2));
  return kStopped;
}

int set_paused(const OwnerOptions& options, bool paused) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return fail(config.error());
  const Result<DeskFile> desk = open_desk(*config);
  if (!desk) return fail(desk.error());
  if (Status done = desk->desk->set_paused(paused); !done) return fail(done.error());
  fmt::print(fmt::runtime(paused ? "Paused: from now on nothing is answered, until `undertone-silo resume`.\n"
                                 : "Resumed.\n"));
  return kStopped;
}

int list_datasets(const OwnerOptions& options) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  Json out = Json::array();
  for (const DatasetConfig& dataset : files->config.datasets) {
    const auto view = files->ledgers.find(dataset.name);
    const bool begun = view != files->ledgers.end();
    const Budget reserved = reserved_of(*files, dataset.name);
    const std::size_t jobs = begun ? view->second.ledger->accounts().size() : 0;
    if (options.json) {
      out.push_back({{"name", dataset.name},
                     {"csv", dataset.csv.string()},
                     {"ledger", begun ? to_hex(view->second.ledger->id()) : ""},
                     {"jobs", jobs},
                     {"reserved", amounts(reserved.epsilon, reserved.delta)}});
      continue;
    }
    fmt::print("{:20} {}  {} jobs, epsilon {:.6g} reserved{}\n", dataset.name, dataset.csv.string(), jobs,
               reserved.epsilon.value_rounded_up(), begun ? "" : "  (no ledger yet)");
  }
  if (options.json) fmt::print("{}\n", out.dump(2));
  return kStopped;
}

namespace {

/// Opens or begins the ledger of a data set as it is now.
Status begin_ledger(const DatasetConfig& dataset, const Policy& policy, privacy::NoiseKind noise) {
  Result<LedgerFiles> opened = open_ledger_files(dataset);
  if (!opened) return opened.error();
  const Result<LoadedDataset> loaded = load_dataset(dataset, opened->key, progress_line());
  if (!loaded) return loaded.error();
  const Result<Ledger> ledger =
      Ledger::open(opened->database, *opened->head, opened->key, loaded->identity, policy.total, noise, wall_clock);
  if (!ledger) return ledger.error();
  return {};
}

struct Document {
  Json root;
};

Result<Document> read_document(const std::filesystem::path& file) {
  const Result<config::JsonDocument> checked = config::load_json(file, 4U << 20U);
  if (!checked) return checked.error();
  const Result<std::string> text = read_file(file, 4U << 20U);
  if (!text) return text.error();
  return Document{Json::parse(*text, nullptr, false)};  // again, in the order of the file
}

}  // namespace

int add_dataset(const OwnerOptions& options, const NewDataset& added) {
  const Result<SiloConfig> before = load_silo_config(options.config);
  if (!before) return fail(before.error());
  if (config_of(*before, options.dataset) != nullptr)
    return fail({ErrorCode::InvalidArgument, fmt::format("there is a data set \"{}\" already", options.dataset)},
                kUsage);
  if (!SiloId::create(options.dataset))
    return fail({ErrorCode::InvalidArgument, "NAME: expected 1 to 64 of [a-z0-9-]"}, kUsage);
  const Result<Document> read = read_document(options.config);
  const Result<Document> schema = read_document(added.schema);
  if (!read) return fail(read.error());
  if (!schema) return fail(schema.error());
  const Json& fields = schema->root.contains("data") ? schema->root.at("data") : schema->root;
  Json document = read->root;
  if (!document.contains("datasets")) {  // the older form becomes a list of one
    Json first = std::move(document.at("dataset"));
    first["ledger"] = std::move(document.at("ledger"));
    document.erase("dataset");
    document.erase("ledger");
    document["datasets"] = Json::array({std::move(first)});
  }
  const std::filesystem::path folder = std::filesystem::absolute(options.config).parent_path();
  const Json& sibling = document.at("datasets").front().at("ledger");
  const std::filesystem::path ledger = sibling.at("path").get<std::string>();
  const std::filesystem::path head = sibling.at("head").get<std::string>();
  document["datasets"].push_back({{"name", options.dataset},
                                  {"csv", std::filesystem::absolute(added.csv).lexically_relative(folder).string()},
                                  {"schema", fields},
                                  {"holdout_fraction", added.holdout_fraction},
                                  {"holdout_seed", added.holdout_seed},
                                  {"holdout_public", added.holdout_public},
                                  {"ledger",
                                   {{"path", (ledger.parent_path() / (options.dataset + ".sqlite")).string()},
                                    {"head", (head.parent_path() / (options.dataset + ".head.json")).string()},
                                    {"key", sibling.at("key")}}}});
  const std::string text = document.dump(2) + "\n";
  const Result<config::JsonDocument> parsed = config::parse_json(text, options.config.string());
  if (!parsed) return fail(parsed.error());
  config::Problems problems(options.config.string());
  const Result<SiloConfig> after = parse_silo_config(parsed->root, options.config.parent_path(), problems);
  if (!after) return fail(after.error());
  const DatasetConfig& dataset = after->datasets.back();
  if (Status begun = begin_ledger(dataset, after->policy, options.noise); !begun) return fail(begun.error());
  if (Status written = write_file_atomically(options.config, text); !written) return fail(written.error());
  fmt::print("The data set \"{}\" has a ledger, {}, and stands in {}. A running agent serves it after a restart.\n",
             dataset.name, dataset.ledger.string(), options.config.string());
  return kStopped;
}

int amend_dataset(const OwnerOptions& options, bool publish_holdout) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return fail(config.error());
  const DatasetConfig* dataset = options.dataset.empty() && config->datasets.size() == 1
                                     ? &config->datasets.front()
                                     : config_of(*config, options.dataset);
  if (dataset == nullptr)
    return fail({ErrorCode::InvalidArgument,
                 fmt::format("name one of the configuration's data sets, not \"{}\"", plain_text(options.dataset))},
                kUsage);
  Result<LedgerFiles> opened = open_ledger_files(*dataset);
  if (!opened) return fail(opened.error());
  const Result<LoadedDataset> loaded = load_dataset(*dataset, opened->key, progress_line());
  if (!loaded) return fail(loaded.error());
  const Result<bool> amended = Ledger::amend(opened->database, *opened->head, opened->key, loaded->identity,
                                             options.noise, publish_holdout, wall_clock);
  if (!amended) return fail(amended.error());
  fmt::print(
      fmt::runtime(*amended ? "The ledger of \"{}\" now stands for the data set as it is; all spending was carried "
                              "over, runs that were open have ended.\n"
                            : "The data set \"{}\" is what its ledger stands for: nothing was changed.\n"),
      dataset->name);
  return kStopped;
}

}  // namespace undertone::silo
