#include "shuffler/batch/batch_store.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "shared/base/random_source.hpp"
#include "tests/support/plain_adder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::shuffler {
namespace {

using std::chrono::milliseconds;
using store::Database;

SiloId silo_in_store(const std::string& name) { return SiloId::create(name).value(); }
RunId run(std::uint8_t number) { return {sha256("job"), {number}}; }
BatchSpec store_spec(const RunId& of) {
  const std::vector<SiloId> silos{silo_in_store("hospital-north"), silo_in_store("hospital-south"),
                                  silo_in_store("hospital-west")};
  return {of, {3}, 1, silos, 2, 8, 4, 0, sha256("query"), milliseconds(500)};
}
const Digest kStoreTerms = sha256("terms");
/// Of three words of two bytes.
BatchSpec adding(const RunId& of) {
  BatchSpec out = store_spec(of);
  out.message_bytes = out.unit_bytes = tests::PlainAdder::kSealing + 6;
  out.word_bytes = 2;
  return out;
}
const std::vector<std::string> kUnits{"west", "rthn", "nort", "tsew"};

std::size_t occurrences(const std::string& haystack, const std::string& needle) {
  std::size_t found = 0;
  for (std::size_t at = haystack.find(needle); at != std::string::npos; at = haystack.find(needle, at + 1)) ++found;
  return found;
}

class BatchStoreTest : public ::testing::Test {
 protected:
  BatchStoreTest() { reopen(); }
  void reopen() {
    store_.reset();
    database_.reset();
    database_.emplace(Database::open(file(), Database::Sync::Normal).value());
    store_.emplace(BatchStore::open(*database_).value());
  }
  void apply(const Change& change) {
    const Status applied = store_->apply(change);
    ASSERT_TRUE(applied) << applied.error().message;
  }
  void collect(const RunId& of) {
    apply(BatchOpened{store_spec(of)});
    apply(MessageReceived{of, 2, kStoreTerms, "westtsew"});
    apply(MessageReceived{of, 0, kStoreTerms, "nortrthn"});
  }
  void collect_shares(const RunId& of) {
    apply(BatchOpened{adding(of)});
    apply(MessageReceived{of, 1, kStoreTerms, share("south.")});
    apply(MessageReceived{of, 0, kStoreTerms, share("north.")});
    apply(BatchCollected{of});
  }
  static std::string share(const char* words) { return tests::PlainAdder::share(words); }
  Batch only() {
    std::vector<Batch> batches = store_->load().value();
    EXPECT_EQ(batches.size(), 1U);
    return batches.at(0);
  }
  /// The database's file and its log.
  std::string bytes() const {
    std::string all;
    for (const char* suffix : {"", "-wal"}) {
      std::ifstream in(file().string() + suffix, std::ios::binary);
      all.append(std::istreambuf_iterator<char>(in), {});
    }
    return all;
  }
  std::filesystem::path file() const { return folder_.path() / "batches.sqlite"; }

