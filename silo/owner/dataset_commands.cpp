#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/certificates/start_up_kit.hpp"
#include "shared/data/csv_survey.hpp"
#include "shared/jobs/schema_section.hpp"
#include "shared/net/probe.hpp"
#include "shared/service/clock.hpp"
#include "silo/owner/job_prospects.hpp"
#include "silo/owner/questions.hpp"
#include "silo/owner/schema_draft.hpp"
#include "silo/owner/snapshots.hpp"
#include "silo/owner/source_options.hpp"
#include "silo/owner/start_checks.hpp"
#include "silo/owner/unused_ledger.hpp"

/// Kits and data sets.
namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;

/// The values that a column's counts are of, in their order; empty where it is a number.
/// @param at its place among what was read: the features, the label, and the sensitive columns, the last one first
std::vector<std::string> values_of(const data::Schema& schema, std::size_t at) {
  const std::size_t features = schema.features.size();
  if (at < features) {
    const auto* list = std::get_if<data::CategoricalColumn>(&schema.features[at]);
    return list == nullptr ? std::vector<std::string>() : list->categories;
  }
  if (at > features && at - features <= schema.sensitive.size())
    return schema.sensitive[schema.sensitive.size() - (at - features)].categories;
  if (const auto* binary = std::get_if<data::BinaryLabel>(&schema.label)) return {binary->negative, binary->positive};
  const auto* several = std::get_if<data::ClassLabel>(&schema.label);
  return several == nullptr ? std::vector<std::string>() : several->classes;
}

