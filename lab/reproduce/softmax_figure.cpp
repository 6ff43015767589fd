#include "lab/reproduce/softmax_figure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "lab/reproduce/compared_methods.hpp"
#include "lab/reproduce/public_figure.hpp"
#include "shared/algorithms/public/with_public_records.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/base/random_source.hpp"
#include "shared/data/cifar_reader.hpp"
#include "simulation/direct_cohort.hpp"

namespace undertone::lab {
namespace {

constexpr double kSoftmaxClip = 1.0;
constexpr std::array kSoftmaxMethods = {SoftmaxMethod::ThrowAway, SoftmaxMethod::DpSgd, SoftmaxMethod::MixedGradients};

/// Box and Muller's.
double drawn_normal(RandomSource& random) {
  return std::sqrt(-2.0 * std::log(1.0 - random.unit())) * std::cos(6.283185307179586 * random.unit());
}

Eigen::MatrixXd drawn_matrix(RandomSource& random, std::size_t rows, std::size_t columns, double stddev) {
  Eigen::MatrixXd out(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
  for (double& number : out.reshaped()) number = stddev * drawn_normal(random);
  return out;
}

/// This says what the classes are like.
struct SoftmaxWorld {
  Eigen::MatrixXd means;   // [d, classes]
  Eigen::MatrixXd shared;  // L: [d, 8]

  SoftmaxWorld(RandomSource& random, const SoftmaxFigure& figure)
      : means(drawn_matrix(random, figure.dimension, figure.classes, figure.mean_stddev)),
        shared(drawn_matrix(random, figure.dimension, 8, 0.25)) {}

  [[nodiscard]] models::Records draw(RandomSource& random, std::size_t count) const {
    models::Records out{Eigen::MatrixXd(means.rows(), static_cast<Eigen::Index>(count)),
                        Eigen::VectorXd(static_cast<Eigen::Index>(count))};
    for (Eigen::Index j = 0; j < out.targets.size(); ++j) {
      const auto label = static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(means.cols())));
      const Eigen::VectorXd u = drawn_matrix(random, 8, 1, 1.0);
      Eigen::VectorXd x = means.col(label) + shared * u;
      for (double& number : x) number = std::clamp((number + 0.7 * drawn_normal(random)) / 3.0, -1.0, 1.0);
      out.features.col(j) = x;
      out.targets[j] = static_cast<double>(label);
    }
    return out;
  }
};

double softmax_test_error(const models::Network& network, const models::Records& tests,
                          const Eigen::VectorXd& weights) {
  models::LayeredModel model(network);
  return 1.0 - model.evaluate(weights, tests).accuracy;
}

}  // namespace

std::string_view to_string(SoftmaxMethod method) noexcept {
  switch (method) {
    case SoftmaxMethod::ThrowAway:
      return "throw-away";
    case SoftmaxMethod::DpSgd:
      return "DP-SGD on all";
    case SoftmaxMethod::MixedGradients:
      return "mixed gradients (Algorithm 11)";
  }
  return "";
}

SoftmaxFigure softmax_figure(FigureSize size) {
  if (size == FigureSize::Quick)
    return {16, 3, 0.3, {0.1}, {1.0}, 800, 400, 20, 0.2, 1e-6, {1.0, 8.0}, {0.5}, 2, false};
  // Without noise the test error is near .61, as the source's on CIFAR-10 is.
  return {64,  10,   0.115, {0.01, 0.04, 0.1, 0.3}, {0.5, 1.0, 4.0},           8000, 10'000,
          200, 0.05, 1e-6,  {0.5, 2.0, 8.0},        {0.1, 0.3, 0.5, 0.7, 0.9}, 6,    true};
}

Result<SoftmaxFigure> with_images(SoftmaxFigure figure, const std::filesystem::path& data) {
  std::vector<std::filesystem::path> files;
  for (int batch = 1; batch <= 5 && !data.empty(); ++batch) {
    const std::filesystem::path file = data / "cifar-10-batches-bin" / fmt::format("data_batch_{}.bin", batch);
    if (std::filesystem::exists(file)) files.push_back(file);
  }
  if (files.empty()) return figure;
  UNDERTONE_TRY(data::LabelledImages read, data::read_cifar10(files));
  if (read.labels.size() < figure.records + figure.tests)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} images of CIFAR-10: expected at least {} to train on and {} to test on",
                             read.labels.size(), figure.records, figure.tests)};
  models::Records all{std::move(read.images.pixels), Eigen::VectorXd(static_cast<Eigen::Index>(read.labels.size()))};
  for (std::size_t i = 0; i < read.labels.size(); ++i)
    all.targets[static_cast<Eigen::Index>(i)] = static_cast<double>(read.labels[i]);
  figure.dimension = static_cast<std::size_t>(all.features.rows());
  figure.classes = 10;
  figure.images = std::make_shared<const models::Records>(std::move(all));
  return figure;
}

