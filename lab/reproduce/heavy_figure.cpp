#include "lab/reproduce/heavy_figure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "lab/reproduce/dimension_figure.hpp"
#include "lab/reproduce/paired_finding.hpp"
#include "lab/reproduce/resumable_figure.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/base/random_source.hpp"
#include "shared/theorems/theorem_parameters.hpp"
#include "simulation/direct_cohort.hpp"

namespace undertone::lab {
namespace {

using HeavyJson = nlohmann::ordered_json;

constexpr double kHeavyDelta = 1e-5;
constexpr double kHeavyEpsilon = 1.0;  // where it does not vary
constexpr double kTailBeyond = 0.5;    // by how much Pareto's index is above the order of the moment
constexpr std::uint32_t kHeavyGroups = 9;
constexpr double kHeavyInterval = 0.9;
constexpr double kSlopeMargin = 0.15;  // of the oracles' slopes about theory: spec 0.5
constexpr double kRunMargin = 0.15;    // of the optimisers': spec 0.5
constexpr Eigen::Index kRunDimension = 5;
constexpr double kRunSpread = 0.5;   // standard deviation of the labels' noise
constexpr double kRunOptimum = 0.9;  // |w*|, in the unit ball

constexpr std::array kLaws = {HeavyLaw::Together, HeavyLaw::Apart};
constexpr std::array kOracles = {HeavyOracle::Norm, HeavyOracle::Coordinates, HeavyOracle::Smooth, HeavyOracle::Groups};
constexpr std::array kHeavyMethods = {HeavyMethod::Accelerated, HeavyMethod::StronglyConvex, HeavyMethod::Proximal};

enum class HeavyPart : std::uint8_t { Epsilons, Dimensions, Hard, Optimisers };

/// One line of FIGURE.jsonl.
struct HeavyCell {
  HeavyPart part = HeavyPart::Epsilons;
  std::size_t law = 0;     // or the method of a run
  std::size_t oracle = 0;  // of the first two parts
  double order = 2.0;
  double value = 0.0;  // epsilon, d or n
  std::size_t repetition = 0;
};

std::vector<HeavyCell> cells_of(const HeavyFigure& figure) {
  std::vector<HeavyCell> out;
  const auto repeated = [&](HeavyCell cell) {
    for (cell.repetition = 0; cell.repetition < figure.repetitions; ++cell.repetition) out.push_back(cell);
  };
  for (const double order : figure.orders) {
    for (std::size_t law = 0; law < kLaws.size(); ++law)
      for (std::size_t oracle = 0; oracle < kOracles.size(); ++oracle) {
        for (const double epsilon : figure.epsilons) repeated({HeavyPart::Epsilons, law, oracle, order, epsilon});
        for (const std::size_t d : figure.dimensions)
          repeated({HeavyPart::Dimensions, law, oracle, order, static_cast<double>(d)});
      }
    for (const std::size_t n : figure.sizes) repeated({HeavyPart::Hard, 0, 0, order, static_cast<double>(n)});
  }
  for (std::size_t method = 0; method < kHeavyMethods.size(); ++method)
    for (const std::size_t n : figure.sizes) repeated({HeavyPart::Optimisers, method, 0, 2.0, static_cast<double>(n)});
  return out;
}

/// E X^k of Pareto's law with P(X > t) = t^-index for t >= 1.
double pareto_moment(double index, double order) { return index / (index - order); }

/// @return [d, n], whose columns are records
Eigen::MatrixXd heavy_records(HeavyLaw law, double index, Eigen::Index d, Eigen::Index n, std::uint64_t seed) {
  RandomSource random(seed);
  const auto pareto = [&] { return std::pow(1.0 - random.unit(), -1.0 / index); };
  Eigen::MatrixXd out(d, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    if (law == HeavyLaw::Together) {
      out.col(j).setConstant(pareto() / std::sqrt(static_cast<double>(d)));
    } else {
      for (Eigen::Index i = 0; i < d; ++i) out(i, j) = pareto() / std::sqrt(static_cast<double>(d));
    }
  }
  return out;
}

theorems::MeanOracle oracle_of(HeavyOracle oracle, const theorems::MomentBound& norms,
                               const theorems::MomentBound& coordinates, double d) {
  switch (oracle) {
    case HeavyOracle::Norm:
      return {norms, d};
    case HeavyOracle::Coordinates:
      return {coordinates, d, theorems::CoordinateMeans{releases::Influence::Clip, 1}};
    case HeavyOracle::Smooth:
      return {coordinates, d, theorems::CoordinateMeans{releases::Influence::Smooth, 1}};
    case HeavyOracle::Groups:
      return {coordinates, d, theorems::CoordinateMeans{releases::Influence::Clip, kHeavyGroups}};
  }
  return {norms, d};
}

double shift_at(double epsilon) {
  return accounting::gaussian_shift_for(*releases::Epsilon::create(epsilon), *releases::Delta::create(kHeavyDelta))
      .value();
}

releases::SiloFacts facts_of_silo(std::int64_t records, double epsilon) {
  return {*SiloId::create("silo-1"), records, 1, true,
          releases::ApproximateDp{*releases::Epsilon::create(epsilon), *releases::Delta::create(kHeavyDelta)}};
}

struct HeavyModel {
  Eigen::VectorXd weights;
};

/// Trains on one silo's records, with the product's own clips, sums and noise.
Result<HeavyModel> trained(const algorithms::Method& method, const releases::Bound& bound, const data::Dataset& dataset,
                           double epsilon, std::uint64_t seed) {
  const models::LinearModel model(models::Loss::LeastSquares, dataset.training.features.rows(), false);
  UNDERTONE_TRY(const planning::Plan plan,
                planning::make_plan(method->schedule({bound, 1.0}), facts_of_silo(dataset.training.count(), epsilon)));
  UNDERTONE_TRY(const std::unique_ptr<algorithms::FederatedAlgorithm> algorithm, method->make());
  UNDERTONE_TRY(
      simulation::DirectCohort cohort,
      simulation::DirectCohort::create(
          {models::Model(model), {queries::ReplyType::I64, -40}, {}, seed, simulation::SimulatedNoise::Seeded},
          {{*SiloId::create("silo-1"), &dataset, plan.segments(), 1, 1}}));
  UNDERTONE_TRY(const algorithms::Outcome outcome, cohort.train(*algorithm));
  return HeavyModel{outcome.vectors.at("weights")};
}

data::Dataset dataset_of(Eigen::MatrixXd features, Eigen::VectorXd targets) {
  data::Dataset out;
  const Eigen::Index d = features.rows();
  out.training = {std::move(features), std::move(targets)};
  out.holdout = {Eigen::MatrixXd::Zero(d, 1), Eigen::VectorXd::Zero(1)};
  return out;
}

/// The records' mean, as one step of 1 from 0 on least squares with labels of 1 finds it: each gradient there is the
/// record with the other sign.
Result<HeavyMean> estimated(const Eigen::MatrixXd& records, const Eigen::VectorXd& mean,
                            const theorems::MeanOracle& oracle, double epsilon, std::uint64_t seed) {
  HeavyMean out;
  out.signal = shift_at(epsilon) * static_cast<double>(records.cols());
  const double threshold = oracle.balanced_threshold(out.signal);
  releases::Bound bound = releases::L2Bound{*releases::ClipNorm::create(threshold)};
  if (const auto& means = oracle.coordinates()) {
    UNDERTONE_TRY(bound, releases::InfluenceBound::create(threshold, means->influence, means->groups, records.rows()));
  }
  algorithms::Problem problem;
  problem.dimension = records.rows();
  const algorithms::Method one_step =
      algorithms::MinibatchSgdSettings{problem, 1, 1.0, {algorithms::Averaging::Kind::Last}};
  const data::Dataset dataset = dataset_of(records, Eigen::VectorXd::Ones(records.cols()));
  UNDERTONE_TRY(const HeavyModel found, trained(one_step, bound, dataset, epsilon, seed));
  const Eigen::VectorXd& estimate = found.weights;
  out.error = (estimate - records.rowwise().mean()).squaredNorm();
  out.excess = (estimate - mean).squaredNorm();
  return out;
}

/// Student's t law with three degrees of freedom, of unit variance.
double student(RandomSource& random) {
  const auto normal = [&] {
    return std::sqrt(-2.0 * std::log1p(-random.unit())) * std::cos(2.0 * M_PI * random.unit());
  };
  double squares = 0.0;
  const double top = normal();
  for (int i = 0; i < 3; ++i) squares += std::pow(normal(), 2);
  return top / std::sqrt(squares / 3.0) / std::sqrt(3.0);
}

theorems::TheoremName theorem_of(HeavyMethod method) {
  switch (method) {
    case HeavyMethod::Accelerated:
      return theorems::TheoremName::HeavyTailedConvex;
    case HeavyMethod::StronglyConvex:
      return theorems::TheoremName::HeavyTailedStronglyConvex;
    case HeavyMethod::Proximal:
      return theorems::TheoremName::HeavyTailedProximal;
  }
  return theorems::TheoremName::HeavyTailedConvex;
}

HeavyJson description_of(const HeavyCell& cell) {
  HeavyJson out;
  switch (cell.part) {
    case HeavyPart::Epsilons:
    case HeavyPart::Dimensions:
      out = {{"part", cell.part == HeavyPart::Epsilons ? "epsilons" : "dimensions"},
             {"law", to_string(kLaws[cell.law])},
             {"oracle", to_string(kOracles[cell.oracle])}};
      break;
    case HeavyPart::Hard:
      out = {{"part", "hard"}};
      break;
    case HeavyPart::Optimisers:
      out = {{"part", "runs"}, {"method", to_string(kHeavyMethods[cell.law])}};
      break;
  }
  out["order"] = cell.order;
  out["value"] = cell.value;
  out["repetition"] = cell.repetition;
  return out;
}

Result<std::vector<double>> numbers_of(const HeavyFigure& figure, const HeavyCell& cell) {
  const std::uint64_t seed = cell.repetition + 1;
  const auto size = static_cast<std::size_t>(cell.value);
  switch (cell.part) {
    case HeavyPart::Epsilons:
    case HeavyPart::Dimensions: {
      const bool epsilons = cell.part == HeavyPart::Epsilons;
      UNDERTONE_TRY(const HeavyMean mean, heavy_mean(kLaws[cell.law], kOracles[cell.oracle], cell.order, figure.records,
                                                     epsilons ? figure.dimension : size,
                                                     epsilons ? cell.value : figure.epsilons.front(), seed));
      return std::vector{mean.error, mean.signal};
    }
    case HeavyPart::Hard: {
      UNDERTONE_TRY(const HeavyMean mean, hard_mean(cell.order, size, figure.dimension, kHeavyEpsilon, seed));
      return std::vector{mean.excess, mean.signal};
    }
    case HeavyPart::Optimisers: {
      UNDERTONE_TRY(const HeavyRun run, heavy_run(kHeavyMethods[cell.law], size, kHeavyEpsilon, seed));
      return std::vector{run.excess, run.open, run.rate};
    }
  }
  return std::vector<double>{};
}

/// The numbers of a row of cells that differ in value and repetition alone.
class HeavyPoints {
 public:
  HeavyPoints(const HeavyFigure& figure, const std::vector<HeavyCell>& cells,
              const std::vector<std::vector<double>>& numbers)
      : figure_(figure) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const HeavyCell& cell = cells[i];
      rows_[{cell.part, cell.law, cell.oracle, cell.order}][cell.value].push_back(numbers[i]);
    }
  }
  using Row = std::map<double, std::vector<std::vector<double>>>;  // by value: [repetitions][numbers]
  [[nodiscard]] const Row& row(HeavyPart part, std::size_t law, std::size_t oracle, double order) const {
    return rows_.at({part, law, oracle, order});
  }
  /// ln of the mean over repetitions of the first number, against `x` of each value.
  template <class X>
  [[nodiscard]] static double slope(const Row& row, const X& x) {
    std::vector<double> at;
    std::vector<double> means;
    for (const auto& [value, repetitions] : row) {
      at.push_back(x(value, repetitions));
      means.push_back(mean_of(repetitions, 0));
    }
    return log_log_slope(at, means);
  }
  [[nodiscard]] static double mean_of(const std::vector<std::vector<double>>& repetitions, std::size_t number) {
    double sum = 0.0;
    for (const std::vector<double>& one : repetitions) sum += one[number];
    return sum / static_cast<double>(repetitions.size());
  }
  [[nodiscard]] const HeavyFigure& figure() const noexcept { return figure_; }

