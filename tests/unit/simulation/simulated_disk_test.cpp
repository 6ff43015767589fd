#include "simulation/simulated_disk.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <utility>

#include "shared/store/sqlite.hpp"

namespace undertone::simulation {
namespace {

using store::Database;

Database open(const SimulatedDisk& disk) {
  return Database::open("it.sqlite", Database::Sync::Full, disk.vfs()).value();
}

void insert(Database& database, int number) {
  ASSERT_TRUE(database.transaction([&]() -> Status {
    return database.execute("INSERT INTO t VALUES (" + std::to_string(number) + ", zeroblob(5000))");
  }));
}

std::int64_t rows(Database& database) {
  store::Statement row = database.prepare("SELECT count(*) FROM t").value();
  EXPECT_TRUE(row.step().value());
  return row.integer(0);
}

/// Dies at the k-th write or sync, counted from 1.
struct Killer {
  std::uint64_t at = 0;
  std::uint64_t seen = 0;
  SimulatedDisk::Watch watch() {
    return [this] { return ++seen == at; };
  }
};

TEST(SimulatedDiskTest, WhatWasCommittedOutlivesALossOfPower) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource chance(seed);
    SimulatedDisk disk(chance, {});
    std::optional<Database> database(open(disk));
    ASSERT_TRUE(database->execute("CREATE TABLE t (n INTEGER, b BLOB)"));
    for (int i = 0; i < 5; ++i) insert(*database, i);
    disk.abandon(true);
    database.reset();
    disk.revive();
    database.emplace(open(disk));
    EXPECT_EQ(rows(*database), 5);
  }
}

TEST(SimulatedDiskTest, ADeathAtAnyWriteLeavesATransactionWholeOrNotAtAll) {
  Killer calm;
  const auto live = [](Killer& killer, std::uint64_t seed, bool power) {
    RandomSource chance(seed);
    SimulatedDisk disk(chance, killer.watch());
    const std::uint64_t at = std::exchange(killer.at, 0);
    std::optional<Database> database(open(disk));
    EXPECT_TRUE(database->execute("CREATE TABLE t (n INTEGER, b BLOB)"));
    killer.seen = 0;
    killer.at = at;
    std::int64_t committed = 0;
    for (int i = 0; i < 3; ++i) {
      const Status done = database->transaction([&]() -> Status {
        return database->execute("INSERT INTO t VALUES (1, zeroblob(9000)), (2, zeroblob(9000))");
      });
      if (done) committed += 2;
    }
    disk.abandon(power);
    database.reset();
    disk.revive();
    killer.at = 0;
    database.emplace(open(disk));
    const std::int64_t there = rows(*database);
    if (at == 0) {
      EXPECT_EQ(there, 6);
    }
    EXPECT_GE(there, committed);
    EXPECT_EQ(there % 2, 0);
    return there;
  };
  (void)live(calm, 1, true);
  ASSERT_GT(calm.seen, 10U);
  bool lost_some = false;
  for (std::uint64_t point = 1; point <= calm.seen; ++point) {
    for (const bool power : {false, true}) {
      SCOPED_TRACE(point);
      Killer killer{point, 0};
      lost_some = live(killer, point, power) < 6 || lost_some;
    }
  }
  EXPECT_TRUE(lost_some);
}

TEST(SimulatedDiskTest, WhatAKilledProcessDidNotSyncIsSyncedBeforeItIsReadAgain) {
  // Between the writing of a commit and its sync: the next process reads the commit, whatever the power does then.
  bool read_again = false;
  for (std::uint64_t point = 1; point < 30; ++point) {
    SCOPED_TRACE(point);
    RandomSource chance(point);
    Killer killer;
    SimulatedDisk disk(chance, killer.watch());
    std::optional<Database> database(open(disk));
    ASSERT_TRUE(database->execute("CREATE TABLE t (n INTEGER, b BLOB)"));
    killer.at = killer.seen + point;
    const bool committed =
        database->transaction([&]() -> Status { return database->execute("INSERT INTO t VALUES (1, zeroblob(9000))"); })
            .has_value();
    disk.abandon(false);
    database.reset();
    disk.revive();
    killer.at = 0;
    database.emplace(open(disk));
    const std::int64_t seen = rows(*database);
    read_again = read_again || (seen == 1 && !committed);
    disk.abandon(true);
    database.reset();
    disk.revive();
    database.emplace(open(disk));
    EXPECT_EQ(rows(*database), seen);
  }
  EXPECT_TRUE(read_again);
}

TEST(SimulatedDiskTest, AFullDiskRefusesWhatWouldGrowAndLosesNothing) {
  RandomSource chance(1);
  SimulatedDisk disk(chance, {});
  Database database = open(disk);
  ASSERT_TRUE(database.execute("CREATE TABLE t (n INTEGER, b BLOB)"));
  insert(database, 1);
  disk.set_full(true);
  EXPECT_FALSE(
      database.transaction([&]() -> Status { return database.execute("INSERT INTO t VALUES (2, zeroblob(100000))"); }));
  EXPECT_TRUE(disk.refused());
  EXPECT_EQ(rows(database), 1);
  disk.set_full(false);
  insert(database, 3);
  EXPECT_EQ(rows(database), 2);
}

}  // namespace
}  // namespace undertone::simulation
