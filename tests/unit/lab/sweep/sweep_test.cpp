#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/sweep/selection.hpp"
#include "lab/sweep/split_summary.hpp"
#include "lab/sweep/sweep_command.hpp"
#include "lab/sweep/sweep_plan.hpp"
#include "shared/base/files.hpp"
#include "shared/data/csv_table.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::lab {
namespace {

constexpr const char* kGood = R"({"format":"undertone.sweep/1","job":"a.json","first_seed":7,"seeds":3,
  "vary":[{"set":"/x","values":[1,2.5]},{"set":"/list/*/y","values":["a","b","c",true]}]})";

TEST(SweepPlanTest, EveryCombinationIsOneRun) {
  const SweepPlan plan = parse_sweep(kGood, "folder/sweep.json").value();
  EXPECT_EQ(plan.job, std::filesystem::path("folder/a.json"));
  ASSERT_EQ(plan.cells(), 24U);  // 2 x 4 x 3 seeds
  std::set<std::string> seen;
  for (std::size_t i = 0; i < 24; ++i) {
    const SweepCell cell = cell_of(plan, i);
    EXPECT_GE(cell.seed, 7U);
    EXPECT_LE(cell.seed, 9U);
    seen.insert(cell.values[0].dump() + cell.values[1].dump() + std::to_string(cell.seed));
  }
  EXPECT_EQ(seen.size(), 24U);
  EXPECT_EQ(cell_of(plan, 1).seed, 8U);        // seeds change fastest
  EXPECT_EQ(cell_of(plan, 3).values[1], "b");  // then the last axis
  EXPECT_EQ(cell_of(plan, 12).values[0], 2.5);
}

TEST(SweepPlanTest, AssignmentsNameEveryElement) {
  const SweepPlan plan = parse_sweep(kGood, "sweep.json").value();
  const auto job = nlohmann::json::parse(R"({"x":0,"list":[{"y":"u"},{"y":"v"}]})");
  const std::vector<std::string> set = assignments_of(plan, cell_of(plan, 3), job).value();
  EXPECT_EQ(set, (std::vector<std::string>{"/x=1", "/list/0/y=\"b\"", "/list/1/y=\"b\""}));
  for (const char* other : {R"({"x":0})", R"({"x":0,"list":{}})", R"({"list":[{"y":1}]})", R"({"x":0,"list":[{}]})"}) {
    const auto refused = assignments_of(plan, cell_of(plan, 0), nlohmann::json::parse(other));
    ASSERT_FALSE(refused) << other;
    EXPECT_NE(refused.error().message.find("the job has no such value"), std::string::npos);
  }
}

TEST(SweepPlanTest, RefusesWhatIsNoSweepWithEveryProblem) {
  const auto says = [](const std::string& text, const std::string& what) {
    const Result<SweepPlan> plan = parse_sweep(text, "sweep.json");
    ASSERT_FALSE(plan) << text;
    EXPECT_NE(plan.error().message.find(what), std::string::npos) << plan.error().message;
  };
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kGood;
    return text.replace(text.find(from), from.size(), to);
  };
  says(with("\"seeds\":3", "\"seeds\":0"), "/seeds: expected an integer from 1");
  says(with("[1,2.5]", "[]"), "/vary/0/values: expected an array of 1 to");
  says(with("[1,2.5]", "[null]"), "/vary/0/values: expected numbers");
  says(with("[1,2.5]", "[[1]]"), "/vary/0/values: expected numbers");
  says(with("\"/x\"", "\"x\""), "/vary/0/set: expected a pointer");
  says(with("\"/x\"", "\"/cohort/*/records\""), "/vary/0/set: a sweep keeps");
  says(with("\"/x\"", "\"/simulation/csv\""), "/vary/0/set: a sweep keeps");
  says(with("\"set\":\"/x\",", ""), "/vary/0/set: missing");
  says(with("\"values\":[1,2.5]", "\"values\":[1],\"more\":1"), "/vary/0/more: unknown key");
  says(with("undertone.sweep/1", "undertone.sweep/2"), "/format");
  std::string many = "[0";
  for (int i = 1; i < 9000; ++i) many += "," + std::to_string(i);
  std::string text = with("[1,2.5]", many + "]");
  text.replace(text.find("[\"a\",\"b\",\"c\",true]"), 18, many + "]");
  says(text, "more than 1000000 runs");
}