/// @param records how many rows there are
void print_column(const data::ColumnFacts& facts, std::size_t at, const data::Schema& schema, bool values,
                  std::int64_t records) {
  std::string line = fmt::format("  {:24}", plain_text(facts.name));
  if (!values) {
    fmt::print("{}\n", line);
    return;
  }
  if (!facts.counts.empty()) {
    const std::vector<std::string> names = values_of(schema, at);
    line += "values";
    for (std::size_t i = 0; i < facts.counts.size(); ++i)
      line += i < names.size() ? fmt::format("{} \"{}\" {}", i == 0 ? "" : ",", plain_text(names[i]), facts.counts[i])
                               : fmt::format(" {}", facts.counts[i]);
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
  // Bounds are wide as a rule: where a tenth is outside, a unit's factor may be missing.
  if (records > 0 && 10 * facts.clamped > records)
    line += fmt::format("\n    WARNING: {} of {} are {}", facts.clamped, records,
                        facts.counts.empty()
                            ? "outside the bounds, and count as a bound: is this the schema's unit? A map "
                              "has a factor for another one"
                            : "none of the listed values: does this table use other words? A map exchanges them");
  fmt::print("{}\n", line);
}

/// This prints what the owner of persons' records may want to mend in the file. It shows no id.
void print_ids(const LoadedDataset& loaded) {
  if (loaded.near_ids > 0)
    fmt::print(
        "  {} persons have ids that differ from another's in case, zeros at the beginning or blanks within alone: "
        "if they are one person under two ids, the promise holds for each id by itself\n",
        loaded.near_ids);
  if (loaded.without_id > 0)
    fmt::print("  {} records have no id, and each of them is protected as a person of its own\n", loaded.without_id);
}

struct Counts {
  explicit Counts(const data::Dataset& dataset)
      : training(dataset.count(releases::Block::Training)),
        holdout(dataset.count(releases::Block::Holdout)),
        public_records(dataset.count(releases::Block::Public)),
        persons(dataset.training.of_persons()) {}
  Eigen::Index training;
  Eigen::Index holdout;
  Eigen::Index public_records;
  bool persons;
};

std::string counts_text(const Counts& counts, bool holdout_public) {
  return fmt::format("{} training and {} holdout {}{}{}", counts.training, counts.holdout,
                     counts.persons ? "persons" : "records", holdout_public ? " (declared public)" : "",
                     counts.public_records > 0
                         ? fmt::format(", and {} that are declared public for good", counts.public_records)
                         : "");
}

/// A data set as its source is now, and the file that would be served.
struct Taken {
  LoadedDataset loaded;
  std::filesystem::path table;
  bool kept = false;  // it is a snapshot that was there before
};

/// Removes a snapshot that nothing stands for, unless it was there before.
void remove_snapshot(const std::filesystem::path& fresh, const std::vector<std::filesystem::path>& before) {
  std::error_code ignored;
  if (std::find(before.begin(), before.end(), fresh) == before.end()) std::filesystem::remove(fresh, ignored);
}

/// Reads the source, into a snapshot where the data set has one.
/// @param ledger its files: their lock lets nobody else take one
Result<Taken> take_source(const DatasetConfig& dataset, const LedgerFiles& ledger) {
  if (!dataset.snapshots) {
    UNDERTONE_TRY(LoadedDataset loaded, load_dataset(dataset, ledger.key, progress_line()));
    return Taken{std::move(loaded), file_of(dataset.source)};
  }
  const std::vector<std::filesystem::path> before = snapshots_of(dataset);
  UNDERTONE_TRY(const Frozen frozen, freeze(dataset, ledger.key, progress_line()));
  Result<LoadedDataset> loaded = load_table(dataset, frozen.file, ledger.key, progress_line());
  if (!loaded) {
    remove_snapshot(frozen.file, before);
    return loaded.error();
  }
  loaded->near_ids = frozen.near_ids;
  return Taken{*std::move(loaded), frozen.file};
}

/// Opens or begins the ledger of a data set as it is now. One that has a ledger and a snapshot, because it comes back
/// or because `add` died before it was in the configuration, goes on with that.
/// @return what it holds
Result<Taken> begin_ledger(const DatasetConfig& dataset, const Policy& policy, crypto::NoiseKind noise) {
  const bool begun = ledger_has_begun(dataset);
  UNDERTONE_TRY(LedgerFiles opened, open_ledger_files(dataset));
  const std::vector<std::filesystem::path> before =
      dataset.snapshots ? snapshots_of(dataset) : std::vector<std::filesystem::path>{};
  Result<Taken> taken = [&]() -> Result<Taken> {
    if (!begun || before.empty()) return take_source(dataset, opened);
    UNDERTONE_TRY(const std::filesystem::path table, served_table(dataset, opened.key));
    UNDERTONE_TRY(LoadedDataset loaded, load_table(dataset, table, opened.key, progress_line()));
    return Taken{std::move(loaded), table, true};
  }();
  if (!taken) return taken.error();
  const Result<Ledger> ledger = Ledger::open(opened.database, *opened.head, opened.key, taken->loaded.identity,
                                             policy.total, noise, service::wall_clock);
  if (!ledger) {
    if (dataset.snapshots && !is_of_storage(ledger.error().code)) remove_snapshot(taken->table, before);
    return ledger.error();
  }
  if (dataset.snapshots) remove_other_snapshots(dataset, taken->table);
  return taken;
}

/// The one that the owner names, or the only one.
Result<const DatasetConfig*> the_dataset(const SiloConfig& config, const std::string& name) {
  if (name.empty() && config.datasets.size() == 1) return &config.datasets.front();
  if (const DatasetConfig* dataset = config_of(config, name)) return dataset;
  return Error{ErrorCode::InvalidArgument,
               fmt::format("name one of the configuration's data sets, not \"{}\"", plain_text(name))};
}

/// The data set that a start-up kit comes with, as long as it is an example: the only one, without file or ledger.
const DatasetConfig* kits_example(const SiloConfig& config) {
  if (config.datasets.size() != 1) return nullptr;
  const DatasetConfig& only = config.datasets.front();
  const bool named_so = only.name == "main" && file_of(only.source).filename() == "data.csv";
  return named_so && !std::filesystem::exists(file_of(only.source)) && !std::filesystem::exists(only.ledger) ? &only
                                                                                                             : nullptr;
}

struct Document {
  Json root;
};

Result<Document> read_document(const std::filesystem::path& file) {
  UNDERTONE_TRY(config::load_json(file, 4U << 20U));
  UNDERTONE_TRY(const std::string text, read_file(file, 4U << 20U));
  return Document{Json::parse(text, nullptr, false)};  // again, in the order of the file
}

/// Prints what was found. @return whether `run` would not start, or refuse everything
bool print_findings(const std::vector<Finding>& findings) {
  bool stops = false;
  for (const Finding& finding : findings) {
    fmt::print(stderr, "{}: {}\n", finding.stops ? "error" : "warning", finding.sentence);
    stops = stops || finding.stops;
  }
  return stops;
}

/// Whether a data set that is not in the configuration has a snapshot.
bool has_snapshot(const std::filesystem::path& folder, const std::string& name) {
  DatasetConfig dataset;
  dataset.name = name;
  dataset.snapshots = folder;
  return !snapshots_of(dataset).empty();
}

/// A data set that was removed comes back with the ledger that it had.
/// @param entry of the new data set, by whose name it is known @return whether it was removed before
bool bring_back(Json& document, Json& entry) {
  if (!document.contains("removed_datasets")) return false;
  Json& removed = document.at("removed_datasets");
  const auto same =
      std::find_if(removed.begin(), removed.end(), [&](const Json& one) { return one.at("name") == entry.at("name"); });
  if (same == removed.end()) return false;
  entry["ledger"] = same->at("ledger");
  entry["ledger"].erase("id");
  removed.erase(same);
  return true;
}

/// Tries the way to the coordinator and to each shuffler, and prints what was found. @return whether all let this silo
/// in
bool reaches_services(const SiloConfig& config) {
  Result<net::Credentials> own = net::Credentials::load(config.tls, net::Side::Client, config.party());
  if (!own) {
    (void)fail(own.error());
    return false;
  }
  const auto reaches = [&](const std::string& what, const net::Destination& to, const certificates::Party& expected) {
    Result<certificates::Party> shown = net::probe(to, *own, config.session);
    if (shown && (shown->role != expected.role || shown->consortium != expected.consortium ||
                  (!expected.name.empty() && shown->name != expected.name)))
      shown = Error{ErrorCode::Unauthorized, fmt::format("it shows the certificate of the {}", describe(*shown))};
    if (shown) {
      fmt::print("{} at {}:{}: it is the {}, and lets this silo in\n", what, to.host, to.port, describe(*shown));
    } else {
      fmt::print(stderr, "error: {} at {}:{}: {}\n", what, to.host, to.port, plain_text(shown.error().message));
    }
    return shown.has_value();
  };
  bool all = reaches("the coordinator", {config.host, config.port, config.proxy},
                     {config.consortium, certificates::Role::Coordinator, ""});
  for (const net::LinkAddress& shuffler : config.shufflers)
    all = reaches(fmt::format("the shuffler \"{}\"", shuffler.name), {shuffler.host, shuffler.port, std::nullopt},
                  {config.consortium, certificates::Role::Shuffler, shuffler.name}) &&
          all;
  return all;
}

/// Says what an offer of the job would be answered now. @param facts of data sets, by name
int answer_offer(const OwnerOptions& options, const std::map<std::string, DatasetFacts>& facts) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  const Result<std::string> text = read_file(options.job_file, wire::kJobOfferBytesMax);
  if (!text) return fail(text.error());
  const Result<jobs::Job> job = jobs::parse_job(*text, options.job_file.string());
  if (!job) return fail(job.error(), kNo);
  std::vector<DatasetObjections> everywhere;
  for (const DatasetConfig& dataset : files->config.datasets) {
    const auto known = facts.find(dataset.name);
    if (known == facts.end()) continue;
    everywhere.push_back({dataset.name, objections_now(*files, dataset, known->second, *job, options.noise)});
  }
  const Prospect prospect = prospect_of(std::move(everywhere), files->config.policy.approval);
  fmt::print("{}\n", prospect.sentence);
  return prospect.taken ? kDone : kNo;
}

}  // namespace

