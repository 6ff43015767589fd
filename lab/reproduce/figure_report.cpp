#include "lab/reproduce/figure_report.hpp"

#include <algorithm>
#include <cmath>

#include "lab/plots/gnuplot.hpp"
#include "lab/reproduce/paired_finding.hpp"
#include "shared/base/files.hpp"
#include "shared/data/csv_table.hpp"

namespace undertone::lab {
namespace {

constexpr double kLevel = 0.9;       // of error bars, as in the source
constexpr double kErrorShown = 3.0;  // of a picture: a diverged model stands at the top

std::vector<double> errors_of(const PointResults& results) {
  std::vector<double> out;
  for (const Trained& one : results.splits) out.push_back(std::min(one.test_error, 1e6));
  return out;
}

std::string series_name(Method method, NoiseRule noise) {
  switch (noise) {
    case NoiseRule::None:
      return fmt::format("{}, not private", to_string(method));
    case NoiseRule::Paper:
      return fmt::format("ISRL-DP {}, the source's noise", to_string(method));
    case NoiseRule::Accountant:
      return fmt::format("ISRL-DP {}, certified noise", to_string(method));
    case NoiseRule::Recipe:
      return fmt::format("NOT PRIVATE: {}, the authors' recipe", to_string(method));
  }
  return "";
}

/// What a verdict is of.
std::string_view trained_with(NoiseRule noise) {
  switch (noise) {
    case NoiseRule::None:
      return "no noise";
    case NoiseRule::Paper:
      return "the source's noise";
    case NoiseRule::Accountant:
      return "certified noise";
    case NoiseRule::Recipe:
      return "the authors' recipe, NOT PRIVATE";
  }
  return "";
}

/// What is said at the end of a claim's row, or of the claim. @param judged whether by a grid that serves
struct VerdictWords {
  bool judged;
  [[nodiscard]] const char* at_target(bool holds, bool fails) const {
    if (!judged) return "not judged";
    return holds ? "holds" : fails ? "fails" : "undecided";
  }
  [[nodiscard]] std::string in_all(std::size_t holds, std::size_t fails, std::size_t targets) const {
    if (!judged) return "not judged: the grid is untuned";
    const char* verdict = holds == targets   ? "HOLDS"
                          : fails == targets ? "FAILS"
                          : fails > 0        ? "MIXED"
                          : holds > 0        ? "PARTLY"
                                             : "UNDECIDED";
    return fmt::format("{}: holds at {} of {}, fails at {}", verdict, holds, targets, fails);
  }
};

const PointResults* find(const FigureResults& results, const PointKey& key) {
  const auto found = results.find(key);
  return found == results.end() ? nullptr : &found->second;
}

/// On how many splits the setting that won lies on the edge of what was tried.
std::ptrdiff_t at_edge(const PointResults& results, bool Trained::*edge) {
  return std::count_if(results.splits.begin(), results.splits.end(), [&](const Trained& one) { return one.*edge; });
}

/// The points whose grids do not hold the best setting inside, or a sentence that there are none.
std::string edges_of(const Experiment& experiment, const FigureResults& results) {
  std::string rows;
  for (const auto& [key, point] : results) {
    const auto& [cohort, method, noise, epsilon] = key;
    const std::ptrdiff_t steps = at_edge(point, &Trained::step_at_edge);
    const std::ptrdiff_t clips = at_edge(point, &Trained::clip_at_edge);
    if (steps == 0 && clips == 0) continue;
    rows += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", experiment.cohorts[cohort].title, to_string(method),
                        to_string(noise), epsilon, steps, clips, point.splits.size());
  }
  const std::string how =
      experiment.widenings == 0
          ? "Grids of steps did not grow."
          : fmt::format("A grid of steps grows up to {} times where the best one lies on its edge; clips do not grow.",
                        experiment.widenings);
  if (rows.empty()) return how + " Every setting that won lies inside of its grid.\n";
  return how +
         " On so many splits the setting that won lies on the edge of its grid:\n\n"
         "| cohort | method | noise | epsilon | step | clip | splits |\n| --- | --- | --- | --- | --- | --- | --- |\n" +
         rows;
}

Result<std::string> table_of(const Experiment& experiment, const FigureResults& results) {
  std::string out =
      "cohort,method,noise,epsilon,test_error,low_90,high_90,epsilon_certified,epsilon_attained,step_size,clip,period,"
      "diverged,splits,steps_at_edge,clips_at_edge\n";
  for (const auto& [key, point] : results) {
    const auto& [cohort, method, noise, epsilon] = key;
    UNDERTONE_TRY(const MeanInterval mean, mean_interval(errors_of(point), kLevel));
    const Setting& setting = point.splits.front().setting;
    double diverged = 0.0;
    for (const Trained& one : point.splits) diverged += one.diverged / static_cast<double>(point.splits.size());
    const bool has_target = noise != NoiseRule::None;
    const bool has_cost = has_target && noise != NoiseRule::Recipe;
    const auto number = [](bool given, double value) { return given ? fmt::format("{:.6g}", value) : std::string(); };
    out += fmt::format("{},{},{},{},{:.6g},{},{},{},{},{:.6g},{:.6g},{},{:.3g},{},{},{}\n",
                       data::csv_cell(experiment.cohorts[cohort].title), to_string(method), to_string(noise),
                       number(has_target, epsilon), mean.mean, number(std::isfinite(mean.low), mean.low),
                       number(std::isfinite(mean.high), mean.high), number(has_cost, point.cost.epsilon),
                       number(has_cost, point.cost.attained), setting.step_size, setting.clip, setting.period, diverged,
                       point.splits.size(), at_edge(point, &Trained::step_at_edge),
                       at_edge(point, &Trained::clip_at_edge));
  }
  return out;
}

Result<Figure> picture_of(const Experiment& experiment, const FigureResults& results) {
  Figure figure;
  figure.title = experiment.name + ": " + experiment.title + " (not private tuning; 90 % intervals)";
  figure.columns = std::min<std::size_t>(experiment.cohorts.size(), 2);
  figure.rows = (experiment.cohorts.size() + figure.columns - 1) / figure.columns;
  for (std::size_t cohort = 0; cohort < experiment.cohorts.size(); ++cohort) {
    Panel panel{experiment.cohorts[cohort].title,
                {"epsilon (as the source claims it)", AxisScale::Linear},
                {experiment.error, AxisScale::Linear},
                {}};
    std::vector<NoiseRule> rules = noise_rules(experiment);
    rules.push_back(NoiseRule::None);
    for (const NoiseRule noise : rules) {
      for (const Method method : experiment.methods) {
        Series series{series_name(method, noise),
                      {},
                      noise == NoiseRule::None ? SeriesStyle::DashedLine : SeriesStyle::LineWithPoints};
        for (const double epsilon : experiment.epsilons) {
          const PointResults* point = find(results, {cohort, method, noise, noise == NoiseRule::None ? 0.0 : epsilon});
          if (point == nullptr) continue;
          UNDERTONE_TRY(const MeanInterval mean, mean_interval(errors_of(*point), kLevel));
          Point shown{epsilon, std::min(mean.mean, kErrorShown), {}};
          if (noise != NoiseRule::None && std::isfinite(mean.low) && mean.mean < kErrorShown)
            shown.interval = Interval{mean.low, std::min(mean.high, kErrorShown)};
          series.points.push_back(shown);
        }
        if (!series.points.empty()) panel.series.push_back(std::move(series));
      }
    }
    if (!panel.series.empty()) figure.panels.push_back(std::move(panel));
  }
  return figure;
}

/// One claim at every target and cohort that it speaks of.
Result<std::string> verdict_on(const Experiment& experiment, const Claim& claim, NoiseRule noise,
                               const FigureResults& results) {
  struct Judged {
    std::size_t cohort;
    double epsilon;
    PairedFinding finding;
  };
  std::vector<Judged> judged;
  RandomSource flips(7);
  for (std::size_t cohort = 0; cohort < experiment.cohorts.size(); ++cohort) {
    for (const double epsilon : experiment.epsilons) {
      if (epsilon < claim.epsilon_min || epsilon > claim.epsilon_max) continue;
      const PointResults* better = find(results, {cohort, claim.better, noise, epsilon});
      const PointResults* worse = claim.worse_private ? find(results, {cohort, claim.worse, noise, epsilon})
                                                      : find(results, {cohort, claim.worse, NoiseRule::None, 0.0});
      if (better == nullptr || worse == nullptr) continue;
      const std::vector<double> a = errors_of(*better);
      const std::vector<double> b = claim.below ? std::vector<double>(a.size(), *claim.below) : errors_of(*worse);
      UNDERTONE_TRY(const PairedFinding finding, judge_paired(a, b, claim.margin, flips));
      judged.push_back({cohort, epsilon, finding});
    }
  }
  if (judged.empty()) return fmt::format("- {} ({}): not tried in this grid\n", claim.text, trained_with(noise));
  // Each way is a family of its own: a claim that is said to fail is as sure as one that is said to hold.
  std::vector<double> p_holds;
  std::vector<double> p_fails;
  p_holds.reserve(judged.size());
  p_fails.reserve(judged.size());
  for (const Judged& one : judged) {
    p_holds.push_back(one.finding.p_value.value_or(1.0));
    p_fails.push_back(one.finding.p_value ? 1.0 - *one.finding.p_value : 1.0);
  }
  UNDERTONE_TRY(const std::vector<double> corrected, holm(p_holds));
  const Result<std::vector<double>> opposite = holm(p_fails);
  if (!opposite) return opposite.error();
  std::size_t holds = 0;
  std::size_t fails = 0;
  std::string rows;
  const VerdictWords words{experiment.judged};
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const Judged& one = judged[i];
    const bool sure = corrected[i] < kFindingSignificance;
    const bool failed = (*opposite)[i] < kFindingSignificance;
    holds += sure ? 1 : 0;
    fails += failed ? 1 : 0;
    rows += fmt::format("| {} | {} | {:+.4f} | {:+.4f} .. {:+.4f} | {:.2g} | {:.2g} | {:.2g} | {} |\n",
                        experiment.cohorts[one.cohort].title, one.epsilon, one.finding.difference.mean,
                        one.finding.difference.low, one.finding.difference.high, corrected[i], (*opposite)[i],
                        one.finding.permutation_p_value, words.at_target(sure, failed));
  }
  return fmt::format(
      "- **{}** ({}): {}\n\n"
      "| cohort | epsilon | how much better | 90 % interval | p (t, Holm) | p of the opposite | p (sign flips) | |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n{}\n",
      claim.text, trained_with(noise), words.in_all(holds, fails, judged.size()), rows);
}

