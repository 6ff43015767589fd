#include "shuffler/batch/batch_store.hpp"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>

#include "shared/base/random_source.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::shuffler {
namespace {

using std::chrono::milliseconds;
using store::Database;

SiloId silo(const std::string& name) { return SiloId::create(name).value(); }
RunId run(std::uint8_t number) { return {sha256("job"), {number}}; }
BatchSpec spec(const RunId& of) {
  return {of, {3}, 1, {silo("hospital-north"), silo("hospital-south"), silo("hospital-west")}, 2, 8, milliseconds(500)};
}

std::size_t count(const std::string& haystack, const std::string& needle) {
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
    apply(BatchOpened{spec(of)});
    apply(MessageReceived{of, 2, "westwest"});
    apply(MessageReceived{of, 0, "northern"});
  }
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
  EXPECT_EQ(batch.spec, spec(run(1)));
  EXPECT_EQ(batch.received, (std::map<std::size_t, std::string>{{0, "northern"}, {2, "westwest"}}));
  EXPECT_EQ(count(bytes(), "hospital-north"), 1U);  // the search below can find what is there
}

TEST_F(BatchStoreTest, KeepsAPermutedBatchByPlaceAndNoSilo) {
  collect(run(1));
  apply(BatchPermuted{run(1), {"westwest", "northern"}});
  EXPECT_EQ(std::filesystem::file_size(file().string() + "-wal"), 0U);
  const std::string kept = bytes();
  EXPECT_EQ(count(kept, "hospital"), 0U);
  EXPECT_EQ(count(kept, "westwest"), 1U);
  EXPECT_EQ(count(kept, "northern"), 1U);
  reopen();
  const Batch batch = only();
  EXPECT_EQ(batch.state, BatchState::Forwarding);
  EXPECT_EQ(batch.replies, 2U);
  EXPECT_TRUE(batch.spec.expected.empty());
  EXPECT_TRUE(batch.received.empty());
  EXPECT_EQ(batch.permuted, (std::vector<std::string>{"westwest", "northern"}));
}

TEST_F(BatchStoreTest, FailedAndFinishedBatchesLeaveOnlyTheirNumbers) {
  collect(run(1));
  apply(BatchFailed{run(1), 2});
  collect(run(2));
  apply(BatchPermuted{run(2), {"westwest", "northern"}});
  apply(BatchFinished{run(2)});
  for (const char* gone : {"hospital", "westwest", "northern"}) EXPECT_EQ(count(bytes(), gone), 0U);
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
    EXPECT_TRUE(batch.received.empty() && batch.permuted.empty());
  }
}

TEST_F(BatchStoreTest, ARunGoesFromRoundToRound) {
  collect(run(1));
  apply(BatchFailed{run(1), 2});
  BatchSpec next = spec(run(1));
  next.attempt = 2;
  apply(BatchOpened{next});
  apply(BatchPermuted{run(1), {"westwest", "northern"}});
  apply(BatchFinished{run(1)});
  next.round = {4};
  next.attempt = 0;
  apply(BatchOpened{next});
  EXPECT_EQ(only().spec, next);
  EXPECT_EQ(only().replies, 0U);
}

TEST_F(BatchStoreTest, AChangeThatDoesNotFitIsNoChange) {
  EXPECT_FALSE(store_->apply(MessageReceived{run(1), 0, "northern"}));
  EXPECT_FALSE(store_->apply(BatchFailed{run(1), 0}));
  collect(run(1));
  EXPECT_FALSE(store_->apply(MessageReceived{run(1), 0, "anothers"}));
  EXPECT_FALSE(store_->apply(BatchOpened{spec(run(1))}));
  EXPECT_FALSE(store_->apply(BatchFinished{run(1)}));
  EXPECT_EQ(only().received.at(0), "northern");
  apply(BatchPermuted{run(1), {"westwest", "northern"}});
  EXPECT_FALSE(store_->apply(MessageReceived{run(1), 1, "newcomer"}));
  EXPECT_FALSE(store_->apply(BatchPermuted{run(1), {"northern", "westwest", "newcomer"}}));
  EXPECT_FALSE(store_->apply(BatchFailed{run(1), 2}));
  EXPECT_EQ(only().permuted, (std::vector<std::string>{"westwest", "northern"}));
}

