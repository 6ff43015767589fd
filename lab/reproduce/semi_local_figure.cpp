#include "lab/reproduce/semi_local_figure.hpp"

#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "lab/reproduce/compared_methods.hpp"
#include "shared/algorithms/public/with_public_records.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/jobs/public_records.hpp"
#include "simulation/direct_cohort.hpp"

namespace undertone::lab {
namespace {

constexpr double kSemiLocalClip = 1.0;
constexpr double kSemiLocalDelta = 1e-5;    // of a promise that reports, which are pure, do not use
constexpr double kSemiLocalGain = 0.7;      // of the better baseline, from a cold start: spec 0.8
constexpr double kSemiLocalShareMax = 0.1;  // up to which that is claimed
constexpr double kSemiLocalRidge = 1e-6;    // of the minimisers that measure a variance
constexpr std::array kSemiLocalMethods = {SemiLocalMethod::ThrowAway, SemiLocalMethod::LdpSgd,
                                          SemiLocalMethod::SemiLdpSgd, SemiLocalMethod::Weighed,
                                          SemiLocalMethod::LeastSquares};

bool leans(SemiLocalMethod method) {
  return method == SemiLocalMethod::SemiLdpSgd || method == SemiLocalMethod::Weighed;
}

/// How a method compares with the better of the two baselines.
Result<std::string> semi_local_verdict_of(std::size_t method, const SemiLocalFigure& figure,
                                          const SemiLocalStart& start, double epsilon,
                                          const ComparedMethods::Reached& reached) {
  const std::size_t best = reached.means[0].mean < reached.means[1].mean ? 0 : 1;
  std::vector<double> other = reached.values[best];
  const double ratio = reached.means[method].mean / reached.means[best].mean;
  const double share = static_cast<double>(start.open) / static_cast<double>(figure.records);
  if (!figure.judged) return fmt::format("{:.2f}: not judged", ratio);
  if (start.warm || share > kSemiLocalShareMax || epsilon != 4.0) {
    UNDERTONE_TRY(const Versus found, versus(reached.values[method], other));
    const bool worse = found.difference.mean < -2.0 * found.standard_error;
    return fmt::format("{:.2f}: {}", ratio,
                       found.better == FindingVerdict::Holds ? "better (paired t test)"
                       : worse                               ? "worse, by more than two standard errors"
                                                             : "no worse, within two standard errors");
  }
  for (double& value : other) value *= kSemiLocalGain;
  UNDERTONE_TRY(const Versus found, versus(reached.values[method], other));
  return fmt::format("{:.2f}: below .7 of it: {} (paired t test)", ratio, to_string(found.better));
}

Result<std::string> semi_local_verdict(const SemiLocalFigure& figure, const SemiLocalStart& start, double epsilon,
                                       const ComparedMethods::Reached& reached) {
  UNDERTONE_TRY(const std::string alike, semi_local_verdict_of(2, figure, start, epsilon, reached));
  UNDERTONE_TRY(const std::string weighed, semi_local_verdict_of(3, figure, start, epsilon, reached));
  return fmt::format("alike {}; weighed {}", alike, weighed);
}

/// Returns how the public records' gradients enter, and at which weight the reports do.
Result<std::pair<models::PublicGradients, double>> semi_local_weight(const SemiLocalFigure& figure,
                                                                     SemiLocalMethod method,
                                                                     const SemiLocalStart& start,
                                                                     const models::PublicLoss& open,
                                                                     const planning::Plan& plan) {
  const double hidden = static_cast<double>(figure.records - start.open);
  if (method == SemiLocalMethod::SemiLdpSgd)
    return std::pair(start.warm ? models::PublicGradients::Rescaled : models::PublicGradients::Raw,
                     hidden / static_cast<double>(figure.records));
  const auto how = start.warm ? models::PublicGradients::Rescaled : models::PublicGradients::Clipped;
  double variance = kSemiLocalClip * kSemiLocalClip;  // what no such gradient's is above
  if (start.open >= 2 * figure.dimension) {
    UNDERTONE_TRY(const double found, open.cross_fitted_variance(how, kSemiLocalClip, kSemiLocalRidge));
    variance = std::min(variance, found);
  }
  return std::pair(
      how, algorithms::best_weight(
               variance / static_cast<double>(start.open),
               jobs::noise_of_gradient(plan.segments()) / static_cast<double>(figure.rounds) + variance / hidden));
}

/// One pass along the public records' gradients, record by record, in steps that fall as a cosine. Steps are for
/// records of length sqrt d.
Eigen::VectorXd public_pass(const models::Records& open, Eigen::VectorXd weights, double step) {
  const double scaled = step / static_cast<double>(open.features.rows());
  const algorithms::StepSchedule schedule{algorithms::StepSchedule::Kind::Cosine};
  const auto records = static_cast<std::uint64_t>(open.targets.size());
  for (Eigen::Index j = 0; j < open.targets.size(); ++j) {
    const auto x = open.features.col(j);
    const double factor = schedule.factor(static_cast<std::uint64_t>(j), records);
    weights -= scaled * factor * (weights.dot(x) - open.targets[j]) * x;
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
    case SemiLocalMethod::Weighed:
      return "semi-LDP SGD, weighed";
    case SemiLocalMethod::LeastSquares:
      return "public least squares";
  }
  return "";
}

SemiLocalFigure semi_local_figure(FigureSize size) {
  if (size == FigureSize::Quick) return {10, {0.1}, {1.5}, {4.0}, 200, 20, {0.0, 0.5, 2.0}, 2, false};
  return {20,
          {0.02, 0.05, 0.1, 0.5},
          {1.5, 3.0},
          {2.0, 4.0, 6.0},
          7500,
          250,
          {0.0, 0.015625, 0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0},
          24,
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
  if (start.warm || method == SemiLocalMethod::LeastSquares) {
    UNDERTONE_TRY(models::Minimiser least, loss->minimiser(0.0));
    from = std::move(least.weights);
  }
  if (method == SemiLocalMethod::LeastSquares) return std::vector<double>{excess_loss(problem, from)};
  std::vector<double> out;
  if (method == SemiLocalMethod::ThrowAway) {
    if (start.warm) return std::vector<double>{excess_loss(problem, from)};
    for (const double step : figure.steps) out.push_back(excess_loss(problem, public_pass(problem.open, from, step)));
    return out;
  }
  data::Dataset dataset;
  dataset.training = method == SemiLocalMethod::LdpSgd ? joined(problem.hidden, problem.open) : problem.hidden;
  dataset.holdout = {Eigen::MatrixXd::Zero(model.dimension(), 1), Eigen::VectorXd::Zero(1)};
  const std::int64_t records = dataset.training.count();
  algorithms::Problem minimised;
  minimised.dimension = model.dimension();
  if (Status starts = minimised.start_at(from); !starts) return starts.error();
  const algorithms::RecordReports reports{
      {releases::Randomiser::GaussianDirection, 0,
       start.warm ? releases::UnitAdapter::Normalise : releases::UnitAdapter::Round},
      leans(method)};
  for (const double step : figure.steps) {
    if (step == 0.0) {
      out.push_back(excess_loss(problem, from));
      continue;
    }
    algorithms::MinibatchSgdSettings settings{minimised, figure.rounds, step, {algorithms::Averaging::Kind::Last}};
    settings.epochs = 1;
    settings.steps = {algorithms::StepSchedule::Kind::Cosine};
    settings.reports = reports;
    const algorithms::Method inner = settings;
    const releases::SiloFacts facts{
        *SiloId::create("silo-1"), records, 1, true,
        releases::ApproximateDp{*releases::Epsilon::create(epsilon), *releases::Delta::create(kSemiLocalDelta)}};
    UNDERTONE_TRY(const planning::Plan plan,
                  planning::make_plan(
                      inner->schedule({releases::L2Bound{*releases::ClipNorm::create(kSemiLocalClip)}, 1.0}), facts));
    UNDERTONE_TRY(std::unique_ptr<algorithms::FederatedAlgorithm> algorithm, inner->make());
    if (leans(method)) {
      UNDERTONE_TRY(const auto mixed, semi_local_weight(figure, method, start, *loss, plan));
      algorithms::WithPublicRecords::Setup setup;
      setup.use = algorithms::MixedGradients{mixed.first};
      setup.weight = mixed.second;
      setup.length = kSemiLocalClip;
      setup.load = [loss]() -> Result<std::shared_ptr<const models::PublicGradientSource>> { return loss; };
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
  const std::vector<SemiLocalStart> starts = semi_local_starts(figure);
  ComparedMethods out;
  out.name = std::string(kSemiLocalFigure);
  out.header = {{"format", "undertone.semi_local/4"},
                {"figure", out.name},
                {"dimension", figure.dimension},
                {"public_shares", figure.public_shares},
                {"warm_shares", figure.warm_shares},
                {"epsilons", figure.epsilons},
                {"records", figure.records},
                {"rounds", figure.rounds},
                {"steps", figure.steps},
                {"repetitions", figure.repetitions}};
  out.introduction = fmt::format(
      "Every protected record reports by itself. Least squares on y = <w*, x> + u in d = {} dimensions, u of standard "
      "deviation 1/2: the table shows the excess of the test loss over its optimum .25, the mean of {} repetitions "
      "with "
      "records of their own. There are {} records in all. A protected one reports once, in one of {} parts, or is left "
      "over; the public ones are read in every round. Reports are PrivUnitG's. From a warm start gradients are "
      "normalised and public ones are made as long, as in the source's experiments. From a cold start gradients are "
      "clipped and rounded, and public ones are as they are. Every record counts alike. \"Weighed\" is the same with "
      "the "
      "weight that varies least, as a job finds it, where public gradients are clipped or made as long as the "
      "protected "
      "ones. Throw-away takes one pass from a cold start; the public least squares are solved. Steps fall as a cosine, "
      "and the last iterate is the model. Each repetition's step is the best of the others, by true loss, of a grid "
      "with "
      "step 0: that choice is not private.",
      figure.dimension, figure.repetitions, figure.records, figure.rounds);
  out.title = fmt::format("{}: d = {}, n = {} (not private tuning; 90 % intervals)", kSemiLocalFigure, figure.dimension,
                          figure.records);
  out.measure = "excess test loss";
  for (const SemiLocalStart& start : starts)
    out.panels.push_back(fmt::format("{} start, n_pub = {}", start.warm ? "warm" : "cold", start.open));
  out.values = figure.epsilons;
  for (const SemiLocalMethod method : kSemiLocalMethods) out.methods.emplace_back(to_string(method));
  out.repetitions = figure.repetitions;
  out.compute = [&](const ComparedMethods::Cell& cell) {
    return semi_local_losses(figure, kSemiLocalMethods[cell.method], starts[cell.panel], cell.value,
                             cell.repetition + 1);
  };
  out.claim = "semi-LDP over the better of throw-away and LDP-SGD";
  out.verdict = [&](std::size_t panel, double epsilon, const ComparedMethods::Reached& reached) {
    return semi_local_verdict(figure, starts[panel], epsilon, reached);
  };
  return reproduce_compared(out, request);
}

}  // namespace undertone::lab
