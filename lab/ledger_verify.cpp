#include "lab/ledger_verify.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <fmt/format.h>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <openssl/evp.h>
#include <set>
#include <sqlite3.h>
#include <string_view>
#include <system_error>
#include <utility>

namespace undertone::lab {
namespace {

__extension__ typedef unsigned __int128 UInt128;
using Bytes = std::string;
using Fields = std::map<std::string, std::string>;

constexpr std::size_t kProblemsMax = 100;
constexpr std::size_t kPrintedBytesMax = 120;
constexpr std::size_t kBodyBytesMax = std::size_t{1} << 20;
constexpr int kValueBytesMax = 1 << 28;
constexpr std::size_t kHeadBytesMax = 2 * kBodyBytesMax + 4096;
constexpr int kBusyMs = 5000;
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kRunBytes = 48;
constexpr std::size_t kSignatureBytes = 64;
constexpr UInt128 kAmountMax = ~UInt128{0};

/// Whatever a file holds, made safe to print and short.
std::string printable(std::string_view text) {
  const bool whole = text.size() <= kPrintedBytesMax;
  const nlohmann::json value = std::string(text.substr(0, kPrintedBytesMax)) + (whole ? "" : "...");
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

class Problems {
 public:
  explicit Problems(std::vector<std::string>& lines) : lines_(lines) {}

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (full()) return;
    const bool last = lines_.size() + 1 == kProblemsMax;
    lines_.push_back(last ? "there are further problems, and what follows was not read"
                          : fmt::format(format, std::forward<Args>(args)...));
  }
  [[nodiscard]] bool full() const { return lines_.size() >= kProblemsMax; }

 private:
  std::vector<std::string>& lines_;
};

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

/// Bytes of any length, for a message.
std::string shown(std::string_view bytes) {
  return to_hex(bytes.substr(0, kSignatureBytes)) + (bytes.size() > kSignatureBytes ? "..." : "");
}

/// @param size in bytes, 0 for any but none
std::optional<Bytes> from_hex(std::string_view text, std::size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.empty() || text.size() % 2 != 0 || (size != 0 && text.size() != 2 * size)) return std::nullopt;
  Bytes bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const std::size_t high = kDigits.find(text[at]);
    const std::size_t low = kDigits.find(text[at + 1]);
    if (high == kDigits.npos || low == kDigits.npos) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

/// Digits only and no leading zero, so that an amount has one spelling.
std::optional<UInt128> parse_amount(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  UInt128 value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    if (__builtin_mul_overflow(value, UInt128{10}, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, static_cast<UInt128>(digit - '0'), &value)) return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> parse_index(std::string_view text) {
  const auto value = parse_amount(text);
  if (!value || *value > static_cast<UInt128>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

/// Stays at the largest amount on overflow, which it reports.
bool add_saturating(UInt128& sum, UInt128 term) {
  if (!__builtin_add_overflow(sum, term, &sum)) return true;
  sum = kAmountMax;
  return false;
}

/// Empty if OpenSSL fails, which no stored digest of 32 bytes equals.
Bytes sha256(std::initializer_list<std::string_view> parts) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) return {};
  for (const std::string_view part : parts) {
    if (EVP_DigestUpdate(context.get(), part.data(), part.size()) != 1) return {};
  }
  Bytes digest(kHashBytes, '\0');
  if (EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr) != 1) return {};
  return digest;
}

bool is_signed(std::string_view public_key, std::string_view hash, std::string_view signature) {
  const auto octets = [](std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, octets(public_key), public_key.size()), EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!key || !context || signature.size() != kSignatureBytes) return false;
  if (EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1) return false;
  const Bytes message = "undertone ledger head 1" + Bytes(hash);
  return EVP_DigestVerify(context.get(), octets(signature), signature.size(), octets(message), message.size()) == 1;
}

/// Accepts one object whose values are all texts and whose keys differ, which is all that the format uses: a document
/// that two parsers could read in two ways is refused, and nesting never grows a stack.
class FlatObjectReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Fields fields;
  std::string why;

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_integer(number_integer_t) override { return refuse("a number"); }
  bool number_unsigned(number_unsigned_t) override { return refuse("a number"); }
  bool number_float(number_float_t, const string_t&) override { return refuse("a number"); }
  bool binary(binary_t&) override { return refuse("binary"); }
  bool start_array(std::size_t) override { return refuse("an array"); }
  bool end_array() override { return refuse("an array"); }
  bool end_object() override { return true; }
  bool start_object(std::size_t) override { return std::exchange(inside_, true) ? refuse("an object") : true; }
  bool string(string_t& value) override {
    if (!inside_) return refuse("a text alone");
    fields[key_] = value;
    return true;
  }
  bool key(string_t& value) override {
    key_ = value;
    if (!fields.contains(key_)) return true;
    why = fmt::format("the key {} twice", printable(key_));
    return false;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    why = printable(error.what());
    return false;
  }

