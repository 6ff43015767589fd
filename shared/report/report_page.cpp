#include "shared/report/report_page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "shared/report/html.hpp"
#include "shared/report/page_frame.hpp"
#include "shared/report/report_charts.hpp"
#include "shared/report/statistics_html.hpp"

namespace undertone::report {
namespace {

const std::string kErrorName = "error (1 - accuracy)";

std::string shown(double value) { return fmt::format("{:.4g}", value); }
std::string shown(std::optional<double> value) { return value ? shown(*value) : "-"; }

/// A metric of an evaluation, with what its noise leaves open: "0.938 ± 0.012".
std::string shown(const Evaluation& row, const std::string& name) {
  const std::optional<double> value = name == kErrorName ? row.error() : row.metric(name);
  const std::optional<double> reach = row.reach(name == kErrorName ? "accuracy" : name);
  return shown(value) + (value && reach ? fmt::format(" \u00b1 {:.2g}", *reach) : "");
}

/// What the intervals are, where there are any.
std::string about_noise(bool noised) {
  return noised ? " ± is half of a 95 % interval for the noise that the silos added, as the plan has it; how few the "
                  "holdout's records are is not in it."
                : "";
}

bool is_noised(const RunResult& result) {
  return std::any_of(result.evaluations.begin(), result.evaluations.end(),
                     [](const Evaluation& row) { return !row.noise_stddevs.empty(); });
}

/// A promise may look larger than it is, never smaller.
std::string shown_up(double value) {
  std::string text = shown(value);
  if (std::strtod(text.c_str(), nullptr) >= value) return text;
  return shown(value + std::pow(10.0, std::floor(std::log10(value)) - 3.0));
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

std::string outcome(const RunResult& result) {
  return result.succeeded ? "succeeded" : "failed" + (result.failure.empty() ? "" : ": " + result.failure);
}

const Evaluation* last(const RunResult& result) {
  return result.evaluations.empty() ? nullptr : &result.evaluations.back();
}

/// The largest epsilon and the largest delta of a silo, 0 where none took part.
std::pair<double, double> largest_budget(const RunResult& result) {
  std::pair<double, double> out(0.0, 0.0);
  for (const SiloPrivacy& silo : result.privacy)
    out = {std::max(out.first, silo.epsilon), std::max(out.second, silo.delta)};
  return out;
}

std::string void_banner(const std::vector<ReportedRun>& runs) {
  const auto count = std::count_if(runs.begin(), runs.end(), [](const ReportedRun& run) { return run.is_void(); });
  if (count == 0) return "";
  const std::string which = runs.size() == 1 ? "This run's noise was"
                            : count == static_cast<std::ptrdiff_t>(runs.size())
                                ? "The noise of every run here was"
                                : fmt::format("In {} of {} runs the noise was", count, runs.size());
  return fmt::format(
      "<p class=\"void\"><strong>VOID</strong> {} seeded for a test, or absent. Nothing such a run released is "
      "private, "
      "and no epsilon or delta below is a guarantee for it.</p>\n",
      which);
}

/// The settings that are not the same in all runs.
std::vector<std::string> varied_settings(const std::vector<ReportedRun>& runs) {
  std::map<std::string, bool> varied;
  for (const ReportedRun& run : runs) {
    for (const auto& [name, value] : run.result.settings) {
      varied[name] =
          varied[name] || std::any_of(runs.begin(), runs.end(), [&, &n = name, &v = value](const auto& other) {
            return other.result.setting(n) != v;
          });
    }
  }
  std::vector<std::string> out;
  for (const auto& [name, differs] : varied) {
    if (differs) out.push_back(name);
  }
  return out;
}

/// A direct simulation closes no rounds, though it trains in as many as it is told.
std::string rounds_closed(const RunResult& result) {
  return result.succeeded && result.rounds == 0 ? "none, simulated directly" : std::to_string(result.rounds);
}

std::string comparison(const std::vector<ReportedRun>& runs) {
  const std::vector<std::string> varied = varied_settings(runs);
  HtmlTable table{"Runs, with the settings that differ. Loss and error are those of the last evaluation.",
                  {"run", "job", "outcome", "guarantee", "last loss", "last error", "epsilon, largest of a silo",
                   "delta, largest of a silo", "rounds closed"},
                  {},
                  "run-"};
  table.header.insert(table.header.end(), varied.begin(), varied.end());
  for (const ReportedRun& run : runs) {
    const Evaluation* row = last(run.result);
    const auto [epsilon, delta] = largest_budget(run.result);
    table.rows.push_back({run.name, run.result.job, run.result.succeeded ? "succeeded" : "failed",
                          run.is_void() ? "VOID" : "stands", row ? shown(*row, "loss") : "-",
                          row ? shown(*row, kErrorName) : "-", shown_up(epsilon), shown_up(delta),
                          rounds_closed(run.result)});
    for (const std::string& name : varied) table.rows.back().push_back(run.result.setting(name));
  }
  if (std::any_of(runs.begin(), runs.end(), [](const ReportedRun& run) { return is_noised(run.result); }))
    table.caption += about_noise(true);
  const std::string same = say_once(table, "The same in every run: ");
  return "<section><h2>Comparison</h2>\n" + same + to_html(table) + "</section>\n";
}

HtmlTable confusion(const Confusion& confusion) {
  HtmlTable table{"What the holdout records are (rows) and what the model says of them (columns), as shares of all",
                  {"is"},
                  {},
                  ""};
  if (confusion.noise_stddev)
    table.caption +=
        fmt::format("; each \u00b1 {:.2g} for the silos' noise (95 %)", 1.959964 * *confusion.noise_stddev);
  table.caption += ".";
  for (const std::string& label : confusion.labels) table.header.push_back("said " + label);
  for (std::size_t truth = 0; truth < confusion.labels.size(); ++truth) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.push_back(confusion.labels[truth]);
    for (const double share : confusion.shares[truth]) cells.push_back(fmt::format("{:.4f}", share));
  }
  return table;
}

/// A group a row, as far as a page has room.
HtmlTable groups_table(const std::vector<GroupRates>& groups) {
  constexpr std::size_t kGroupsShown = 64;
  HtmlTable table{
      "Groups of the holdout records: how many of them are said to be of which class; ± is for the silos' noise "
      "(95 %), and - stands for a group that is too small to say.",
      {"group", "share of all", "accuracy"},
      {},
      ""};
  const auto shown_rate = [](const GroupRates::Rate& rate) {
    return rate.reach > 0.0 ? fmt::format("{:.4f} ± {:.4f}", rate.value, rate.reach)
                            : fmt::format("{:.4f}", rate.value);
  };
  const GroupRates* whole = nullptr;  // one that has rates says the classes
  for (const GroupRates& group : groups)
    if (!group.said.empty() && whole == nullptr) whole = &group;
  if (whole != nullptr)
    for (const auto& [label, rate] : whole->said) table.header.push_back("said " + label);
  for (std::size_t i = 0; i < std::min(groups.size(), kGroupsShown); ++i) {
    const GroupRates& group = groups[i];
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells = {group.group, fmt::format("{:.4f}", group.share), group.accuracy ? shown_rate(*group.accuracy) : "-"};
    for (std::size_t j = 3; j < table.header.size(); ++j)
      cells.push_back(j - 3 < group.said.size() ? shown_rate(group.said[j - 3].second) : "-");
  }
  if (groups.size() > kGroupsShown) table.caption += fmt::format(" The first {} of {}.", kGroupsShown, groups.size());
  return table;
}

std::string summary(const ReportedRun& run) {
  const RunResult& result = run.result;
  const Evaluation* row = last(result);
  HtmlTable table{"Summary", {"what", "value"}, {}, ""};
  table.rows = {{"job", result.job},
                {"outcome", outcome(result)},
                {"run", result.run},
                {"SHA-256 of the job", result.job_sha256},
                {"rounds closed", rounds_closed(result)}};
  if (row != nullptr) {
    for (const auto& [name, value] : row->metrics) table.rows.push_back({"last " + name, shown(*row, name)});
    if (row->error()) table.rows.push_back({"last " + kErrorName, shown(*row, kErrorName)});
  }
  std::string out;
  for (const std::string& verdict : result.verdicts) out += fmt::format("<p>{}.</p>\n", escape_html(verdict));
  return out + to_html(table) + (result.confusion ? to_html(confusion(*result.confusion)) : "") +
         (result.groups.empty() ? "" : to_html(groups_table(result.groups)));
}

std::string privacy(const ReportedRun& run) {
  HtmlTable table{run.is_void() ? "Budgets by silo: VOID, nothing here is private"
                                : "Budgets by silo, as planned from public facts",
                  {"silo", "took part", "epsilon promised", "delta promised", "epsilon of the replies sent", "replies",
                   "unit", "adjacency", "noise of a mean (records)"},
                  {},
                  ""};
  std::vector<std::string> sentences;
  const auto say = [&sentences](const std::string& sentence) {
    if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) sentences.push_back(sentence);
  };
  for (const SiloPrivacy& silo : run.result.privacy) {
    std::vector<std::string> noise;
    for (const NoiseRow& row : silo.noise) {
      noise.push_back(row.public_records
                          ? fmt::format("{}: none, declared public ({})", row.kind, row.records)
                          : fmt::format("{}: {} ({})", row.kind, shown(row.stddev_of_mean), row.records));
    }
    table.rows.push_back({silo.silo, silo.took_part ? "yes" : "no" + (silo.refusal.empty() ? "" : ": " + silo.refusal),
                          shown_up(silo.epsilon), shown_up(silo.delta), shown_up(silo.epsilon_odometer),
                          std::to_string(silo.replies_accepted), silo.unit, silo.adjacency, joined(noise)});
    say("Mechanism: " + silo.mechanism);
    say("Accountant: " + silo.accountant);
    say("Statement: " + silo.statement);
  }
  const std::string same = say_once(table, "The same for every silo: ");
  std::string out = "<h3>Privacy</h3>\n" + same + to_html(table) + "<ul>\n";
  for (const std::string& sentence : sentences) {
    out += fmt::format("<li{}>{}</li>\n", sentence.find("VOID") == std::string::npos ? "" : " class=\"void\"",
                       escape_html(sentence));
  }
  return out +
         "<li>Noise is the standard deviation on each coordinate of a silo's mean, clipped at the job's norm. The "
         "epsilon of the replies sent is an odometer at the same delta, not the guarantee.</li>\n</ul>\n";
}

std::string evaluations(const ReportedRun& run) {
  const std::vector<Evaluation>& rows = run.result.evaluations;
  if (rows.empty()) return "<h3>Evaluations</h3>\n<p>There are none: the run evaluated nothing, or failed.</p>\n";
  const std::vector<std::size_t> kept = thinned(rows.size(), kTableRowsMax);
  HtmlTable table{
      "Weighted means over the holdout records of the silos that answered", {"after steps", "silos"}, {}, ""};
  if (kept.size() < rows.size())
    table.caption += fmt::format("; {} of {} rows, result.json has all", kept.size(), rows.size());
  table.caption += "." + about_noise(is_noised(run.result));
  for (const auto& [name, value] : rows.front().metrics) table.header.push_back(name);
  const bool has_error = rows.front().error().has_value();
  if (has_error) table.header.push_back(kErrorName);
  table.header.emplace_back("epsilon spent, largest of a silo");
  for (const std::size_t i : kept) {
    std::vector<std::string> cells = {std::to_string(rows[i].after_steps), std::to_string(rows[i].silos)};
    for (const auto& [name, value] : rows.front().metrics) cells.push_back(shown(rows[i], name));
    if (has_error) cells.push_back(shown(rows[i], kErrorName));
    cells.push_back(rows[i].epsilon_spent ? shown_up(*rows[i].epsilon_spent) : "-");
    table.rows.push_back(std::move(cells));
  }
  std::string out = "<h3>Evaluations</h3>\n" + to_html(table);
  if (!run.job_note.empty()) out += fmt::format("<p>{}</p>\n", escape_html(run.job_note));
  return out;
}

std::string participation(const RunResult& result) {
  const std::vector<ClosedRound>& rounds = result.participation;
  if (rounds.empty()) return "<h3>Participation</h3>\n<p>No round closed.</p>\n";
  HtmlTable table{
      "Rounds in which the same silos answered, counted from 1. Missing: late or silent when the round closed",
      {"rounds", "answered", "missing"},
      {},
      ""};
  std::size_t ranges = 0;
  for (std::size_t begin = 0; begin < rounds.size();) {
    std::size_t end = begin + 1;
    while (end < rounds.size() && rounds[end].answered == rounds[begin].answered &&
           rounds[end].missing == rounds[begin].missing)
      ++end;
    const std::uint64_t first = rounds[begin].round + 1;
    const std::uint64_t final = rounds[end - 1].round + 1;
    if (++ranges <= kTableRowsMax) {
      table.rows.push_back({first == final ? std::to_string(first) : fmt::format("{} to {}", first, final),
                            joined(rounds[begin].answered),
                            rounds[begin].missing.empty() ? "-" : joined(rounds[begin].missing)});
    }
    begin = end;
  }
  if (ranges > kTableRowsMax)
    table.caption += fmt::format("; the first {} of {} rows, result.json has all", kTableRowsMax, ranges);
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> counts;
  for (const ClosedRound& round : rounds) {
    for (const std::string& silo : round.answered) ++counts[silo].first;
    for (const std::string& silo : round.missing) ++counts[silo].second;
  }
  HtmlTable by_silo{"Rounds by silo", {"silo", "answered", "missing"}, {}, ""};
  for (const auto& [silo, count] : counts)
    by_silo.rows.push_back({silo, std::to_string(count.first), std::to_string(count.second)});
  return "<h3>Participation</h3>\n" + to_html(by_silo) + to_html(table);
}

std::string settings(const ReportedRun& run) {
  HtmlTable table{"What the run was given", {"setting", "value"}, {}, ""};
  for (const auto& [name, value] : run.result.settings) table.rows.push_back({name, value});
  std::string out = "<h3>Settings</h3>\n" + to_html(table);
  if (run.job.size() > kJobShown)
    return out + fmt::format("<p>The job's file has {} bytes; see job.json.</p>\n", run.job.size());
  if (!run.job.empty())
    out += fmt::format("<details><summary>The job's file</summary><pre>{}</pre></details>\n", escape_html(run.job));
  return out;
}

std::string statements(const ReportedRun& run) {
  if (run.statements.empty()) return "";
  std::string out = "<h3>Privacy statements of the silos</h3>\n";
  for (const StatementText& statement : run.statements) {
    const bool is_void = statement.text.starts_with("VOID");
    const std::string folder = std::filesystem::path(statement.file).parent_path().string();  // the name is the run's
    out += fmt::format("<details open><summary>{}{}</summary><pre{}>{}</pre></details>\n", is_void ? "VOID: " : "",
                       escape_html(folder.empty() ? statement.file : folder), is_void ? " class=\"void\"" : "",
                       escape_html(statement.text));
  }
  return out;
}

std::string details(const ReportedRun& run) {
  const std::string found = run.result.statistics.empty() ? evaluations(run) : statistics_html(run.result.statistics);
  return privacy(run) + found + participation(run.result) + settings(run) + statements(run);
}

}  // namespace

std::string report_page(const std::vector<ReportedRun>& runs) {
  UNDERTONE_CHECK(!runs.empty());
  const bool single = runs.size() == 1;
  const std::string title = single ? "Run of " + runs[0].name : fmt::format("{} runs", runs.size());
  std::string before = void_banner(runs);
  if (!single) before += comparison(runs);
  if (single) before += "<section><h2>The run</h2>\n" + summary(runs[0]) + "</section>\n";
  std::string after;
  if (single) {
    after = "<section><h2>In detail</h2>\n" + details(runs[0]) + "</section>\n";
  } else {
    after = "<section><h2>Each run</h2>\n";
    for (std::size_t r = 0; r < runs.size(); ++r) {
      after += fmt::format("<details class=\"run\" id=\"run-{}\"><summary>{}{}</summary>\n{}</details>\n", r,
                           escape_html(runs[r].name), runs[r].is_void() ? " (VOID)" : "",
                           summary(runs[r]) + details(runs[r]));
    }
    after += "</section>\n";
  }
  return framed_page(title, before, report_charts(runs), after);
}

}  // namespace undertone::report
