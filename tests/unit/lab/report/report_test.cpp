#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/stat.h>

#include "lab/report/report_command.hpp"
#include "lab/report/reported_sweep.hpp"
#include "shared/base/digest.hpp"
#include "shared/base/files.hpp"
#include "shared/report/counting_order.hpp"
#include "shared/report/epsilon_spent.hpp"
#include "shared/report/html.hpp"
#include "shared/report/metric_noise.hpp"
#include "shared/report/page_assets.hpp"
#include "shared/report/report_charts.hpp"
#include "shared/report/report_page.hpp"
#include "shared/report/reported_statistics.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::report {
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

TEST(ReportPageTest, SmallPValuesArePrintedAsBounds) {
  EXPECT_EQ(shown_p(0.01234), "0.0123");
  EXPECT_EQ(shown_p(1e-4), "0.0001");
  EXPECT_EQ(shown_p(2e-117), "< 0.0001");
  EXPECT_EQ(shown_p(0.0), "< 0.0001");
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

Json detailed_result() {
  Json json = result();
  json["metrics"][0]["noise_stddev"] = {{"accuracy", 0.01}};
  json["verdicts"] = Json::array({"accuracy 0.875: better than always saying the largest class, 0.5"});
  json["confusion"] = {{"labels", {"no", "<yes>"}}, {"shares", {{0.5, 0.0}, {0.125, 0.375}}}, {"noise_stddev", 0.01}};
  return json;
}

TEST(RunResultTest, ReadsVerdictsNoiseAndConfusion) {
  const RunResult read = parsed(detailed_result());
  EXPECT_NEAR(read.evaluations[0].reach("accuracy").value(), 0.0196, 1e-4);
  EXPECT_EQ(read.verdicts.size(), 1U);
  EXPECT_EQ(read.confusion->shares[1][0], 0.125);
  Json other = detailed_result();
  other["confusion"]["shares"][1] = {0.125};
  EXPECT_TRUE(contains(problem_of(other), "/confusion/shares"));
  other["confusion"]["shares"] = "half";
  EXPECT_TRUE(contains(problem_of(other), "/confusion/shares"));
}

TEST(ReportPageTest, SaysTheVerdictsAndTheConfusionTable) {
  const std::string page = page_of(detailed_result());
  EXPECT_TRUE(contains(page, "better than always saying the largest class"));
  EXPECT_TRUE(contains(page, "said &lt;yes&gt;"));
  EXPECT_FALSE(contains(page, "said <yes>"));
  EXPECT_TRUE(contains(page, "0.3750"));
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
                           "<p class=\"caption\">", "aria-label=\"Line chart: silos that answered by round"})
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
  EXPECT_TRUE(
      contains(comparison, "The same in every run: job lakes; outcome succeeded; guarantee stands; last loss 0.25"));
  EXPECT_TRUE(contains(page, "id=\"run-1\""));
}

TEST(ReportPageTest, ADirectSimulationIsNotSaidToHaveDoneNothing) {
  Json direct = result();
  direct["rounds"] = 0;
  direct["settings"]["mode"] = "direct simulation";
  EXPECT_TRUE(contains(page_of(direct), "none, simulated directly"));
  EXPECT_FALSE(contains(page_of(result()), "simulated directly"));
  direct["succeeded"] = false;  // a run that failed before its first round
  EXPECT_FALSE(contains(page_of(direct), "none, simulated directly"));
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

TEST(HtmlTest, ColumnsThatSayTheSameInEveryRowAreSaidOnce) {
  HtmlTable table{"", {"silo", "unit", "epsilon", "note"}, {{"a", "record", "1", ""}, {"b", "record", "2", ""}}, ""};
  EXPECT_EQ(say_once(table, "The same for every silo: "), "<p>The same for every silo: unit record; note -.</p>\n");
  EXPECT_EQ(table.header, (std::vector<std::string>{"silo", "epsilon"}));
  EXPECT_EQ(table.rows[1], (std::vector<std::string>{"b", "2"}));
  HtmlTable one{"", {"silo", "unit"}, {{"a", "record"}}, ""};
  EXPECT_EQ(say_once(one, "The same: "), "");
  EXPECT_EQ(one.header.size(), 2U);
}

TEST(CountingOrderTest, NumbersInNamesCountByTheirValues) {
  const std::vector<std::string> ordered = {"",       "step",    "step-0.25", "step-0.5", "step-01", "step-1",
                                            "step-2", "step-10", "step-10/a", "step-a",   "stepb"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j)
      EXPECT_EQ(counts_before(ordered[i], ordered[j]), i < j) << ordered[i] << " " << ordered[j];
  }
}

/// A run of two evaluations.
ReportedRun evaluated(double first_loss, double last_loss) {
  ReportedRun run;
  run.name = "lakes";
  run.result = parsed(result());
  run.result.participation.clear();
  run.result.evaluations = {{1, 2, {{"loss", first_loss}}, std::nullopt, {}},
                            {2, 2, {{"loss", last_loss}}, std::nullopt, {}}};
  return run;
}

