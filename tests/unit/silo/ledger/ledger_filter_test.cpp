#include <algorithm>

#include "shared/accounting/gaussian_accountant.hpp"
#include "silo/ledger/gaussian_filter.hpp"
#include "tests/support/ledger_on_disk.hpp"

namespace undertone::silo {
namespace {

using releases::Block;
using releases::ShiftSquaredAmount;

Budget budget_of(double epsilon, double delta) {
  return {*releases::EpsilonAmount::rounded_down(epsilon), *releases::DeltaAmount::rounded_down(delta)};
}

class LedgerFilterTest : public tests::LedgerOnDisk {
 protected:
  Result<silo::FilterTerms> start_filter(const Budget& budget, const std::optional<Budget>& grant = {}) {
    database_ = std::make_unique<store::Database>(store::Database::open(file(), store::Database::Sync::Full).value());
    return Ledger::start_filter(*database_, head_, key_, dataset_.name, budget, {grant, false},
                                crypto::NoiseKind::Secure, clock);
  }
  /// A ledger that has begun, and its filter of what `budget_` has left.
  Ledger filtered() {
    { (void)open().value(); }
    terms_ = start_filter(budget_).value();
    return open().value();
  }
  RunId run(std::uint8_t nonce) const { return {sha256(job_), {nonce}}; }
  void release_in(Ledger& ledger, const RunId& run, std::uint64_t round) {
    Result<SpendToken> token = ledger.authorise(run, {round}, *plan_.release({round}), query(round));
    ASSERT_TRUE(token) << token.error().message;
    ASSERT_TRUE(ledger.commit(*std::move(token), "reply", crypto::NoiseKind::Secure));
  }
  std::optional<silo::FilterTerms> terms_;
};

TEST_F(LedgerFilterTest, ItsProfileIsTheGrant) {
  const Budget grant = budget_of(2.0, 1e-6);
  const silo::FilterTerms terms = silo::FilterTerms::create(grant.epsilon, grant.delta).value();
  // A Gaussian of shift 0.47187... is (2, 1e-6)-DP: what the filter allows, less what 2^20 messages may deviate.
  const double shift = std::sqrt(terms.shift_squared.value_rounded_down());
  const double target =
      accounting::gaussian_shift_for(releases::Epsilon::create(2.0).value(), releases::Delta::create(1e-6).value())
          .value();
  EXPECT_LE(shift, target);
  EXPECT_GT(shift, target * (1.0 - 1e-9));
  EXPECT_LE(accounting::log_delta_of_gaussian(2.0, accounting::total_shift(terms.shift_squared)), std::log(1e-6));
}

TEST_F(LedgerFilterTest, ReleasesAreChargedOneByOneAndWhatIsNotAskedIsNotSpent) {
  Ledger ledger = filtered();
  EXPECT_EQ(ledger.epsilon_reserved(), budget_.epsilon);  // once, for all later jobs
  for (std::uint8_t nonce = 1; nonce <= 20; ++nonce) {
    ASSERT_TRUE(ledger.reserve(run(nonce), plan_, job_)) << int{nonce};
    release_in(ledger, run(nonce), 0);
    ASSERT_TRUE(ledger.end(run(nonce)));
  }
  // Twenty jobs, of each of which one answer left: twenty times that answer's cost.
  const auto spent = plan_.release({0})->cost().times(20).value();
  EXPECT_EQ(ledger.filter()->left(Block::Training).units(), terms_->shift_squared.units() - spent.gaussian.units());
  EXPECT_EQ(ledger.epsilon_reserved(), budget_.epsilon);
  ledger = open().value();  // replayed
  EXPECT_EQ(ledger.filter()->left(Block::Training).units(), terms_->shift_squared.units() - spent.gaussian.units());
  close();
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
  EXPECT_EQ(findings.epsilon_units, budget_.epsilon.to_string());
  EXPECT_EQ(findings.delta_units, budget_.delta.to_string());
}

TEST_F(LedgerFilterTest, RefusesTheJobAndTheReleaseThatDoNotFit) {
  { (void)open().value(); }
  // A filter that holds 1.55 of the job.
  const double shift = std::sqrt(1.55 * plan_.cost(Block::Training).gaussian.value_rounded_up());
  const double epsilon = accounting::epsilon_of_gaussian(releases::GaussianShift::create(shift).value(),
                                                         releases::Delta::create(1e-3).value());
  ASSERT_TRUE(start_filter(budget_, budget_of(epsilon, 1e-3)));
  Ledger ledger = open().value();
  // Both fit alone, so both are accepted; the second is cut off where the filter ends.
  ASSERT_TRUE(ledger.reserve(run(1), plan_, job_));
  ASSERT_TRUE(ledger.reserve(run(2), plan_, job_));
  std::uint64_t granted = 0;
  for (const std::uint8_t nonce : {std::uint8_t{1}, std::uint8_t{2}}) {
    for (std::uint64_t round = 0; round < plan_.rounds(); ++round) {
      const planning::Release& release = *plan_.release({round});
      if (release.ask.records.block != Block::Training) continue;
      Result<SpendToken> token = ledger.authorise(run(nonce), {round}, release, query(round));
      if (!token) {
        EXPECT_EQ(token.error().code, ErrorCode::BudgetExhausted);
        EXPECT_NE(token.error().message.find("filter"), std::string::npos);
        continue;
      }
      ASSERT_TRUE(ledger.commit(*std::move(token), "reply", crypto::NoiseKind::Secure));
      ++granted;
    }
  }
  EXPECT_EQ(granted, 9U);  // of 6 gradients each: 9.3 are covered
  const Status third = ledger.reserve(run(3), plan_, job_);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::BudgetExhausted);
  EXPECT_NE(third.error().message.find("filter"), std::string::npos) << third.error().message;
}

TEST_F(LedgerFilterTest, TakesNoJobThatDrawsWithReplacement) {
  { (void)open().value(); }
  ASSERT_TRUE(start_filter(budget_, budget_of(3.0, 1e-3)));
  Ledger ledger = open().value();
  tests::SmallFederation federation;
  federation.algorithm = R"({"theorem":"accelerated_convex","smoothness":1.25,"sampling":"with_replacement"})";
  const std::string text = federation.job();
  const jobs::Job job = jobs::parse_job(text, "job").value();
  const Status reserved = ledger.reserve({sha256(text), {1}}, jobs::plan_of(job, job.cohort.front()).value(), text);
  ASSERT_FALSE(reserved);
  EXPECT_EQ(reserved.error().code, ErrorCode::PolicyRefused);
  EXPECT_NE(reserved.error().message.find("with replacement"), std::string::npos);
}

TEST_F(LedgerFilterTest, WhatWasReservedBeforeStaysAndTheFilterTakesTheRest) {
  {
    Ledger ledger = open().value();
    spend(ledger, 2);
    EXPECT_FALSE(start_filter(budget_));  // a run is open
  }
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.end(run_));
  }
  EXPECT_EQ(start_filter(budget_, budget_).error().code, ErrorCode::BudgetExhausted);  // more than is left
  const silo::FilterTerms terms = start_filter(budget_).value();
  EXPECT_EQ(terms.epsilon.units(), budget_.epsilon.units() - plan_.epsilon().units());
  Ledger ledger = open().value();
  EXPECT_EQ(ledger.epsilon_reserved(), budget_.epsilon);
  EXPECT_FALSE(start_filter(budget_));  // nothing is left for another
}