Result<std::string> text_of(const Experiment& experiment, const FigureResults& results) {
  std::string out = fmt::format(
      "# {}: {}\n\n{} splits, {} repetitions; test error is of the setting with the least "
      "training loss on each split.\n\n",
      experiment.name, experiment.title, experiment.splits, experiment.repetitions);
  for (const std::string& note : experiment.notes) out += "- " + note + "\n";
  if (experiment.recipe) out += "- " + experiment.recipe->note + "\n";
  out += "\n## Claims of the source\n\n";
  out += experiment.judged ? "A verdict is of a paired test over splits: \"holds\" at 5 % after Holm's correction "
                             "over\nthe row's targets "
                             "and cohorts, \"fails\" where the opposite is, corrected alike. Splits share records, so "
                             "p is of\nthis data "
                             "set. "
                           : "No claim is judged by this grid, which is untuned. ";
  out +=
      "Split s, from 1, is dealt with seed s; repetition r of its trainings, from 0, draws with seed\n1000 s + r.\n\n";
  for (const Claim& claim : experiment.claims) {
    for (const NoiseRule noise : noise_rules(experiment)) {
      Result<std::string> verdict = verdict_on(experiment, claim, noise, results);
      if (!verdict) return verdict;
      out += *verdict;
    }
  }
  out += "\n## Edges of the grids\n\n" + edges_of(experiment, results) + "\n";
  out +=
      "## What the source's noise costs\n\nEpsilon by numeric composition, and what some pair of data sets reaches, at "
      "the same delta.\n\n| cohort | method | claimed | at most | at least |\n| --- | --- | --- | --- | --- |\n";
  for (const auto& [key, point] : results) {
    const auto& [cohort, method, noise, epsilon] = key;
    if (noise != NoiseRule::Paper) continue;
    out += fmt::format("| {} | {} | {} | {:.3g} | {:.3g} |\n", experiment.cohorts[cohort].title, to_string(method),
                       epsilon, point.cost.epsilon, point.cost.attained);
  }
  return out;
}

}  // namespace