 private:
  bool refuse(std::string_view found) {
    why = inside_ ? fmt::format("{} at key {}", found, printable(key_)) : std::string(found);
    return false;
  }
  bool inside_ = false;
  std::string key_;
};

std::optional<Fields> parse_fields(std::string_view text, const std::string& where, Problems& problems) {
  FlatObjectReader reader;
  // The library takes a zero byte for the end of its input, so what comes after one would go unread.
  if (text.find('\0') != text.npos) {
    reader.why = "a zero byte";
  } else if (nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) {
    return std::move(reader.fields);
  }
  problems.add("{}: expected a JSON object of texts, found {}", where, reader.why);
  return std::nullopt;
}

/// What the value of a key has to look like, whatever the kind of entry; empty if it does.
std::string misfit(std::string_view key, const std::string& value) {
  static const std::set<std::string_view> amounts = {"epsilon",  "delta",   "mechanism_delta",
                                                     "training", "holdout", "cost"};
  static const std::set<std::string_view> indexes = {"round", "sequence"};
  // In bytes. The format does not say how long the digests of data and queries are, 0 takes any.
  static const std::map<std::string_view, std::size_t> hex = {{"run", kRunBytes},
                                                              {"reply", kHashBytes},
                                                              {"public_key", kHashBytes},
                                                              {"previous", kHashBytes},
                                                              {"signature", kSignatureBytes},
                                                              {"digest", 0},
                                                              {"query", 0},
                                                              {"body", 0}};
  static const std::map<std::string_view, std::pair<std::string_view, std::string_view>> choices = {
      {"noise", {"secure", "test"}}, {"block", {"training", "holdout"}}};
  if (amounts.contains(key)) return parse_amount(value) ? "" : "a decimal integer below 2^128";
  if (indexes.contains(key)) return parse_index(value) ? "" : "a decimal integer below 2^63";
  if (const auto size = hex.find(key); size != hex.end()) {
    if (from_hex(value, size->second)) return "";
    return size->second == 0 ? "lower-case hex" : fmt::format("{} bytes of lower-case hex", size->second);
  }
  if (const auto choice = choices.find(key); choice != choices.end()) {
    const auto [one, other] = choice->second;
    return value == one || value == other ? "" : fmt::format("\"{}\" or \"{}\"", one, other);
  }
  return value.empty() ? "a text" : "";
}

using Keys = std::vector<std::string_view>;

bool has_exactly(const Fields& fields, const Keys& keys, const std::string& where, Problems& problems) {
  bool good = true;
  for (const std::string_view key : keys) {
    const auto field = fields.find(std::string(key));
    const std::string expected = misfit(key, field == fields.end() ? "" : field->second);
    if (expected.empty()) continue;
    const std::string found = field == fields.end() ? "no such key" : printable(field->second);
    problems.add("{}: {}: expected {}, found {}", where, key, expected, found);
    good = false;
  }
  for (const auto& [key, value] : fields) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    problems.add("{}: expected no further key, found {}", where, printable(key));
    good = false;
  }
  return good;
}

bool is_well_formed(const Fields& fields, const std::string& where, Problems& problems) {
  static const std::map<std::string, Keys> kinds = {
      {"opened", {"kind", "format", "dataset", "digest", "public_key", "noise"}},
      {"reserved", {"kind", "run", "epsilon", "delta", "mechanism_delta", "training", "holdout"}},
      {"released", {"kind", "run", "round", "block", "cost", "query", "reply"}},
      {"ended", {"kind", "run"}},
      {"returned", {"kind", "run"}},
      {"amended", {"kind", "digest"}}};
  const auto field = fields.find("kind");
  const auto kind = field == fields.end() ? kinds.end() : kinds.find(field->second);
  if (kind != kinds.end()) return has_exactly(fields, kind->second, where, problems);
  const std::string found = field == fields.end() ? "none" : printable(field->second);
  problems.add("{}: expected a kind that the format has, found {}", where, found);
  return false;
}