TEST_F(LedgerFilterTest, APolicyThatWasLoweredSinceAcceptsNothing) {
  (void)filtered();
  Ledger ledger = open(dataset_, budget_of(budget_.epsilon.value_rounded_down() / 2.0, 1e-2)).value();
  EXPECT_EQ(ledger.reserve(run_, plan_, job_).error().code, ErrorCode::BudgetExhausted);
}

TEST_F(LedgerFilterTest, ARecordThatChangesBlocksIsChargedForBoth) {
  const silo::FilterTerms terms = silo::FilterTerms::create(budget_.epsilon, budget_.delta).value();
  silo::GaussianFilter filter(terms);
  const auto part = [&](unsigned percent) {
    return releases::Cost{ShiftSquaredAmount::from_units(terms.shift_squared.units() / 100 * percent), {}, {}};
  };
  ASSERT_TRUE(filter.spend(Block::Training, part(60), 1));
  ASSERT_TRUE(filter.spend(Block::Holdout, part(90), 1));  // other records: in parallel
  EXPECT_FALSE(filter.spend(Block::Training, part(41), 1));
  filter.content_changed();
  EXPECT_FALSE(filter.spend(Block::Training, part(11), 1));  // 90 % was spent of a record that may be here now
  EXPECT_TRUE(filter.spend(Block::Training, part(10), 1));
}

