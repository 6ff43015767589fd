#include <cstdlib>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/jobs/result.hpp"
#include "shared/base/contained.hpp"
#include "shared/base/random_source.hpp"
#include "shared/base/work_meter.hpp"
#include "shared/jobs/initial_section.hpp"
#include "shared/planning/answer_work.hpp"
#include "simulation/direct_cohort.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone {
namespace {

using Json = nlohmann::json;
using Pointer = Json::json_pointer;

/// What no test varies and an enemy would: the ends of what a number may be in a file.
const std::vector<Json> kExtremes = {-1, 0, 5e-324, 1e-160, 1e155, 1e308, std::int64_t{9'223'372'036'854'775'807}};

/// Two at a time: among them those that are no extremes for a parser, and are for what is computed.
const std::vector<Json> kLargeAndSmall = {0, 1, 5e-324, 1e-310, 1e-9, 1e-3, 40, 1e9, 1e99, 1e155, 1e300, 1e308};

/// How many of them each place gets, the next one in turn: all where UNDERTONE_EXTREMES says so.
std::size_t extremes_a_place() { return std::getenv("UNDERTONE_EXTREMES") != nullptr ? kExtremes.size() : 1; }

/// Every number of a document, by its place; of the cohort those of the first silo alone.
void find_numbers(const Json& value, const std::string& place, std::vector<std::string>& out) {
  if (value.is_number()) out.push_back(place);
  if (value.is_object())
    for (const auto& [key, inner] : value.items()) find_numbers(inner, fmt::format("{}/{}", place, key), out);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size() && (i == 0 || place != "/cohort"); ++i)
      find_numbers(value[i], fmt::format("{}/{}", place, i), out);
}

/// What becomes of a job: "refused", "planned" where it would take long to run, or "ran".
/// @return an error of the program's own alone
Result<std::string> outcome_of(const std::string& text, const std::vector<simulation::SimulatedSilo>& silos,
                               const std::filesystem::path& folder) {
  const WorkMeter meter(std::uint64_t{1} << 23U);  // a job that takes longer to plan is as good as refused here
  const Result<jobs::Job> job = jobs::parse_job(text, "job.json");
  if (!job) {
    if (job.error().code == ErrorCode::Internal) return job.error();
    return std::string("refused");
  }
  for (std::size_t i = 0; i < silos.size(); ++i) {
    const releases::SiloFacts& facts = job->cohort[i].facts;
    if (facts.silo != silos[i].id || facts.records != silos[i].facts.records ||
        facts.holdout_records != silos[i].facts.holdout_records)
      return std::string("refused");  // by a silo that has other records
  }
  Result<simulation::PlannedCohort> planned = simulation::plan_cohort(*job, silos);
  if (!planned) return std::string("refused");
  double products = 0.0;
  for (const planning::Plan::Segment& segment : planned->members.front().releases)
    products += static_cast<double>(segment.rounds) *
                (1e4 + planning::products_of_answer(segment.release, data::encoded_width(job->schema)));
  if (products > 3e6 || job->shuffle) return std::string("planned");
  const RunId run{sha256(text), {}};
  UNDERTONE_TRY(simulation::DirectCohort cohort,
                simulation::DirectCohort::create({job->model, job->reply_lattice, run, 1,
                                                  simulation::SimulatedNoise::Seeded, 0, 1, job->aggregation},
                                                 std::move(planned->members)));
  const std::unique_ptr<algorithms::FederatedAlgorithm> algorithm = jobs::make_algorithm(*job);
  const Result<algorithms::Outcome> outcome = cohort.train(*algorithm);
  if (!outcome) return std::string("ended in words");
  std::map<SiloId, std::optional<wire::Refusal>> answers;
  for (const simulation::SimulatedSilo& silo : silos) answers.emplace(silo.id, std::nullopt);
  const coordinator::RunReport report{*job, run, "simulation", false, outcome, {}, std::move(answers)};
  if (const Status written = coordinator::write_results(folder, report); !written)
    return written.error().code == ErrorCode::Internal ? Result<std::string>(written.error())
                                                       : Result<std::string>("ended in words");
  return std::string("ran");
}