int init_party(const std::filesystem::path& kit, bool renew) {
  const Result<certificates::InitDone> done = certificates::init_party(kit, renew);
  if (!done) return fail(done.error());
  fmt::print("{}", done->instructions);
  return kDone;
}

int check_data(const OwnerOptions& options) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return fail(config.error());
  const bool values = isatty(STDOUT_FILENO) != 0;
  bool stops = print_findings(start_findings(options.config, *config));
  std::map<std::string, DatasetFacts> facts_by_dataset;
  for (const DatasetConfig& dataset : config->datasets) {
    if (!options.dataset.empty() && options.dataset != dataset.name) continue;
    std::optional<LedgerView> ledger;
    if (ledger_has_begun(dataset)) {
      Result<LedgerView> view = view_ledger(dataset, config->policy, options.noise);
      if (!view) return fail(view.error());
      ledger.emplace(*std::move(view));
    }
    // Without a ledger the digest is of no use, so a key of the moment will do.
    const Result<SigningKey> key = SigningKey::from_seed(std::string(32, '\0'));
    DatasetConfig looked = dataset;
    if (looked.person) looked.person->looks_for_near_ids = values;
    const Result<LoadedDataset> loaded = load_dataset(looked, ledger ? *ledger->key : *key, progress_line());
    if (!loaded) return fail(loaded.error());
    const data::Dataset& blocks = loaded->dataset;
    const Counts counts(blocks);
    const std::int64_t rows = blocks.rows();
    fmt::print("data set \"{}\"\n", dataset.name);
    fmt::print("  {}, {} columns used, {} features after encoding\n", counts_text(counts, dataset.holdout_public),
               loaded->columns.size(), blocks.read(releases::Block::Training).features());
    if (blocks.training_source)
      fmt::print("  served from its mapped snapshot: in memory its records would take more than memory_mib allows\n");
    for (std::size_t at = 0; at < loaded->columns.size(); ++at)
      print_column(loaded->columns[at], at, dataset.schema, values, rows);
    if (values && dataset.person) print_ids(*loaded);
    if (ledger) stops = print_findings(content_findings(ledger->ledger->dataset(), loaded->identity)) || stops;
    stops = print_findings(count_findings(options.config, *config, dataset.name, counts.training)) || stops;
    facts_by_dataset.emplace(dataset.name, DatasetFacts{dataset.schema, counts.training, counts.holdout,
                                                        dataset.holdout_public, counts.public_records, dataset.unit()});
    const auto records = static_cast<double>(counts.training);
    if (100.0 * config->policy.delta_max.value() * records > 1.0)
      fmt::print(
          "  WARNING: policy.delta_max is {:.3g}, not far below one in the {} records: a job may then promise no more "
          "than publishing a record at random would keep. At most {:.1g} is advised\n",
          config->policy.delta_max.value(), counts.training, 0.01 / records);
  }
  if (!values) fmt::print("What the columns hold is shown on a terminal alone.\n");
  const int answer = options.job_file.empty() ? kDone : answer_offer(options, facts_by_dataset);
  if (options.connect) stops = !reaches_services(*config) || stops;
  fmt::print("No record was asked about, and nothing was charged.\n");
  return stops ? kCannotStart : answer;
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
                     {"source", file_of(dataset.source).string()},
                     {"ledger", begun ? to_hex(view->second.ledger->id()) : ""},
                     {"jobs", jobs},
                     {"reserved", amounts(reserved.epsilon, reserved.delta)}});
      continue;
    }
    fmt::print("{:20} {}  {} jobs, epsilon {:.6g} reserved{}\n", dataset.name, file_of(dataset.source).string(), jobs,
               reserved.epsilon.value_rounded_up(), begun ? "" : "  (no ledger yet)");
  }
  if (options.json) fmt::print("{}\n", out.dump(2));
  return kDone;
}

