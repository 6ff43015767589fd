#include "silo/ledger/ledger.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/planning/plan_digest.hpp"
#include "silo/ledger/ledger_entry.hpp"
#include "tests/support/ledger_on_disk.hpp"
#include "tests/support/memory_head.hpp"
#include "verifier/verification.hpp"

namespace undertone::silo {
namespace {

using crypto::NoiseKind;
using LedgerTest = tests::LedgerOnDisk;

TEST_F(LedgerTest, WhereverItsFirstOpeningDiesItIsALedgerOrHasNotBegunToBeOne) {
  struct Died {};
  using Point = store::Database::CommitPoint;
  for (const Point died_at : {Point::Before, Point::After}) {
    std::filesystem::remove(file());
    std::filesystem::remove(head_file());
    {
      store::Database database = store::Database::open(file(), store::Database::Sync::Full).value();
      database.observe_commits([died_at](Point point) {
        if (point == died_at) throw Died{};
      });
      EXPECT_THROW((void)Ledger::open(database, head_, key_, dataset_, budget_, NoiseKind::Secure, clock), Died);
      database.observe_commits(nullptr);
      store::Statement tables = database.prepare("SELECT count(*) FROM sqlite_master WHERE type = 'table'").value();
      ASSERT_TRUE(tables.step().value());
      EXPECT_EQ(tables.integer(0), died_at == Point::Before ? 0 : 3);
    }
    if (died_at == Point::After) {  // its first entry came with the tables; only the head outside is still to come
      const verifier::LedgerFindings findings =
          verifier::verify_ledger(file(), {std::nullopt, dataset_.name, std::nullopt});
      EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
      EXPECT_EQ(findings.entries, 1U);
    }
    EXPECT_TRUE(open());
    close();
    EXPECT_TRUE(verify().problems.empty());
  }
}

TEST_F(LedgerTest, WithoutItsEntriesAndItsHeadWhatItHasAnsweredTellsThatItWasCut) {
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
  }
  close();
  sql("DROP TABLE entries");
  std::filesystem::remove(head_file());
  const Result<Ledger> cut = open();
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::LedgerCorrupt);
}

TEST_F(LedgerTest, TablesThatADeathLeftHalfMadeAreMadeWhole) {
  sql("CREATE TABLE entries (sequence INTEGER PRIMARY KEY, previous BLOB NOT NULL, body BLOB NOT NULL, hash BLOB NOT "
      "NULL, signature BLOB NOT NULL)");
  ASSERT_TRUE(open());
  close();
  EXPECT_TRUE(verify().problems.empty());
}

TEST_F(LedgerTest, AcceptingAJobChargesItsWholePlanAtOnce) {
  Ledger ledger = open().value();
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  EXPECT_EQ(ledger.epsilon_reserved().to_string(), plan_.epsilon().to_string());
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));  // again: nothing more
  EXPECT_EQ(ledger.epsilon_reserved().to_string(), plan_.epsilon().to_string());
  EXPECT_EQ(ledger.head().sequence, 2U);
}

TEST_F(LedgerTest, AFullDiskTakesNothingAndTheLedgerGoesOnOnceThereIsRoom) {
  Ledger ledger = open().value();
  spend(ledger, 1);
  const std::string long_reply(100'000, 'r');
  ASSERT_TRUE(database_->execute("PRAGMA max_page_count = 16"));  // fewer than the reply needs
  const auto attempt = [&] {
    SpendToken token = ledger.authorise(run_, {1}, *plan_.release({1}), query(1)).value();
    return ledger.commit(std::move(token), long_reply, NoiseKind::Secure);
  };
  for (int i = 0; i < 3; ++i) {
    const Status full = attempt();
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::NoRoom) << full.error().message;
  }
  EXPECT_EQ(ledger.account(run_)->releases, 1U);
  EXPECT_FALSE(ledger.find_reply(run_, {1}, query(1)).value());
  ASSERT_TRUE(database_->execute("PRAGMA max_page_count = 100000"));
  ASSERT_TRUE(attempt());
  EXPECT_EQ(ledger.account(run_)->releases, 2U);
  close();
  EXPECT_TRUE(verify().problems.empty());
  EXPECT_EQ(open().value().account(run_)->releases, 2U);
}

