#include "shared/jobs/cohort_weights.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/random_source.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::jobs {
namespace {

CohortMember member(std::int64_t records, releases::Target target) {
  return {{*SiloId::create(fmt::format("silo-{}", records)), records, 0, false, target}, 7};
}

releases::Target approximate(double epsilon) {
  return releases::ApproximateDp{*releases::Epsilon::create(epsilon), *releases::Delta::create(1e-6)};
}
releases::Target pure(double epsilon) { return releases::PureDp{*releases::Epsilon::create(epsilon)}; }
releases::Target concentrated(double rho) {
  return releases::ConcentratedDp{*releases::Rho::create(rho), *releases::Delta::create(1e-6),
                                  *releases::Epsilon::create(9.0)};
}

std::vector<std::uint64_t> weights_of(WeightRule rule, std::vector<CohortMember> members) {
  EXPECT_TRUE(set_weights(rule, members));
  std::vector<std::uint64_t> out;
  for (const CohortMember& one : members) out.push_back(one.weight);
  return out;
}

using Weights = std::vector<std::uint64_t>;

TEST(CohortWeightsTest, RecordsCountAlikeOrSilosDo) {
  const std::vector<CohortMember> members = {member(30, approximate(1.0)), member(70, approximate(2.0))};
  EXPECT_EQ(weights_of(WeightRule::Records, members), (Weights{30, 70}));
  EXPECT_EQ(weights_of(WeightRule::Equal, members), (Weights{1, 1}));
}

TEST(CohortWeightsTest, OfOnePromiseTheyFollowTheSquareOfTheRecords) {
  // (100, 50, 25)^2 = 16 : 4 : 1, the largest 2^20.
  EXPECT_EQ(weights_of(WeightRule::NoiseOptimal,
                       {member(100, approximate(2.0)), member(50, approximate(2.0)), member(25, approximate(2.0))}),
            (Weights{1 << 20, 1 << 18, 1 << 16}));
}

TEST(CohortWeightsTest, OfPurePromisesTheyFollowEpsilonSquared) {
  // Laplace noise is in proportion to 1/(n epsilon): (100 * 1)^2 and (50 * 4)^2 are 1 : 4.
  EXPECT_EQ(weights_of(WeightRule::NoiseOptimal, {member(100, pure(1.0)), member(50, pure(4.0))}),
            (Weights{1 << 18, 1 << 20}));
}

TEST(CohortWeightsTest, OfConcentratedPromisesTheyFollowRho) {
  // mu^2 = 2 rho: 100^2 * 0.5 and 100^2 * 2 are 1 : 4, though both are charged the same epsilon.
  EXPECT_EQ(weights_of(WeightRule::NoiseOptimal, {member(100, concentrated(0.5)), member(100, concentrated(2.0))}),
            (Weights{1 << 18, 1 << 20}));
}

TEST(CohortWeightsTest, NoneIsLostAndOneSiloIsAllThereIs) {
  EXPECT_EQ(weights_of(WeightRule::NoiseOptimal, {member(1, approximate(0.001)), member(1'000'000, approximate(9.0))}),
            (Weights{1, 1 << 20}));
  EXPECT_EQ(weights_of(WeightRule::NoiseOptimal, {member(12, approximate(1.0))}), (Weights{1 << 20}));
}

TEST(CohortWeightsTest, PureAndOtherPromisesDoNotCompare) {
  std::vector<CohortMember> members = {member(30, pure(1.0)), member(70, approximate(2.0))};
  const Status refused = set_weights(WeightRule::NoiseOptimal, members);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("silo-30"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("silo-70"), std::string::npos);
}

TEST(CohortWeightsTest, MoreDifferentPromisesThanCanBeLookedUpAreRefused) {
  std::vector<CohortMember> members;
  for (int i = 0; i < 256; ++i) members.push_back(member(100 + i, approximate(1.0 + i)));
  members.push_back(member(400, approximate(1.0)));
  EXPECT_TRUE(set_weights(WeightRule::NoiseOptimal, members));
  members.push_back(member(500, approximate(1.5)));
  const Status refused = set_weights(WeightRule::NoiseOptimal, members);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
  EXPECT_TRUE(set_weights(WeightRule::Records, members));
}

TEST(CohortWeightsTest, NoOtherWeightsHaveLessNoise) {
  RandomSource random(3);
  for (int trial = 0; trial < 10; ++trial) {
    SCOPED_TRACE(trial);
    std::vector<CohortMember> members;
    std::vector<double> variances;
    for (int i = 0; i < 6; ++i) {
      const auto records = static_cast<std::int64_t>(50 + random.below(1000));
      const double epsilon = 0.5 + 8.0 * random.unit();
      members.push_back(member(records, approximate(epsilon)));
      const double shift =
          accounting::gaussian_shift_for(*releases::Epsilon::create(epsilon), *releases::Delta::create(1e-6)).value();
      variances.push_back(std::pow(2.0 / (static_cast<double>(records) * shift), 2.0));
    }
    const Weights weights = weights_of(WeightRule::NoiseOptimal, members);
    const auto variance = [&](const auto& weight) {
      double sum = 0.0;
      double total = 0.0;
      for (std::size_t i = 0; i < variances.size(); ++i) {
        total += weight(i);
        sum += weight(i) * weight(i) * variances[i];
      }
      return sum / (total * total);
    };
    const auto own = [&](std::size_t i) { return static_cast<double>(weights[i]); };
    // Rounding moves a weight by 2^-21 of the largest: the variance by less than 1e-9 of itself beyond the least.
    double precision = 0.0;
    for (const double one : variances) precision += 1.0 / one;
    EXPECT_LE(variance(own), (1.0 + 1e-6) / precision);
    for (int other = 0; other < 20; ++other) {
      std::vector<double> moved(variances.size());
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = own(i) * (0.5 + random.unit());
      EXPECT_GE(variance([&](std::size_t i) { return moved[i]; }), variance(own) * (1.0 - 1e-6));
    }
  }
}

/// The small federation's job without its silos' own weights, if they are to go, with `weights` as it says.
Result<Job> ruled(tests::SmallFederation federation, const char* weights, bool own_weights = false) {
  nlohmann::json job = nlohmann::json::parse(federation.job());
  job["weights"] = weights;
  for (nlohmann::json& silo : job["cohort"]) {
    if (!own_weights) silo.erase("weight");
  }
  return parse_job(job.dump(), "job.json");
}

void refuses(const Result<Job>& job, const std::string& what) {
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().message.find(what), std::string::npos) << job.error().message;
}