long double normal_density(long double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<long double> / std::numbers::sqrt2_v<long double>;
}

long double upper_tail(long double x) { return std::erfc(x / std::numbers::sqrt2_v<long double>) / 2; }

/// Upper tail of the normal distribution over its density, for x >= 0.
long double mills_ratio(long double x) {
  if (x < 4) return upper_tail(x) / normal_density(x);
  long double fraction = x;  // Laplace's x + 1/(x + 2/(x + 3/...)): 100 terms are exact in long double from 4 on
  for (int term = 100; term > 0; --term) fraction = x + static_cast<long double>(term) / fraction;
  return 1 / fraction;
}

/// Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), for mu > 0. Since e^epsilon density(epsilon/mu + mu/2) =
/// density(epsilon/mu - mu/2), both terms are that density times a Mills ratio, and e^epsilon is never formed.
/// Source: Balle and Wang 2018, Theorem 8.
long double gaussian_profile(long double epsilon, long double mu) {
  const long double near = epsilon / mu - mu / 2;
  const long double far = mills_ratio(epsilon / mu + mu / 2);
  if (near <= 0) return upper_tail(near) - normal_density(near) * far;  // the ratio overflows on this side
  return normal_density(near) * (mills_ratio(near) - far);
}

long double smallest_epsilon(long double mu, long double delta) {
  if (mu == 0) return 0;
  if (delta <= 0) return std::numeric_limits<long double>::infinity();
  if (gaussian_profile(0, mu) <= delta) return 0;
  long double low = 0;
  long double high = 1;
  while (gaussian_profile(high, mu) > delta) high *= 2;
  for (int halving = 0; halving < 80; ++halving) {
    const long double middle = (low + high) / 2;
    (gaussian_profile(middle, mu) > delta ? low : high) = middle;
  }
  return high;
}

long double epsilon_of(UInt128 units) { return std::ldexp(static_cast<long double>(units), -40); }
long double delta_of(UInt128 units) { return std::ldexp(static_cast<long double>(units), -80); }
long double mu_of(UInt128 units) { return std::sqrt(std::ldexp(static_cast<long double>(units), -40)); }

struct Block {
  UInt128 reserved = 0;
  UInt128 spent = 0;
};

struct Run {
  std::string name;
  UInt128 epsilon = 0;
  UInt128 delta = 0;
  UInt128 mechanism_delta = 0;
  Block training;
  Block holdout;
  std::int64_t round_last = -1;
  std::uint64_t releases = 0;
  std::string state = "open";
};

/// A row that an entry promises in `jobs` or `replies`.
struct Promise {
  std::int64_t sequence = 0;
  Bytes digest;
  Bytes query;
  bool kept = false;
};

/// Rules 1 to 4, 6 and 7; the promises are for rule 5.
class Account {
 public:
  explicit Account(Problems& problems) : problems_(problems) {}

  std::map<Bytes, Promise> jobs;
  std::map<std::pair<Bytes, std::int64_t>, Promise> replies;

  /// @param fields well-formed
  void add(std::int64_t sequence, const Fields& fields) {
    const std::string& kind = fields.at("kind");
    if ((kind == "opened") != (sequence == 1)) {
      problems_.add("entry {}: expected the kind \"opened\" in entry 1 and only there, found \"{}\"", sequence, kind);
    }
    if (kind == "opened" || kind == "amended") return;
    if (kind == "reserved") return reserve(sequence, fields);
    if (kind == "released") promise_reply(sequence, fields);
    const auto index = index_.find(fields.at("run"));
    if (index == index_.end()) {
      problems_.add("entry {}: expected run {} to be reserved before it is {}, found no reservation (rule 1)", sequence,
                    fields.at("run"), kind);
      return;
    }
    Run& run = runs_[index->second];
    if (run.state != "open") {
      problems_.add("entry {}: expected nothing more of run {} once it is {}, found \"{}\" (rule 1)", sequence,
                    run.name, run.state, kind);
    } else if (kind == "released") {
      release(sequence, fields, run);
    } else {
      close(sequence, kind, run);
    }
  }