/// A full disk under the head alone, say: what was committed stays, nothing of it leaves before the head is written,
/// and the ledger goes on by itself once it is.
TEST_F(LedgerTest, AHeadThatCannotBeWrittenIsWrittenBeforeAnythingElse) {
  Ledger ledger = open().value();
  spend(ledger, 1);
  std::filesystem::remove(head_file());
  std::filesystem::create_directory(head_file());  // where no file can be put
  SpendToken token = ledger.authorise(run_, {1}, *plan_.release({1}), query(1)).value();
  EXPECT_EQ(ledger.commit(std::move(token), "reply", NoiseKind::Secure).error().code, ErrorCode::StorageFailed);
  EXPECT_TRUE(ledger.failing());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(ledger.find_reply(run_, {1}, query(1)));
    EXPECT_FALSE(ledger.authorise(run_, {2}, *plan_.release({2}), query(2)));
    EXPECT_FALSE(ledger.end(run_));
  }
  std::filesystem::remove(head_file());
  EXPECT_EQ(ledger.find_reply(run_, {1}, query(1)).value()->bytes, "reply");
  EXPECT_FALSE(ledger.failing());
  EXPECT_EQ(ledger.account(run_)->releases, 2U);
  SpendToken next = ledger.authorise(run_, {2}, *plan_.release({2}), query(2)).value();
  ASSERT_TRUE(ledger.commit(std::move(next), "another", NoiseKind::Secure));
  close();
  EXPECT_TRUE(verify().problems.empty());
  EXPECT_EQ(open().value().account(run_)->releases, 3U);
}

TEST_F(LedgerTest, AnotherPlanThatCostsTheSameIsNotTheOneThatWasReserved) {
  planning::Schedule wider;
  for (const planning::Plan::Segment& segment : plan_.segments()) {
    wider.push_back({segment.release.ask, segment.rounds});
    wider.back().ask.dimension += 1;
  }
  const planning::Plan other = planning::make_plan(wider, member_.facts).value();
  ASSERT_EQ(other.epsilon(), plan_.epsilon());
  ASSERT_EQ(other.cost(releases::Block::Training), plan_.cost(releases::Block::Training));
  ASSERT_EQ(other.cost(releases::Block::Holdout), plan_.cost(releases::Block::Holdout));
  {
    Ledger ledger = open().value();
    spend(ledger, 1);
  }
  Ledger ledger = open().value();
  EXPECT_EQ(ledger.account(run_)->plan, planning::plan_digest(plan_));
  EXPECT_EQ(ledger.reserve(run_, other, job_).error().code, ErrorCode::UnplannedQuery);
  EXPECT_TRUE(ledger.reserve(run_, plan_, job_));
}

TEST_F(LedgerTest, WhatCostsNothingWithoutBeingPublicIsNotGranted) {
  Ledger ledger = open().value();
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  planning::Release release = *plan_.release({0});
  release.mechanism = mechanisms::Unplanned{};
  const Result<SpendToken> granted = ledger.authorise(run_, {0}, release, query(0));
  ASSERT_FALSE(granted);
  EXPECT_EQ(granted.error().code, ErrorCode::UnplannedQuery);
  EXPECT_TRUE(ledger.authorise(run_, {0}, *plan_.release({0}), query(0)));
}

TEST_F(LedgerTest, ExactAnswersAboutAHoldoutThatTheLedgerKnowsAsPrivateAreNotGranted) {
  dataset_.public_holdout = {};
  {
    Ledger ledger = open().value();
    std::uint64_t round = 0;
    while (!plan_.release({round})->is_public()) ++round;  // its holdout is public
    spend(ledger, round);
    const Result<SpendToken> granted = ledger.authorise(run_, {round}, *plan_.release({round}), query(round));
    ASSERT_FALSE(granted);
    EXPECT_EQ(granted.error().code, ErrorCode::PolicyRefused);
  }
  EXPECT_TRUE(open());
}

TEST_F(LedgerTest, ExactAnswersAboutPrivateRecordsAreCorrupt) {
  {
    Ledger ledger = open().value();
    spend(ledger, 1);
    ASSERT_TRUE(ledger.end(run_));
  }
  close();
  // A reservation of nothing and a release of the training block that costs nothing.
  const std::string training = plan_.cost(releases::Block::Training).to_string();
  const std::string list = plan_.releases_text(releases::Block::Training);
  rewrite_at(2, ",\"training_releases\":\"" + list + "\"", "");
  rewrite_at(2, "\"training\":\"" + training + "\"", "\"training\":\"0\"");
  rewrite_at(2, "\"epsilon\":\"" + plan_.epsilon().to_string(), "\"epsilon\":\"0");
  rewrite_at(2, "\"mechanism_delta\":\"" + plan_.mechanism_delta_amount().to_string(), "\"mechanism_delta\":\"0");
  rewrite_at(2, "\"delta\":\"" + plan_.delta().to_string(), "\"delta\":\"0");
  rewrite_at(3, "\"cost\":\"" + plan_.release({0})->cost().to_string(), "\"cost\":\"0");
  expect_refused(ErrorCode::LedgerCorrupt, "were not declared public", "rule 12");
  // Of the holdout it is sound, until that is private.
  rewrite_at(3, "\"block\":\"training\"", "\"block\":\"holdout\"");
  EXPECT_TRUE(verify().problems.empty());
  EXPECT_TRUE(open());
  close();
  rewrite_at(1, to_hex(dataset_.public_holdout), std::string(64, '0'));
  expect_refused(ErrorCode::LedgerCorrupt, "were not declared public", "rule 12");
}

