#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

#include "shared/base/files.hpp"
#include "shared/base/random_source.hpp"
#include "simulation/dealt_data.hpp"
#include "simulation/simulate.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::simulation {
namespace {

using Json = nlohmann::json;

/// Visits of 60 patients at random places of a file, and a job that protects patients.
class SimulatedPersonsTest : public testing::Test {
 protected:
  SimulatedPersonsTest() {
    RandomSource random(4);
    std::vector<std::string> rows;
    for (int patient = 0; patient < 60; ++patient) {
      const std::uint64_t visits = 1 + random.below(12);
      const double level = 2.0 * random.unit() - 1.0;
      for (std::uint64_t visit = 0; visit < visits; ++visit)
        rows.push_back(
            fmt::format("p{},{:.3f},{}\n", patient, level, random.unit() < 0.5 + 0.5 * level ? "yes" : "no"));
    }
    std::ofstream file(folder_.path() / "visits.csv");
    file << "patient,marker,back\n";
    for (const std::size_t row : random.permutation(rows.size())) file << rows[row];
  }

  [[nodiscard]] Json job() const {
    Json out = Json::parse(R"({"format":"undertone.job/1","name":"visits",
      "data":{"label":{"column":"back","negative":"no","positive":"yes"},"features":[{"column":"marker","min":-1,"max":1}]},
      "model":{"kind":"logistic","intercept":true},"domain":{"kind":"l2_ball","radius":5},"regulariser":{"kind":"none"},
      "algorithm":{"kind":"noisy_minibatch_sgd","rounds":8,"step_size":1,"averaging":"last","draw_fraction":0.5},
      "privacy":{"mode":"isrl","unit":"person","noise":"test","clip_norm":0.5,
                 "person":{"contribution":"clipped_mean","records_max":4}},
      "cohort":[{"silo":"a","persons":16,"holdout_persons":4,"holdout_public":false,"epsilon":4,"delta":1e-4},
                {"silo":"b","persons":16,"holdout_persons":4,"holdout_public":true,"epsilon":4,"delta":1e-4},
                {"silo":"c","persons":16,"holdout_persons":4,"holdout_public":true,"epsilon":4,"delta":1e-4}],
      "participation":{"quorum":2,"join_deadline_ms":8000,"round_deadline_ms":4000,"resend_ms":300},
      "evaluation":{"every":4},"wire":{"points":"f64","replies":"i64","reply_step_log2":-40},
      "simulation":{"csv":"visits.csv","person_column":"patient","partition_seed":1,"holdout_fraction":0.2}})");
    return out;
  }
  [[nodiscard]] SimulateOptions options(const Json& job, bool direct = false) const {
    const std::filesystem::path file = folder_.path() / "job.json";
    std::ofstream(file) << job.dump(1);
    SimulateOptions out;
    out.job = file;
    out.seed = 3;
    out.direct = direct;
    return out;
  }

  tests::TemporaryFolder folder_;
};

TEST_F(SimulatedPersonsTest, AWholeFederationOfPersonsRunsAndIsTheSameAgain) {
  const Result<algorithms::Outcome> outcome = simulate(options(job()), std::nullopt, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->metrics.size(), 2U);
  const Result<algorithms::Outcome> again = simulate(options(job()), std::nullopt, {});
  EXPECT_EQ(outcome->vectors.at("weights"), again->vectors.at("weights"));
}

TEST_F(SimulatedPersonsTest, PersonsAreDealtWholeAndToOneSiloEach) {
  const std::string text = job().dump();
  const jobs::Job parsed = jobs::parse_job(text, "job.json").value();
  const DealtData dealt = DealtData::deal(parsed, folder_.path() / "job.json").value();
  std::map<std::string, std::size_t> silo_of;
  std::size_t rows = 0;
  for (std::size_t silo = 0; silo < 3; ++silo) {
    std::set<std::string> here;
    for (const std::vector<std::string>& row : dealt.file_of(silo).rows) {
      here.insert(row[0]);
      EXPECT_EQ(silo_of.emplace(row[0], silo).first->second, silo);
      ++rows;
    }
    EXPECT_EQ(here.size(), 20U);
  }
  EXPECT_EQ(silo_of.size(), 60U);
  const std::string file = read_file(folder_.path() / "visits.csv", 1U << 20U).value();
  EXPECT_EQ(static_cast<std::ptrdiff_t>(rows), std::count(file.begin(), file.end(), '\n') - 1);
}