  tests::TemporaryFolder folder_;
  std::optional<Database> database_;
  std::optional<BatchStore> store_;
};

TEST_F(BatchStoreTest, KeepsAnOpenBatchWithItsSlots) {
  collect(run(1));
  reopen();
  const Batch batch = only();
  EXPECT_EQ(batch.state, BatchState::Collecting);
  EXPECT_EQ(batch.spec, store_spec(run(1)));
  EXPECT_EQ(batch.received, (std::map<std::size_t, std::string>{{0, "nortrthn"}, {2, "westtsew"}}));
  EXPECT_EQ(occurrences(bytes(), "hospital-north"), 1U);  // the search below can find what is there
}

TEST_F(BatchStoreTest, KeepsAPermutedBatchByPlaceAndNoSilo) {
  collect(run(1));
  apply(BatchPermuted{run(1), 2, kUnits});
  EXPECT_EQ(std::filesystem::file_size(file().string() + "-wal"), 0U);
  const std::string kept = bytes();
  EXPECT_EQ(occurrences(kept, "hospital"), 0U);
  for (const std::string& unit : kUnits) EXPECT_EQ(occurrences(kept, unit), 1U);
  EXPECT_EQ(occurrences(kept, "westtsew") + occurrences(kept, "nortrthn"), 0U);
  reopen();
  const Batch batch = only();
  EXPECT_EQ(batch.state, BatchState::Forwarding);
  EXPECT_EQ(batch.replies, 2U);
  EXPECT_TRUE(batch.spec.expected.empty());
  EXPECT_TRUE(batch.received.empty());
  EXPECT_EQ(batch.units, kUnits);
}

TEST_F(BatchStoreTest, FailedAndFinishedBatchesLeaveOnlyTheirNumbers) {
  collect(run(1));
  apply(BatchFailed{run(1), 2});
  collect(run(2));
  apply(BatchPermuted{run(2), 2, kUnits});
  apply(BatchFinished{run(2)});
  for (const char* gone : {"hospital", "west", "tsew", "nort", "rthn"}) EXPECT_EQ(occurrences(bytes(), gone), 0U);
  reopen();
  const std::vector<Batch> batches = store_->load().value();
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].state, BatchState::Failed);
  EXPECT_EQ(batches[1].state, BatchState::Final);
  for (const Batch& batch : batches) {
    EXPECT_EQ(batch.replies, 2U);
    EXPECT_EQ(batch.spec.attempt, 1U);
    EXPECT_EQ(batch.spec.replies_min, 2U);
    EXPECT_EQ(batch.spec.round, RoundIndex{3});
    EXPECT_TRUE(batch.received.empty() && batch.units.empty());
  }
}

TEST_F(BatchStoreTest, ARunGoesFromRoundToRound) {
  collect(run(1));
  apply(BatchFailed{run(1), 2});
  BatchSpec next = store_spec(run(1));
  next.attempt = 2;
  apply(BatchOpened{next});
  apply(BatchPermuted{run(1), 2, kUnits});
  apply(BatchFinished{run(1)});
  next.round = {4};
  next.attempt = 0;
  apply(BatchOpened{next});
  EXPECT_EQ(only().spec, next);
  EXPECT_EQ(only().replies, 0U);
}

TEST_F(BatchStoreTest, KeepsCollectedSharesAndThenTheTotalAlone) {
  collect_shares(run(1));
  reopen();
  Batch batch = only();
  EXPECT_EQ(batch.state, BatchState::Collected);
  EXPECT_EQ(batch.spec, adding(run(1)));
  EXPECT_EQ(batch.terms, (std::map<std::size_t, Digest>{{0, kStoreTerms}, {1, kStoreTerms}}));
  EXPECT_EQ(batch.received, (std::map<std::size_t, std::string>{{0, share("north.")}, {1, share("south.")}}));
  EXPECT_EQ(occurrences(bytes(), "south."), 1U);
  apply(BatchAdded{run(1), 2, sha256("north and south"), "totals"});
  EXPECT_EQ(std::filesystem::file_size(file().string() + "-wal"), 0U);
  for (const char* gone : {"hospital", "north.", "south.", "oooo"}) EXPECT_EQ(occurrences(bytes(), gone), 0U);
  EXPECT_EQ(occurrences(bytes(), "totals"), 1U);
  reopen();
  batch = only();
  EXPECT_EQ(batch.state, BatchState::Forwarding);
  EXPECT_EQ(batch.replies, 2U);
  EXPECT_EQ(batch.units, std::vector<std::string>{"totals"});
  EXPECT_EQ(batch.added, sha256("north and south"));
  EXPECT_TRUE(batch.spec.expected.empty() && batch.received.empty() && batch.terms.empty());
  apply(BatchFinished{run(1)});
  EXPECT_EQ(occurrences(bytes(), "totals") + occurrences(bytes(), std::string(as_bytes(sha256("north and south")))),
            0U);
  EXPECT_EQ(only().state, BatchState::Final);
  EXPECT_EQ(only().replies, 2U);
  EXPECT_TRUE(only().units.empty() && !only().added);
}