SoftmaxProblem softmax_problem(const SoftmaxFigure& figure, double public_share, std::uint64_t seed) {
  RandomSource random(RandomSource(seed).word() ^ figure.dimension);
  const auto open = static_cast<std::size_t>(std::llround(public_share * static_cast<double>(figure.records)));
  SoftmaxProblem out;
  if (figure.images != nullptr) {
    const std::vector<std::size_t> order = random.permutation(static_cast<std::size_t>(figure.images->targets.size()));
    const auto part = [&](std::size_t from, std::size_t count) {
      models::Records taken{Eigen::MatrixXd(figure.images->features.rows(), static_cast<Eigen::Index>(count)),
                            Eigen::VectorXd(static_cast<Eigen::Index>(count))};
      for (std::size_t i = 0; i < count; ++i) {
        const auto at = static_cast<Eigen::Index>(order[from + i]);
        taken.features.col(static_cast<Eigen::Index>(i)) = figure.images->features.col(at);
        taken.targets[static_cast<Eigen::Index>(i)] = figure.images->targets[at];
      }
      return taken;
    };
    out.open = part(0, open);
    out.hidden = part(open, figure.records - open);
    out.tests = part(figure.records, figure.tests);
    return out;
  }
  const SoftmaxWorld world(random, figure);
  out.open = world.draw(random, open);
  out.hidden = world.draw(random, figure.records - open);
  out.tests = world.draw(random, figure.tests);
  return out;
}

Result<std::vector<double>> softmax_errors(const SoftmaxFigure& figure, SoftmaxMethod method, double public_share,
                                           double epsilon, std::uint64_t seed) {
  const SoftmaxProblem problem = softmax_problem(figure, public_share, seed);
  UNDERTONE_TRY(
      const models::Network network,
      models::Network::create(
          {{1, 1, static_cast<Eigen::Index>(figure.dimension)}, {}, static_cast<Eigen::Index>(figure.classes)}));
  UNDERTONE_TRY(models::PublicNetworkGradients own, models::PublicNetworkGradients::create(network, problem.open));
  const auto source = std::make_shared<const models::PublicNetworkGradients>(std::move(own));
  std::vector<double> out;
  if (method == SoftmaxMethod::ThrowAway) {
    for (const double step : figure.steps) {
      Eigen::VectorXd weights = Eigen::VectorXd::Zero(network.dimension());
      for (std::uint64_t r = 0; r < figure.rounds; ++r)
        weights -= step * source->mean_gradient(weights, models::PublicGradients::Raw, kSoftmaxClip);
      out.push_back(softmax_test_error(network, problem.tests, weights));
    }
    return out;
  }
  data::Dataset dataset;
  dataset.training = method == SoftmaxMethod::DpSgd ? joined(problem.hidden, problem.open) : problem.hidden;
  dataset.holdout = {Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(figure.dimension), 1), Eigen::VectorXd::Zero(1)};
  const bool mixed = method == SoftmaxMethod::MixedGradients;
  algorithms::Problem minimised;
  minimised.dimension = network.dimension();
  const releases::SiloFacts facts{
      *SiloId::create("silo-1"), dataset.training.count(), 1, true,
      releases::ApproximateDp{*releases::Epsilon::create(epsilon), *releases::Delta::create(figure.delta)}};
  std::optional<planning::Plan> plan;  // of no step and no weight
  for (const double weight : mixed ? figure.weights : std::vector<double>{1.0}) {
    for (const double step : figure.steps) {
      const algorithms::Method inner =
          algorithms::MinibatchSgdSettings{minimised, figure.rounds, step, {algorithms::Averaging::Kind::Last}};
      if (!plan) {
        UNDERTONE_TRY(plan,
                      planning::make_plan(inner->schedule({releases::L2Bound{*releases::ClipNorm::create(kSoftmaxClip)},
                                                           figure.draw_fraction}),
                                          facts));
      }
      UNDERTONE_TRY(std::unique_ptr<algorithms::FederatedAlgorithm> algorithm, inner->make());
      if (mixed) {
        algorithms::WithPublicRecords::Setup setup;
        setup.use = algorithms::MixedGradients{models::PublicGradients::Clipped};
        setup.weight = weight;
        setup.length = kSoftmaxClip;
        setup.load = [source]() -> Result<std::shared_ptr<const models::PublicGradientSource>> { return source; };
        algorithm = std::make_unique<algorithms::WithPublicRecords>(std::move(algorithm), std::move(setup));
      }
      UNDERTONE_TRY(
          simulation::DirectCohort cohort,
          simulation::DirectCohort::create(
              {models::Model(network), {queries::ReplyType::I64, -40}, {}, seed, simulation::SimulatedNoise::Seeded},
              {{*SiloId::create("silo-1"), &dataset, plan->segments(), 1, 1}}));
      UNDERTONE_TRY(const algorithms::Outcome outcome, cohort.train(*algorithm));
      out.push_back(softmax_test_error(network, problem.tests, outcome.vectors.at("weights")));
    }
  }
  return out;
}