constexpr const char* kCrossValidated = R"({"format":"undertone.sweep/1","job":"JOB","first_seed":1,"seeds":2,
  "vary":[{"set":"/simulation/partition_seed","values":[1,2,3]},{"set":"/algorithm/step_size","values":[0.5,2]}]})";

TEST(SplitSweepTest, TheSeedsOfTheSplitMayVaryAndNothingElseOfTheData) {
  const SweepPlan plan = parse_sweep(kCrossValidated, "sweep.json").value();
  EXPECT_TRUE(plan.varies_split());
  EXPECT_TRUE(plan.axes[0].of_split());
  EXPECT_FALSE(plan.axes[1].of_split());
  const auto job = nlohmann::json::parse(R"({"simulation":{"partition_seed":7},"algorithm":{"step_size":1}})");
  EXPECT_EQ(assignments_of(plan, cell_of(plan, 5), job).value(),
            (std::vector<std::string>{"/simulation/partition_seed=2", "/algorithm/step_size=0.5"}));
  EXPECT_EQ(assignments_of(plan, cell_of(plan, 5), job, true).value(),
            (std::vector<std::string>{"/simulation/partition_seed=2"}));
  for (const char* other :
       {"/simulation/partition", "/simulation", "/simulation/holdout_fraction", "/cohort/0/count"}) {
    std::string changed = kCrossValidated;
    changed.replace(changed.find("/simulation/partition_seed"), 26, other);
    EXPECT_FALSE(parse_sweep(changed, "sweep.json")) << other;
  }
  std::string paid = kCrossValidated;
  paid.replace(paid.find("\"seeds\":2,"), 10,
               R"("seeds":1,"selection":{"rule":"poisson","mean":3,"score":"loss","better":"smaller","seed":3},)");
  const Result<SweepPlan> refused = parse_sweep(paid, "sweep.json");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("/selection: expected no axis that varies the split"), std::string::npos);
}

TEST(SplitSummaryTest, GivesTheMeanOverSplitsAndItsStandardError) {
  const SweepPlan plan = parse_sweep(kCrossValidated, "sweep.json").value();
  SplitSummary summary(plan, {"loss"});
  // Step 0.5: split means 1, 3 and 8, of which the mean is 4, the variance (9 + 1 + 16) / 2 = 13, the error sqrt(13/3).
  const double losses[3][2] = {{0.5, 1.5}, {3.0, 3.0}, {6.0, 10.0}};
  for (int split = 0; split < 3; ++split) {
    for (const double step : {0.5, 2.0}) {
      for (int seed = 0; seed < 2; ++seed) {
        nlohmann::json line = {{"set", {{"/simulation/partition_seed", split + 1}, {"/algorithm/step_size", step}}}};
        if (step == 0.5) {
          line["result"]["loss"] = losses[split][seed];
        } else if (split == 1) {
          line["result"]["loss"] = 2.0;
        } else {
          line["error"] = "diverged";
        }
        summary.add(line);
      }
    }
  }
  const data::CsvTable table = data::parse_csv(summary.csv(), "splits.csv").value();
  EXPECT_EQ(table.header, (std::vector<std::string>{"/algorithm/step_size", "splits", "runs", "failed", "loss",
                                                    "loss_standard_error"}));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0][0], "0.5");
  EXPECT_EQ(table.rows[0][3], "0");
  EXPECT_DOUBLE_EQ(std::stod(table.rows[0][4]), 4.0);
  EXPECT_DOUBLE_EQ(std::stod(table.rows[0][5]), std::sqrt(13.0 / 3.0));
  // Four of six runs failed, all those of two splits: the one that is left says nothing of the spread.
  EXPECT_EQ(table.rows[1], (std::vector<std::string>{"2.0", "1", "6", "4", "2", ""}));
}