 private:
  const HeavyFigure& figure_;
  std::map<std::tuple<HeavyPart, std::size_t, std::size_t, double>, Row> rows_;
};

std::string said(const HeavyFigure& figure, bool holds) {
  return !figure.judged ? "not judged" : holds ? "holds" : "fails";
}

/// Theory bounds the error from above: a steeper slope in 1/A, or a flatter one in d, is better than it says.
std::string oracle_rows(const HeavyPoints& points) {
  const HeavyFigure& figure = points.figure();
  std::string out =
      "| order | records are wild | oracle | error, least and largest epsilon | slope in A | theory | slope in d | "
      "theory | no worse than theory |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const double order : figure.orders)
    for (std::size_t law = 0; law < kLaws.size(); ++law)
      for (std::size_t oracle = 0; oracle < kOracles.size(); ++oracle) {
        const auto& by_epsilon = points.row(HeavyPart::Epsilons, law, oracle, order);
        const auto& by_dimension = points.row(HeavyPart::Dimensions, law, oracle, order);
        const double in_signal = HeavyPoints::slope(by_epsilon, [](double, const auto& all) { return all.front()[1]; });
        const double in_dimension = HeavyPoints::slope(by_dimension, [](double d, const auto&) { return d; });
        // A smooth influence has the rate of the third moment at best. @see theorems::MeanOracle
        const double own = kOracles[oracle] == HeavyOracle::Smooth ? std::min(order, 3.0) : order;
        const double power = (2.0 * own - 2.0) / own;
        const bool holds = in_signal <= -power + kSlopeMargin && in_dimension <= 0.5 * power + kSlopeMargin;
        out += fmt::format("| {:g} | {} | {} | {:.3g}, {:.3g} | {:+.2f} | {:+.2f} | {:+.2f} | {:+.2f} | {} |\n", order,
                           to_string(kLaws[law]), to_string(kOracles[oracle]),
                           HeavyPoints::mean_of(by_epsilon.begin()->second, 0),
                           HeavyPoints::mean_of(by_epsilon.rbegin()->second, 0), in_signal, -power, in_dimension,
                           0.5 * power, said(figure, holds));
      }
  return out;
}

