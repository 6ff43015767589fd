#include "shared/algorithms/mirror/staged_mirror_theorem.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {
namespace {

// Of l2 in R^4: D = 1, n = 65536 of one silo, epsilon 1, delta 1e-6, L = 1, lambda = 1.
constexpr MirrorStageFacts kStageFacts{
    2.0, 4, 1.0, 65'536, 1, 1.0, 1e-6, 1.0, 1.0, releases::kRoundsMax, StageScale::Proven};

std::uint64_t stage_rounds_of(const MirrorStageChoice& choice) {
  std::uint64_t out = 0;
  for (const SizedMirrorStage& stage : choice.stages)
    for (const SizedMirrorPhase& one : stage.phases) out += one.phase.rounds;
  return out;
}

TEST(StagedMirrorTheoremTest, StagesAndPhasesAreAsPrinted) {
  // log2 n = 16, so 4 stages of n_i = 2048, 4096, 8192, 16384 and 10 to 13 phases; 1023 + 2047 + 4095 + 8191 = 15356
  // parts, of 4 records each.
  const MirrorStageChoice choice = choose_mirror_stages(kStageFacts).value();
  ASSERT_EQ(choice.stages.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(choice.stages[i].phases.size(), 10 + i);
    for (std::size_t j = 0; j < 10 + i; ++j)
      EXPECT_EQ(choice.stages[i].phases[j].records, std::uint64_t{2048} << i >> j) << i << " " << j;
  }
  EXPECT_EQ(choice.mirror_stages().size(), 4U);
  EXPECT_EQ(choice.mirror_stages()[1].phases.size(), 11U);
}

TEST(StagedMirrorTheoremTest, BlocksAreNearThePrintedOnesAndAllOfThemAreThere) {
  for (std::uint64_t records = 44; records < 3'000'000; records += 1 + records / 7) {
    SCOPED_TRACE(records);
    MirrorStageFacts facts = kStageFacts;
    facts.records = records;
    const auto choice = choose_mirror_stages(facts);
    if (!choice) continue;
    const double logarithm = std::log2(static_cast<double>(records));
    EXPECT_EQ(static_cast<double>(choice->stages.size()), std::ceil(std::log2(logarithm)));
    std::uint64_t all = 0;
    double printed = 0.5 * static_cast<double>(records) / logarithm;
    for (const SizedMirrorStage& stage : choice->stages) {
      const double block = 2.0 * static_cast<double>(stage.phases.front().records);
      EXPECT_GE(block, 2.0 / 3.0 * std::floor(printed) - 1.0);
      EXPECT_LE(block, 2.5 * printed);
      for (const SizedMirrorPhase& one : stage.phases) all += one.records;
      printed *= 2.0;
    }
    EXPECT_LE(all, records);
    // A job of these is one that runs.
    StagedMirrorDescentSettings settings;
    settings.problem.dimension = facts.dimension;
    settings.norm = facts.norm;
    settings.stages = choice->mirror_stages();
    const auto made = Method(settings)->make();
    EXPECT_TRUE(made) << made.error().message;
  }
}

TEST(StagedMirrorTheoremTest, ParametersAreTheFormulas) {
  // First stage, m = 4096: eta = min{1/64, 1/sqrt(4 ln(1e6)) = 0.1345} = 1/64, eta_1 = 1/1024. 2048 records: lambda =
  // 2/(2048/1024) = 1, R = 2 2 = 4; T = min{2048, 2048^2/4}, b = max(sqrt(2048), 2) = 46 rounded up.
  const MirrorStageChoice choice = choose_mirror_stages(kStageFacts).value();
  const SizedMirrorStage& first = choice.stages.front();
  EXPECT_EQ(first.diameter, 1.0);
  EXPECT_DOUBLE_EQ(first.step_size, 1.0 / 64.0);
  EXPECT_DOUBLE_EQ(first.phases[0].phase.relative_convexity, 1.0);
  EXPECT_DOUBLE_EQ(first.phases[0].phase.radius, 4.0);
  EXPECT_EQ(first.phases[0].phase.rounds, 2048U);
  EXPECT_EQ(first.phases[0].batch, 46U);
  // Each phase has a 32nd of the reach of the one before.
  EXPECT_DOUBLE_EQ(first.phases[2].phase.relative_convexity, 1024.0);
  EXPECT_DOUBLE_EQ(first.phases[2].phase.radius, 4.0 / 1024.0);
  // Of the last, of 4 records: T = min{4, 16/4}, b = max(2, 2).
  EXPECT_EQ(first.phases.back().phase.rounds, 4U);
  EXPECT_EQ(first.phases.back().batch, 2U);
}

TEST(StagedMirrorTheoremTest, OfL1CountsTheLogarithmOfTheDimension) {
  // d = 16: p = 5/4, N = 4. m = 16384: 1/sqrt(m/4) = 1/64; eps/sqrt(4 16 4 ln(1e6)) = 0.016815 is larger.
  MirrorStageFacts facts = kStageFacts;
  facts.norm = 1.0;
  facts.dimension = 16;
  facts.silos = 4;
  const SizedMirrorStage first = choose_mirror_stages(facts).value().stages.front();
  EXPECT_DOUBLE_EQ(first.step_size, 1.0 / 64.0);
  // T = min{4 2048 4, 4 2048^2/16}; reach = 8192/1024 = 8, so R = 2 8/4 and lambda = 1/4.
  EXPECT_EQ(first.phases[0].phase.rounds, 32'768U);
  EXPECT_DOUBLE_EQ(first.phases[0].phase.relative_convexity, 0.25);
  EXPECT_DOUBLE_EQ(first.phases[0].phase.radius, 4.0);
  facts.silos = 1;
  facts.epsilon = 0.1;
  EXPECT_NEAR(choose_mirror_stages(facts).value().stages.front().step_size, 0.1 / std::sqrt(64.0 * std::log(1e6)),
              1e-15);
}

TEST(StagedMirrorTheoremTest, TheProvenBoundIsItsFormula) {
  // n = 64: stages of 1, 2, 3 phases and 11 parts of 5 records. The first: 5 records, m = 10, d = 4, p = 2, N = 1.
  MirrorStageFacts facts = kStageFacts;
  facts.records = 64;
  facts.lipschitz = 0.01;
  facts.diameter = 1e4;  // so that L D does not cut it
  const MirrorStageChoice choice = choose_mirror_stages(facts).value();
  ASSERT_EQ(choice.stages.size(), 3U);
  const SizedMirrorStage& first = choice.stages.front();
  ASSERT_EQ(first.phases.size(), 1U);
  EXPECT_EQ(first.phases[0].records, 5U);
  const double l1 = std::log(1e6);
  const double eta = 1e6 * std::min(1.0 / std::sqrt(10.0), 1.0 / std::sqrt(4.0 * l1)) / 16.0;
  EXPECT_NEAR(first.step_size / 16.0, eta, 1e-9 * eta);
  const double root = std::sqrt(l1 + 1.0) - std::sqrt(l1);
  const double variance = 2.0 * 5.0 * 1e-4 / (root * root * 25.0);  // T = min{5, 25/4}
  const double longest = 5.0 * 0.01 + std::sqrt(4.0 * variance);
  const double near = std::min(longest * 5.0 * eta / std::sqrt(6.0), 2.0 * first.phases[0].phase.radius);
  const double bound = 1e8 / (eta * 5.0) + 1e-4 * eta + 0.01 * near;
  EXPECT_NEAR(first.bound, std::min(bound, 100.0), 1e-9 * bound);
}

TEST(StagedMirrorTheoremTest, TheNextStageIsAsNearAsTheBoundSays) {
  for (const StageScale scale : {StageScale::Proven, StageScale::Printed}) {
    MirrorStageFacts facts = kStageFacts;
    facts.scale = scale;
    facts.strong_convexity = 10.0;
    const MirrorStageChoice choice = choose_mirror_stages(facts).value();
    double diameter = 1.0;
    for (const SizedMirrorStage& stage : choice.stages) {
      EXPECT_DOUBLE_EQ(stage.diameter, diameter);
      EXPECT_LE(stage.bound, 1.0);  // L D
      diameter = std::min(1.0, std::sqrt(2.0 * stage.bound / 10.0));
    }
  }
  // As printed: 1/sqrt(4096) + sqrt(4 ln(1e6))/4096, whatever the constants are.
  MirrorStageFacts facts = kStageFacts;
  facts.scale = StageScale::Printed;
  const MirrorStageChoice choice = choose_mirror_stages(facts).value();
  EXPECT_NEAR(choice.stages[0].bound, 1.0 / 64.0 + std::sqrt(4.0 * std::log(1e6)) / 4096.0, 1e-12);
  EXPECT_LT(choice.stages[3].bound, choice.stages[0].bound / 8.0);
  // And of 100 rounds, two of which each phase has, so much more.
  facts.rounds_max = 100;
  EXPECT_NEAR(choose_mirror_stages(facts).value().stages[0].bound, choice.stages[0].bound + 1.0 / std::sqrt(2.0),
              1e-12);
}

TEST(StagedMirrorTheoremTest, KeepsToItsRounds) {
  for (const std::uint64_t most : {46U, 100U, 1000U, 20'000U}) {
    MirrorStageFacts facts = kStageFacts;
    facts.rounds_max = most;
    const MirrorStageChoice choice = choose_mirror_stages(facts).value();
    EXPECT_LE(stage_rounds_of(choice), most);
    EXPECT_GE(stage_rounds_of(choice), most - 46);  // one number for all 46 phases: the next would be too many
    // A step no longer than that of D sqrt(T)/(L m).
    const double first = static_cast<double>(choice.stages[0].phases[0].phase.rounds);
    EXPECT_LE(choice.stages[0].step_size, std::sqrt(first) / 4096.0 * (1.0 + 1e-12));
  }
  MirrorStageFacts few = kStageFacts;
  few.rounds_max = 45;
  const auto refused = choose_mirror_stages(few);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("46 phases of a round at least, in 45 rounds"), std::string::npos);
}

TEST(StagedMirrorTheoremTest, PhasesOfOneRunReadHalvesOfAllRecords) {
  // n = 1000: 500, 250, 125, 62, 31, 15, 7 and 3 records. m = 1000: eta = min{1/sqrt(1000), 1/sqrt(4 ln(1e6)) =
  // 0.1345}; eta_1 500 = 500/16/sqrt(1000) = 0.988212: lambda = 2/that, R = 2 that; T = min{500, 500^2/4}.
  MirrorStageFacts facts = kStageFacts;
  facts.records = 1000;
  const SizedMirrorStage run = choose_mirror_phases(facts).value();
  ASSERT_EQ(run.phases.size(), 8U);
  const std::uint64_t records[] = {500, 250, 125, 62, 31, 15, 7, 3};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(run.phases[i].records, records[i]) << i;
  EXPECT_FALSE(run.cut);
  EXPECT_NEAR(run.step_size, 1.0 / std::sqrt(1000.0), 1e-15);
  EXPECT_NEAR(run.phases[0].phase.relative_convexity, 2.0 / 0.98821177, 1e-7);
  EXPECT_NEAR(run.phases[0].phase.radius, 2.0 * 0.98821177, 1e-7);
  EXPECT_EQ(run.phases[0].phase.rounds, 500U);
  // In 80 rounds: 11 six times, then 7 and 3. A shorter step, and its order in the printed bound.
  facts.rounds_max = 80;
  facts.scale = StageScale::Printed;
  const SizedMirrorStage cut = choose_mirror_phases(facts).value();
  EXPECT_TRUE(cut.cut);
  EXPECT_EQ(cut.phases[0].phase.rounds, 11U);
  EXPECT_EQ(cut.phases[7].phase.rounds, 3U);
  EXPECT_NEAR(cut.step_size, std::sqrt(11.0) / 1000.0, 1e-15);
  const double order = 1.0 / std::sqrt(1000.0) + std::sqrt(4.0 * std::log(1e6)) / 1000.0 + 1.0 / std::sqrt(11.0);
  EXPECT_NEAR(cut.bound, order, 1e-12);
}

TEST(StagedMirrorTheoremTest, TheBoundOfOneRunIsItsFormula) {
  // n = 8, epsilon 100: phases of 4 and 2 records, as many rounds each, m = 8. L D = 100 is no less.
  MirrorStageFacts facts = kStageFacts;
  facts.records = 8;
  facts.lipschitz = 0.01;
  facts.diameter = 1e4;
  facts.epsilon = 100.0;
  const SizedMirrorStage run = choose_mirror_phases(facts).value();
  ASSERT_EQ(run.phases.size(), 2U);
  EXPECT_EQ(run.phases[1].phase.rounds, 2U);
  EXPECT_EQ(run.bound, 100.0);
  // n = 2^20, epsilon 8, L = D = 1: L_p = L of p = 2, and 2 R_j = 4 eta_j mu.
  facts = kStageFacts;
  facts.records = 1 << 20;
  facts.epsilon = 8.0;
  const SizedMirrorStage many = choose_mirror_phases(facts).value();
  const double l1 = std::log(1e6);
  const double root = std::sqrt(l1 + 8.0) - std::sqrt(l1);
  double step = many.step_size;
  double before = 1.0;
  double bound = 0.0;
  for (const SizedMirrorPhase& one : many.phases) {
    step /= 16.0;
    const auto records = static_cast<double>(one.records);
    const auto rounds = static_cast<double>(one.phase.rounds);
    bound += before / (step * records) + step;
    const double longest = 5.0 + std::sqrt(4.0 * 2.0 * rounds / (root * root * records * records));
    before = std::min(std::pow(longest * step * records, 2.0) / (rounds + 1.0), 16.0 * std::pow(step * records, 2.0));
  }
  bound += std::sqrt(before);
  EXPECT_LT(bound, 1.0);
  EXPECT_NEAR(many.bound, bound, 1e-9);
}

TEST(StagedMirrorTheoremTest, OneRunNeedsNoModulusAndFourRecords) {
  MirrorStageFacts facts = kStageFacts;
  facts.strong_convexity = 0.0;
  EXPECT_TRUE(choose_mirror_phases(facts));
  facts.records = 4;
  EXPECT_EQ(choose_mirror_phases(facts).value().phases.size(), 1U);
  facts.records = 3;
  EXPECT_NE(choose_mirror_phases(facts).error().message.find("n/2 of 3 records, at least 2 are needed"),
            std::string::npos);
  facts = kStageFacts;
  facts.rounds_max = 14;
  EXPECT_NE(choose_mirror_phases(facts).error().message.find("15 phases of a round at least, in 14 rounds"),
            std::string::npos);
}

TEST(StagedMirrorTheoremTest, RefusesFactsThatAreNone) {
  const auto refuses = [](auto change) {
    MirrorStageFacts facts = kStageFacts;
    change(facts);
    return !choose_mirror_stages(facts).has_value();
  };
  EXPECT_FALSE(refuses([](MirrorStageFacts&) {}));
  for (const double norm : {0.5, 2.5, std::nan("")})
    EXPECT_TRUE(refuses([=](MirrorStageFacts& facts) { facts.norm = norm; })) << norm;
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(refuses([=](MirrorStageFacts& facts) { facts.diameter = bad; })) << bad;
    EXPECT_TRUE(refuses([=](MirrorStageFacts& facts) { facts.epsilon = bad; })) << bad;
    EXPECT_TRUE(refuses([=](MirrorStageFacts& facts) { facts.delta = bad; })) << bad;
    EXPECT_TRUE(refuses([=](MirrorStageFacts& facts) { facts.lipschitz = bad; })) << bad;
    EXPECT_TRUE(refuses([=](MirrorStageFacts& facts) { facts.strong_convexity = bad; })) << bad;
  }
  EXPECT_TRUE(refuses([](MirrorStageFacts& facts) { facts.dimension = 0; }));
  EXPECT_TRUE(refuses([](MirrorStageFacts& facts) { facts.silos = 0; }));
  EXPECT_TRUE(refuses([](MirrorStageFacts& facts) { facts.rounds_max = 0; }));
  EXPECT_TRUE(refuses([](MirrorStageFacts& facts) { facts.rounds_max = releases::kRoundsMax + 1; }));
  for (const std::uint64_t records : {0U, 1U, 4U, 43U})
    EXPECT_TRUE(refuses([=](MirrorStageFacts& facts) { facts.records = records; })) << records;
  EXPECT_FALSE(refuses([](MirrorStageFacts& facts) { facts.records = 44; }));
}

}  // namespace
}  // namespace undertone::algorithms