std::vector<PointKey> points_of(const Experiment& experiment) {
  std::vector<PointKey> out;
  for (std::size_t cohort = 0; cohort < experiment.cohorts.size(); ++cohort) {
    for (const Method method : experiment.methods) out.emplace_back(cohort, method, NoiseRule::None, 0.0);
    for (const NoiseRule noise : noise_rules(experiment)) {
      for (const Method method : experiment.methods) {
        for (const double epsilon : experiment.epsilons) out.emplace_back(cohort, method, noise, epsilon);
      }
    }
  }
  return out;
}

Result<std::string> write_figure_report(const Experiment& experiment, const FigureResults& results,
                                        const std::filesystem::path& folder) {
  UNDERTONE_TRY(const std::string table, table_of(experiment, results));
  Result<std::string> text = text_of(experiment, results);
  if (!text) return text.error();
  if (Status written = write_file_atomically(folder / (experiment.name + ".table.csv"), table); !written)
    return written.error();
  if (Status written = write_file_atomically(folder / (experiment.name + ".md"), *text); !written)
    return written.error();
  UNDERTONE_TRY(const Figure picture, picture_of(experiment, results));
  std::string name = experiment.name;
  std::replace(name.begin(), name.end(), '.', '_');
  if (Status drawn = write_figure(picture, folder, name); !drawn) return drawn.error();
  return text;
}

}  // namespace undertone::lab