  void report(LedgerFindings& findings) const {
    UInt128 epsilon = 0;
    UInt128 delta = 0;
    bool fits = true;
    for (const Run& run : runs_) {
      const long double mu = mu_of(std::max(run.training.spent, run.holdout.spent));
      findings.runs.push_back(
          {run.name, static_cast<double>(epsilon_of(run.epsilon)), static_cast<double>(delta_of(run.delta)),
           static_cast<double>(smallest_epsilon(mu, delta_of(run.mechanism_delta))), run.releases, run.state});
      if (run.state == "returned") continue;
      fits = add_saturating(epsilon, run.epsilon) && fits;
      fits = add_saturating(delta, run.delta) && fits;
    }
    if (!fits) problems_.add("the reservations: expected sums below 2^128 units, found more (rule 7)");
    findings.epsilon_units = fmt::to_string(epsilon);
    findings.delta_units = fmt::to_string(delta);
    findings.epsilon = static_cast<double>(epsilon_of(epsilon));
    findings.delta = static_cast<double>(delta_of(delta));
  }

 private:
  void reserve(std::int64_t sequence, const Fields& fields) {
    const auto amount = [&](const char* key) { return *parse_amount(fields.at(key)); };
    Run run;
    run.name = fields.at("run");
    run.epsilon = amount("epsilon");
    run.delta = amount("delta");
    run.mechanism_delta = amount("mechanism_delta");
    run.training.reserved = amount("training");
    run.holdout.reserved = amount("holdout");
    if (!index_.emplace(run.name, runs_.size()).second) {
      problems_.add("entry {}: expected run {} to be reserved once, found a second reservation (rule 1)", sequence,
                    run.name);
      return;
    }
    const Bytes bytes = *from_hex(run.name, kRunBytes);
    jobs.emplace(bytes, Promise{sequence, bytes.substr(0, kHashBytes), {}});
    check_guarantee(sequence, run);
    runs_.push_back(std::move(run));
  }

  void check_guarantee(std::int64_t sequence, const Run& run) {
    if (run.mechanism_delta > run.delta) {
      problems_.add("entry {}: run {}: expected mechanism_delta at most delta {}, found {} (rule 6)", sequence,
                    run.name, fmt::to_string(run.delta), fmt::to_string(run.mechanism_delta));
    }
    const long double mu = mu_of(std::max(run.training.reserved, run.holdout.reserved));
    if (mu == 0) return;
    const long double profile = gaussian_profile(epsilon_of(run.epsilon), mu);
    const long double allowed = delta_of(run.mechanism_delta) * (1 + 1e-9L);
    // A profile is above 0 at every epsilon, though it may underflow; and this way round NaN is refused too.
    if (run.mechanism_delta > 0 && profile <= allowed) return;
    problems_.add(
        "entry {}: run {} was charged too little: at epsilon {:.12g} and mu {:.12g} the Gaussian profile is {:.12g}, "
        "expected at most mechanism_delta {:.12g} (rule 6)",
        sequence, run.name, epsilon_of(run.epsilon), mu, profile, delta_of(run.mechanism_delta));
  }

  void promise_reply(std::int64_t sequence, const Fields& fields) {
    std::pair key(*from_hex(fields.at("run"), kRunBytes), *parse_index(fields.at("round")));
    replies.emplace(std::move(key),
                    Promise{sequence, *from_hex(fields.at("reply"), kHashBytes), *from_hex(fields.at("query"), 0)});
  }

  void release(std::int64_t sequence, const Fields& fields, Run& run) {
    const std::int64_t round = *parse_index(fields.at("round"));
    if (round <= run.round_last) {
      problems_.add("entry {}: run {}: expected a round after {}, found {} (rule 2)", sequence, run.name,
                    run.round_last, round);
    }
    run.round_last = std::max(run.round_last, round);
    ++run.releases;
    const std::string& name = fields.at("block");
    Block& block = name == "training" ? run.training : run.holdout;
    const bool fits = add_saturating(block.spent, *parse_amount(fields.at("cost")));
    if (fits && block.spent <= block.reserved) return;
    problems_.add("entry {}: run {}: expected costs of at most {} in the {} block, found {} so far (rule 3)", sequence,
                  run.name, fmt::to_string(block.reserved), name, fmt::to_string(block.spent));
  }

  void close(std::int64_t sequence, const std::string& kind, Run& run) {
    if ((kind == "returned") != (run.releases == 0)) {
      problems_.add(
          "entry {}: run {}: expected \"returned\" without a release and \"ended\" with one, found \"{}\" after "
          "{} releases (rule 4)",
          sequence, run.name, kind, run.releases);
    }
    // What was released is paid for, whatever is said of it afterwards.
    run.state = run.releases == 0 ? kind : "ended";
  }

