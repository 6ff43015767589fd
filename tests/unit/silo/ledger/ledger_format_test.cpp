#include "silo/ledger/ledger_format.hpp"

#include <algorithm>
#include <vector>

#include "tests/support/ledger_on_disk.hpp"

namespace undertone::silo {
namespace {

using crypto::NoiseKind;
using releases::Block;

/// What a ledger does with a run, whichever the law of its releases.
class LedgerFormatTest : public tests::LedgerOnDisk {
 protected:
  RunId run(std::uint8_t nonce) const { return {sha256(job_), {nonce}}; }
  std::vector<std::string> bodies() {
    store::Database database = store::Database::open(file(), store::Database::Sync::Full).value();
    std::vector<std::string> out;
    EXPECT_TRUE(each_entry(database, [&](const LedgerEntry& entry) -> Status {
      out.push_back(entry.body);
      return {};
    }));
    return out;
  }
  std::ptrdiff_t upgrades() {
    const std::vector<std::string> all = bodies();
    return std::count_if(all.begin(), all.end(), [](const std::string& body) {
      return body.find("\"kind\":\"upgraded\"") != std::string::npos;
    });
  }
  /// What is on disk as software of before wrote it: bare shifts squared, and no list where every record is read.
  void write_as_format_one() {
    close();
    rewrite_at(1, "\"format\":\"2\"", "\"format\":\"1\"");
    const std::vector<std::string> all = bodies();
    for (std::uint64_t sequence = 2; sequence <= all.size(); ++sequence) {
      if (all[sequence - 1].find("gaussian:") == std::string::npos) continue;
      if (all[sequence - 1].find("training_releases") != std::string::npos)
        rewrite_at(sequence, ",\"training_releases\":\"" + plan_.releases_text(Block::Training) + "\"", "");
      rewrite_at(sequence, "gaussian:", "");
    }
  }
  void use(const releases::Ask& ask, std::uint64_t rounds, const releases::Target& target) {
    plan_ = planning::make_plan({{ask, rounds}}, {member_.facts.silo, 40, 0, true, target}).value();
  }
  /// `rounds` gradients of which nothing but an epsilon is promised.
  void use_pure(std::uint64_t rounds) {
    use({releases::GradientMap{}, {}, releases::L2Bound{releases::ClipNorm::create(1.0).value()}, 3}, rounds,
        releases::PureDp{releases::Epsilon::create(2.0).value()});
  }
  void use_ranged(std::uint64_t rounds, const releases::Target& target) {
    use({releases::GradientMap{},
         {},
         releases::MaxBound{releases::CoordinateBound::create(1.0).value()},
         3,
         releases::SelectionForm{geometry::Vertices::of_l1_ball(3, 1.0).value()}},
        rounds, target);
  }
  void reserve_and_close() {
    {
      Ledger ledger = open().value();
      ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
    }
    close();
  }
  void expect_sound() {
    close();
    const verifier::LedgerFindings findings = verify();
    EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
  }
};

const releases::Target kApproximate =
    releases::ApproximateDp{releases::Epsilon::create(1.0).value(), releases::Delta::create(1e-5).value()};

TEST_F(LedgerFormatTest, ARunOfTheFirstFormatGoesOnInItAndEnds) {
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
  }
  write_as_format_one();
  expect_sound();
  Ledger ledger = open().value();
  EXPECT_EQ(ledger.format(), LedgerFormat::One);
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));  // again: the plan is the one that was reserved
  release(ledger, 2, "reply 2");
  EXPECT_EQ(ledger.account(run_)->training_spent, plan_.release({2})->cost().times(3).value());
  ASSERT_TRUE(ledger.end(run_));
  expect_sound();
  EXPECT_EQ(upgrades(), 0);
  EXPECT_NE(bodies()[4].find("\"cost\":\"" + plan_.release({2})->cost().gaussian.to_string() + "\""),
            std::string::npos);
}

TEST_F(LedgerFormatTest, ItsFirstNewReservationUpgradesALedgerOnce) {
  budget_.epsilon = *releases::EpsilonAmount::rounded_down(100.0);
  {
    Ledger ledger = open().value();
    spend(ledger, 1);
  }
  write_as_format_one();
  Ledger ledger = open().value();
  ASSERT_TRUE(ledger.reserve(run(2), plan_, job_));
  ASSERT_TRUE(ledger.reserve(run(3), plan_, job_));
  EXPECT_EQ(ledger.format(), LedgerFormat::Two);
  release(ledger, 1, "reply 1");  // of the old run
  Result<SpendToken> token = ledger.authorise(run(2), {0}, *plan_.release({0}), query(0));
  ASSERT_TRUE(token);
  ASSERT_TRUE(ledger.commit(*std::move(token), "reply", NoiseKind::Secure));
  expect_sound();
  EXPECT_EQ(upgrades(), 1);
  ledger = open().value();
  EXPECT_EQ(ledger.account(run_)->format, LedgerFormat::One);
  EXPECT_EQ(ledger.account(run(2))->format, LedgerFormat::Two);
  EXPECT_EQ(ledger.account(run_)->releases, 2U);
  EXPECT_EQ(bodies()[6].find("gaussian:"), std::string::npos);
  EXPECT_NE(bodies()[7].find("gaussian:"), std::string::npos);
}

