#include "coordinator/runs/run_store.hpp"

#include <gtest/gtest.h>

#include "coordinator/jobs/job_service.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::coordinator {
namespace {

TEST(RunStoreTest, AShuffledRoundThatCannotBeIsAnErrorOfTheStore) {
  store::Database database = store::Database::in_memory().value();
  RunStore store = RunStore::open(database).value();
  const RunId run{sha256("job"), {1}};
  const SiloId a = SiloId::create("a").value();
  const SiloId b = SiloId::create("b").value();
  const auto code_of = [&](std::uint32_t attempt, const std::vector<SiloId>& expected) {
    EXPECT_TRUE(store.set_shuffled_state(run, {{}, {}, ShuffledRound::Commit{attempt, expected, {}}}));
    const auto state = store.shuffled_state(run);
    return state ? std::nullopt : std::optional(state.error().code);
  };
  EXPECT_EQ(code_of(1, {a, b}), std::nullopt);
  EXPECT_EQ(code_of(2, {a, b}), ErrorCode::StorageFailed);  // there is no third attempt
  EXPECT_EQ(code_of(1, {b, a}), ErrorCode::StorageFailed);
  EXPECT_EQ(code_of(1, {a, a}), ErrorCode::StorageFailed);
}

std::int64_t rows_of(store::Database& database, const std::string& table) {
  store::Statement count = database.prepare("SELECT count(*) FROM " + table).value();
  EXPECT_TRUE(count.step().value());
  return count.integer(0);
}

wire::Receipt receipt_of(const std::string& ledger, std::uint64_t sequence) {
  return {sha256(ledger), sequence, sha256(fmt::format("{} {}", ledger, sequence)), std::string(64, 's')};
}

/// A store that counts its commits.
struct CountedStore {
  store::Database database = store::Database::in_memory().value();
  RunStore store = RunStore::open(database).value();
  int commits = 0;