  Problems& problems_;
  std::vector<Run> runs_;
  std::map<std::string, std::size_t> index_;
};

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

/// The rows of one query. One that cannot be read to its end is a problem.
class Rows {
 public:
  Rows(sqlite3* database, std::string_view what, const char* sql, Problems& problems)
      : database_(database), what_(what), statement_(nullptr, sqlite3_finalize), problems_(problems) {
    sqlite3_stmt* statement = nullptr;
    ready_ = sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK;
    statement_.reset(statement);
    if (!ready_) fail();
  }
  /// False at the end, and when the list of problems is full: a damaged tree can name one page without end.
  [[nodiscard]] bool next() {
    if (!ready_ || problems_.full()) return false;
    const int code = sqlite3_step(statement_.get());
    ready_ = code == SQLITE_ROW;
    if (!ready_ && code != SQLITE_DONE) fail();
    return ready_;
  }
  [[nodiscard]] std::int64_t integer(int column) { return sqlite3_column_int64(statement_.get(), column); }
  [[nodiscard]] bool is_integer(int column) { return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER; }
  [[nodiscard]] std::optional<Bytes> blob(int column) {
    if (sqlite3_column_type(statement_.get(), column) != SQLITE_BLOB) return std::nullopt;
    return bytes(sqlite3_column_blob(statement_.get(), column), column);
  }
  [[nodiscard]] std::string text(int column) { return bytes(sqlite3_column_text(statement_.get(), column), column); }

 private:
  Bytes bytes(const void* data, int column) {
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return data == nullptr ? Bytes() : Bytes(static_cast<const char*>(data), static_cast<std::size_t>(size));
  }
  void fail() { problems_.add("{} cannot be read to the end: {}", what_, printable(sqlite3_errmsg(database_))); }

  sqlite3* database_;
  std::string what_;
  std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement_;
  Problems& problems_;
  bool ready_ = false;
};

Database open_snapshot(const std::filesystem::path& path, Problems& problems) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    problems.add("expected a ledger at {}, found no file", printable(path.string()));
    return nullptr;
  }
  sqlite3* raw = nullptr;
  // Absolute, since SQLite gives some relative names a meaning of its own.
  int code = sqlite3_open_v2(std::filesystem::absolute(path).c_str(), &raw, SQLITE_OPEN_READONLY, nullptr);
  Database database(raw);
  if (code == SQLITE_OK) {
    sqlite3_busy_timeout(raw, kBusyMs);
    sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kValueBytesMax);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    code = sqlite3_exec(raw,
                        "PRAGMA cell_size_check = ON; PRAGMA ignore_check_constraints = ON; BEGIN;"
                        "SELECT count(*) FROM sqlite_master",
                        nullptr, nullptr, nullptr);
  }
  if (code == SQLITE_OK) return database;
  problems.add("expected an SQLite database at {}, found: {}", printable(path.string()),
               printable(sqlite3_errmsg(raw)));
  return nullptr;
}

bool has_columns(sqlite3* database, const std::string& table, std::string_view expected, Problems& problems) {
  const std::string sql =
      "SELECT name || ' ' || type || iif(\"notnull\", ' NOT NULL', '') || iif(pk, ' KEY ' || pk, '') "
      "|| iif(hidden, ' HIDDEN', '') FROM pragma_table_xinfo('" +
      table + "') ORDER BY cid";
  std::string found;
  for (Rows rows(database, "the schema", sql.c_str(), problems); rows.next();) found += rows.text(0) + ", ";
  if (found == expected) return true;
  problems.add("table {}: expected the columns {}, found {}", table, printable(expected), printable(found));
  return false;
}