struct Varied {
  std::string name;
  tests::SmallFederation federation;
  Json patch = Json::object();  // sections of its job in place of its own
};

/// The start's digest follows the start, whatever number stands in it.
void digest_start(Json& job) {
  if (!job.contains("initial") || !job["initial"].contains("values")) return;
  const auto values = job["initial"]["values"].get<std::vector<double>>();
  job["initial"] = Json::parse(
      jobs::initial_of_weights(Eigen::Map<const Eigen::VectorXd>(values.data(), std::ssize(values))).dump());
}

/// What federations of the algorithms leave out: starts, sets, smoothed losses and theorems of strong convexity.
std::vector<Varied> unusual_federations() {
  const Json start = {{"kind", "weights"}, {"values", {0.1, -0.1, 0.2, 0.0, 0.1}}, {"sha256", ""}};
  std::vector<Varied> out;
  for (const char* domain :
       {R"({"kind":"mixed_ball","radius":1,"share":0.5})", R"({"kind":"l1_ball","radius":2})",
        R"({"kind":"box","lower":-1,"upper":1})", R"({"kind":"whole_space"})", R"({"kind":"l2_ball","radius":3})"})
    out.push_back({domain, {}, {{"domain", Json::parse(domain)}, {"initial", start}}});
  tests::SmallFederation hinge;  // its label is one that a hinge takes
  for (const char* theorem : {R"({"theorem":"minibatch_strongly_convex","strong_convexity":0.1,"gap":1})",
                              R"({"theorem":"accelerated_strongly_convex","strong_convexity":0.1,"gap":1})",
                              R"({"theorem":"proximal_sgd","strong_convexity":0.1,"gap":1})"}) {
    const Json algorithm = Json::parse(theorem);
    out.push_back({theorem,
                   hinge,
                   {{"algorithm", algorithm},
                    {"regulariser", {{"kind", "none"}}},
                    {"model", {{"kind", "hinge"}, {"intercept", true}}}}});
    out.push_back({std::string("smoothed, ") + theorem,
                   hinge,
                   {{"algorithm", algorithm},
                    {"regulariser", {{"kind", "none"}}},
                    {"model", {{"kind", "hinge"}, {"intercept", true}, {"smoothing", 0.5}}}}});
  }
  tests::SmallFederation mirror;
  mirror.domain = R"({"kind":"whole_space"})";
  mirror.regulariser = R"({"kind":"l2","strength":1})";
  mirror.algorithm =
      R"({"kind":"mirror_descent","rounds":6,"step_size":0.5,"draw_fraction":1,"geometry":{"potential":"euclidean"}})";
  out.push_back({"mirror_descent", mirror, {{"initial", start}}});
  tests::SmallFederation listed;
  listed.domain = R"({"kind":"whole_space"})";
  listed.algorithm = R"({"kind":"constrained_frank_wolfe","iterates":4,"vertices":{"kind":"listed",
      "points":[[1,0,0,0,0],[0,1,0,0,0],[0,0,1,0,0],[0,0,0,1,0],[0,0,0,0,1],[-1,-1,-1,-1,-1]]}})";
  out.push_back({"listed vertices", listed, {{"initial", start}}});
  return out;
}

std::vector<Varied> every_federation() {
  std::vector<Varied> out;
  for (auto& [name, federation] : tests::federations_of_every_algorithm()) out.push_back({name, federation});
  const auto add = [&out](const tests::SmallFederation& federation) {
    out.push_back({federation.statistics, federation});
  };
  for (const tests::SmallFederation& federation : tests::federations_of_vectors()) add(federation);
  add(tests::federation_of_reports());
  add(tests::federation_of_functions());
  add(tests::federation_of_choices());
  tests::SmallFederation others;
  others.statistics = R"({"noise":"gaussian","questions":[
    {"kind":"variance","column":"x0"},{"kind":"sum","column":"x1"},{"kind":"mean","column":"x2","half_width":0.1},
    {"kind":"histogram","column":"x0","bins":4},{"kind":"quantiles","column":"x1","bins":16,"probabilities":[0.5]},
    {"kind":"covariance","columns":["x0","x1"]},
    {"kind":"regression","columns":["x0","x1"],"response":"x2"},{"kind":"count","column":"y","value":"yes"}]})";
  add(others);
  return out;
}

