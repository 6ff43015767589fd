#include "silo/owner/evidence_pack.hpp"

#include <cerrno>
#include <cstdlib>
#include <map>
#include <minizip/zip.h>
#include <openssl/crypto.h>
#include <set>
#include <sqlite3.h>
#include <unistd.h>

#include "shared/base/files.hpp"
#include "shared/preview/planned_releases.hpp"
#include "shared/report/html.hpp"
#include "shared/report/page_assets.hpp"
#include "shared/service/clock.hpp"
#include "shared/service/program.hpp"
#include "silo/agent/shuffled_reply.hpp"
#include "silo/owner/job_decisions.hpp"
#include "verifier/findings_json.hpp"

namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;
using Pack = std::map<std::string, std::string>;  // bytes by name

constexpr std::size_t kStatementBytesMax = std::size_t{4} << 20U;
constexpr std::size_t kLedgerBytesMax = std::size_t{1} << 30U;  // an archive of less than 4 GiB has one form
constexpr std::size_t kSmallFileBytesMax = std::size_t{1} << 20U;
constexpr int kCopies = 10;  // of a ledger, until its head stood still meanwhile

std::string json_text(const Json& value) { return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

/// A copy of a ledger and the head that was outside it at that moment.
Status add_ledger(const DatasetConfig& dataset, const LedgerView& view, const std::filesystem::path& folder,
                  Pack& pack) {
  for (int i = 0; i < kCopies; ++i) {
    UNDERTONE_TRY(const std::string head, read_file(dataset.ledger_head, kSmallFileBytesMax));
    const std::filesystem::path copy = folder / fmt::format("{}-{}.sqlite", dataset.name, i);
    UNDERTONE_TRY(view.database->copy_to(copy));
    UNDERTONE_TRY(const std::string after, read_file(dataset.ledger_head, kSmallFileBytesMax));
    if (head != after) {  // the agent has answered meanwhile
      std::error_code ignored;
      std::filesystem::remove(copy, ignored);
      continue;
    }
    UNDERTONE_TRY(pack[fmt::format("ledgers/{}.sqlite", dataset.name)], read_file(copy, kLedgerBytesMax));
    pack[fmt::format("ledgers/{}.head.json", dataset.name)] = head;
    const std::filesystem::path copied_head = folder / (dataset.name + ".head.json");
    UNDERTONE_TRY(write_file_atomically(copied_head, head));
    pack[fmt::format("ledgers/{}.verdict.json", dataset.name)] =
        json_text(verifier::to_json(verifier::verify_ledger(copy, {copied_head, dataset.name, {}})));
    return {};
  }
  return Error{ErrorCode::StorageFailed, "the agent answers without a pause: ask again when it does not"};
}

/// What one run's part of the page shows.
struct RunPart {
  const KnownRun* run = nullptr;
  std::string summary;
  std::string statement;
  std::string decided;
  std::size_t answers = 0;
};

Result<RunPart> add_run(const Files& files, const KnownRun& run, Pack& pack) {
  RunPart part{&run, "", "", "", 0};
  const std::string folder = fmt::format("runs/{}/", run.run.hex());
  if (!run.job_bytes.empty()) pack[folder + "job.json"] = run.job_bytes;
  const Result<std::string> summary = summary_of(files, run);
  part.summary = summary ? *summary : summary.error().message + "\n";
  pack[folder + "summary.txt"] = part.summary;
  if (const Result<planning::Plan> plan = plan_of(files, run); plan) {
    Json releases = Json::array();
    for (const preview::PlannedRelease& one : preview::releases_of(*plan)) {
      releases.push_back(preview::to_json(one));
      releases.back()["in_words"] = preview::describe(one);
    }
    pack[folder + "plan.json"] = json_text({{"accountant", plan->accountant()},
                                            {"epsilon", plan->epsilon().value_rounded_up()},
                                            {"delta", plan->delta().value_rounded_up()},
                                            {"releases", std::move(releases)}});
  }
  UNDERTONE_TRY(const OwnersWord word, files.desk.desk->word(run.run));
  part.decided = word.who.empty() ? "nobody was asked, or it was not kept: the policy decided"
                                  : fmt::format("{} on {}", word.who, service::utc_minute(word.at));
  pack[folder + "decision.json"] = json_text({{"state", run.state},
                                              {"who", word.who},
                                              {"at", word.at == 0 ? "" : service::utc_time(word.at)},
                                              {"reason", word.reason},
                                              {"reserved_at", run.account == nullptr ? "" : run.at}});
  for (const char* ending : {".txt", ".json"}) {
    const Result<std::string> statement =
        read_file(files.config.statements / (run.run.hex() + ending), kStatementBytesMax);
    if (!statement) continue;
    pack[folder + "statement" + ending] = *statement;
    if (ending == std::string_view(".txt")) part.statement = *statement;
  }
  Json left;
  UNDERTONE_TRY(releases_json(files, run, false, left));
  part.answers = left.size();
  pack[folder + "releases.json"] = json_text({{"run", run.run.hex()}, {"releases", std::move(left)}});
  return part;
}

/// Whether a ledger keeps what a silo sent to shufflers: with it, whoever has the coordinator's key undoes the
/// shuffling.
Result<bool> has_sealed_replies(store::Database& database) {
  UNDERTONE_TRY(store::Statement rows, database.prepare("SELECT bytes FROM replies"));
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) return false;
    if (is_shuffled(rows.bytes(0))) return true;
  }
}