int draft_dataset(const DraftedDataset& drafted) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  if (drafted.out.empty() && !terminal)
    return fail({ErrorCode::InvalidArgument,
                 "a draft tells what the file holds: it is shown on a terminal alone; name a file of yours with --out"},
                kUsage);
  const Result<SourceEntry> source = source_of(drafted.source, std::filesystem::current_path());
  if (!source) return fail(source.error(), kUsage);
  const Result<data::CsvSurvey> survey = survey_of(source->source, drafted.dialect);
  if (!survey) return fail(survey.error());
  const bool is_csv = std::holds_alternative<CsvSource>(source->source);
  const Result<SchemaDraft> draft = draft_schema(*survey, drafted.label);
  if (!draft) return fail(draft.error());
  const std::string text = draft->document.dump(2) + "\n";
  if (drafted.out.empty()) {
    fmt::print("{}", text);
  } else if (Status written = write_file_atomically(drafted.out, text); !written) {
    return fail(written.error());
  }
  if (terminal) {
    fmt::print("\n{} records, {} columns{}{}\n", survey->records, survey->columns.size(),
               is_csv ? fmt::format(", separated by {}", data::named(survey->dialect.separator).words) : "",
               survey->dialect.numbers.decimal_comma ? ", decimal comma" : "");
    // As the split counts, so that a cohort can be written down.
    const auto held_out = static_cast<std::int64_t>(0.2 * static_cast<double>(survey->records));
    if (held_out > 0)
      fmt::print("  with a fifth held out a job's cohort says NAME={}+{}\n", survey->records - held_out, held_out);
    for (const std::string& remark : draft->remarks) fmt::print("  {}\n", plain_text(remark));
  } else {
    fmt::print("What the columns hold is shown on a terminal alone.\n");
  }
  fmt::print(
      "The bounds are left blank: read off the data they would publish one person's value each. Say what is plausible\n"
      "in the world. Lists of categories were read off the file: see that they are what anybody could write down who "
      "has\nnot seen it. Nothing was sent and nothing was charged.\n");
  return kDone;
}