TEST_F(LedgerFilterTest, TheVerifierFindsWhatAFilterDoesNotCover) {
  (void)filtered();
  close();
  // Twice the shift squared for the same epsilon.
  const auto twice = terms_->shift_squared.times(2).value();
  rewrite("\"shift_squared\":\"" + terms_->shift_squared.to_string(), "\"shift_squared\":\"" + twice.to_string());
  expect_refused_by_verifier("the filter was charged too little");
}

TEST_F(LedgerFilterTest, TheVerifierFindsAReservationThatPassesTheFilterBy) {
  {
    Ledger ledger = filtered();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  }
  close();
  rewrite("\"kind\":\"accepted\"", "\"kind\":\"reserved\"");
  expect_refused_by_verifier("rule 9");
  EXPECT_EQ(open().error().code, ErrorCode::LedgerCorrupt);
}

TEST_F(LedgerFilterTest, TheVerifierAddsUpWhatTheFilterIsCharged) {
  {
    Ledger ledger = filtered();
    ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
    release_in(ledger, run_, 0);
  }
  close();
  // A release that the ledger would never have made, signed with its key.
  const std::string cost = "\"cost\":\"";
  rewrite(cost + plan_.release({0})->cost().to_string(),
          cost + "gaussian:" + terms_->shift_squared.plus(ShiftSquaredAmount::from_units(1)).value().to_string());
  const verifier::LedgerFindings findings = verify();
  const auto rule_9 = [](const std::string& problem) { return problem.find("(rule 9)") != std::string::npos; };
  EXPECT_TRUE(std::any_of(findings.problems.begin(), findings.problems.end(), rule_9));
  EXPECT_EQ(open().error().code, ErrorCode::LedgerCorrupt);
}

TEST_F(LedgerFilterTest, TermsStaySoundWhereTheLastDigitsAreRoundedOtherwise) {
  const Budget grant = budget_of(2.0, 1e-6);
  silo::FilterTerms terms = silo::FilterTerms::create(grant.epsilon, grant.delta).value();
  EXPECT_TRUE(terms.sound());
  const auto written = terms.shift_squared;
  terms.shift_squared = ShiftSquaredAmount::from_units(written.units() + written.units() / 100'000'000'000);
  EXPECT_TRUE(terms.sound());  // 1e-11 more: another library's
  terms.shift_squared = ShiftSquaredAmount::from_units(written.units() + written.units() / 1'000'000);
  EXPECT_FALSE(terms.sound());  // 1e-6 more: somebody's
  terms.shift_squared = written;
  terms.mechanism_delta = terms.delta;
  EXPECT_FALSE(terms.sound());
}

TEST_F(LedgerFilterTest, TwoTokensDoNotSpendWhatOneMay) {
  { (void)open().value(); }
  const double shift = std::sqrt(1.05 * plan_.cost(Block::Training).gaussian.value_rounded_up());
  const double epsilon =
      accounting::epsilon_of_gaussian(releases::GaussianShift::create(shift).value(), *releases::Delta::create(1e-3));
  ASSERT_TRUE(start_filter(budget_, budget_of(epsilon, 1e-3)));
  Ledger ledger = open().value();
  ASSERT_TRUE(ledger.reserve(run(1), plan_, job_));
  ASSERT_TRUE(ledger.reserve(run(2), plan_, job_));
  for (std::uint64_t round = 0; round < 3; ++round) {
    release_in(ledger, run(1), round);
    if (round < 2) release_in(ledger, run(2), round);
  }
  // One more fits: granted to both runs, it is committed for one.
  const std::uint64_t next = 4;  // round 3 evaluates
  Result<SpendToken> one = ledger.authorise(run(1), {next}, *plan_.release({next}), query(next));
  Result<SpendToken> other = ledger.authorise(run(2), {next}, *plan_.release({next}), query(next));
  ASSERT_TRUE(one && other);
  ASSERT_TRUE(ledger.commit(*std::move(one), "reply", crypto::NoiseKind::Secure));
  const Status second = ledger.commit(*std::move(other), "reply", crypto::NoiseKind::Secure);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::BudgetExhausted);
  EXPECT_TRUE(ledger.find_reply(run(1), {next}, query(next)).value());
  EXPECT_TRUE(open());  // and what is on disk is sound
}

