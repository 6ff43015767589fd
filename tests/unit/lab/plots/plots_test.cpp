#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sys/stat.h>

#include "lab/plots/gnuplot.hpp"
#include "shared/base/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::lab {
namespace {

using tests::TemporaryFolder;

Series series(const std::string& name) {
  return {name,
          {{1.0, 0.5, Interval{0.4, 0.6}}, {2.0, 0.25, Interval{0.2, 0.3}}, {4.0, 0.125, std::nullopt}},
          SeriesStyle::LineWithPoints};
}

Figure two_panels() {
  Panel left{"loss", {"rounds"}, {"loss", AxisScale::Logarithmic}, {series("noisy SGD"), series("none & <all>")}};
  Panel right{"error", {"rounds"}, {"error"}, {series("silos")}};
  return {"two panels", 1, 2, {left, right}};
}

std::string content(const std::filesystem::path& file) { return read_file(file, 64U << 20U).value(); }

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::string refusal(const Figure& figure) {
  const Status checked = check_figure(figure);
  return checked ? "accepted" : checked.error().message;
}

TEST(WriteFigureTest, WritesAnSvgAPngAndTheNumbers) {
  const TemporaryFolder folder;
  const Status written = write_figure(two_panels(), folder.path(), "figure");
  ASSERT_TRUE(written.has_value()) << written.error().message;
  const std::string svg = content(folder.path() / "figure.svg");
  EXPECT_TRUE(svg.starts_with("<?xml"));
  EXPECT_NE(svg.find("two panels"), std::string::npos);
  EXPECT_NE(svg.find("noisy SGD"), std::string::npos);
  EXPECT_NE(svg.find("none &amp; &lt;all"), std::string::npos);
  EXPECT_EQ(svg.find("<all>"), std::string::npos);
  EXPECT_TRUE(content(folder.path() / "figure.png").starts_with("\x89PNG"));
  const std::string csv = content(folder.path() / "figure.csv");
  EXPECT_TRUE(csv.starts_with("panel,series,x,value,low,high\n\"loss\",\"noisy SGD\",1,0.5,0.4,0.6\n")) << csv;
  EXPECT_TRUE(csv.ends_with("\"error\",\"silos\",4,0.125,,\n")) << csv;
}

TEST(WriteFigureTest, OneFigureGivesTheSameBytesTwice) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b"}) ASSERT_TRUE(write_figure(two_panels(), folder.path(), name).has_value());
  for (const char* ending : {".svg", ".png", ".csv"}) {
    EXPECT_EQ(content(folder.path() / (std::string("a") + ending)),
              content(folder.path() / (std::string("b") + ending)))
        << ending;
  }
}

TEST(WriteFigureTest, ShowsHostileTextsAsTheyAre) {
  const TemporaryFolder folder;
  const std::filesystem::path victim = folder.path() / "victim";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"it's", "it's"},
      {"say \"hi\"", "hi"},
      {"a\\b\\n'", "a\\b\\n'"},
      {"x_{sub}^{super}", "x_{sub}^{super}"},
      {"@macro $data &amp; ~a{.5-}", "@macro $data &amp;amp; ~a{.5-}"},
      {"columnhead(1)", "columnhead(1)"},
      {"%s %d %n", "%s %d %n"},
      {"' ; system 'touch " + victim.string() + "'; '", "system"},
      {"`touch " + victim.string() + "`", "`touch"},
      {"line\nEND\n!touch " + victim.string() + "\n", "line?END?!touch"},
      {"</title><script>alert(1)</script>", "&lt;script>"},
      {"\xff\xfe bad", "\xef\xbf\xbd bad"},
  };
  for (const auto& [text, shown] : texts) {
    SCOPED_TRACE(text);
    Figure figure = two_panels();
    figure.title = figure.panels[0].title = figure.panels[0].x.label = figure.panels[0].y.label = text;
    figure.panels[0].series[0].name = text;
    const Status written = write_figure(figure, folder.path(), "hostile");
    ASSERT_TRUE(written.has_value()) << written.error().message;
    const std::string svg = content(folder.path() / "hostile.svg");
    EXPECT_GE(count(svg, shown), 5U) << "title, panel, two labels and key";  // gnuplot repeats the key's as a <title>
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(victim));
  }
}

