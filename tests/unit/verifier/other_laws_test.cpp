#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tuple>

#include "shared/accounting/accountant.hpp"
#include "shared/accounting/renyi.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "verifier/pure_delta.hpp"
#include "verifier/renyi_bound.hpp"
#include "verifier/run_accounts.hpp"
#include "verifier/sampled_profile.hpp"

namespace undertone::verifier {
namespace {

/// A reservation in a ledger of the second format.
class OtherLawsTest : public ::testing::Test {
 protected:
  OtherLawsTest() {
    accounts_.add(1, {{"kind", "opened"}, {"format", "2"}, {"public_holdout", std::string(2 * kHashBytes, '0')}});
    fields_ = {{"kind", "reserved"},
               {"run", std::string(2 * kRunBytes, 'a')},
               {"delta", "0"},
               {"mechanism_delta", "0"},
               {"holdout", "0"}};
  }
  static std::string units(long double value) { return fmt::to_string(static_cast<UInt128>(std::ldexp(value, 40))); }
  /// What is said of it: nothing where it is accepted.
  std::string reserve(const std::string& training, const std::string& releases, const std::string& epsilon) {
    fields_["training"] = training;
    fields_["training_releases"] = releases;
    fields_["epsilon"] = epsilon;
    fields_["run"] = fmt::format("{:0{}}", ++runs_, 2 * kRunBytes);
    lines_.clear();
    accounts_.add(runs_ + 1, fields_);
    return lines_.empty() ? "" : lines_.front();
  }
  void at_delta(double delta) {
    const auto mechanism = static_cast<UInt128>(std::ldexp(static_cast<long double>(delta), 80));
    fields_["mechanism_delta"] = fmt::to_string(mechanism);
    fields_["delta"] = fmt::to_string(mechanism + (UInt128{1} << 40U));  // for many draws of noise
  }
  std::string release(const std::string& cost) {
    lines_.clear();
    accounts_.add(100, {{"kind", "released"},
                        {"run", fields_.at("run")},
                        {"round", std::to_string(round_++)},
                        {"block", "training"},
                        {"cost", cost},
                        {"query", std::string(2 * kHashBytes, 'b')},
                        {"reply", std::string(2 * kHashBytes, 'c')}});
    return lines_.empty() ? "" : lines_.front();
  }
  LedgerFindings report() {
    LedgerFindings findings;
    accounts_.report(findings);
    return findings;
  }