TEST_F(LedgerTest, WhichRecordsArePublicIsSettledWhenItBegins) {
  // None, then some; some, then others; some, then none: neither way, nor by an amendment, whatever else changes.
  for (const auto& [first, then] : {std::pair(Digest{}, sha256("open")), std::pair(sha256("open"), sha256("more")),
                                    std::pair(sha256("open"), Digest{})}) {
    std::filesystem::remove(file());
    std::filesystem::remove(head_file());
    dataset_.public_records = first;
    ASSERT_TRUE(open());
    close();
    EXPECT_TRUE(verify().problems.empty());
    dataset_.public_records = then;
    const Result<Ledger> opened = open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::DatasetChanged);
    close();
    for (const bool publish : {false, true}) {
      store::Database database = store::Database::open(file(), store::Database::Sync::Full).value();
      dataset_.digest = sha256("other content");
      const Result<bool> amended = Ledger::amend(database, head_, key_, dataset_, NoiseKind::Secure, publish, clock);
      ASSERT_FALSE(amended);
      EXPECT_NE(amended.error().message.find("settled once"), std::string::npos);
    }
    dataset_.public_records = first;
    store::Database database = store::Database::open(file(), store::Database::Sync::Full).value();
    EXPECT_TRUE(Ledger::amend(database, head_, key_, dataset_, NoiseKind::Secure, false, clock).value());
    dataset_.digest = sha256("content");
  }
}

TEST_F(LedgerTest, ExactAnswersAboutPublicRecordsNeedThemToHaveBeenDeclared) {
  const statistics::BallMap ball{{0}, 1.0};
  const planning::Schedule schedule{
      {{releases::FeaturesMap{ball}, {releases::Block::Public}, releases::PairBound{releases::PairBound::Norm::L2}, 1},
       1}};
  releases::SiloFacts facts = member_.facts;
  EXPECT_FALSE(planning::make_plan(schedule, facts));  // there are none
  facts.public_records = 7;
  const planning::Plan open_plan = planning::make_plan(schedule, facts).value();
  EXPECT_TRUE(open_plan.release({0})->is_public());
  EXPECT_EQ(open_plan.epsilon().units(), 0U);
  for (const bool declared : {false, true}) {
    std::filesystem::remove(file());
    std::filesystem::remove(head_file());
    dataset_.public_records = declared ? sha256("open") : Digest{};
    {
      Ledger ledger = open().value();
      ASSERT_TRUE(ledger.reserve(run_, open_plan, job_));
      Result<SpendToken> granted = ledger.authorise(run_, {0}, *open_plan.release({0}), query(0));
      EXPECT_EQ(granted.has_value(), declared);
      if (granted) {
        ASSERT_TRUE(ledger.commit(*std::move(granted), "reply", NoiseKind::Secure));
      }
    }
    close();
    const verifier::LedgerFindings findings = verify();
    EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
    EXPECT_TRUE(open());
    close();
  }
  // A charge for what is public is nobody's.
  rewrite("\"cost\":\"0", "\"cost\":\"pure:5");
  expect_refused(ErrorCode::LedgerCorrupt, "declared public", "rule 12");
}

TEST_F(LedgerTest, ABlockOfPublicRecordsBesideNoiseNeedsThemToHaveBeenDeclared) {
  tests::SmallFederation federation;
  federation.public_records = 5;
  federation.open_records = R"({"silos":true,"weight":0.5})";
  use(federation);
  ASSERT_TRUE(plan_.release({0})->beside);
  {
    Ledger ledger = open().value();  // of a data set that declares none
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
    const Result<SpendToken> token = ledger.authorise(run_, {0}, *plan_.release({0}), query(0));
    ASSERT_FALSE(token);
    EXPECT_NE(token.error().message.find("declared none"), std::string::npos) << token.error().message;
  }
  close();
  std::filesystem::remove(file());
  std::filesystem::remove(head_file());
  DatasetIdentity open_too = dataset_;
  open_too.public_records = sha256("those");
  Ledger ledger = open(open_too, budget_).value();
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  EXPECT_TRUE(ledger.authorise(run_, {0}, *plan_.release({0}), query(0)));
}

