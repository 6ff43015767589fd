#include "verifier/run_accounts.hpp"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace undertone::verifier {
namespace {

/// A ledger of one run whose 1,000 training releases of mu 1 draw 10 of 1,000 records with replacement: epsilon
/// 2.243677 at delta 1e-5, privacy-core.md row 141.
class DrawnWithReplacementTest : public ::testing::Test {
 protected:
  static constexpr const char* kReleases = "1099511627776*1000@10/1000r";

  DrawnWithReplacementTest() {
    const std::string delta = fmt::to_string(static_cast<UInt128>(std::ldexp(1e-5L, 80)) + 1);
    fields_ = {{"kind", "reserved"},
               {"run", std::string(2 * kRunBytes, 'a')},
               {"epsilon", epsilon(2.243677L)},
               {"delta", delta},
               {"mechanism_delta", delta},
               {"training", "1099511627776000"},
               {"holdout", "0"},
               {"training_releases", kReleases}};
  }
  static std::string epsilon(long double value) { return fmt::to_string(static_cast<UInt128>(std::ldexp(value, 40))); }
  void reserve() { accounts_.add(2, fields_); }
  void release(const std::string& cost) {
    accounts_.add(3, {{"kind", "released"},
                      {"run", fields_.at("run")},
                      {"round", "0"},
                      {"block", "training"},
                      {"cost", cost},
                      {"query", std::string(2 * kHashBytes, 'b')},
                      {"reply", std::string(2 * kHashBytes, 'c')}});
  }
  void expect_problem(const std::string& why) const {
    ASSERT_FALSE(lines_.empty());
    EXPECT_NE(lines_.front().find(why), std::string::npos) << lines_.front();
  }