  CountedStore() {
    database.observe_commits([this](store::Database::CommitPoint point) {
      commits += point == store::Database::CommitPoint::After ? 1 : 0;
    });
  }
  CountedStore(const CountedStore&) = delete;
  CountedStore& operator=(const CountedStore&) = delete;
};

TEST(RunStoreTest, ASiloThatInventsLedgersFillsNeitherDiskNorMemory) {
  CountedStore counted;
  RunStore& store = counted.store;
  const SiloId inventor = SiloId::create("inventor").value();
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(store.record_receipt(inventor, receipt_of(std::to_string(i), 1)));
  EXPECT_EQ(store.waiting(), wire::kReceiptsMax);
  EXPECT_EQ(counted.commits, 0);
  ASSERT_TRUE(store.flush());
  EXPECT_EQ(rows_of(counted.database, "receipts"), 16);
  ASSERT_TRUE(store.record_receipt(inventor, receipt_of("one more", 1)));
  EXPECT_EQ(store.waiting(), 0U);
  EXPECT_EQ(store.receipts(inventor).value().size(), wire::kReceiptsMax);
  // Another silo's are its own.
  const SiloId other = SiloId::create("other").value();
  ASSERT_TRUE(store.record_receipt(other, receipt_of("theirs", 1)));
  EXPECT_EQ(store.receipts(other).value().size(), 1U);
}

TEST(RunStoreTest, WhatManySilosSayWaitsBounded) {
  CountedStore counted;
  for (int i = 0; i < 4096; ++i) {
    EXPECT_EQ(counted.commits, 0) << i;
    const SiloId silo = SiloId::create(fmt::format("silo-{}", i)).value();
    ASSERT_TRUE(counted.store.record_receipt(silo, receipt_of("its own", 1)));
  }
  EXPECT_EQ(counted.commits, 1);
  EXPECT_EQ(counted.store.waiting(), 0U);
  EXPECT_EQ(rows_of(counted.database, "receipts"), 4096);
}

TEST(RunStoreTest, ASiloThatWasEverHereIsKnownAfterARestartAndWrittenOnce) {
  CountedStore counted;
  const SiloId silo = SiloId::create("silo").value();
  const SiloId told = SiloId::create("told").value();
  EXPECT_FALSE(counted.store.seen().contains(silo));
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(counted.store.record_seen(silo));
  EXPECT_EQ(counted.store.waiting(), 1U);
  EXPECT_EQ(counted.commits, 0);
  ASSERT_TRUE(counted.store.record_receipt(told, receipt_of("its own", 1)));
  ASSERT_TRUE(counted.store.flush());
  ASSERT_TRUE(counted.store.record_seen(silo));
  EXPECT_EQ(counted.store.waiting(), 0U);
  EXPECT_EQ(rows_of(counted.database, "silos_seen"), 1);
  // What a silo told before there was a list of them counts too.
  const RunStore again = RunStore::open(counted.database).value();
  EXPECT_EQ(again.seen(), (std::set<SiloId>{silo, told}));
}

TEST(RunStoreTest, WhatASiloSaysOftenCostsNoCommitOfItsOwn) {
  CountedStore counted;
  RunStore& store = counted.store;
  const SiloId silo = SiloId::create("silo").value();
  const RunId run{sha256("job"), {1}};
  ASSERT_TRUE(store.begin(run, "job", "{}", {silo}, "", 1));
  ASSERT_TRUE(store.fail(run, RunState::Cancelled, "enough"));
  const int before = counted.commits;
  for (std::uint64_t sequence = 1; sequence <= 1000; ++sequence) {
    ASSERT_TRUE(store.record_receipt(silo, receipt_of("its own", sequence)));
    ASSERT_TRUE(store.record_end_seen(run, silo));
    ASSERT_TRUE(store.record_end_seen({sha256("unknown"), {}}, silo));
    // It connects again: what waits counts, and is not committed for it.
    EXPECT_EQ(store.receipts(silo).value().at(0).sequence, sequence);
    EXPECT_TRUE(store.ends_unseen(silo).value().empty());
  }
  EXPECT_EQ(store.waiting(), 2U);
  EXPECT_EQ(counted.commits, before);
  ASSERT_TRUE(store.flush());
  ASSERT_TRUE(store.flush());
  EXPECT_EQ(counted.commits, before + 1);
  // What is said again is no news.
  ASSERT_TRUE(store.record_receipt(silo, receipt_of("its own", 999)));
  ASSERT_TRUE(store.record_end_seen(run, silo));
  EXPECT_EQ(store.waiting(), 0U);
  EXPECT_EQ(store.receipts(silo).value().at(0).sequence, 1000U);
  EXPECT_EQ(rows_of(counted.database, "ends_unseen"), 0);
}

TEST(RunStoreTest, ARoundsCommitTakesWhatWaitsAlong) {
  CountedStore counted;
  const SiloId silo = SiloId::create("silo").value();
  ASSERT_TRUE(counted.store.record_receipt(silo, receipt_of("its own", 7)));
  ASSERT_TRUE(counted.store.start_rounds({sha256("job"), {1}}, {}));
  EXPECT_EQ(counted.commits, 1);
  EXPECT_EQ(counted.store.waiting(), 0U);
  EXPECT_EQ(RunStore::open(counted.database).value().receipts(silo).value().at(0).sequence, 7U);
}

TEST(RunStoreTest, AnEndThatACrashForgotWasSeenIsToldAgain) {
  store::Database database = store::Database::in_memory().value();
  const SiloId silo = SiloId::create("silo").value();
  const RunId run{sha256("job"), {1}};
  {
    RunStore store = RunStore::open(database).value();
    ASSERT_TRUE(store.begin(run, "job", "{}", {silo}, "", 1));
    ASSERT_TRUE(store.fail(run, RunState::Cancelled, "enough"));
    ASSERT_TRUE(store.record_end_seen(run, silo));
    EXPECT_TRUE(store.ends_unseen(silo).value().empty());
  }
  RunStore again = RunStore::open(database).value();
  EXPECT_EQ(again.ends_unseen(silo).value().size(), 1U);
}

TEST(RunStoreTest, SealingKeysAreBounded) {
  store::Database database = store::Database::in_memory().value();
  RunStore store = RunStore::open(database).value();
  ASSERT_TRUE(
      database.execute("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 99999) "
                       "INSERT INTO sealing_keys SELECT CAST(i AS BLOB), zeroblob(32) FROM n"));
  EXPECT_TRUE(store.add_sealing_key(sha256("the last"), std::string(32, 'k')));
  const Status beyond = store.add_sealing_key(sha256("one more"), std::string(32, 'k'));
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(rows_of(database, "sealing_keys"), 100'000);
}

TEST(RunStoreTest, AStoreOfVersion01IsTakenOverWithItsRuns) {
  store::Database database = store::Database::in_memory().value();
  // As version 0.1 made it.
  ASSERT_TRUE(database.execute(
      "CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, run BLOB UNIQUE NOT NULL, job_digest BLOB NOT NULL,"
      " job BLOB NOT NULL, state TEXT NOT NULL, failure TEXT NOT NULL DEFAULT '');"
      "CREATE TABLE answers (run BLOB, silo TEXT, refusal INTEGER NOT NULL, PRIMARY KEY (run, silo));"
      "CREATE TABLE checkpoints (run BLOB PRIMARY KEY, round INTEGER NOT NULL, state BLOB NOT NULL, query BLOB NOT "
      "NULL);"
      "CREATE TABLE participation (run BLOB, round INTEGER, silo TEXT, reply BLOB, PRIMARY KEY (run, round, silo));"));
  const std::string job = tests::SmallFederation{}.job();
  const RunId run{sha256(job), {5}};
  {
    store::Statement insert =
        database.prepare("INSERT INTO runs (run, job_digest, job, state) VALUES (?, ?, ?, 'joining')").value();
    ASSERT_TRUE(insert.bind_blob(1, run.bytes()).bind_blob(2, as_bytes(run.job)).bind_blob(3, job).run());
  }
  RunStore store = RunStore::open(database).value();
  EXPECT_EQ(store.find(run).value()->state, RunState::Joining);
  JobService service(store, wire::Limits{}, {}, [] { return std::int64_t{1}; });
  (void)service.start(TimePoint{}).value();
  EXPECT_NE(service.machine(run), nullptr);
  ASSERT_TRUE(RunStore::open(database));  // a second time changes nothing
  ASSERT_TRUE(database.execute("PRAGMA user_version = 99"));
  EXPECT_FALSE(RunStore::open(database));
}

}  // namespace
}  // namespace undertone::coordinator