  Fields fields_;
  std::vector<std::string> lines_;
  Problems problems_{lines_};
  RunAccounts accounts_{problems_};
  std::int64_t runs_ = 0;
  int round_ = 0;
};

TEST_F(OtherLawsTest, AtNoDeltaEpsilonsAddUpToTheUnit) {
  const char* releases = "pure:100*3@50/50,ranged:40*1@50/50^5";
  EXPECT_EQ(reserve("pure:300+ranged:200", releases, "500"), "");
  EXPECT_NE(reserve("pure:300+ranged:200", releases, "499").find("charged too little"), std::string::npos);
  // Disjoint parts are met by other records.
  EXPECT_EQ(reserve("pure:300", "pure:100*1@25/25+0:25,pure:200*1@25/25+25:50", "200"), "");
  EXPECT_NE(reserve("pure:300", "pure:100*1@25/25+0:25,pure:200*1@25/25+25:50", "199"), "");
}

TEST_F(OtherLawsTest, NothingGaussianIsFreeOfDelta) {
  EXPECT_NE(reserve("gaussian:1", "gaussian:1*1@50/50", units(50)).find("charged too little"), std::string::npos);
  EXPECT_NE(reserve("gaussian:1+pure:1", "gaussian:1*1@50/50,pure:1*1@50/50", units(50)), "");
}

TEST_F(OtherLawsTest, WhatIsChargedIsListedUnderItsOwnLaw) {
  EXPECT_NE(reserve("pure:300", "ranged:100*3@50/50", "300").find("add up to"), std::string::npos);
  EXPECT_NE(reserve("pure:300", "pure:100*2@50/50", "300").find("add up to"), std::string::npos);
  EXPECT_NE(reserve("pure:300", "pure:100*3@40/50r", "300").find("add up to"), std::string::npos);
  fields_["holdout"] = "pure:7";
  EXPECT_NE(reserve("pure:300", "pure:100*3@50/50", "300").find("expected holdout_releases"), std::string::npos);
  fields_["holdout"] = "0";
  fields_["shuffled"] = "reports:3:0";
  EXPECT_NE(reserve("pure:300", "pure:100*3@50/50", "300").find("rule 10"), std::string::npos);
}

TEST_F(OtherLawsTest, ReleasesAreCrossedOffByLawAndCost) {
  ASSERT_EQ(reserve("pure:200+ranged:100", "pure:100*2@50/50,ranged:100*1@50/50", "300"), "");
  EXPECT_EQ(release("pure:100"), "");
  EXPECT_EQ(report().runs.front().epsilon_spent, std::ldexp(100.0, -40));
  EXPECT_EQ(release("ranged:100"), "");
  EXPECT_EQ(report().runs.front().epsilon_spent, std::ldexp(200.0, -40));
  EXPECT_NE(release("pure:100").find("rule 3"), std::string::npos);  // the list has gone on
  EXPECT_NE(release("100").find("as format 2 writes it"), std::string::npos);
}

TEST_F(OtherLawsTest, PureReleasesComposeToLessThanTheirSum) {
  // 100 of 0.05 at 1e-6: the optimal composition of Kairouz et al. is about 2.36, their sum is 5.
  at_delta(1e-6);
  const std::string each = units(0.05L);
  const std::string all = fmt::to_string(100 * *parse_amount(each));
  EXPECT_EQ(reserve("pure:" + all, "pure:" + each + "*100@50/50", units(5.0L)), "");
  const double charged =
      accounting::charged_epsilon({{accounting::ApproximateEvent{releases::Epsilon::create(0.05).value(), 0.0}, 100}},
                                  releases::Delta::create(1e-6).value())
          .value();
  EXPECT_LT(charged, 2.5);
  EXPECT_EQ(reserve("pure:" + all, "pure:" + each + "*100@50/50", units(charged)), "");
  EXPECT_NE(reserve("pure:" + all, "pure:" + each + "*100@50/50", units(0.97L * charged)), "");
  // Of selections more is known: half of it.
  EXPECT_EQ(reserve("ranged:" + all, "ranged:" + each + "*100@50/50", units(0.6L * charged)), "");
  EXPECT_NE(reserve("ranged:" + all, "ranged:" + each + "*100@50/50", units(0.3L * charged)), "");
}

TEST_F(OtherLawsTest, WhatTheProductsAccountantTakesIsAlwaysAccepted) {
  for (const double each : {0.002, 0.05, 0.4, 2.0}) {
    for (const std::uint64_t rounds : {1U, 7U, 300U}) {
      for (const double delta : {1e-3, 1e-9}) {
        if (each * static_cast<double>(rounds) > 100.0) continue;
        SCOPED_TRACE(fmt::format("{} of {} at {}", rounds, each, delta));
        at_delta(delta);
        const releases::Epsilon epsilon =
            releases::Epsilon::create(std::ldexp(std::floor(std::ldexp(each, 40)), -40)).value();
        const std::string one = units(epsilon.value());
        const std::string all = fmt::to_string(rounds * *parse_amount(one));
        const std::tuple<const char*, accounting::PrivacyEvent> laws[] = {
            {"pure", accounting::ApproximateEvent{epsilon, 0.0}}, {"ranged", accounting::ExponentialEvent{epsilon}}};
        for (const auto& [law, event] : laws) {
          const accounting::Account account =
              accounting::account({{event, rounds}}, releases::Delta::create(delta).value()).value();
          EXPECT_EQ(reserve(fmt::format("{}:{}", law, all), fmt::format("{}:{}*{}@50/50", law, one, rounds),
                            releases::EpsilonAmount::rounded_up(account.epsilon)->to_string()),
                    "")
              << law << " " << account.epsilon;
        }
      }
    }
  }
}

TEST_F(OtherLawsTest, MixedLawsAreComposedTogether) {
  at_delta(1e-5);
  const releases::Epsilon half = releases::Epsilon::create(0.125).value();
  const double charged =
      accounting::charged_epsilon({{accounting::GaussianEvent{releases::GaussianShift::create(0.5).value()}, 1},
                                   {accounting::ApproximateEvent{half, 0.0}, 20},
                                   {accounting::ExponentialEvent{half}, 10}},
                                  releases::Delta::create(1e-5).value())
          .value();
  const std::string each = units(0.125L);
  const auto times = [&](unsigned count) { return fmt::to_string(count * *parse_amount(each)); };
  const std::string cost = fmt::format("gaussian:{}+pure:{}+ranged:{}", units(0.25L), times(20), times(10));
  const std::string releases =
      fmt::format("gaussian:{}*1@50/50,pure:{}*20@50/50,ranged:{}*10@50/50", units(0.25L), each, each);
  EXPECT_EQ(reserve(cost, releases, units(charged)), "");
  EXPECT_NE(reserve(cost, releases, units(0.6L * charged)), "");
}

TEST_F(OtherLawsTest, WhatAddsUpToMoreThanTheChargeIsNoRounding) {
  // One release of 1.01 at epsilon 1: its delta there is (e^1.01 - e) / (1 + e^1.01) = 7.3e-3.
  at_delta(1e-6);
  const char* loud = "1110506744053";
  EXPECT_NE(reserve(fmt::format("pure:{}", loud), fmt::format("pure:{}*1@100/100", loud), "1099511627776")
                .find("charged too little"),
            std::string::npos);
  EXPECT_EQ(reserve("pure:1099511627776", "pure:1099511627776*1@100/100", "1099511627776"), "");
  // At 8e-3 it is kept.
  at_delta(8e-3);
  EXPECT_EQ(reserve(fmt::format("pure:{}", loud), fmt::format("pure:{}*1@100/100", loud), "1099511627776"), "");
}

TEST_F(OtherLawsTest, NothingIsFreeAtAnEpsilonOfZero) {
  // A release of 1e-6 has a delta of tanh(5e-7) = 5e-7 at epsilon 0.
  at_delta(1e-9);
  EXPECT_NE(reserve("pure:1099511", "pure:1099511*1@100/100", "0").find("charged too little"), std::string::npos);
  at_delta(6e-7);
  EXPECT_EQ(reserve("pure:1099511", "pure:1099511*1@100/100", "0"), "");
}

/// Reservations of releases that are known by their rho alone.
class ConcentratedLawTest : public OtherLawsTest {
 protected:
  /// What a product's accountant asks for so much of rho, at the delta of the fixture.
  static double charged(double rho) {
    return accounting::epsilon_of_zcdp(accounting::Rho::create(rho).value(), releases::Delta::create(kDelta).value());
  }
  static constexpr double kDelta = 1e-5;
  static constexpr const char* kOne = "137438953472";  // a rho of 1/8
  static constexpr const char* kTwo = "274877906944";
};

TEST_F(ConcentratedLawTest, RhoOfReleasesOfTheWholeBlockAddsUp) {
  at_delta(kDelta);
  const char* releases = "concentrated:137438953472*2@50/50";
  EXPECT_EQ(reserve(fmt::format("concentrated:{}", kTwo), releases, units(charged(0.25))), "");
  EXPECT_NE(
      reserve(fmt::format("concentrated:{}", kTwo), releases, units(0.9 * charged(0.25))).find("charged too little"),
      std::string::npos);
  // The other half is another record's.
  const char* parts = "concentrated:137438953472*1@25/25+0:25,concentrated:137438953472*1@25/25+25:50";
  EXPECT_EQ(reserve(fmt::format("concentrated:{}", kTwo), parts, units(charged(0.125))), "");
}

TEST_F(ConcentratedLawTest, ASecretSubsetCostsLessAndNoLessThanItsBound) {
  // 1,000 of rho 1/8 over 10 of 1,000: by rule 6 epsilon 1.501027647, at order 12 (mpmath); of all records 260.13.
  at_delta(kDelta);
  const char* cost = "concentrated:137438953472000";
  const char* releases = "concentrated:137438953472*1000@10/1000";
  EXPECT_EQ(reserve(cost, releases, units(1.501028L)), "");
  EXPECT_NE(reserve(cost, releases, units(0.985L * 1.501028L)).find("charged too little"), std::string::npos);
  EXPECT_NE(reserve(cost, releases, units(0.9L * 1.501028L)).find("charged too little"), std::string::npos);
  EXPECT_NE(reserve(cost, "concentrated:137438953472*1000@1000/1000", units(1.501028L)), "");
}

TEST_F(ConcentratedLawTest, AnotherGroupIsComposedWithASubset) {
  // The same and 10 of rho 1/64 over all records: 2.95250221, at order 8 (mpmath); as Gaussians of mu^2 1/32 no more.
  at_delta(kDelta);
  const char* subsets = "concentrated:137438953472*1000@10/1000";
  EXPECT_EQ(reserve("concentrated:137610752163840", fmt::format("{},concentrated:17179869184*10@1000/1000", subsets),
                    units(2.952503L)),
            "");
  const std::string beside = fmt::format("gaussian:34359738368*10@1000/1000,{}", subsets);
  EXPECT_EQ(reserve("gaussian:343597383680+concentrated:137438953472000", beside, units(2.952503L)), "");
  EXPECT_NE(reserve("gaussian:343597383680+concentrated:137438953472000", beside, units(0.9L * 2.952503L)), "");
}

TEST_F(ConcentratedLawTest, KeepsNothingAtNoDelta) {
  EXPECT_NE(reserve("concentrated:1", "concentrated:1*1@50/50", units(50)).find("charged too little"),
            std::string::npos);
  EXPECT_NE(reserve("concentrated:1", "concentrated:1*1@1/50", units(50)).find("charged too little"),
            std::string::npos);
  EXPECT_NE(reserve("pure:1+concentrated:1", "pure:1*1@50/50,concentrated:1*1@50/50", units(50)), "");
}

TEST_F(ConcentratedLawTest, IsNoEpsilonThatAddsUp) {
  // Epsilons of 1/8 + 1/8 would be 1/4 at any delta; a rho of 1/8 alone asks for more than 2.
  at_delta(kDelta);
  EXPECT_NE(reserve(fmt::format("pure:{0}+concentrated:{0}", kOne),
                    fmt::format("pure:{0}*1@50/50,concentrated:{0}*1@50/50", kOne), kTwo)
                .find("charged too little"),
            std::string::npos);
}

TEST_F(ConcentratedLawTest, IsNotComposedWithDrawsWithReplacement) {
  at_delta(kDelta);
  EXPECT_NE(reserve("gaussian:1+concentrated:1", "gaussian:1*1@5/50r,concentrated:1*1@50/50", units(50)), "");
}

TEST_F(ConcentratedLawTest, IsListedAsItIsReserved) {
  at_delta(kDelta);
  EXPECT_NE(reserve("gaussian:300", "concentrated:100*3@50/50", units(5)).find("add up to"), std::string::npos);
  EXPECT_NE(reserve("concentrated:300", "concentrated:100*2@50/50", units(5)).find("add up to"), std::string::npos);
  for (const char* marked : {"concentrated:100*3@5/50r", "concentrated:100*1@5/50^3",
                             "concentrated:100*3@50/50=0:50/60", "concentrated:100*3@50/50~0:50/60:60"}) {
    EXPECT_NE(reserve("concentrated:300", marked, units(5)), "") << marked;
  }
}

TEST_F(ConcentratedLawTest, IsOfNoShuffledRun) {
  at_delta(kDelta);
  for (const char* shuffled : {"reports:3:0", "binomial:3:0", "reports:1000:1:1000000000000:2000000000000"}) {
    fields_["shuffled"] = shuffled;
    const std::string found = reserve("concentrated:300", "concentrated:100*3@50/50", units(5));
    EXPECT_NE(found.find("Gaussian releases alone"), std::string::npos) << found;
    EXPECT_NE(found.find("rule 10"), std::string::npos) << found;
  }
}

TEST_F(ConcentratedLawTest, IsOfNoRunUnderAFilter) {
  at_delta(kDelta);
  accounts_.add(2, {{"kind", "filtered"},
                    {"epsilon", units(5)},
                    {"delta", fields_.at("delta")},
                    {"mechanism_delta", fields_.at("mechanism_delta")},
                    {"shift_squared", "10995116277"}});  // mu 0.1
  fields_["kind"] = "accepted";
  const std::string reserved = reserve("concentrated:300", "concentrated:100*3@50/50", units(5));
  EXPECT_NE(reserved.find("Gaussian releases alone"), std::string::npos) << reserved;
  EXPECT_NE(reserved.find("rule 9"), std::string::npos) << reserved;
  EXPECT_NE(release("concentrated:100").find("under the filter"), std::string::npos);
}

TEST_F(ConcentratedLawTest, WhatWasSpentIsAllThatWasCharged) {
  at_delta(kDelta);
  ASSERT_EQ(reserve(fmt::format("concentrated:{}", kTwo), fmt::format("concentrated:{}*2@50/50", kOne), units(6)), "");
  EXPECT_EQ(report().runs.front().epsilon_spent, 0.0);
  EXPECT_EQ(release(fmt::format("concentrated:{}", kOne)), "");
  EXPECT_EQ(report().runs.front().epsilon_spent, 6.0);
  EXPECT_NE(release(fmt::format("gaussian:{}", kOne)).find("rule 3"), std::string::npos);
}

/// Two Gaussian releases of mu = 0.1, which epsilon 1 covers at 1e-5, and what delta has left for their noise.
class ImplementationShareTest : public OtherLawsTest {
 protected:
  std::string reserve_with(UInt128 left) {
    const auto mechanism = static_cast<UInt128>(std::ldexp(1e-5L, 80));
    fields_["mechanism_delta"] = fmt::to_string(mechanism);
    fields_["delta"] = fmt::to_string(mechanism + left);
    return reserve("gaussian:21990232554", "gaussian:10995116277*2@50/50", "1099511627776");
  }
};

TEST_F(ImplementationShareTest, EveryDrawIsAllowedAUnitAtEachOfTwoNeighbours) {
  // 2 (1 + e) = 7.4 units.
  EXPECT_EQ(reserve_with(8), "");
  EXPECT_NE(reserve_with(7).find("rule 13"), std::string::npos);
  EXPECT_NE(reserve_with(0).find("rule 13"), std::string::npos);
}

TEST_F(ImplementationShareTest, DrawsOfBothBlocksAndOfEveryStepCount) {
  fields_["holdout"] = "gaussian:30000";
  fields_["holdout_releases"] = "gaussian:10000*1@10/10^3";
  // 5 (1 + e) = 18.6 units.
  EXPECT_EQ(reserve_with(19), "");
  EXPECT_NE(reserve_with(18).find("rule 13"), std::string::npos);
}

TEST_F(ImplementationShareTest, WhatFailuresTakeIsNotLeftForIt) {
  fields_["shuffled"] = "binomial:3:100";
  EXPECT_EQ(reserve_with(108), "");
  EXPECT_NE(reserve_with(107).find("rule 13"), std::string::npos);
}

TEST_F(ImplementationShareTest, PureRunsLeaveNothingToIt) {
  EXPECT_EQ(reserve("pure:300", "pure:100*3@50/50", "300"), "");
}

/// A run whose replies claim to cost nothing.
class ExactReleasesTest : public ::testing::Test {
 protected:
  static std::string holdout(char digit) { return std::string(2 * kHashBytes, digit); }
  void open(const std::string& public_holdout, const char* format = "2") {
    accounts_.add(1, {{"kind", "opened"}, {"format", format}, {"public_holdout", public_holdout}});
  }
  void amend(const std::string& public_holdout) {
    accounts_.add(++sequence_, {{"kind", "amended"}, {"public_holdout", public_holdout}});
  }
  /// What is said of a run of one such release: nothing where it is accepted.
  std::string release_from(const char* block, const char* cost = "0") {
    lines_.clear();
    const std::string run = fmt::format("{:0{}}", ++sequence_, 2 * kRunBytes);
    accounts_.add(sequence_, {{"kind", "reserved"},
                              {"run", run},
                              {"epsilon", "0"},
                              {"delta", "0"},
                              {"mechanism_delta", "0"},
                              {"training", "0"},
                              {"holdout", "0"}});
    accounts_.add(++sequence_, {{"kind", "released"},
                                {"run", run},
                                {"round", "0"},
                                {"block", block},
                                {"cost", cost},
                                {"query", holdout('b')},
                                {"reply", holdout('c')}});
    accounts_.add(++sequence_, {{"kind", "ended"}, {"run", run}});
    return lines_.empty() ? "" : lines_.front();
  }

