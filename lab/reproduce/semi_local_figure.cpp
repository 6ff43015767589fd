#include "lab/reproduce/semi_local_figure.hpp"

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "lab/reproduce/dimension_figure.hpp"
#include "lab/reproduce/paired_finding.hpp"
#include "lab/reproduce/resumable_figure.hpp"
#include "shared/algorithms/public/with_public_records.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "simulation/direct_cohort.hpp"

namespace undertone::lab {
namespace {

using SemiLocalJson = nlohmann::ordered_json;

constexpr double kSemiLocalClip = 1.0;
constexpr double kSemiLocalBand = 0.9;      // of error bars
constexpr double kSemiLocalDelta = 1e-5;    // of a promise that reports, which are pure, do not use
constexpr double kSemiLocalGain = 0.7;      // of the better baseline, from a cold start: spec 0.8
constexpr double kSemiLocalShareMax = 0.1;  // up to which that is claimed
constexpr std::array kSemiLocalMethods = {SemiLocalMethod::ThrowAway, SemiLocalMethod::LdpSgd,
                                          SemiLocalMethod::SemiLdpSgd};

struct SemiLocalCell {
  SemiLocalStart start;
  double epsilon;
  SemiLocalMethod method;
  std::size_t repetition;
};

std::vector<SemiLocalCell> semi_local_cells(const SemiLocalFigure& figure) {
  std::vector<SemiLocalCell> out;
  for (const SemiLocalStart& start : semi_local_starts(figure))
    for (const double epsilon : figure.epsilons)
      for (std::size_t repetition = 0; repetition < figure.repetitions; ++repetition)
        for (const SemiLocalMethod method : kSemiLocalMethods) out.push_back({start, epsilon, method, repetition});
  return out;
}

std::string_view name_of(const SemiLocalStart& start) { return start.warm ? "warm" : "cold"; }

using SemiLocalKey = std::tuple<bool, std::size_t, double, SemiLocalMethod>;
using SemiLocalTables = std::map<SemiLocalKey, ExcessTable>;

SemiLocalKey key_of(const SemiLocalStart& start, double epsilon, SemiLocalMethod method) {
  return {start.warm, start.open, epsilon, method};
}

/// The least mean of a method over the repetitions, each at the step that is best for the others.
Result<MeanInterval> mean_of(const SemiLocalTables& tables, const SemiLocalStart& start, double epsilon,
                             SemiLocalMethod method) {
  return mean_interval(excess_of_others_best(tables.at(key_of(start, epsilon, method))), kSemiLocalBand);
}

Result<std::string> semi_local_text(const SemiLocalFigure& figure, const SemiLocalTables& tables) {
  std::string out = fmt::format(
      "# {}: every protected record reports by itself\n\n"
      "Least squares on y = <w*, x> + u in d = {} dimensions, u of standard deviation 1/2: the table shows the excess "
      "of the test loss over its optimum .25, the mean of {} repetitions with records of their own. {} records in all, "
      "each read once, in {} parts; reports are PrivUnitG's of normalised gradients. Every record counts alike. The "
      "last iterate is the model. Each repetition's step is the best of the others, by true loss, of a grid with "
      "step 0: that choice is not private.\n",
      kSemiLocalFigure, figure.dimension, figure.repetitions, figure.records, figure.rounds);
  for (const SemiLocalStart& start : semi_local_starts(figure)) {
    out += fmt::format("\n## {} start, n_pub = {}\n\n| epsilon |", name_of(start), start.open);
    std::string rule = "| --- |";
    for (const SemiLocalMethod method : kSemiLocalMethods) {
      out += fmt::format(" {} |", to_string(method));
      rule += " --- |";
    }
    out += " semi-LDP over the better other | verdict |\n" + rule + " --- | --- |\n";
    const double share = static_cast<double>(start.open) / static_cast<double>(figure.records);
    for (const double epsilon : figure.epsilons) {
      out += fmt::format("| {:g} |", epsilon);
      std::map<SemiLocalMethod, MeanInterval> means;
      for (const SemiLocalMethod method : kSemiLocalMethods) {
        UNDERTONE_TRY(means[method], mean_of(tables, start, epsilon, method));
        out += fmt::format(" {:.4f} |", means[method].mean);
      }
      const double other = std::min(means[SemiLocalMethod::ThrowAway].mean, means[SemiLocalMethod::LdpSgd].mean);
      const double ratio = means[SemiLocalMethod::SemiLdpSgd].mean / other;
      std::string verdict = "not judged";
      if (figure.judged && start.warm) {
        const double within = means[SemiLocalMethod::SemiLdpSgd].low;
        verdict = within <= other ? "at most the better other, within the error" : "worse than the better other";
      } else if (figure.judged && share <= kSemiLocalShareMax && epsilon == 4.0) {
        verdict = ratio <= kSemiLocalGain ? "at most .7 of it: holds" : "at most .7 of it: fails";
      }
      out += fmt::format(" {:.2f} | {} |\n", ratio, verdict);
    }
  }
  return out;
}

Result<Figure> semi_local_picture(const SemiLocalFigure& figure, const SemiLocalTables& tables) {
  Figure picture;
  picture.title = fmt::format("{}: d = {}, n = {} (not private tuning; 90 % intervals)", kSemiLocalFigure,
                              figure.dimension, figure.records);
  const std::vector<SemiLocalStart> starts = semi_local_starts(figure);
  picture.columns = starts.size();
  for (const SemiLocalStart& start : starts) {
    Panel panel{fmt::format("{} start, n_pub = {}", name_of(start), start.open),
                {"epsilon", AxisScale::Logarithmic},
                {"excess test loss", AxisScale::Logarithmic},
                {}};
    for (const SemiLocalMethod method : kSemiLocalMethods) {
      Series series{std::string(to_string(method)), {}, SeriesStyle::LineWithPoints};
      for (const double epsilon : figure.epsilons) {
        UNDERTONE_TRY(const MeanInterval mean, mean_of(tables, start, epsilon, method));
        Point point{epsilon, mean.mean, {}};
        if (mean.low > 0.0) point.interval = Interval{mean.low, mean.high};
        series.points.push_back(point);
      }
      panel.series.push_back(std::move(series));
    }
    picture.panels.push_back(std::move(panel));
  }
  return picture;
}

std::string semi_local_table(const SemiLocalFigure& figure, const SemiLocalTables& tables) {
  std::string out = "start,public_records,epsilon,method,repetition,excess\n";
  for (const auto& [key, table] : tables) {
    const auto& [warm, open, epsilon, method] = key;
    const std::vector<double> best = excess_of_others_best(table);
    for (std::size_t r = 0; r < figure.repetitions; ++r)
      out +=
          fmt::format("{},{},{:g},{},{},{:.6g}\n", name_of({warm, open}), open, epsilon, to_string(method), r, best[r]);
  }
  return out;
}

/// One pass along the public records' gradients, record by record, normalised like the reports' are.
Eigen::VectorXd public_pass(const models::Records& open, Eigen::VectorXd weights, double step) {
  for (Eigen::Index j = 0; j < open.targets.size(); ++j) {
    const auto x = open.features.col(j);
    const double error = weights.dot(x) - open.targets[j];
    const double length = std::abs(error) * x.norm();
    if (length > 0.0) weights -= step * kSemiLocalClip * error / length * x;
  }
  return weights;
}

double excess_loss(const PublicProblem& problem, const Eigen::VectorXd& weights) {
  return (weights - problem.optimum).squaredNorm();
}

}  // namespace

std::string_view to_string(SemiLocalMethod method) noexcept {
  switch (method) {
    case SemiLocalMethod::ThrowAway:
      return "throw-away";
    case SemiLocalMethod::LdpSgd:
      return "LDP-SGD on all";
    case SemiLocalMethod::SemiLdpSgd:
      return "semi-LDP SGD (Algorithm 13)";
  }
  return "";
}

SemiLocalFigure semi_local_figure(FigureSize size) {
  if (size == FigureSize::Quick) return {10, {0.1}, {1.5}, {4.0}, 200, 20, {0.0, 0.5, 2.0}, 2, false};
  return {50,
          {0.02, 0.05, 0.1, 0.5},
          {1.5, 3.0},
          {2.0, 4.0, 6.0},
          7500,
          250,
          {0.0, 0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0},
          12,
          true};
}

std::vector<SemiLocalStart> semi_local_starts(const SemiLocalFigure& figure) {
  std::vector<SemiLocalStart> out;
  for (const double share : figure.public_shares)
    out.push_back({false, static_cast<std::size_t>(std::llround(share * static_cast<double>(figure.records)))});
  for (const double share : figure.warm_shares)
    out.push_back({true, static_cast<std::size_t>(std::llround(share * static_cast<double>(figure.dimension)))});
  return out;
}

Result<std::vector<double>> semi_local_losses(const SemiLocalFigure& figure, SemiLocalMethod method,
                                              const SemiLocalStart& start, double epsilon, std::uint64_t seed) {
  const PublicProblem problem = public_problem(figure.dimension, start.open, figure.records - start.open, seed);
  const models::LinearModel model(models::Loss::LeastSquares, static_cast<Eigen::Index>(figure.dimension), false);
  UNDERTONE_TRY(models::PublicLoss own, models::PublicLoss::create(model, problem.open));
  const auto loss = std::make_shared<const models::PublicLoss>(std::move(own));
  Eigen::VectorXd from = Eigen::VectorXd::Zero(model.dimension());
  if (start.warm) {
    UNDERTONE_TRY(models::Minimiser least, loss->minimiser(0.0));
    from = std::move(least.weights);
  }
  std::vector<double> out;
  if (method == SemiLocalMethod::ThrowAway) {
    if (start.warm) return std::vector<double>{excess_loss(problem, from)};
    for (const double step : figure.steps) out.push_back(excess_loss(problem, public_pass(problem.open, from, step)));
    return out;
  }
  data::Dataset dataset;
  dataset.training = problem.hidden;
  if (method == SemiLocalMethod::LdpSgd) {
    dataset.training.features.conservativeResize(Eigen::NoChange, static_cast<Eigen::Index>(figure.records));
    dataset.training.features.rightCols(problem.open.features.cols()) = problem.open.features;
    dataset.training.targets.conservativeResize(static_cast<Eigen::Index>(figure.records));
    dataset.training.targets.tail(problem.open.targets.size()) = problem.open.targets;
  }
  dataset.holdout = {Eigen::MatrixXd::Zero(model.dimension(), 1), Eigen::VectorXd::Zero(1)};
  const std::int64_t records = dataset.training.count();
  algorithms::Problem minimised;
  minimised.dimension = model.dimension();
  if (Status starts = minimised.start_at(from); !starts) return starts.error();
  const algorithms::RecordReports reports{
      {releases::Randomiser::GaussianDirection, 0, releases::UnitAdapter::Normalise},
      method == SemiLocalMethod::SemiLdpSgd};
  for (const double step : figure.steps) {
    if (step == 0.0) {
      out.push_back(excess_loss(problem, from));
      continue;
    }
    algorithms::MinibatchSgdSettings settings{minimised, figure.rounds, step, {algorithms::Averaging::Kind::Last}};
    settings.epochs = 1;
    settings.reports = reports;
    const algorithms::Method inner = settings;
    const releases::SiloFacts facts{
        *SiloId::create("silo-1"), records, 1, true,
        releases::ApproximateDp{*releases::Epsilon::create(epsilon), *releases::Delta::create(kSemiLocalDelta)}};
    UNDERTONE_TRY(const planning::Plan plan,
                  planning::make_plan(
                      inner->schedule({releases::L2Bound{*releases::ClipNorm::create(kSemiLocalClip)}, 1.0}), facts));
    UNDERTONE_TRY(std::unique_ptr<algorithms::FederatedAlgorithm> algorithm, inner->make());
    if (method == SemiLocalMethod::SemiLdpSgd) {
      algorithms::WithPublicRecords::Setup setup;
      setup.use = algorithms::MixedGradients{models::PublicGradients::Rescaled};
      setup.weight = static_cast<double>(records) / static_cast<double>(figure.records);
      setup.length = kSemiLocalClip;
      setup.load = [loss]() -> Result<std::shared_ptr<const models::PublicLoss>> { return loss; };
      algorithm = std::make_unique<algorithms::WithPublicRecords>(std::move(algorithm), std::move(setup));
    }
    UNDERTONE_TRY(
        simulation::DirectCohort cohort,
        simulation::DirectCohort::create(
            {models::Model(model), {queries::ReplyType::I64, -40}, {}, seed, simulation::SimulatedNoise::Seeded},
            {{*SiloId::create("silo-1"), &dataset, plan.segments(), 1, 1}}));
    UNDERTONE_TRY(const algorithms::Outcome outcome, cohort.train(*algorithm));
    out.push_back(excess_loss(problem, outcome.vectors.at("weights")));
  }
  return out;
}

Status reproduce_semi_local(const SemiLocalFigure& figure, const ReproduceRequest& request) {
  const std::vector<SemiLocalCell> cells = semi_local_cells(figure);
  const SemiLocalJson header = {{"format", "undertone.semi_local/1"},
                                {"figure", std::string(kSemiLocalFigure)},
                                {"dimension", figure.dimension},
                                {"public_shares", figure.public_shares},
                                {"warm_shares", figure.warm_shares},
                                {"epsilons", figure.epsilons},
                                {"records", figure.records},
                                {"rounds", figure.rounds},
                                {"steps", figure.steps},
                                {"repetitions", figure.repetitions}};
  ResumableFigure out{std::string(kSemiLocalFigure), header, cells.size(), {}, "excess", {}, {}};
  out.describe = [&](std::size_t point) -> SemiLocalJson {
    const SemiLocalCell& cell = cells[point];
    return {{"start", std::string(name_of(cell.start))},
            {"public_records", cell.start.open},
            {"epsilon", cell.epsilon},
            {"method", std::string(to_string(cell.method))},
            {"repetition", cell.repetition}};
  };
  out.compute = [&](std::size_t point) {
    const SemiLocalCell& cell = cells[point];
    return semi_local_losses(figure, cell.method, cell.start, cell.epsilon, cell.repetition + 1);
  };
  out.files = [&](const std::vector<std::vector<double>>& points) -> Result<FigureFiles> {
    SemiLocalTables tables;
    for (std::size_t i = 0; i < cells.size(); ++i)
      tables[key_of(cells[i].start, cells[i].epsilon, cells[i].method)].push_back(points[i]);
    UNDERTONE_TRY(std::string text, semi_local_text(figure, tables));
    UNDERTONE_TRY(Figure picture, semi_local_picture(figure, tables));
    return FigureFiles{semi_local_table(figure, tables), std::move(text), std::move(picture)};
  };
  return reproduce_resumably(out, request);
}

}  // namespace undertone::lab
