#include <nlohmann/json.hpp>

#include "shared/base/files.hpp"
#include "silo/ledger/ledger.hpp"
#include "silo/ledger/ledger_entry.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/temporary_folder.hpp"
#include "verifier/verification.hpp"

namespace undertone::fuzz {
namespace {

using namespace silo;
using nlohmann::json;

constexpr std::string_view kJob = "job";
constexpr std::string_view kReply = "reply";

/// What is wrong with the last entry's row, or with the other tables, beside what the bodies say.
struct Damage {
  explicit Damage(std::uint8_t flags)
      : previous(flags & 1U),
        hash(flags & 2U),
        signature(flags & 4U),
        gap(flags & 8U),
        replies(flags & 16U),
        jobs(flags & 32U),
        lengths(flags & 64U),
        head(flags & 128U) {}
  bool previous, hash, signature, gap, replies, jobs, lengths;
  bool head;  // the head file is the input's own
};

std::string text_of(const json& body, const char* key) {
  const auto found = body.find(key);
  return found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A ledger's files, written from bodies as whoever holds the key could write them.
class Files {
 public:
  Files() : database_(store::Database::open(ledger(), store::Database::Sync::Normal).value()) {
    // The tables are those that an opened ledger has.
    FileHeadStore head(this->head());
    const Budget budget{*releases::EpsilonAmount::rounded_down(10.0), *releases::DeltaAmount::rounded_down(1e-2)};
    (void)Ledger::open(database_, head, key, {"heart", {}, {}}, budget, crypto::NoiseKind::Secure, [] {
      return 0;
    }).value();
  }
  void write(Input& input) {
    const Damage damage(input.byte());
    std::string_view bodies = damage.head ? input.take_until('\0') : input.rest();
    UNDERTONE_CHECK(database_.execute("BEGIN; DELETE FROM entries; DELETE FROM jobs; DELETE FROM replies").has_value());
    Digest id{};
    LedgerEntry entry;
    for (Input lines(bodies); !lines.empty();) {
      entry.previous = entry.hash;
      entry.body = lines.take_until('\n');
      const bool last = lines.empty();
      entry.sequence += last && damage.gap ? 2 : 1;
      if (last && damage.previous) entry.previous[0] ^= 1U;
      entry.hash = entry_hash(entry.sequence, entry.previous, entry.body);
      if (last && damage.hash) entry.hash[0] ^= 1U;
      if (entry.sequence == 1) id = entry.hash;
      entry.signature = key.sign(head_message(id, entry.sequence, entry.hash));
      if (last && damage.signature) entry.signature[0] = static_cast<char>(entry.signature[0] ^ 1);
      put("INSERT INTO entries VALUES (" + std::to_string(entry.sequence) + ", ?, ?, ?, ?)",
          {as_bytes(entry.previous).substr(0, last && damage.lengths ? 31 : 32), entry.body, as_bytes(entry.hash),
           entry.signature});
      keep_promises(entry.body, last, damage);
    }
    UNDERTONE_CHECK(database_.execute("COMMIT").has_value());
    std::string head(input.rest());
    if (!damage.head) {
      head = json{{"format", "undertone.ledger-head/1"},
                  {"sequence", std::to_string(entry.sequence)},
                  {"previous", to_hex(as_bytes(entry.previous))},
                  {"body", to_hex(entry.body)},
                  {"signature", to_hex(entry.signature)}}
                 .dump();
    }
    UNDERTONE_CHECK(write_file_atomically(this->head(), head).has_value());
  }
  [[nodiscard]] std::filesystem::path ledger() const { return folder_.path() / "ledger.sqlite"; }
  [[nodiscard]] std::filesystem::path head() const { return folder_.path() / "head.json"; }
  [[nodiscard]] store::Database& database() noexcept { return database_; }

  const SigningKey key = SigningKey::from_seed(std::string(32, 'k')).value();

 private:
  void put(const std::string& sql, const std::vector<std::string_view>& blobs) {
    store::Statement statement = database_.prepare(sql).value();
    for (std::size_t i = 0; i < blobs.size(); ++i) statement.bind_blob(static_cast<int>(i) + 1, blobs[i]);
    (void)statement.run();  // a run that is promised twice has one row
  }
  /// The rows that an entry says there are, all of the same job and with the same reply.
  void keep_promises(const std::string& text, bool last, const Damage& damage) {
    const json body = json::parse(text, nullptr, false);
    if (!body.is_object()) return;
    const std::string kind = text_of(body, "kind");
    const Result<std::string> run = from_hex(text_of(body, "run"));
    if (!run) return;
    if ((kind == "reserved" || kind == "accepted") && !(last && damage.jobs)) {
      put("INSERT OR IGNORE INTO jobs VALUES (?, ?)", {*run, kJob});
    } else if (kind == "returned") {
      put("DELETE FROM jobs WHERE run = ?", {*run});
    } else if (kind == "released" && !(last && damage.replies)) {
      const Result<releases::UInt128> round = releases::parse_decimal(text_of(body, "round"));
      const Result<std::string> query = from_hex(text_of(body, "query"));
      if (!round || *round > INT64_MAX || !query) return;
      put("INSERT OR IGNORE INTO replies VALUES (?, " + releases::to_decimal(*round) + ", ?, ?)",
          {*run, *query, kReply});
    }
  }

  tests::TemporaryFolder folder_{std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp"};
  store::Database database_;
};

/// A ledger and the head outside it: the first byte says what is damaged, then comes a body a line, and perhaps a zero
/// byte and a head file. The silo's replay and the separately written verifier read the same files: what the verifier
/// finds nothing wrong with, the silo reads too, and both count the same charges.
void ledger(std::string_view bytes) {
  static Files files;
  Input input(bytes);
  files.write(input);
  const verifier::LedgerFindings findings =
      verifier::verify_ledger(files.ledger(), {files.head(), std::nullopt, to_hex(files.key.public_key())});
  for (const std::string& problem : findings.problems) UNDERTONE_CHECK(!problem.starts_with("the check of"));
  const auto noise = findings.noise == "test" ? crypto::NoiseKind::Test : crypto::NoiseKind::Secure;
  FileHeadStore head(files.head());
  const auto replayed = Ledger::inspect(files.database(), head, files.key, {}, noise);
  if (findings.problems.empty()) {
    UNDERTONE_CHECK(replayed.has_value());
    UNDERTONE_CHECK(to_hex(as_bytes(replayed->id())) == findings.ledger);
    UNDERTONE_CHECK(replayed->accounts().size() == findings.runs.size());
    UNDERTONE_CHECK(replayed->epsilon_reserved().to_string() == findings.epsilon_units);
    UNDERTONE_CHECK(replayed->delta_reserved().to_string() == findings.delta_units);
  }
  const DatasetIdentity dataset = replayed ? replayed->dataset() : DatasetIdentity{"heart", {}, {}};
  const auto opened = Ledger::open(files.database(), head, files.key, dataset, {}, noise, [] { return 0; });
  UNDERTONE_CHECK(!opened || replayed.has_value() || opened->head().sequence == 1);
}

const Target kTarget("ledger", ledger);

}  // namespace
}  // namespace undertone::fuzz