TEST_F(LedgerTest, TakesTenThousandJobsAndNoMore) {
  store::Database database = store::Database::in_memory().value();
  tests::MemoryHead head;
  const Budget ample{*releases::EpsilonAmount::rounded_down(1e6), *releases::DeltaAmount::rounded_down(1e3)};
  Ledger ledger = Ledger::open(database, head, key_, dataset_, ample, NoiseKind::Secure, clock).value();
  RunId run = run_;
  for (int i = 0; i < 10'000; ++i) {
    run.nonce = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8U)};
    ASSERT_TRUE(ledger.reserve(run, plan_, job_)) << i;
    ASSERT_TRUE(ledger.end(run));
  }
  run.nonce[3] = 1;
  const Status beyond = ledger.reserve(run, plan_, job_);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().message, "a ledger takes at most 10000 jobs, 64 of them open; it has 10000");
}

TEST_F(LedgerTest, APlanThatIsNoDigestIsRefused) {
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
  close();
  rewrite(to_hex(planning::plan_digest(plan_)), "0f");
  expect_refused(ErrorCode::LedgerCorrupt, "cannot be read", "plan: expected 32 bytes");
}

TEST_F(LedgerTest, AReservationOfBeforePlansWereKeptStandsForWhatItCosts) {
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
  close();
  rewrite("\"plan\":\"" + to_hex(planning::plan_digest(plan_)) + "\",", "");
  Ledger ledger = open().value();
  EXPECT_FALSE(ledger.account(run_)->plan);
  EXPECT_TRUE(ledger.reserve(run_, plan_, job_));
  close();
  EXPECT_TRUE(verify().problems.empty());
}

TEST_F(LedgerTest, SurvivesARestartWithEverythingItKnew) {
  {
    Ledger ledger = open().value();
    spend(ledger, 3);
  }
  Ledger ledger = open().value();
  const RunAccount* account = ledger.account(run_);
  ASSERT_NE(account, nullptr);
  EXPECT_EQ(account->releases, 3U);
  EXPECT_EQ(account->last_round, RoundIndex{2});
  EXPECT_EQ(ledger.find_reply(run_, {1}, query(1)).value()->bytes, "reply 1");
  EXPECT_EQ(ledger.job_of(run_).value(), job_);
}

TEST_F(LedgerTest, TheVerifierAgreesToTheUnit) {
  Ledger ledger = open().value();
  spend(ledger, 4);
  ASSERT_TRUE(ledger.end(run_));
  close();
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
  EXPECT_EQ(findings.entries, 7U);  // opened, reserved, 4 released, ended
  EXPECT_EQ(findings.epsilon_units, ledger.epsilon_reserved().to_string());
  EXPECT_EQ(findings.delta_units, ledger.delta_reserved().to_string());
  EXPECT_EQ(findings.head_hash, to_hex(ledger.head().hash));
  ASSERT_EQ(findings.runs.size(), 1U);
  EXPECT_EQ(findings.runs[0].releases, 4U);
}

TEST_F(LedgerTest, ARoundIsAnsweredOnce) {
  Ledger ledger = open().value();
  spend(ledger, 2);
  EXPECT_EQ(ledger.authorise(run_, {1}, *plan_.release({1}), query(1)).error().code, ErrorCode::UnplannedQuery);
  EXPECT_EQ(ledger.authorise(run_, {0}, *plan_.release({0}), query(0)).error().code, ErrorCode::UnplannedQuery);
  EXPECT_EQ(ledger.find_reply(run_, {1}, query(7)).error().code,
            ErrorCode::UnplannedQuery);                                     // same key, another digest
  EXPECT_TRUE(ledger.authorise(run_, {4}, *plan_.release({4}), query(4)));  // rounds may be skipped
}

TEST_F(LedgerTest, NothingIsAuthorisedWithoutAReservation) {
  Ledger ledger = open().value();
  EXPECT_EQ(ledger.authorise(run_, {0}, *plan_.release({0}), query(0)).error().code, ErrorCode::UnknownRun);
}

TEST_F(LedgerTest, NothingIsAuthorisedAfterTheEnd) {
  Ledger ledger = open().value();
  spend(ledger, 1);
  ASSERT_TRUE(ledger.end(run_));
  EXPECT_EQ(ledger.authorise(run_, {1}, *plan_.release({1}), query(1)).error().code, ErrorCode::UnplannedQuery);
  EXPECT_EQ(ledger.reserve(run_, plan_, job_).error().code, ErrorCode::UnplannedQuery);
}

