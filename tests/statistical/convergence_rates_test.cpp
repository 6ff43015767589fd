#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "tests/support/fitted_slope.hpp"
#include "tests/support/noisy_cohort.hpp"

/// How the excess risk falls as records, epsilon and silos grow, and rises with the dimension: slopes on log-log axes,
/// noise calibrated by the accountant for full batches, silos whose noise is all that keeps the risk above zero.
namespace undertone::tests {
namespace {

using algorithms::AcceleratedPhase;
using algorithms::AcceleratedSgd;
using algorithms::AcceleratedSgdSettings;
using algorithms::Method;
using algorithms::MinibatchSgdSettings;
using algorithms::RecordUse;

constexpr double kDelta = 1e-6;

/// mu_G, the accountant's: all releases together are one Gaussian of this shift.
double shift_for(double epsilon) {
  return accounting::gaussian_shift_for(releases::Epsilon::create(epsilon).value(),
                                        releases::Delta::create(kDelta).value())
      .value();
}

/// @param theory the slope that the theorem gives @param tolerance for what the regime leaves of lower order
/// @param baseline the slope of what would be worth nothing, or of another regime: outside of the interval
void expect_slope(const std::string& axis, const std::vector<Point>& points, double theory, double tolerance,
                  double baseline) {
  SCOPED_TRACE(axis);
  ASSERT_GE(points.size(), 5U);
  for (const Point& point : points) {
    EXPECT_LE(point.noiseless, 0.5 * point.mean()) << point.at;  // it is noise whose slope is fitted
  }
  const Interval interval = slope_interval(points);
  EXPECT_GE(interval.low, theory - tolerance);
  EXPECT_LE(interval.high, theory + tolerance);
  EXPECT_TRUE(baseline < interval.low || baseline > interval.high) << interval.low << " to " << interval.high;
}

/// A setting of the axes. The rates depend on rho = 2 sqrt(d) / (n mu_G sqrt(M)) alone, the risk relative to L D.
struct Axes {
  double records = 170;
  double epsilon = 2.0;
  Eigen::Index dimension = 16;
  std::size_t silos = 4;

