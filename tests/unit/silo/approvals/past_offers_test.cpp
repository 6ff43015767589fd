#include "silo/approvals/past_offers.hpp"

#include <gtest/gtest.h>

#include "silo/approvals/desk.hpp"

namespace undertone::silo {
namespace {

RunId run_of(std::size_t number) {
  RunId run{sha256("job"), {}};
  run.nonce[0] = static_cast<std::uint8_t>(number % 256);
  run.nonce[1] = static_cast<std::uint8_t>(number / 256);
  return run;
}

PastOffer refused(std::size_t number, std::int64_t at) {
  return {run_of(number), "wards", "flu", PastOffer::Outcome::Refused, "budget", "2 of 1 are left", 2.0, 1e-5, at};
}

TEST(PastOffersTest, KeepsTimeDataSetKindAndReasonNewestFirst) {
  store::Database database = store::Database::in_memory().value();
  PastOffers past = PastOffers::open(database).value();
  ASSERT_TRUE(past.note(refused(1, 100)));
  ASSERT_TRUE(past.note(refused(2, 200)));
  const std::vector<PastOffer> all = past.all().value();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].run, run_of(2));
  EXPECT_EQ(all[1].at, 100);
  EXPECT_EQ(all[1].dataset, "wards");
  EXPECT_EQ(all[1].name, "flu");
  EXPECT_EQ(all[1].kind, "budget");
  EXPECT_EQ(all[1].reason, "2 of 1 are left");
  EXPECT_EQ(all[1].epsilon, 2.0);
}

TEST(PastOffersTest, WhoOffersManyPushesTheOldestOutAndNoMoreAreKept) {
  store::Database database = store::Database::in_memory().value();
  PastOffers past = PastOffers::open(database).value();
  for (std::size_t i = 0; i < PastOffers::kKeptMax + 20; ++i)
    ASSERT_TRUE(past.note(refused(i, static_cast<std::int64_t>(i))));
  const std::vector<PastOffer> all = past.all().value();
  ASSERT_EQ(all.size(), PastOffers::kKeptMax);
  EXPECT_EQ(all.front().run, run_of(PastOffers::kKeptMax + 19));
  EXPECT_EQ(all.back().run, run_of(20));  // 0 to 19 made room
}

TEST(PastOffersTest, LongNamesAndReasonsAreCut) {
  store::Database database = store::Database::in_memory().value();
  PastOffers past = PastOffers::open(database).value();
  PastOffer offer = refused(1, 1);
  offer.name = std::string(5000, 'n');
  offer.reason = std::string(50'000, 'r');
  ASSERT_TRUE(past.note(offer));
  EXPECT_EQ(past.all().value().front().name.size(), PastOffers::kNameBytesMax);
  EXPECT_EQ(past.all().value().front().reason.size(), PastOffers::kReasonBytesMax);
}

TEST(PastOffersTest, TheSameRefusalIsWrittenOnceAMinuteAndAnotherReasonAtOnce) {
  store::Database database = store::Database::in_memory().value();
  PastOffers past = PastOffers::open(database).value();
  ASSERT_TRUE(past.note(refused(1, 100)));
  ASSERT_TRUE(past.note(refused(1, 100 + PastOffers::kAgainSeconds)));
  EXPECT_EQ(past.all().value().front().at, 100);
  ASSERT_TRUE(past.note(refused(1, 101 + PastOffers::kAgainSeconds)));
  EXPECT_EQ(past.all().value().front().at, 101 + PastOffers::kAgainSeconds);
  PastOffer other = refused(1, 102 + PastOffers::kAgainSeconds);
  other.reason = "the policy does not allow the model \"network\"";
  ASSERT_TRUE(past.note(other));
  ASSERT_EQ(past.all().value().size(), 1U);
  EXPECT_EQ(past.all().value().front().reason, other.reason);
}

TEST(PastOffersTest, ForgetsARunThatWasAcceptedAfterAll) {
  store::Database database = store::Database::in_memory().value();
  PastOffers past = PastOffers::open(database).value();
  ASSERT_TRUE(past.note(refused(1, 100)));
  ASSERT_TRUE(past.forget(run_of(1)));
  ASSERT_TRUE(past.forget(run_of(2)));  // never known
  EXPECT_TRUE(past.all().value().empty());
}

TEST(DeskTest, OpensAFileFromBeforePastOffersWereKeptAsItIs) {
  store::Database database = store::Database::in_memory().value();
  ASSERT_TRUE(database.execute(
      "CREATE TABLE offers (number INTEGER PRIMARY KEY AUTOINCREMENT, run BLOB UNIQUE NOT NULL, dataset TEXT NOT NULL,"
      " job BLOB NOT NULL, decision TEXT NOT NULL, first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL DEFAULT 0);"
      "CREATE TABLE switches (name TEXT PRIMARY KEY); INSERT INTO switches VALUES ('paused');"));
  {
    store::Statement old =
        database.prepare("INSERT INTO offers (run, dataset, job, decision, first_seen) VALUES (?, 'd', x'', ?, 7)")
            .value();
    ASSERT_TRUE(old.bind_blob(1, run_of(1).bytes()).bind_text(2, "withdrawn").run());
  }
  Desk desk = Desk::open(database).value();
  EXPECT_EQ(desk.decision(run_of(1)).value(), Decision::Withdrawn);
  EXPECT_TRUE(desk.paused().value());
  EXPECT_TRUE(desk.past().all().value().empty());
  EXPECT_TRUE(desk.past().note(refused(2, 9)));
}

TEST(DeskTest, WhatIsNotOfferedForADayIsAPastOfferThatSaysSo) {
  store::Database database = store::Database::in_memory().value();
  Desk desk = Desk::open(database).value();
  const std::int64_t now = 1'700'000'000;
  ASSERT_TRUE(desk.offered(run_of(1), "wards", "job", now).value());
  ASSERT_TRUE(desk.offered(run_of(2), "wards", "job", now + Desk::kStaleSeconds + 1).value());
  const std::vector<PastOffer> past = desk.past().all().value();
  ASSERT_EQ(past.size(), 1U);
  EXPECT_EQ(past[0].run, run_of(1));
  EXPECT_EQ(past[0].outcome, PastOffer::Outcome::Ended);
  EXPECT_EQ(past[0].reason, "its coordinator did not offer it again for a day");
}

}  // namespace
}  // namespace undertone::silo
