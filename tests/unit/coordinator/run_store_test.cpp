#include "coordinator/jobs/run_store.hpp"

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

TEST(RunStoreTest, ASiloThatInventsLedgersFillsNeitherDiskNorMemory) {
  store::Database database = store::Database::in_memory().value();
  RunStore store = RunStore::open(database).value();
  const SiloId inventor = SiloId::create("inventor").value();
  constexpr int kWaitingMax = 4096;
  for (int i = 0; i < kWaitingMax; ++i) {
    EXPECT_EQ(rows_of(database, "receipts"), 0) << i;  // they wait for a commit
    ASSERT_TRUE(store.record_receipt(inventor, {sha256(std::to_string(i)), 1, {}, std::string(64, 's')}));
  }
  EXPECT_EQ(rows_of(database, "receipts"), 16);  // no more of them wait, and no more are kept
  EXPECT_EQ(store.receipts(inventor).value().size(), wire::kReceiptsMax);
  // Another silo's are its own.
  const SiloId other = SiloId::create("other").value();
  ASSERT_TRUE(store.record_receipt(other, {sha256("theirs"), 1, {}, std::string(64, 's')}));
  EXPECT_EQ(store.receipts(other).value().size(), 1U);
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