  [[nodiscard]] double relative_risk() const {
    return 2.0 * std::sqrt(static_cast<double>(dimension)) /
           (records * shift_for(epsilon) * std::sqrt(static_cast<double>(silos)));
  }
  /// sigma = 2 L sqrt(R) / (n mu_G) of a coordinate of a silo's answer.
  [[nodiscard]] double stddev(double lipschitz, double rounds) const {
    return 2.0 * lipschitz * std::sqrt(rounds) / (records * shift_for(epsilon));
  }
};

using Plan = std::function<Method(const KnownProblem&, const Axes&)>;

/// The steps are this many times those that balance a theorem's two terms, so that noise, not the way to the optimum,
/// is what the risk is made of: the same rate with another constant.
constexpr double kBoldness = 4.0;

/// 3.1: R a multiple of min{nM, eps^2 n^2 M / d}, so that the noise of a round outweighs its gradient, and the step of
/// Lemma 103.
Method planned_minibatch(const KnownProblem& known, const Axes& axes) {
  const double rho = axes.relative_risk();
  const double rounds = std::ceil(4.0 / (rho * rho));
  const double second_moment = std::pow(known.gradient_bound, 2.0) * (1.0 + rounds * rho * rho);
  const double step =
      std::min(1.0 / known.smoothness, kBoldness * known.distance() / std::sqrt(rounds * second_moment));
  return MinibatchSgdSettings{known.problem, static_cast<std::uint64_t>(rounds), step, {}};
}

/// 3.2, ERM: R a multiple of sqrt(beta D / L) / sqrt(rho), and an upsilon in proportion to V R^{3/2} / D.
Method planned_accelerated(const KnownProblem& known, const Axes& axes) {
  const double rho = axes.relative_risk();
  const double rounds =
      std::ceil(30.0 * std::sqrt(known.smoothness * known.distance() / known.gradient_bound) / std::sqrt(rho));
  const double deviation = rho * known.gradient_bound * std::sqrt(rounds);
  const double upsilon =
      std::max(2.0 * known.smoothness, deviation * std::pow(rounds, 1.5) / (2.0 * kBoldness * known.distance()));
  return AcceleratedSgdSettings{
      known.problem, {{0.0, 0.0, {}, {{static_cast<std::uint64_t>(rounds), upsilon}}}}, RecordUse::Shared};
}

Point measure(double at, const Axes& axes, const Plan& plan) {
  constexpr std::uint64_t kRuns = 20;
  const KnownProblem known = far_quadratic(axes.dimension, axes.silos);
  const Method settings = plan(known, axes);
  const auto rounds = static_cast<double>(settings->extent().rounds);
  Point out{at, {}, 0.0};
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const auto algorithm = settings->make().value();
    const NoisyCohort::Noise noise{axes.stddev(known.gradient_bound, rounds)};
    out.risks.push_back(known.excess(NoisyCohort(known, {noise, seed}).train(*algorithm)));
  }
  out.noiseless = known.excess(NoisyCohort(known, {}).train(*settings->make().value()));
  return out;
}

/// Of the slopes below: rho runs over a factor of 4 to 8 below 1/5, and terms of higher order in it, with the rounding
/// of rounds, bend a line by up to a tenth. The fitted slopes' standard errors are near 0.01, so that a sound run lies
/// several of them inside, while a regime with another exponent, the nearest of which is 1/2 away, lies outside.
constexpr double kTolerance = 0.15;

void expect_rates(const Plan& plan) {
  std::vector<Point> points;
  for (const double records : {60.0, 100.0, 170.0, 285.0, 480.0}) {
    Axes axes;
    axes.records = records;
    points.push_back(measure(records, axes, plan));
  }
  expect_slope("records", points, -1.0, kTolerance, -0.5);  // -1/2: what sampling, not privacy, leaves

  points.clear();
  std::vector<double> logs;
  std::vector<double> shifts;
  for (const double epsilon : {0.5, 0.8, 1.3, 2.1, 3.4}) {
    Axes axes;
    axes.epsilon = epsilon;
    points.push_back(measure(epsilon, axes, plan));
    logs.push_back(std::log(epsilon));
    shifts.push_back(std::log(shift_for(epsilon)));
  }
  // The closed forms have -1; the accountant's shift grows a little slower than epsilon.
  const double theory = -slope(logs, shifts);
  EXPECT_NEAR(theory, -1.0, kTolerance);
  expect_slope("epsilon", points, theory, kTolerance, -0.5);

  points.clear();
  for (const Eigen::Index dimension : {6, 12, 24, 48, 96}) {
    Axes axes;
    axes.records = 400;
    axes.dimension = dimension;
    points.push_back(measure(static_cast<double>(dimension), axes, plan));
  }
  expect_slope("dimension", points, 0.5, kTolerance, 0.0);  // 0: the non-private risk knows no dimension

  points.clear();
  for (const std::size_t silos : {2U, 4U, 8U, 16U, 32U}) {
    Axes axes;
    axes.silos = silos;
    axes.records = 120;
    points.push_back(measure(static_cast<double>(silos), axes, plan));
  }
  expect_slope("silos", points, -0.5, kTolerance, 0.0);  // 0: more silos gain nothing
}

TEST(ConvergenceRatesTest, OfMinibatchSgdAreThoseOfItsTheorem) { expect_rates(planned_minibatch); }

TEST(ConvergenceRatesTest, OfAcceleratedSgdAreThoseOfItsTheorem) { expect_rates(planned_accelerated); }

/// The first round after which a run's candidate is no worse than `risk`: the candidates of neither algorithm depend on
/// how many rounds are still to come.
std::vector<double> rounds_to_reach(const KnownProblem& known, const Method& settings,
                                    const std::vector<double>& risks) {
  std::vector<double> reached;
  double round = 0.0;
  const auto algorithm = settings->make().value();
  (void)NoisyCohort(known, {}).train(*algorithm, [&](const algorithms::FederatedAlgorithm& running) {
    round += 1.0;
    while (reached.size() < risks.size() && known.excess(running.candidate()) <= risks[reached.size()])
      reached.push_back(round);
  });
  return reached;
}

/// Silos that read other records in every phase, as localized AC-SA has them do: the mean of n/2, n/4, ... records of a
/// normal law around a silo's own centre, drawn once for each phase, and fresh noise for privacy in every round.
class PhasedCohort {
 public:
  struct Phase {
    std::uint64_t rounds = 0;
    double records = 0.0;  // of a silo
    double stddev = 0.0;   // of the noise for privacy, of a coordinate of a silo's answer
  };
  PhasedCohort(const KnownProblem& known, Eigen::VectorXd curvature, double record_stddev, std::uint64_t seed)
      : known_(&known), curvature_(std::move(curvature)), record_stddev_(record_stddev), normals_(seed) {}