/// A statistic of persons is the mean over them of the mean over each one's records: by hand, from the file.
TEST_F(SimulatedPersonsTest, StatisticsAreOfPersonsEachByTheMeanOverHerRecords) {
  Json asked = job();
  for (const char* key : {"model", "domain", "regulariser", "algorithm", "evaluation", "wire"}) asked.erase(key);
  asked["privacy"] =
      Json::parse(R"({"mode":"isrl","unit":"person","noise":"test","person":{"records_max":64},"silos_per_person":1})");
  asked["statistics"] = Json::parse(R"({"noise":"laplace","sampling_intervals":true,"questions":[
      {"kind":"mean","column":"marker"},{"kind":"variance","column":"marker"},
      {"kind":"count","column":"back","value":"yes"},
      {"kind":"histogram","column":"marker","edges":[-1,0,1]},
      {"kind":"quantiles","column":"marker","edges":[-1,-0.5,0,0.5,1],"probabilities":[0.5]}]})");
  for (Json& member : asked["cohort"]) {
    member["epsilon"] = 25;  // so that an answer is nearly what it is of
    member["persons"] = 20;
    member["holdout_persons"] = 0;
    member["holdout_public"] = true;
  }
  asked["simulation"]["holdout_fraction"] = 0;
  // Persons of the file, each by her marker and the share of her visits that end so.
  std::map<std::string, std::vector<std::pair<double, bool>>> visits;
  std::ifstream file(folder_.path() / "visits.csv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const std::size_t first = line.find(',');
    const std::size_t second = line.find(',', first + 1);
    visits[line.substr(0, first)].emplace_back(std::stod(line.substr(first + 1, second - first - 1)),
                                               line.substr(second + 1) == "yes");
  }
  double marker = 0.0;
  double yes = 0.0;
  double positive = 0.0;
  for (const auto& [person, own] : visits) {
    marker += own.front().first;
    for (const auto& [level, back] : own) yes += (back ? 1.0 : 0.0) / static_cast<double>(own.size());
    positive += own.front().first > 0.0 ? 1.0 : 0.0;
  }
  const std::filesystem::path out = folder_.path() / "out";
  const Result<algorithms::Outcome> outcome = simulate(options(asked), out, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(outcome->statistics.size(), 5U);
  EXPECT_NEAR(outcome->statistics[0].value, marker / 60.0, 0.08);
  EXPECT_NEAR(outcome->statistics[2].value, yes, 2.0);
  EXPECT_GT(std::abs(outcome->statistics[2].value - std::nearbyint(outcome->statistics[2].value)), 1e-6);
  EXPECT_EQ(outcome->statistics[3].records, 60);
  const Json result = Json::parse(read_file(out / "result.json", 1U << 22U).value());
  const auto estimate = [&](std::size_t question, std::size_t number) {
    return result.at("statistics").at(question).at("estimates").at(number);
  };
  EXPECT_EQ(result.at("statistics").at(2).at("unit"), "person");
  EXPECT_EQ(estimate(2, 0).at("method"), "score");
  EXPECT_NE(estimate(2, 0).at("note").get<std::string>().find("of persons"), std::string::npos);
  EXPECT_NEAR(estimate(3, 1).at("value").get<double>(), positive, 3.0);
  EXPECT_LT(estimate(2, 0).at("population_interval").at(0).get<double>(), yes);
  EXPECT_GT(estimate(2, 0).at("population_interval").at(1).get<double>(), yes);
  EXPECT_TRUE(std::abs(estimate(4, 0).at("value").get<double>()) <= 0.5);
}

/// Secret parts, bins and draws are of persons.
TEST_F(SimulatedPersonsTest, PartsBinsAndDrawsAreOfPersons) {
  for (const char* algorithm :
       {R"({"kind":"proximal_sgd","parts":"bins","rounds":4,"step_size":0.5})",
        R"({"kind":"proximal_sgd","parts":"secret_permutation","rounds":4,"step_size":0.5})",
        R"({"kind":"proximal_sgd","rounds":4,"step_size":0.5})",
        R"({"kind":"spider_alternate","pairs":2,"step_size":0.4,"draw_fraction":1,"seed":5})"}) {
    Json changed = job();
    changed["algorithm"] = Json::parse(algorithm);
    if (changed["algorithm"]["kind"] == "spider_alternate") changed["domain"] = {{"kind", "whole_space"}};
    const Result<algorithms::Outcome> outcome = simulate(options(changed), std::nullopt, {});
    EXPECT_TRUE(outcome) << algorithm << ": " << outcome.error().message;
  }
}

TEST_F(SimulatedPersonsTest, WhatDealsRecordsRefusesPersonsInWords) {
  Json changed = job();
  changed["simulation"].erase("person_column");
  EXPECT_NE(simulate(options(changed), std::nullopt, {}).error().message.find("person_column"), std::string::npos);
  changed = job();
  changed["simulation"]["partition"] = "by_target";
  EXPECT_NE(simulate(options(changed), std::nullopt, {}).error().message.find("expected \"random\""),
            std::string::npos);
  changed = job();
  changed["simulation"]["person_column"] = "nobody";
  EXPECT_FALSE(simulate(options(changed), std::nullopt, {}));
}

/// Without messages and ledgers, as sweeps and baselines are: of few records a person all are read, so that no draw
/// makes a difference.
TEST_F(SimulatedPersonsTest, DirectSimulationsAreOfPersonsToo) {
  Json changed = job();
  changed["privacy"]["person"]["records_max"] = 16;
  const Result<algorithms::Outcome> direct = simulate(options(changed, true), std::nullopt, {});
  ASSERT_TRUE(direct) << direct.error().message;
  EXPECT_EQ(direct->metrics.size(), 2U);
  EXPECT_TRUE(direct->vectors.at("weights").allFinite());
  EXPECT_TRUE(simulate_without_privacy(options(changed).job));
}

}  // namespace
}  // namespace undertone::simulation