  Fields fields_;
  std::vector<std::string> lines_;
  Problems problems_{lines_};
  RunAccounts accounts_{problems_};
};

TEST_F(DrawnWithReplacementTest, WhatTheyCostIsEnough) {
  reserve();
  EXPECT_TRUE(lines_.empty()) << lines_.front();
}

TEST_F(DrawnWithReplacementTest, ALittleLessIsTooLittle) {
  fields_["epsilon"] = epsilon(2.243677L * 0.985L);
  reserve();
  expect_problem("charged too little");
}

TEST_F(DrawnWithReplacementTest, WhatSubsetsCostIsTooLittle) {
  fields_["epsilon"] = epsilon(2.198914L);
  reserve();
  expect_problem("charged too little");
}

TEST_F(DrawnWithReplacementTest, AnOrdinaryGroupBesideThemIsComposedToo) {
  fields_["training_releases"] = std::string(kReleases) + ",1099511627776*1@1000/1000";
  fields_["training"] = "1100611139403776";
  reserve();
  expect_problem("charged too little");
}

TEST_F(DrawnWithReplacementTest, MoreDrawsThanRecordsAreRefused) {
  fields_["training_releases"] = "1099511627776*1000@1001/1000r";
  reserve();
  expect_problem("1 <= K <= N");
}

TEST_F(DrawnWithReplacementTest, SeveralDrawsOfNoiseAreRefused) {
  fields_["training_releases"] = "1099511627776*100@10/1000r^10";
  reserve();
  expect_problem("add up to");
}

TEST_F(DrawnWithReplacementTest, CreditForMixingIsOfSubsetsAlone) {
  fields_["mechanism_delta"] = fmt::to_string(static_cast<UInt128>(std::ldexp(0.9e-5L, 80)));
  fields_["epsilon"] = epsilon(50);
  fields_["shuffled"] = "reports:1000:1:1000000000000:2000000000000";
  reserve();
  expect_problem("with replacement");
}

TEST_F(DrawnWithReplacementTest, SharesOfSumsAreOfSubsetsAlone) {
  fields_["shuffled"] = "binomial:1000:0";
  reserve();
  expect_problem("with replacement");
}

TEST_F(DrawnWithReplacementTest, MixedRepliesThatAskForNoCreditKeepTheirOwnGuarantee) {
  fields_["shuffled"] = "reports:1000:0";
  reserve();
  EXPECT_TRUE(lines_.empty()) << lines_.front();
}

TEST_F(DrawnWithReplacementTest, NoFilterCountsThem) {
  const std::string delta = fmt::to_string(static_cast<UInt128>(std::ldexp(1e-4L, 80)));
  accounts_.add(2, {{"kind", "filtered"},
                    {"epsilon", epsilon(400)},
                    {"delta", delta},
                    {"mechanism_delta", "0"},
                    {"shift_squared", "2000000000000000"}});
  lines_.clear();  // of a filter that is not sound
  fields_["kind"] = "accepted";
  accounts_.add(3, fields_);
  expect_problem("with replacement");
}

TEST_F(DrawnWithReplacementTest, TheOdometerDoesNotCountARecordOnce) {
  reserve();
  verifier::LedgerFindings before;
  accounts_.report(before);
  EXPECT_EQ(before.runs.front().epsilon_spent, 0.0);
  release("1099511627776");
  EXPECT_TRUE(lines_.empty()) << lines_.front();
  verifier::LedgerFindings after;
  accounts_.report(after);
  EXPECT_EQ(after.runs.front().epsilon_spent, after.runs.front().epsilon_reserved);
}

TEST_F(DrawnWithReplacementTest, AReleaseCostsItsShiftSquared) {
  reserve();
  release("1099511627777");
  expect_problem("rule 3");
}

/// A ledger of format 2 with one run.
std::vector<std::string> found_in(const Fields& reserved) {
  std::vector<std::string> lines;
  Problems problems(lines);
  RunAccounts accounts(problems);
  accounts.add(1, {{"kind", "opened"}, {"format", "2"}, {"public_holdout", std::string(2 * kHashBytes, '0')}});
  Fields fields = reserved;
  fields["kind"] = "reserved";
  fields["run"] = std::string(2 * kRunBytes, 'a');
  fields["holdout"] = "0";
  accounts.add(2, fields);
  return lines;
}

TEST(RunAccountsTest, AFailureComesOffDeltaAndIsNoneWhereNothingButAnEpsilonIsPromised) {
  const std::string epsilon = "1099511627776";  // 1
  const auto half = UInt128{1} << 79U;
  const auto found = [&](UInt128 delta, UInt128 mechanism, UInt128 failure) {
    return found_in({{"epsilon", epsilon},
                     {"delta", fmt::to_string(delta)},
                     {"mechanism_delta", fmt::to_string(mechanism)},
                     {"training", "pure:" + epsilon},
                     {"training_releases", "pure:" + epsilon + "*1@100/100!" + fmt::to_string(failure)}});
  };
  EXPECT_FALSE(found(0, 0, half).empty());
  EXPECT_FALSE(found(0, 0, 1).empty());
  EXPECT_TRUE(found(half, half / 32, half / 2).empty());
  EXPECT_FALSE(found(half, half / 2 + half / 4, half / 2).empty());
}

TEST(RunAccountsTest, ARecordIsChargedForEverySelectionWhosePathGoesThroughItsPart) {
  // Two selections of 1/2 along paths that share a part: 1 of a pure promise for its records, whatever the others pay.
  const std::string half = "549755813888";
  const auto found = [&](const std::string& epsilon, const std::string& second) {
    return found_in(
        {{"epsilon", epsilon},
         {"delta", "0"},
         {"mechanism_delta", "0"},
         {"training", "ranged:1099511627776"},
         {"training_releases", "ranged:" + half + "*1@10/10+0:10,ranged:" + half + "*1@5/5+10:15&" + second}});
  };
  EXPECT_TRUE(found("1099511627776", "ranged:" + half + "@10/10+0:10").empty());
  EXPECT_FALSE(found("1099511627775", "ranged:" + half + "@10/10+0:10").empty());  // a unit less
  EXPECT_TRUE(found("824633720832", "ranged:274877906944@10/10+0:10").empty());    // 1/2 + 1/4
  EXPECT_FALSE(found("824633720831", "ranged:274877906944@10/10+0:10").empty());
}

}  // namespace
}  // namespace undertone::verifier
