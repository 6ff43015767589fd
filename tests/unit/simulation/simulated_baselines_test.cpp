#include <cmath>
#include <gtest/gtest.h>

#include "coordinator/jobs/job_service.hpp"
#include "silo/policy/policy.hpp"
#include "simulation/direct_cohort.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::simulation {
namespace {

/// Alike silos whose local steps read all their records: without noise nothing is drawn.
tests::SmallFederation scaffold_of_all_records(int rounds) {
  tests::SmallFederation federation;
  federation.equal = true;
  federation.loss = models::Loss::LeastSquares;
  federation.clip_norm = 4.0;  // longer than any gradient here
  federation.regulariser = R"({"kind":"none"})";
  const jobs::Job facts = jobs::parse_job(federation.job(), "small").value();
  federation.algorithm =
      fmt::format(R"({{"kind":"scaffold","rounds":{},"local_steps":4,"local_batch":{},"step_size":0.1}})", rounds,
                  facts.cohort.front().facts.records);
  federation.evaluation_every = 0;
  return federation;
}

Eigen::VectorXd simulated(const tests::SmallFederation& federation, std::size_t answering) {
  const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
  const std::vector<SimulatedSilo> silos = federation.cohort();
  Result<PlannedCohort> planned = plan_cohort(job, silos);
  const RunId run{sha256(federation.job()), simulated_nonce(3)};
  DirectCohort cohort =
      DirectCohort::create({job.model, job.reply_lattice, run, 3, SimulatedNoise::None, answering, 2, job.aggregation},
                           std::move(planned->members))
          .value();
  return cohort.train(*jobs::make_algorithm(job)).value().vectors.at("weights");
}

/// The gradient of the mean of (<w, (x, 1)> - y)^2 / 2 over a silo's records.
Eigen::VectorXd gradient(const models::Records& records, const Eigen::VectorXd& w) {
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(w.size());
  for (Eigen::Index j = 0; j < records.count(); ++j) {
    Eigen::VectorXd x(w.size());
    x << records.features.col(j), 1.0;
    sum += (w.dot(x) - records.targets[j]) * x;
  }
  return sum / static_cast<double>(records.count());
}

TEST(SimulatedBaselinesTest, ScaffoldDoesWhatItsPaperSays) {
  const tests::SmallFederation federation = scaffold_of_all_records(5);
  const std::vector<SimulatedSilo> silos = federation.cohort();
  const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
  Eigen::VectorXd x = Eigen::VectorXd::Zero(job.model->dimension());
  Eigen::VectorXd c = x;
  std::vector<Eigen::VectorXd> own(silos.size(), x);
  for (int round = 0; round < 5; ++round) {
    Eigen::VectorXd mean = 0.0 * x;
    Eigen::VectorXd change = 0.0 * x;
    for (std::size_t i = 0; i < silos.size(); ++i) {
      Eigen::VectorXd y = x;
      for (int k = 0; k < 4; ++k) y -= 0.1 * (gradient(silos[i].dataset.training, y) - own[i] + c);
      const Eigen::VectorXd next = own[i] - c + (x - y) / 0.4;
      change += (next - own[i]) / static_cast<double>(silos.size());
      own[i] = next;
      mean += y / static_cast<double>(silos.size());
    }
    x = mean;
    c += change;
  }
  // Records become integers before they are added: what that takes is proportional to the clip norm, 0.24 % here.
  const double rounding = (simulated(federation, 0) - x).norm();
  EXPECT_LT(rounding, 3e-3 * x.norm());
  EXPECT_GT((simulated(scaffold_of_all_records(4), 0) - x).norm(), 3.0 * rounding);
}

TEST(SimulatedBaselinesTest, ScaffoldStandsStillAtTheOptimumWithSilosMissing) {
  const Eigen::VectorXd all = simulated(scaffold_of_all_records(400), 0);
  const Eigen::VectorXd some = simulated(scaffold_of_all_records(800), 2);
  EXPECT_LT((all - some).norm(), 1e-2 * all.norm());
}

TEST(SimulatedBaselinesTest, NoCoordinatorTakesScaffoldAndNoSiloAnswersIt) {
  const tests::SmallFederation federation = scaffold_of_all_records(3);
  const auto planned = coordinator::PlannedJob::plan(federation.job(), "job.json");
  ASSERT_FALSE(planned);
  EXPECT_NE(planned.error().message.find("scaffold is a baseline of simulations"), std::string::npos);
  const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
  const SimulatedSilo first = federation.cohort().front();
  silo::Policy policy = first.policy;
  policy.algorithms = {"scaffold"};
  const std::vector<silo::Objection> objections =
      silo::objections_to(policy, first.facts, job, *job.member(first.id), job.noise);
  ASSERT_EQ(objections.size(), 1U);
  EXPECT_EQ(objections.front().kind, silo::ObjectionKind::Job);
}

/// The cohort of a job, simulated without messages, with the nonce that these tests' federations have.
DirectCohort direct_cohort(const jobs::Job& job, const std::string& bytes, std::vector<DirectCohort::Member> members,
                           std::uint64_t seed) {
  return DirectCohort::create({job.model,
                               job.reply_lattice,
                               {sha256(bytes), Nonce{9}},
                               seed,
                               SimulatedNoise::Seeded,
                               0,
                               2,
                               job.aggregation},
                              std::move(members))
      .value();
}

/// What a direct simulation says of a job's statistics, and what one of messages, ledgers and virtual time does.
TEST(DirectStatisticsTest, OfVectorsAndPublicRecordsAreThoseOfTheWholeFederation) {
  constexpr std::uint64_t kSeed = 5;
  for (const tests::SmallFederation& federation : tests::federations_of_vectors()) {
    SCOPED_TRACE(federation.statistics);
    const std::string bytes = federation.job();
    SimulatedFederation world({.jobs = {{bytes, "job", Nonce{9}}}, .silos = federation.cohort(), .seed = kSeed});
    world.run();
    ASSERT_TRUE(world.violations().empty()) << world.violations().front();
    const jobs::Job job = jobs::parse_job(bytes, "small").value();
    const std::vector<SimulatedSilo> silos = federation.cohort();
    Result<PlannedCohort> planned = plan_cohort(job, silos);
    ASSERT_TRUE(planned) << planned.error().message;
    DirectCohort cohort = direct_cohort(job, bytes, planned->members, kSeed);
    EXPECT_EQ(cohort.train(*jobs::make_algorithm(job)).value().statistics, world.outcome().value().statistics);
  }
}

TEST(SimulatedBaselinesTest, PublicRecordsGiveTheBitsOfAFederationThatIsKilledAgainAndAgain) {
  constexpr std::uint64_t kSeed = 6;
  const tests::TemporaryFolder folder;
  for (const char* use : {"", R"(,"weight":0.3,"gradients":"rescaled")", R"(,"use":"mirror_map","warm_start":false)",
                          R"(,"silos":true)"}) {
    SCOPED_TRACE(use);
    tests::SmallFederation federation;
    federation.public_records = 5;
    federation.loss = models::Loss::LeastSquares;
    federation.quorum = federation.silos;  // whoever is down is waited for
    federation.round_deadline_ms = 600'000;
    federation.open_records = tests::open_records_in(folder.path(), federation, 30, use);
    const std::string bytes = federation.job();
    const jobs::Job job = jobs::parse_job(bytes, "small").value();
    const std::vector<SimulatedSilo> silos = federation.cohort();
    const PlannedCohort planned = plan_cohort(job, silos).value();
    DirectCohort cohort = direct_cohort(job, bytes, planned.members, kSeed);
    const auto algorithm = algorithm_of(job, planned, folder.path()).value();
    const Eigen::VectorXd directly = cohort.train(*algorithm).value().vectors.at("weights");
    for (const bool crashes : {false, true}) {
      SimulatedFederation::Setup setup{.jobs = {{bytes, "job", Nonce{9}}},
                                       .silos = federation.cohort(),
                                       .seed = kSeed,
                                       .public_folder = folder.path()};
      if (crashes) setup.faults.crash_at_event = 0.01;
      SimulatedFederation world(std::move(setup));
      world.run();
      ASSERT_TRUE(world.violations().empty()) << world.violations().front();
      EXPECT_EQ(world.outcome().value().vectors.at("weights"), directly);
    }
  }
}

// Who accepts in the middle of a round is heard with both blocks: the audit recounts them.
TEST(SimulatedBaselinesTest, WhoJoinsLateBringsItsPublicRecords) {
  tests::SmallFederation federation;
  federation.public_records = 5;
  federation.open_records = R"({"silos":true,"weight":0.5})";
  federation.rounds = 12;
  federation.join_deadline_ms = 1000;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    std::map<SiloId, std::chrono::milliseconds> joins;
    for (int i = 2; i < 5; ++i)
      joins.emplace(*SiloId::create(fmt::format("silo-{}", i)), std::chrono::milliseconds(1000 + 50 * i));
    SimulatedFederation::Setup setup{
        .jobs = {{federation.job(), "job", Nonce{9}}}, .silos = federation.cohort(), .joins = joins, .seed = seed};
    setup.faults.delay_max = std::chrono::milliseconds(300);
    SimulatedFederation world(std::move(setup));
    world.run();
    ASSERT_TRUE(world.violations().empty()) << world.violations().front();
    EXPECT_TRUE(world.outcome());
  }
}

