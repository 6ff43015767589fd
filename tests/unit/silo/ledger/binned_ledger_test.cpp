#include "silo/agent/privacy_statement.hpp"
#include "tests/support/ledger_on_disk.hpp"

namespace undertone::silo {
namespace {

/// A plan whose training records draw bins.
class BinnedLedgerTest : public tests::LedgerOnDisk {
 protected:
  BinnedLedgerTest() {
    tests::SmallFederation federation;
    federation.algorithm =
        R"({"kind":"accelerated_sgd","reads":"one_pass","parts":"bins","proximity":0,"strong_convexity":0,
            "draw_fraction":1,"stages":[{"rounds":6,"upsilon":4}]})";
    federation.regulariser = R"({"kind":"none"})";
    use(federation);
  }
  void reserve() {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
};

/// Two passes, each with bins of its own.
class BinnedPassesLedgerTest : public BinnedLedgerTest {
 protected:
  BinnedPassesLedgerTest() {
    tests::SmallFederation federation;
    federation.algorithm =
        R"({"kind":"noisy_minibatch_sgd","rounds":8,"passes":2,"parts":"bins","step_size":0.5,"draw_fraction":1,
            "averaging":"uniform"})";
    federation.regulariser = R"({"kind":"none"})";
    use(federation);
  }
};

/// Parts of a permutation that is told to nobody.
class SecretPermutationLedgerTest : public BinnedLedgerTest {
 protected:
  SecretPermutationLedgerTest() {
    tests::SmallFederation federation;
    federation.algorithm = R"({"kind":"proximal_sgd","parts":"secret_permutation","rounds":6,"step_size":0.5})";
    federation.regulariser = R"({"kind":"none"})";
    use(federation);
  }
};

TEST_F(SecretPermutationLedgerTest, TheVerifierChargesItByItsOwnMethod) {
  {
    Ledger ledger = open().value();
    spend(ledger, 4);
    ledger = open().value();
    EXPECT_EQ(ledger.epsilon_reserved().to_string(), plan_.epsilon().to_string());
    EXPECT_TRUE(ledger.account(run_)->training_releases.reads_secret_parts());
  }
  close();
  ASSERT_TRUE(plan_.parts_credit());
  EXPECT_GT(*plan_.parts_credit()->gain, 1.2);
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
}

TEST_F(SecretPermutationLedgerTest, AChargeThatDoesNotCoverItIsFound) {
  reserve();
  close();
  const auto less = releases::EpsilonAmount::from_units(plan_.epsilon().units() / 100 * 95);
  rewrite("\"epsilon\":\"" + plan_.epsilon().to_string() + "\"", "\"epsilon\":\"" + less.to_string() + "\"");
  expect_refused_by_verifier("charged too little");
}

TEST_F(SecretPermutationLedgerTest, PartsOfMoreSlotsThanRecordsAreFound) {
  reserve();
  close();
  const std::string text = plan_.releases_text(releases::Block::Training);
  const std::size_t from = text.find('=');
  const std::string first = text.substr(from, text.find(',') - from);
  rewrite(first, first.substr(0, first.find('/')) + "/" + std::to_string(2 * member_.facts.records));
  expect_refused_by_verifier("rule 15");
}

TEST_F(SecretPermutationLedgerTest, NoFilterTakesIt) {
  { (void)open().value(); }
  database_ = std::make_unique<store::Database>(store::Database::open(file(), store::Database::Sync::Full).value());
  ASSERT_TRUE(Ledger::start_filter(*database_, head_, key_, dataset_.name, budget_, {std::nullopt, false},
                                   crypto::NoiseKind::Secure, clock));
  Ledger ledger = open().value();
  const Status refused = ledger.reserve(run_, plan_, job_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::PolicyRefused);
}

TEST_F(SecretPermutationLedgerTest, ItsKeyIsOfThisLedgerAndRunAlone) {
  Ledger ledger = open().value();
  const RunId other{run_.job, {2}};
  const Digest key = ledger.secret_permutation_key(run_, releases::Block::Training);
  EXPECT_NE(key, ledger.secret_permutation_key(other, releases::Block::Training));
  EXPECT_NE(key, ledger.secret_permutation_key(run_, releases::Block::Holdout));
  EXPECT_NE(key, ledger.permutation_key(run_, releases::Block::Training));
  EXPECT_NE(key, ledger.bins_key(run_, releases::Block::Training, 0));
  spend(ledger, 3);
  ledger = open().value();
  EXPECT_EQ(ledger.secret_permutation_key(run_, releases::Block::Training), key);
}

