#include "tests/support/ledger_on_disk.hpp"

namespace undertone::silo {
namespace {

/// A plan whose training releases read a fifth of the records.
class SampledLedgerTest : public tests::LedgerOnDisk {
 protected:
  SampledLedgerTest() {
    tests::SmallFederation federation;
    federation.draw_fraction = 0.2;
    use(federation);
  }
};

TEST_F(SampledLedgerTest, TheVerifierComposesWhatWasSampledByItsOwnMethod) {
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
    ledger = open().value();  // replayed: the longer reservation is understood
    EXPECT_EQ(ledger.epsilon_reserved().to_string(), plan_.epsilon().to_string());
  }
  close();
  EXPECT_TRUE(plan_.reads_parts(releases::Block::Training));
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
}

TEST_F(SampledLedgerTest, AChargeThatSamplingDoesNotCoverIsFound) {
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
  close();
  // 3 % less than the accountant says: two accountants that agree to 1 % must notice.
  const auto less = releases::EpsilonAmount::from_units(plan_.epsilon().units() / 100 * 97);
  rewrite("\"epsilon\":\"" + plan_.epsilon().to_string() + "\"", "\"epsilon\":\"" + less.to_string() + "\"");
  expect_refused_by_verifier("charged too little");
}

TEST_F(SampledLedgerTest, ADeltaThatLeavesNothingForTheNoiseIsFound) {
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
  close();
  rewrite("\"delta\":\"" + plan_.delta().to_string() + "\"",
          "\"delta\":\"" + plan_.mechanism_delta_amount().to_string() + "\"");
  expect_refused_by_verifier("rule 13");
}

TEST_F(SampledLedgerTest, OneLoudReleaseIsNotManyQuietOnes) {
  // The list of the reservation has rounds of one cost; a release of twice that fits the sum and not the list.
  Ledger ledger = open().value();
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  planning::Release loud = *plan_.release({0});
  auto& lattice = std::get<mechanisms::GaussianLattice>(loud.mechanism);
  lattice.log2_stddev -= 1;  // half the noise: four times the shift squared
  ASSERT_TRUE(loud.cost().fits(plan_.cost(releases::Block::Training)));
  EXPECT_EQ(ledger.authorise(run_, {0}, loud, query(0)).error().code, ErrorCode::BudgetExhausted);
  EXPECT_TRUE(ledger.authorise(run_, {0}, *plan_.release({0}), query(0)));
}

TEST_F(SampledLedgerTest, APlanThatSpendsIsNeverReservedForNothing) {
  Ledger ledger = open().value();
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  EXPECT_NE(ledger.account(run_)->delta.to_string(), "0");
  for (std::uint64_t round = 0; round < 3; ++round) release(ledger, round, "reply " + std::to_string(round));
  close();
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
}

TEST_F(SampledLedgerTest, ReleasesThatDoNotAddUpAreFound) {
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
  close();
  const std::string releases = plan_.releases_text(releases::Block::Training);
  const std::size_t star = releases.find('*');
  rewrite(releases, "gaussian:1" + releases.substr(star));  // a tiny shift instead of the real one
  expect_refused_by_verifier("add up to");
}

TEST_F(SampledLedgerTest, WithoutItsListNothingCanBeSaidOfACharge) {
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
  close();
  rewrite(",\"training_releases\":\"" + plan_.releases_text(releases::Block::Training) + "\"", "");
  expect_refused_by_verifier("expected training_releases where a cost is reserved");
}

/// A plan whose training releases draw with replacement.
class MultisetLedgerTest : public tests::LedgerOnDisk {
 protected:
  MultisetLedgerTest() {
    tests::SmallFederation federation;
    federation.algorithm =
        R"({"theorem":"accelerated_strongly_convex","smoothness":1.25,"strong_convexity":0.1,"sampling":"with_replacement"})";
    federation.regulariser = R"({"kind":"l2","strength":0.1})";
    use(federation);
  }
};

TEST_F(MultisetLedgerTest, TheVerifierComposesDrawsWithReplacementByItsOwnMethod) {
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
    ledger = open().value();
    EXPECT_EQ(ledger.epsilon_reserved().to_string(), plan_.epsilon().to_string());
  }
  close();
  EXPECT_NE(plan_.releases_text(releases::Block::Training).find("/" + std::to_string(member_.facts.records) + "r"),
            std::string::npos);
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
}

TEST_F(MultisetLedgerTest, AChargeThatDoesNotCoverThemIsFound) {
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
  close();
  const auto less = releases::EpsilonAmount::from_units(plan_.epsilon().units() / 100 * 97);
  rewrite("\"epsilon\":\"" + plan_.epsilon().to_string() + "\"", "\"epsilon\":\"" + less.to_string() + "\"");
  expect_refused_by_verifier("charged too little");
}

/// A plan whose messages are made of twenty draws of one record each.
class LocalRunLedgerTest : public tests::LedgerOnDisk {
 protected:
  LocalRunLedgerTest() {
    tests::SmallFederation federation;
    federation.algorithm = R"({"kind":"local_sgd","rounds":6,"local_steps":20,"step_size":0.1})";
    federation.regulariser = R"({"kind":"none"})";
    federation.evaluation_every = 0;
    use(federation);
  }
};

TEST_F(LocalRunLedgerTest, EveryDrawOfAMessageIsChargedAndComposedAgain) {
  {
    Ledger ledger = open().value();
    spend(ledger, 4);
    ledger = open().value();
    EXPECT_EQ(ledger.epsilon_reserved().to_string(), plan_.epsilon().to_string());
    const planning::Release& one = *plan_.release({0});
    EXPECT_EQ(one.cost(), one.cost_of_draw().times(20).value());
    EXPECT_EQ(ledger.account(run_)->training_spent, one.cost_of_draw().times(80).value());
  }
  close();
  EXPECT_NE(plan_.releases_text(releases::Block::Training).find("@1/40^20"), std::string::npos);
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
}

TEST_F(LocalRunLedgerTest, AMessageThatClaimsToBeOneDrawIsFound) {
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
  close();
  rewrite("^20", "");
  expect_refused_by_verifier("add up to");
}

TEST_F(LocalRunLedgerTest, FewerDrawsOfTheSameSumAreLouder) {
  // The same sum in a twentieth of the draws: what one draw costs is twenty times as much.
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
  close();
  const planning::Release& one = *plan_.release({0});
  rewrite("\"training_releases\":\"" + one.cost_of_draw().to_string() + "*6@1/40^20",
          "\"training_releases\":\"" + one.cost().to_string() + "*6@1/40^1");
  expect_refused_by_verifier("charged too little");
}

}  // namespace
}  // namespace undertone::silo