TEST(ReportChartsTest, AChartThatTellsNothingIsLeftOut) {
  EXPECT_EQ(report_charts({evaluated(0.5, 0.25)}).size(), 1U);
  EXPECT_TRUE(report_charts({evaluated(0.5, 0.5)}).empty());
  EXPECT_TRUE(report_charts({evaluated(0.5, 0.5 + 1e-9)}).empty());
  ReportedRun once = evaluated(0.5, 0.25);
  once.result.evaluations.pop_back();
  EXPECT_TRUE(report_charts({once}).empty());
  ReportedRun other = once;  // one point each, but at two places
  other.result.evaluations[0] = {7, 2, {{"loss", 0.25}}, std::nullopt, {}};
  EXPECT_EQ(report_charts({once, other}).size(), 1U);
}

TEST(ReportChartsTest, ParticipationIsDrawnOnlyWhereSomebodyWasMissing) {
  ReportedRun run = evaluated(0.5, 0.5);
  run.result.participation = {{0, {"a", "b"}, {}}, {1, {"a", "b"}, {}}};
  EXPECT_TRUE(report_charts({run}).empty());
  run.result.participation[1] = {1, {"a"}, {"b"}};
  EXPECT_EQ(report_charts({run}).size(), 1U);
}

TEST(ReportChartsTest, NoTwoLinesOfAChartHaveOneColour) {
  const std::size_t from = kPageScript.find("const colours = [");
  ASSERT_NE(from, std::string_view::npos);
  const std::string_view list = kPageScript.substr(from, kPageScript.find(']', from) - from);
  std::set<std::string_view> colours;
  std::size_t count = 0;
  for (std::size_t at = list.find('#'); at != std::string_view::npos; at = list.find('#', at + 1)) {
    colours.insert(list.substr(at, 7));
    ++count;
  }
  EXPECT_EQ(count, kRunsDrawn);
  EXPECT_EQ(colours.size(), kRunsDrawn);
}

TEST(ReportChartsTest, IntervalsGoWithThePointsThatTheyAreOf) {
  ReportedRun run = evaluated(0.5, 0.25);
  run.result.evaluations[1].noise_stddevs = {{"loss", 0.1}};
  const Json chart = report_charts({run}).at(0);
  EXPECT_EQ(chart["series"][0]["reach"][0], 0.0);
  EXPECT_NEAR(chart["series"][0]["reach"][1].get<double>(), 0.196, 1e-4);  // 1.96 * 0.1
  EXPECT_EQ(chart["note"], "Bars are 95 % intervals of the noise.");
}

TEST(ReportPageTest, NoisedMetricsHaveTheirIntervals) {
  ReportedRun run = evaluated(0.5, 0.25);
  run.result.evaluations[1].metrics.emplace_back("accuracy", 0.875);
  run.result.evaluations[0].metrics.emplace_back("accuracy", 0.75);
  run.result.evaluations[1].noise_stddevs = {{"loss", 0.04}, {"accuracy", 0.01}};
  const std::string page = report_page({run});
  EXPECT_TRUE(contains(page, "<td class=\"number\">0.25 \u00b1 0.078</td>"));  // 1.96 * 0.04
  EXPECT_TRUE(contains(page, "<td class=\"number\">0.125 \u00b1 0.02</td>"));  // the error, as the accuracy
  EXPECT_TRUE(contains(page, "95 % interval for the noise"));
  EXPECT_FALSE(contains(report_page({evaluated(0.5, 0.25)}), "interval"));
}

/// A sweep's folder with one line a setting: {step_size, rounds, loss, accuracy}.
void write_sweep(const TemporaryFolder& folder, const std::vector<std::array<double, 4>>& rows) {
  std::string lines = R"({"format":"undertone.sweep-results/1","job":"aa","note":"not private"})"
                      "\n";
  for (const auto& [step, rounds, loss, accuracy] : rows) {
    for (int seed = 1; seed <= 2; ++seed) {
      lines +=
          Json({{"set", {{"/algorithm/step_size", step}, {"/algorithm/rounds", rounds}}},
                {"seed", seed},
                {"result", {{"epsilon", 2.0}, {"loss", loss}, {"accuracy", accuracy}, {"positive_share", rounds}}}})
              .dump() +
          "\n";
    }
  }
  write(folder.path() / "sweep.jsonl", lines);
}

std::string sweep_page_of(const TemporaryFolder& folder) { return sweep_page(load_sweep(folder.path()).value(), "s"); }

TEST(SweepPageTest, TheBestSettingsComeFirstAndAllOfThemAreThere) {
  const TemporaryFolder folder;
  write_sweep(folder, {{1, 4, 0.25, 0.5}, {2, 4, 0.75, 0.875}, {3, 8, 0.5, 0.75}});
  const std::string page = sweep_page_of(folder);
  const auto row = [&](int setting) { return page.find(fmt::format("<th scope=\"row\">{}</th>", setting)); };
  EXPECT_LT(row(1), row(2));  // the accuracies .875, .75, .5
  EXPECT_LT(row(2), row(0));
  EXPECT_NE(row(0), std::string::npos);
  EXPECT_TRUE(contains(page, "The same in every setting: epsilon 2; runs 2; failed 0"));
  EXPECT_LT(page.find("<h2>Settings"), page.find("<h2>Charts"));
}