  std::vector<std::string> lines_;
  Problems problems_{lines_};
  RunAccounts accounts_{problems_};
  std::int64_t sequence_ = 1;
};

TEST_F(ExactReleasesTest, OfPrivateRecordsAreFound) {
  open(holdout('0'));
  EXPECT_NE(release_from("training").find("rule 12"), std::string::npos);
  EXPECT_NE(release_from("holdout").find("rule 12"), std::string::npos);
}

TEST_F(ExactReleasesTest, AreOfAHoldoutThatWasDeclaredPublicAlone) {
  open(holdout('a'));
  EXPECT_EQ(release_from("holdout"), "");
  EXPECT_NE(release_from("training").find("rule 12"), std::string::npos);
}

TEST_F(ExactReleasesTest, TheFirstFormatKnowsNoOthers) {
  open(holdout('0'), "1");
  EXPECT_NE(release_from("training").find("rule 12"), std::string::npos);
  amend(holdout('a'));
  EXPECT_EQ(release_from("holdout"), "");
}

TEST_F(ExactReleasesTest, WhatTheLastChangeOfContentDeclaresCounts) {
  open(holdout('a'));
  amend(holdout('0'));
  EXPECT_NE(release_from("holdout").find("rule 12"), std::string::npos);
  amend(holdout('b'));
  EXPECT_EQ(release_from("holdout"), "");
}

TEST_F(ExactReleasesTest, AreOfRecordsThatWereDeclaredPublicAtTheBeginning) {
  accounts_.add(
      1, {{"kind", "opened"}, {"format", "2"}, {"public_holdout", holdout('0')}, {"public_records", holdout('a')}});
  EXPECT_EQ(release_from("public"), "");
  EXPECT_NE(release_from("holdout").find("rule 12"), std::string::npos);
  EXPECT_NE(release_from("training").find("rule 12"), std::string::npos);
  EXPECT_NE(release_from("public", "pure:5").find("rule 12"), std::string::npos);
  amend(holdout('0'));  // of the others' content: what is public stays
  EXPECT_EQ(release_from("public"), "");
}

TEST_F(ExactReleasesTest, AreOfNoPublicRecordsWhereNoneWereDeclared) {
  open(holdout('a'));
  EXPECT_NE(release_from("public").find("rule 12"), std::string::npos);
}

TEST(PureDeltaTest, AddsUpEveryOutcomeOfRandomisedResponses) {
  constexpr UInt128 kOne = UInt128{1} << 40U;
  const long double e = std::exp(1.0L);
  // One of epsilon 1 at 1/2: (e - e^0.5) / (1 + e). Two at 1: both true, of loss 2, have (e^2 - e) / (1 + e)^2.
  EXPECT_NEAR(static_cast<double>(pure_delta_below({{kOne, 1}}, kOne / 2) / ((e - std::exp(0.5L)) / (1 + e))), 1, 2e-9);
  EXPECT_NEAR(static_cast<double>(pure_delta_below({{kOne, 2}}, kOne) / ((e * e - e) / ((1 + e) * (1 + e)))), 1, 2e-9);
  EXPECT_EQ(pure_delta_below({{kOne, 2}}, 2 * kOne), 0);
  // One of 1 and one of 2 at 2.5: both true, of loss 3.
  const long double both = e / (1 + e) * e * e / (1 + e * e);
  EXPECT_NEAR(
      static_cast<double>(pure_delta_below({{kOne, 1}, {2 * kOne, 1}}, 5 * kOne / 2) / (both * (1 - std::exp(-0.5L)))),
      1, 2e-9);
  // Of more rounds than are added up it is less than all of them leak, never more.
  EXPECT_LE(pure_delta_below({{kOne / 1000, 100'000}}, kOne), 1);
  EXPECT_GT(pure_delta_below({{kOne / 1000, 100'000}}, kOne / 100), 0);
}

TEST(RenyiBoundTest, OfAGaussianIsTheConversionOfItsRho) {
  // mu = 1 is 1/2-zCDP, for which Canonne, Kamath and Steinke's conversion at epsilon 4.5 is within a tenth of a
  // Gaussian's own 1e-5 .. 1e-4, and never below it.
  const long double bound = renyi_delta({{1.0L, 0, 0, 1}}, 4.5L);
  const std::optional<DeltaBracket> exact = sampled_delta({{1.0L, 1, 1, 1}}, 4.5L);
  EXPECT_GE(bound, exact->lower);
  EXPECT_LE(bound, 10 * exact->upper);
}

TEST(RenyiBoundTest, RandomisedResponseIsBoundedByItsOwnDivergence) {
  // Order a of one release of epsilon 1 by hand, a = 2: ln((e^2 + e^-1) / (1 + e)) and Proposition 12.
  const long double divergence = std::log((std::exp(2.0L) + std::exp(-1.0L)) / (1 + std::exp(1.0L)));
  const long double at_two = std::exp(divergence - 0.5L) / 4;
  EXPECT_LE(renyi_delta({{0, 1.0L, 0, 1}}, 0.5L), at_two * (1 + 1e-12L));
  // Nothing is below the profile (e - e^0.5) / (1 + e).
  EXPECT_GE(renyi_delta({{0, 1.0L, 0, 1}}, 0.5L), (std::exp(1.0L) - std::exp(0.5L)) / (1 + std::exp(1.0L)));
  // A range is worth more than that.
  EXPECT_LT(renyi_delta({{0, 0, 1.0L, 20}}, 4.0L), renyi_delta({{0, 1.0L, 0, 20}}, 4.0L));
}

}  // namespace
}  // namespace undertone::verifier
