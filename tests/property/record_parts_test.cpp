#include "tests/support/record_parts.hpp"

#include <gtest/gtest.h>

#include "tests/support/every_job.hpp"
#include "tests/support/federation_trace.hpp"
#include "tests/support/repetitions.hpp"

/// A silo whose records are made when they are read answers what one answers that has them all in memory.
namespace undertone {
namespace {

std::vector<simulation::SimulatedSilo> in_parts(std::vector<simulation::SimulatedSilo> silos) {
  for (simulation::SimulatedSilo& silo : silos) silo.dataset = tests::in_parts(std::move(silo.dataset));
  return silos;
}

TEST(RecordPartsTest, EveryAlgorithmGivesTheSameModel) {
  std::size_t number = 0;
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    if (!tests::whole() && ++number % 3 != 0) continue;  // kinds of answers repeat from algorithm to algorithm
    SCOPED_TRACE(name);
    const RunId run{sha256("parts"), Nonce{1}};
    const jobs::Job job = jobs::parse_job(federation.job(), "job").value();
    const std::vector<simulation::SimulatedSilo> whole = federation.cohort();
    const std::vector<simulation::SimulatedSilo> parts = in_parts(federation.cohort());
    const auto outcome = [&](const std::vector<simulation::SimulatedSilo>& silos) {
      auto cohort = tests::direct(job, silos, run, 11, 0, 1).value();
      return cohort.train(*jobs::make_algorithm(job)).value();
    };
    const algorithms::Outcome expected = outcome(whole);
    const algorithms::Outcome found = outcome(parts);
    if (job.model->linear() != nullptr) {
      EXPECT_EQ(found.vectors, expected.vectors);
    } else {  // each part's sum is rounded to the lattice by itself
      for (const auto& [vector, values] : expected.vectors)
        EXPECT_LE((found.vectors.at(vector) - values).cwiseAbs().maxCoeff(), 1e-5) << vector;
    }
    ASSERT_EQ(found.metrics.size(), expected.metrics.size());
    for (std::size_t i = 0; i < found.metrics.size(); ++i)
      for (std::size_t k = 0; k < expected.metrics[i].values.size(); ++k)
        EXPECT_NEAR(found.metrics[i].values[k], expected.metrics[i].values[k], 1e-5);
  }
}

/// Through the silo's own machine, with its ledger. @param text of the federation's job, or of another of its silos
void expect_same_answers(const std::string& name, const std::string& text, const tests::SmallFederation& federation) {
  SCOPED_TRACE(name);
  const auto answers = [&](std::vector<simulation::SimulatedSilo> silos) {
    return tests::trace_of({.jobs = {{text, name}},
                            .silos = std::move(silos),
                            .seed = 5,
                            .noise = simulation::SimulatedNoise::Seeded})
        .outcome.statistics;
  };
  EXPECT_EQ(answers(in_parts(federation.cohort())), answers(federation.cohort()));
}

/// Whether a job's silos are those of the small federation.
bool is_of_small_silos(const jobs::Job& job, const tests::SmallFederation& federation) {
  const std::vector<simulation::SimulatedSilo> silos = federation.cohort();
  return std::all_of(silos.begin(), silos.end(), [&](const simulation::SimulatedSilo& silo) {
    const jobs::CohortMember* member = job.member(silo.id);
    return member != nullptr && job.schema == silo.facts.schema && member->facts.records == silo.facts.records &&
           member->facts.holdout_records == silo.facts.holdout_records;
  });
}

TEST(RecordPartsTest, EveryQuestionHasTheSameAnswer) {
  std::vector<tests::SmallFederation> federations = tests::federations_of_vectors();
  federations.push_back(tests::federation_of_reports());
  federations.push_back(tests::federation_of_functions());
  for (const tests::SmallFederation& federation : federations)
    expect_same_answers(federation.statistics, federation.job(), federation);
  int asked = 0;
  for (const auto& [name, text] : tests::every_job()) {
    const jobs::Job job = jobs::parse_job(text, name).value();
    if (job.model || job.unit != releases::Unit::Record || job.shuffle || name.starts_with("vectors")) continue;
    tests::SmallFederation federation;
    federation.silos = static_cast<int>(job.cohort.size());
    if (!is_of_small_silos(job, federation)) continue;
    ++asked;
    expect_same_answers(name, text, federation);
  }
  EXPECT_GE(asked, 8);
}

}  // namespace
}  // namespace undertone
