#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/every_job.hpp"
#include "tests/support/fault_world.hpp"
#include "tests/support/federation_trace.hpp"
#include "tests/support/of_persons.hpp"

/// Every algorithm and statistic that persons are asked for, through a whole federation.
namespace undertone {
namespace {

using tests::direct;
using tests::Trace;

/// Those of all federations whose silos answer for persons, too; mixed ones among them.
std::vector<std::pair<std::string, tests::SmallFederation>> federations_for_persons() {
  auto out = tests::federations_of_every_algorithm();
  std::erase_if(out, [](const auto& one) {
    const Result<jobs::Job> job = jobs::parse_job(tests::of_persons(one.second).dump(), "persons");
    return !job || !jobs::plan_of(*job, job->cohort.front());
  });
  EXPECT_GT(out.size(), 25U);
  return out;
}

/// Spec person-unit, PU2: a data set of one record a person gives the model of the unit record, to the bit.
TEST(FederatedPersonsTest, PersonsOfOneRecordGiveTheModelOfRecordsBitForBit) {
  for (const auto& [name, federation] : federations_for_persons()) {
    SCOPED_TRACE(name);
    const RunId run{sha256("persons"), Nonce{1}};
    const jobs::Job records = jobs::parse_job(federation.job(), "records").value();
    const jobs::Job persons = jobs::parse_job(tests::of_persons(federation).dump(), "persons").value();
    const auto outcome = [&](const jobs::Job& job, const std::vector<simulation::SimulatedSilo>& silos) {
      auto cohort = direct(job, silos, run, 11, 0, 2).value();
      return cohort.train(*jobs::make_algorithm(job)).value();
    };
    const algorithms::Outcome expected = outcome(records, federation.cohort());
    const algorithms::Outcome found = outcome(persons, tests::cohort_of_persons(federation, {1}));
    EXPECT_EQ(found.vectors.at("weights"), expected.vectors.at("weights"));
    ASSERT_EQ(found.metrics.size(), expected.metrics.size());
    for (std::size_t i = 0; i < found.metrics.size(); ++i)
      EXPECT_EQ(found.metrics[i].values, expected.metrics[i].values);
  }
}

/// Every record stands twice.
models::Records doubled(const models::Records& records) {
  models::Records out{
      Eigen::MatrixXd(records.features.rows(), 2 * records.rows()), Eigen::VectorXd(2 * records.rows()), {0}};
  for (Eigen::Index i = 0; i < records.rows(); ++i) {
    for (const Eigen::Index row : {2 * i, 2 * i + 1}) {
      out.features.col(row) = records.features.col(i);
      out.targets[row] = records.targets[i];
    }
    out.starts.push_back(2 * (i + 1));
  }
  return out;
}

/// How many records persons have divides nothing but their own means: whoever has each of hers twice says the same, to
/// the bit. (A network's two gradients are cut in whole units each, and so differ by units.)
TEST(FederatedPersonsTest, PersonsOfTwoEqualRecordsGiveTheModelOfOne) {
  int checked = 0;
  for (const auto& [name, federation] : federations_for_persons()) {
    const std::string text = tests::of_persons(federation).dump();
    const jobs::Job job = jobs::parse_job(text, "persons").value();
    if (job.person->form == releases::PersonContribution::Form::MeanOfClipped) continue;
    SCOPED_TRACE(name);
    std::vector<simulation::SimulatedSilo> silos = federation.cohort();
    for (simulation::SimulatedSilo& silo : silos) {
      silo.dataset.training = doubled(silo.dataset.training);
      silo.dataset.holdout = doubled(silo.dataset.holdout);
    }
    const RunId run{sha256("persons"), Nonce{1}};
    const auto outcome = [&](const std::vector<simulation::SimulatedSilo>& held) {
      auto cohort = direct(job, held, run, 11, 0, 2).value();
      return cohort.train(*jobs::make_algorithm(job)).value();
    };
    EXPECT_EQ(outcome(silos).vectors.at("weights"),
              outcome(tests::cohort_of_persons(federation, {1})).vectors.at("weights"));
    ++checked;
  }
  EXPECT_GT(checked, 20);
}

TEST(FederatedPersonsTest, GivesTheModelOfAFederationOfPersonsBitForBit) {
  for (const auto& [name, federation] : federations_for_persons()) {
    SCOPED_TRACE(name);
    const std::string text = tests::of_persons(federation).dump();
    const jobs::Job job = jobs::parse_job(text, "persons").value();
    const std::vector<simulation::SimulatedSilo> silos = tests::cohort_of_persons(federation, {1, 3, 0, 7, 2});
    const Trace trace = tests::trace_of(
        {.jobs = {{text, "persons"}}, .silos = silos, .seed = 11, .noise = simulation::SimulatedNoise::Seeded});
    auto cohort = direct(job, silos, trace.run, 11, 0, 2).value();
    const algorithms::Outcome outcome = cohort.train(*jobs::make_algorithm(job)).value();
    EXPECT_EQ(outcome.vectors.at("weights"), trace.outcome.vectors.at("weights"));
  }
}

/// Spec person-unit 4 and PU7: what leaves a silo, to whom, for which round and how long it is, does not tell how many
/// records persons have.
TEST(FederatedPersonsTest, PersonsOfOneRecordAndOfAThousandLeaveAsManyBytes) {
  auto federations = federations_for_persons();
  federations.emplace_back("reports", tests::federation_of_reports());
  for (const auto& [name, federation] : federations) {
    SCOPED_TRACE(name);
    const std::string text = tests::of_persons(federation).dump();
    const auto left = [&text, &asked = federation](const std::vector<std::int64_t>& held) {
      std::vector<std::string> out;
      simulation::SimulatedFederation world({.jobs = {{text, "persons"}},
                                             .silos = tests::cohort_of_persons(asked, held),
                                             .seed = 11,
                                             .noise = simulation::SimulatedNoise::Seeded});
      simulation::SimulatedFederation::Watch watch;
      watch.leaving = [&](const simulation::SimulatedSiloProcess::Leaving& leaving) {
        out.push_back(fmt::format("{} to {}: {}, {} bytes", leaving.silo.name(), leaving.to, leaving.round.value,
                                  leaving.bytes.size()));
      };
      world.run(watch);
      EXPECT_TRUE(world.outcome().has_value());
      return out;
    };
    const std::vector<std::string> one = left({1});
    EXPECT_FALSE(one.empty());
    EXPECT_EQ(left({1000, 0}), one);
  }
}

TEST(FederatedPersonsTest, GivesTheModelOfAFederationOfCappedSumsBitForBit) {
  int served = 0;
  for (const auto& [name, federation] : federations_for_persons()) {
    nlohmann::json text = tests::of_persons(federation);
    text["privacy"]["person"]["contribution"] = "capped_sum";
    text["evaluation"]["persons"] = "one_record";
    const Result<jobs::Job> job = jobs::parse_job(text.dump(), "persons");
    if (!job || !jobs::plan_of(*job, job->cohort.front())) continue;  // what it is not served for
    SCOPED_TRACE(name);
    const std::vector<simulation::SimulatedSilo> silos = tests::cohort_of_persons(federation, {1, 3, 0, 7, 2});
    const Trace trace = tests::trace_of(
        {.jobs = {{text.dump(), "persons"}}, .silos = silos, .seed = 11, .noise = simulation::SimulatedNoise::Seeded});
    auto cohort = direct(*job, silos, trace.run, 11, 0, 2).value();
    EXPECT_EQ(cohort.train(*jobs::make_algorithm(*job)).value().vectors.at("weights"),
              trace.outcome.vectors.at("weights"));
    ++served;
  }
  EXPECT_GE(served, 5);
}

TEST(FederatedPersonsTest, AShuffledJobOfPersonsIsAnswered) {
  for (const char* form : {"reports", "bits", "counts", "shares"}) {
    SCOPED_TRACE(form);
    tests::SmallFederation federation;
    federation.silos = 3;
    federation.rounds = 1;  // every bit of every one is sealed by itself
    federation.equal = true;
    federation.shuffle = tests::FaultWorlds::shuffle(form);
    std::vector<simulation::SimulatedSilo> silos = tests::cohort_of_persons(federation, {1, 3, 0, 7, 2});
    for (simulation::SimulatedSilo& silo : silos)
      silo.policy.shuffle = silo::ShuffleTrust{{{"mixer-a", {}}, {"mixer-b", {}}}, {form}, 5};
    const Trace trace = tests::trace_of({.jobs = {{tests::of_persons(federation).dump(), "persons"}},
                                         .silos = silos,
                                         .shufflers = tests::FaultWorlds::shufflers(),
                                         .sealing_secret = tests::FaultWorlds::sealing_secret(),
                                         .seed = 11,
                                         .noise = simulation::SimulatedNoise::Seeded});
    EXPECT_EQ(trace.outcome.vectors.at("weights").size(), 5);
  }
}

TEST(FederatedPersonsTest, StatisticsOfPersonsAreAnswered) {
  std::vector<std::pair<std::string, std::string>> jobs = tests::every_job();
  std::erase_if(jobs, [](const auto& job) { return job.first.rfind("persons, ", 0) != 0; });
  int statistics = 0;
  for (const auto& [name, text] : jobs) {
    const jobs::Job job = jobs::parse_job(text, name).value();
    if (job.model) continue;
    SCOPED_TRACE(name);
    ++statistics;
    tests::SmallFederation federation;
    // The silos are those of a job of records, who cannot be asked for everything that persons can.
    federation.statistics = R"({"questions":[{"kind":"count","column":"y","value":"yes"}]})";
    federation.silos = static_cast<int>(job.cohort.size());
    const Trace trace = tests::trace_of({.jobs = {{text, name}},
                                         .silos = tests::cohort_of_persons(federation, {1, 3, 0, 7, 2}),
                                         .seed = 11,
                                         .noise = simulation::SimulatedNoise::Seeded});
    EXPECT_FALSE(trace.outcome.statistics.empty());
  }
  EXPECT_EQ(statistics, 6);
}

}  // namespace
}  // namespace undertone