/// False when the tables are not the format's, and reading them would say nothing.
bool has_schema(sqlite3* database, Problems& problems) {
  // Names that start so are SQLite's own: the indexes of primary keys, and statistics.
  const char* sql =
      "SELECT type, name FROM sqlite_master WHERE NOT (name GLOB 'sqlite_*' AND (type = 'table' OR sql IS NULL)) "
      "ORDER BY name";
  std::string found;
  for (Rows rows(database, "the schema", sql, problems); rows.next();) {
    found += rows.text(0) + " " + rows.text(1) + ", ";
  }
  constexpr std::string_view kExpected = "table entries, table jobs, table replies, ";
  if (found != kExpected) {
    problems.add("the schema: expected {}, found {}", printable(kExpected), printable(found));
    return false;
  }
  const bool entries = has_columns(database, "entries",
                                   "sequence INTEGER KEY 1, previous BLOB NOT NULL, body BLOB NOT NULL, "
                                   "hash BLOB NOT NULL, signature BLOB NOT NULL, ",
                                   problems);
  const bool jobs = has_columns(database, "jobs", "run BLOB KEY 1, job BLOB NOT NULL, ", problems);
  const bool replies = has_columns(
      database, "replies", "run BLOB KEY 1, round INTEGER KEY 2, query BLOB NOT NULL, bytes BLOB NOT NULL, ", problems);
  return entries && jobs && replies;
}

struct Entry {
  std::int64_t sequence = 0;
  Bytes previous;
  Bytes body;
  Bytes hash;
  Bytes signature;
};

Bytes content_hash(const Entry& entry) {
  Bytes sequence;
  for (int shift = 0; shift < 64; shift += 8) sequence += static_cast<char>(entry.sequence >> shift & 0xff);
  return sha256({"undertone ledger entry 1", sequence, entry.previous, entry.body});
}

struct Head {
  bool missing = false;
  std::optional<Entry> entry;  // the file holds no hash: it is computed from the rest
};

Head read_head(const std::filesystem::path& path, Problems& problems) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {true, std::nullopt};
  Bytes text(kHeadBytesMax + 1, '\0');
  std::ifstream file;
  if (std::filesystem::is_regular_file(path, error)) file.open(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad() || text.size() > kHeadBytesMax) {
    problems.add("the head file {}: expected a readable file of at most {} bytes, found another thing",
                 printable(path.string()), kHeadBytesMax);
    return {};
  }
  const auto fields = parse_fields(text, "the head file", problems);
  const Keys keys = {"format", "sequence", "previous", "body", "signature"};
  if (!fields || !has_exactly(*fields, keys, "the head file", problems)) return {};
  if (fields->at("format") != "undertone.ledger-head/1") {
    problems.add("the head file: expected the format \"undertone.ledger-head/1\", found {}",
                 printable(fields->at("format")));
    return {};
  }
  const auto bytes = [&](const char* key) { return *from_hex(fields->at(key), 0); };
  Entry entry{*parse_index(fields->at("sequence")), bytes("previous"), bytes("body"), {}, bytes("signature")};
  entry.hash = content_hash(entry);
  return {false, std::move(entry)};
}