TEST_F(SecretPermutationLedgerTest, TheStatementNamesWhatIsTrusted) {
  Ledger ledger = open().value();
  spend(ledger, 2);
  const PrivacyStatement statement =
      make_statement(member_.facts.silo, "heart", run_, parsed_, plan_, member_.facts, *ledger.account(run_),
                     std::chrono::milliseconds(0), crypto::NoiseKind::Secure);
  const nlohmann::json json = nlohmann::json::parse(statement.json);
  EXPECT_NE(json.at("trusted").get<std::string>().find("the silo keeps secret in which part"), std::string::npos);
  EXPECT_EQ(json.at("trusted").get<std::string>().find("how many"), std::string::npos);
  EXPECT_NE(json.at("without_trust").get<std::string>().find("parallel composition"), std::string::npos);
  EXPECT_LE(json.at("epsilon_odometer").get<double>(), json.at("epsilon").get<double>());
}

TEST_F(BinnedPassesLedgerTest, TheVerifierComposesPassesByItsOwnMethod) {
  {
    Ledger ledger = open().value();
    spend(ledger, 6);
    ledger = open().value();
    EXPECT_TRUE(ledger.account(run_)->training_releases.reads_secret_parts());
  }
  close();
  ASSERT_TRUE(plan_.parts_credit());
  EXPECT_NE(plan_.releases_text(releases::Block::Training).find("#1"), std::string::npos);
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
}

TEST_F(BinnedPassesLedgerTest, AChargeThatDoesNotCoverThemIsFound) {
  reserve();
  close();
  const auto less = releases::EpsilonAmount::from_units(plan_.epsilon().units() / 100 * 90);
  rewrite("\"epsilon\":\"" + plan_.epsilon().to_string() + "\"", "\"epsilon\":\"" + less.to_string() + "\"");
  expect_refused_by_verifier("charged too little");
}

TEST_F(BinnedLedgerTest, TheVerifierComposesBinsByItsOwnMethod) {
  {
    Ledger ledger = open().value();
    spend(ledger, 4);
    ledger = open().value();
    EXPECT_EQ(ledger.epsilon_reserved().to_string(), plan_.epsilon().to_string());
    EXPECT_TRUE(ledger.account(run_)->training_releases.reads_secret_parts());
  }
  close();
  ASSERT_TRUE(plan_.parts_credit());
  EXPECT_GT(*plan_.parts_credit()->gain, 1.2);
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
}

TEST_F(BinnedLedgerTest, AChargeThatDoesNotCoverThemIsFound) {
  reserve();
  close();
  const auto less = releases::EpsilonAmount::from_units(plan_.epsilon().units() / 100 * 95);
  rewrite("\"epsilon\":\"" + plan_.epsilon().to_string() + "\"", "\"epsilon\":\"" + less.to_string() + "\"");
  expect_refused_by_verifier("charged too little");
}

TEST_F(BinnedLedgerTest, BinsThatAreSaidToBeSmallerAreFound) {
  // As if the second bin were of a draw from twice as many slots, which would hide more.
  reserve();
  close();
  const std::string slots = "/" + std::to_string(member_.facts.records) + ":";
  rewrite(slots, "/" + std::to_string(2 * member_.facts.records) + ":");
  expect_refused_by_verifier("rule 14");
}

TEST_F(BinnedLedgerTest, RowsThatBinsOverflowAreFound) {
  reserve();
  close();
  const std::string slots = "/" + std::to_string(member_.facts.records) + ":";
  const std::string rows = std::to_string(plan_.release({0})->rows);
  rewrite(slots + rows, slots + std::to_string(plan_.release({0})->records_drawn + 1));
  expect_refused_by_verifier("rule 13");
}

TEST_F(BinnedLedgerTest, BinsBesideAPermutationAreFound) {
  reserve();
  close();
  const std::string text = plan_.releases_text(releases::Block::Training);
  const std::size_t from = text.find('~') + 1;
  const std::string positions = text.substr(from, text.find('/', from) - from);
  rewrite(text.substr(from - 1, text.find(',') - from + 1), "+" + positions);
  expect_refused_by_verifier("rule 14");
}

TEST_F(BinnedLedgerTest, NoFilterTakesThem) {
  { (void)open().value(); }
  database_ = std::make_unique<store::Database>(store::Database::open(file(), store::Database::Sync::Full).value());
  ASSERT_TRUE(Ledger::start_filter(*database_, head_, key_, dataset_.name, budget_, {std::nullopt, false},
                                   crypto::NoiseKind::Secure, clock));
  Ledger ledger = open().value();
  const Status refused = ledger.reserve(run_, plan_, job_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::PolicyRefused);
  EXPECT_NE(refused.error().message.find("under a filter"), std::string::npos) << refused.error().message;
}