TEST_F(LedgerTest, ReleasesCannotSpendMoreThanWasReserved) {
  Ledger ledger = open().value();
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  // Of twice the clip, which costs four times as much: the sum would hold one, but none is listed.
  planning::Release dear = *plan_.release({0});
  std::get<mechanisms::GaussianLattice>(dear.mechanism).lattice.clip *= 2;
  ASSERT_TRUE(dear.cost().fits(plan_.cost(releases::Block::Training)));
  EXPECT_EQ(ledger.authorise(run_, {0}, dear, query(0)).error().code, ErrorCode::BudgetExhausted);
  // And a planned one in every round.
  std::uint64_t granted = 0;
  for (std::uint64_t round = 0; round < 8; ++round) {
    Result<SpendToken> token = ledger.authorise(run_, {round}, *plan_.release({0}), query(round));
    if (!token) {
      EXPECT_EQ(token.error().code, ErrorCode::BudgetExhausted);
      continue;
    }
    ASSERT_TRUE(ledger.commit(*std::move(token), "reply", NoiseKind::Secure));
    ++granted;
  }
  EXPECT_EQ(granted, 6U);  // as many gradients as are planned
}

TEST_F(LedgerTest, AJobThatEndsBeforeAnyReplyReturnsItsReservation) {
  Ledger ledger = open().value();
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  ASSERT_TRUE(ledger.end(run_));
  EXPECT_TRUE(ledger.epsilon_reserved().units() == 0);
  EXPECT_TRUE(ledger.account(run_)->returned);
}

TEST_F(LedgerTest, NothingIsRefundedOnceAReplyWasCommitted) {
  Ledger ledger = open().value();
  spend(ledger, 1);
  ASSERT_TRUE(ledger.end(run_));
  EXPECT_EQ(ledger.epsilon_reserved().to_string(), plan_.epsilon().to_string());
}

TEST_F(LedgerTest, JobsAddUpUntilTheBudgetRefuses) {
  const Budget tight{*releases::EpsilonAmount::rounded_down(2.0 * member_.facts.epsilon().value()),
                     *releases::DeltaAmount::rounded_down(1e-2)};
  Ledger ledger = open(dataset_, tight).value();
  for (std::uint8_t i = 1; i <= 2; ++i) ASSERT_TRUE(ledger.reserve({sha256(job_), {i}}, plan_, job_));
  const Status third = ledger.reserve({sha256(job_), {3}}, plan_, job_);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::BudgetExhausted);
  EXPECT_EQ(ledger.account({sha256(job_), {3}}), nullptr);
}

TEST_F(LedgerTest, WhoSpeaksInOneRoundAloneIsChargedForEveryRound) {
  // Thesis, Algorithm 15: a record's report is random in one round of d, and in the others it says 0 for sure. All
  // rounds together are as private as one of them, and no ledger can know that: d jobs of a round are charged d times,
  // and of one job's d rounds none is answered with the noise of the whole.
  releases::Ask ask = plan_.release({0})->ask;
  ask.form = releases::SumForm{{}, releases::ReportsForm{releases::Randomiser::Direction}};
  releases::SiloFacts facts = member_.facts;
  facts.target = releases::PureDp{releases::Epsilon::create(2.0).value()};
  const planning::Plan one = planning::make_plan({{ask, 1}}, facts).value();
  const planning::Plan eight = planning::make_plan({{ask, 8}}, facts).value();
  const Budget budget{*releases::EpsilonAmount::rounded_down(5.0), *releases::DeltaAmount::rounded_down(1e-2)};
  {
    Ledger ledger = open(dataset_, budget).value();
    for (std::uint8_t job = 1; job <= 3; ++job) {
      const RunId run{sha256(job_), {job}};
      const Status reserved = ledger.reserve(run, one, job_);
      EXPECT_EQ(reserved.has_value(), job <= 2);
      if (!reserved) {
        EXPECT_EQ(reserved.error().code, ErrorCode::BudgetExhausted);
      }
    }
    EXPECT_GT(ledger.epsilon_reserved().value_rounded_up(), 3.99);
    close();
  }
  std::filesystem::remove(file());
  std::filesystem::remove(head_file());
  Ledger ledger = open(dataset_, budget).value();
  ASSERT_TRUE(ledger.reserve(run_, eight, job_));
  for (std::uint64_t round = 0; round < 8; ++round) {
    EXPECT_FALSE(ledger.authorise(run_, {round}, *one.release({0}), query(round))) << round;
    Result<SpendToken> token = ledger.authorise(run_, {round}, *eight.release({round}), query(round));
    ASSERT_TRUE(token) << token.error().message;
    ASSERT_TRUE(ledger.commit(*std::move(token), "a reply", NoiseKind::Secure));
  }
  close();
  EXPECT_TRUE(verify().problems.empty());
}