TEST(SimulatedBaselinesTest, ThrowAwayAsksForNothingButItsEvaluation) {
  const tests::TemporaryFolder folder;
  for (const char* solver : {"minimiser", "one_pass"}) {
    SCOPED_TRACE(solver);
    tests::SmallFederation federation;
    federation.algorithm = R"({"kind":"throw_away"})";
    federation.open_records =
        tests::open_records_in(folder.path(), federation, 30, fmt::format(R"(,"solver":"{}")", solver));
    const std::string bytes = federation.job();
    const jobs::Job job = jobs::parse_job(bytes, "small").value();
    const planning::Schedule asked = jobs::schedule_of(job);
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked.front().ask.kind(), releases::QuestionKind::Metrics);
    for (const jobs::CohortMember& member : job.cohort)
      EXPECT_FALSE(jobs::plan_of(job, member).value().protects(releases::Block::Training));
    SimulatedFederation world(
        {.jobs = {{bytes, "job", Nonce{9}}}, .silos = federation.cohort(), .seed = 4, .public_folder = folder.path()});
    world.run();
    ASSERT_TRUE(world.violations().empty()) << world.violations().front();
    const algorithms::Outcome outcome = world.outcome().value();
    EXPECT_EQ(outcome.vectors.at("weights"), *jobs::public_side(job, folder.path()).value().start);
    ASSERT_EQ(outcome.metrics.size(), 1U);
    EXPECT_EQ(outcome.metrics.front().steps, 0U);
  }
}

TEST(SimulatedBaselinesTest, AFileThatIsAnotherEndsTheRunWithItsReason) {
  const tests::TemporaryFolder folder;
  tests::SmallFederation federation;
  federation.open_records = tests::open_records_in(folder.path(), federation, 30);
  SimulatedFederation world({.jobs = {{federation.job(), "job", Nonce{9}}},
                             .silos = federation.cohort(),
                             .public_folder = folder.path(),
                             .make_algorithm = [&](const jobs::Job& job) {
                               // Between the submission and the first answers somebody writes another file.
                               (void)tests::open_records_in(folder.path(), federation, 31);
                               return jobs::algorithms_with(folder.path())(job);
                             }});
  SimulatedFederation::Watch watch;
  std::string reason;
  watch.of_run = [&](const coordinator::JobService::OfRun& said) {
    if (const auto* ended = std::get_if<coordinator::RunMachine::Ended>(&said.what))
      if (!ended->outcome) reason = ended->outcome.error().message;
  };
  world.run(watch);
  EXPECT_NE(reason.find("this one is another"), std::string::npos) << reason;
}

}  // namespace
}  // namespace undertone::simulation