std::string section(const std::string& title, const std::string& content) {
  return fmt::format("<section><h2>{}</h2>\n{}</section>\n", report::escape_html(title), content);
}
std::string paragraph(const std::string& text) { return fmt::format("<p>{}</p>\n", report::escape_html(text)); }
std::string verbatim(const std::string& text) { return fmt::format("<pre>{}</pre>\n", report::escape_html(text)); }

/// The page that leads through the pack, under what NIST SP 800-226 has an evaluator ask.
std::string page_of(const Files& files, const std::vector<RunPart>& parts, const Pack& pack,
                    const std::string& made_at) {
  report::HtmlTable runs{
      "Runs of this pack. An epsilon is of the whole run, for each unit, against whom its statement says.",
      {"job", "run", "data set", "state", "decided by", "answers", "epsilon", "delta"},
      {},
      ""};
  for (const RunPart& part : parts) {
    const KnownRun& run = *part.run;
    runs.rows.push_back({run.name, short_name(run.run), run.dataset, run.state, part.decided,
                         std::to_string(part.answers), fmt::format("{:.6g}", run.epsilon),
                         fmt::format("{:.3g}", run.delta)});
  }
  report::HtmlTable budgets{"What the policy grants each data set, and what its ledger has reserved.",
                            {"data set", "protects each", "epsilon granted", "reserved", "delta granted", "reserved"},
                            {},
                            ""};
  const Budget& total = files.config.policy.total;
  std::string verdicts;
  for (const DatasetConfig& dataset : files.config.datasets) {
    if (!pack.contains(fmt::format("ledgers/{}.sqlite", dataset.name))) continue;
    const Budget reserved = reserved_of(files, dataset.name);
    budgets.rows.push_back({dataset.name, std::string(releases::to_string(dataset.unit())),
                            fmt::format("{:.6g}", total.epsilon.value_rounded_down()),
                            fmt::format("{:.6g}", reserved.epsilon.value_rounded_up()),
                            fmt::format("{:.3g}", total.delta.value_rounded_down()),
                            fmt::format("{:.3g}", reserved.delta.value_rounded_up())});
    if (dataset.permit)
      verdicts += paragraph(
          fmt::format("Data set \"{}\" may be used by the permit {}.", dataset.name, describe(*dataset.permit)));
    const auto verdict = pack.find(fmt::format("ledgers/{}.verdict.json", dataset.name));
    if (verdict == pack.end()) continue;
    const Json read = Json::parse(verdict->second, nullptr, false);
    verdicts += paragraph(fmt::format("Data set \"{}\": {} entries, {}.", dataset.name, read.value("entries", 0),
                                      read.value("sound", false) ? "sound" : "REFUSED: see the verdict"));
  }
  std::string summaries;
  std::string statements;
  for (const RunPart& part : parts) {
    summaries += verbatim(part.summary);
    statements += part.statement.empty()
                      ? paragraph(fmt::format("Run {} has no statement yet.", short_name(part.run->run)))
                      : verbatim(part.statement);
  }
  const std::string body =
      section("What this is",
              paragraph(fmt::format(
                  "Evidence of the silo {} of {}, made on {} by {}. manifest.json lists every file with its "
                  "SHA-256 and is signed by the key of each ledger; \"undertone ledger verify PACK\" checks "
                  "all of it.",
                  files.config.id.name(), files.config.consortium, made_at, service::kSilo.build())) +
                  report::to_html(runs)) +
      section("Privacy parameters and the unit of privacy", report::to_html(budgets) + summaries) +
      section(
          "Trust model",
          paragraph(
              "Where a run's summary does not say that it rests on others, the silo trusts nobody: whatever it sends "
              "is "
              "differentially private, whoever listens, the coordinator and the other silos among them. Where it does, "
              "the run's statement says whom it rests on, and what is left without them. Neighbours are what each "
              "statement says: the unit is in the table above. The policy below bounds what the agent may accept, and "
              "no message changes clip, noise, sampling or the number of answers.") +
              verbatim(pack.at("policy.json"))) +
      section("Mechanisms and composition",
              paragraph(
                  "runs/RUN/plan.json has every planned release with its noise, and the accountant. Certified numeric "
                  "accountants bound the composition from above. Source and argument: docs/accounting.md and "
                  "docs/privacy.md of the program.")) +
      section(
          "Implementation: randomness, arithmetic, side channels",
          paragraph("Noise is drawn from the operating system's randomness through AES-256 in counter mode, exactly, "
                    "on integer "
                    "lattices. Sensitivity is enforced by clipping with proven bounds on rounding. When the silo "
                    "answers is a "
                    "channel of its own, which a release interval of the policy closes; each statement says whether.") +
              statements) +
      section("Budget and ledger",
              verdicts + paragraph("ledgers/ has each ledger as it is, with every answer that left, the head "
                                   "that was kept outside it, and the verdict of separately written code.")) +
      section(
          "Data exposure and access",
          paragraph(
              "Records stay in the institution's files; the agent reads them, and nothing in this pack is of a record "
              "but what has left already. decision.json of each run says which user of this machine decided, by the "
              "command or by the page. Who may use this machine is the institution's to say.")) +
      section("Versions", verbatim(pack.at("versions.json")));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src {}; base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n<title>Evidence "
      "of {}</title>\n<style>{}</style>\n</head>\n<body>\n<header><h1>Evidence of "
      "{}</h1></header>\n<main>\n{}</main>\n</body>\n"
      "</html>\n",
      report::content_hash(report::kPageStyle), report::escape_html(files.config.id.name()), report::kPageStyle,
      report::escape_html(files.config.id.name()), body);
}