TEST(SplitSweepTest, EverySplitTrainsOnRecordsOfItsOwnAndThreadsChangeNothing) {
  tests::TemporaryFolder folder;
  std::string file = kCrossValidated;
  file.replace(file.find("JOB"), 3, std::string(UNDERTONE_JOBS) + "/breast-cancer.json");
  ASSERT_TRUE(write_file_atomically(folder.path() / "sweep.json", file));
  std::string lines;
  for (const std::size_t threads : {1, 3}) {
    const std::filesystem::path out = folder.path() / std::to_string(threads);
    ASSERT_EQ(run_sweep({folder.path() / "sweep.json", out, threads}), 0);
    const std::string made = read_file(out / "sweep.jsonl", 1U << 20U).value();
    if (!lines.empty()) {
      EXPECT_EQ(made, lines);
    }
    lines = made;
  }
  std::set<std::string> losses;  // of one seed and step
  for (std::size_t from = lines.find('\n') + 1; from < lines.size(); from = lines.find('\n', from) + 1) {
    const auto line = nlohmann::json::parse(lines.substr(from, lines.find('\n', from) - from));
    ASSERT_TRUE(line.contains("result")) << line;
    if (line["seed"] == 1 && line["set"]["/algorithm/step_size"] == 2) losses.insert(line["result"]["loss"].dump());
  }
  EXPECT_EQ(losses.size(), 3U);
  const data::CsvTable table =
      data::parse_csv(read_file(folder.path() / "1" / "splits.csv", 1U << 20U).value(), "splits.csv").value();
  ASSERT_EQ(table.rows.size(), 2U);
  for (const std::vector<std::string>& row : table.rows) EXPECT_EQ(row[1], "3");
}

jobs::Job job_of(const tests::SmallFederation& federation) {
  nlohmann::json job = nlohmann::json::parse(federation.job());
  for (nlohmann::json& member : job["cohort"]) {
    member["epsilon"] = std::min(member["epsilon"].get<double>(), 1.0);
    member["delta"] = 1e-5;
  }
  return jobs::parse_job(job.dump(), "job").value();
}

TEST(SelectionTest, CostsMoreThanARunAndLessThanThreeAndKnowsGaussianReleases) {
  const lab::RunsRule geometric = lab::NegativeBinomialRuns::create(1.0, 0.1).value();
  tests::SmallFederation whole;
  const SelectionPrice gaussian = price_of(geometric, {job_of(whole)}).value();
  EXPECT_EQ(gaussian.bound, "of Gaussian releases");
  EXPECT_EQ(gaussian.base_epsilon, 1.0);  // the silo that pays most
  EXPECT_GT(gaussian.epsilon, 1.0);
  EXPECT_LT(gaussian.epsilon, 3.0);
  EXPECT_GE(gaussian.delta, gaussian.base_delta);
  EXPECT_DOUBLE_EQ(gaussian.runs_mean, 10.0);
  tests::SmallFederation sampled;
  sampled.draw_fraction = 0.5;
  const SelectionPrice any = price_of(geometric, {job_of(sampled)}).value();
  EXPECT_EQ(any.bound, "of any (epsilon, delta) base");
  EXPECT_GT(any.epsilon, gaussian.epsilon);
  EXPECT_NEAR(any.delta, 10.0 * any.base_delta, 1e-12);
  // One combination that draws is enough to lose the Gaussian bound.
  EXPECT_EQ(price_of(geometric, {job_of(whole), job_of(sampled)}).value().bound, any.bound);
}

TEST(SelectionTest, DrawsCombinationsWithNoiseOfTheirOwn) {
  const std::string file = R"({"format":"undertone.sweep/1","job":"a.json","first_seed":7,"seeds":1,
    "vary":[{"set":"/x","values":[1,2,3]}],
    "selection":{"rule":"negative_binomial","shape":1,"stopping":0.02,"score":"loss","better":"smaller","seed":3}})";
  const SweepPlan plan = parse_sweep(file, "sweep.json").value();
  const std::vector<SweepCell> cells = drawn_cells(plan);
  ASSERT_FALSE(cells.empty());
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(cells[i].index, i);
    EXPECT_TRUE(seeds.insert(cells[i].seed).second);
  }
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = file;
    changed.replace(changed.find(from), from.size(), to);
    const Result<SweepPlan> parsed = parse_sweep(changed, "sweep.json");
    return parsed ? std::string("accepted") : parsed.error().message;
  };
  EXPECT_NE(with("\"seeds\":1", "\"seeds\":2").find("/seeds"), std::string::npos);
  EXPECT_NE(with("\"stopping\":0.02", "\"stopping\":0").find("/selection/stopping"), std::string::npos);
  EXPECT_NE(with("\"first_seed\":7", "\"noise\":\"none\",\"first_seed\":7").find("/selection"), std::string::npos);
}

}  // namespace
}  // namespace undertone::lab
