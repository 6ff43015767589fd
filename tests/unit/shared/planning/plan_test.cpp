#include "shared/planning/plan.hpp"

#include <cmath>
#include <ctime>
#include <gtest/gtest.h>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/planning/plan_digest.hpp"
#include "tests/support/rounds_made.hpp"

namespace undertone::planning {
namespace {

releases::SiloFacts facts(double epsilon, double delta, bool holdout_public = false) {
  return {SiloId::create("one").value(), 100, 20, holdout_public,
          releases::ApproximateDp{releases::Epsilon::create(epsilon).value(), releases::Delta::create(delta).value()}};
}

releases::Ask gradient(double fraction = 1.0) {
  return {releases::GradientMap{},
          {releases::Block::Training, fraction},
          releases::L2Bound{releases::ClipNorm::create(2.0).value()},
          5};
}
releases::Ask metrics() {
  return {releases::MetricsMap{},
          {releases::Block::Holdout, 1.0},
          releases::L2Bound{releases::ClipNorm::create(0.8).value()},
          3};
}

TEST(PlanTest, TheRoundsOfABlockTogetherCostTheTarget) {
  const Plan plan = make_plan({{gradient(), 25}}, facts(1.0, 1e-5)).value();
  // 25 releases whose shifts add up, in squares, to the one that (1, 1e-5) allows: sigma/Delta = 3.73063163482 (table).
  const double total = std::sqrt(plan.cost(releases::Block::Training).gaussian.value_rounded_up());
  EXPECT_LE(total, 1.0 / 3.73063163482);
  EXPECT_GE(total, 0.999 / 3.73063163482);
  EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
  EXPECT_GE(plan.epsilon().value_rounded_up(), 0.998);
}

TEST(PlanTest, TheNoiseIsWhatTheAccountantWasTold) {
  const Plan plan = make_plan({{gradient(), 25}}, facts(1.0, 1e-5)).value();
  const auto& lattice = std::get<mechanisms::GaussianLattice>(plan.release({3})->mechanism);
  // mu of one release from real units: replace-one sensitivity 2 * clip over the noise's standard deviation.
  const double mu = 2.0 * 2.0 / lattice.noise_stddev();
  EXPECT_NEAR(mu * mu, lattice.shift_squared().value_rounded_up(), 2e-12);
  EXPECT_GE(lattice.lattice.clip, 1024 * std::sqrt(5.0));
}

TEST(PlanTest, DisjointBlocksAreChargedOnceNotTwice) {
  const Plan apart = make_plan({{gradient(), 10}, {metrics(), 4}}, facts(1.0, 1e-5)).value();
  EXPECT_LE(apart.epsilon().value_rounded_up(), 1.0);
  EXPECT_TRUE(apart.cost(releases::Block::Holdout).gaussian.units() > 0);
  EXPECT_TRUE(apart.cost(releases::Block::Training).gaussian.units() > 0);
}

TEST(PlanTest, EveryNumberOfItIsInItsDigest) {
  const Schedule schedule{{gradient(), 10}, {metrics(), 4}};
  std::vector<Digest> digests = {plan_digest(make_plan(schedule, facts(1.0, 1e-5)).value()),
                                 plan_digest(make_plan(schedule, facts(1.0, 1e-5, true)).value()),
                                 plan_digest(make_plan(schedule, facts(1.0, 2e-5)).value()),
                                 plan_digest(make_plan(schedule, facts(1.001, 1e-5)).value()),
                                 plan_digest(make_plan({{metrics(), 4}, {gradient(), 10}}, facts(1.0, 1e-5)).value()),
                                 plan_digest(make_plan({{gradient(), 11}, {metrics(), 4}}, facts(1.0, 1e-5)).value())};
  const auto with = [&](auto&& change) {
    Schedule changed = schedule;
    change(changed.front().ask);
    const auto plan = make_plan(changed, facts(1.0, 1e-5));
    ASSERT_TRUE(plan) << plan.error().message;
    digests.push_back(plan_digest(*plan));
  };
  with([](releases::Ask& shape) { shape.dimension = 6; });
  with([](releases::Ask& shape) { shape.records.draw_fraction = 0.5; });
  with([](releases::Ask& shape) {
    shape.bound = releases::L2Bound{releases::ClipNorm::create(std::nextafter(2.0, 3.0)).value()};
  });
  with([](releases::Ask& shape) {
    shape.records.draw_fraction = 0.5;
    shape.records.with_replacement = true;
  });
  with([](releases::Ask& shape) { shape.records.slice = releases::Slice{releases::Slice::Cut::Equal, 0, 2}; });
  with([](releases::Ask& shape) { shape.records.slice = releases::Slice{releases::Slice::Cut::Equal, 1, 2}; });
  with([](releases::Ask& shape) {
    shape.map = releases::GradientDifferenceMap{};
    shape.bound = releases::L2Bound{shape.clip(), 0.5};
  });
  with([](releases::Ask& shape) {
    shape.map = releases::GradientDifferenceMap{};
    shape.bound = releases::L2Bound{shape.clip(), std::nextafter(0.5, 1.0)};
  });
  with([](releases::Ask& shape) { shape.shift = releases::GaussianShift::create(0.01).value(); });  // and so the noise
  with([](releases::Ask& shape) { shape.records.block = releases::Block::Holdout; });
  with([](releases::Ask& shape) { shape.records.slice = releases::Slice{releases::Slice::Cut::Halving, 0, 2}; });
  with([](releases::Ask& shape) {
    shape.records.slice = releases::Slice{releases::Slice::Cut::Equal, 0, 2};
    shape.records.slice->span = 2;
  });
  for (const releases::LocalSteps& steps :
       {releases::LocalSteps{3, 0.1}, releases::LocalSteps{4, 0.1}, releases::LocalSteps{3, 0.2}}) {
    with([&steps](releases::Ask& shape) {
      shape.records.draw_fraction = 0.01;
      shape.map = releases::LocalRunMap{steps};
    });
  }
  releases::SiloFacts larger = facts(1.0, 1e-5);
  larger.records = 101;
  digests.push_back(plan_digest(make_plan(schedule, larger).value()));
  larger = facts(1.0, 1e-5);
  larger.holdout_records = 21;
  digests.push_back(plan_digest(make_plan(schedule, larger).value()));
  for (const Shuffling& shuffling : {Shuffling{3, true, 1 << 20}, Shuffling{4, true, 1 << 20},
                                     Shuffling{3, true, 1 << 19}, Shuffling{3, false, 1}}) {
    const auto plan = make_plan({{gradient(), 10}}, facts(1.0, 1e-5), shuffling);
    ASSERT_TRUE(plan) << plan.error().message;
    digests.push_back(plan_digest(*plan));
  }
  for (std::size_t i = 0; i < digests.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(digests[i], digests[j]) << i << " and " << j;
  }
  EXPECT_EQ(digests.front(), plan_digest(make_plan(schedule, facts(1.0, 1e-5)).value()));
}

TEST(PlanTest, PublicRecordsCostNothingAndGetNoNoise) {
  const Plan plan = make_plan({{gradient(), 10}, {metrics(), 4}}, facts(1.0, 1e-5, true)).value();
  EXPECT_TRUE(plan.cost(releases::Block::Holdout).gaussian.units() == 0);
  EXPECT_TRUE(std::holds_alternative<mechanisms::ExactPublicSum>(plan.release({12})->mechanism));
  EXPECT_TRUE(std::holds_alternative<mechanisms::GaussianLattice>(plan.release({2})->mechanism));
}

TEST(PlanTest, TrainingRecordsAreNeverPublic) {
  const Plan plan = make_plan({{gradient(), 1}}, facts(1.0, 1e-5, true)).value();
  EXPECT_TRUE(std::holds_alternative<mechanisms::GaussianLattice>(plan.release({0})->mechanism));
}

TEST(PlanTest, RoundRAsksForReleaseR) {
  const Plan plan = make_plan({{gradient(), 2}, {metrics(), 1}, {gradient(), 1}}, facts(1.0, 1e-5)).value();
  EXPECT_EQ(plan.release({1})->ask.kind(), releases::QuestionKind::Gradient);
  EXPECT_EQ(plan.release({2})->ask.kind(), releases::QuestionKind::Metrics);
  EXPECT_EQ(plan.release({3})->ask.kind(), releases::QuestionKind::Gradient);
  EXPECT_EQ(plan.release({4}), nullptr);
  EXPECT_EQ(plan.rounds(), 4U);
}

TEST(PlanTest, ADrawIsAFixedNumberOfRecordsAndPaysLess) {
  const Plan tenth = make_plan({{gradient(0.1), 100}}, facts(1.0, 1e-5)).value();
  const Plan whole = make_plan({{gradient(), 100}}, facts(1.0, 1e-5)).value();
  EXPECT_EQ(tenth.release({0})->records_drawn, 10);
  EXPECT_EQ(tenth.release({0})->population, 100);
  // For the same epsilon a release of a tenth may have a much larger shift; never ten times it.
  const double gain = std::sqrt(tenth.cost(releases::Block::Training).gaussian.value_rounded_up() /
                                whole.cost(releases::Block::Training).gaussian.value_rounded_up());
  EXPECT_GT(gain, 4.0);
  EXPECT_LT(gain, 10.0);
}

TEST(PlanTest, ASampledPlanIsChargedByItsDominatingProfile) {
  for (const double epsilon : {0.3, 1.0, 6.0}) {
    SCOPED_TRACE(epsilon);
    const Plan plan = make_plan({{gradient(0.05), 200}, {metrics(), 2}}, facts(epsilon, 1e-5)).value();
    EXPECT_TRUE(plan.reads_parts(releases::Block::Training));
    EXPECT_FALSE(plan.reads_parts(releases::Block::Holdout));
    const double promised = plan.epsilon().value_rounded_up();
    EXPECT_LE(promised, epsilon);
    EXPECT_GE(promised, 0.995 * epsilon);
    const accounting::Bracket numeric =
        accounting::composed_epsilon(
            {{accounting::subset_gaussian_law(0.05, accounting::total_shift(plan.release({0})->cost().gaussian))
                  .value(),
              200}},
            *plan.mechanism_delta(), {1e-4, accounting::CompositionLimits{}.points_max})
            .value();
    EXPECT_GE(promised, numeric.lower);
    EXPECT_LE(numeric.upper, epsilon * (1.0 + 1e-3));
  }
}

releases::Ask multiset(double fraction) {
  releases::Ask shape = gradient(fraction);
  shape.records.with_replacement = true;
  return shape;
}

TEST(PlanTest, DrawsWithReplacementAreChargedForEveryTimeThatARecordMayBeIn) {
  for (const double fraction : {0.05, 1.0}) {
    SCOPED_TRACE(fraction);
    const Plan plan = make_plan({{multiset(fraction), 30}}, facts(1.0, 1e-5)).value();
    const auto drawn = static_cast<std::int64_t>(100.0 * fraction);
    EXPECT_EQ(plan.release({0})->records_drawn, drawn);
    EXPECT_TRUE(plan.release({0})->sampled());
    EXPECT_TRUE(plan.reads_parts(releases::Block::Training));  // even as many draws as records leave some out
    EXPECT_NE(plan.releases_text(releases::Block::Training).find(fmt::format("*30@{}/100r", drawn)), std::string::npos);
    const double promised = plan.epsilon().value_rounded_up();
    EXPECT_LE(promised, 1.0);
    EXPECT_GE(promised, 0.99);
    const releases::GaussianShift shift = accounting::total_shift(plan.release({0})->cost().gaussian);
    const accounting::Bracket numeric =
        accounting::composed_epsilon({{accounting::multiset_gaussian_law(100, drawn, shift).value(), 30}},
                                     *plan.mechanism_delta(), {1e-4, accounting::CompositionLimits{}.points_max})
            .value();
    EXPECT_LE(numeric.upper, 1.0 + 1e-3);
    // A subset of as many, or all records once, may have less noise.
    const Plan subset = make_plan({{gradient(fraction), 30}}, facts(1.0, 1e-5)).value();
    EXPECT_GT(subset.cost(releases::Block::Training).gaussian.units(),
              plan.cost(releases::Block::Training).gaussian.units());
  }
  EXPECT_NE(make_plan({{multiset(0.05), 3}}, facts(1.0, 1e-5))->accountant().find("with replacement"),
            std::string::npos);
}

TEST(PlanTest, TheOdometerOfDrawsWithReplacementRisesToItsEpsilon) {
  const Plan plan = make_plan({{multiset(0.1), 20}}, facts(1.0, 1e-5)).value();
  const double half = plan.epsilon_of(rounds_made(0, 10));
  EXPECT_GT(half, 0.5);
  EXPECT_LT(half, 0.9);
  EXPECT_NEAR(plan.epsilon_of(rounds_made(0, 20)), plan.epsilon().value_rounded_up(), 2e-3);
}

TEST(PlanTest, NoShufflerHidesDrawsWithReplacement) {
  for (const bool binomial : {false, true})
    EXPECT_FALSE(make_plan({{multiset(0.1), 3}}, facts(1.0, 1e-4), Shuffling{20, binomial, 1 << 20}));
}

TEST(PlanTest, TheOdometerOfSkippedRoundsIsThatOfTheRoundsThatWereMade) {
  // As variance reduction asks: all records, then nine times a tenth of them. Whoever answers the full rounds alone has
  // spent what five Gaussian releases of all records cost, whatever the plan lists before them.
  Schedule schedule;
  for (int epoch = 0; epoch < 5; ++epoch) {
    schedule.push_back({gradient(1.0), 1});
    schedule.push_back({gradient(0.1), 9});
  }
  const Plan plan = make_plan(schedule, facts(3.0, 1e-5)).value();
  RoundSet full;
  RoundSet drawn;
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
    full.append(RoundIndex{10 * epoch});
    drawn.append(RoundIndex{10 * epoch + 5});
  }
  const double shift_squared = 5.0 * plan.release({0})->cost().gaussian.value_rounded_up();
  const double of_full = accounting::epsilon_of_gaussian(
      releases::GaussianShift::create(std::sqrt(shift_squared)).value(), *plan.mechanism_delta());
  EXPECT_NEAR(plan.epsilon_of(full), of_full, 2e-3);
  EXPECT_GE(plan.epsilon_of(full), of_full * (1.0 - 1e-9));
  EXPECT_LT(plan.epsilon_of(drawn), 0.8 * of_full);
  EXPECT_NEAR(plan.epsilon_of(rounds_made(0, 50)), plan.epsilon().value_rounded_up(), 2e-3);
}

TEST(PlanTest, TheOdometerOfASampledPlanRisesToItsEpsilon) {
  const Plan plan = make_plan({{gradient(0.1), 50}}, facts(1.0, 1e-5)).value();
  double before = 0.0;
  for (const std::uint64_t made : {1U, 10U, 50U}) {
    const double now = plan.epsilon_of(rounds_made(0, made));
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_NEAR(before, plan.epsilon().value_rounded_up(), 2e-3);
}

TEST(PlanTest, APrivateReleaseIsNeverFree) {
  // A target so small that rounding leaves (0, delta)-DP: delta is spent all the same, in full.
  for (const double fraction : {1.0, 0.1}) {
    for (const auto& [epsilon, delta] : {std::pair(1e-8, 1e-5), std::pair(1e-8, 1e-2), std::pair(1e-6, 1e-2)}) {
      SCOPED_TRACE(fmt::format("draw {} epsilon {} delta {}", fraction, epsilon, delta));
      const Result<Plan> plan = make_plan({{gradient(fraction), 3}}, facts(epsilon, delta));
      if (!plan) continue;  // refused is as good
      EXPECT_NE(plan->cost(releases::Block::Training).to_string(), "0");
      EXPECT_EQ(plan->delta().to_string(), releases::DeltaAmount::rounded_down(delta)->to_string());
      EXPECT_LE(plan->mechanism_delta_amount().to_string(), plan->delta().to_string());
    }
  }
  // A delta that covers the chance of being drawn would buy releases without noise.
  EXPECT_FALSE(make_plan({{gradient(0.1), 3}}, facts(1e-3, 0.3)));
}

TEST(PlanTest, RefusesWhatCannotBeAnswered) {
  EXPECT_FALSE(make_plan({{gradient(0.001), 1}}, facts(1.0, 1e-5)));       // a draw of nobody
  EXPECT_FALSE(make_plan({{gradient(), 2'000'000}}, facts(1.0, 1e-5)));    // beyond the limit of rounds
  EXPECT_FALSE(make_plan({{gradient(), 1}}, facts(1.0, 1e-30)));           // delta below the implementation's own
  EXPECT_FALSE(make_plan({{gradient(), 1}}, facts(31.0, 1e-5)));           // an epsilon that promises nothing
  EXPECT_FALSE(make_plan({{gradient(), 1'000'000}}, facts(1e-6, 1e-12)));  // finer than any lattice
}

TEST(PlanTest, NeverPromisesLessThanItSpends) {
  for (const double epsilon : {0.05, 0.5, 1.0, 4.0, 12.0}) {
    for (const double delta : {1e-9, 1e-5, 1e-2}) {
      for (const std::uint64_t rounds : {1U, 7U, 1000U}) {
        SCOPED_TRACE(fmt::format("epsilon {} delta {} rounds {}", epsilon, delta, rounds));
        const Plan plan = make_plan({{gradient(), rounds}}, facts(epsilon, delta)).value();
        const releases::GaussianShift mu = accounting::total_shift(plan.cost(releases::Block::Training).gaussian);
        EXPECT_LE(accounting::log_delta_of_gaussian(plan.epsilon().value_rounded_up(), mu),
                  std::log(plan.mechanism_delta()->value()));
        EXPECT_LE(plan.epsilon().value_rounded_up(), epsilon);
        EXPECT_LT(plan.mechanism_delta()->value(), plan.delta().value_rounded_up() * (1.0 + 1e-15));
      }
    }
  }
}

releases::Ask sliced(std::uint64_t index, std::uint64_t of, releases::Slice::Cut cut = releases::Slice::Cut::Equal) {
  releases::Ask shape = gradient();
  shape.records.slice = releases::Slice{cut, index, of};
  return shape;
}

TEST(SliceTest, PartsAreDisjointAndAsLongAsTheySay) {
  for (const std::int64_t records : {0, 1, 7, 100, 1023}) {
    std::int64_t end = 0;
    for (std::uint64_t i = 0; i < 7; ++i) {
      const auto part = releases::Slice{releases::Slice::Cut::Equal, i, 7}.positions(records);
      EXPECT_EQ(part.from, end);
      EXPECT_EQ(part.to - part.from, records / 7);
      end = part.to;
    }
    EXPECT_LE(end, records);
    end = 0;
    for (std::uint64_t i = 0; i < 70; ++i) {
      const auto part = releases::Slice{releases::Slice::Cut::Halving, i, 70}.positions(records);
      EXPECT_EQ(part.from, end);
      EXPECT_EQ(part.to - part.from, i < 62 ? records >> (i + 1) : 0);
      end = part.to;
    }
    EXPECT_LE(end, records);
    end = 0;
    for (std::uint64_t i = 0; i < 5; ++i) {
      const auto part = releases::Slice{releases::Slice::Cut::HalfThenEqual, i, 5}.positions(records);
      EXPECT_EQ(part.from, end);
      EXPECT_EQ(part.to - part.from, i == 0 ? records / 2 : (records - records / 2) / 4);
      end = part.to;
    }
    EXPECT_LE(end, records);
    end = 0;
    for (const std::uint64_t span : {4U, 1U, 2U}) {
      releases::Slice slice{releases::Slice::Cut::Equal, span == 4 ? 0U : span == 1 ? 4U : 5U, 7};
      slice.span = span;
      const auto part = slice.positions(records);
      EXPECT_EQ(part.from, end);
      EXPECT_EQ(part.to - part.from, static_cast<std::int64_t>(span) * (records / 7));
      end = part.to;
    }
    EXPECT_LE(end, records);
  }
}

TEST(PlanTest, DisjointSlicesCostOneRelease) {
  Schedule schedule;
  for (std::uint64_t i = 0; i < 10; ++i) schedule.push_back({sliced(i, 10), 1});
  const Plan plan = make_plan(schedule, facts(1.0, 1e-5)).value();
  const Plan single = make_plan({{gradient(), 1}}, facts(1.0, 1e-5)).value();
  EXPECT_EQ(plan.release({3})->records_drawn, 10);
  EXPECT_EQ(plan.release({3})->positions, (releases::Slice::Positions{30, 40}));
  // Each has the shift that a single release of everything would have, and together they cost no more.
  EXPECT_NEAR(plan.release({3})->cost().gaussian.value_rounded_up(),
              single.release({0})->cost().gaussian.value_rounded_up(),
              1e-4 * single.release({0})->cost().gaussian.value_rounded_up());
  EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
  EXPECT_GE(plan.epsilon().value_rounded_up(), 0.998);
  EXPECT_TRUE(plan.reads_parts(releases::Block::Training));
  EXPECT_NE(plan.releases_text(releases::Block::Training).find("@10/10+30:40"), std::string::npos);
}

TEST(PlanTest, PhasesOfTheirOwnRecordsAreCalibratedEachForTheTarget) {
  const auto phase = [](std::uint64_t i) { return sliced(i, 3, releases::Slice::Cut::Halving); };
  const Plan plan = make_plan({{phase(0), 4}, {phase(1), 16}, {phase(2), 1}}, facts(1.0, 1e-5)).value();
  const double whole = 1.0 / 3.73063163482;  // the shift of (1, 1e-5)
  for (const auto& [round, rounds] : {std::pair(0, 4.0), std::pair(4, 16.0), std::pair(20, 1.0)}) {
    const double shift_squared = plan.release({static_cast<std::uint64_t>(round)})->cost().gaussian.value_rounded_up();
    EXPECT_NEAR(std::sqrt(shift_squared * rounds), whole, 1e-3 * whole);
  }
  EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
}

// Thesis, Algorithm 15: in round r of d a silo randomises its record if that is e_r, and else says 0. Together the
// rounds are as private as one of them, since a record speaks once. Nobody but the silo can know that, so a plan does
// not: d rounds over the same records are charged d times, and only parts that no record chooses are charged once.
TEST(PlanTest, WhoSpeaksInOneRoundAloneIsChargedForEveryRound) {
  constexpr std::uint64_t kRounds = 8;
  releases::SiloFacts pure = facts(2.0, 1e-5);
  pure.target = releases::PureDp{releases::Epsilon::create(2.0).value()};
  releases::Ask ask = gradient();
  ask.form = releases::SumForm{{}, releases::ReportsForm{releases::Randomiser::Direction}};
  const auto of_one = [](const Plan& plan) {
    return plan.segments().front().release.cost_of_draw().pure.value_rounded_up();
  };
  const Plan together = make_plan({{ask, kRounds}}, pure).value();
  EXPECT_LE(of_one(together), 2.0 / kRounds);
  EXPECT_GT(kRounds * of_one(together), 1.99);
  Schedule parts;
  for (std::uint64_t part = 0; part < kRounds; ++part) {
    parts.push_back({ask, 1});
    parts.back().ask.records.slice = releases::Slice{releases::Slice::Cut::Equal, part, kRounds};
  }
  EXPECT_GT(of_one(make_plan(parts, pure).value()), 1.99);
  // Who asks for the noise of one round in each of them is charged for all of them.
  releases::Ask loud = gradient();
  loud.shift =
      accounting::gaussian_shift_for(releases::Epsilon::create(1.0).value(), releases::Delta::create(1e-5).value());
  const Result<Plan> whole = make_plan({{loud, kRounds}}, facts(1.0, 1e-5));
  ASSERT_FALSE(whole);
  EXPECT_NE(whole.error().message.find("epsilon"), std::string::npos) << whole.error().message;
}

TEST(PlanTest, ASliceThatAnotherReleaseReadsTooIsChargedWithIt) {
  const Plan plan = make_plan({{sliced(0, 2), 3}, {gradient(), 5}}, facts(1.0, 1e-5)).value();
  // A record of the slice meets all eight.
  const double together = 3.0 * plan.release({0})->cost().gaussian.value_rounded_up() +
                          5.0 * plan.release({5})->cost().gaussian.value_rounded_up();
  EXPECT_NEAR(std::sqrt(together), 1.0 / 3.73063163482, 2e-3 / 3.73063163482);
}

TEST(PlanTest, DifferencesScaleWithTheDistanceOfTheirPoints) {
  releases::Ask shape = gradient();
  shape.map = releases::GradientDifferenceMap{};
  shape.bound = releases::L2Bound{shape.clip(), 3.0};
  const Plan plan = make_plan({{shape, 2}}, facts(1.0, 1e-5)).value();
  const Release& planned = *plan.release({0});
  const Release near = planned.scaled_to(0.1);  // min(2, 0.3)
  const Release far = planned.scaled_to(10.0);
  EXPECT_NEAR(near.ask.clip().value(), 0.3, 1e-15);
  EXPECT_NEAR(near.lattice().step / planned.lattice().step, 0.15, 1e-15);
  EXPECT_EQ(near.lattice().clip, planned.lattice().clip);
  EXPECT_EQ(near.cost(), planned.cost());
  EXPECT_EQ(far.lattice().step, planned.lattice().step);
  EXPECT_GT(planned.scaled_to(0.0).lattice().step, 0.0);
}

TEST(PlanTest, RefusesMoreSlicesThanRecordsWithBothNumbers) {
  const auto refusal = [](const releases::Ask& shape) {
    const Result<Plan> plan = make_plan({{shape, 1}}, facts(1.0, 1e-5));
    return plan ? std::string() : plan.error().message;
  };
  EXPECT_NE(refusal(sliced(0, 101)).find("101 rounds read disjoint parts of its n = 100 training records"),
            std::string::npos)
      << refusal(sliced(0, 101));
  EXPECT_NE(refusal(gradient(0.001)).find("K = 0 of n = 100 training records"), std::string::npos)
      << refusal(gradient(0.001));
}

TEST(PlanTest, AlikeBinomialSumsAreCertifiedOnceHoweverAScheduleIsCut) {
  // An evaluation every few rounds cuts 4,000 rounds into 800 segments of one kind: the same sums, at the same cost. To
  // certify each segment for itself takes some 25 ms, 20 s in all.
  const Shuffling shuffling{3, true, std::int64_t{1} << 24U};
  Schedule cut;
  for (int i = 0; i < 800; ++i) cut.push_back({gradient(), 5});
  const std::clock_t begun = std::clock();
  const Result<Plan> parts = make_plan(cut, facts(1.0, 1e-4), shuffling);
  ASSERT_TRUE(parts) << parts.error().message;
  (void)parts->epsilon_without_shuffler();
  EXPECT_LT(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC, 5.0);
  const Result<Plan> whole = make_plan({{gradient(), 4000}}, facts(1.0, 1e-4), shuffling);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(parts->epsilon(), whole->epsilon());
  for (const Plan::Segment& segment : parts->segments())
    EXPECT_EQ(segment.release.cost_of_draw(), whole->segments().front().release.cost_of_draw());
}

TEST(PlanTest, AlikePartsAreAccountedForOnce) {
  // Two thousand slices, and a thousand epochs of an anchor and sampled differences: what is alike is composed once, so
  // that a job cannot occupy a silo. Without that these take minutes.
  releases::SiloFacts large = facts(1.0, 1e-5);
  large.records = 100'000;
  Schedule slices;
  for (std::uint64_t i = 0; i < 2000; ++i) slices.push_back({sliced(i, 2000), 1});
  Schedule epochs;
  for (int i = 0; i < 1000; ++i) {
    epochs.push_back({gradient(), 1});
    epochs.push_back({gradient(0.1), 3});
  }
  const std::clock_t begun = std::clock();
  EXPECT_TRUE(make_plan(slices, large));
  EXPECT_TRUE(make_plan(epochs, large));
  EXPECT_LT(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC, 60.0);
}

TEST(PlanTest, OnlyWhatItsOwnerDeclaredPublicLeavesExactly) {
  for (const bool declared : {false, true}) {
    EXPECT_FALSE(releases::public_block(facts(1.0, 1e-5, declared), releases::Block::Training).has_value());
    EXPECT_EQ(releases::public_block(facts(1.0, 1e-5, declared), releases::Block::Holdout).has_value(), declared);
    const Plan plan = make_plan({{gradient(), 10}, {metrics(), 4}}, facts(1.0, 1e-5, declared)).value();
    EXPECT_TRUE(plan.protects(releases::Block::Training));
    EXPECT_EQ(plan.protects(releases::Block::Holdout), !declared);
  }
}

TEST(PlanTest, WhatNobodyPlannedHasNoCostThatCouldBeTakenForNothing) {
  const Release release{gradient(), 10, 10};
  EXPECT_FALSE(release.is_public());
  EXPECT_DEATH((void)release.cost(), "");
  EXPECT_DEATH((void)release.lattice(), "");
  EXPECT_DEATH((void)release.noise_stddev_of_mean(), "");
}

TEST(PlanTest, WarnsWhereDeltaCoversMuchOfTheChanceOfBeingDrawn) {
  // One record of a hundred, and delta a hundredth: whatever is drawn might be published.
  const Plan bare = make_plan({{gradient(0.01), 1}}, facts(0.1, 0.009)).value();
  EXPECT_NE(delta_warning(bare).find("delta 0.009 is not far below 0.01"), std::string::npos) << delta_warning(bare);
  EXPECT_EQ(delta_warning(make_plan({{gradient(0.01), 1}}, facts(0.1, 1e-5)).value()), "");
  EXPECT_EQ(delta_warning(make_plan({{gradient(), 25}}, facts(1.0, 1e-3)).value()), "");
}

}  // namespace
}  // namespace undertone::planning
