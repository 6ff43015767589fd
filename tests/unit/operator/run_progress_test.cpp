#include "operator/run_progress.hpp"

#include <gtest/gtest.h>

#include "operator/round_lines.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kNow = 1'700'000'000;  // 2023-11-14 22:13:20 UTC

Json silo(const std::string& name, const std::string& answer, const std::string& why_missing) {
  Json out = {{"silo", name}, {"connected", true}, {"answer", answer}, {"epsilon", 2.0}, {"delta", 1e-6}};
  if (!why_missing.empty()) out["why_missing"] = why_missing;
  return out;
}

Json joining() {
  return {{"state", "joining"},
          {"rounds_total", 40},
          {"quorum", 2},
          {"join_left_ms", 600'000},
          {"silos",
           {silo("clinic-1", "accepted", ""), silo("clinic-2", "none", "waits for its owner"),
            silo("clinic-3", "refused: budget", "refused the job: budget")}}};
}

Json running() {
  return {{"state", "running"},
          {"rounds_total", 40},
          {"silos", {silo("clinic-1", "accepted", "computing"), silo("clinic-2", "accepted", "")}}};
}

Json round(std::uint64_t index, double elapsed_ms) {
  return {
      {"round", index}, {"answered", {"clinic-1", "clinic-2"}}, {"missing", Json::array()}, {"elapsed_ms", elapsed_ms}};
}

TEST(RunProgressTest, SaysWhichOwnersHaveAnsweredWhichAreAwaitedAndUntilWhen) {
  RunProgress progress;
  EXPECT_EQ(progress.waiting(joining(), kNow),
            "joining until 2023-11-14 22:23 UTC: 1 of 3 accepted (clinic-1), quorum 2; refused: clinic-3 (budget); "
            "waiting for clinic-2 (waits for its owner)");
}

TEST(RunProgressTest, TheJoinDeadlineIsNoNewsWhileItOnlySeemsToMove) {
  RunProgress progress;
  Json run = joining();
  run["join_left_ms"] = 400'000;  // until 22:20:00
  const std::string before = progress.waiting(run, kNow);
  run["join_left_ms"] = 397'600;  // two seconds later: until 22:19:59, by the whole second
  EXPECT_EQ(progress.waiting(run, kNow + 2), before);
  run["join_left_ms"] = 600'000;  // a coordinator that was restarted waits anew
  EXPECT_NE(progress.waiting(run, kNow + 4), before);
}

TEST(RunProgressTest, APipeGetsALineATenthOrASecondAndTheEnds) {
  const auto lines_of = [](std::uint64_t rounds, double elapsed_ms) {
    RunProgress progress;
    Json run = running();
    run["rounds_total"] = rounds;
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      (void)progress.closed(round(i, elapsed_ms), run);
      if (progress.is_line_due()) out.push_back(i + 1);
    }
    return out;
  };
  EXPECT_EQ(lines_of(4000, 0.1),
            (std::vector<std::uint64_t>{1, 400, 800, 1200, 1600, 2000, 2400, 2800, 3200, 3600, 4000}));
  EXPECT_EQ(lines_of(5, 1.0), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(lines_of(40, 1500.0).size(), 40U);
  EXPECT_EQ(lines_of(1000, 100.0).size(), 101U);
}

TEST(RunProgressTest, TheBarCountsDownWhileOwnersAreAwaited) {
  RunProgress progress;
  EXPECT_EQ(progress.bar(joining(), kNow, 200),
            "joining: 2/3 answered, 10 min left, waiting for clinic-2 (waits for its owner)");
  Json later = joining();
  later["join_left_ms"] = 30'000;
  EXPECT_EQ(progress.bar(later, kNow + 570, 30), "joining: 2/3 answered, 30 s le");
}

TEST(RunProgressTest, TheTimeLeftComesFromTheNewestRounds) {
  RunProgress progress;
  EXPECT_EQ(progress.seconds_left(), std::nullopt);
  // Ten rounds that waited a minute each for a silo, then twenty of half a second: 10 more are to come.
  for (std::uint64_t i = 0; i < 10; ++i) (void)progress.closed(round(i, 60'000.0), running());
  EXPECT_DOUBLE_EQ(progress.seconds_left().value(), 60.0 * 30);
  for (std::uint64_t i = 10; i < 30; ++i) (void)progress.closed(round(i, 500.0), running());
  EXPECT_DOUBLE_EQ(progress.seconds_left().value(), 0.5 * 10);
}

TEST(RunProgressTest, ALineHasTheRoundItsSilosMetricsAndTimeLeft) {
  RunProgress progress;
  Json evaluation = round(3, 250.0);
  evaluation["missing"] = {"clinic-9"};
  evaluation["metrics"] = {{"after_steps", 3}, {"silos", 2}, {"loss", 0.25}, {"accuracy", 0.875}};
  EXPECT_EQ(progress.closed(evaluation, running()),
            "round     4/40  silos 2/2  missing clinic-9  loss 0.2500  accuracy 0.8750  epsilon <= 2  ETA 9 s");
}

TEST(RunProgressTest, TheBarKeepsTheLastMetricsAndFitsTheTerminal) {
  RunProgress progress;
  Json evaluation = round(3, 250.0);
  evaluation["metrics"] = {{"after_steps", 3}, {"silos", 2}, {"accuracy", 0.875}};
  (void)progress.closed(evaluation, running());
  for (std::uint64_t i = 4; i < 20; ++i) (void)progress.closed(round(i, 250.0), running());
  // 20 of 40 rounds at 0.25 s; a silo that computes is no news, one that is away is.
  EXPECT_EQ(progress.bar(running(), kNow, 62), "round 20/40 [#####-----] 50 %  ETA 5 s  silos 2/2  accuracy 0.");
  EXPECT_EQ(progress.bar(running(), kNow, 200),
            "round 20/40 [###############---------------] 50 %  ETA 5 s  silos 2/2  accuracy 0.8750");
  Json away = running();
  away["silos"][0]["why_missing"] = "not connected";
  EXPECT_TRUE(progress.bar(away, kNow, 200).ends_with("accuracy 0.8750  waiting for clinic-1 (not connected)"));
  for (std::size_t columns = 0; columns < 120; ++columns) EXPECT_LE(progress.bar(away, kNow, columns).size(), columns);
}

TEST(RunProgressTest, TheBarOfARunThatIsOverIsFull) {
  RunProgress progress;
  (void)progress.closed(round(39, 250.0), running());
  EXPECT_EQ(progress.bar({{"state", "succeeded"}, {"silos", running()["silos"]}}, kNow, 200),
            "round 40/40 [##############################] 100 %  silos 2/2");
}

TEST(RunProgressTest, ARunThatWasOverBeforeTheFirstLookIsFullToo) {
  RunProgress progress;
  Json ended = {{"state", "succeeded"}, {"silos", running()["silos"]}};
  (void)progress.closed(round(30, 250.0), ended);
  EXPECT_EQ(progress.bar(ended, kNow, 200), "round 31/31 [##############################] 100 %  silos 2/2");
  ended["state"] = "cancelled";  // nobody says of how many
  EXPECT_TRUE(progress.bar(ended, kNow, 200).starts_with("round 31 ["));
}

TEST(RunProgressTest, TextsOfTheCoordinatorCannotDriveTheTerminal) {
  RunProgress progress;
  Json run = joining();
  run["silos"][1]["why_missing"] = "\x1b[2Jgone";
  run["silos"][1]["silo"] = "a\nb";
  for (const std::string& shown : {progress.waiting(run, kNow), progress.bar(run, kNow, 200)}) {
    EXPECT_EQ(shown.find('\x1b'), std::string::npos);
    EXPECT_EQ(shown.find('\n'), std::string::npos);
  }
}

TEST(RunProgressTest, NoCharacterIsCutInTwo) {
  RunProgress progress;
  Json run = joining();
  run["silos"][1]["silo"] = "\u00e9\u00e9\u00e9";  // two bytes each
  const std::string whole = progress.bar(run, kNow, 200);
  const std::size_t at = whole.find("\u00e9");
  EXPECT_EQ(progress.bar(run, kNow, at + 3), whole.substr(0, at + 2));
}

TEST(RunProgressTest, DurationsAreShownInTwoUnitsAtMost) {
  EXPECT_EQ(shown_duration(0.4), "0 s");
  EXPECT_EQ(shown_duration(99.0), "99 s");
  EXPECT_EQ(shown_duration(100.0), "2 min");
  EXPECT_EQ(shown_duration(5.0 * 3600 + 20 * 60), "5 h 20 min");
  EXPECT_EQ(shown_duration(76.0 * 3600), "3 d 4 h");
}

TEST(RoundLinesTest, MetricsAreShownWithTheirNoiseAndVerdictsAsPlainText) {
  const Json metrics = {{"after_steps", 10},
                        {"silos", 3},
                        {"round", 4},
                        {"accuracy", 0.9},
                        {"loss", 0.25},
                        {"noise_stddev", {{"accuracy", 0.01}}},
                        {"verdicts", {"good", "\u001b[31mred", 7}},
                        {"confusion", {{"labels", {"a", "b"}}}}};
  EXPECT_EQ(shown_metrics(metrics), "  accuracy 0.9000 ± 0.0196  loss 0.2500");
  const std::vector<std::string> said = shown_verdicts(metrics);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0], "good");
  EXPECT_EQ(said[1].find('\x1b'), std::string::npos);
  EXPECT_TRUE(shown_verdicts(Json::object()).empty());
  EXPECT_EQ(shown_verdicts({{"verdicts", std::vector<std::string>(50, "x")}}).size(), kVerdictsMost);
}

}  // namespace
}  // namespace undertone::operators
