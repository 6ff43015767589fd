#include <gtest/gtest.h>
#include <set>

#include "tests/support/ledger_on_disk.hpp"

namespace undertone::silo {
namespace {

using crypto::NoiseKind;

class PersonLedgerTest : public tests::LedgerOnDisk {
 protected:
  PersonLedgerTest() {
    dataset_.unit = releases::Unit::Person;
    dataset_.persons = sha256("patient");
  }
};

TEST_F(PersonLedgerTest, ItsFirstEntrySaysTheUnitAndTheVerifierReadsIt) {
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
    EXPECT_EQ(ledger.dataset().unit, releases::Unit::Person);
  }
  close();
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty());
  EXPECT_EQ(findings.unit, "person");
  EXPECT_EQ(open().value().dataset().unit, releases::Unit::Person);
}

TEST_F(PersonLedgerTest, TheUnitNeverChangesInEitherDirection) {
  { (void)open().value(); }
  DatasetIdentity other = dataset_;
  other.unit = releases::Unit::Record;
  const Result<Ledger> opened = open(other, budget_);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("a ledger's unit never changes"), std::string::npos) << opened.error().message;
  other.digest = sha256("more records");
  const Result<bool> amended = Ledger::amend(*database_, head_, key_, other, NoiseKind::Secure, false, clock);
  ASSERT_FALSE(amended);
  EXPECT_NE(amended.error().message.find("a ledger's unit never changes"), std::string::npos);
}

TEST_F(PersonLedgerTest, AnotherColumnOfIdsIsAnotherUnitAndNoAmendment) {
  { (void)open().value(); }
  DatasetIdentity visits = dataset_;
  visits.persons = sha256("visit");
  visits.digest = sha256("the same file by visits");
  EXPECT_NE(open(visits, budget_).error().message.find("other ids are other units"), std::string::npos);
  EXPECT_FALSE(Ledger::amend(*database_, head_, key_, visits, NoiseKind::Secure, false, clock));
}

class AttributeLedgerTest : public tests::LedgerOnDisk {
 protected:
  AttributeLedgerTest() {
    dataset_.unit = releases::Unit::SensitiveAttribute;
    dataset_.persons = sha256("sex: f, m");
  }
};

TEST_F(AttributeLedgerTest, TheVerifierNamesTheWeakerPromiseAndNoOther) {
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
  }
  close();
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty());
  EXPECT_EQ(findings.unit, "sensitive_attribute");
  EXPECT_EQ(open().value().dataset().unit, releases::Unit::SensitiveAttribute);
}

TEST_F(AttributeLedgerTest, AnotherAttributeOrAnotherUnitNeedsALedgerOfItsOwn) {
  { (void)open().value(); }
  DatasetIdentity other = dataset_;
  other.persons = sha256("race: a, b");
  EXPECT_NE(open(other, budget_).error().message.find("Another attribute needs a ledger of its own"),
            std::string::npos);
  EXPECT_FALSE(Ledger::amend(*database_, head_, key_, other, NoiseKind::Secure, false, clock));
  for (const releases::Unit unit : {releases::Unit::Record, releases::Unit::Person}) {
    other = dataset_;
    other.unit = unit;
    const Result<Ledger> opened = open(other, budget_);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("a ledger's unit never changes"), std::string::npos);
  }
}

/// A version that knows records alone knows the formats 1 and 2.
TEST_F(PersonLedgerTest, ItsFormatIsOneThatOlderVersionsRefuse) {
  { (void)open().value(); }
  close();
  rewrite(R"("format":"3")", R"("format":"2")");
  expect_refused(ErrorCode::LedgerCorrupt, "says a unit where its format has none", "expected the format");
}

TEST_F(PersonLedgerTest, ALedgerOfRecordsNeverBecomesAPersons) {
  DatasetIdentity records = dataset_;
  records.unit = releases::Unit::Record;
  records.persons = {};
  { (void)open(records, budget_).value(); }
  EXPECT_FALSE(open());
}

TEST_F(PersonLedgerTest, AnotherWordForTheUnitIsRefusedByBoth) {
  { (void)open().value(); }
  close();
  rewrite(R"("unit":"person")", R"("unit":"people")");
  expect_refused(ErrorCode::LedgerCorrupt, "protects a unit that this program does not know", "unit: expected");
}

TEST_F(PersonLedgerTest, EachRoundBlockAndRunLooksAtRecordsByAKeyOfItsOwn) {
  const Ledger ledger = open().value();
  RunId other = run_;
  other.nonce = {9};
  const auto key = [&](const RunId& run, releases::Block block, std::uint64_t round) {
    return ledger.person_draw_key(run, block, RoundIndex{round});
  };
  const std::set<Digest> keys = {key(run_, releases::Block::Training, 0), key(run_, releases::Block::Training, 1),
                                 key(run_, releases::Block::Holdout, 0), key(other, releases::Block::Training, 0)};
  EXPECT_EQ(keys.size(), 4U);
}

}  // namespace
}  // namespace undertone::silo
