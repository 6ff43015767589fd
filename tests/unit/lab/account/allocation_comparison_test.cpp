#include "lab/account/allocation_comparison.hpp"

#include <gtest/gtest.h>

#include "lab/account/account_command.hpp"

namespace undertone::lab {
namespace {

AllocationQuestion question(std::uint64_t parts) {
  return {parts, 1, std::nullopt, std::nullopt, std::nullopt, releases::Delta::create(1e-5).value()};
}
double value_of(const std::vector<AllocationWay>& ways, const std::string& name) {
  for (const AllocationWay& way : ways)
    if (way.name == name) return way.value.value_or(-1.0);
  return -2.0;
}

/// Spec random-allocation, section 7: epsilon 1, t = 10, mu: parallel 0.26805, bins 0.846, Poisson 0.828, subsets
/// 0.566; fixed sizes 1/1.6353 with a part as large as the unread slot is small.
TEST(AllocationComparisonTest, FindsThePublishedNoiseMultipliers) {
  AllocationQuestion asked = question(10);
  asked.epsilon = releases::Epsilon::create(1.0).value();
  asked.records = 10'000;
  const std::vector<AllocationWay> ways = compare_allocation(asked).value();
  EXPECT_NEAR(value_of(ways, "parallel"), 3.7307, 1e-3);
  EXPECT_NEAR(value_of(ways, "bins"), 1.1819, 1e-3);
  EXPECT_NEAR(value_of(ways, "fixed"), 1.6353, 2e-3);
  EXPECT_NEAR(value_of(ways, "poisson"), 1.0 / 0.828, 3e-3);
  EXPECT_NEAR(value_of(ways, "subset"), 1.0 / 0.566, 4e-3);
  EXPECT_GT(value_of(ways, "multiset"), value_of(ways, "subset") * 0.99);
}

TEST(AllocationComparisonTest, FindsEpsilonAtEqualNoise) {
  AllocationQuestion asked = question(10);
  asked.shift = releases::GaussianShift::create(0.8461).value();
  const std::vector<AllocationWay> ways = compare_allocation(asked).value();
  EXPECT_NEAR(value_of(ways, "bins"), 1.0, 1e-3);
  EXPECT_GT(value_of(ways, "parallel"), 3.0);
  EXPECT_GT(value_of(ways, "subset"), value_of(ways, "poisson"));
  EXPECT_EQ(value_of(ways, "fixed"), -1.0);  // the share of a slot is not known without the records
  EXPECT_EQ(value_of(ways, "multiset"), -1.0);
}

TEST(AllocationComparisonTest, NamesWhatIsWrong) {
  const auto refusal = [](const AllocationQuestion& asked) {
    const auto found = compare_allocation(asked);
    return found ? std::string("accepted") : found.error().message;
  };
  AllocationQuestion asked = question(10);
  EXPECT_NE(refusal(asked).find("target epsilon"), std::string::npos);
  asked.shift = releases::GaussianShift::create(1.0).value();
  asked.epsilon = releases::Epsilon::create(1.0).value();
  EXPECT_NE(refusal(asked).find("target epsilon"), std::string::npos);
  asked.epsilon.reset();
  for (const std::int64_t bad : {0, 1, 15, -10}) {
    asked.records = bad;
    EXPECT_NE(refusal(asked).find("records"), std::string::npos) << bad;
  }
  asked.records.reset();
  for (const std::uint64_t bad : {0ULL, 100'001ULL}) {
    asked.parts = bad;
    EXPECT_NE(refusal(asked).find("parts"), std::string::npos) << bad;
  }
  asked.parts = 10;
  for (const std::uint64_t bad : {0ULL, 1001ULL}) {
    asked.epochs = bad;
    EXPECT_NE(refusal(asked).find("epochs"), std::string::npos) << bad;
  }
}

// It ended by a signal.
TEST(AccountCommandTest, ATargetThatIsWorthNothingIsRefused) {
  AccountRequest request;
  request.mechanism.kind = MechanismKind::Gaussian;
  request.mechanism.sensitivity = 1.0;
  request.delta = 1e-5;
  for (const double epsilon : {1e300, 1e100, 1001.0}) {
    request.target_epsilon = epsilon;
    EXPECT_EQ(run_account(request), 3) << epsilon;
  }
  request.target_epsilon = 1000.0;
  EXPECT_EQ(run_account(request), 0);
}

TEST(AllocationCommandTest, PrintsOrSaysWhatIsMissing) {
  AccountRequest request;
  request.allocation = true;
  request.parts = 4;
  request.delta = 1e-5;
  request.mechanism.sigma = 2.0;
  request.mechanism.clip = 1.0;
  EXPECT_EQ(run_account(request), 0);
  request.json = true;
  EXPECT_EQ(run_account(request), 0);
  request.adjacency = "add-remove";
  EXPECT_NE(run_account(request), 0);
  request.adjacency = "replace-one";
  request.target_epsilon = 1.0;
  EXPECT_NE(run_account(request), 0);  // sigma and a target
  request.mechanism.sigma.reset();
  request.delta.reset();
  EXPECT_NE(run_account(request), 0);
}

}  // namespace
}  // namespace undertone::lab