Json versions() {
  return {{"program", service::kSilo.build()},
          {"openssl", OpenSSL_version(OPENSSL_VERSION)},
          {"sqlite", sqlite3_libversion()},
          {"zlib", zlibVersion()},
          {"fmt", FMT_VERSION}};
}

Status write_archive(const Pack& pack, const std::filesystem::path& out) {
  const auto refused = [&out](const char* what) {
    return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", out.string(), what)};
  };
  // A name that nobody has guessed, and then one that nobody has taken.
  std::string beside = out.string() + ".XXXXXX";
  const int file = ::mkstemp(beside.data());
  if (file < 0) return refused("no file can be made there");
  zipFile zip = zipOpen64(beside.c_str(), APPEND_STATUS_CREATE);
  bool good = zip != nullptr;
  for (const auto& [name, bytes] : pack) {
    zip_fileinfo about{};
    about.tmz_date = {0, 0, 0, 1, 0, 1980};  // the manifest says when
    good = good && zipOpenNewFileInZip(zip, name.c_str(), &about, nullptr, 0, nullptr, 0, nullptr, Z_DEFLATED,
                                       Z_DEFAULT_COMPRESSION) == ZIP_OK;
    good = good && zipWriteInFileInZip(zip, bytes.data(), static_cast<unsigned>(bytes.size())) == ZIP_OK;
    good = good && zipCloseFileInZip(zip) == ZIP_OK;
  }
  if (zip != nullptr) good = zipClose(zip, nullptr) == ZIP_OK && good;
  good = good && ::fsync(file) == 0;
  ::close(file);
  const bool taken = good && ::link(beside.c_str(), out.c_str()) != 0;
  ::unlink(beside.c_str());
  if (taken) return refused(errno == EEXIST ? "the file is there already" : "the file cannot be made");
  return good ? Status() : Status(refused("cannot be written"));
}

