#include "lab/reproduce/public_figure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "lab/reproduce/compared_methods.hpp"
#include "lab/reproduce/dimension_figure.hpp"
#include "lab/reproduce/paired_finding.hpp"
#include "lab/reproduce/resumable_figure.hpp"
#include "shared/algorithms/public/with_public_records.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/base/random_source.hpp"
#include "simulation/direct_cohort.hpp"

namespace undertone::lab {
namespace {

using PublicJson = nlohmann::ordered_json;

constexpr double kTargetNoise = 0.5;  // standard deviation of u
constexpr double kClip = 1.0;
constexpr double kBand = 0.9;  // of error bars
constexpr std::array kPublicMethods = {PublicMethod::ThrowAway, PublicMethod::DpSgd, PublicMethod::MirrorDescent,
                                       PublicMethod::MixedGradients};

double normal(RandomSource& random) {
  return std::sqrt(-2.0 * std::log(1.0 - random.unit())) * std::cos(6.283185307179586 * random.unit());
}

models::Records drawn_records(RandomSource& random, const Eigen::VectorXd& optimum, std::size_t count) {
  models::Records out{Eigen::MatrixXd(optimum.size(), static_cast<Eigen::Index>(count)),
                      Eigen::VectorXd(static_cast<Eigen::Index>(count))};
  for (Eigen::Index j = 0; j < out.targets.size(); ++j) {
    for (double& number : out.features.col(j)) number = normal(random);
    out.targets[j] = optimum.dot(out.features.col(j)) + kTargetNoise * normal(random);
  }
  return out;
}

struct PublicCell {
  double share;
  double epsilon;
  PublicMethod method;
  std::size_t repetition;
};

std::vector<PublicCell> cells_of(const PublicFigure& figure) {
  std::vector<PublicCell> out;
  for (const double share : figure.public_shares)
    for (const double epsilon : figure.epsilons)
      for (std::size_t repetition = 0; repetition < figure.repetitions; ++repetition)
        for (const PublicMethod method : kPublicMethods) out.push_back({share, epsilon, method, repetition});
  return out;
}

std::size_t open_records(const PublicFigure& figure, double share) {
  return static_cast<std::size_t>(std::llround(share * static_cast<double>(figure.dimension)));
}

/// A run of a method is determined by this and by its step size.
struct PublicSetup {
  data::Dataset dataset;
  std::shared_ptr<const models::PublicLoss> loss;
  Eigen::VectorXd start;
  double weight = 1.0;
};

Result<PublicSetup> setup_of(const PublicFigure& figure, const PublicProblem& problem, PublicMethod method,
                             const models::LinearModel& model) {
  PublicSetup out;
  UNDERTONE_TRY(const models::PublicLoss loss, models::PublicLoss::create(model, problem.open));
  UNDERTONE_TRY(models::Minimiser least, loss.minimiser(0.0));
  out.start = std::move(least.weights);
  out.loss = std::make_shared<const models::PublicLoss>(loss);
  out.dataset.training = problem.hidden;
  if (method == PublicMethod::DpSgd) out.dataset.training = joined(problem.hidden, problem.open);
  out.dataset.holdout = {Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(figure.dimension), 1),
                         Eigen::VectorXd::Zero(1)};
  return out;
}

Result<planning::Plan> plan_of(const PublicFigure& figure, const algorithms::Method& method, std::int64_t records,
                               double epsilon) {
  const algorithms::GradientShape shape{releases::L2Bound{*releases::ClipNorm::create(kClip)}, 1.0};
  const releases::SiloFacts facts{
      *SiloId::create("silo-1"), records, 1, true,
      releases::ApproximateDp{*releases::Epsilon::create(epsilon), *releases::Delta::create(figure.delta)}};
  return planning::make_plan(method->schedule(shape), facts);
}

PublicJson description_of(const PublicCell& cell) {
  return {{"public_share", cell.share},
          {"epsilon", cell.epsilon},
          {"method", std::string(to_string(cell.method))},
          {"repetition", cell.repetition}};
}

PublicJson header_of(const PublicFigure& figure) {
  return {{"format", "undertone.public/1"}, {"figure", std::string(kPublicFigure)},
          {"dimension", figure.dimension},  {"public_shares", figure.public_shares},
          {"epsilons", figure.epsilons},    {"records", figure.records},
          {"rounds", figure.rounds},        {"delta", figure.delta},
          {"steps", figure.steps},          {"repetitions", figure.repetitions}};
}

using PublicLosses = std::map<std::tuple<double, double, PublicMethod>, ExcessTable>;

PublicLosses losses_of(const std::vector<PublicCell>& cells, const std::vector<std::vector<double>>& points) {
  PublicLosses out;
  for (std::size_t i = 0; i < cells.size(); ++i)
    out[{cells[i].share, cells[i].epsilon, cells[i].method}].push_back(points[i]);
  return out;
}

/// How much the mixed gradients are better than the best of the others, at each repetition.
struct Comparison {
  PublicMethod best = PublicMethod::ThrowAway;
  PairedFinding finding;
  double standard_error = 0.0;  // of the difference
};

Result<Comparison> compared(const PublicFigure& figure, const PublicLosses& losses, double share, double epsilon,
                            RandomSource& flips) {
  Comparison out;
  double least = INFINITY;
  for (const PublicMethod method : kPublicMethods) {
    if (method == PublicMethod::MixedGradients) continue;
    UNDERTONE_TRY(const MeanInterval mean,
                  mean_interval(excess_of_others_best(losses.at({share, epsilon, method})), kBand));
    if (mean.mean >= least) continue;
    least = mean.mean;
    out.best = method;
  }
  const std::vector<double> mixed = excess_of_others_best(losses.at({share, epsilon, PublicMethod::MixedGradients}));
  const std::vector<double> other = excess_of_others_best(losses.at({share, epsilon, out.best}));
  UNDERTONE_TRY(out.finding, judge_paired(mixed, other, 0.0, flips));
  double mean = 0.0;
  for (std::size_t i = 0; i < mixed.size(); ++i) mean += (other[i] - mixed[i]) / static_cast<double>(mixed.size());
  double squares = 0.0;
  for (std::size_t i = 0; i < mixed.size(); ++i) squares += std::pow(other[i] - mixed[i] - mean, 2);
  const auto count = static_cast<double>(figure.repetitions);
  out.standard_error = std::sqrt(squares / (count - 1.0) / count);
  return out;
}

Result<std::string> text_of(const PublicFigure& figure, const PublicLosses& losses) {
  std::string out = fmt::format(
      "# {}: few public records beside many protected ones\n\n"
      "Least squares on y = <w*, x> + u in d = {} dimensions, u of standard deviation 1/2: the optimum's test loss is "
      ".25. {} records in all, one silo, delta {:g}, {} rounds over all records, clip norm 1, {} repetitions with "
      "records of their own. Every method starts at the public records' least squares, and step 0 is in every grid. "
      "Each repetition's step is the best of the others, by true loss: that choice is not private. Public gradients "
      "are "
      "rescaled to the clip norm C; their V^2 is cross-fitted and at most C^2, and C^2 where there are fewer than two "
      "records a weight.\n",
      kPublicFigure, figure.dimension, figure.records, figure.delta, figure.rounds, figure.repetitions);
  RandomSource flips(7);
  for (const double share : figure.public_shares) {
    const std::size_t open = open_records(figure, share);
    out += fmt::format("\n## n_pub = {} = {:g} d\n\nThrow-away in closed form: {:.3f}.\n\n| epsilon |", open, share,
                       throw_away_loss(figure.dimension, open));
    std::string rule = "| --- |";
    for (const PublicMethod method : kPublicMethods) {
      out += fmt::format(" {} |", to_string(method));
      rule += " --- |";
    }
    out += " best other less mixed | within two errors | better (t, one-sided) |\n" + rule + " --- | --- | --- |\n";
    for (const double epsilon : figure.epsilons) {
      out += fmt::format("| {:g} |", epsilon);
      for (const PublicMethod method : kPublicMethods) {
        UNDERTONE_TRY(const MeanInterval mean,
                      mean_interval(excess_of_others_best(losses.at({share, epsilon, method})), kBand));
        out += fmt::format(" {:.3f} |", mean.mean);
      }
      UNDERTONE_TRY(const Comparison comparison, compared(figure, losses, share, epsilon, flips));
      const bool within = comparison.finding.difference.mean >= -2.0 * comparison.standard_error;
      out += fmt::format(" {:+.4f} ({}) | {} | {} |\n", comparison.finding.difference.mean, to_string(comparison.best),
                         !figure.judged ? "not judged"
                         : within       ? "yes"
                                        : "no",
                         !figure.judged ? "not judged" : to_string(comparison.finding.verdict));
    }
  }
  return out;
}

Result<Figure> picture_of(const PublicFigure& figure, const PublicLosses& losses) {
  Figure picture;
  picture.title = fmt::format("{}: d = {}, n = {} (not private tuning; 90 % intervals)", kPublicFigure,
                              figure.dimension, figure.records);
  picture.columns = figure.public_shares.size();
  for (const double share : figure.public_shares) {
    Panel panel{fmt::format("n_pub = {:g} d", share),
                {"epsilon", AxisScale::Logarithmic},
                {"test loss", AxisScale::Logarithmic},
                {}};
    for (const PublicMethod method : kPublicMethods) {
      Series series{std::string(to_string(method)), {}, SeriesStyle::LineWithPoints};
      for (const double epsilon : figure.epsilons) {
        UNDERTONE_TRY(const MeanInterval mean,
                      mean_interval(excess_of_others_best(losses.at({share, epsilon, method})), kBand));
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

std::string table_of(const PublicFigure& figure, const PublicLosses& losses) {
  std::string out = "public_share,epsilon,method,repetition,loss\n";
  for (const auto& [key, table] : losses) {
    const auto& [share, epsilon, method] = key;
    const std::vector<double> best = excess_of_others_best(table);
    for (std::size_t r = 0; r < figure.repetitions; ++r)
      out += fmt::format("{:g},{:g},{},{},{:.6g}\n", share, epsilon, to_string(method), r, best[r]);
  }
  return out;
}

}  // namespace

std::string_view to_string(PublicMethod method) noexcept {
  switch (method) {
    case PublicMethod::ThrowAway:
      return "throw-away";
    case PublicMethod::DpSgd:
      return "DP-SGD on all";
    case PublicMethod::MirrorDescent:
      return "mirror map (PDA-MD)";
    case PublicMethod::MixedGradients:
      return "mixed gradients (Algorithm 11)";
  }
  return "";
}

PublicFigure public_figure(FigureSize size) {
  // n_pub / n of .03, .04, .1, .25 and .5; the optimiser's grid is ours, with step 0.
  if (size == FigureSize::Full)
    return {2000,
            {1.125, 1.5, 3.75, 9.375, 18.75},
            {0.1, 0.5, 1.0, 2.0, 4.0, 8.0},
            75'000,
            20,
            1e-5,
            {0.0, 0.0625, 0.25, 1.0, 4.0, 16.0},
            5,
            true};
  // d / (n_priv epsilon) as the source has it, for clip 1: spec public-data 0.6.
  if (size == FigureSize::Quick) return {20, {1.5}, {1.0}, 750, 5, 1e-5, {0.0, 1.0, 4.0}, 2, false};
  return {100,
          {1.13, 1.5, 4.0},
          {0.1, 0.5, 1.0, 2.0, 4.0, 8.0},
          3750,
          20,
          1e-5,
          {0.0, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0},
          12,
          true};
}

PublicProblem public_problem(std::size_t dimension, std::size_t open, std::size_t hidden, std::uint64_t seed) {
  RandomSource random(RandomSource(seed).word() ^ dimension);
  PublicProblem out;
  out.optimum = Eigen::VectorXd(static_cast<Eigen::Index>(dimension));
  for (double& number : out.optimum) number = normal(random);
  out.open = drawn_records(random, out.optimum, open);
  out.hidden = drawn_records(random, out.optimum, hidden);
  return out;
}

models::Records joined(const models::Records& first, const models::Records& second) {
  models::Records out{Eigen::MatrixXd(first.features.rows(), first.features.cols() + second.features.cols()),
                      Eigen::VectorXd(first.targets.size() + second.targets.size())};
  out.features << first.features, second.features;
  out.targets << first.targets, second.targets;
  return out;
}

double public_test_loss(const PublicProblem& problem, const Eigen::Ref<const Eigen::VectorXd>& weights) {
  return kTargetNoise * kTargetNoise + (weights - problem.optimum).squaredNorm();
}

double throw_away_loss(std::size_t dimension, std::size_t records) {
  const auto d = static_cast<double>(dimension);
  return kTargetNoise * kTargetNoise * (1.0 + d / (static_cast<double>(records) - d - 1.0));
}

Result<std::vector<double>> public_losses(const PublicFigure& figure, PublicMethod method, double public_share,
                                          double epsilon, std::uint64_t seed) {
  const std::size_t open = open_records(figure, public_share);
  const PublicProblem problem = public_problem(figure.dimension, open, figure.records - open, seed);
  const models::LinearModel model(models::Loss::LeastSquares, static_cast<Eigen::Index>(figure.dimension), false);
  UNDERTONE_TRY(const PublicSetup setup, setup_of(figure, problem, method, model));
  if (method == PublicMethod::ThrowAway) return std::vector<double>{public_test_loss(problem, setup.start)};
  algorithms::Problem minimised;
  minimised.dimension = model.dimension();
  if (Status started = minimised.start_at(setup.start); !started) return started.error();
  std::vector<double> out;
  for (const double step : figure.steps) {
    if (step == 0.0) {
      out.push_back(public_test_loss(problem, setup.start));
      continue;
    }
    const algorithms::Method inner =
        algorithms::MinibatchSgdSettings{minimised, figure.rounds, step, {algorithms::Averaging::Kind::Last}};
    const std::int64_t records = setup.dataset.training.count();
    UNDERTONE_TRY(const planning::Plan plan, plan_of(figure, inner, records, epsilon));
    UNDERTONE_TRY(std::unique_ptr<algorithms::FederatedAlgorithm> algorithm, inner->make());
    const auto load = [&setup]() -> Result<std::shared_ptr<const models::PublicGradientSource>> { return setup.loss; };
    if (method == PublicMethod::MirrorDescent) {
      algorithm = std::make_unique<algorithms::WithPublicRecords>(
          std::move(algorithm),
          algorithms::WithPublicRecords::Setup{algorithms::PublicMirror{figure.mirror_ridge}, 1.0, kClip, load});
    } else if (method == PublicMethod::MixedGradients) {
      const algorithms::MixedGradients how{models::PublicGradients::Rescaled};
      const double stddev = plan.segments().front().release.noise_stddev_of_mean();
      const auto d = static_cast<double>(figure.dimension);
      double variance = kClip * kClip;  // what no rescaled gradient's is above
      if (open >= 2 * figure.dimension) {
        UNDERTONE_TRY(const double found, setup.loss->cross_fitted_variance(how.gradients, kClip, 1e-6));
        variance = std::min(variance, found);
      }
      const double weight = algorithms::best_weight(
          variance / static_cast<double>(open),
          d * stddev * stddev / static_cast<double>(figure.rounds) + variance / static_cast<double>(records));
      algorithm = std::make_unique<algorithms::WithPublicRecords>(
          std::move(algorithm), algorithms::WithPublicRecords::Setup{how, weight, kClip, load});
    }
    UNDERTONE_TRY(
        simulation::DirectCohort cohort,
        simulation::DirectCohort::create(
            {models::Model(model), {queries::ReplyType::I64, -40}, {}, seed, simulation::SimulatedNoise::Seeded},
            {{*SiloId::create("silo-1"), &setup.dataset, plan.segments(), 1, 1}}));
    UNDERTONE_TRY(const algorithms::Outcome outcome, cohort.train(*algorithm));
    out.push_back(public_test_loss(problem, outcome.vectors.at("weights")));
  }
  return out;
}

Status reproduce_public(const PublicFigure& figure, const ReproduceRequest& request) {
  const std::vector<PublicCell> cells = cells_of(figure);
  ResumableFigure out{std::string(kPublicFigure), header_of(figure), cells.size(), {}, "loss", {}, {}};
  out.describe = [&](std::size_t point) { return description_of(cells[point]); };
  out.compute = [&](std::size_t point) {
    const PublicCell& cell = cells[point];
    return public_losses(figure, cell.method, cell.share, cell.epsilon, cell.repetition + 1);
  };
  out.files = [&](const std::vector<std::vector<double>>& points) -> Result<FigureFiles> {
    const PublicLosses losses = losses_of(cells, points);
    UNDERTONE_TRY(std::string text, text_of(figure, losses));
    UNDERTONE_TRY(Figure picture, picture_of(figure, losses));
    return FigureFiles{table_of(figure, losses), std::move(text), std::move(picture)};
  };
  return reproduce_resumably(out, request);
}

Status reproduce_ridges(const PublicFigure& figure, const ReproduceRequest& request) {
  const std::vector<double> epsilons = figure.judged ? std::vector<double>{0.5, 2.0} : figure.epsilons;
  ComparedMethods out;
  out.name = std::string(kRidgeFigure);
  out.header = header_of(figure);
  out.header["format"] = "undertone.ridges/1";
  out.header["figure"] = out.name;
  out.header["epsilons"] = epsilons;
  out.introduction = fmt::format(
      "The mirror map's ridge. The records, the rounds and the steps are those of {}, with n_pub = {:g} d. The table "
      "shows "
      "the mean test loss of {} repetitions, of which the optimum is .25. Each repetition's step is the best of the "
      "others, by true loss: that choice is not private.",
      kPublicFigure, figure.public_shares.front(), figure.repetitions);
  out.title = fmt::format("{}: d = {}, n = {} (not private tuning; 90 % intervals)", kRidgeFigure, figure.dimension,
                          figure.records);
  out.measure = "test loss";
  for (const double epsilon : epsilons) out.panels.push_back(fmt::format("epsilon {:g}", epsilon));
  out.axis = "mirror_ridge";
  out.values = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0};
  out.header["ridges"] = out.values;
  out.methods = {std::string(to_string(PublicMethod::MirrorDescent))};
  out.repetitions = figure.repetitions;
  out.compute = [&](const ComparedMethods::Cell& cell) {
    PublicFigure one = figure;
    one.mirror_ridge = cell.value;
    return public_losses(one, PublicMethod::MirrorDescent, figure.public_shares.front(), epsilons[cell.panel],
                         cell.repetition + 1);
  };
  out.claim = "interval of 90 %";
  out.verdict = [&](std::size_t /*panel*/, double /*ridge*/, const ComparedMethods::Reached& reached) {
    const MeanInterval& mean = reached.means.front();
    return Result<std::string>(figure.judged ? fmt::format("{:.4f} to {:.4f}", mean.low, mean.high)
                                             : std::string("not judged"));
  };
  return reproduce_compared(out, request);
}

}  // namespace undertone::lab