int add_dataset(const OwnerOptions& options, const NewDataset& added) {
  const Result<SiloConfig> before = load_silo_config(options.config);
  if (!before) return fail(before.error());
  const DatasetConfig* example = kits_example(*before);
  const DatasetConfig* const gone = added.instead_of.empty() ? nullptr : config_of(*before, added.instead_of);
  if (gone == nullptr && !added.instead_of.empty())
    return fail({ErrorCode::InvalidArgument, fmt::format("there is no data set \"{}\"", plain_text(added.instead_of))},
                kUsage);
  if (const DatasetConfig* same = config_of(*before, options.dataset); same != nullptr && same != example)
    return fail({ErrorCode::InvalidArgument, fmt::format("there is a data set \"{}\" already{}", options.dataset,
                                                         same == gone ? ": give the new one another name" : "")},
                kUsage);
  if (!SiloId::create(options.dataset))
    return fail({ErrorCode::InvalidArgument, "NAME: expected 1 to 64 of [a-z0-9-]"}, kUsage);
  const Result<Document> read = read_document(options.config);
  const Result<Document> schema = read_document(added.schema);
  if (!read) return fail(read.error());
  if (!schema) return fail(schema.error());
  const Json& fields = schema->root.contains("data") ? schema->root.at("data") : schema->root;
  if (const Status said = jobs::check_bounds_said(fields, added.schema.string()); !said) return fail(said.error());
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
  const Result<SourceEntry> source = source_of(added.source, folder);
  if (!source) return fail(source.error(), kUsage);
  Json entry = {{"name", options.dataset}};
  entry.update(source->entry);
  const bool is_csv = std::holds_alternative<CsvSource>(source->source);
  if (is_csv && schema->root.contains("data") && schema->root.contains("file")) entry["file"] = schema->root.at("file");
  if (entry.contains("file") && !entry.at("file").is_object())
    return fail({ErrorCode::InvalidConfig, fmt::format("{}: /file: expected an object", added.schema.string())});
  if (!added.dialect.separator.empty()) entry["file"]["separator"] = added.dialect.separator;
  if (!added.dialect.decimal.empty()) entry["file"]["decimal"] = added.dialect.decimal;
  if (!added.dialect.encoding.empty()) entry["file"]["encoding"] = added.dialect.encoding;
  if (added.dialect.grouped) entry["file"]["grouped"] = true;
  if (!is_csv && entry.contains("file"))
    return fail({ErrorCode::InvalidArgument, "--separator, --decimal, --grouped and --encoding go with --csv"}, kUsage);
  entry["snapshots"] = (ledger.parent_path() / "snapshots").string();
  if (!added.map.empty()) {
    const Result<Document> map = read_document(added.map);
    if (!map) return fail(map.error());
    if (!map->root.is_object() || !map->root.contains("map"))
      return fail({ErrorCode::InvalidConfig, fmt::format("{}: expected an object with \"map\"", added.map.string())});
    for (const auto& [key, value] : map->root.items())
      if (key != "map" && key != "note")
        return fail(
            {ErrorCode::InvalidConfig,
             fmt::format(
                 "{}: /{}: expected \"map\" alone, and perhaps a \"note\"; how the file is written, --separator, "
                 "--decimal and --encoding say",
                 added.map.string(), plain_text(key))});
    entry["map"] = map->root.at("map");
  }
  entry["schema"] = fields;
  const std::optional<double> share = holdout_fraction(added.holdout_fraction);
  if (!share) return fail({ErrorCode::InvalidArgument, "expected a share from 0 to 0.9: nothing was added"}, kUsage);
  entry["holdout_fraction"] = *share;
  if (added.person_column.empty()) {
    entry["holdout_seed"] = added.holdout_seed;
  } else {
    entry["person"] = {{"column", added.person_column}};
    if (added.without_id != "refuse") entry["person"]["without_id"] = added.without_id;
  }
  entry["holdout_public"] = added.holdout_public;
  if (!added.public_file.empty() && !added.public_column.empty())
    return fail(
        {ErrorCode::InvalidArgument, "public records are those of a file or those that a column marks, not both"},
        kUsage);
  if (added.public_column.empty() != added.public_value.empty())
    return fail({ErrorCode::InvalidArgument, "--public-column and --public-value go together"}, kUsage);
  if (!added.public_file.empty())
    entry["public"] = {{"file", std::filesystem::absolute(added.public_file).lexically_relative(folder).string()}};
  if (!added.public_column.empty()) entry["public"] = {{"column", added.public_column}, {"value", added.public_value}};
  entry["ledger"] = {{"path", (ledger.parent_path() / (options.dataset + ".sqlite")).string()},
                     {"head", (head.parent_path() / (options.dataset + ".head.json")).string()},
                     {"key", sibling.at("key")}};
  if (example != nullptr) document["datasets"] = Json::array();
  std::optional<UnusedLedger> unused;  // with its locks, until it is removed
  if (gone != nullptr) {
    Result<UnusedLedger> found = UnusedLedger::find(*gone, before->policy, options.noise);
    if (!found) return fail(found.error());
    unused.emplace(*std::move(found));
    Json& datasets = document.at("datasets");
    std::erase_if(datasets.get_ref<Json::array_t&>(), [&](const Json& one) { return one.at("name") == gone->name; });
  }
  const bool back = bring_back(document, entry);
  if (back && gone != nullptr)
    return fail(
        {ErrorCode::InvalidArgument,
         fmt::format("\"{}\" was removed before, and would come back with its ledger: give the new one another name",
                     options.dataset)},
        kUsage);
  // A file that was served without a snapshot is so again: its ledger stands for the file's own bytes.
  if (back && is_csv && !has_snapshot(folder / entry.at("snapshots").get<std::string>(), options.dataset))
    entry.erase("snapshots");
  document["datasets"].push_back(std::move(entry));
  const std::string text = document.dump(2) + "\n";
  const Result<config::JsonDocument> parsed = config::parse_json(text, options.config.string());
  if (!parsed) return fail(parsed.error());
  config::Problems problems(options.config.string());
  const Result<SiloConfig> after = parse_silo_config(parsed->root, options.config.parent_path(), problems);
  if (!after) return fail(after.error());
  const DatasetConfig& dataset = after->datasets.back();
  const Result<Taken> begun = begin_ledger(dataset, after->policy, options.noise);
  if (!begun && back && begun.error().code == ErrorCode::DatasetChanged) {
    // Its ledger is of another content. The owner can amend what stands in the configuration, and nothing else.
    if (Status written = write_file_atomically(options.config, text); !written) return fail(written.error());
    fmt::print(
        "The data set \"{}\" is back, but its ledger stands for what it held before: `undertone-silo dataset amend "
        "{}` says that this is meant. No agent serves it until then.\n",
        dataset.name, dataset.name);
    return kDone;
  }
  if (!begun) return fail(begun.error());
  if (unused && !confirmed(options, "Take the other data set back, its ledger and its snapshot for good?")) return kNo;
  if (Status written = write_file_atomically(options.config, text); !written) return fail(written.error());
  if (unused) {
    if (const Status removed = std::move(*unused).remove(); !removed) return fail(removed.error());
    fmt::print("\"{}\" is taken back. A coordinator that has met its ledger names it when this silo connects.\n",
               gone->name);
  }
  if (example != nullptr)
    fmt::print("The kit's example, \"{}\", whose file there never was, has made room.\n", example->name);
  if (back || begun->kept)
    fmt::print("It {} before, and goes on with the ledger {}.\n", back ? "was removed" : "was begun",
               begun->kept ? "and the snapshot that it had: `undertone-silo dataset amend` reads its source again"
                           : "that it had");
  fmt::print("The data set \"{}\" has a ledger, {}, and stands in {}. A running agent serves it after a restart.\n",
             dataset.name, dataset.ledger.string(), options.config.string());
  fmt::print("  {}: a job's cohort must say the same\n",
             counts_text(Counts(begun->loaded.dataset), dataset.holdout_public));
  if (dataset.snapshots)
    fmt::print("  what is served is {}: its source may change, and is read again by `undertone-silo dataset amend`\n",
               begun->table.string());
  if (isatty(STDOUT_FILENO) != 0 && dataset.person) print_ids(begun->loaded);
  return kDone;
}