TEST_F(LedgerTest, ABudgetOfZeroAllowsNothing) {
  for (const Budget& nothing : {Budget{{}, budget_.delta}, Budget{budget_.epsilon, {}}}) {
    Ledger ledger = open(dataset_, nothing).value();
    EXPECT_EQ(ledger.reserve(run_, plan_, job_).error().code, ErrorCode::BudgetExhausted);
  }
}

TEST_F(LedgerTest, ChangedContentIsRefusedUntilAmendedAndThenCarriesItsSpending) {
  {
    Ledger ledger = open().value();
    spend(ledger, 1);
  }
  const DatasetIdentity changed{"heart", sha256("one more patient"), {}};
  const Result<Ledger> refused = open(changed, budget_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::DatasetChanged);
  EXPECT_TRUE(Ledger::amend(*database_, head_, key_, changed, NoiseKind::Secure, false, clock).value());
  EXPECT_FALSE(
      Ledger::amend(*database_, head_, key_, changed, NoiseKind::Secure, false, clock).value());  // nothing changed
  Ledger amended = open(changed, budget_).value();
  // The run that was open read the old split: it has ended.
  EXPECT_EQ(amended.authorise(run_, {1}, *plan_.release({1}), query(1)).error().code, ErrorCode::UnplannedQuery);
  EXPECT_EQ(amended.epsilon_reserved().to_string(), plan_.epsilon().to_string());
  close();
  EXPECT_TRUE(verify().problems.empty());
}

TEST_F(LedgerTest, ProtectedRecordsDoNotBecomePublicByAnAmendment) {
  {
    Ledger ledger = open().value();
    spend(ledger, 1);
  }
  const DatasetIdentity moved{"heart", sha256("one more patient"), sha256("another holdout")};
  EXPECT_EQ(open(moved, budget_).error().code, ErrorCode::DatasetChanged);
  const Result<bool> refused = Ledger::amend(*database_, head_, key_, moved, NoiseKind::Secure, false, clock);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--publish-holdout"), std::string::npos);
  EXPECT_TRUE(Ledger::amend(*database_, head_, key_, moved, NoiseKind::Secure, true, clock).value());
  EXPECT_TRUE(open(moved, budget_));
}

TEST_F(LedgerTest, AHeadFileTwoEntriesBehindIsRefused) {
  {
    Ledger ledger = open().value();
    spend(ledger, 1);
  }
  close();
  std::filesystem::copy_file(head_file(), folder_.path() / "old-head");
  {
    Ledger ledger = open().value();
    release(ledger, 1, "reply 1");
    release(ledger, 2, "reply 2");
  }
  close();
  std::filesystem::copy_file(folder_.path() / "old-head", head_file(),
                             std::filesystem::copy_options::overwrite_existing);
  expect_refused(ErrorCode::LedgerRolledBack, "never more than one", "behind");
}

TEST_F(LedgerTest, AnotherDataSetsLedgerIsRefusedByName) {
  (void)open().value();
  const Result<Ledger> other = open({"lungs", dataset_.digest, {}}, budget_);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::DatasetChanged);
  EXPECT_NE(other.error().message.find("heart"), std::string::npos);
  close();
  EXPECT_FALSE(verifier::verify_ledger(file(), {head_file(), "lungs", std::nullopt}).problems.empty());
}

TEST_F(LedgerTest, AnEditedEntryIsRefused) {
  {
    Ledger ledger = open().value();
    spend(ledger, 3);
  }
  close();
  sql("UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), '\"round\":\"1\"', '\"round\":\"9\"') AS BLOB) WHERE "
      "sequence = 4");
  expect_refused(ErrorCode::LedgerCorrupt, "was edited", "hash");
}

TEST_F(LedgerTest, AnEditedAndRehashedEntryIsRefused) {
  {
    Ledger ledger = open().value();
    spend(ledger, 1);
  }
  close();
  // The last entry: another time, its hash recomputed as the format page says. Only the signature is
  // missing.
  store::Database database = store::Database::open(file(), store::Database::Sync::Full).value();
  std::string body;
  std::string previous;
  {
    store::Statement row = database.prepare("SELECT body, previous FROM entries WHERE sequence = 3").value();
    ASSERT_TRUE(row.step().value());
    body = row.bytes(0);
    previous = row.bytes(1);
  }
  body.replace(body.find("\"at\":\"") + 6, 4, "1999");
  std::string material = "undertone ledger entry 1";
  material += std::string("\3\0\0\0\0\0\0\0", 8) + previous + body;
  {
    store::Statement update = database.prepare("UPDATE entries SET body = ?, hash = ? WHERE sequence = 3").value();
    const Digest hash = sha256(material);
    ASSERT_TRUE(update.bind_blob(1, body).bind_blob(2, as_bytes(hash)).run());
  }
  expect_refused(ErrorCode::LedgerCorrupt, "edited and re-hashed", "signature");
}

