#include "silo/owner/silo_config.hpp"

#include <algorithm>

#include "shared/jobs/dialect_section.hpp"
#include "shared/jobs/schema_section.hpp"
#include "shared/jobs/simulation_section.hpp"
#include "shared/net/session_config.hpp"
#include "silo/owner/map_section.hpp"

namespace undertone::silo {
namespace {

constexpr std::int64_t kMillisecondsMax = 3'600'000;

ShuffleTrust parse_trust(config::Section section) {
  ShuffleTrust out;
  for (config::Section party : section.objects("shufflers", 1, 64,
                                               "those that you trust not to work with the coordinator, nor with each "
                                               "other")) {
    ShuffleTrust::Party one;
    one.name = party.text("name", "the CN of its certificate");
    if (party.has("key")) {
      const Result<Digest> key =
          digest_from_hex(party.text("key", "as it told you: jobs must name it with this one (default: any)"));
      if (!key) party.problem("key", "expected 64 hexadecimal digits");
      if (key) one.key = *key;
    }
    party.finish();
    out.shufflers.push_back(std::move(one));
  }
  out.forms = section.texts("forms",
                            "of shuffled replies that are acceptable, e.g. [\"shares\"]; \"counts\" lets a "
                            "shuffler read this silo's noised counts");
  out.honest_min = static_cast<std::size_t>(section.integer(
      "honest_min", 1, 4096, "silos of such a job's cohort that you believe honest, this one among them"));
  section.finish();
  return out;
}

Policy parse_policy(config::Section section) {
  std::vector<std::string> models = section.texts("models", "losses that jobs may train, e.g. [\"logistic\"]");
  std::vector<std::string> algorithms =
      section.texts("algorithms", "algorithms that jobs may use, e.g. [\"noisy_minibatch_sgd\"]");
  std::vector<std::string> units = section.texts(
      "units", "protected units that are acceptable, of \"record\", \"person\" and \"sensitive_attribute\"");
  const bool persons = std::find(units.begin(), units.end(), "person") != units.end();
  const bool records = units.size() > (persons ? 1U : 0U) || !persons;
  const std::int64_t records_min =
      records || section.recording() || section.has("records_min")
          ? section.integer("records_min", 1, std::int64_t{1} << 40, "least training records to take part with")
          : 1;
  const std::int64_t persons_min =
      persons || section.recording()
          ? section.integer("persons_min", 1, std::int64_t{1} << 40,
                            "where units has person: least training persons to take part with, of a data set of them")
          : 1;
  if (!persons && !section.recording()) section.refuse("persons_min", "expected none: units has no \"person\"");
  const auto cohort_min = static_cast<std::size_t>(
      section.has("cohort_min") ? section.integer("cohort_min", 1, 10'000, "least silos in a job's cohort (default 1)")
                                : 1);
  const double epsilon_max = section.number("epsilon_max", 0.0, 30.0, "largest epsilon of one job", true);
  const double delta_max = section.number("delta_max", 0.0, 0.5, "largest delta of one job", true);
  // Zero is a budget: nothing is allowed.
  const double epsilon_total =
      section.number("epsilon_total", 0.0, 1e6, "of all jobs together, for each data set; 0: nothing is allowed");
  const double delta_total =
      section.number("delta_total", 0.0, 1.0, "of all jobs together, for each data set; 0: nothing is allowed");
  const Approval approval =
      section.has("approval")
          ? section.choice<Approval>("approval", {{"manual", Approval::Manual}, {"automatic", Approval::Automatic}},
                                     "manual (default): a job that the policy allows waits for undertone-silo approve; "
                                     "automatic: it is accepted at once")
          : Approval::Manual;
  const std::chrono::milliseconds interval(
      section.has("release_interval_ms")
          ? section.integer("release_interval_ms", 0, kMillisecondsMax,
                            "replies leave only at multiples of this after the query, so that how long the silo "
                            "computed cannot be told; 0 (default): as soon as they are ready")
          : 0);
  std::optional<ShuffleTrust> shuffle;
  if (section.has("shuffle"))
    shuffle = parse_trust(section.object("shuffle", "what you believe of shufflers (default: no shuffled job)"));
  const bool projections =
      section.has("projections") &&
      section.boolean("projections",
                      "whether a job may bring a public map from a record's features to what its model reads; the silo "
                      "then holds a second copy of its records, mapped (default false)");
  const bool local_reports =
      section.has("local_reports") &&
      section.boolean("local_reports",
                      "whether a job may ask for a report of every record by itself, each randomised on its own and in "
                      "a secret order, instead of totals with noise (default false)");
  const bool allocation_accounting =
      section.has("allocation_accounting") &&
      section.boolean("allocation_accounting",
                      "whether a job may add less noise because nobody outside knows in which part of a pass a record "
                      "was: its guarantee then rests on this silo keeping that secret, its ledger's key with it "
                      "(default false: jobs whose parts are bins or of a secret permutation are refused)");
  const double answer_products_max =
      section.has("answer_products_max")
          ? section.number(
                "answer_products_max", 1.0, 0x1p42,
                "how many products of a record's number with another one answer may take, a thousand million "
                "of which take about a second: a job with a dearer answer is refused (default 2^38, some "
                "minutes)")
          : 0x1p38;
  const ExplainRefusals explain =
      section.has("explain_refusals")
          ? section.choice<ExplainRefusals>(
                "explain_refusals",
                {{"none", ExplainRefusals::None}, {"kind", ExplainRefusals::Kind}, {"full", ExplainRefusals::Full}},
                "what the coordinator and its operators are told of a refusal: none: that there is one; kind "
                "(default): "
                "one word of policy, counts, budget, schema, shuffler, owner; full: your sentences, with the numbers "
                "in them, and in what your schema differs from the job's")
          : ExplainRefusals::Kind;
  section.finish();
  return {std::move(models),
          std::move(algorithms),
          std::move(units),
          records_min,
          cohort_min,
          *releases::Epsilon::create(epsilon_max),
          *releases::Delta::create(delta_max),
          {*releases::EpsilonAmount::rounded_down(epsilon_total), *releases::DeltaAmount::rounded_down(delta_total)},
          approval,
          interval,
          std::move(shuffle),
          projections,
          explain,
          allocation_accounting,
          local_reports,
          answer_products_max,
          persons_min};
}

/// {"path", "head", "key", "replaces"}
void parse_ledger(config::Section section, const std::filesystem::path& folder, DatasetConfig& out) {
  out.ledger = folder / section.text("path", "the ledger's file");
  out.ledger_head =
      folder / section.text("head", "the ledger's head: a file in another folder, better on another disk");
  out.ledger_key = folder / section.text("key", "the key that signs the ledger; made on first use");
  if (section.has("replaces")) {
    for (const std::string& hex :
         section.texts("replaces", "ids of older ledgers of this data set that this one replaces on purpose")) {
      const Result<Digest> id = digest_from_hex(hex);
      if (!id) section.problem("replaces", "expected ledgers' ids, 64 hexadecimal digits each");
      if (id) out.replaced_ledgers.insert(*id);
    }
  }
  const auto folder_of = [](const std::filesystem::path& path) {
    std::error_code unresolved;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, unresolved), unresolved).parent_path();
  };
  if (!section.recording() && folder_of(out.ledger_head) == folder_of(out.ledger)) {
    section.problem("head", "expected another folder than the ledger's: one backup would restore both, and hide it");
  }
  section.finish();
}

void parse_public(config::Section section, const std::filesystem::path& folder, DatasetConfig& out) {
  const bool in_file = section.has("file");
  if (section.recording() || in_file)
    out.declared_public =
        folder / section.text("file", "a second CSV file, written alike, whose records are all public");
  if (section.recording() || !in_file) {
    data::RowMark mark;
    mark.column = section.text("column", "or a column of csv that the schema does not read: it marks public records");
    mark.value = section.text("value", "what a public record has in it; every other record is protected");
    out.declared_public = std::move(mark);
  } else {
    for (const char* key : {"column", "value"}) section.refuse(key, "expected none beside file");
  }
  section.finish();
}

data::PersonColumn parse_person(config::Section section) {
  data::PersonColumn out;
  out.column = section.text("column", "of csv, that holds a person's id: hashed as it is read, and told to nobody");
  section.otherwise("without_id", "refuse");
  out.without_id_alone = section.choice<bool>("without_id", {{"refuse", false}, {"alone", true}},
                                              "a record whose cell there is empty: refuse (default) makes it an error "
                                              "of the file; alone makes each such record "
                                              "a person of its own, who is then protected as a record is");
  section.finish();
  return out;
}

/// @param consortium that this silo is in
Permit parse_permit(config::Section section, const std::string& consortium) {
  Permit out;
  out.id = section.text("id", "as whoever gave it knows it");
  out.purpose = section.text("purpose", "what the data may be used for, in the permit's words");
  out.until = section.text("until", "its last day, YYYY-MM-DD: from the next midnight (UTC) on nothing is answered");
  const std::string named = section.text("consortium", "the consortium that it is for: this silo's");
  if (!section.recording()) {
    if (const Result<std::int64_t> end = permit_end(out.until); !end) section.problem("until", end.error().message);
    if (named != consortium)
      section.problem("consortium",
                      fmt::format("expected \"{}\", the consortium of this silo, found \"{}\"", consortium, named));
  }
  section.finish();
  return out;
}

/// How the data set is divided into blocks.
void parse_split(config::Section& section, DatasetConfig& out) {
  const bool persons = out.person.has_value();
  out.split.holdout_fraction = section.number("holdout_fraction", 0.0, jobs::kHoldoutFractionMax,
                                              "of the records or persons, kept for evaluation");
  if (!persons || section.recording()) {
    out.split.seed = static_cast<std::uint64_t>(section.integer("holdout_seed", 0, INT64_MAX, "chooses them"));
    if (section.has("records_published"))
      out.split.records_published =
          section.integer("records_published", 1, std::int64_t{1} << 40,
                          "use only so many records and publish that number (default: all of them)");
  }
  if (persons || section.recording()) {
    if (section.has("persons_published"))
      out.split.records_published =
          section.integer("persons_published", 1, std::int64_t{1} << 40,
                          "of persons: use only so many of them and publish that number (default: all of them)");
  }
  if (persons && !section.recording())
    section.refuse("holdout_seed", "expected none: a secret hash of their ids chooses which persons are kept");
}

SqlSource parse_sql(config::Section section, const std::filesystem::path& folder) {
  SqlSource out;
  out.query = folder / section.text("query", "a file with one SELECT, in which :name stands for a parameter");
  config::Section connection = section.object("connection", "how to reach the database: a file, or a variable");
  const bool in_file = connection.has("file");
  if (connection.recording() || in_file)
    out.connection = folder / connection.text("file",
                                              "one line such as postgresql://host=db.example dbname=heart "
                                              "user=reader password=...; also sqlite3:// and odbc://. Nobody but its "
                                              "owner and group may read it");
  if (connection.has("variable") || !in_file)
    out.variable = connection.text("variable", "of the environment, that holds such a line");
  if (in_file && !out.variable.empty() && !connection.recording())
    connection.problem("variable", "expected none beside file");
  connection.finish();
  if (section.has("parameters")) {
    for (config::Section parameter : section.objects("parameters", 0, 64, "what the query's :names stand for")) {
      const std::string name = parameter.text("name", "as it stands in the query, without the colon");
      const std::string value = parameter.text("value", "a text, a number or a date as a text");
      if (!out.parameters.emplace(name, value).second && !parameter.recording())
        parameter.problem("name", "expected each name once");
      parameter.finish();
    }
  }
  section.otherwise("rows_max", out.rows_max);
  out.rows_max = section.integer("rows_max", 1, std::int64_t{1} << 40, "a query that finds more is refused");
  section.otherwise("seconds_max", out.limit.count());
  out.limit = std::chrono::seconds(section.integer("seconds_max", 1, 86'400, "a query that takes longer is given up"));
  section.finish();
  return out;
}

/// Exactly one of the kinds of sources.
Source parse_source(config::Section& section, const std::filesystem::path& folder) {
  const bool recording = section.recording();
  const bool parquet = section.has("parquet");
  const bool sql = section.has("sql");
  const bool csv = section.has("csv") || (!parquet && !sql);
  if (!recording && (csv ? 1 : 0) + (parquet ? 1 : 0) + (sql ? 1 : 0) > 1)
    section.problem("csv", "expected one of csv, parquet and sql");
  Source out = CsvSource{};
  if (recording || sql) out = parse_sql(section.object("sql", "a query of a database, in place of csv"), folder);
  if (recording || parquet)
    out = ParquetSource{folder / section.text("parquet", "a Parquet or Feather file, in place of csv")};
  if (!csv) section.refuse("file", "expected none without csv");
  if (!csv) return out;
  CsvSource file;
  file.file = folder / section.text("csv", "the data: a text with a line of names and a row for each record");
  if (section.has("file"))
    file.dialect =
        jobs::parse_dialect(section.object("file", "how this silo's file is written; other silos' may differ"));
  return file;
}

DatasetConfig parse_dataset(config::Section& section, const std::filesystem::path& folder,
                            const std::string& consortium) {
  DatasetConfig out;
  out.name = section.text("name", "of your choice: 1 to 64 of [a-z0-9-]; the ledger stands for this name");
  out.source = parse_source(section, folder);
  if (section.has("snapshots"))
    out.snapshots = folder / section.text("snapshots",
                                          "the folder of the data set's snapshot: what is served is the table as it "
                                          "was when the data set was added or amended. Without it csv is read at every "
                                          "start, and has to stay as it is");
  if (!section.recording() && !out.snapshots && !std::holds_alternative<CsvSource>(out.source))
    section.problem("snapshots",
                    "expected a folder: what a database or a Parquet file gives is served from a snapshot");
  if (section.has("memory_mib"))
    out.memory_max = static_cast<std::uint64_t>(section.integer(
                         "memory_mib", 0, std::int64_t{1} << 30,
                         "a data set whose records take more memory than this, as numbers of 8 bytes, is served from "
                         "its mapped snapshot: an answer takes longer then (default 2048)"))
                     << 20U;
  out.map = parse_map(section);
  if (!out.map.empty() && !out.snapshots && !section.recording())
    section.problem("map", "expected none without snapshots: it is a snapshot that has the schema's columns");
  out.schema = jobs::parse_schema(section.object("schema", "as a job's data"));
  if (section.has("person"))
    out.person = parse_person(section.object(
        "person",
        "protects persons and not records: all records with one id are one person's. It cannot be changed "
        "afterwards, in either direction"));
  if (section.has("unit")) {
    out.attribute_alone = section.choice<bool>(
        "unit", {{"record", false}, {"sensitive_attribute", true}},
        "record (default); sensitive_attribute: of each record its group by the schema's sensitive columns alone is "
        "protected, and neither its features nor its label. It cannot be changed afterwards, in either direction");
    if (out.attribute_alone && !section.recording() && (out.person || out.schema.sensitive.empty()))
      section.problem("unit",
                      "expected \"record\": sensitive_attribute is of a schema with sensitive columns, without "
                      "\"person\"");
  }
  for (const data::SensitiveColumn& column : out.schema.sensitive)
    if (out.attribute_alone && !section.recording() && (column.also_feature || !column.missing.empty()))
      section.problem(
          "unit",
          "expected \"record\": a job of sensitive_attribute is refused where a sensitive column is a feature "
          "besides, or has values that are not known");
  parse_split(section, out);
  out.holdout_public = section.boolean(
      "holdout_public", "true: you declare the holdout's records public; they are evaluated exactly and not protected");
  if (section.has("permit"))
    out.permit =
        parse_permit(section.object("permit",
                                    "an authority's leave, without which the data set may not be used (default: none "
                                    "is needed). Approvals, statements and evidence name it"),
                     consortium);
  if (out.person && !section.recording()) {
    section.refuse("public", "expected none beside person: a person is protected with all of her records");
  } else if (section.has("public"))
    parse_public(section.object("public",
                                "records that you declare public, beside csv's others: they leave exactly and nothing "
                                "protects them. Settled when the data set is added, for good"),
                 folder, out);
  return out;
}

/// Whether two names are of one file, through links too.
bool is_one_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code none;
  return std::filesystem::weakly_canonical(one, none) == std::filesystem::weakly_canonical(other, none) ||
         std::filesystem::equivalent(one, other, none);
}

/// No data set's records are another's public ones, nor its own.
void check_public_files(const std::vector<DatasetConfig>& datasets, config::Section& root) {
  for (const DatasetConfig& declared : datasets) {
    const auto* open = std::get_if<std::filesystem::path>(&declared.declared_public);
    if (open == nullptr) continue;
    for (const DatasetConfig& dataset : datasets) {
      if (is_one_file(*open, file_of(dataset.source)))
        root.problem("datasets", fmt::format("\"{}\": its file of public records is the source of \"{}\": every record "
                                             "of that would leave as it is",
                                             declared.name, dataset.name));
    }
  }
}

std::vector<DatasetConfig> parse_datasets(config::Section& root, const std::filesystem::path& folder,
                                          const std::string& consortium) {
  std::vector<DatasetConfig> out;
  if (root.has("datasets")) {
    for (config::Section section : root.objects("datasets", 1, kDatasetsMax, "the data sets that jobs may ask about")) {
      DatasetConfig dataset = parse_dataset(section, folder, consortium);
      parse_ledger(section.object("ledger", "of this data set alone"), folder, dataset);
      section.finish();
      out.push_back(std::move(dataset));
    }
  } else {  // the older form, for a single data set
    config::Section section = root.object("dataset");
    out.push_back(parse_dataset(section, folder, consortium));
    section.finish();
    parse_ledger(root.object("ledger"), folder, out.back());
  }
  std::set<std::string> names;
  std::set<std::filesystem::path> files;
  std::set<std::filesystem::path> sources;
  for (const DatasetConfig& dataset : out) {
    if (!dataset.name.empty() && !SiloId::create(dataset.name))
      root.problem("datasets", fmt::format("expected a name of 1 to 64 of [a-z0-9-], got \"{}\"", dataset.name));
    const bool fresh = names.insert(dataset.name).second && files.insert(dataset.ledger).second &&
                       files.insert(dataset.ledger_head).second;
    std::error_code unresolved;
    if (!sources.insert(std::filesystem::weakly_canonical(file_of(dataset.source), unresolved)).second &&
        !root.recording()) {
      root.problem("datasets", fmt::format("\"{}\": its source is another data set's too; the same records would "
                                           "have two budgets",
                                           dataset.name));
    }
    if (!fresh) root.problem("datasets", fmt::format("\"{}\": its name or a ledger's file stands twice", dataset.name));
  }
  if (!root.recording()) check_public_files(out, root);
  return out;
}

std::vector<RemovedDataset> parse_removed(config::Section& root, const std::filesystem::path& folder,
                                          const std::vector<DatasetConfig>& datasets) {
  std::vector<RemovedDataset> out;
  if (!root.has("removed_datasets")) return out;
  for (config::Section section :
       root.objects("removed_datasets", 0, kRemovedMax,
                    "data sets that are not served any more, as `dataset remove` writes them: their ledgers are kept, "
                    "and their records get no second budget")) {
    RemovedDataset removed;
    removed.name = section.text("name", "that it had");
    removed.source = folder / section.text("csv", "its source's file");
    config::Section ledger = section.object("ledger", "of this data set alone");
    removed.ledger = folder / ledger.text("path", "the ledger's file");
    removed.ledger_head = folder / ledger.text("head", "the ledger's head");
    removed.ledger_key = folder / ledger.text("key", "the key that signs the ledger");
    const Result<Digest> id = digest_from_hex(ledger.text("id", "the ledger's, 64 hexadecimal digits"));
    if (!id) ledger.problem("id", "expected a ledger's id, 64 hexadecimal digits");
    if (id) removed.id = *id;
    ledger.finish();
    section.finish();
    for (const DatasetConfig& dataset : datasets) {
      if (!root.recording() && is_one_file(file_of(dataset.source), removed.source))
        root.problem(
            "datasets",
            fmt::format("\"{}\": its source is that of the removed data set \"{}\", whose records have a ledger: "
                        "add it again by that name, and it goes on with that ledger",
                        dataset.name, removed.name));
    }
    out.push_back(std::move(removed));
  }
  return out;
}

net::Proxy parse_proxy(config::Section section, const std::filesystem::path& folder) {
  net::Proxy out;
  out.host = section.text("host", "of an HTTP proxy that allows CONNECT");
  out.port = static_cast<std::uint16_t>(section.integer("port", 1, 65535, "of the proxy"));
  if (section.has("credentials"))
    out.credentials = folder / section.text("credentials", "a file holding user:password (default: none are sent)");
  section.finish();
  return out;
}

}  // namespace

Result<SiloConfig> parse_silo_config(const nlohmann::json& document, const std::filesystem::path& folder,
                                     config::Problems& problems) {
  config::Section root(document, "", problems);
  (void)root.choice<int>("format", {{"undertone.silo/1", 1}}, "what this file is");
  const std::string name = root.text("silo", "this silo's name: the CN of its certificate");
  const Result<SiloId> id = SiloId::create(name);
  if (!id && !name.empty()) root.problem("silo", id.error().message);
  const std::string consortium = root.text("consortium", "the consortium's name: the O of its certificates");

  config::Section coordinator = root.object("coordinator", "where to dial; nothing dials in");
  const std::string host = coordinator.text("host", "a name or an address");
  const auto port = static_cast<std::uint16_t>(coordinator.integer("port", 1, 65535, "its port for silos"));
  const std::int64_t first = coordinator.has("reconnect_first_ms")
                                 ? coordinator.integer("reconnect_first_ms", 1, kMillisecondsMax,
                                                       "wait before the first new attempt (default 250)")
                                 : 250;
  const std::int64_t most =
      coordinator.has("reconnect_most_ms")
          ? coordinator.integer("reconnect_most_ms", 1, kMillisecondsMax, "the wait doubles up to this (default 15000)")
          : 15'000;
  std::optional<net::Proxy> proxy;
  if (coordinator.has("proxy")) proxy = parse_proxy(coordinator.object("proxy", "dial through it"), folder);
  coordinator.finish();
  std::vector<net::LinkAddress> shufflers = net::parse_shufflers(root);
  net::TlsFiles tls = net::parse_tls(root.object("tls", "PEM files; a renewed one serves without a restart"), folder);
  std::vector<DatasetConfig> datasets = parse_datasets(root, folder, consortium);
  std::vector<RemovedDataset> removed = parse_removed(root, folder, datasets);
  Policy policy = parse_policy(root.object("policy", "what is allowed; what is not named is refused"));
  const std::filesystem::path statements = folder / root.text("statements", "folder for privacy statements");
  const std::filesystem::path desk =
      folder /
      (root.has("desk") ? root.text("desk", "file of your decisions on jobs (default desk.sqlite)") : "desk.sqlite");
  for (const DatasetConfig& dataset : datasets) {
    if (desk == dataset.ledger && !root.recording()) root.problem("desk", "expected another file than a ledger");
  }
  net::SessionLimits session;
  if (root.has("session")) session = net::parse_session(root.object("session", "limits of the connection"));
  root.finish();
  if (!problems.none() || !id) return problems.error();
  return SiloConfig{*id,
                    consortium,
                    host,
                    port,
                    std::move(proxy),
                    std::move(shufflers),
                    std::move(tls),
                    std::move(datasets),
                    std::move(removed),
                    std::move(policy),
                    desk,
                    statements,
                    std::chrono::milliseconds(first),
                    std::chrono::milliseconds(most),
                    session};
}

Result<SiloConfig> load_silo_config(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored) && !ignored) {
    return Error{
        ErrorCode::InvalidConfig,
        fmt::format("{}: there is no such file; it is in the silo's kit, and --config says where", file.string())};
  }
  UNDERTONE_TRY(const config::JsonDocument document, config::load_json(file, 4U << 20U));
  config::Problems problems(file.string());
  return parse_silo_config(document.root, file.parent_path(), problems);
}

}  // namespace undertone::silo
