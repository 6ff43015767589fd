#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "lab/report/epsilon_spent.hpp"
#include "lab/report/html.hpp"
#include "lab/report/page_assets.hpp"
#include "lab/report/report_charts.hpp"
#include "lab/report/report_command.hpp"
#include "lab/report/report_page.hpp"
#include "shared/base/digest.hpp"
#include "shared/base/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;
using tests::TemporaryFolder;

const std::string kRun(96, 'a');

Json privacy_row(const std::string& silo, double epsilon) {
  return {{"silo", silo},
          {"took_part", true},
          {"epsilon", epsilon},
          {"delta", 1e-5},
          {"epsilon_odometer", epsilon / 2},
          {"replies_accepted", 2},
          {"unit", "record"},
          {"adjacency", "replace_one"},
          {"mechanism", "Gaussian"},
          {"accountant", "exact Gaussian"},
          {"noise", {{{"kind", "gradient"}, {"records", 90}, {"stddev_of_mean", 0.25}, {"public_records", false}}}},
          {"statement", "as planned from public facts"}};
}

/// Two rounds of training and an evaluation, of two silos, with secure noise.
Json result() {
  return {{"format", "undertone.result/1"},
          {"job", {{"name", "lakes"}, {"sha256", std::string(64, 'b')}}},
          {"run", kRun},
          {"succeeded", true},
          {"settings", {{"model", "logistic"}, {"step_size", 0.5}, {"noise", "secure"}, {"mode", "tcp"}}},
          {"rounds", 3},
          {"metrics", {{{"after_steps", 2}, {"silos", 2}, {"loss", 0.25}, {"accuracy", 0.875}}}},
          {"privacy", {privacy_row("clinic-1", 1.0), privacy_row("clinic-2", 2.0)}},
          {"participation",
           {{{"round", 0}, {"answered", {"clinic-1", "clinic-2"}}, {"missing", Json::array()}},
            {{"round", 1}, {"answered", {"clinic-1"}}, {"missing", {"clinic-2"}}},
            {{"round", 2}, {"answered", {"clinic-1", "clinic-2"}}, {"missing", Json::array()}}}}};
}

RunResult parsed(const Json& json) { return parse_run_result(json.dump(), "result.json").value(); }

std::string page_of(const Json& json) {
  ReportedRun run;
  run.name = "lakes";
  run.result = parsed(json);
  return report_page({run});
}