TEST_F(LedgerFilterTest, AnAmendedLedgerCountsBothBlocksSpendingForBoth) {
  const auto spent_before = [&] {
    Ledger ledger = filtered();
    EXPECT_TRUE(ledger.reserve(run(1), plan_, job_));
    release_in(ledger, run(1), 0);
    return terms_->shift_squared.units() - ledger.filter()->left(Block::Training).units();
  }();
  ASSERT_GT(spent_before, 0U);
  const DatasetIdentity changed{dataset_.name, sha256("other content"), {}};
  ASSERT_TRUE(Ledger::amend(*database_, head_, key_, changed, crypto::NoiseKind::Secure, false, clock).value());
  Ledger ledger = open(changed, budget_).value();
  EXPECT_EQ(ledger.filter()->left(Block::Holdout).units(), terms_->shift_squared.units() - spent_before);
  EXPECT_EQ(ledger.filter()->left(Block::Training).units(), terms_->shift_squared.units() - spent_before);
  close();
  EXPECT_TRUE(verify().problems.empty());
}

TEST_F(LedgerFilterTest, ReleasesOfTwoRunsTogetherBeyondTheFilterAreFound) {
  { (void)open().value(); }
  const double shift = std::sqrt(1.1 * plan_.cost(Block::Training).gaussian.value_rounded_up());
  const double epsilon =
      accounting::epsilon_of_gaussian(releases::GaussianShift::create(shift).value(), *releases::Delta::create(1e-3));
  const silo::FilterTerms terms = start_filter(budget_, budget_of(epsilon, 1e-3)).value();
  {
    Ledger ledger = open().value();
    ASSERT_TRUE(ledger.reserve(run(1), plan_, job_));
    ASSERT_TRUE(ledger.reserve(run(2), plan_, job_));
    release_in(ledger, run(1), 0);
    release_in(ledger, run(2), 0);
  }
  close();
  // The filter made less, so that both releases do not fit.
  const auto both = plan_.release({0})->cost().times(2).value().gaussian;
  ASSERT_LT(both, terms.shift_squared);
  rewrite_at(2, "\"shift_squared\":\"" + terms.shift_squared.to_string(),
             "\"shift_squared\":\"" + ShiftSquaredAmount::from_units(both.units() - 1).to_string());
  const std::vector<std::string> problems = verify().problems;
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems.front().find("rule 9"), std::string::npos) << problems.front();
  EXPECT_NE(open().error().message.find("filter"), std::string::npos);
}

TEST_F(LedgerFilterTest, DeltaMustPayForTheMessages) {
  (void)filtered();
  close();
  rewrite("\"mechanism_delta\":\"" + terms_->mechanism_delta.to_string(),
          "\"mechanism_delta\":\"" + terms_->delta.to_string());
  expect_refused_by_verifier("rule 9");
  EXPECT_EQ(open().error().code, ErrorCode::LedgerCorrupt);
}