TEST(WriteFigureTest, SaysThatGnuplotIsMissing) {
  const TemporaryFolder folder;
  const Status written = write_figure(two_panels(), folder.path(), "figure", {"no-such-gnuplot"});
  ASSERT_FALSE(written.has_value());
  EXPECT_NE(written.error().message.find("no-such-gnuplot: cannot be started"), std::string::npos);
  EXPECT_NE(written.error().message.find("gnuplot-nox"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "figure.csv"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "figure.svg"));
}

std::string program(const std::filesystem::path& file, const std::string& body) {
  std::ofstream(file) << "#!/bin/sh\n" << body << "\n";
  EXPECT_EQ(::chmod(file.c_str(), 0700), 0);
  return file.string();
}

TEST(WriteFigureTest, RepeatsWhatGnuplotComplainsAbout) {
  const TemporaryFolder folder;
  const std::string failing = program(folder.path() / "failing", "echo 'line 3: no such terminal' >&2; exit 1");
  const Status written = write_figure(two_panels(), folder.path(), "figure", {failing});
  ASSERT_FALSE(written.has_value());
  EXPECT_NE(written.error().message.find("line 3: no such terminal"), std::string::npos);
}

TEST(WriteFigureTest, EndsAGnuplotThatDoesNotEnd) {
  const TemporaryFolder folder;
  const std::string hanging = program(folder.path() / "hanging", "exec sleep 1000");
  const Status written = write_figure(two_panels(), folder.path(), "figure", {hanging, std::chrono::milliseconds(50)});
  ASSERT_FALSE(written.has_value());
  EXPECT_NE(written.error().message.find("did not end within 50 ms"), std::string::npos);
}

TEST(WriteFigureTest, RefusesNamesThatAreNoFileNames) {
  const TemporaryFolder folder;
  for (const char* name : {"", "../up", "a/b", "a b", "a.svg", "$HOME"})
    EXPECT_FALSE(write_figure(two_panels(), folder.path(), name).has_value()) << name;
}

TEST(FigureTest, RefusesWhatCannotBeDrawn) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Figure figure = two_panels();
    figure.panels[1].series[0].points[2].value = bad;
    EXPECT_NE(refusal(figure).find("panel 2, series \"silos\", point 3, value: expected a finite number"),
              std::string::npos);
    figure = two_panels();
    figure.panels[1].series[0].points[0].interval->high = bad;
    EXPECT_NE(refusal(figure).find("point 1, high"), std::string::npos);
    figure = two_panels();
    figure.panels[0].series[0].points[0].x = bad;
    EXPECT_NE(refusal(figure).find("point 1, x"), std::string::npos);
  }
  Figure figure = two_panels();
  figure.panels[0].series[0].points[0].value = 0.0;
  EXPECT_NE(refusal(figure).find("> 0 on a logarithmic axis"), std::string::npos);
  figure = two_panels();
  figure.panels[0].series[0].points[0].interval = Interval{2.0, 1.0};
  EXPECT_NE(refusal(figure).find("begins at 2 and ends at 1"), std::string::npos);
}

TEST(FigureTest, RefusesGridsThatDoNotFit) {
  Figure figure = two_panels();
  figure.columns = 1;
  EXPECT_NE(refusal(figure).find("1 to 1 panels"), std::string::npos);
  figure.columns = 9;
  EXPECT_NE(refusal(figure).find("1 to 8 rows and columns"), std::string::npos);
  figure = two_panels();
  figure.panels[0].series.clear();
  EXPECT_NE(refusal(figure).find("panel 1: no series"), std::string::npos);
  figure = two_panels();
  figure.panels[0].series[1].points.clear();
  EXPECT_NE(refusal(figure).find("no points"), std::string::npos);
  EXPECT_EQ(refusal(two_panels()), "accepted");
}

}  // namespace
}  // namespace undertone::lab