std::string hard_rows(const HeavyPoints& points) {
  const HeavyFigure& figure = points.figure();
  std::string out = "| order |";
  std::string rule = "| --- |";
  for (const std::size_t n : figure.sizes) {
    out += fmt::format(" n = {} |", n);
    rule += " --- |";
  }
  out += " the same rate |\n" + rule + " --- |\n";
  const auto d = static_cast<double>(figure.dimension);
  for (const double order : figure.orders) {
    out += fmt::format("| {:g} |", order);
    double least = HUGE_VAL;
    double most = 0.0;
    for (const auto& [n, repetitions] : points.row(HeavyPart::Hard, 0, 0, order)) {
      const double bound = hard_bound(order, std::sqrt(d), d, repetitions.front()[1]);
      const double ratio = HeavyPoints::mean_of(repetitions, 0) / bound;
      least = std::min(least, ratio);
      most = std::max(most, ratio);
      out += fmt::format(" {:.2f} |", ratio);
    }
    constexpr double kSameRate = 4.0;  // of the largest ratio over the least
    out += fmt::format(" {}: {:.2f} to {:.2f} |\n", said(figure, most < kSameRate * least), least, most);
  }
  return out;
}

std::string run_rows(const HeavyPoints& points) {
  const HeavyFigure& figure = points.figure();
  std::string out = "| theorem |";
  std::string rule = "| --- |";
  for (const std::size_t n : figure.sizes) {
    out += fmt::format(" n = {} |", n);
    rule += " --- |";
  }
  out += " slope | theory | no worse | over least squares without privacy, largest n | at most twice |\n" + rule +
         " --- | --- | --- | --- | --- |\n";
  for (std::size_t method = 0; method < kHeavyMethods.size(); ++method) {
    const auto& row = points.row(HeavyPart::Optimisers, method, 0, 2.0);
    out += fmt::format("| {} |", to_string(kHeavyMethods[method]));
    for (const auto& [n, repetitions] : row) out += fmt::format(" {:.3g} |", HeavyPoints::mean_of(repetitions, 0));
    const double slope = HeavyPoints::slope(row, [](double n, const auto&) { return n; });
    // Theory is the slope of the theorem's own rate, with its logarithms.
    std::vector<double> sizes;
    std::vector<double> rates;
    for (const auto& [n, repetitions] : row) {
      sizes.push_back(n);
      rates.push_back(repetitions.front()[2]);
    }
    const double theory = log_log_slope(sizes, rates);
    const auto& largest = row.rbegin()->second;
    const double ratio = HeavyPoints::mean_of(largest, 0) / HeavyPoints::mean_of(largest, 1);
    out += fmt::format(" {:+.2f} | {:+.2f} | {} | {:.1f} | {} |\n", slope, theory,
                       said(figure, slope <= theory + kRunMargin), ratio, said(figure, ratio <= 2.0));
  }
  return out;
}