TEST(CohortWeightsTest, AJobNamesTheRule) {
  const Result<Job> equal = ruled({}, "equal");
  ASSERT_TRUE(equal) << equal.error().message;
  for (const CohortMember& one : equal->cohort) EXPECT_EQ(one.weight, 1U);
  const Result<Job> optimal = ruled({}, "noise_optimal");
  ASSERT_TRUE(optimal) << optimal.error().message;
  std::vector<CohortMember> expected = optimal->cohort;
  ASSERT_TRUE(set_weights(WeightRule::NoiseOptimal, expected));
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(optimal->cohort[i].weight, expected[i].weight);
  refuses(ruled({}, "loudest"), "/weights");
  refuses(ruled({}, "equal", true), "/cohort/0/weight: expected none beside the job's weights");
}

TEST(CohortWeightsTest, NoiseOptimalOnesAreOfMeansOfGradients) {
  tests::SmallFederation local;
  local.regulariser = R"({"kind":"none"})";
  local.algorithm = R"({"kind":"local_sgd","rounds":2,"step_size":0.1,"local_steps":5})";
  refuses(ruled(local, "noise_optimal"), "/weights: expected \"records\" or \"equal\"");
  EXPECT_TRUE(ruled(local, "records"));
}

}  // namespace
}  // namespace undertone::jobs