  Eigen::VectorXd train(algorithms::FederatedAlgorithm& algorithm, const std::vector<Phase>& phases) {
    algorithms::Step step = algorithm.start();
    for (const Phase& phase : phases) {
      std::vector<Eigen::VectorXd> off;  // of a silo's records' mean from its centre
      for (std::size_t i = 0; i < known_->silos.size(); ++i) {
        off.emplace_back(Eigen::VectorXd::Zero(curvature_.size()));
        normals_.add(record_stddev_ / std::sqrt(phase.records), off.back());
      }
      for (std::uint64_t round = 0; round < phase.rounds; ++round) {
        const auto& query = std::get<queries::Query>(step);
        Eigen::VectorXd mean = Eigen::VectorXd::Zero(curvature_.size());
        for (std::size_t i = 0; i < off.size(); ++i) {
          Eigen::VectorXd answer =
              known_->silos[i].gradient(queries::point_of(query.question)) - curvature_.cwiseProduct(off[i]);
          normals_.add(phase.stddev, answer);
          mean += answer / static_cast<double>(off.size());
        }
        algorithms::Step next =
            algorithm.advance({query.round, static_cast<Eigen::Index>(off.size()), folds::Mean{mean}}).value();
        step = std::move(next);
      }
    }
    return std::get<algorithms::Finished>(step).outcome.vectors.at("weights");
  }

 private:
  const KnownProblem* known_;
  Eigen::VectorXd curvature_;
  double record_stddev_;
  NormalSource normals_;
};

/// Localized AC-SA as 3.8 plans it for convex losses, and what its cohort must know.
struct LocalizedPlan {
  AcceleratedSgdSettings settings;
  std::vector<PhasedCohort::Phase> phases;
};

/// @param distance D @param lipschitz L of a record's gradient
LocalizedPlan planned_localized(const KnownProblem& known, double lipschitz, double distance, double records,
                                double shift) {
  LocalizedPlan plan{{known.problem, {}, RecordUse::Phased}, {}};
  const auto silos = static_cast<double>(known.silos.size());
  const auto d = static_cast<double>(known.problem.dimension);
  constexpr double kPower = 3.0;  // p, where M <= n^3
  const double first =
      lipschitz / (distance * records * std::sqrt(silos)) * std::max(std::sqrt(records), std::sqrt(d) / shift);
  const double rate =
      lipschitz * distance / std::sqrt(silos) * (1.0 / std::sqrt(records) + std::sqrt(d) / (shift * records));
  for (int i = 1; i <= static_cast<int>(std::log2(records)); ++i) {
    const double lambda = first * std::pow(2.0, (i - 1) * kPower);
    const double slice = std::floor(records / std::pow(2.0, i));
    const double gap = lipschitz * lipschitz / (2.0 * lambda);
    const double beta = known.smoothness + lambda;
    // V^2 = v R, with v fixed by the calibration; the last of U stages then takes R / 2 at most, and the error left is
    // of the order of the optimal one, gap 2^-U.
    const double per_round = d * std::pow(2.0 * lipschitz / (slice * shift), 2.0) / silos;
    const int stages_max = static_cast<int>(std::floor(std::log2(3.0 * lambda * gap / (512.0 * per_round))));
    const double shortest = std::ceil(4.0 * std::sqrt(2.0 * beta / lambda));
    if (stages_max >= 1) {
      AcceleratedPhase phase{lambda, lambda, 2.0 * lipschitz / lambda, {}};
      const double variance = per_round * 2.0 * stages_max * shortest;
      std::uint64_t total = 0;
      for (int k = 1; k <= stages_max; ++k) {
        const double rounds =
            std::ceil(std::max(shortest, 128.0 * variance / (3.0 * lambda * std::ldexp(gap, -(k + 1)))));
        const double upsilon = std::max(2.0 * beta, std::sqrt(lambda * variance * rounds * (rounds + 1.0) *
                                                              (rounds + 2.0) / (3.0 * std::ldexp(gap, -(k - 1)))));
        phase.stages.push_back({static_cast<std::uint64_t>(rounds), upsilon});
        total += phase.stages.back().rounds;
      }
      plan.settings.phases.push_back(phase);
      plan.phases.push_back({total, slice, 2.0 * lipschitz * std::sqrt(static_cast<double>(total)) / (slice * shift)});
    }
    if (4.0 * lipschitz * lipschitz / lambda < rate) break;  // the rest would move the output by less than the rate
  }
  return plan;
}

/// Quadratics of shared curvature, evenly spread on a logarithmic scale over four decades, whose silos' own optima lie
/// far from the common one, at distance 1 from w_0: its worst curvature is below every lambda of the plan.
KnownProblem ill_conditioned_silos(std::size_t silos, Eigen::VectorXd& curvature) {
  constexpr Eigen::Index kDimension = 25;
  curvature = Eigen::VectorXd::LinSpaced(kDimension, -4.0, 0.0).unaryExpr([](double exponent) {
    return std::pow(10.0, exponent);
  });
  KnownProblem known{"ill-conditioned silos", {}, {}};
  known.problem.dimension = kDimension;
  known.problem.domain = geometry::Domain::l2_ball(3.0).value();
  known.smoothness = 1.0;
  known.minimiser = Eigen::VectorXd::Ones(kDimension).normalized();
  NormalSource normals(9);
  std::vector<Eigen::VectorXd> centres(silos, Eigen::VectorXd::Zero(kDimension));
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(kDimension);
  for (Eigen::VectorXd& centre : centres) {
    normals.add(2.0, centre);  // some ten distances away
    mean += centre / static_cast<double>(silos);
  }
  for (const Eigen::VectorXd& centre : centres) {
    const Eigen::VectorXd own = known.minimiser + centre - mean;
    known.silos.push_back(
        {[own, curvature](const Eigen::VectorXd& w) { return 0.5 * curvature.dot((w - own).cwiseAbs2()); },
         [own, curvature](const Eigen::VectorXd& w) -> Eigen::VectorXd { return curvature.cwiseProduct(w - own); }});
  }
  known.minimum = known.value(known.minimiser);
  return known;
}

Point measure_localized(double at, double records, std::size_t silos) {
  constexpr double kLipschitz = 1.0;  // of the common objective within distance 1 of w*
  constexpr std::uint64_t kRuns = 12;
  Eigen::VectorXd curvature;
  const KnownProblem known = ill_conditioned_silos(silos, curvature);
  const double shift = shift_for(8.0);
  const LocalizedPlan plan = planned_localized(known, kLipschitz, 1.0, records, shift);
  const double rate = kLipschitz / std::sqrt(static_cast<double>(silos)) *
                      (1.0 / std::sqrt(records) + std::sqrt(static_cast<double>(curvature.size())) / (shift * records));
  Point out{at, {}, 0.0};
  double mean = 0.0;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const auto algorithm = AcceleratedSgd::create(plan.settings).value();
    out.risks.push_back(known.excess(PhasedCohort(known, curvature, 0.2, seed).train(*algorithm, plan.phases)));
    mean += out.risks.back() / static_cast<double>(kRuns);
  }
  EXPECT_LE(mean, rate) << at;
  return out;
}