class ExtremeNumbersTest : public ::testing::TestWithParam<int> {};

// A variance over 0..1e200 once passed the parser and stopped a coordinator at every start.
TEST_P(ExtremeNumbersTest, AJobWithAnyNumberAtAnExtremeIsRefusedOrEndsInWords) {
  constexpr int kParts = 2;
  const tests::TemporaryFolder folder;
  const auto federations = every_federation();
  std::map<std::string, int> outcomes;
  std::size_t next = 0;
  for (std::size_t f = static_cast<std::size_t>(GetParam()); f < federations.size(); f += kParts) {
    auto [name, federation, patch] = federations[f];
    federation.equal = true;  // silos that are alike are planned once
    SCOPED_TRACE(name);
    const std::vector<simulation::SimulatedSilo> silos = federation.cohort();
    const Json job = Json::parse(federation.job());
    std::vector<std::string> places;
    find_numbers(job, "", places);
    ASSERT_GT(places.size(), 5U);
    for (const std::string& place : places) {
      for (std::size_t i = 0; i < extremes_a_place(); ++i) {
        const Json& extreme = kExtremes[next++ % kExtremes.size()];
        Json changed = job;
        changed[Pointer(place)] = extreme;
        const std::string text = changed.dump();
        const Result<std::string> outcome =
            contained("the job", [&] { return outcome_of(text, silos, folder.path()); });
        EXPECT_TRUE(outcome) << place << " = " << extreme << ": " << (outcome ? "" : outcome.error().message);
        if (outcome) ++outcomes[*outcome];
      }
    }
  }
  EXPECT_GT(outcomes["refused"], 100);
  EXPECT_GT(outcomes["ran"], 100);
  for (const auto& [what, count] : outcomes) RecordProperty(what, count);
}

// A reading found jobs that broke an invariant by two numbers at once, where every test changed one.
TEST(UnusualNumbersTest, AJobWithTwoNumbersAtAnExtremeIsRefusedOrEndsInWords) {
  const tests::TemporaryFolder folder;
  RandomSource random(20261127);
  std::map<std::string, int> outcomes;
  for (auto& [name, federation, patch] : unusual_federations()) {
    federation.equal = true;
    SCOPED_TRACE(name);
    const std::vector<simulation::SimulatedSilo> silos = federation.cohort();
    Json job = Json::parse(federation.job());
    job.update(patch);
    digest_start(job);
    std::vector<std::string> places;
    find_numbers(job, "", places);
    const auto ends = [&](const Json& changed) {
      const std::string text = changed.dump();
      const Result<std::string> outcome = contained("the job", [&] { return outcome_of(text, silos, folder.path()); });
      EXPECT_TRUE(outcome) << changed.dump() << ": " << (outcome ? "" : outcome.error().message);
      if (outcome) ++outcomes[*outcome];
    };
    ends(job);
    const int pairs = std::getenv("UNDERTONE_EXTREMES") != nullptr ? 3000 : 60;
    for (int i = 0; i < pairs; ++i) {
      Json changed = job;
      for (int place = 0; place < 2; ++place)
        changed[Pointer(places[random.below(places.size())])] = kLargeAndSmall[random.below(kLargeAndSmall.size())];
      digest_start(changed);
      ends(changed);
    }
  }
  EXPECT_GT(outcomes["refused"], 100);
  EXPECT_GT(outcomes["ran"] + outcomes["ended in words"] + outcomes["planned"], 40);
}

INSTANTIATE_TEST_SUITE_P(Parts, ExtremeNumbersTest, ::testing::Values(0, 1));

}  // namespace
}  // namespace undertone