int remove_dataset(const OwnerOptions& options) {
  const Result<SiloConfig> before = load_silo_config(options.config);
  if (!before) return fail(before.error());
  const Result<const DatasetConfig*> named = the_dataset(*before, options.dataset);
  if (!named) return fail(named.error(), kUsage);
  const DatasetConfig& dataset = **named;
  if (before->datasets.size() == 1)
    return fail({ErrorCode::InvalidArgument,
                 fmt::format("\"{}\" is the only data set: add another first, then remove this one", dataset.name)},
                kUsage);
  const Result<Document> read = read_document(options.config);
  if (!read) return fail(read.error());
  Json document = read->root;
  if (!document.contains("removed_datasets")) document["removed_datasets"] = Json::array();
  Json& datasets = document.at("datasets");
  const auto entry = std::find_if(datasets.begin(), datasets.end(),
                                  [&](const Json& one) { return one.at("name").get<std::string>() == dataset.name; });
  if (entry == datasets.end())
    return fail({ErrorCode::InvalidConfig, fmt::format("{}: the data set \"{}\" went while this command ran",
                                                       options.config.string(), dataset.name)});
  const bool begun = ledger_has_begun(dataset);
  if (begun) {
    const Result<LedgerView> view = view_ledger(dataset, before->policy, options.noise);
    if (!view) return fail(view.error(), exit_code_of(view.error()));
    const auto& accounts = view->ledger->accounts();
    const auto open =
        std::count_if(accounts.begin(), accounts.end(), [](const auto& one) { return !one.second.ended; });
    fmt::print("\"{}\", {}: {} runs, {} of them open; epsilon {:.6g} is reserved\n", dataset.name,
               file_of(dataset.source).string(), accounts.size(), open,
               view->ledger->epsilon_reserved().value_rounded_up());
    const std::filesystem::path folder = std::filesystem::absolute(options.config).parent_path();
    Json kept = {{"name", dataset.name},
                 {"csv", std::filesystem::absolute(file_of(dataset.source)).lexically_relative(folder).string()},
                 {"ledger", entry->at("ledger")}};
    kept["ledger"].erase("replaces");
    kept["ledger"]["id"] = to_hex(view->ledger->id());
    document.at("removed_datasets").push_back(std::move(kept));
  }
  if (!confirmed(options, "Serve it no more? Its ledger is kept, and what was spent stays spent.")) return kNo;
  datasets.erase(entry);
  const std::string text = document.dump(2) + "\n";
  const Result<config::JsonDocument> parsed = config::parse_json(text, options.config.string());
  if (!parsed) return fail(parsed.error());
  config::Problems problems(options.config.string());
  const Result<SiloConfig> after = parse_silo_config(parsed->root, options.config.parent_path(), problems);
  if (!after) return fail(after.error());
  if (Status written = write_file_atomically(options.config, text); !written) return fail(written.error());
  fmt::print("The data set \"{}\" is removed from {}. A running agent serves it until its restart.\n", dataset.name,
             options.config.string());
  if (begun) fmt::print("Keep {}: its records get no second budget.\n", dataset.ledger.string());
  return kDone;
}