TEST_F(LedgerFormatTest, AJobThatIsRefusedUpgradesNothing) {
  { (void)open().value(); }
  write_as_format_one();
  {
    Ledger ledger = open(dataset_, {{}, budget_.delta}).value();
    EXPECT_EQ(ledger.reserve(run_, plan_, job_).error().code, ErrorCode::BudgetExhausted);
  }
  close();
  EXPECT_EQ(upgrades(), 0);
}

TEST_F(LedgerFormatTest, ADeathBetweenTheUpgradeAndItsReservationLosesNeither) {
  struct Died {};
  using Point = store::Database::CommitPoint;
  { (void)open().value(); }
  write_as_format_one();
  for (const auto& [dies_at, after] : {std::pair(1, Point::After), std::pair(1, Point::Before)}) {
    Ledger ledger = open().value();
    int commits = 0;
    database_->observe_commits([&, dies_at = dies_at, after = after](Point point) {
      if (point == after && ++commits == dies_at) throw Died{};
    });
    EXPECT_THROW((void)ledger.reserve(run_, plan_, job_), Died);
    database_->observe_commits(nullptr);
    expect_sound();
  }
  Ledger ledger = open().value();
  EXPECT_EQ(ledger.format(), LedgerFormat::Two);
  EXPECT_EQ(ledger.account(run_), nullptr);
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  expect_sound();
  EXPECT_EQ(upgrades(), 1);
}

TEST_F(LedgerFormatTest, WhatIsUpgradedAlreadyIsNotUpgradedAgain) {
  {
    Ledger ledger = open().value();
    spend(ledger, 1);
    ASSERT_TRUE(ledger.end(run_));
  }
  close();
  rewrite("\"kind\":\"ended\",\"run\":\"" + run_.hex() + "\"", "\"kind\":\"upgraded\",\"format\":\"2\"");
  expect_refused(ErrorCode::LedgerCorrupt, "does not follow the one before", "rule 11");
}

TEST_F(LedgerFormatTest, AFormatSpellsCostsInItsOwnWay) {
  {
    Ledger ledger = open().value();
    spend(ledger, 1);
  }
  close();
  rewrite("\"cost\":\"gaussian:", "\"cost\":\"");
  expect_refused(ErrorCode::LedgerCorrupt, "cannot be read", "rule 3");
  EXPECT_EQ(parse_cost("7", LedgerFormat::One).value().to_string(), "gaussian:7");
  EXPECT_EQ(parse_cost("0", LedgerFormat::Two).value(), releases::Cost{});
  EXPECT_FALSE(parse_cost("7", LedgerFormat::Two));
  EXPECT_FALSE(parse_cost("gaussian:7", LedgerFormat::One));
}

TEST_F(LedgerFormatTest, PureReleasesAreSpentInTheirOrderAndNoMoreOfThem) {
  use_pure(3);
  const planning::Release gaussian =
      *jobs::plan_of(parsed_, member_).value().release({0});  // its law is not that of the reservation
  Ledger ledger = open().value();
  spend(ledger, 2);
  EXPECT_EQ(ledger.delta_reserved().units(), 0U);
  EXPECT_EQ(ledger.account(run_)->training_spent, plan_.release({0})->cost().times(2).value());
  EXPECT_EQ(ledger.authorise(run_, {2}, gaussian, query(2)).error().code, ErrorCode::BudgetExhausted);
  release(ledger, 2, "reply 2");
  EXPECT_EQ(ledger.authorise(run_, {3}, *plan_.release({0}), query(3)).error().code, ErrorCode::BudgetExhausted);
  ledger = open().value();
  EXPECT_EQ(ledger.account(run_)->training_spent, plan_.cost(Block::Training));
  expect_sound();
  const verifier::LedgerFindings findings = verify();
  EXPECT_EQ(findings.delta_units, "0");
  EXPECT_NEAR(findings.runs.front().epsilon_spent, 2.0, 1e-9);
}

TEST_F(LedgerFormatTest, APureChargeBelowTheSumOfItsReleasesIsFound) {
  use_pure(3);
  reserve_and_close();
  const auto units = plan_.cost(Block::Training).pure.units();
  rewrite("\"epsilon\":\"" + plan_.epsilon().to_string(), "\"epsilon\":\"" + releases::to_decimal(units - 1));
  expect_refused_by_verifier("charged too little");
}