class Verification {
 public:
  Verification(LedgerFindings& findings, Problems& problems, const LedgerExpectations& expectations)
      : findings_(findings), problems_(problems), expectations_(expectations), account_(problems) {
    std::string key = expectations.public_key.value_or("");
    std::transform(key.begin(), key.end(), key.begin(),
                   [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + ('a' - 'A')) : c; });
    key_expected_ = key;
    key_ = from_hex(key, kHashBytes);
  }

  void run(const std::filesystem::path& path) {
    if (expectations_.head) head_ = read_head(*expectations_.head, problems_);
    const Database database = open_snapshot(path, problems_);
    if (!database || !has_schema(database.get(), problems_)) return;
    check_pages(database.get());
    read_entries(database.get());
    if (expectations_.head) check_head();
    read_jobs(database.get());
    read_replies(database.get());
    account_.report(findings_);
  }

 private:
  /// The program that writes the ledger looks rows up in indexes, so a row missing from one is missing to it.
  void check_pages(sqlite3* database) {
    Rows rows(database, "the database", "PRAGMA integrity_check(1)", problems_);
    if (!rows.next() || rows.text(0) == "ok") return;
    problems_.add("the database: expected sound pages and indexes, found {}", printable(rows.text(0)));
  }

  void read_entries(sqlite3* database) {
    static_assert(kBodyBytesMax == 1048576);
    const char* sql =
        "SELECT sequence, previous, CASE WHEN typeof(body) = 'blob' AND length(body) <= 1048576 THEN body END, hash, "
        "signature FROM entries ORDER BY sequence";
    for (Rows rows(database, "table entries", sql, problems_); rows.next();) {
      const std::int64_t sequence = rows.integer(0);
      if (sequence <= sequence_last_) {
        problems_.add("entry {}: expected a sequence after {}", sequence, sequence_last_);
        continue;
      }
      check_gap(sequence);
      auto previous = rows.blob(1);
      auto body = rows.blob(2);
      auto hash = rows.blob(3);
      auto signature = rows.blob(4);
      ++findings_.entries;
      sequence_last_ = sequence;
      if (previous && body && hash && signature) {
        read_entry({sequence, *std::move(previous), *std::move(body), *std::move(hash), *std::move(signature)});
      } else {
        problems_.add("entry {} was edited: expected blobs, the body of at most {} bytes, found another type or size",
                      sequence, kBodyBytesMax);
        hash_last_.reset();
      }
    }
    if (findings_.entries == 0) problems_.add("expected the kind \"opened\" in entry 1, found no entries");
  }

  void check_gap(std::int64_t sequence) {
    if (sequence == sequence_last_ + 1) return;
    problems_.add("entry {}: entries before it are missing: expected sequence {}, found {}", sequence,
                  sequence_last_ + 1, sequence);
    hash_last_.reset();
  }

  void read_entry(const Entry& entry) {
    const std::string where = fmt::format("entry {}", entry.sequence);
    auto fields = parse_fields(entry.body, where, problems_);
    if (fields && entry.sequence == 1) {  // even if another of its values is wrong
      const std::string text = fields->contains("public_key") ? fields->at("public_key") : "";
      if (auto key = from_hex(text, kHashBytes)) key_ = std::move(key);
    }
    if (fields && !is_well_formed(*fields, where, problems_)) fields.reset();
    if (fields && entry.sequence == 1 && fields->at("kind") == "opened") open(*fields);
    check_chain(entry);
    if (fields) account_.add(entry.sequence, *fields);
  }

  void open(const Fields& fields) {
    findings_.dataset = fields.at("dataset");
    findings_.noise = fields.at("noise");
    findings_.public_key = fields.at("public_key");
    if (fields.at("format") != "1") {
      problems_.add("entry 1: expected the format \"1\", found {}", printable(fields.at("format")));
    }
    if (expectations_.dataset && *expectations_.dataset != findings_.dataset) {
      problems_.add("entry 1: this is another data set's ledger: expected {}, found {}",
                    printable(*expectations_.dataset), printable(findings_.dataset));
    }
    if (expectations_.public_key && key_expected_ != findings_.public_key) {
      problems_.add("entry 1: this ledger is kept with another key: expected {}, found {}", printable(key_expected_),
                    findings_.public_key);
    }
  }

  void check_chain(const Entry& entry) {
    if (hash_last_ && entry.previous != *hash_last_) {
      problems_.add("entry {} does not follow the one before: expected previous {}, found {}", entry.sequence,
                    shown(*hash_last_), shown(entry.previous));
    }
    const Bytes computed = content_hash(entry);
    if (entry.hash != computed) {
      problems_.add("entry {} was edited: expected the hash {} of its content, found {}", entry.sequence,
                    to_hex(computed), shown(entry.hash));
    }
    if (!key_ && !std::exchange(keyless_, true)) {
      problems_.add("entry {}: expected a public key in entry 1 to check signatures with, found none", entry.sequence);
    }
    if (key_ && !is_signed(*key_, entry.hash, entry.signature)) {
      const auto* what =
          entry.hash == computed ? "was edited and re-hashed, or its signature altered" : "is not signed";
      problems_.add("entry {} {}: expected a signature of the stored hash by {}, found {}", entry.sequence, what,
                    to_hex(*key_), shown(entry.signature));
    }
    hash_last_ = entry.hash;
    findings_.head_hash = shown(entry.hash);
    if (head_.entry && head_.entry->sequence == entry.sequence) hash_at_head_ = entry.hash;
  }

  void check_head() {
    if (head_.missing && findings_.entries > 1) {
      problems_.add("the head file is missing: expected it at {} beside a ledger of {} entries, found none",
                    printable(expectations_.head->string()), findings_.entries);
    }
    if (!head_.entry) return;
    const Entry& head = *head_.entry;
    if (key_ && !is_signed(*key_, head.hash, head.signature)) {
      problems_.add("the head file, entry {}, is not signed: expected a signature by {}, found {}", head.sequence,
                    to_hex(*key_), shown(head.signature));
    }
    if (head.sequence > sequence_last_) {
      problems_.add(
          "this is an older copy of the ledger, or cut off at its end: expected entry {} of the head file, "
          "found entry {} to be the last",
          head.sequence, sequence_last_);
      return;
    }
    if (head.sequence < sequence_last_ - 1) {
      problems_.add("the head file is further behind than a crash leaves it: expected entry {} or {}, found entry {}",
                    sequence_last_ - 1, sequence_last_, head.sequence);
    }
    if (hash_at_head_ == head.hash) return;
    problems_.add(
        "entry {}: this is an older copy that went on, or another ledger: expected the hash {} of the head "
        "file, found {}",
        head.sequence, to_hex(head.hash), hash_at_head_ ? shown(*hash_at_head_) : "none");
  }

  void read_jobs(sqlite3* database) {
    for (Rows rows(database, "table jobs", "SELECT run, job FROM jobs NOT INDEXED", problems_); rows.next();) {
      const auto run = rows.blob(0);
      const auto job = rows.blob(1);
      const auto promise = run ? account_.jobs.find(*run) : account_.jobs.end();
      if (promise == account_.jobs.end() || std::exchange(promise->second.kept, true)) {
        problems_.add("table jobs: expected each row to have one reserved entry, found one without for run {} (rule 5)",
                      run ? shown(*run) : "of another type");
        continue;
      }
      const Bytes digest = job ? sha256({*job}) : Bytes();
      if (digest == promise->second.digest) continue;
      problems_.add("entry {}: the job of run {} was altered: expected the SHA-256 {}, found {}",
                    promise->second.sequence, to_hex(*run), to_hex(promise->second.digest),
                    job ? to_hex(digest) : "no blob");
    }
    for (const auto& [run, promise] : account_.jobs) {
      if (promise.kept) continue;
      problems_.add("entry {}: the job of run {} is missing: expected its row in jobs, found none (rule 5)",
                    promise.sequence, to_hex(run));
    }
  }

  void read_replies(sqlite3* database) {
    const char* sql = "SELECT run, round, query, bytes FROM replies NOT INDEXED";
    for (Rows rows(database, "table replies", sql, problems_); rows.next();) {
      const auto run = rows.blob(0);
      const auto promise =
          run && rows.is_integer(1) ? account_.replies.find({*run, rows.integer(1)}) : account_.replies.end();
      if (promise == account_.replies.end() || std::exchange(promise->second.kept, true)) {
        problems_.add(
            "table replies: expected each row to have one released entry, found one without for run {} round "
            "{} (rule 5)",
            run ? shown(*run) : "of another type", rows.integer(1));
        continue;
      }
      check_reply(promise->second, rows.blob(2), rows.blob(3));
    }
    for (const auto& [key, promise] : account_.replies) {
      if (promise.kept) continue;
      problems_.add(
          "entry {}: the reply of run {} in round {} is missing: expected its row in replies, found none "
          "(rule 5)",
          promise.sequence, to_hex(key.first), key.second);
    }
  }

  void check_reply(const Promise& promise, const std::optional<Bytes>& query, const std::optional<Bytes>& bytes) {
    if (query != promise.query) {
      problems_.add("entry {}: the query of its reply was altered: expected {}, found {}", promise.sequence,
                    shown(promise.query), query ? shown(*query) : "no blob");
    }
    const Bytes digest = bytes ? sha256({*bytes}) : Bytes();
    if (digest == promise.digest) return;
    problems_.add("entry {}: its reply was altered: expected the SHA-256 {}, found {}", promise.sequence,
                  to_hex(promise.digest), bytes ? to_hex(digest) : "no blob");
  }

  LedgerFindings& findings_;
  Problems& problems_;
  const LedgerExpectations& expectations_;
  Account account_;
  Head head_;
  std::string key_expected_;
  std::optional<Bytes> key_;
  bool keyless_ = false;
  std::int64_t sequence_last_ = 0;
  std::optional<Bytes> hash_last_ = Bytes(kHashBytes, '\0');  // unset after an entry that could not be read
  std::optional<Bytes> hash_at_head_;
};

}  // namespace

LedgerFindings verify_ledger(const std::filesystem::path& ledger, const LedgerExpectations& expectations) {
  LedgerFindings findings;
  Problems problems(findings.problems);
  try {
    Verification(findings, problems, expectations).run(ledger);
  } catch (const std::exception& error) {  // the file system, JSON, or no memory
    problems.add("the check of {} stopped: {}", printable(ledger.string()), printable(error.what()));
  }
  return findings;
}

}  // namespace undertone::lab