/// A folder for copies, gone at the end.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "undertone-evidence-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

Status write_evidence(const OwnerOptions& options, const std::vector<std::string>& runs,
                      const std::filesystem::path& out) {
  UNDERTONE_TRY(const Files files, open_files(options));
  if (files.ledgers.empty())
    return Error{ErrorCode::InvalidArgument, "there is no ledger yet, whose key could sign a pack"};
  const Scratch scratch;
  if (scratch.path().empty()) return Error{ErrorCode::StorageFailed, "no folder can be made for the copies"};
  std::vector<const KnownRun*> chosen;
  for (const std::string& word : runs) {
    UNDERTONE_TRY(const KnownRun* run, find_run(files, word, {"open", "ended", "returned", "withdrawn"}));
    chosen.push_back(run);
  }
  if (runs.empty()) {
    for (const KnownRun& run : files.runs)
      if (run.account != nullptr) chosen.push_back(&run);
  }
  Pack pack;
  std::vector<RunPart> parts;
  for (const KnownRun* run : chosen) {
    UNDERTONE_TRY(RunPart part, add_run(files, *run, pack));
    parts.push_back(std::move(part));
  }
  UNDERTONE_TRY(const std::string config, read_file(options.config, kSmallFileBytesMax));
  const Json read = Json::parse(config, nullptr, false);
  pack["policy.json"] = json_text(read.is_object() && read.contains("policy") ? read["policy"] : Json(nullptr));
  pack["versions.json"] = json_text(versions());
  Json ledgers = Json::array();
  std::set<std::string> packed;  // the ledgers of the chosen runs; where nothing was ever accepted, all
  for (const KnownRun* run : chosen) packed.insert(run->dataset);
  for (const auto& [dataset, view] : files.ledgers) {
    if (!packed.empty() && !packed.contains(dataset)) continue;
    UNDERTONE_TRY(const bool sealed, has_sealed_replies(*view.database));
    if (sealed)
      return Error{
          ErrorCode::PolicyRefused,
          fmt::format("the ledger of {} holds sealed replies with what keeps them apart from other silos': whoever has "
                      "the coordinator's key could open them. A pack of it would undo the shuffling",
                      dataset)};
    UNDERTONE_TRY(add_ledger(*config_of(files.config, dataset), view, scratch.path(), pack));
    ledgers.push_back({{"dataset", dataset},
                       {"ledger", to_hex(view.ledger->head().ledger)},
                       {"public_key", to_hex(view.key->public_key())}});
    if (const auto& permit = config_of(files.config, dataset)->permit)
      ledgers.back()["permit"] = {{"id", permit->id}, {"purpose", permit->purpose}, {"until", permit->until}};
  }
  const std::string made_at = service::utc_time(service::wall_clock());
  pack["evidence.html"] = page_of(files, parts, pack, made_at);
  Json manifest = {{"format", "undertone.evidence/1"},      {"silo", files.config.id.name()},
                   {"consortium", files.config.consortium}, {"made_at", made_at},
                   {"ledgers", std::move(ledgers)},         {"files", Json::object()}};
  for (const auto& [name, bytes] : pack) manifest["files"][name] = to_hex(sha256(bytes));
  const std::string listed = json_text(manifest);
  Json signatures = Json::object();
  for (const auto& [dataset, view] : files.ledgers) {
    if (!packed.empty() && !packed.contains(dataset)) continue;
    std::string message = "undertone evidence pack 1";
    message += as_bytes(view.ledger->head().ledger);
    message += as_bytes(sha256(listed));
    signatures[dataset] = to_hex(view.key->sign(message));
  }
  pack["manifest.json"] = listed;
  pack["signatures.json"] = json_text(signatures);
  return write_archive(pack, out);
}

}  // namespace undertone::silo