TEST_F(BatchStoreTest, KeepsWhatTermsEachReplyHasAndTheSameOnesGoTogetherAfterARestart) {
  apply(BatchOpened{adding(run(1))});
  apply(MessageReceived{run(1), 0, sha256("other terms"), share("north.")});
  apply(MessageReceived{run(1), 2, kStoreTerms, share("west..")});
  apply(MessageReceived{run(1), 1, kStoreTerms, share("south.")});
  apply(BatchCollected{run(1)});
  EXPECT_EQ(agreeing_slots(only()), (std::set<std::size_t>{1, 2}));
  reopen();
  EXPECT_EQ(only().received.size(), 3U);
  EXPECT_EQ(only().terms.at(0), sha256("other terms"));
  EXPECT_EQ(agreeing_slots(only()), (std::set<std::size_t>{1, 2}));
  apply(BatchAdded{run(1), 2, sha256("south and west"), "totals"});
  for (const char* gone : {"hospital", "north.", "south.", "west.."}) EXPECT_EQ(occurrences(bytes(), gone), 0U);
}

TEST_F(BatchStoreTest, CollectedSharesThatFailAreGone) {
  collect_shares(run(1));
  apply(BatchFailed{run(1), 2});
  EXPECT_EQ(only().state, BatchState::Failed);
  for (const char* gone : {"hospital", "north.", "south.", "oooo"}) EXPECT_EQ(occurrences(bytes(), gone), 0U);
  BatchSpec next = store_spec(run(1));  // a run of another kind of batch: its row is the same
  next.attempt = 2;
  apply(BatchOpened{next});
  EXPECT_EQ(only().spec, next);
}

/// Which change may follow which state, and that any other leaves what is held as it was.
TEST_F(BatchStoreTest, AChangeThatDoesNotFitIsNoChange) {
  const auto changes_of = [](const RunId& of, const std::string& message) {
    return std::map<std::string, Change>{
        {"opened", BatchOpened{store_spec(of)}},
        {"received", MessageReceived{of, 1, kStoreTerms, message}},
        {"received twice", MessageReceived{of, 0, kStoreTerms, message}},
        {"collected", BatchCollected{of}},
        {"permuted", BatchPermuted{of, 2, kUnits}},
        {"added", BatchAdded{of, 2, sha256("north and west"), "totals"}},
        {"failed", BatchFailed{of, 2}},
        {"finished", BatchFinished{of}},
    };
  };
  struct Case {
    const char* name;
    std::function<void(const RunId&)> reach;
    std::set<std::string> fits;
    std::string message = "newcomer";
  };
  const std::vector<Case> cases = {
      {"unknown", [](const RunId&) {}, {"opened"}},
      {"collecting", [this](const RunId& of) { collect(of); }, {"received", "permuted", "failed"}},
      {"collecting shares",
       [this](const RunId& of) {
         apply(BatchOpened{adding(of)});
         apply(MessageReceived{of, 0, kStoreTerms, share("north.")});
         apply(MessageReceived{of, 2, kStoreTerms, share("west..")});
       },
       {"received", "collected", "failed"},
       share("middle")},
      {"collected", [this](const RunId& of) { collect_shares(of); }, {"added", "failed"}},
      {"forwarding units",
       [this](const RunId& of) {
         collect(of);
         apply(BatchPermuted{of, 2, kUnits});
       },
       {"finished"}},
      {"forwarding a total",
       [this](const RunId& of) {
         collect_shares(of);
         apply(BatchAdded{of, 2, sha256("north and south"), "totals"});
       },
       {"finished"}},
      {"final",
       [this](const RunId& of) {
         collect(of);
         apply(BatchPermuted{of, 2, kUnits});
         apply(BatchFinished{of});
       },
       {"opened"}},
      {"failed",
       [this](const RunId& of) {
         collect_shares(of);
         apply(BatchFailed{of, 2});
       },
       {"opened"}},
  };
  std::uint8_t next = 0;
  for (const Case& one : cases) {
    for (const auto& [name, ignored] : changes_of(run(0), {})) {
      SCOPED_TRACE(fmt::format("{} when {}", name, one.name));
      const RunId of = run(++next);
      one.reach(of);
      const std::vector<Batch> before = store_->load().value();
      EXPECT_EQ(store_->apply(changes_of(of, one.message).at(name)).has_value(), one.fits.contains(name));
      if (one.fits.contains(name)) continue;
      const std::vector<Batch> after = store_->load().value();
      ASSERT_EQ(after.size(), before.size());
      if (before.empty()) continue;
      EXPECT_EQ(after.back().spec, before.back().spec);
      EXPECT_EQ(after.back().state, before.back().state);
      EXPECT_EQ(after.back().received, before.back().received);
      EXPECT_EQ(after.back().units, before.back().units);
    }
  }
}

