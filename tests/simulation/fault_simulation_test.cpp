#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <set>

#include "tests/support/fault_world.hpp"
#include "tests/support/long_advance.hpp"

namespace undertone {
namespace {

using Federation = simulation::SimulatedFederation;

struct Tally {
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t refused = 0;
  std::uint64_t crashes = 0;
  std::uint64_t events = 0;
  std::uint64_t long_advances = 0;  // begun
  std::uint64_t lost_advances = 0;  // begun, and nothing came of them: of a life or a run that ended meanwhile
};

/// Counts a world's advances, by what its runs say.
Federation::Watch watch_advances(Tally& tally) {
  Federation::Watch watch;
  watch.of_run = [&tally, under_way = std::set<RunId>()](const coordinator::JobService::OfRun& said) mutable {
    if (const auto* event = std::get_if<coordinator::RunMachine::LogEvent>(&said.what)) {
      const bool began = event->event.starts_with("advance_began");
      const bool started = event->event.starts_with("run_started");
      if ((began || started) && under_way.erase(said.run) != 0) ++tally.lost_advances;
      if (!began) return;
      ++tally.long_advances;
      under_way.insert(said.run);
    } else if (std::holds_alternative<coordinator::RunMachine::RoundClosed>(said.what)) {
      under_way.erase(said.run);
    } else if (std::holds_alternative<coordinator::RunMachine::Ended>(said.what)) {
      tally.lost_advances += under_way.erase(said.run);
    }
  };
  return watch;
}

/// A run ends well or says why not.
void expect_stated(const Result<algorithms::Outcome>& outcome, Tally& tally) {
  if (outcome) {
    ++tally.succeeded;
    return;
  }
  ++tally.failed;
  EXPECT_TRUE(outcome.error().code == ErrorCode::QuorumMissed || outcome.error().code == ErrorCode::Cancelled)
      << outcome.error().message;
}

void run_seed(tests::FaultWorlds& worlds, std::uint64_t seed, Tally& tally) {
  SCOPED_TRACE(fmt::format("UNDERTONE_FAULT_SEED={}", seed));
  Federation::Setup setup = worlds.world(seed);
  const std::size_t jobs = setup.jobs.size();
  Federation federation(std::move(setup));
  federation.run(watch_advances(tally));
  tally.crashes += federation.world().crashes();
  tally.events += federation.world().events();
  for (const std::string& violation : federation.violations()) ADD_FAILURE() << violation;
  if (!federation.violations().empty()) return;
  for (std::size_t job = 0; job < jobs; ++job) expect_stated(federation.outcome(job), tally);
}

/// UNDERTONE_FAULT_SEED runs one world, UNDERTONE_FAULT_SEEDS as many.
std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(FaultSimulationTest, WorldsKeepEveryPromise) {
  tests::FaultWorlds worlds;
  Tally tally;
  if (std::getenv("UNDERTONE_FAULT_SEED") != nullptr)
    return run_seed(worlds, number_from("UNDERTONE_FAULT_SEED", 0), tally);
  const std::uint64_t from = number_from("UNDERTONE_FAULT_FROM", 0);
  const std::uint64_t seeds = number_from("UNDERTONE_FAULT_SEEDS", 200);
  for (std::uint64_t seed = from; seed < from + seeds && !HasFailure(); ++seed) {
    run_seed(worlds, seed, tally);
  }
  std::cout << "succeeded " << tally.succeeded << ", failed " << tally.failed << ", crashes " << tally.crashes
            << ", events " << tally.events << ", long advances " << tally.long_advances << ", of which "
            << tally.lost_advances << " were lost\n";
  if (seeds < 200) return;
  // The worlds must be wild enough to test something and calm enough to finish something.
  EXPECT_GT(tally.succeeded, seeds / 2);
  EXPECT_GT(tally.failed, seeds / 100);
  EXPECT_GT(tally.crashes, 5 * seeds);
  EXPECT_GT(tally.long_advances, seeds);
  EXPECT_GT(tally.lost_advances, seeds / 10);
}

TEST(FaultSimulationTest, ACrashAtAnySinglePointChangesNothing) {
  tests::FaultWorlds worlds;
  for (const auto& [form, takes_long] :
       {std::pair("", false), std::pair("shares", false), std::pair("", true), std::pair("shares", true)}) {
    SCOPED_TRACE(fmt::format("{}{}", form, takes_long ? ", taking long" : ""));
    tests::SmallFederation small;
    small.silos = 3;
    small.rounds = 2;
    small.evaluation_every = 0;
    small.equal = true;
    if (*form != '\0') small.shuffle = tests::FaultWorlds::shuffle(form);
    const auto world_with = [&, form = form, takes_long = takes_long](std::optional<std::uint64_t> point) {
      Federation::Setup setup{
          .jobs = {{tests::FaultWorlds::named(small), "small"}}, .silos = small.cohort(), .seed = 5};
      if (*form != '\0') {
        setup.shufflers = tests::FaultWorlds::shufflers();
        for (simulation::SimulatedSilo& silo : setup.silos)
          silo.policy.shuffle = silo::ShuffleTrust{{{"mixer-a", {}}, {"mixer-b", {}}}, {form}, 3};
      }
      setup.faults.crash_at_point = point;
      setup.faults.power_loss = 1.0;
      if (takes_long) {
        setup.make_algorithm = tests::taking_long();
        setup.faults.work_max = std::chrono::milliseconds(500);
      }
      setup.planner = worlds.planner();
      return std::make_unique<Federation>(std::move(setup));
    };
    const auto calm = world_with(std::nullopt);
    calm->run();
    const algorithms::Outcome undisturbed = calm->outcome().value();
    const std::uint64_t points = calm->world().crash_points();
    ASSERT_GT(points, 300U);
    // Neighbouring writes of one commit are much alike, and what takes long only adds the points while it does.
    const std::uint64_t stride = takes_long ? 11 : 3;
    for (std::uint64_t point = 1 + small.shuffle.size() % 2; point <= points && !HasFailure(); point += stride) {
      SCOPED_TRACE(point);
      const auto world = world_with(point);
      world->run();
      EXPECT_EQ(world->world().crashes(), 1U);
      for (const std::string& violation : world->violations()) ADD_FAILURE() << violation;
      const Result<algorithms::Outcome> outcome = world->outcome();
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(outcome->vectors.at("weights"), undisturbed.vectors.at("weights"));
    }
  }
}

TEST(FaultSimulationTest, AWorldIsAFunctionOfItsSeed) {
  tests::FaultWorlds worlds;
  const auto run = [&](std::uint64_t seed) {
    Federation federation(worlds.world(seed));
    federation.run();
    const Result<algorithms::Outcome> outcome = federation.outcome();
    return std::tuple(federation.world().events(), federation.world().crashes(),
                      outcome ? outcome->vectors.at("weights") : Eigen::VectorXd());
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    EXPECT_EQ(run(seed), run(seed));
  }
}

TEST(FaultSimulationTest, ARunThatDivergesEndsAlone) {
  tests::SmallFederation wild;
  wild.name = "wild";
  wild.points = "f32";
  wild.step_size = 1e9;
  wild.domain = R"({"kind":"whole_space"})";
  wild.regulariser = R"({"kind":"l2","strength":1e6})";
  const tests::SmallFederation small;
  Federation federation({.jobs = {{wild.job(), "wild"}, {small.job(), "small"}}, .silos = small.cohort(), .seed = 1});
  federation.run();
  EXPECT_TRUE(federation.violations().empty());
  const Result<algorithms::Outcome> outcome = federation.outcome(0);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("diverge"), std::string::npos) << outcome.error().message;
  EXPECT_TRUE(federation.outcome(1));
}

TEST(FaultSimulationTest, AHostileSiloEndsNoShuffledRun) {
  using Hostility = simulation::SimulatedSilo::Hostility;
  tests::FaultWorlds worlds;
  for (const char* form : {"counts", "shares", "reports"}) {
    for (const Hostility hostility : {Hostility::OtherTerms, Hostility::ClaimsHandOver}) {
      SCOPED_TRACE(fmt::format("{} {}", form, static_cast<int>(hostility)));
      tests::SmallFederation small;
      small.rounds = 2;
      small.equal = true;
      small.shuffle = tests::FaultWorlds::shuffle(form);
      Federation::Setup setup{
          .jobs = {{tests::FaultWorlds::named(small), "small"}}, .silos = small.cohort(), .seed = 5};
      setup.shufflers = tests::FaultWorlds::shufflers();
      setup.sealing_secret = tests::FaultWorlds::sealing_secret();
      for (simulation::SimulatedSilo& silo : setup.silos)
        silo.policy.shuffle = silo::ShuffleTrust{{{"mixer-a", {}}, {"mixer-b", {}}}, {form}, 5};
      setup.silos.front().hostility = hostility;
      setup.planner = worlds.planner();
      Federation federation(std::move(setup));
      std::size_t without_it = 0;
      Federation::Watch watch;
      watch.of_run = [&](const coordinator::JobService::OfRun& said) {
        const auto* closed = std::get_if<coordinator::RunMachine::RoundClosed>(&said.what);
        if (closed != nullptr) without_it += closed->replies == 4 ? 1 : 0;  // evaluations have all five
      };
      federation.run(watch);
      for (const std::string& violation : federation.violations()) ADD_FAILURE() << violation;
      const Result<algorithms::Outcome> outcome = federation.outcome();
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(without_it, 2U);
    }
  }
}

TEST(FaultSimulationTest, ACalmWorldHearsEverySiloInEveryRound) {
  const tests::SmallFederation small;
  Federation federation({.jobs = {{small.job(), "small"}}, .silos = small.cohort(), .seed = 1});
  std::size_t rounds = 0;
  Federation::Watch watch;
  watch.of_run = [&](const coordinator::JobService::OfRun& said) {
    if (const auto* closed = std::get_if<coordinator::RunMachine::RoundClosed>(&said.what)) {
      ++rounds;
      EXPECT_EQ(closed->replies, 5U);
    }
  };
  federation.run(watch);
  const Result<algorithms::Outcome> outcome = federation.outcome();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(federation.violations().empty());
  EXPECT_EQ(rounds, 8U);  // 6 gradients, 2 evaluations
}

}  // namespace
}  // namespace undertone