std::string text_of_heavy(const HeavyPoints& points) {
  const HeavyFigure& figure = points.figure();
  return fmt::format(
      "# {}: clips by a moment on records with heavy tails\n\n"
      "One silo, delta {:g}, {} repetitions with records of their own. Data are invented, and no setting is tuned: "
      "every "
      "clip follows from the moment and the noise. The thresholds' moments are exact. Slopes are of ln(mean error); a "
      "verdict holds where the error falls as fast as theory's bound says, or faster.\n\n"
      "## Oracles\n\nThe mean of {} records in {} dimensions whose tails are Pareto's, with an index of half above the "
      "order of the moment. The error is the squared distance from the records' own mean, which is what clip and noise "
      "do. A is the accountant's shift times n, epsilon from {:g} to {:g}; d from {} to {} at epsilon {:g}. Slopes may "
      "miss theory by {:g}.\n\n{}\n"
      "## The hard instance\n\nExcess risk of the mean (l2 clip, {} dimensions, epsilon {:g}) over the private term of "
      "the source's lower bound, whose constant is dropped. A ratio that neither vanishes nor grows shows the same "
      "rate.\n\n{}\n"
      "## Optimisers\n\nLeast squares with {} features of +-1 and labels whose noise has Student's t law with three "
      "degrees "
      "of freedom and the standard deviation {:g}; epsilon {:g}, order 2. The theorem chooses rounds, steps and clip "
      "from public bounds. Excess risk over the population; slopes may miss theory by {:g}.\n\n{}",
      kHeavyFigure, kHeavyDelta, figure.repetitions, figure.records, figure.dimension, figure.epsilons.front(),
      figure.epsilons.back(), figure.dimensions.front(), figure.dimensions.back(), figure.epsilons.front(),
      kSlopeMargin, oracle_rows(points), figure.dimension, kHeavyEpsilon, hard_rows(points), kRunDimension, kRunSpread,
      kHeavyEpsilon, kRunMargin, run_rows(points));
}