Status reproduce_softmax(const SoftmaxFigure& wanted, const ReproduceRequest& request) {
  UNDERTONE_TRY(const SoftmaxFigure figure, with_images(wanted, request.data));
  ComparedMethods out;
  out.name = std::string(kSoftmaxFigure);
  out.header = {{"format", "undertone.softmax/1"},
                {"figure", out.name},
                {"dimension", figure.dimension},
                {"classes", figure.classes},
                {"mean_stddev", figure.mean_stddev},
                {"public_shares", figure.public_shares},
                {"epsilons", figure.epsilons},
                {"records", figure.records},
                {"tests", figure.tests},
                {"rounds", figure.rounds},
                {"draw_fraction", figure.draw_fraction},
                {"delta", figure.delta},
                {"steps", figure.steps},
                {"weights", figure.weights},
                {"repetitions", figure.repetitions}};
  out.header["images"] = figure.images == nullptr ? 0 : figure.images->targets.size();
  const std::string records =
      figure.images == nullptr ? fmt::format(
                                     "{} invented classes of Gaussian records in {} dimensions, which stand in "
                                     "for CIFAR-10: they share a covariance of low rank",
                                     figure.classes, figure.dimension)
                               : fmt::format("the {} images of CIFAR-10 that there are", figure.images->targets.size());
  out.introduction = fmt::format(
      "Softmax regression on {}. There are {} records in all, and delta is {:g}. Every method takes {} rounds "
      "from "
      "zero weights. Throw-away steps along all public records' gradients as they are. DP-SGD draws {:g} of all "
      "records, "
      "the public ones among them, afresh for each round. Mixed gradients draw as large a share of the protected "
      "records "
      "and step along all public ones as well. Both clip gradients to 1. The table shows test errors, the mean of {} "
      "repetitions with records of their own. Each repetition's step and weight are the best of the others, by test "
      "error: that choice is not private.",
      records, figure.records, figure.delta, figure.rounds, figure.draw_fraction, figure.repetitions);
  out.title = fmt::format("{}: d = {}, n = {} (not private tuning; 90 % intervals)", kSoftmaxFigure, figure.dimension,
                          figure.records);
  out.measure = "test error";
  for (const double share : figure.public_shares) out.panels.push_back(fmt::format("n_pub = {:g} n", share));
  out.values = figure.epsilons;
  for (const SoftmaxMethod method : kSoftmaxMethods) out.methods.emplace_back(to_string(method));
  out.repetitions = figure.repetitions;
  out.compute = [&](const ComparedMethods::Cell& cell) {
    return softmax_errors(figure, kSoftmaxMethods[cell.method], figure.public_shares[cell.panel], cell.value,
                          cell.repetition + 1);
  };
  out.claim = "the better other less mixed";
  out.verdict = [&](std::size_t /*panel*/, double /*epsilon*/,
                    const ComparedMethods::Reached& reached) -> Result<std::string> {
    const std::size_t best = reached.means[0].mean < reached.means[1].mean ? 0 : 1;
    UNDERTONE_TRY(const Versus found, versus(reached.values[2], reached.values[best]));
    const bool worse = found.difference.mean < -2.0 * found.standard_error;
    const char* said = !figure.judged                          ? "not judged"
                       : found.better == FindingVerdict::Holds ? "mixed is better (paired t test)"
                       : worse                                 ? "mixed is worse, by more than two standard errors"
                                                               : "no worse, within two standard errors";
    return fmt::format("{:+.4f}: {}", found.difference.mean, said);
  };
  return reproduce_compared(out, request);
}

}  // namespace undertone::lab