TEST_F(LedgerTest, AnEditInTheMiddleIsFoundByTheNewestSignatureHoweverManyHashesAreMadeAgain) {
  {
    Ledger ledger = open().value();
    spend(ledger, 3);
  }
  close();
  // The third entry says something else, and it and all that follow get the hashes that they should then have; each
  // keeps its signature, the newest among them.
  store::Database database = store::Database::open(file(), store::Database::Sync::Full).value();
  std::string previous;
  std::uint64_t rehashed = 0;
  for (std::uint64_t sequence = 1;; ++sequence) {
    std::string body;
    {
      store::Statement row = database.prepare("SELECT body, hash FROM entries WHERE sequence = ?").value();
      row.bind(1, static_cast<std::int64_t>(sequence));
      if (!row.step().value()) break;
      body = row.bytes(0);
      if (sequence < 3) {
        previous = row.bytes(1);
        continue;
      }
    }
    if (sequence == 3) {
      body.replace(body.find("\"at\":\"") + 6, 4, "1999");
    }
    std::string material = "undertone ledger entry 1";
    material.append(reinterpret_cast<const char*>(&sequence), sizeof sequence);
    material.append(previous).append(body);
    const Digest hash = sha256(material);
    store::Statement update =
        database.prepare("UPDATE entries SET previous = ?, body = ?, hash = ? WHERE sequence = ?").value();
    update.bind_blob(1, previous).bind_blob(2, body).bind_blob(3, as_bytes(hash));
    ASSERT_TRUE(update.bind(4, static_cast<std::int64_t>(sequence)).run());
    previous = std::string(as_bytes(hash));
    ++rehashed;
  }
  EXPECT_GE(rehashed, 3U);
  expect_refused(ErrorCode::LedgerCorrupt, "edited and re-hashed", "signature");
}

TEST_F(LedgerTest, ATruncatedLedgerIsRefused) {
  {
    Ledger ledger = open().value();
    spend(ledger, 3);
  }
  close();
  sql("DELETE FROM entries WHERE sequence = 5; DELETE FROM replies WHERE round = 2");
  expect_refused(ErrorCode::LedgerRolledBack, "older copy", "older copy");
}

/// SQLite compares such a value as another one, and shows it as the same: a look-up would not find the reply.
TEST_F(LedgerTest, AReplyWhoseKeyIsOfAnotherTypeIsRefused) {
  {
    Ledger ledger = open().value();
    spend(ledger, 3);
  }
  close();
  sql("UPDATE replies SET run = CAST(run AS TEXT) WHERE round = 1");
  expect_refused(ErrorCode::LedgerCorrupt, "the stored reply is missing", "replies");
}

TEST_F(LedgerTest, AGapIsRefused) {
  {
    Ledger ledger = open().value();
    spend(ledger, 3);
  }
  close();
  sql("DELETE FROM entries WHERE sequence = 4");
  expect_refused(ErrorCode::LedgerCorrupt, "missing", "missing");
}

TEST_F(LedgerTest, AnOlderCopyIsRefused) {
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
    close();
    std::filesystem::copy_file(file(), folder_.path() / "backup");
  }
  {
    Ledger ledger = open().value();
    release(ledger, 2, "reply 2");
  }
  close();
  std::filesystem::copy_file(folder_.path() / "backup", file(), std::filesystem::copy_options::overwrite_existing);
  expect_refused(ErrorCode::LedgerRolledBack, "older copy", "older copy");
}

TEST_F(LedgerTest, AnOlderCopyRestoredWithItsHeadIsFoundByTheCoordinatorsReceipt) {
  Result<wire::Receipt> receipt = Error{ErrorCode::Internal, "unset"};
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
    close();
    std::filesystem::copy_file(file(), folder_.path() / "backup");
    std::filesystem::copy_file(head_file(), folder_.path() / "head-backup");
  }
  {
    Ledger ledger = open().value();
    release(ledger, 2, "reply 2");
    receipt = ledger.head();
  }
  close();
  std::filesystem::copy_file(folder_.path() / "backup", file(), std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(folder_.path() / "head-backup", head_file(),
                             std::filesystem::copy_options::overwrite_existing);
  Ledger ledger = open().value();
  EXPECT_EQ(ledger.check_receipt(*receipt).error().code, ErrorCode::LedgerRolledBack);
  release(ledger, 2, "another reply");  // the copy is continued: the same sequence, another entry
  EXPECT_EQ(ledger.check_receipt(*receipt).error().code, ErrorCode::LedgerRolledBack);
  wire::Receipt forged = *receipt;
  forged.sequence = 1000;
  forged.hash[0] ^= 1U;
  EXPECT_EQ(ledger.check_receipt(forged).error().code, ErrorCode::LedgerCorrupt);
}

