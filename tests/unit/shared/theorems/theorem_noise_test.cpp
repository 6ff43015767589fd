#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/algorithms/printed_noise.hpp"
#include "shared/algorithms/proximal/prox_svrg.hpp"
#include "shared/algorithms/proximal/proximal_sgd.hpp"
#include "shared/algorithms/proximal/spider.hpp"
#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/algorithms/sgd/local_sgd.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"

namespace undertone::theorems {
namespace {

/// n = 1000, K = 500, epsilon = 1, delta = 1e-6: ln(1/delta) = 13.81551, ln(2/delta) = 14.50866.
constexpr algorithms::NoiseFacts kFacts{1000.0, 500.0, 1.0, 1e-6};
constexpr algorithms::NoiseFacts kWhole{1000.0, 1000.0, 1.0, 1e-6};

algorithms::Problem model() {
  algorithms::Problem problem;
  problem.dimension = 2;
  return problem;
}

algorithms::AcceleratedSgdSettings phased(std::vector<std::uint64_t> rounds) {
  algorithms::AcceleratedSgdSettings out{model(), {}, algorithms::RecordUse::Phased};
  for (const std::uint64_t one : rounds) out.phases.push_back({1.0, 1.0, {}, {{one, 4.0}}});
  return out;
}

void says(const algorithms::Method& settings, const algorithms::NoiseFacts& facts,
          const std::vector<std::string>& parts) {
  const Result<algorithms::NoiseShifts> shifts = settings->theorem_noise(facts);
  ASSERT_FALSE(shifts);
  EXPECT_EQ(shifts.error().code, ErrorCode::InvalidArgument);
  for (const std::string& part : parts)
    EXPECT_NE(shifts.error().message.find(part), std::string::npos) << part << " in " << shifts.error().message;
}

TEST(TheoremNoiseTest, MinibatchSgdHasThePrintedVariance) {
  // R = 10, L = 1: 256 10 ln(2.5e7) ln(2e6) / 1e6 = 256 10 17.03439 14.50866 / 1e6 = 0.632694, stddev 0.795421;
  // 2/(500 0.795421) = 0.00502879. Theorem 129 says the same of shared records.
  const algorithms::NoiseShifts shifts =
      algorithms::Method(algorithms::MinibatchSgdSettings{model(), 10, 0.1, {}})->theorem_noise(kFacts).value();
  ASSERT_EQ(shifts.gradients.size(), 1U);
  EXPECT_NEAR(shifts.gradients.front(), 0.005028785875260223, 1e-14);
  EXPECT_FALSE(shifts.difference);
  const algorithms::AcceleratedSgdSettings shared{
      model(), {{0.0, 0.0, {}, {{4, 2.0}, {6, 2.0}}}}, algorithms::RecordUse::Shared};
  EXPECT_EQ(shared.theorem_noise(kFacts).value().gradients, shifts.gradients);
}

TEST(TheoremNoiseTest, OneRoundPerRecordHasThePrintedVariances) {
  // 32 ln(1.25e6) / 500^2 = 0.00179695, stddev 0.0423904; 2/(500 0.0423904) = 0.0943609, whatever K and n are.
  const algorithms::AcceleratedSgdSettings one_pass{
      model(), {{0.0, 0.0, {}, {{2, 2.0}}}}, algorithms::RecordUse::OnePass};
  EXPECT_NEAR(one_pass.theorem_noise(kFacts).value().gradients.front(), 0.09436094239526081, 1e-14);
  // 8 ln(1e6) / 500^2 = 0.000442096, stddev 0.0210261; 2/(500 0.0210261) = 0.190240.
  EXPECT_NEAR(algorithms::Method(algorithms::ProximalSgdSettings{model(), 2, 0.1})
                  ->theorem_noise(kFacts)
                  .value()
                  .gradients.front(),
              0.1902398665508126, 1e-14);
}

TEST(TheoremNoiseTest, LocalizedPhasesHaveEachTheirOwn) {
  const algorithms::NoiseShifts shifts = algorithms::Method(phased({10, 3}))->theorem_noise(kWhole).value();
  ASSERT_EQ(shifts.gradients.size(), 2U);
  // Half of the shift of K = n/2: 0.00502879 / 2.
  EXPECT_NEAR(shifts.gradients[0], 0.005028785875260223 / 2.0, 1e-14);
  // 1/(8 sqrt(3 ln(7.5e6) 14.50866)), ln(7.5e6) = 15.83041.
  EXPECT_NEAR(shifts.gradients[1], 0.125 / std::sqrt(3.0 * std::log(7.5e6) * std::log(2e6)), 1e-14);
}

TEST(TheoremNoiseTest, SvrgHasThePrintedVariances) {
  // S = 2, E = 3, Q = 2, R = 6. Anchors: 256 6 ln(2e6) ln(1.5e7) / 1e6 = 0.368232: 2/(1000 0.606822) = 0.00329586.
  // Differences: 1024 12 ln(2e6) ln(1.5e7) / 1e6 = 2.945860: 4/(500 1.716351) = 0.00466105.
  const algorithms::NoiseShifts shifts =
      algorithms::Method(algorithms::ProxSvrgSettings{model(), 2, 3, 2, 0.1, {}, 0})->theorem_noise(kFacts).value();
  EXPECT_NEAR(shifts.gradients.front(), 0.0032958614678147567, 1e-14);
  EXPECT_NEAR(shifts.difference.value(), 0.004661051987486525, 1e-14);
}

TEST(TheoremNoiseTest, SpiderHasThePrintedVariances) {
  // R = 10, q = 4: anchors 16 ln(1e6) 2.5 / 1e6 = 0.000552620: 2/(1000 0.0235079) = 0.0850779.
  // Differences: 64 10 ln(1e6) / 1e6 = 0.00884193: 4/(1000 0.0940315) = 0.0425389.
  const algorithms::NoiseShifts shifts =
      algorithms::Method(algorithms::SpiderSettings{model(), 10, 4, 0.1, 1.0, 0})->theorem_noise(kWhole).value();
  EXPECT_NEAR(shifts.gradients.front(), 0.08507785472762108, 1e-13);
  EXPECT_NEAR(shifts.difference.value(), 0.04253892736381054, 1e-13);
  // A period beyond the run is max(R/q, 1) = 1.
  const algorithms::NoiseShifts long_period =
      algorithms::Method(algorithms::SpiderSettings{model(), 10, 40, 0.1, 1.0, 0})->theorem_noise(kWhole).value();
  EXPECT_NEAR(long_period.gradients.front(), 0.5 / std::sqrt(std::log(1e6)), 1e-13);
}

TEST(TheoremNoiseTest, TheExperimentsHaveTheirOwn) {
  // 8 10 ln(1e6) / 1e6 = 0.00110524, stddev 0.0332452: 2/(500 0.0332452) = 0.120318.
  EXPECT_NEAR(algorithms::Method(algorithms::MinibatchSgdSettings{model(), 10, 0.1, {}})
                  ->experiment_noise(kFacts)
                  .value()
                  .gradients.front(),
              0.12031825601340967, 1e-13);
  // E - 1 = 4: R = 9. 8 9 ln(2e6) / 1e6 = 0.00104462: 2/(500 0.0323207) = 0.123760; twice the noise for differences.
  const algorithms::NoiseShifts alternate =
      algorithms::Method(algorithms::SpiderAlternateSettings{model(), 4, 0.1, {}, 0})->experiment_noise(kFacts).value();
  EXPECT_NEAR(alternate.gradients.front(), 0.12375995000102946, 1e-13);
  EXPECT_EQ(alternate.difference, alternate.gradients.front());
  // SPIDER on half of the records: twice the shifts of the theorem.
  EXPECT_NEAR(algorithms::Method(algorithms::SpiderSettings{model(), 10, 4, 0.1, {}, 0})
                  ->experiment_noise(kFacts)
                  .value()
                  .gradients.front(),
              2.0 * 0.08507785472762108, 1e-13);
  EXPECT_FALSE(algorithms::Method(algorithms::ProximalSgdSettings{model(), 2, 0.1})->experiment_noise(kFacts));
  EXPECT_FALSE(algorithms::Method(phased({3}))->experiment_noise(kFacts));
  EXPECT_FALSE(algorithms::Method(algorithms::MinibatchSgdSettings{model(), 0, 0.1, {}})->experiment_noise(kFacts));
}

TEST(TheoremNoiseTest, OnFullBatchesTheExperimentsAreOneGaussian) {
  // Any R releases compose to shift epsilon/sqrt(2 ln(1/delta)): n = 1238, delta = 1/n^2, epsilon 3: 0.562099.
  for (const std::uint64_t rounds : {1U, 35U, 500U}) {
    const algorithms::NoiseFacts facts{1238.0, 1238.0, 3.0, 1.0 / (1238.0 * 1238.0)};
    const double shift = algorithms::Method(algorithms::MinibatchSgdSettings{model(), rounds, 0.1, {}})
                             ->experiment_noise(facts)
                             .value()
                             .gradients.front();
    EXPECT_NEAR(shift * std::sqrt(static_cast<double>(rounds)), 0.5620993304987708, 1e-12);
  }
}

TEST(TheoremNoiseTest, LocalSgdsStepIsThatOfOneRecord) {
  // R = 35, K = 443, epsilon 6: 8 35 443 ln(1238^2) / (36 1238^2) = 0.0320187, stddev 0.178938: 2/0.178938 = 11.17707.
  const algorithms::NoiseFacts facts{1238.0, 1.0, 6.0, 1.0 / (1238.0 * 1238.0)};
  EXPECT_NEAR(algorithms::experiment_local_shift(35.0, 443.0, facts).value(), 11.17706619695684, 1e-9);
  EXPECT_FALSE(algorithms::experiment_local_shift(0.0, 443.0, facts));
  EXPECT_FALSE(algorithms::experiment_local_shift(35.0, std::nan(""), facts));
  EXPECT_FALSE(algorithms::experiment_local_shift(35.0, 443.0, kFacts));
}

TEST(TheoremNoiseTest, ABatchBelowTheLeastIsRefusedWithBoth) {
  // 1000/(4 sqrt(2 10 14.50866)) = 14.67612: 14 is the floor of a share, 13 is not.
  const algorithms::MinibatchSgdSettings settings{model(), 10, 0.1, {}};
  EXPECT_NEAR(algorithms::least_batch(10.0, 1000.0, 1.0, 1e-6), 14.676124691692912, 1e-10);
  EXPECT_TRUE(algorithms::Method(settings)->theorem_noise({1000.0, 14.0, 1.0, 1e-6}));
  says(settings, {1000.0, 13.0, 1.0, 1e-6}, {"Theorem 34", "13 of 1000", "14.676"});
  // For S R = 12: 13.397.
  says(algorithms::ProxSvrgSettings{model(), 2, 3, 2, 0.1, {}, 0}, {1000.0, 12.0, 1.0, 1e-6},
       {"Theorem 148", "12 of", "13.397"});
}

TEST(TheoremNoiseTest, ATheoremsConditionIsRefusedWithBothNumbers) {
  // 2 ln(2e6) = 29.017, 8 ln(1e6) = 110.52, 2 ln(1e6) = 27.631.
  says(algorithms::MinibatchSgdSettings{model(), 10, 0.1, {}}, {1000.0, 1000.0, 29.1, 1e-6}, {"29.1", "29.017"});
  says(phased({3}), {1000.0, 1000.0, 29.1, 1e-6}, {"3.8", "29.1", "29.017"});
  const algorithms::AcceleratedSgdSettings one_pass{
      model(), {{0.0, 0.0, {}, {{2, 2.0}}}}, algorithms::RecordUse::OnePass};
  EXPECT_TRUE(algorithms::Method(one_pass)->theorem_noise({1000.0, 500.0, 110.0, 1e-6}));
  says(one_pass, {1000.0, 500.0, 111.0, 1e-6}, {"111", "110.52"});
  const algorithms::ProximalSgdSettings proximal{model(), 20, 0.1};
  says(proximal, {1000.0, 50.0, 15.5, 1e-6}, {"Theorem 144", "15.5", "at most 15"});
  says(proximal, {1000.0, 50.0, 5.0, 0.6}, {"5", "8 ln(1/delta) = 4.08"});
  says(proximal, {1000.0, 50.0, 1.0, 0.5}, {"0.5"});
  says(proximal, {19.0, 1.0, 1.0, 1e-6}, {"20 rounds", "19 records"});
  says(algorithms::ProxSvrgSettings{model(), 2, 3, 2, 0.1, {}, 0}, {1000.0, 900.0, 15.5, 1e-6}, {"15.5", "15"});
  const algorithms::SpiderSettings spider{model(), 10, 4, 0.1, 1.0, 0};
  says(spider, {1000.0, 1000.0, 28.0, 1e-6}, {"28", "27.631"});
  says(spider, kFacts, {"500", "1000"});
  says(algorithms::SpiderAlternateSettings{model(), 4, 0.1, {}, 0}, kFacts, {"no theorem"});
}

TEST(TheoremNoiseTest, NumbersOfNoKindAreRefused) {
  const algorithms::MinibatchSgdSettings settings{model(), 10, 0.1, {}};
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  for (const algorithms::NoiseFacts& facts :
       {algorithms::NoiseFacts{}, algorithms::NoiseFacts{0.0, 0.0, 1.0, 1e-6},
        algorithms::NoiseFacts{10.5, 2.0, 1.0, 1e-6}, algorithms::NoiseFacts{nan, 2.0, 1.0, 1e-6},
        algorithms::NoiseFacts{10.0, 11.0, 1.0, 1e-6}, algorithms::NoiseFacts{10.0, 0.0, 1.0, 1e-6},
        algorithms::NoiseFacts{10.0, 9.5, 1.0, 1e-6}, algorithms::NoiseFacts{infinity, 9.0, 1.0, 1e-6},
        algorithms::NoiseFacts{10.0, 10.0, 0.0, 1e-6}, algorithms::NoiseFacts{10.0, 10.0, nan, 1e-6},
        algorithms::NoiseFacts{10.0, 10.0, infinity, 1e-6}, algorithms::NoiseFacts{10.0, 10.0, 1.0, 0.0},
        algorithms::NoiseFacts{10.0, 10.0, 1.0, 1.0}, algorithms::NoiseFacts{10.0, 10.0, 1.0, nan}})
    EXPECT_FALSE(algorithms::Method(settings)->theorem_noise(facts));
  says(algorithms::MinibatchSgdSettings{model(), 0, 0.1, {}}, kFacts, {"0 rounds"});
  says(algorithms::ProximalSgdSettings{model(), 0, 0.1}, kFacts, {"0 rounds"});
  says(algorithms::ProxSvrgSettings{model(), 2, 0, 2, 0.1, {}, 0}, kFacts, {"0 epochs"});
  says(algorithms::SpiderSettings{model(), 10, 0, 0.1, {}, 0}, kWhole, {"every 0 rounds"});
  says(phased({}), kFacts, {"no phase"});
}

}  // namespace
}  // namespace undertone::theorems
