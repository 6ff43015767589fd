#include "shared/planning/secret_parts.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "shared/accounting/random_allocation.hpp"
#include "shared/planning/plan_digest.hpp"
#include "tests/support/rounds_made.hpp"

namespace undertone::planning {
namespace {

using releases::Block;
using releases::Slice;

constexpr double kDelta = 1e-5;

releases::Target approximate_at(double epsilon, double delta = kDelta) {
  return releases::ApproximateDp{releases::Epsilon::create(epsilon).value(), releases::Delta::create(delta).value()};
}
releases::SiloFacts silo_with(std::int64_t records, const releases::Target& target) {
  return {SiloId::create("one").value(), records, 0, true, target};
}
releases::Ask part(Slice::Assignment assignment, std::uint64_t index, std::uint64_t of,
                   Slice::Cut cut = Slice::Cut::Equal) {
  return {releases::GradientMap{},
          {Block::Training, 1.0, Slice{cut, index, of, assignment}},
          releases::L2Bound{releases::ClipNorm::create(1.0).value()},
          4};
}
Schedule one_pass(Slice::Assignment assignment, std::uint64_t parts) {
  Schedule out;
  for (std::uint64_t i = 0; i < parts; ++i) out.push_back({part(assignment, i, parts), 1});
  return out;
}
/// Each pass with bins of its own.
Schedule passes(std::uint64_t epochs, std::uint64_t parts) {
  Schedule out;
  for (std::uint64_t i = 0; i < epochs * parts; ++i) out.push_back({part(Slice::Assignment::Bins, i, parts), 1});
  return out;
}
/// A release of all training records, or of a fresh draw of them.
ScheduledRounds evaluation(std::uint64_t rounds, double fraction = 1.0) {
  return {{releases::GradientMap{},
           {Block::Training, fraction},
           releases::L2Bound{releases::ClipNorm::create(1.0).value()},
           4},
          rounds};
}
double shift_of(const Plan& plan) { return std::sqrt(plan.release({0})->cost_of_draw().gaussian.value_rounded_up()); }

TEST(SecretBinsTest, TakeLessNoiseThanPartsThatAreTold) {
  const releases::SiloFacts facts = silo_with(10'000, approximate_at(1.0));
  const Plan bins = make_plan(one_pass(Slice::Assignment::Bins, 100), facts).value();
  const Plan permutation = make_plan(one_pass(Slice::Assignment::Permutation, 100), facts).value();
  EXPECT_LE(bins.epsilon().value_rounded_up(), 1.0);
  EXPECT_GE(bins.epsilon().value_rounded_up(), 0.98);
  // Random-allocation section 7, epsilon 1, t = 100: a multiplier of 0.4579 for 3.731. A thousandth of delta goes to
  // overflowing bins, and the search is dear by a thousandth or two.
  EXPECT_NEAR(shift_of(bins), 1.0 / 0.4579, 0.02 / 0.4579);
  EXPECT_NEAR(shift_of(permutation), 1.0 / 3.731, 0.01 / 3.731);
  EXPECT_NEAR(*bins.parts_credit()->gain, 8.15, 0.2);
  EXPECT_FALSE(permutation.parts_credit());
  // Told, the bins compose in parallel: each is then as loud as it is.
  EXPECT_GT(bins.epsilon_of_known_draws().value_or(30.0), 8.0);
}

TEST(SecretPermutationTest, TakesLessNoiseThanPartsThatAreTold) {
  const releases::SiloFacts facts = silo_with(10'001, approximate_at(1.0));
  const Plan secret = make_plan(one_pass(Slice::Assignment::SecretPermutation, 100), facts).value();
  EXPECT_LE(secret.epsilon().value_rounded_up(), 1.0);
  EXPECT_GE(secret.epsilon().value_rounded_up(), 0.98);
  // Random-allocation section 7, epsilon 1, t = 100, fixed sizes with an unread slot: 0.8940 for 3.731.
  EXPECT_NEAR(shift_of(secret), 1.0 / 0.8940, 0.01 / 0.8940);
  ASSERT_TRUE(secret.parts_credit());
  EXPECT_EQ(secret.parts_credit()->assignment, Slice::Assignment::SecretPermutation);
  EXPECT_NEAR(*secret.parts_credit()->gain, 4.17, 0.05);
  EXPECT_TRUE(secret.parts_credit()->overflow == releases::DeltaAmount());
  EXPECT_GT(secret.epsilon_of_known_draws().value_or(30.0), 4.0);
}

TEST(SecretPermutationTest, OnePositionAtLeastIsReadByNobody) {
  for (std::int64_t n = 2; n <= 40; ++n) {
    for (std::uint64_t of = 1; of <= 6; ++of) {
      for (const Slice::Cut cut : {Slice::Cut::Equal, Slice::Cut::Halving, Slice::Cut::HalfThenEqual}) {
        if (cut == Slice::Cut::HalfThenEqual && of < 2) continue;
        std::int64_t read = 0;
        for (std::uint64_t i = 0; i < of; ++i) {
          const Slice::Positions part = Slice{cut, i, of, Slice::Assignment::SecretPermutation}.positions(n);
          EXPECT_GE(part.from, read);
          if (part.to > part.from) read = part.to;
        }
        EXPECT_LT(read, n);
      }
    }
  }
  // Where n is no multiple of the parts nothing is given up for it.
  const auto size = [](Slice::Assignment assignment, std::int64_t n) {
    const Slice::Positions part = Slice{Slice::Cut::Equal, 1, 4, assignment}.positions(n);
    return part.to - part.from;
  };
  EXPECT_EQ(size(Slice::Assignment::SecretPermutation, 41), size(Slice::Assignment::Permutation, 41));
  EXPECT_EQ(size(Slice::Assignment::SecretPermutation, 40) + 1, size(Slice::Assignment::Permutation, 40));
  EXPECT_EQ((Slice{Slice::Cut::Equal, 0, 1, Slice::Assignment::SecretPermutation}.positions(0)),
            (Slice::Positions{0, 0}));
}

TEST(SecretPermutationTest, ThePlanSaysWhatNobodyMustKnow) {
  const Plan plan =
      make_plan(one_pass(Slice::Assignment::SecretPermutation, 3), silo_with(99, approximate_at(1.0))).value();
  const Release& second = *plan.release({1});
  EXPECT_EQ(second.positions, (Slice::Positions{32, 64}));
  EXPECT_EQ(second.records_drawn, 32);
  EXPECT_FALSE(second.reads_bins());
  EXPECT_TRUE(second.hides_part());
  const std::string each = second.cost_of_draw().to_string();
  EXPECT_EQ(plan.releases_text(Block::Training),
            each + "*1@32/32=0:32/99," + each + "*1@32/32=32:64/99," + each + "*1@32/32=64:96/99");
  EXPECT_NE(plan.accountant().find("read by nobody"), std::string::npos);
  const Plan told = make_plan(one_pass(Slice::Assignment::Permutation, 3), silo_with(99, approximate_at(1.0))).value();
  EXPECT_NE(plan_digest(plan), plan_digest(told));
}

TEST(SecretPermutationTest, ThePlanTakesParallelCompositionWhereThatIsCheaperAndSaysSo) {
  const releases::SiloFacts facts = silo_with(1'000'001, approximate_at(8.0));
  const Plan secret = make_plan(one_pass(Slice::Assignment::SecretPermutation, 1), facts).value();
  const Plan told = make_plan(one_pass(Slice::Assignment::Permutation, 1), facts).value();
  EXPECT_EQ(*secret.parts_credit()->gain, 1.0);
  EXPECT_EQ(secret.release({0})->cost(), told.release({0})->cost());
  EXPECT_NEAR(secret.epsilon().value_rounded_up(), told.epsilon().value_rounded_up(), 1e-9);
  EXPECT_NE(secret.accountant().find("compose in parallel"), std::string::npos) << secret.accountant();
}

TEST(SecretPermutationTest, IsReadInARowAndBesideNothing) {
  const releases::SiloFacts facts = silo_with(1'000, approximate_at(1.0));
  constexpr auto kSecret = Slice::Assignment::SecretPermutation;
  const auto why = [&](const Schedule& schedule, const releases::SiloFacts& of,
                       const std::optional<Shuffling>& shuffling = std::nullopt) {
    const Result<Plan> plan = make_plan(schedule, of, shuffling);
    return plan ? std::string("planned") : plan.error().message;
  };
  Schedule twice = one_pass(kSecret, 10);
  twice[4].rounds = 3;
  twice.insert(twice.begin() + 5, {part(kSecret, 4, 10), 2});
  EXPECT_EQ(why(twice, facts), "planned");
  // Holdout records are others: what reads them reads no part.
  Schedule evaluated = one_pass(kSecret, 10);
  evaluated.insert(evaluated.begin() + 5, evaluation(1));
  evaluated[5].ask.records.block = Block::Holdout;
  releases::SiloFacts held = facts;
  held.holdout_records = 100;
  held.holdout_public = false;
  EXPECT_EQ(why(evaluated, held), "planned");
  Schedule turns = one_pass(kSecret, 10);
  turns.push_back({part(kSecret, 0, 10), 1});
  EXPECT_NE(why(turns, facts).find("consecutive rounds"), std::string::npos) << why(turns, facts);
  for (const ScheduledRounds& besides :
       {evaluation(1), evaluation(1, 0.5), ScheduledRounds{part(Slice::Assignment::Permutation, 0, 10), 1}}) {
    Schedule schedule = one_pass(kSecret, 10);
    schedule.push_back(besides);
    EXPECT_NE(why(schedule, facts).find("expected no other release"), std::string::npos) << why(schedule, facts);
  }
  Schedule mixed = one_pass(kSecret, 10);
  mixed.back() = {part(Slice::Assignment::Bins, 9, 10), 1};
  EXPECT_NE(why(mixed, facts).find("no other draw of parts"), std::string::npos) << why(mixed, facts);
  Schedule cuts = one_pass(kSecret, 10);
  cuts.back() = {part(kSecret, 8, 9), 1};
  EXPECT_NE(why(cuts, facts).find("one cut"), std::string::npos) << why(cuts, facts);
  Schedule drawn = one_pass(kSecret, 10);
  drawn[3].ask.records.draw_fraction = 0.5;
  EXPECT_NE(why(drawn, facts).find("none to be drawn"), std::string::npos) << why(drawn, facts);
  EXPECT_NE(why(one_pass(kSecret, 10), facts, Shuffling{3, true, 1024}).find("shufflers"), std::string::npos);
  const releases::Target pure = releases::PureDp{releases::Epsilon::create(1.0).value()};
  EXPECT_NE(why(one_pass(kSecret, 10), silo_with(1'000, pure)).find("an epsilon and a delta"), std::string::npos);
  // As many parts as records leave one without any.
  EXPECT_NE(why(one_pass(kSecret, 10), silo_with(10, approximate_at(1.0))).find("leaves none"), std::string::npos);
}

TEST(SecretPermutationTest, AnOdometerKnowsWhichPartWasRead) {
  // Ten rounds of one half, twenty of the next, all of one cost: all rounds of the first cost half of what the second's
  // do, and a record is in one of them.
  Schedule schedule;
  for (std::uint64_t i = 0; i < 2; ++i) {
    schedule.push_back({part(Slice::Assignment::Permutation, i, 2, Slice::Cut::Halving), 10 * (i + 1)});
    schedule.back().ask.shift = releases::GaussianShift::create(0.05).value();
  }
  const Plan halves = make_plan(schedule, silo_with(1'000, approximate_at(2.0))).value();
  const releases::Cost once = halves.release({0})->cost();
  ASSERT_EQ(once, halves.release({10})->cost());
  const double whole = halves.epsilon().value_rounded_up();
  EXPECT_NEAR(halves.epsilon_of(rounds_made(10, 30)), whole, 1e-3 * whole);
  EXPECT_LT(halves.epsilon_of(rounds_made(0, 10)), 0.8 * whole);
  EXPECT_EQ(halves.epsilon_of(rounds_made(0, 20)), halves.epsilon_of(rounds_made(0, 10)));
}

TEST(SecretPermutationTest, HalvesAreChargedAsTheTheoremSays) {
  Schedule schedule;
  for (std::uint64_t i = 0; i < 3; ++i)
    schedule.push_back({part(Slice::Assignment::SecretPermutation, i, 3, Slice::Cut::Halving), std::uint64_t{1} << i});
  const Plan plan = make_plan(schedule, silo_with(8'000, approximate_at(2.0))).value();
  EXPECT_GT(*plan.parts_credit()->gain, 1.1);
  std::vector<accounting::AllocatedParts> parts;
  double unread = 1.0;
  for (const Plan::Segment& segment : plan.segments()) {
    const double square = segment.release.cost_of_draw().gaussian.value_rounded_up();
    const double weight = static_cast<double>(segment.release.records_drawn) / 8000.0;
    parts.push_back({1, weight, std::sqrt(square * static_cast<double>(segment.rounds))});
    unread -= weight;
  }
  EXPECT_EQ(plan.segments()[0].release.records_drawn, 3999);
  const auto allocation =
      accounting::Allocation::create(accounting::PartAssignment::FixedWithUnreadSlot, parts, unread, 1).value();
  const double delta =
      accounting::pass_delta(allocation, plan.epsilon().value_rounded_up(), accounting::AllocationGrid::Charge).value();
  EXPECT_LE(delta, plan.mechanism_delta()->value() * 1.001);
  EXPECT_GT(delta, plan.mechanism_delta()->value() * 0.98);
}

TEST(SecretBinsTest, ThePlanSaysWhatNobodyMustKnow) {
  const Plan plan = make_plan(one_pass(Slice::Assignment::Bins, 3), silo_with(100, approximate_at(1.0))).value();
  // 33 positions each, and one that no bin reads.
  const Release& second = *plan.release({1});
  EXPECT_EQ(second.positions, (Slice::Positions{33, 66}));
  EXPECT_EQ(second.records_drawn, 33);
  EXPECT_TRUE(second.reads_bins());
  EXPECT_FALSE(second.sampled());
  // Of delta 1e-5 a share of 2^-10 over 1 + e is a variation of 2.63e-9, L = ln(3 / 2.63e-9) = 20.86, and
  // 33 + sqrt(2 33 20.86) + 20.86 = 90.96.
  EXPECT_EQ(second.rows, 91);
  const std::string each = second.cost_of_draw().to_string();
  EXPECT_EQ(plan.releases_text(Block::Training),
            each + "*1@33/33~0:33/100:91," + each + "*1@33/33~33:66/100:91," + each + "*1@33/33~66:99/100:91");
  EXPECT_NE(plan.accountant().find("random allocation"), std::string::npos);
}

TEST(SecretBinsTest, RowsAreWhatBernsteinSays) {
  // 2^-20 of delta 2^-10 for L: overflow 2^-20, variation 2^-20 / (1 + e) = 2.565e-7, ln(10 / 2.565e-7) = 17.479.
  const BinPadding padding = BinPadding::create(releases::DeltaAmount::from_units(releases::UInt128{1} << 70U),
                                                releases::Epsilon::create(1.0).value(), 10)
                                 .value();
  EXPECT_NEAR(padding.overflow.value_rounded_up(), 0x1p-20, 1e-18);
  EXPECT_NEAR(padding.log_share, 17.479, 0.001);
  // 1000 + sqrt(2 1000 17.479) + 17.479 = 1000 + 186.97 + 17.48 = 1204.45
  EXPECT_EQ(padding.rows(1000, 10'000), 1205);
  EXPECT_EQ(padding.rows(1000, 1100), 1100);
  EXPECT_FALSE(BinPadding::create(releases::DeltaAmount::from_units(1023), releases::Epsilon::create(1.0).value(), 10));
}

TEST(SecretBinsTest, DeltaPaysForWhatOverflows) {
  const releases::SiloFacts facts = silo_with(10'000, approximate_at(1.0));
  const Plan bins = make_plan(one_pass(Slice::Assignment::Bins, 20), facts).value();
  const Plan permutation = make_plan(one_pass(Slice::Assignment::Permutation, 20), facts).value();
  EXPECT_EQ(bins.mechanism_delta_amount().units() + bins.parts_credit()->overflow.units(),
            permutation.mechanism_delta_amount().units());
  EXPECT_GT(bins.parts_credit()->overflow.units(), releases::UInt128{0});
  EXPECT_EQ(bins.delta(), permutation.delta());
}

TEST(SecretBinsTest, HalvesAndReadsComposeAsOneAllocation) {
  // Three phases of a half, a quarter and an eighth, read 1, 2 and 4 times.
  Schedule schedule;
  for (std::uint64_t i = 0; i < 3; ++i)
    schedule.push_back({part(Slice::Assignment::Bins, i, 3, Slice::Cut::Halving), std::uint64_t{1} << i});
  const Plan plan = make_plan(schedule, silo_with(8'000, approximate_at(2.0))).value();
  EXPECT_LE(plan.epsilon().value_rounded_up(), 2.0);
  EXPECT_GT(*plan.parts_credit()->gain, 1.5);
  std::vector<accounting::AllocatedParts> parts;
  for (const Plan::Segment& segment : plan.segments()) {
    const double square = segment.release.cost_of_draw().gaussian.value_rounded_up();
    parts.push_back({1, static_cast<double>(segment.release.records_drawn) / 8000.0,
                     std::sqrt(square * static_cast<double>(segment.rounds))});
  }
  // Each phase alone would have had the same whole shift; so it has now, but for the lattice.
  EXPECT_NEAR(parts[0].shift, parts[2].shift, 1e-3 * parts[0].shift);
  const auto allocation =
      accounting::Allocation::create(accounting::PartAssignment::IndependentBins, parts, 0.125, 1).value();
  const double delta =
      accounting::pass_delta(allocation, plan.epsilon().value_rounded_up(), accounting::AllocationGrid::Charge).value();
  EXPECT_LE(delta, plan.mechanism_delta()->value() * 1.001);
}

TEST(SecretBinsTest, WhatElseReadsTheRecordsIsComposedWithThem) {
  const releases::SiloFacts facts = silo_with(10'000, approximate_at(1.0));
  Schedule schedule = one_pass(Slice::Assignment::Bins, 100);
  schedule.push_back(evaluation(1));
  Schedule told = one_pass(Slice::Assignment::Permutation, 100);
  told.push_back(evaluation(1));
  const Plan bins = make_plan(schedule, facts).value();
  const Plan permutation = make_plan(told, facts).value();
  EXPECT_LE(bins.epsilon().value_rounded_up(), 1.0);
  EXPECT_GE(bins.epsilon().value_rounded_up(), 0.97);
  // The evaluation has what it has beside parts that are told; the bins have all that is saved.
  EXPECT_EQ(bins.release({100})->cost_of_draw(), permutation.release({100})->cost_of_draw());
  EXPECT_GT(shift_of(bins), 4.0 * shift_of(permutation));
  EXPECT_NEAR(*bins.parts_credit()->gain, shift_of(bins) / shift_of(permutation), 0.01 * *bins.parts_credit()->gain);
  EXPECT_NE(bins.accountant().find("what else reads the records"), std::string::npos);
  // The event, put together here: 100 bins beside one Gaussian.
  const auto allocation =
      accounting::Allocation::create(accounting::PartAssignment::IndependentBins, {{100, 0.01, shift_of(bins)}}, 0.0, 1)
          .value();
  const double beside = std::sqrt(bins.release({100})->cost_of_draw().gaussian.value_rounded_up());
  const double delta = accounting::allocation_delta(allocation, {beside}, releases::Epsilon::create(1.0).value(),
                                                    *bins.mechanism_delta(), accounting::AllocationGrid::Charge)
                           .value();
  EXPECT_LE(delta, bins.mechanism_delta()->value() * (1.0 + 1e-6));
  EXPECT_GE(delta, bins.mechanism_delta()->value() * 0.9);
  // The bins alone would take less of epsilon: nothing is counted as free.
  EXPECT_LT(accounting::allocation_epsilon(allocation, {}, *bins.mechanism_delta()).value(), 0.99);
}

TEST(SecretBinsTest, FreshSubsetsBesidesAreComposedToo) {
  const releases::SiloFacts facts = silo_with(1'000, approximate_at(2.0));
  Schedule schedule = one_pass(Slice::Assignment::Bins, 10);
  const Plan alone = make_plan(schedule, facts).value();
  schedule.push_back(evaluation(3, 0.1));
  const Plan plan = make_plan(schedule, facts).value();
  EXPECT_LE(plan.epsilon().value_rounded_up(), 2.0);
  EXPECT_GE(plan.epsilon().value_rounded_up(), 1.9);
  EXPECT_LT(shift_of(plan), shift_of(alone));
}

TEST(SecretBinsTest, PassesWithBinsOfTheirOwnAreEpochs) {
  const releases::SiloFacts facts = silo_with(1'000, approximate_at(2.0));
  const Plan one = make_plan(passes(1, 20), facts).value();
  const Plan three = make_plan(passes(3, 20), facts).value();
  EXPECT_LE(three.epsilon().value_rounded_up(), 2.0);
  EXPECT_GE(three.epsilon().value_rounded_up(), 1.95);
  EXPECT_LT(shift_of(three), shift_of(one));
  EXPECT_GT(shift_of(three), 0.45 * shift_of(one));
  EXPECT_GT(*three.parts_credit()->gain, 3.0);
  const std::string text = three.releases_text(Block::Training);
  EXPECT_EQ(text.find('#'), text.find("#1"));  // the first pass is written as the only one is
  EXPECT_NE(text.find("~950:1000/1000:"), std::string::npos);
  EXPECT_NE(text.find("#2"), std::string::npos);
  EXPECT_EQ(three.release({20})->positions, (Slice::Positions{0, 50}));
  EXPECT_EQ(three.release({20})->ask.records.slice->pass(), 1U);
  EXPECT_NE(plan_digest(three), plan_digest(one));
  // More chances to overflow: the rows of a bin grow with the passes.
  EXPECT_GT(three.release({0})->rows, one.release({0})->rows);
}

TEST(SecretBinsTest, AnotherDeltaPaysForOverflowToo) {
  const Plan plan = make_plan(one_pass(Slice::Assignment::Bins, 20), silo_with(10'000, approximate_at(1.0))).value();
  const double whole = plan.epsilon_at(Block::Training, releases::Delta::create(kDelta).value()).value();
  EXPECT_NEAR(whole, 1.0, 0.01);
  // A delta that the overflow alone takes leaves nothing to evaluate at.
  EXPECT_FALSE(plan.epsilon_at(
      Block::Training, releases::Delta::create(0.5 * plan.parts_credit()->overflow.value_rounded_up()).value()));
  EXPECT_GT(plan.epsilon_at(Block::Training,
                            releases::Delta::create(6.0 * plan.parts_credit()->overflow.value_rounded_up()).value())
                .value(),
            whole);
}

TEST(SecretBinsTest, SharesThatChoseTheNoiseHaveNoGain) {
  Schedule schedule = one_pass(Slice::Assignment::Bins, 10);
  for (ScheduledRounds& rounds : schedule) rounds.ask.share = 1.0;
  const Plan plan = make_plan(schedule, silo_with(1'000, approximate_at(1.0))).value();
  EXPECT_FALSE(plan.parts_credit()->gain);
  EXPECT_LT(plan.epsilon().value_rounded_up(), 0.6);
}

TEST(SecretBinsTest, ChosenNoiseIsChargedTogetherToo) {
  Schedule schedule = one_pass(Slice::Assignment::Bins, 50);
  Schedule told = one_pass(Slice::Assignment::Permutation, 50);
  for (Schedule* one : {&schedule, &told})
    for (ScheduledRounds& rounds : *one) rounds.ask.shift = releases::GaussianShift::create(0.25).value();
  const releases::SiloFacts facts = silo_with(5'000, approximate_at(2.0));
  const Plan bins = make_plan(schedule, facts).value();
  const Plan permutation = make_plan(told, facts).value();
  EXPECT_LT(bins.epsilon().value_rounded_up(), 0.5 * permutation.epsilon().value_rounded_up());
  EXPECT_EQ(bins.release({0})->cost(), permutation.release({0})->cost());
  EXPECT_FALSE(bins.parts_credit()->gain);
}

TEST(SecretBinsTest, APartialPassIsAnOdometerOfWhatWasToldOrThePlans) {
  const Plan plan = make_plan(one_pass(Slice::Assignment::Bins, 10), silo_with(1'000, approximate_at(1.0))).value();
  // No odometer takes the credit: one bin that is told costs more than the whole plan, which is what stands.
  EXPECT_EQ(plan.epsilon_of(rounds_made(0, 1)), plan.epsilon().value_rounded_up());
}

TEST(SecretBinsTest, BinsAreAnotherPlanThanAPermutation) {
  const releases::SiloFacts facts = silo_with(1'000, approximate_at(1.0));
  const Plan permutation = make_plan(one_pass(Slice::Assignment::Permutation, 10), facts).value();
  EXPECT_NE(plan_digest(permutation), plan_digest(make_plan(one_pass(Slice::Assignment::Bins, 10), facts).value()));
}

TEST(SecretBinsTest, WhatIsNotKnownToBeHiddenHasNoPlan) {
  const releases::SiloFacts facts = silo_with(1'000, approximate_at(1.0));
  const auto why = [](const Schedule& schedule, const releases::SiloFacts& silo,
                      std::optional<Shuffling> shuffling = {}) {
    const Result<Plan> plan = make_plan(schedule, silo, shuffling);
    return plan ? std::string() : plan.error().message;
  };
  Schedule besides = one_pass(Slice::Assignment::Bins, 10);
  besides.push_back({part(Slice::Assignment::Permutation, 0, 1), 1});
  EXPECT_NE(why(besides, facts).find("no other release"), std::string::npos);
  besides.back().ask.records.slice.reset();
  EXPECT_EQ(why(besides, facts), "");
  besides.back().ask.records.with_replacement = true;
  EXPECT_NE(why(besides, facts).find("no draws with replacement"), std::string::npos);
  besides.back() = {part(Slice::Assignment::Bins, 10, 10), 1};  // one part of a second pass
  EXPECT_NE(why(besides, facts).find("all passes to read their bins alike"), std::string::npos);
  besides.back() = {part(Slice::Assignment::Bins, 20, 10), 1};  // of a third
  EXPECT_NE(why(besides, facts).find("one after the other"), std::string::npos);
  Schedule louder = passes(2, 10);
  louder[13].ask.shift = releases::GaussianShift::create(0.1).value();
  EXPECT_NE(why(louder, facts).find("each of them alike"), std::string::npos);
  Schedule halves;
  for (std::uint64_t i = 0; i < 6; ++i) halves.push_back({part(Slice::Assignment::Bins, i, 3, Slice::Cut::Halving), 1});
  EXPECT_NE(why(halves, facts).find("equal bins"), std::string::npos);
  Schedule drawn = one_pass(Slice::Assignment::Bins, 10);
  drawn[3].ask.records.draw_fraction = 0.5;
  EXPECT_NE(why(drawn, facts).find("none to be drawn"), std::string::npos);
  Schedule twice = one_pass(Slice::Assignment::Bins, 10);
  twice[3].ask.records.with_replacement = true;
  EXPECT_NE(why(twice, facts).find("none to be drawn"), std::string::npos);
  Schedule cuts = one_pass(Slice::Assignment::Bins, 10);
  cuts.push_back({part(Slice::Assignment::Bins, 0, 9), 1});
  EXPECT_NE(why(cuts, facts).find("one cut"), std::string::npos);
  EXPECT_NE(why(one_pass(Slice::Assignment::Bins, 10), facts, Shuffling{3, true, 1024}).find("shufflers"),
            std::string::npos);
  const auto pure = releases::PureDp{releases::Epsilon::create(1.0).value()};
  EXPECT_NE(why(one_pass(Slice::Assignment::Bins, 10), silo_with(1'000, pure)).find("an epsilon and a delta"),
            std::string::npos);
}

}  // namespace
}  // namespace undertone::planning