Result<Point> point_of(double x, const std::vector<std::vector<double>>& repetitions) {
  std::vector<double> values(repetitions.size());
  std::transform(repetitions.begin(), repetitions.end(), values.begin(),
                 [](const std::vector<double>& one) { return one[0]; });
  UNDERTONE_TRY(const MeanInterval mean, mean_interval(values, kHeavyInterval));
  Point point{x, mean.mean, {}};
  if (mean.low > 0.0) point.interval = Interval{mean.low, mean.high};
  return point;
}

Result<Figure> picture_of_heavy(const HeavyPoints& points) {
  const HeavyFigure& figure = points.figure();
  Figure picture;
  picture.title = fmt::format("{}: delta {:g}, no tuning (90 % intervals)", kHeavyFigure, kHeavyDelta);
  picture.columns = figure.orders.size();
  picture.rows = kLaws.size() + 1;
  for (std::size_t law = 0; law < kLaws.size(); ++law)
    for (const double order : figure.orders) {
      Panel panel{fmt::format("wild {}, order {:g}", to_string(kLaws[law]), order),
                  {"epsilon", AxisScale::Logarithmic},
                  {"squared error", AxisScale::Logarithmic},
                  {}};
      for (std::size_t oracle = 0; oracle < kOracles.size(); ++oracle) {
        Series series{std::string(to_string(kOracles[oracle])), {}, SeriesStyle::LineWithPoints};
        for (const auto& [epsilon, repetitions] : points.row(HeavyPart::Epsilons, law, oracle, order)) {
          UNDERTONE_TRY(const Point point, point_of(epsilon, repetitions));
          series.points.push_back(point);
        }
        panel.series.push_back(std::move(series));
      }
      picture.panels.push_back(std::move(panel));
    }
  Panel runs{"least squares, t(3)", {"records n", AxisScale::Logarithmic}, {"excess risk", AxisScale::Logarithmic}, {}};
  for (std::size_t method = 0; method < kHeavyMethods.size(); ++method) {
    Series series{std::string(to_string(kHeavyMethods[method])), {}, SeriesStyle::LineWithPoints};
    for (const auto& [n, repetitions] : points.row(HeavyPart::Optimisers, method, 0, 2.0)) {
      UNDERTONE_TRY(const Point point, point_of(n, repetitions));
      series.points.push_back(point);
    }
    runs.series.push_back(std::move(series));
  }
  picture.panels.push_back(std::move(runs));
  return picture;
}

}  // namespace