TEST_F(BatchStoreTest, RefusesANewerVersionAndWhatDoesNotAddUp) {
  collect(run(1));
  apply(BatchPermuted{run(1), {"westwest", "northern"}});
  ASSERT_TRUE(database_->execute("DELETE FROM permuted_1 WHERE place = 1"));
  EXPECT_FALSE(store_->load());
  ASSERT_TRUE(database_->execute("INSERT INTO permuted_1 VALUES (1, x'00')"));
  EXPECT_FALSE(store_->load());
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
  apply(BatchPermuted{run(1), {"westwest", "northern"}});
  const auto names_in = [&left] {
    std::size_t found = 0;
    for (const char* suffix : {"", "-wal"}) {
      std::ifstream in(left.string() + suffix, std::ios::binary);
      found += count(std::string(std::istreambuf_iterator<char>(in), {}), "hospital");
    }
    return found;
  };
  ASSERT_GT(names_in(), 0U);
  Database database = Database::open(left, Database::Sync::Normal).value();
  BatchStore store = BatchStore::open(database).value();
  EXPECT_EQ(names_in(), 0U);
  EXPECT_EQ(store.load().value().at(0).permuted, (std::vector<std::string>{"westwest", "northern"}));
}

/// Many silos that answer in any order, in three runs at once: pages split and cells move, and nothing stays behind.
TEST_F(BatchStoreTest, NothingStaysBehindWherePagesSplit) {
  constexpr std::size_t kSilos = 120;
  for (const std::size_t length : {20U, 300U, 1500U, 5000U}) {
    SCOPED_TRACE(length);
    RandomSource random(length);
    const auto name = [&](std::size_t of, std::size_t slot) {
      return fmt::format("clinic-{}-{}-{:03}", length, of, slot);
    };
    std::map<std::pair<std::size_t, std::size_t>, std::string> messages;
    std::vector<std::pair<std::size_t, std::size_t>> arrivals;
    for (std::size_t of = 0; of < 3; ++of) {
      BatchSpec wanted{run(static_cast<std::uint8_t>(of)), {length}, 0, {}, 2, length, milliseconds(500)};
      for (std::size_t slot = 0; slot < kSilos; ++slot) {
        wanted.expected.push_back(silo(name(of, slot)));
        std::string& message = messages[{of, slot}];
        while (message.size() < length) message.push_back(static_cast<char>(random.word()));
        arrivals.emplace_back(of, slot);
      }
      apply(BatchOpened{wanted});
    }
    for (const std::size_t i : random.permutation(arrivals.size())) {
      const auto [of, slot] = arrivals[i];
      apply(MessageReceived{run(static_cast<std::uint8_t>(of)), slot, messages.at(arrivals[i])});
    }
    // A message longer than a page lies in pieces: its beginning and its end stand for it.
    const auto found = [&](const std::string& kept, std::size_t of, std::size_t slot) {
      const std::string& message = messages.at({of, slot});
      return std::max(count(kept, message.substr(0, 20)), count(kept, message.substr(length - 20)));
    };
    for (std::size_t of = 0; of < 3; ++of) {
      BatchPermuted permuted{run(static_cast<std::uint8_t>(of)), {}};
      for (const std::size_t slot : random.permutation(kSilos)) permuted.messages.push_back(messages.at({of, slot}));
      apply(permuted);
      const std::string kept = bytes();
      EXPECT_EQ(count(kept, fmt::format("clinic-{}-{}-", length, of)), 0U);
      for (std::size_t slot = 0; slot < kSilos; ++slot) EXPECT_EQ(found(kept, of, slot), 1U);
    }
    for (std::size_t of = 0; of < 3; ++of) apply(BatchFinished{run(static_cast<std::uint8_t>(of))});
    const std::string kept = bytes();
    for (const auto& [key, message] : messages) EXPECT_EQ(found(kept, key.first, key.second), 0U);
  }
}

}  // namespace
}  // namespace undertone::shuffler