int amend_dataset(const OwnerOptions& options, bool publish_holdout) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return fail(config.error());
  const Result<const DatasetConfig*> named = the_dataset(*config, options.dataset);
  if (!named) return fail(named.error(), kUsage);
  const DatasetConfig* dataset = *named;
  const bool begun = ledger_has_begun(*dataset);
  Result<LedgerFiles> opened = open_ledger_files(*dataset);
  if (!opened) return fail(opened.error());
  const Result<std::filesystem::path> before = served_table(*dataset, opened->key);
  const Result<Taken> taken = take_source(*dataset, *opened);
  if (!taken) return fail(taken.error());
  fmt::print("\"{}\", {}\n  {}\n", dataset->name, file_of(dataset->source).string(),
             counts_text(Counts(taken->loaded.dataset), dataset->holdout_public));
  if (isatty(STDOUT_FILENO) != 0 && dataset->person) print_ids(taken->loaded);
  const auto keep_what_was = [&] {
    if (dataset->snapshots && before && *before != taken->table) remove_other_snapshots(*dataset, *before);
  };
  if (!confirmed(options, publish_holdout ? "Is that the data set now, and are its holdout's records public for good?"
                                          : "Is that the data set now? What was spent on it stays spent.")) {
    keep_what_was();
    return kNo;
  }
  if (!begun) {
    const Result<Ledger> first = Ledger::open(opened->database, *opened->head, opened->key, taken->loaded.identity,
                                              config->policy.total, options.noise, service::wall_clock);
    if (!first) return fail(first.error());
    fmt::print("The data set \"{}\" has a ledger now.\n", dataset->name);
  } else {
    const Result<bool> amended = Ledger::amend(opened->database, *opened->head, opened->key, taken->loaded.identity,
                                               options.noise, publish_holdout, service::wall_clock);
    if (!amended) {
      // A head that could not be written leaves an entry that stands for the new one: both are kept then.
      if (!is_of_storage(amended.error().code)) keep_what_was();
      return fail(amended.error());
    }
    fmt::print(
        fmt::runtime(*amended ? "The ledger of \"{}\" now stands for the data set as it is; all spending was carried "
                                "over, runs that were open have ended.\n"
                              : "The data set \"{}\" is what its ledger stands for: nothing was changed.\n"),
        dataset->name);
  }
  if (dataset->snapshots) remove_other_snapshots(*dataset, taken->table);
  return kDone;
}