TEST_F(BinnedLedgerTest, EachRunAndBlockDrawsByAKeyOfItsOwn) {
  Ledger ledger = open().value();
  const RunId other{run_.job, {2}};
  const Digest before = ledger.bins_key(run_, releases::Block::Training, 0);
  EXPECT_NE(ledger.bins_key(run_, releases::Block::Training, 0), ledger.bins_key(other, releases::Block::Training, 0));
  EXPECT_NE(ledger.bins_key(run_, releases::Block::Training, 0), ledger.bins_key(run_, releases::Block::Holdout, 0));
  EXPECT_NE(ledger.bins_key(run_, releases::Block::Training, 0),
            ledger.permutation_key(run_, releases::Block::Training));
  EXPECT_NE(ledger.bins_key(run_, releases::Block::Training, 1), before);
  EXPECT_NE(ledger.bins_key(run_, releases::Block::Training, 1), ledger.bins_key(run_, releases::Block::Training, 11));
  spend(ledger, 3);
  EXPECT_EQ(ledger.bins_key(run_, releases::Block::Training, 0),
            before);  // nothing is drawn anew in the middle of a pass
  ledger = open().value();
  EXPECT_EQ(ledger.bins_key(run_, releases::Block::Training, 0), before);
}

TEST_F(BinnedLedgerTest, TwoLedgersOfOneKeyAndSecondDrawDifferently) {
  const auto key_of = [&] {
    close();
    std::filesystem::remove(file());
    std::filesystem::remove(head_file());
    const Ledger ledger = open().value();
    return std::pair(ledger.id(), ledger.bins_key(run_, releases::Block::Training, 0));
  };
  const auto first = key_of();
  const auto second = key_of();
  EXPECT_NE(first.first, second.first);
  EXPECT_NE(first.second, second.second);
  close();
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
}

TEST_F(BinnedLedgerTest, TheStatementNamesWhatIsTrustedAndWhatRemainsWithoutIt) {
  Ledger ledger = open().value();
  spend(ledger, 2);
  const PrivacyStatement statement =
      make_statement(member_.facts.silo, "heart", run_, parsed_, plan_, member_.facts, *ledger.account(run_),
                     std::chrono::milliseconds(0), crypto::NoiseKind::Secure);
  const nlohmann::json json = nlohmann::json::parse(statement.json);
  EXPECT_NE(json.at("trusted").get<std::string>().find("the silo keeps secret in which part"), std::string::npos);
  EXPECT_NE(json.at("without_trust").get<std::string>().find("parallel composition"), std::string::npos);
  // No odometer takes the credit: it never says less than what is known without it, nor more than the guarantee.
  EXPECT_LE(json.at("epsilon_odometer").get<double>(), json.at("epsilon").get<double>());
  EXPECT_NE(statement.text.find("trusted"), std::string::npos);
}

TEST(ListedReleasesTest, ReadsBinsOfGaussianReleasesAlone) {
  ListedReleases list =
      ListedReleases::parse("gaussian:5*2@10/10~0:10/40:30,gaussian:7*1@20/20~10:30/40:40", LedgerFormat::Two).value();
  EXPECT_TRUE(list.reads_secret_parts());
  EXPECT_EQ(list.total().to_string(), "gaussian:17");
  EXPECT_EQ(list.take(releases::Cost::parse("gaussian:5").value()), 1U);
  EXPECT_FALSE(ListedReleases::parse("gaussian:5*1@10/10+0:10", LedgerFormat::Two).value().reads_secret_parts());
  EXPECT_TRUE(ListedReleases::parse("gaussian:5*2@10/10~0:10/40:30#3,gaussian:7*1@40/40", LedgerFormat::Two)
                  .value()
                  .reads_secret_parts());
  EXPECT_TRUE(ListedReleases::parse("gaussian:5*2@10/10=0:10/40", LedgerFormat::Two).value().reads_secret_parts());
  for (const char* text : {"pure:5*1@10/10=0:10/40", "gaussian:5*1@9/10=0:10/40", "gaussian:5*1@10/10r=0:10/40",
                           "gaussian:5*1@10/10^2=0:10/40", "gaussian:5*1@10/10+0:10=0:10/40", "gaussian:5*1@10/10=0:10",
                           "gaussian:5*1@10/10=0:10/0", "gaussian:5*1@10/10=0:10/40~0:10/40:30"})
    EXPECT_FALSE(ListedReleases::parse(text, LedgerFormat::Two)) << text;
  EXPECT_FALSE(ListedReleases::parse("5*1@10/10=0:10/40", LedgerFormat::One));
  for (const char* text :
       {"pure:5*1@10/10~0:10/40:30", "gaussian:5*1@9/10~0:10/40:30", "gaussian:5*1@10/10r~0:10/40:30",
        "gaussian:5*1@10/10^2~0:10/40:30", "gaussian:5*1@10/10+0:10~0:10/40:30", "gaussian:5*1@10/10~0:10/40",
        "gaussian:5*1@10/10~0:10/40:30#", "gaussian:5*1@10/10~0:10/40:30#0", "gaussian:5*1@10/10~0:10/40:30#x",
        "gaussian:5*1@10/10~0:10", "gaussian:5*1@10/10~0:10/0:30", "gaussian:5*1@10/10~0:10/40:0"}) {
    EXPECT_FALSE(ListedReleases::parse(text, LedgerFormat::Two)) << text;
  }
  EXPECT_FALSE(ListedReleases::parse("5*1@10/10~0:10/40:30", LedgerFormat::One));
}

}  // namespace
}  // namespace undertone::silo