bool contains(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

std::string problem_of(const Json& json) {
  const auto read = parse_run_result(json.dump(), "x/result.json");
  return read ? "accepted" : read.error().message;
}

void write(const std::filesystem::path& file, const std::string& content) {
  std::filesystem::create_directories(file.parent_path());
  ASSERT_TRUE(write_file_atomically(file, content).has_value());
}

TEST(RunResultTest, ReadsWhatAReportShows) {
  const RunResult read = parsed(result());
  EXPECT_EQ(read.job, "lakes");
  EXPECT_EQ(read.setting("step_size"), "0.5");
  EXPECT_EQ(read.evaluations.at(0).error(), 0.125);  // 1 - 0.875
  EXPECT_EQ(read.privacy.at(1).epsilon, 2.0);
  EXPECT_EQ(read.participation.at(1).missing.at(0), "clinic-2");
  EXPECT_FALSE(read.is_void());
}

TEST(RunResultTest, NamesFileAndFieldOfEveryProblem) {
  Json wrong = result();
  wrong["rounds"] = -1;
  wrong["privacy"][1]["epsilon"] = "two";
  wrong["metrics"][0]["loss"] = "high";
  wrong["participation"][2].erase("missing");
  const std::string problems = problem_of(wrong);
  for (const char* problem : {"x/result.json: /rounds: expected an integer", "x/result.json: /privacy/1/epsilon: ",
                              "x/result.json: /metrics/0/loss: ", "x/result.json: /participation/2/missing: "})
    EXPECT_TRUE(contains(problems, problem)) << problems;
}

TEST(RunResultTest, RefusesWhatIsNoResult) {
  EXPECT_TRUE(contains(problem_of(Json::array()), "expected an object"));
  EXPECT_TRUE(contains(problem_of({{"format", "undertone.model/2"}}), "/format"));
  Json wrong = result();
  wrong["run"] = "../../etc";
  EXPECT_TRUE(contains(problem_of(wrong), "/run: expected 96 hexadecimal digits"));
  EXPECT_FALSE(parse_run_result("{", "x").has_value());
}

TEST(RunResultTest, AMetricThatIsNullIsLeftOut) {
  Json diverged = result();
  diverged["metrics"][0]["loss"] = nullptr;
  EXPECT_EQ(parsed(diverged).evaluations.at(0).metric("loss"), std::nullopt);
}

TEST(RunResultTest, IsVoidUnlessNoiseWasSecureAndSilosWereProcesses) {
  for (const auto& [pointer, value] :
       {std::pair("/settings/noise", "test"), std::pair("/settings/noise", "none"),
        std::pair("/settings/mode", "simulation"), std::pair("/privacy/0/statement", "VOID: seeded")}) {
    Json json = result();
    json[Json::json_pointer(pointer)] = value;
    EXPECT_TRUE(parsed(json).is_void()) << pointer;
    EXPECT_TRUE(contains(page_of(json), "<strong>VOID</strong>")) << pointer;
  }
  Json unsaid = result();
  unsaid["settings"].erase("noise");
  EXPECT_TRUE(parsed(unsaid).is_void());
  EXPECT_FALSE(contains(page_of(result()), "VOID"));
}

TEST(HtmlTest, EscapesWhatEndsTextsAndAttributes) {
  EXPECT_EQ(escape_html("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
  EXPECT_EQ(escape_html("a\n\tb\x1b[31m"), "a\n\tb?[31m");
}

TEST(HtmlTest, JsonCannotEndAScript) {
  const Json value = {{"name", "</script><script>alert(1)</script><!-- & \u2028"}};
  const std::string text = script_json(value);
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  EXPECT_EQ(Json::parse(text), value);
}

TEST(HtmlTest, TheHashIsThatOfThePolicy) {
  // printf abc | openssl dgst -sha256 -binary | base64
  EXPECT_EQ(content_hash("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
}

TEST(ReportPageTest, HoldsTheNumbersAsTables) {
  const std::string page = page_of(result());
  for (const char* text : {"<th scope=\"row\">clinic-2</th>", "<td class=\"number\">0.125</td>", "gradient: 0.25 (90)",
                           "<th scope=\"row\">2</th><td>clinic-1</td><td>clinic-2</td>", "<html lang=\"en\">",
                           "<caption>", "aria-label=\"Line chart: loss by steps"})
    EXPECT_TRUE(contains(page, text)) << text;
}

TEST(ReportPageTest, NamesNothingOutsideItself) {
  std::string page = page_of(result());
  const std::size_t library = page.find(kChartLibrary);
  ASSERT_NE(library, std::string::npos);
  page.erase(library, kChartLibrary.size());  // its licence names its authors' page, in a comment
  for (const char* outside : {"http:", "https:", "src=", "@import", "url(", "//cdn"})
    EXPECT_FALSE(contains(page, outside)) << outside;
  EXPECT_TRUE(contains(page, "default-src 'none'; script-src 'sha256-"));
  EXPECT_TRUE(contains(page, content_hash(kPageScript)));
  EXPECT_TRUE(contains(page, content_hash(kChartLibrary)));
  EXPECT_TRUE(contains(page, content_hash(kPageStyle)));
}

TEST(ReportPageTest, TheEmbeddedFilesCannotEndTheirElements) {
  for (const std::string_view part : {kPageScript, kChartLibrary, kPageStyle}) {
    EXPECT_FALSE(part.empty());
    EXPECT_EQ(part.find("</script"), std::string_view::npos);
    EXPECT_EQ(part.find("</style"), std::string_view::npos);
    EXPECT_EQ(part.find("<!--"), std::string_view::npos);
  }
}

TEST(ReportPageTest, EscapesEveryText) {
  const std::string evil = "</script><img src=x onerror=alert(1)>\"'";
  Json json = result();
  json["job"]["name"] = evil;
  json["succeeded"] = false;
  json["failure"] = evil;
  json["settings"]["model"] = evil;
  json["settings"][evil] = evil;
  json["metrics"][0][evil] = 1.0;
  json["participation"][0]["answered"][0] = evil;
  for (const char* key : {"silo", "unit", "adjacency", "mechanism", "accountant", "statement", "refusal"})
    json["privacy"][0][key] = evil;
  json["privacy"][0]["noise"][0]["kind"] = evil;
  ReportedRun run{evil, parsed(json), evil, evil, {{evil + "/statement.txt", evil}}};
  for (const std::string& page : {report_page({run}), report_page({run, run})}) {
    EXPECT_FALSE(contains(page, "<img"));
    EXPECT_FALSE(contains(page, "</script><img"));
    EXPECT_TRUE(contains(page, "&lt;img src=x onerror=alert(1)&gt;"));
  }
}

TEST(ReportPageTest, ComparesRunsBySettingsThatDiffer) {
  Json other = result();
  other["settings"]["step_size"] = 0.75;
  ReportedRun first{"a", parsed(result()), "", "", {}};
  ReportedRun second{"b", parsed(other), "", "", {}};
  const std::string page = report_page({first, second});
  const std::string comparison = page.substr(page.find("Comparison"), page.find("</table>") - page.find("Comparison"));
  EXPECT_TRUE(contains(comparison, "<th scope=\"col\">step_size</th>"));
  EXPECT_FALSE(contains(comparison, "<th scope=\"col\">model</th>"));
  EXPECT_TRUE(contains(comparison, "<a href=\"#run-1\">b</a>"));
  EXPECT_TRUE(contains(comparison, "<td class=\"number\">0.75</td>"));
  EXPECT_TRUE(contains(page, "id=\"run-1\""));
}

TEST(ReportPageTest, ARunWithoutEvaluationsHasAPage) {
  Json failed = result();
  failed["succeeded"] = false;
  failed["failure"] = "round 3: 1 reply at the deadline, quorum is 2";
  failed["metrics"] = Json::array();
  failed["participation"] = Json::array();
  failed["privacy"] = Json::array();
  const std::string page = page_of(failed);
  EXPECT_TRUE(contains(page, "failed: round 3: 1 reply at the deadline"));
  EXPECT_TRUE(contains(page, "No round closed."));
  EXPECT_FALSE(contains(page, "<script"));
}

TEST(ReportChartsTest, ThinsEvenlyAndKeepsTheLast) {
  EXPECT_EQ(thinned(0, 3), std::vector<std::size_t>());
  EXPECT_EQ(thinned(3, 3), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(thinned(7, 3), (std::vector<std::size_t>{0, 3, 6}));
  EXPECT_EQ(thinned(8, 3), (std::vector<std::size_t>{1, 4, 7}));
}

TEST(LoadRunsTest, TakesOneRunOrAllBelow) {
  const TemporaryFolder folder;
  write(folder.path() / "sweep" / "b" / "result.json", result().dump());
  write(folder.path() / "sweep" / "a" / "seed-1" / "result.json", result().dump());
  const auto several = load_runs(folder.path() / "sweep").value();
  ASSERT_EQ(several.size(), 2U);
  EXPECT_EQ(several[0].name, "a/seed-1");
  EXPECT_EQ(several[1].name, "b");
  const auto one = load_runs(folder.path() / "sweep" / "b").value();
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].name, "lakes");
  EXPECT_TRUE(contains(one[0].job_note, "no job.json"));
}

TEST(LoadRunsTest, FindsTheStatementsOfARunAndHeedsVoid) {
  const TemporaryFolder folder;
  write(folder.path() / "results" / "result.json", result().dump());
  write(folder.path() / "clinic-1" / "statements" / (kRun + ".txt"), "Privacy statement of clinic-1\n");
  write(folder.path() / "clinic-1" / "statements" / (std::string(96, 'c') + ".txt"), "of another run\n");
  const auto valid = load_runs(folder.path()).value();
  ASSERT_EQ(valid.at(0).statements.size(), 1U);
  EXPECT_EQ(valid[0].statements[0].file, "clinic-1/statements/" + kRun + ".txt");
  EXPECT_FALSE(valid[0].is_void());
  write(folder.path() / "clinic-2" / "statements" / (kRun + ".txt"), "VOID: this run's noise was seeded\n");
  const auto seeded = load_runs(folder.path()).value();
  ASSERT_EQ(seeded.at(0).statements.size(), 2U);
  EXPECT_TRUE(seeded[0].is_void());
}

TEST(LoadRunsTest, RefusesFoldersWithoutResultsAndFilesThatAreTooLarge) {
  const TemporaryFolder folder;
  EXPECT_TRUE(contains(load_runs(folder.path()).error().message, "no result.json in it or below it"));
  EXPECT_FALSE(load_runs(folder.path() / "nowhere").has_value());
  write(folder.path() / "result.json", "{}");
  std::filesystem::resize_file(folder.path() / "result.json", kResultBytesMax + 1);
  EXPECT_TRUE(contains(load_runs(folder.path()).error().message, "at most 67108864 are read"));
}

TEST(LoadRunsTest, NeitherWaitsForAPipeNorReadsADeviceToItsEnd) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/zero", folder.path() / "result.json");
  EXPECT_TRUE(contains(load_runs(folder.path()).error().message, "no result.json in it"));
  std::filesystem::remove(folder.path() / "result.json");
  ASSERT_EQ(::mkfifo((folder.path() / "result.json").c_str(), 0600), 0);
  EXPECT_TRUE(contains(load_runs(folder.path()).error().message, "no result.json in it"));
}

TEST(LoadRunsTest, FollowsNoLinkToAResultElsewhere) {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  write(elsewhere.path() / "result.json", "{}");
  std::filesystem::create_symlink(elsewhere.path() / "result.json", folder.path() / "result.json");
  EXPECT_TRUE(contains(load_runs(folder.path()).error().message, "no result.json in it"));
}

TEST(LoadRunsTest, RefusesMoreRunsThanAReportHolds) {
  const TemporaryFolder folder;
  for (std::size_t i = 0; i <= kRunsMax; ++i) {
    const std::filesystem::path run = folder.path() / std::to_string(i);
    std::filesystem::create_directories(run);
    std::fclose(std::fopen((run / "result.json").c_str(), "w"));
  }
  EXPECT_TRUE(contains(load_runs(folder.path()).error().message, "1001 runs, a report holds at most 1000"));
}

TEST(LoadRunsTest, RefusesAFolderThatTwoRunsWereWrittenInto) {
  const TemporaryFolder folder;
  write(folder.path() / "result.json", result().dump());
  write(folder.path() / "model.json", Json{{"run", kRun}}.dump());
  EXPECT_TRUE(load_runs(folder.path()).has_value());
  write(folder.path() / "model.json", Json{{"run", std::string(96, 'c')}}.dump());
  EXPECT_TRUE(contains(load_runs(folder.path()).error().message, "model.json: is of another run"));
  std::filesystem::remove(folder.path() / "model.json");
  write(folder.path() / "job.json", "{}");
  EXPECT_TRUE(contains(load_runs(folder.path()).error().message, "job.json: is another job"));
}

/// The worked job, and a result in which every silo answered every planned round.
struct WorkedRun {
  std::string bytes =
      read_file(std::string(UNDERTONE_SOURCE_DIR) + "/configs/jobs/breast-cancer.json", 1U << 20U).value();
  jobs::Job job = jobs::parse_job(bytes, "job.json").value();
  RunResult result = parsed(lab::result());

  WorkedRun() {
    result.participation.clear();
    result.evaluations.clear();
    const planning::Plan plan = jobs::plan_of(job, job.cohort.front()).value();
    std::uint64_t steps = 0;
    for (std::uint64_t round = 0; round < plan.rounds(); ++round) {
      ClosedRound& closed = result.participation.emplace_back();
      closed.round = round;
      for (const jobs::CohortMember& member : job.cohort) closed.answered.push_back(member.facts.silo.name());
      if (plan.release(RoundIndex{round})->shape.kind == releases::QuestionKind::Gradient) {
        ++steps;
      } else {
        result.evaluations.push_back({steps, job.cohort.size(), {{"loss", 0.5}}, std::nullopt});
      }
    }
  }
};

TEST(EpsilonSpentTest, EndsAtThePromisedEpsilonAndNeverFalls) {
  WorkedRun run;
  ASSERT_TRUE(add_epsilon_spent(run.result, run.job).has_value());
  double promised = 0.0;
  for (const jobs::CohortMember& member : run.job.cohort)
    promised = std::max(promised, jobs::plan_of(run.job, member).value().epsilon().value_rounded_up());
  double before = 0.0;
  for (const Evaluation& row : run.result.evaluations) {
    ASSERT_TRUE(row.epsilon_spent.has_value());
    EXPECT_GT(*row.epsilon_spent, before);
    before = *row.epsilon_spent;
  }
  EXPECT_NEAR(before, promised, 1e-6 * promised);
  EXPECT_LE(before, promised);
}

TEST(EpsilonSpentTest, ASiloThatDoesNotAnswerSpendsNothing) {
  WorkedRun run;
  for (ClosedRound& round : run.result.participation) round.answered.clear();
  ASSERT_TRUE(add_epsilon_spent(run.result, run.job).has_value());
  EXPECT_EQ(run.result.evaluations.back().epsilon_spent, 0.0);
}

TEST(EpsilonSpentTest, RefusesRoundsThatAreNotTheJobs) {
  WorkedRun beyond;
  beyond.result.participation.push_back({1'000'000, {}, {}});
  EXPECT_TRUE(contains(add_epsilon_spent(beyond.result, beyond.job).error().message, "round 1000000"));
  WorkedRun fewer;
  fewer.result.evaluations.pop_back();
  EXPECT_FALSE(add_epsilon_spent(fewer.result, fewer.job).has_value());
}

TEST(ReportCommandTest, WritesThePageIntoTheFolder) {
  const TemporaryFolder folder;
  write(folder.path() / "result.json", result().dump());
  EXPECT_EQ(run_report({folder.path(), {}}), 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "report.html"));
  EXPECT_EQ(run_report({folder.path(), folder.path() / "other.html"}), 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "other.html"));
  EXPECT_EQ(run_report({folder.path() / "nowhere", {}}), 3);
}

}  // namespace
}  // namespace undertone::lab