int move_dataset(const OwnerOptions& options) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return fail(config.error());
  const Result<const DatasetConfig*> named = the_dataset(*config, options.dataset);
  if (!named) return fail(named.error(), kUsage);
  if (!ledger_has_begun(**named))
    return fail({ErrorCode::InvalidArgument, fmt::format("the data set \"{}\" has no ledger yet", (*named)->name)},
                kNo);
  if (const Status moved = move_ledger(**named); !moved) return fail(moved.error());
  fmt::print(
      "The ledger of \"{}\" belongs to {} from now on. You have said that no copy of it is left anywhere else: an "
      "agent that "
      "serves one would spend the budget of these records a second time.\n",
      (*named)->name, (*named)->ledger.string());
  return kDone;
}

int filter_dataset(const OwnerOptions& options, const FilterGrant& wanted) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return fail(config.error());
  const Result<const DatasetConfig*> dataset = the_dataset(*config, options.dataset);
  if (!dataset) return fail(dataset.error(), kUsage);
  const bool amounts_given = wanted.epsilon && wanted.delta;
  if (wanted.epsilon.has_value() != wanted.delta.has_value() || amounts_given == wanted.everything)
    return fail({ErrorCode::InvalidArgument, "give --epsilon and --delta, or --all for everything that is left"},
                kUsage);
  std::optional<Budget> grant;
  if (amounts_given) {
    const Result<releases::Epsilon> epsilon = releases::Epsilon::create(*wanted.epsilon);
    const Result<releases::Delta> delta = releases::Delta::create(*wanted.delta);
    if (!epsilon) return fail(epsilon.error(), kUsage);
    if (!delta) return fail(delta.error(), kUsage);
    const Result<releases::EpsilonAmount> epsilon_amount = releases::EpsilonAmount::rounded_down(epsilon->value());
    if (!epsilon_amount) return fail(epsilon_amount.error(), kUsage);
    grant = Budget{*epsilon_amount, *releases::DeltaAmount::rounded_down(delta->value())};
  }
  if (!std::filesystem::exists((*dataset)->ledger))
    return fail({ErrorCode::InvalidArgument, fmt::format("the data set \"{}\" has no ledger yet", (*dataset)->name)},
                kNo);
  Result<LedgerFiles> opened = open_ledger_files(**dataset);
  if (!opened) return fail(opened.error());
  const Result<silo::FilterTerms> terms =
      Ledger::start_filter(opened->database, *opened->head, opened->key, (*dataset)->name, config->policy.total,
                           {grant, wanted.another}, options.noise, service::wall_clock);
  if (!terms) return fail(terms.error(), kNo);
  fmt::print(
      "The data set \"{}\" is charged by a filter from now on: epsilon {:.6g} and delta {:.3g} are reserved for all "
      "later jobs together,\nand their answers may cost rho {:.6g} in all, each charged when it leaves. This cannot be "
      "taken back.\n",
      (*dataset)->name, terms->epsilon.value_rounded_up(), terms->delta.value_rounded_up(),
      terms->shift_squared.value_rounded_down() / 2.0);
  return kDone;
}

}  // namespace undertone::silo
