#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/base/files.hpp"
#include "silo/agent/privacy_statement.hpp"
#include "tests/support/of_persons.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::silo {
namespace {

PrivacyStatement statement_of(const jobs::Job& job) {
  const jobs::CohortMember& member = job.cohort.front();
  const planning::Plan plan = jobs::plan_of(job, member).value();
  return make_statement(member.facts.silo, "heart", RunId{}, job, plan, member.facts, RunAccount{},
                        std::chrono::milliseconds(0), crypto::NoiseKind::Secure);
}

nlohmann::json worked_job() {
  const std::filesystem::path root = UNDERTONE_SOURCE_DIR;
  return nlohmann::json::parse(
      read_file(root / "configs/jobs/breast-cancer-moments-and-tables.json", 1U << 20U).value());
}

TEST(StatisticsStatementTest, GaussianTotalsAreSaidToBeWhatTheyAre) {
  const PrivacyStatement statement = statement_of(jobs::parse_job(worked_job().dump(), "job.json").value());
  const std::string mechanism = nlohmann::json::parse(statement.json).at("mechanism").get<std::string>();
  EXPECT_NE(mechanism.find("on counts of records"), std::string::npos) << mechanism;
  EXPECT_NE(mechanism.find("on integer totals of encoded numbers clamped to [-1, 1]"), std::string::npos) << mechanism;
  EXPECT_EQ(mechanism.find("clipped"), std::string::npos) << mechanism;
  EXPECT_NE(statement.text.find("chosen by the accountant"), std::string::npos);
}

TEST(StatisticsStatementTest, NoiseOfWantedWidthsIsTheJobs) {
  nlohmann::json job = worked_job();
  job["statistics"]["budget"] = "half_widths";
  job["statistics"]["questions"] = nlohmann::json::array(
      {{{"kind", "histogram"}, {"column", "area_mean"}, {"edges", {0, 500, 3000}}, {"half_width", 40}}});
  const PrivacyStatement statement = statement_of(jobs::parse_job(job.dump(), "job.json").value());
  EXPECT_NE(statement.text.find("chosen by the job, by the widths that it asks for"), std::string::npos);
  // What rho is promised nothing of (epsilon, delta) says: noise is then never the job's.
  for (nlohmann::json& silo : job["cohort"]) {
    silo.erase("epsilon");
    silo["rho"] = 0.05;
  }
  const Result<jobs::Job> concentrated = jobs::parse_job(job.dump(), "job.json");
  const std::string said = !concentrated ? concentrated.error().message
                                         : jobs::plan_of(*concentrated, concentrated->cohort.front()).error().message;
  EXPECT_NE(said.find("expected no rho"), std::string::npos) << said;
}

/// A person adds to each answer what its question asks of her, and the statement says each way.
TEST(StatisticsStatementTest, SaysInWhichWaysPersonsContribute) {
  tests::SmallFederation federation;
  federation.statistics = R"({"questions":[{"kind":"records_per_person"},
    {"kind":"mean","column":"x1","persons":"total"},{"kind":"count","column":"y","value":"yes","persons":"any"},
    {"kind":"mean","column":"x2"},{"kind":"count","column":"y","value":"yes","persons":"total"}]})";
  const jobs::Job job = jobs::parse_job(tests::of_persons(federation).dump(), "job.json").value();
  const std::string text = statement_of(job).text;
  for (const char* said :
       {"1 to the cell of how many records she has, where more than 8 count as 8; to other answers the sum over 8",
        "1 to every cell that one of 8", "the mean over 8 of her records at most", "counts of persons by how many",
        "counts of persons, each in every cell", "integer totals of their encoded numbers",
        "persons' means of encoded"})
    EXPECT_NE(text.find(said), std::string::npos) << said << "\n" << text;
  EXPECT_EQ(text.find("without an id"), std::string::npos);
  const jobs::CohortMember& member = job.cohort.front();
  const PrivacyStatement alone =
      make_statement(member.facts.silo, "heart", RunId{}, job, jobs::plan_of(job, member).value(), member.facts,
                     RunAccount{}, std::chrono::milliseconds(0), crypto::NoiseKind::Secure, {.alone = true});
  EXPECT_NE(alone.text.find("however many, or one record without an id"), std::string::npos);
  EXPECT_NE(alone.text.find("several records without an id: each of them is protected by itself"), std::string::npos);
}

TEST(StatementTest, SaysWhatLeavesExactlyBesideTheNoise) {
  tests::SmallFederation federation;
  federation.public_records = 5;
  const auto mechanism_of = [&] {
    const PrivacyStatement statement = statement_of(jobs::parse_job(federation.job(), "job.json").value());
    const std::string in_json = nlohmann::json::parse(statement.json).at("mechanism").get<std::string>();
    const std::size_t line = statement.text.find("mechanism");
    return std::pair(in_json, statement.text.substr(line, statement.text.find('\n', line) - line));
  };
  constexpr const char* kBeside = "beside it, exactly, the mean over 5 records that their owner declared public";
  const auto without = mechanism_of();
  EXPECT_EQ(without.first.find(kBeside), std::string::npos);
  EXPECT_EQ(without.second.find(kBeside), std::string::npos);
  federation.open_records = R"({"silos":true,"weight":0.5})";
  const auto with = mechanism_of();
  EXPECT_NE(with.first.find(kBeside), std::string::npos) << with.first;
  EXPECT_NE(with.second.find(kBeside), std::string::npos) << with.second;
}

nlohmann::json objective_job() {
  const std::filesystem::path root = UNDERTONE_SOURCE_DIR;
  return nlohmann::json::parse(read_file(root / "configs/jobs/breast-cancer-objective.json", 1U << 20U).value());
}

TEST(StatementTest, APerturbedObjectiveIsSaidToBeOneAndPromisesNothingOfManyRecords) {
  const PrivacyStatement statement = statement_of(jobs::parse_job(objective_job().dump(), "job.json").value());
  const nlohmann::json said = nlohmann::json::parse(statement.json);
  const std::string mechanism = said.at("mechanism").get<std::string>();
  EXPECT_NE(mechanism.find("objective perturbation"), std::string::npos) << mechanism;
  EXPECT_NE(mechanism.find("but for a probability"), std::string::npos) << mechanism;
  // A failure times what many records make of it is no small probability.
  for (const nlohmann::json& group : said.at("persons")) EXPECT_TRUE(group.at("epsilon").is_null());
  EXPECT_NE(statement.text.find("with 5 or 10 or 20 of the records as good as none"), std::string::npos)
      << statement.text;
}

TEST(StatementTest, SelectionsAlongPathsAndASilosOwnAreSaidToBeSelections) {
  for (
      const char* algorithm :
      {R"({"kind":"one_shot_frank_wolfe","iterates":6,"vertices":{"kind":"l1_ball","radius":4}})",
       R"({"kind":"private_tree_frank_wolfe","depth":2,"smoothness":0.25,"vertices":{"kind":"l1_ball","radius":4}})"}) {
    nlohmann::json job = objective_job();
    job["algorithm"] = nlohmann::json::parse(algorithm);
    job["domain"] = {{"kind", "l1_ball"}, {"radius", 4}};
    job["privacy"]["coordinate_bound"] = 1;
    job["privacy"].erase("clip_norm");
    const PrivacyStatement statement = statement_of(jobs::parse_job(job.dump(), "job.json").value());
    EXPECT_NE(statement.text.find("exponential mechanism on integer scores"), std::string::npos) << statement.text;
    EXPECT_NE(statement.text.find("how long a selection takes depends on the records"), std::string::npos);
  }
}

}  // namespace
}  // namespace undertone::silo