TEST_F(BatchStoreTest, RefusesANewerVersionAndWhatDoesNotAddUp) {
  collect(run(1));
  apply(BatchPermuted{run(1), 2, kUnits});
  collect_shares(run(2));
  collect_shares(run(3));
  apply(BatchAdded{run(3), 2, sha256("north and south"), "totals"});
  for (const char* damage :
       {"DELETE FROM permuted_1 WHERE place = 3", "DELETE FROM permuted_1 WHERE place = 1",
        "UPDATE permuted_1 SET unit = x'00' WHERE place = 1", "UPDATE runs SET replies = 1 WHERE number = 1",
        "UPDATE runs SET replies = 3 WHERE number = 1", "UPDATE runs SET state = 6 WHERE number = 1",
        "UPDATE runs SET query = x'00' WHERE number = 1", "DELETE FROM received_2 WHERE slot = 0",
        "UPDATE received_2 SET terms = zeroblob(32) WHERE slot = 0", "UPDATE received_2 SET terms = x'00'",
        "UPDATE received_2 SET message = x'00'", "UPDATE received_2 SET slot = 3 WHERE slot = 1",
        "DELETE FROM silos_2 WHERE slot = 0", "DELETE FROM total_3", "UPDATE total_3 SET total = x'00'",
        "UPDATE total_3 SET added = x'00'"}) {
    SCOPED_TRACE(damage);
    ASSERT_TRUE(store_->load());
    ASSERT_TRUE(database_->execute("SAVEPOINT undamaged"));
    ASSERT_TRUE(database_->execute(damage));
    EXPECT_FALSE(store_->load());
    ASSERT_TRUE(database_->execute("ROLLBACK TO undamaged; RELEASE undamaged"));
  }
  ASSERT_TRUE(database_->execute("PRAGMA user_version = 2"));
  EXPECT_FALSE(BatchStore::open(*database_));
}

TEST_F(BatchStoreTest, NobodyElseOpensTheFile) {
  Database reader = Database::open_to_read(file()).value();
  ASSERT_TRUE(reader.execute("PRAGMA busy_timeout=0"));
  EXPECT_FALSE(reader.execute("SELECT * FROM runs"));
}

/// What a killed process leaves: the file and the log as they are between a commit and the log's erasure.
TEST_F(BatchStoreTest, OpeningErasesWhatADeathAfterTheCommitLeft) {
  collect(run(1));
  const std::filesystem::path left = folder_.path() / "left.sqlite";
  database_->observe_commits([&](Database::CommitPoint point) {
    if (point == Database::CommitPoint::Before) return;
    for (const char* suffix : {"", "-wal"})
      std::filesystem::copy_file(file().string() + suffix, left.string() + suffix);
  });
  apply(BatchPermuted{run(1), 2, kUnits});
  const auto names_in = [&left] {
    std::size_t found = 0;
    for (const char* suffix : {"", "-wal"}) {
      std::ifstream in(left.string() + suffix, std::ios::binary);
      found += occurrences(std::string(std::istreambuf_iterator<char>(in), {}), "hospital");
    }
    return found;
  };
  ASSERT_GT(names_in(), 0U);
  Database database = Database::open(left, Database::Sync::Normal).value();
  BatchStore store = BatchStore::open(database).value();
  EXPECT_EQ(names_in(), 0U);
  EXPECT_EQ(store.load().value().at(0).units, kUnits);
}