TEST_F(LedgerFormatTest, APureReleaseAHundredthAboveItsChargeIsFoundAtADeltaToo) {
  use({releases::GradientMap{}, {}, releases::L2Bound{releases::ClipNorm::create(1.0).value()}, 3}, 1,
      releases::PureDp{releases::Epsilon::create(1.01).value()});
  reserve_and_close();
  const std::string epsilon = plan_.epsilon().to_string();
  // 1e-5 of delta, and ample beside it for one draw of noise.
  rewrite("\"delta\":\"0\"", "\"delta\":\"12089258196146303736\"");
  rewrite("\"mechanism_delta\":\"0\"", "\"mechanism_delta\":\"12089258196146292736\"");
  expect_sound();
  rewrite("\"epsilon\":\"" + epsilon, "\"epsilon\":\"1099511627776");
  expect_refused_by_verifier("charged too little");
}

TEST_F(LedgerFormatTest, SelectionsAreSpentAndVerified) {
  for (const std::uint64_t rounds : {1U, 40U}) {
    SCOPED_TRACE(rounds);
    use_ranged(rounds, kApproximate);
    run_.nonce[0] = static_cast<std::uint8_t>(rounds);
    Ledger ledger = open().value();
    spend(ledger, 1);
    EXPECT_GT(plan_.cost(Block::Training).ranged.units(), 0U);
    EXPECT_EQ(ledger.account(run_)->training_spent, plan_.release({0})->cost());
    ASSERT_TRUE(ledger.end(run_));
    expect_sound();
  }
}

TEST_F(LedgerFormatTest, SelectionsForAConcentratedTargetAreVerified) {
  const releases::Delta delta = releases::Delta::create(1e-6).value();
  use_ranged(
      40, releases::ConcentratedDp{releases::Rho::create(0.02).value(), delta, releases::Epsilon::create(2.0).value()});
  reserve_and_close();
  expect_sound();
}

TEST_F(LedgerFormatTest, FewerSelectionsThanAreChargedAreFound) {
  use_ranged(40, kApproximate);
  reserve_and_close();
  rewrite("*40@", "*39@");
  expect_refused(ErrorCode::LedgerCorrupt, "another cost than that of the releases", "add up to");
}

TEST_F(LedgerFormatTest, SelectionsThatAreChargedTooLittleAreFound) {
  use_ranged(40, kApproximate);
  reserve_and_close();
  // A third of what they cost: no bound that is known of them says so.
  const auto less = releases::to_decimal(plan_.epsilon().units() / 3);
  rewrite("\"epsilon\":\"" + plan_.epsilon().to_string(), "\"epsilon\":\"" + less);
  expect_refused_by_verifier("charged too little");
}

TEST_F(LedgerFormatTest, AnotherLawByTheSameNumberIsFound) {
  use_pure(3);
  reserve_and_close();
  rewrite("\"training\":\"pure:", "\"training\":\"ranged:");
  expect_refused(ErrorCode::LedgerCorrupt, "another cost than that of the releases", "add up to");
  rewrite("\"training\":\"ranged:", "\"training\":\"gaussian:");
  rewrite("\"training_releases\":\"pure:", "\"training_releases\":\"gaussian:");
  expect_refused_by_verifier("charged too little");  // at no delta
}

TEST_F(LedgerFormatTest, AReleaseOfAnotherLawIsFound) {
  use_pure(3);
  {
    Ledger ledger = open().value();
    spend(ledger, 1);
  }
  close();
  rewrite("\"cost\":\"pure:", "\"cost\":\"ranged:");
  expect_refused(ErrorCode::LedgerCorrupt, "more than was reserved", "rule 3");
}

TEST_F(LedgerFormatTest, AFilterTakesGaussianReleasesAlone) {
  { (void)open().value(); }
  database_ = std::make_unique<store::Database>(store::Database::open(file(), store::Database::Sync::Full).value());
  ASSERT_TRUE(
      Ledger::start_filter(*database_, head_, key_, dataset_.name, budget_, {{}, false}, NoiseKind::Secure, clock));
  use_pure(3);
  Ledger ledger = open().value();
  for (const Status& refused : {ledger.could_reserve(plan_), ledger.reserve(run_, plan_, job_)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::PolicyRefused);
    EXPECT_NE(refused.error().message.find("Gaussian noise alone"), std::string::npos);
  }
}

TEST_F(LedgerFormatTest, AnAcceptedRunOfAnotherLawIsFound) {
  { (void)open().value(); }
  database_ = std::make_unique<store::Database>(store::Database::open(file(), store::Database::Sync::Full).value());
  ASSERT_TRUE(
      Ledger::start_filter(*database_, head_, key_, dataset_.name, budget_, {{}, false}, NoiseKind::Secure, clock));
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
  close();
  const std::string list = plan_.releases_text(Block::Training);
  std::string renamed;
  for (std::size_t at = 0; at < list.size();) {
    const bool here = list.compare(at, 9, "gaussian:") == 0;
    renamed += here ? "pure:" : list.substr(at, 1);
    at += here ? 9 : 1;
  }
  rewrite(list, renamed);
  rewrite("\"training\":\"gaussian:", "\"training\":\"pure:");
  expect_refused(ErrorCode::LedgerCorrupt, "not Gaussian under a filter", "rule 9");
}

}  // namespace
}  // namespace undertone::silo