TEST(ConvergenceRatesTest, LocalizedAcceleratedSgdFallsLikeTheRootOfAllRecordsOnSilosFarApart) {
  // 3.8: (L D / sqrt(M)) (1/sqrt(n) + sqrt(d ln(1/delta)) / (eps n)) whatever the silos' own optima, the first term
  // ruling. Its proximity term decides the slope: what curvatures below lambda_1 = L / (D sqrt(nM)) lose is in
  // proportion to it. The privacy term of one pass, the best without localisation, falls like -4/5.
  std::vector<Point> points;
  for (const double records : {4000.0, 8000.0, 16000.0, 32000.0, 64000.0})
    points.push_back(measure_localized(records, records, 4));
  expect_slope("localized, records", points, -0.5, 0.2, -0.8);
  points.clear();
  for (const std::size_t silos : {2U, 4U, 8U, 16U, 32U})
    points.push_back(measure_localized(static_cast<double>(silos), 8000.0, silos));
  expect_slope("localized, silos", points, -0.5, 0.2, 0.0);
}

TEST(ConvergenceRatesTest, AcceleratedSgdNeedsAboutTheRootOfTheRoundsWithoutNoise) {
  // beta D^2 / R^2 against beta D^2 / R. The logarithms of the rounds lie on a line of slope 1/2, to what the finitely
  // many curvatures leave; without acceleration it is 1.
  const KnownProblem known = ill_conditioned_quadratic();
  const std::vector<double> risks{2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4, 6e-5};
  const std::vector<double> plain =
      rounds_to_reach(known, MinibatchSgdSettings{known.problem, 20'000, 1.0 / known.smoothness, {}}, risks);
  const std::vector<double> accelerated = rounds_to_reach(
      known,
      AcceleratedSgdSettings{known.problem, {{0.0, 0.0, {}, {{2000, 2.0 * known.smoothness}}}}, RecordUse::Shared},
      risks);
  ASSERT_EQ(plain.size(), risks.size());
  ASSERT_EQ(accelerated.size(), risks.size());
  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t i = 0; i < risks.size(); ++i) {
    x.push_back(std::log(plain[i]));
    y.push_back(std::log(accelerated[i]));
    EXPECT_LE(accelerated[i], 8.0 * std::sqrt(plain[i]));
  }
  EXPECT_NEAR(slope(x, y), 0.5, 0.06);
}

}  // namespace
}  // namespace undertone::tests