TEST(SweepPageTest, TheSelectionsScoreDecidesWhichAreBest) {
  const TemporaryFolder folder;
  write_sweep(folder, {{1, 4, 0.25, 0.5}, {2, 4, 0.75, 0.875}});
  write(folder.path() / "selection.json", R"({"score": "loss", "better": "smaller"})");
  const std::string page = sweep_page_of(folder);
  EXPECT_LT(page.find("<th scope=\"row\">0</th>"), page.find("<th scope=\"row\">1</th>"));
}

TEST(SweepPageTest, DrawsTheLinesOfTheBestAndNoFactsOfTheHoldout) {
  const TemporaryFolder folder;
  std::vector<std::array<double, 4>> rows;
  for (int rounds = 1; rounds <= 13; ++rounds) {
    for (int step = 1; step <= 2; ++step) rows.push_back({1.0 * step, 1.0 * rounds, 0.1, 0.01 * rounds + 0.001 * step});
  }
  write_sweep(folder, rows);
  const std::string page = sweep_page_of(folder);
  EXPECT_TRUE(contains(page, "\"title\":\"accuracy by step_size\""));
  EXPECT_TRUE(contains(page, "The lines of the best 12 of 13; the table has all."));
  EXPECT_TRUE(contains(page, "\"series\":[{\"name\":\"rounds 13.0\""));
  EXPECT_FALSE(contains(page, "\"name\":\"rounds 1.0\""));  // the worst
  EXPECT_FALSE(contains(page, "loss by"));                  // the same everywhere
  EXPECT_FALSE(contains(page, "positive_share by"));
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
  RunResult result = parsed(report::result());

  WorkedRun() {
    result.participation.clear();
    result.evaluations.clear();
    const planning::Plan plan = jobs::plan_of(job, job.cohort.front()).value();
    std::uint64_t steps = 0;
    for (std::uint64_t round = 0; round < plan.rounds(); ++round) {
      ClosedRound& closed = result.participation.emplace_back();
      closed.round = round;
      for (const jobs::CohortMember& member : job.cohort) closed.answered.push_back(member.facts.silo.name());
      if (plan.release(RoundIndex{round})->ask.kind() == releases::QuestionKind::Gradient) {
        ++steps;
      } else {
        result.evaluations.push_back({steps, job.cohort.size(), {{"loss", 0.5}}, std::nullopt, {}});
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

/// Noise of every silo's answer to an evaluation, before the metrics' scales.
void noise_metrics(RunResult& result, const jobs::Job& job, double stddev) {
  result.privacy.clear();
  for (const jobs::CohortMember& member : job.cohort) {
    SiloPrivacy& silo = result.privacy.emplace_back();
    silo.silo = member.facts.silo.name();
    silo.noise = {{"gradient", 90, 7.0, false}, {"metrics", 20, stddev, false}};
  }
}

TEST(MetricNoiseTest, IsThatOfAMeanWeightedWithTheHoldoutsOfTheSilosThatAnswered) {
  WorkedRun run;
  noise_metrics(run.result, run.job, 0.02);
  const std::string absent = run.job.cohort.back().facts.silo.name();
  std::erase(run.result.participation.back().answered, absent);
  ASSERT_TRUE(add_epsilon_spent(run.result, run.job).has_value());
  double weights = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i + 1 < run.job.cohort.size(); ++i) {
    const auto records = static_cast<double>(run.job.cohort[i].facts.holdout_records);
    weights += records;
    squares += records * records;
  }
  const Evaluation& last = run.result.evaluations.back();
  const double stddev = 0.02 * std::sqrt(squares) / weights;
  EXPECT_NEAR(last.reach("accuracy").value(), 1.959964 * stddev, 1e-12);
  EXPECT_NEAR(last.reach("loss").value(), 1.959964 * 4.0 * stddev, 1e-12);  // losses are clipped at 4
  EXPECT_NEAR(last.reach("majority_class_accuracy").value(), 1.959964 * stddev, 1e-12);
  EXPECT_LT(run.result.evaluations.front().reach("accuracy").value(), last.reach("accuracy").value());
}

TEST(MetricNoiseTest, ThereIsNoneWhereHoldoutsArePublicOrNothingWasNoised) {
  WorkedRun open;
  noise_metrics(open.result, open.job, 0.0);
  ASSERT_TRUE(add_epsilon_spent(open.result, open.job).has_value());
  EXPECT_FALSE(open.result.evaluations.back().reach("accuracy").has_value());
  WorkedRun baseline;
  noise_metrics(baseline.result, baseline.job, 0.02);
  for (auto& [name, value] : baseline.result.settings) value = name == "noise" ? "none" : value;
  ASSERT_TRUE(add_epsilon_spent(baseline.result, baseline.job).has_value());
  EXPECT_FALSE(baseline.result.evaluations.back().reach("accuracy").has_value());
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
}  // namespace undertone::report