TEST_F(LedgerFilterTest, ASecondFilterIsAskedForAndBeginsAnew) {
  { (void)open().value(); }
  const Budget part = budget_of(4.5, 1e-3);
  ASSERT_TRUE(start_filter(budget_, part));
  EXPECT_NE(start_filter(budget_, part).error().message.find("another"), std::string::npos);  // after a crash, say
  Ledger ledger = open().value();
  ASSERT_TRUE(ledger.reserve(run(1), plan_, job_));
  release_in(ledger, run(1), 0);
  ASSERT_TRUE(ledger.end(run(1)));
  ASSERT_TRUE(start_filter(budget_, part));
  ledger = open().value();
  EXPECT_TRUE(ledger.filter()->unused());
  EXPECT_EQ(ledger.epsilon_reserved().units(), 2 * part.epsilon.units());
  close();
  EXPECT_TRUE(verify().problems.empty());
}

TEST_F(LedgerFilterTest, AnotherDataSetsLedgerIsNotSwitched) {
  { (void)open().value(); }
  database_ = std::make_unique<store::Database>(store::Database::open(file(), store::Database::Sync::Full).value());
  EXPECT_EQ(Ledger::start_filter(*database_, head_, key_, "lungs", budget_, {}, crypto::NoiseKind::Secure, clock)
                .error()
                .code,
            ErrorCode::DatasetChanged);
}

TEST_F(LedgerFilterTest, RefusesTermsThatPromiseNothing) {
  const auto terms = [](double epsilon, double delta) {
    const Budget grant = budget_of(epsilon, delta);
    return silo::FilterTerms::create(grant.epsilon, grant.delta);
  };
  EXPECT_FALSE(terms(0.0, 1e-6));
  EXPECT_FALSE(terms(1.0, 0.0));
  EXPECT_FALSE(terms(31.0, 1e-6));
  EXPECT_FALSE(terms(1e-9, 1e-8));  // not one release would fit
  EXPECT_FALSE(terms(1.0, 1e-19));  // less than what 2^20 messages may deviate
}

TEST(GaussianFilterTest, CountsEveryDrawOfNoiseThatAMessageIsMadeOf) {
  const auto terms = silo::FilterTerms::create(releases::EpsilonAmount::rounded_down(2.0).value(),
                                               releases::DeltaAmount::rounded_down(1e-6).value())
                         .value();
  silo::GaussianFilter filter(terms);
  const releases::Cost one{releases::ShiftSquaredAmount::from_units(1), {}, {}};
  EXPECT_TRUE(filter.spend(releases::Block::Training, one, silo::FilterTerms::kDrawsMax - 5));
  EXPECT_FALSE(filter.spend(releases::Block::Training, one, 6));
  EXPECT_TRUE(filter.spend(releases::Block::Training, one, 5));
  EXPECT_FALSE(filter.spend(releases::Block::Training, one, 1));
  EXPECT_EQ(filter.draws_left(), 0U);
}

TEST_F(LedgerFilterTest, AFilterOfNothingIsRefusedByBoth) {
  { (void)filtered(); }
  close();
  rewrite("\"shift_squared\":\"" + terms_->shift_squared.to_string() + "\"", "\"shift_squared\":\"0\"");
  expect_refused(ErrorCode::LedgerCorrupt, "do not cover", "expected a shift squared above 0");
}

TEST_F(LedgerFilterTest, AFilterOfMoreThanAnybodyPromisesIsRefusedAtOnce) {
  { (void)filtered(); }
  close();
  const std::string most = "340282366920938463463374607431768211455";  // 2^128 - 1
  rewrite("\"epsilon\":\"" + terms_->epsilon.to_string() + "\"", "\"epsilon\":\"" + most + "\"");
  expect_refused(ErrorCode::LedgerCorrupt, "do not cover", "the filter: expected mechanism_delta");
  rewrite("\"mechanism_delta\":\"" + terms_->mechanism_delta.to_string() + "\"",
          "\"mechanism_delta\":\"" + most + "\"");
  expect_refused(ErrorCode::LedgerCorrupt, "do not cover", "the filter: expected mechanism_delta");
}

}  // namespace
}  // namespace undertone::silo
