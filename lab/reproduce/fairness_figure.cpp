#include "lab/reproduce/fairness_figure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/reproduce/paired_finding.hpp"
#include "lab/reproduce/resumable_figure.hpp"
#include "shared/base/random_source.hpp"
#include "shared/fairness/group_outcomes.hpp"

namespace undertone::lab {
namespace {

using FairnessJson = nlohmann::ordered_json;
using fairness::GroupedRecords;
using fairness::Notion;

constexpr double kVerdictInterval = 0.9;
constexpr Eigen::Index kAdvantaged = 1;  // the label of equal opportunity

std::string_view notion_name(Notion notion) {
  switch (notion) {
    case Notion::DemographicParity:
      return "demographic parity";
    case Notion::EqualisedOdds:
      return "equalised odds";
    case Notion::EqualOpportunity:
      break;
  }
  return "equal opportunity";
}

/// The numbers of one trained model on the test records.
struct Tested {
  double error = 0.0;
  double parity = 0.0;
  double odds = 0.0;
  double opportunity = 0.0;

  [[nodiscard]] double gap(Notion notion) const {
    switch (notion) {
      case Notion::DemographicParity:
        return parity;
      case Notion::EqualisedOdds:
        return odds;
      case Notion::EqualOpportunity:
        break;
    }
    return opportunity;
  }
};

Tested tested_on(const GroupedRecords& records, const Eigen::MatrixXd& model) {
  fairness::GroupOutcomes outcomes(records.classes, records.group_count);
  const Eigen::MatrixXd scores = model * records.features;
  for (std::size_t i = 0; i < records.labels.size(); ++i) {
    Eigen::Index predicted = 0;
    scores.col(static_cast<Eigen::Index>(i)).maxCoeff(&predicted);
    outcomes.add(records.labels[i], records.groups[i], predicted);
  }
  return {outcomes.error(), outcomes.parity().between_groups, outcomes.odds().between_groups,
          outcomes.opportunity(kAdvantaged).between_groups};
}

/// The error of who always says the commonest label.
double majority_error(const GroupedRecords& records) {
  const auto ones = static_cast<double>(std::count(records.labels.begin(), records.labels.end(), 1));
  const double share = ones / static_cast<double>(records.labels.size());
  return std::min(share, 1.0 - share);
}

/// Keeps each group with the chance, from a public seed.
GroupedRecords with_known_groups(GroupedRecords records, double chance, std::uint64_t seed) {
  RandomSource source(seed);
  for (Eigen::Index& group : records.groups)
    if (!source.chance(chance)) group = GroupedRecords::kUnknownGroup;
  return records;
}

/// The steps are those of spec fair-learning 4.3, halved: a model of two scores moves twice as far as one of one score.
fairness::FermiSettings steps_of(const FairnessFigure& figure, const FairnessCurve& curve, double lambda,
                                 std::uint64_t seed) {
  if (curve.batch == 0) return {figure.steps, 0.15 / (1.0 + lambda / 10.0), 0.4 / std::max(1.0, lambda), 0, seed};
  const auto batch = static_cast<double>(curve.batch);
  return {figure.batch_steps, 0.0025 * std::min(4.0, std::sqrt(batch)) / (1.0 + lambda / 10.0),
          0.01 / std::max(1.0, lambda), curve.batch, seed};
}

struct FairnessCell {
  std::size_t curve;
  std::size_t lambda;
  std::size_t repetition;
};

std::vector<FairnessCell> cells_of(const FairnessFigure& figure) {
  std::vector<FairnessCell> out;
  for (std::size_t c = 0; c < figure.curves.size(); ++c)
    for (std::size_t l = 0; l < figure.lambdas.size(); ++l)
      for (std::size_t r = 0; r < figure.repetitions; ++r) out.push_back({c, l, r});
  return out;
}

Result<std::vector<double>> trained(const FairnessFigure& figure, const std::vector<GroupedSplit>& splits,
                                    const FairnessCell& cell) {
  const FairnessCurve& curve = figure.curves[cell.curve];
  const double lambda = figure.lambdas[cell.lambda];
  const GroupedSplit& split = splits[cell.repetition % splits.size()];
  const bool masked = curve.known_groups < 1.0;
  const GroupedRecords own =
      masked ? with_known_groups(split.train, curve.known_groups, cell.repetition + 1) : GroupedRecords{};
  UNDERTONE_TRY(const fairness::FairObjective objective,
                fairness::FairObjective::create(masked ? own : split.train, curve.notion, lambda, kAdvantaged));
  UNDERTONE_TRY(const fairness::FairObjective::Point found,
                fairness::fermi(objective, steps_of(figure, curve, lambda, cell.repetition + 1)));
  const Tested tested = tested_on(split.test, found.model);
  return std::vector<double>{tested.error, tested.parity, tested.odds, tested.opportunity};
}

/// This holds what every repetition reached: of each curve, then of each lambda.
using Runs = std::vector<std::vector<std::vector<Tested>>>;

Runs runs_of(const FairnessFigure& figure, const std::vector<std::vector<double>>& points) {
  Runs out(figure.curves.size(), std::vector<std::vector<Tested>>(figure.lambdas.size()));
  const std::vector<FairnessCell> cells = cells_of(figure);
  for (std::size_t i = 0; i < cells.size(); ++i)
    out[cells[i].curve][cells[i].lambda].push_back(
        {points[i].at(0), points[i].at(1), points[i].at(2), points[i].at(3)});
  return out;
}

/// The mean over repetitions, of each curve and lambda.
std::vector<std::vector<Tested>> means_of(const Runs& runs) {
  std::vector<std::vector<Tested>> out;
  for (const std::vector<std::vector<Tested>>& curve : runs) {
    out.emplace_back();
    for (const std::vector<Tested>& repetitions : curve) {
      Tested mean;
      for (const Tested& one : repetitions) {
        mean.error += one.error / static_cast<double>(repetitions.size());
        mean.parity += one.parity / static_cast<double>(repetitions.size());
        mean.odds += one.odds / static_cast<double>(repetitions.size());
        mean.opportunity += one.opportunity / static_cast<double>(repetitions.size());
      }
      out.back().push_back(mean);
    }
  }
  return out;
}

/// The naive way to a smaller gap: with some chance the commonest label is said in place of the model's. Error and gap
/// are then on a line. @return the error at this gap @param plain the model without a regulariser
double naive_error(const Tested& plain, Notion notion, double gap, double majority) {
  const double gap_of_plain = plain.gap(notion);
  if (!(gap_of_plain > 0.0)) return plain.error;
  const double kept = std::clamp(gap / gap_of_plain, 0.0, 1.0);
  return kept * plain.error + (1.0 - kept) * majority;
}

/// Whether a curve's points with a smaller gap than the plain model's are below the naive baseline: each repetition
/// against its own plain model, by 90 % intervals where there are several.
Result<std::string> verdict(const FairnessFigure& figure, const std::vector<std::vector<Tested>>& of_lambdas,
                            Notion notion, double majority) {
  if (!figure.judged) return std::string("not judged");
  bool above = false;
  bool unclear = false;
  for (std::size_t l = 1; l < of_lambdas.size(); ++l) {
    std::vector<double> over;
    double smaller = 0.0;
    for (std::size_t r = 0; r < figure.repetitions; ++r) {
      const Tested& plain = of_lambdas.front()[r];
      const Tested& one = of_lambdas[l][r];
      over.push_back(one.error - naive_error(plain, notion, one.gap(notion), majority));
      smaller += plain.gap(notion) - one.gap(notion);
    }
    if (smaller <= 0.0) continue;
    double low = over.front();
    double high = over.front();
    if (over.size() > 1) {
      UNDERTONE_TRY(const MeanInterval interval, mean_interval(over, kVerdictInterval));
      low = interval.low;
      high = interval.high;
    }
    above = above || low > 0.0;
    unclear = unclear || (low <= 0.0 && high > 0.0);
  }
  return std::string(above ? "fails" : unclear ? "undecided" : "holds");
}

Result<std::string> text_of(const FairnessFigure& figure, const Runs& runs, double majority) {
  const std::vector<std::vector<Tested>> means = means_of(runs);
  std::string out = fmt::format(
      "# {}: {}\n\nThe data are {}, groups are by {}, which is not among the features; softmax regression, {} "
      "repetition{}. "
      "NOT PRIVATE: nothing is noised, and features are scaled by the records' own means.\nA gap is the largest "
      "difference of two groups' rates among the test records. The naive baseline says the commonest label with some "
      "chance; its error stands at the same gap. It makes {:.3f} errors at gap 0.\n\n"
      "| curve | lambda | error | gap of the notion | naive error there | parity | odds | opportunity |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
      figure.name, figure.title, figure.table.name, figure.table.group.name, figure.repetitions,
      figure.repetitions == 1 ? "" : "s", majority);
  std::string verdicts = "\n| curve | the source's claim | |\n| --- | --- | --- |\n";
  for (std::size_t c = 0; c < means.size(); ++c) {
    const FairnessCurve& curve = figure.curves[c];
    const Tested& plain = means[c].front();
    for (std::size_t l = 0; l < means[c].size(); ++l) {
      const Tested& one = means[c][l];
      const double gap = one.gap(curve.notion);
      const double naive = naive_error(plain, curve.notion, gap, majority);
      out += fmt::format("| {} | {:g} | {:.4f} | {:.4f} | {:.4f} | {:.4f} | {:.4f} | {:.4f} |\n", curve.name,
                         figure.lambdas[l], one.error, gap, naive, one.parity, one.odds, one.opportunity);
    }
    UNDERTONE_TRY(const std::string judged, verdict(figure, runs[c], curve.notion, majority));
    verdicts +=
        fmt::format("| {} | its points with a smaller gap are below the naive baseline | {} |\n", curve.name, judged);
  }
  return out + verdicts;
}

std::string table_of(const FairnessFigure& figure, const std::vector<std::vector<double>>& points) {
  std::string out = "curve,lambda,repetition,error,parity,odds,opportunity\n";
  const std::vector<FairnessCell> cells = cells_of(figure);
  for (std::size_t i = 0; i < cells.size(); ++i)
    out += fmt::format("{},{:g},{},{:.6f},{:.6f},{:.6f},{:.6f}\n", figure.curves[cells[i].curve].name,
                       figure.lambdas[cells[i].lambda], cells[i].repetition, points[i].at(0), points[i].at(1),
                       points[i].at(2), points[i].at(3));
  return out;
}

Series series_of(const FairnessCurve& curve, const std::vector<Tested>& means) {
  Series out{curve.name, {}, SeriesStyle::LineWithPoints};
  for (const Tested& one : means) out.points.push_back({one.gap(curve.notion), one.error, {}});
  return out;
}

/// A panel for each notion.
Figure picture_of(const FairnessFigure& figure, const std::vector<std::vector<Tested>>& means, double majority) {
  Figure picture;
  picture.title = fmt::format("{}: {} (not private)", figure.name, figure.title);
  for (const Notion notion : {Notion::DemographicParity, Notion::EqualisedOdds, Notion::EqualOpportunity}) {
    Panel panel{std::string(notion_name(notion)), {"gap between the groups"}, {"test error"}, {}};
    for (std::size_t c = 0; c < means.size(); ++c) {
      if (figure.curves[c].notion != notion) continue;
      if (panel.series.empty())
        panel.series.push_back({"naive baseline",
                                {{means[c].front().gap(notion), means[c].front().error, {}}, {0.0, majority, {}}},
                                SeriesStyle::DashedLine});
      panel.series.push_back(series_of(figure.curves[c], means[c]));
    }
    if (!panel.series.empty()) picture.panels.push_back(std::move(panel));
  }
  picture.columns = picture.panels.size();
  return picture;
}

FairnessJson header_of(const FairnessFigure& figure) {
  FairnessJson curves = FairnessJson::array();
  for (const FairnessCurve& curve : figure.curves)
    curves.push_back({{"name", curve.name},
                      {"notion", std::string(notion_name(curve.notion))},
                      {"batch", curve.batch},
                      {"known_groups", curve.known_groups}});
  return {{"format", "undertone.fairness/1"},
          {"figure", figure.name},
          {"table", figure.table.name},
          {"lambdas", figure.lambdas},
          {"steps", figure.steps},
          {"batch_steps", figure.batch_steps},
          {"records_max", figure.records_max},
          {"repetitions", figure.repetitions},
          {"curves", std::move(curves)}};
}

}  // namespace

FairnessFigure fairness_figure(std::string_view name, FigureSize size) {
  FairnessFigure out;
  out.name = std::string(name);
  out.table = census_table();
  out.lambdas = {0.0, 1.0, 3.0, 10.0, 30.0};
  if (name == "fig5.2") {
    out.title = "batches of one record are enough";
    out.lambdas = {0.0, 1.0, 3.0, 10.0};
    out.repetitions = 3;
    for (const std::size_t batch : {std::size_t{1}, std::size_t{4}, std::size_t{16}, std::size_t{64}})
      out.curves.push_back({fmt::format("{} a step", batch), Notion::DemographicParity, batch, 1.0});
  } else if (name == "fig5.3") {
    out.title = "nine of ten groups are not known";
    out.lambdas = {0.0, 1.0, 3.0, 10.0};
    out.repetitions = 3;
    out.curves = {{"all groups known", Notion::DemographicParity, 0, 1.0},
                  {"a tenth known", Notion::DemographicParity, 0, 0.1}};
  } else {
    out.title = "error against the violation of three notions";
    if (name == "fig5.1-compas") {
      out.table = compas_table();
      out.repetitions = 10;
    }
    for (const Notion notion : {Notion::DemographicParity, Notion::EqualisedOdds, Notion::EqualOpportunity})
      out.curves.push_back({std::string(notion_name(notion)), notion, 0, 1.0});
  }
  if (size == FigureSize::Quick) {
    out.lambdas = {0.0, 3.0};
    out.steps = 40;
    out.batch_steps = 400;
    out.records_max = 2000;
    out.repetitions = 1;
    out.judged = false;
  }
  return out;
}

Status reproduce_fairness(const FairnessFigure& figure, const ReproduceRequest& request) {
  if (request.data.empty())
    return Error{ErrorCode::InvalidArgument, fmt::format("--data: expected the folder of {}{}", figure.table.train,
                                                         figure.table.test.empty() ? "" : " and " + figure.table.test)};
  std::vector<GroupedSplit> splits;
  double majority = 0.0;
  const std::size_t wanted = figure.table.test.empty() ? figure.repetitions : 1;
  for (std::size_t i = 0; i < wanted; ++i) {
    UNDERTONE_TRY(GroupedSplit split, grouped_split(figure.table, request.data, i + 1, figure.records_max));
    majority += majority_error(split.test) / static_cast<double>(wanted);
    splits.push_back(std::move(split));
  }
  const std::vector<FairnessCell> cells = cells_of(figure);
  const ResumableFigure resumable{
      figure.name,
      header_of(figure),
      cells.size(),
      [&](std::size_t i) -> FairnessJson {
        return {{"curve", figure.curves[cells[i].curve].name},
                {"lambda", figure.lambdas[cells[i].lambda]},
                {"repetition", cells[i].repetition}};
      },
      "error_and_gaps",
      [&](std::size_t i) { return trained(figure, splits, cells[i]); },
      [&](const std::vector<std::vector<double>>& points) -> Result<FigureFiles> {
        for (const std::vector<double>& point : points)
          if (point.size() != 4) return Error{ErrorCode::InvalidData, "a point has not four numbers"};
        const Runs runs = runs_of(figure, points);
        UNDERTONE_TRY(const std::string text, text_of(figure, runs, majority));
        return FigureFiles{table_of(figure, points), text, picture_of(figure, means_of(runs), majority)};
      }};
  return reproduce_resumably(resumable, request);
}

}  // namespace undertone::lab