/// Many silos that answer in any order, in three runs at once, of which the last adds: pages split and cells move, and
/// nothing stays behind.
TEST_F(BatchStoreTest, NothingStaysBehindWherePagesSplit) {
  constexpr std::size_t kSilos = 120;
  for (const std::size_t length : {20U, 300U, 1500U, 5000U}) {
    SCOPED_TRACE(length);
    RandomSource random(length);
    const auto numbered = [](std::size_t of) { return run(static_cast<std::uint8_t>(of)); };
    const auto name = [&](std::size_t of, std::size_t slot) {
      return fmt::format("clinic-{}-{}-{:03}", length, of, slot);
    };
    std::map<std::pair<std::size_t, std::size_t>, std::string> messages;
    std::vector<std::pair<std::size_t, std::size_t>> arrivals;
    for (std::size_t of = 0; of < 3; ++of) {
      BatchSpec wanted = store_spec(numbered(of));
      wanted.round = {length};
      wanted.expected.clear();
      wanted.message_bytes = of == 2 ? tests::PlainAdder::kSealing + length : 2 * length;
      wanted.unit_bytes = of == 2 ? wanted.message_bytes : length;
      wanted.word_bytes = of == 2 ? 4 : 0;
      for (std::size_t slot = 0; slot < kSilos; ++slot) {
        wanted.expected.push_back(silo_in_store(name(of, slot)));
        std::string& message = messages[{of, slot}];
        while (message.size() < wanted.message_bytes) message.push_back(static_cast<char>(random.word()));
        arrivals.emplace_back(of, slot);
      }
      apply(BatchOpened{wanted});
    }
    for (const std::size_t i : random.permutation(arrivals.size())) {
      const auto [of, slot] = arrivals[i];
      apply(MessageReceived{numbered(of), slot, kStoreTerms, messages.at(arrivals[i])});
    }
    // A unit longer than a page lies in pieces: its beginning and its end stand for it.
    const auto found = [&](const std::string& kept, const std::string& unit) {
      return std::max(occurrences(kept, unit.substr(0, 20)), occurrences(kept, unit.substr(unit.size() - 20)));
    };
    for (std::size_t of = 0; of < 2; ++of) {
      std::vector<std::string> units;
      for (std::size_t slot = 0; slot < kSilos; ++slot) {
        for (const std::size_t at : {std::size_t{0}, length})
          units.push_back(messages.at({of, slot}).substr(at, length));
      }
      BatchPermuted permuted{numbered(of), kSilos, {}};
      for (const std::size_t from : random.permutation(units.size())) permuted.units.push_back(units[from]);
      apply(permuted);
      const std::string kept = bytes();
      EXPECT_EQ(occurrences(kept, fmt::format("clinic-{}-{}-", length, of)), 0U);
      for (const std::string& unit : units) EXPECT_EQ(found(kept, unit), 1U);
    }
    apply(BatchCollected{numbered(2)});
    apply(BatchAdded{numbered(2), kSilos, sha256("all"), std::string(length, 't')});
    std::string kept = bytes();
    EXPECT_EQ(occurrences(kept, "clinic-"), 0U);
    for (std::size_t slot = 0; slot < kSilos; ++slot) EXPECT_EQ(found(kept, messages.at({2, slot})), 0U);
    for (std::size_t of = 0; of < 3; ++of) apply(BatchFinished{numbered(of)});
    kept = bytes();
    EXPECT_EQ(occurrences(kept, std::string(20, 't')), 0U);
    for (const auto& [key, message] : messages) EXPECT_EQ(found(kept, message), 0U);
  }
}

}  // namespace
}  // namespace undertone::shuffler