std::string_view to_string(HeavyOracle oracle) noexcept {
  switch (oracle) {
    case HeavyOracle::Norm:
      return "l2 clip";
    case HeavyOracle::Coordinates:
      return "coordinates";
    case HeavyOracle::Smooth:
      return "smooth";
    case HeavyOracle::Groups:
      return "median of 9";
  }
  return "";
}

std::string_view to_string(HeavyLaw law) noexcept {
  switch (law) {
    case HeavyLaw::Together:
      return "as a whole";
    case HeavyLaw::Apart:
      return "in each coordinate";
  }
  return "";
}

std::string_view to_string(HeavyMethod method) noexcept {
  switch (method) {
    case HeavyMethod::Accelerated:
      return "AC-SA (Theorem 59)";
    case HeavyMethod::StronglyConvex:
      return "strongly convex SGD (Theorem 61)";
    case HeavyMethod::Proximal:
      return "proximal SGD (Theorem 63)";
  }
  return "";
}

HeavyFigure heavy_figure(FigureSize size) {
  if (size == FigureSize::Quick) return {{2.0, 4.0}, 2000, 4, {0.5, 2.0}, {4, 8}, {1024, 4096}, 2, false};
  return {
      {2.0, 4.0, 8.0}, 40'000, 20, {0.05, 0.1, 0.2, 0.5, 1.0}, {5, 20, 80}, {2048, 8192, 32'768, 131'072}, 16, true};
}

Result<HeavyMean> heavy_mean(HeavyLaw law, HeavyOracle oracle, double order, std::size_t records, std::size_t dimension,
                             double epsilon, std::uint64_t seed) {
  const auto d = static_cast<double>(dimension);
  const double index = order + kTailBeyond;
  const double root = std::sqrt(d);
  const double moment = std::pow(pareto_moment(index, order), 1.0 / order);
  // The moment of norms is exact where a record is wild as a whole; otherwise Minkowski's inequality bounds it by this.
  const theorems::MomentBound norms{order, moment};
  const theorems::MomentBound coordinates{order, moment / root};
  const Eigen::MatrixXd drawn =
      heavy_records(law, index, static_cast<Eigen::Index>(dimension), static_cast<Eigen::Index>(records), seed);
  const Eigen::VectorXd mean = Eigen::VectorXd::Constant(drawn.rows(), pareto_moment(index, 1.0) / root);
  return estimated(drawn, mean, oracle_of(oracle, norms, coordinates, d), epsilon, seed);
}

Result<HeavyMean> hard_mean(double order, std::size_t records, std::size_t dimension, double epsilon,
                            std::uint64_t seed) {
  const auto d = static_cast<double>(dimension);
  const double signal = shift_at(epsilon) * static_cast<double>(records);
  const double chance = std::min(1.0, std::sqrt(d) / signal);
  const double length = std::pow(chance, -1.0 / order);
  RandomSource random(seed);
  Eigen::VectorXd signs(static_cast<Eigen::Index>(dimension));
  for (double& sign : signs) sign = random.chance(0.5) ? 1.0 : -1.0;
  Eigen::MatrixXd drawn = Eigen::MatrixXd::Zero(signs.size(), static_cast<Eigen::Index>(records));
  for (Eigen::Index j = 0; j < drawn.cols(); ++j)
    if (random.chance(chance)) drawn.col(j) = length * signs;
  const theorems::MeanOracle oracle({order, std::sqrt(d)}, d);
  return estimated(drawn, chance * length * signs, oracle, epsilon, seed);
}

double hard_bound(double order, double bound, double dimension, double signal) {
  const double power = (2.0 * order - 2.0) / order;
  return bound * bound * std::min(1.0, std::pow(std::sqrt(dimension) / signal, power));
}

Result<HeavyRun> heavy_run(HeavyMethod method, std::size_t records, double epsilon, std::uint64_t seed) {
  RandomSource random(seed);
  const auto n = static_cast<Eigen::Index>(records);
  const Eigen::VectorXd optimum =
      Eigen::VectorXd::Constant(kRunDimension, kRunOptimum / std::sqrt(static_cast<double>(kRunDimension)));
  Eigen::MatrixXd features(kRunDimension, n);
  for (double& number : features.reshaped()) number = random.chance(0.5) ? 1.0 : -1.0;
  Eigen::VectorXd targets = features.transpose() * optimum;
  for (double& target : targets) target += kRunSpread * student(random);

  // Features are uncorrelated with unit variance, so that the Hessian of the population's loss is the identity.
  theorems::TheoremFacts facts;
  facts.silos = facts.answering = 1.0;
  facts.records = static_cast<double>(records);
  facts.epsilon = epsilon;
  facts.delta = kHeavyDelta;
  facts.lipschitz = 1.0;
  facts.diameter = 2.0;
  facts.smoothness = 1.0;
  facts.strong_convexity = 1.0;
  facts.gap = 0.5;  // |w*|^2 / 2 <= 1/2
  // E |g|^2 = d (|w - w*|^2 + spread^2), and |w - w*| <= 2.
  facts.moment =
      theorems::MomentBound{2.0, std::sqrt(static_cast<double>(kRunDimension) * (4.0 + kRunSpread * kRunSpread))};
  facts.gradient_variance = facts.moment->bound * facts.moment->bound;
  algorithms::Problem problem;
  problem.dimension = kRunDimension;
  problem.domain = geometry::Domain::l2_ball(1.0).value();
  UNDERTONE_TRY(const theorems::TheoremChoice choice,
                theorems::choose_by_theorem(theorem_of(method), facts, problem, theorems::PlannedNoise::Accountant));
  const Eigen::VectorXd open = (features * features.transpose()).ldlt().solve(features * targets);
  const data::Dataset dataset = dataset_of(std::move(features), std::move(targets));
  UNDERTONE_TRY(
      const HeavyModel found,
      trained(choice.method, releases::L2Bound{*releases::ClipNorm::create(*choice.clip)}, dataset, epsilon, seed));
  return HeavyRun{0.5 * (found.weights - optimum).squaredNorm(), 0.5 * (open - optimum).squaredNorm(), choice.rate};
}

Status reproduce_heavy(const HeavyFigure& figure, const ReproduceRequest& request) {
  const std::vector<HeavyCell> cells = cells_of(figure);
  ResumableFigure out;
  out.name = std::string(kHeavyFigure);
  out.header = {{"format", "undertone.heavy/1"},    {"figure", out.name},
                {"orders", figure.orders},          {"records", figure.records},
                {"dimension", figure.dimension},    {"epsilons", figure.epsilons},
                {"dimensions", figure.dimensions},  {"sizes", figure.sizes},
                {"repetitions", figure.repetitions}};
  out.points = cells.size();
  out.measure = "numbers";
  out.describe = [&](std::size_t point) { return description_of(cells[point]); };
  out.compute = [&](std::size_t point) { return numbers_of(figure, cells[point]); };
  out.files = [&](const std::vector<std::vector<double>>& numbers) -> Result<FigureFiles> {
    const HeavyPoints points(figure, cells, numbers);
    UNDERTONE_TRY(Figure picture, picture_of_heavy(points));
    std::string table = "part,law,oracle,order,value,repetition,number,beside\n";
    for (std::size_t i = 0; i < cells.size(); ++i)
      table += fmt::format("{},{},{},{:g},{:g},{},{:.6g},{:.6g}\n", static_cast<int>(cells[i].part), cells[i].law,
                           cells[i].oracle, cells[i].order, cells[i].value, cells[i].repetition, numbers[i][0],
                           numbers[i][1]);
    return FigureFiles{std::move(table), text_of_heavy(points), std::move(picture)};
  };
  return reproduce_resumably(out, request);
}

}  // namespace undertone::lab