TEST_F(LedgerTest, AMissingHeadOrALostLedgerIsRefused) {
  {
    Ledger ledger = open().value();
    spend(ledger, 1);
  }
  close();
  std::filesystem::rename(head_file(), folder_.path() / "away");
  expect_refused(ErrorCode::LedgerRolledBack, "is missing", "missing");
  std::filesystem::rename(folder_.path() / "away", head_file());
  std::filesystem::remove(file());
  std::filesystem::remove(file().string() + "-wal");
  EXPECT_EQ(open().error().code, ErrorCode::LedgerRolledBack);  // an empty ledger never replaces one that was written
}

TEST_F(LedgerTest, ATamperedReplyIsRefused) {
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
  }
  close();
  sql("UPDATE replies SET bytes = CAST('another' AS BLOB) WHERE round = 1");
  expect_refused(ErrorCode::LedgerCorrupt, "stored reply", "repl");
}

TEST_F(LedgerTest, AMissingReplyIsRefused) {
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
  }
  close();
  sql("DELETE FROM replies WHERE round = 1");
  expect_refused(ErrorCode::LedgerCorrupt, "1 replies for 2 releases", "repl");
}

TEST_F(LedgerTest, ATestLedgerAndAProductionLedgerAreNotInterchangeable) {
  (void)open(dataset_, budget_, NoiseKind::Test).value();
  EXPECT_EQ(open().error().code, ErrorCode::LedgerCorrupt);
}

TEST_F(LedgerTest, ACommitThatFailsHandsOutNothingMore) {
  Ledger ledger = open().value();
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  Result<SpendToken> token = ledger.authorise(run_, {0}, *plan_.release({0}), query(0));
  ASSERT_TRUE(token);
  ASSERT_TRUE(
      database_->execute("CREATE TRIGGER full BEFORE INSERT ON replies BEGIN SELECT RAISE(FAIL, 'disk full'); END"));
  EXPECT_EQ(ledger.commit(*std::move(token), "reply", NoiseKind::Secure).error().code, ErrorCode::StorageFailed);
  ASSERT_TRUE(database_->execute("DROP TRIGGER full"));
  EXPECT_EQ(ledger.authorise(run_, {0}, *plan_.release({0}), query(0)).error().code, ErrorCode::StorageFailed);
  Ledger reopened = open().value();  // nothing of the failed commit is there
  EXPECT_EQ(reopened.account(run_)->releases, 0U);
}

TEST_F(LedgerTest, AHeadThatCannotBeWrittenStopsTheLedgerButLosesNothing) {
  Ledger ledger = open().value();
  spend(ledger, 1);
  const auto mode = std::filesystem::perms::all;
  std::filesystem::rename(head_file(), folder_.path() / "kept");
  std::filesystem::create_directory(head_file());  // a folder cannot be replaced by a file
  std::filesystem::permissions(head_file(), mode);
  Result<SpendToken> token = ledger.authorise(run_, {1}, *plan_.release({1}), query(1));
  ASSERT_TRUE(token);
  EXPECT_FALSE(ledger.commit(*std::move(token), "reply 1", NoiseKind::Secure));
  EXPECT_FALSE(ledger.authorise(run_, {2}, *plan_.release({2}), query(2)));
  std::filesystem::remove(head_file());
  std::filesystem::rename(folder_.path() / "kept", head_file());
  Ledger reopened = open().value();
  EXPECT_EQ(reopened.find_reply(run_, {1}, query(1)).value()->bytes, "reply 1");  // committed, so it is re-sent
}

TEST_F(LedgerTest, ARoundThatNoCountHoldsIsRefusedAndNotCutOff) {
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
  }
  close();
  // 2^64 + 1: its last 64 bits are the round that was released.
  rewrite("\"round\":\"1\"", "\"round\":\"18446744073709551617\"");
  expect_refused(ErrorCode::LedgerCorrupt, "cannot be read", "round: expected a decimal integer below 2^63");
}

}  // namespace
}  // namespace undertone::silo
