#include "verifier/verification.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

#include "verifier/ledger_body.hpp"
#include "verifier/ledger_entry.hpp"
#include "verifier/ledger_reader.hpp"
#include "verifier/ledger_texts.hpp"
#include "verifier/problems.hpp"
#include "verifier/run_accounts.hpp"

namespace undertone::verifier {
namespace {

class Verification {
 public:
  Verification(LedgerFindings& findings, Problems& problems, const LedgerExpectations& expectations)
      : findings_(findings), problems_(problems), expectations_(expectations), accounts_(problems) {
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
    accounts_.report(findings_);
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
    if (fields && !is_well_formed(*fields, accounts_.format(), where, problems_)) fields.reset();
    if (fields && entry.sequence == 1 && fields->at("kind") == "opened") open(*fields);
    check_chain(entry);
    if (fields) accounts_.add(entry.sequence, *fields);
  }

  void open(const Fields& fields) {
    findings_.dataset = fields.at("dataset");
    findings_.noise = fields.at("noise");
    findings_.unit = fields.contains("unit") ? fields.at("unit") : "record";
    findings_.public_key = fields.at("public_key");
    const bool of_units = fields.contains("unit") || fields.contains("persons");
    const bool whole = fields.contains("unit") && fields.contains("persons");
    const std::string& format = fields.at("format");
    if (of_units ? !whole || format != "3" : format != "1" && format != "2") {
      problems_.add("entry 1: expected the format {}, found {}",
                    of_units ? "\"3\" with a unit and persons" : "\"1\" or \"2\"", printable(format));
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
    if (entry.sequence == 1 && entry.hash.size() == kHashBytes) {
      ledger_ = entry.hash;
      findings_.ledger = to_hex(entry.hash);
    }
    if (!(key_ && ledger_) && !std::exchange(uncheckable_, true)) {
      problems_.add("entry {}: expected a public key and a hash in entry 1 to check signatures with, found no {}",
                    entry.sequence, key_ ? "hash" : "key");
    }
    if (key_ && ledger_ && !is_signed(*key_, *ledger_, entry)) {
      const auto* what =
          entry.hash == computed ? "was edited and re-hashed, or its signature altered" : "is not signed";
      problems_.add("entry {} {}: expected a signature of the ledger, sequence and stored hash by {}, found {}",
                    entry.sequence, what, to_hex(*key_), shown(entry.signature));
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
    const std::optional<Bytes> ledger = head.sequence == 1 ? head.hash : ledger_;
    if (key_ && ledger && !is_signed(*key_, *ledger, head)) {
      problems_.add(
          "the head file, entry {}, is not signed as the head of ledger {}: expected a signature by {}, found {}",
          head.sequence, to_hex(*ledger), to_hex(*key_), shown(head.signature));
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
      const auto promise = run ? accounts_.jobs.find(*run) : accounts_.jobs.end();
      if (promise == accounts_.jobs.end() || std::exchange(promise->second.kept, true)) {
        problems_.add(
            "table jobs: expected each row to have one reserved run that was not returned, found one without for run "
            "{} (rule 5)",
            run ? shown(*run) : "of another type");
        continue;
      }
      const Bytes digest = job ? sha256({*job}) : Bytes();
      if (digest == promise->second.digest) continue;
      problems_.add("entry {}: the job of run {} was altered: expected the SHA-256 {}, found {}",
                    promise->second.sequence, to_hex(*run), to_hex(promise->second.digest),
                    job ? to_hex(digest) : "no blob");
    }
    for (const auto& [run, promise] : accounts_.jobs) {
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
          run && rows.is_integer(1) ? accounts_.replies.find({*run, rows.integer(1)}) : accounts_.replies.end();
      if (promise == accounts_.replies.end() || std::exchange(promise->second.kept, true)) {
        problems_.add(
            "table replies: expected each row to have one released entry, found one without for run {} round "
            "{} (rule 5)",
            run ? shown(*run) : "of another type", rows.integer(1));
        continue;
      }
      check_reply(promise->second, rows.blob(2), rows.blob(3));
    }
    for (const auto& [key, promise] : accounts_.replies) {
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
  RunAccounts accounts_;
  Head head_;
  std::string key_expected_;
  std::optional<Bytes> key_;
  std::optional<Bytes> ledger_;
  bool uncheckable_ = false;
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

}  // namespace undertone::verifier
