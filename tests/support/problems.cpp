#include "tests/support/problems.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/base/random_source.hpp"
#include "shared/geometry/proximal_step.hpp"

namespace undertone::tests {
namespace {

double symmetric(RandomSource& random) { return 2.0 * random.unit() - 1.0; }

Eigen::VectorXd in_cube(RandomSource& random, Eigen::Index d) {
  Eigen::VectorXd out(d);
  for (Eigen::Index i = 0; i < d; ++i) out[i] = symmetric(random);
  return out;
}

algorithms::Problem in_ball(Eigen::Index d, double radius) {
  algorithms::Problem problem;
  problem.dimension = d;
  problem.domain = geometry::Domain::l2_ball(radius).value();
  return problem;
}

/// 1/2 (w - centre)^T curvature (w - centre) + constant.
SiloObjective quadratic(const Eigen::MatrixXd& curvature, const Eigen::VectorXd& centre, double constant = 0.0) {
  return {[curvature, centre, constant](const Eigen::VectorXd& w) {
            return 0.5 * (w - centre).dot(curvature * (w - centre)) + constant;
          },
          [curvature, centre](const Eigen::VectorXd& w) -> Eigen::VectorXd { return curvature * (w - centre); }};
}

SiloObjective diagonal_quadratic(const Eigen::VectorXd& curvature, const Eigen::VectorXd& centre) {
  return {
      [curvature, centre](const Eigen::VectorXd& w) { return 0.5 * curvature.dot((w - centre).cwiseAbs2()); },
      [curvature, centre](const Eigen::VectorXd& w) -> Eigen::VectorXd { return curvature.cwiseProduct(w - centre); }};
}

/// `count` vectors that add to zero, each of length at most twice `scale`.
std::vector<Eigen::VectorXd> spread(RandomSource& random, Eigen::Index d, std::size_t count, double scale) {
  std::vector<Eigen::VectorXd> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(in_cube(random, d).normalized() * scale);
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(d);
  for (const Eigen::VectorXd& one : out) mean += one / static_cast<double>(count);
  for (Eigen::VectorXd& one : out) one -= mean;
  return out;
}

/// The largest eigenvalue.
double largest(const Eigen::MatrixXd& symmetric_matrix) {
  return symmetric_matrix.selfadjointView<Eigen::Lower>().eigenvalues().maxCoeff();
}

double smallest(const Eigen::MatrixXd& symmetric_matrix) {
  return symmetric_matrix.selfadjointView<Eigen::Lower>().eigenvalues().minCoeff();
}

/// Writes down where the optimum is and what it is worth.
KnownProblem solved(KnownProblem known, Eigen::VectorXd minimiser) {
  known.minimiser = std::move(minimiser);
  known.minimum = known.value(known.minimiser);
  return known;
}

double log1p_exp(double z) { return z > 0.0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z)); }
double sigmoid(double z) { return 1.0 / (1.0 + std::exp(-z)); }

/// Logistic loss of records (columns) with labels folded in: x stands for y x.
SiloObjective logistic(const Eigen::MatrixXd& signed_records) {
  const double count = static_cast<double>(signed_records.cols());
  return {[signed_records, count](const Eigen::VectorXd& w) {
            double sum = 0.0;
            for (Eigen::Index j = 0; j < signed_records.cols(); ++j) sum += log1p_exp(-signed_records.col(j).dot(w));
            return sum / count;
          },
          [signed_records, count](const Eigen::VectorXd& w) {
            Eigen::VectorXd out = Eigen::VectorXd::Zero(w.size());
            for (Eigen::Index j = 0; j < signed_records.cols(); ++j)
              out -= sigmoid(-signed_records.col(j).dot(w)) / count * signed_records.col(j);
            return out;
          }};
}

}  // namespace

double KnownProblem::value(const Eigen::VectorXd& w) const {
  double sum = 0.0;
  for (const SiloObjective& silo : silos) sum += silo.value(w);
  return sum / static_cast<double>(silos.size()) + problem.regulariser.value(w);
}

Eigen::VectorXd KnownProblem::gradient(const Eigen::VectorXd& w) const {
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(w.size());
  for (const SiloObjective& silo : silos) sum += silo.gradient(w);
  return sum / static_cast<double>(silos.size());
}

double KnownProblem::stationarity(const Eigen::VectorXd& w, double step_size) const {
  const auto step = geometry::ProximalStep::create(problem.domain, problem.regulariser, problem.dimension).value();
  Eigen::VectorXd mapping(w.size());
  step.proximal_gradient_mapping(w, gradient(w), step_size, mapping);
  return mapping.squaredNorm();
}

double KnownProblem::heterogeneity(const Eigen::VectorXd& w) const {
  const Eigen::VectorXd mean = gradient(w);
  double sum = 0.0;
  for (const SiloObjective& silo : silos) sum += (silo.gradient(w) - mean).squaredNorm();
  return sum / static_cast<double>(silos.size());
}

KnownProblem least_squares() {
  constexpr Eigen::Index kDimension = 6;
  constexpr Eigen::Index kRecords = 30;
  constexpr double kRadius = 2.0;
  RandomSource random(11);
  const Eigen::VectorXd truth = in_cube(random, kDimension);
  KnownProblem known{"least squares", in_ball(kDimension, kRadius), {}};
  Eigen::MatrixXd curvature = Eigen::MatrixXd::Zero(kDimension, kDimension);
  Eigen::VectorXd linear = Eigen::VectorXd::Zero(kDimension);
  for (int silo = 0; silo < 4; ++silo) {
    Eigen::MatrixXd records(kDimension, kRecords);
    Eigen::VectorXd targets(kRecords);
    for (Eigen::Index j = 0; j < kRecords; ++j) {
      records.col(j) = in_cube(random, kDimension);
      targets[j] = records.col(j).dot(truth) + 0.5 * symmetric(random);
      const double norm = records.col(j).norm();
      known.gradient_bound = std::max(known.gradient_bound, norm * (norm * kRadius + std::abs(targets[j])));
    }
    const Eigen::MatrixXd own = records * records.transpose() / static_cast<double>(kRecords);
    const Eigen::VectorXd moment = records * targets / static_cast<double>(kRecords);
    const Eigen::VectorXd best = own.ldlt().solve(moment);
    const double residual = 0.5 * (targets - records.transpose() * best).squaredNorm() / static_cast<double>(kRecords);
    known.silos.push_back(quadratic(own, best, residual));
    known.smoothness = std::max(known.smoothness, largest(own));
    curvature += own / 4.0;
    linear += moment / 4.0;
  }
  known.strong_convexity = smallest(curvature);
  return solved(std::move(known), curvature.ldlt().solve(linear));
}

KnownProblem regularised_logistic() {
  constexpr Eigen::Index kDimension = 5;
  constexpr Eigen::Index kRecords = 20;
  constexpr double kStrength = 0.1;
  RandomSource random(12);
  KnownProblem known{"regularised logistic", in_ball(kDimension, 4.0), {}};
  known.problem.regulariser = geometry::Regulariser::squared_l2(kStrength, kDimension).value();
  known.strong_convexity = kStrength;
  std::vector<Eigen::MatrixXd> all;
  for (int silo = 0; silo < 3; ++silo) {
    Eigen::MatrixXd records(kDimension, kRecords);
    for (Eigen::Index j = 0; j < kRecords; ++j) {
      const Eigen::VectorXd x = in_cube(random, kDimension);
      const double score = 3.0 * x[0] - 2.0 * x[1] + x[2] + (silo - 1.0) + symmetric(random);
      records.col(j) = score > 0.0 ? x : Eigen::VectorXd(-x);
      known.gradient_bound = std::max(known.gradient_bound, x.norm());
    }
    // The second derivative of the loss is at most 1/4.
    known.smoothness = std::max(known.smoothness, 0.25 * largest(records * records.transpose()) / kRecords);
    known.silos.push_back(logistic(records));
    all.push_back(std::move(records));
  }
  Eigen::VectorXd w = Eigen::VectorXd::Zero(kDimension);
  for (int iteration = 0; iteration < 50; ++iteration) {
    const Eigen::VectorXd slope = known.gradient(w) + kStrength * w;
    if (slope.norm() < 1e-13) break;
    Eigen::MatrixXd hessian = kStrength * Eigen::MatrixXd::Identity(kDimension, kDimension);
    for (const Eigen::MatrixXd& records : all) {
      for (Eigen::Index j = 0; j < kRecords; ++j) {
        const double p = sigmoid(records.col(j).dot(w));
        hessian += p * (1.0 - p) / (3.0 * kRecords) * records.col(j) * records.col(j).transpose();
      }
    }
    w -= hessian.ldlt().solve(slope);
  }
  return solved(std::move(known), w);
}

KnownProblem lasso() {
  constexpr Eigen::Index kDimension = 8;
  constexpr double kStrength = 0.3;
  constexpr double kRadius = 4.0;
  RandomSource random(13);
  KnownProblem known{"lasso", in_ball(kDimension, kRadius), {}};
  known.problem.regulariser = geometry::Regulariser::l1(kStrength, kDimension).value();
  const Eigen::VectorXd curvature = Eigen::VectorXd::LinSpaced(kDimension, 0.5, 1.0);
  const Eigen::VectorXd centre = 1.5 * in_cube(random, kDimension);
  known.smoothness = curvature.maxCoeff();
  known.strong_convexity = curvature.minCoeff();
  for (const Eigen::VectorXd& offset : spread(random, kDimension, 4, 0.5)) {
    known.silos.push_back(diagonal_quadratic(curvature, centre + offset));
    known.gradient_bound = std::max(known.gradient_bound, kRadius + (centre + offset).norm());
  }
  Eigen::VectorXd best(kDimension);
  for (Eigen::Index j = 0; j < kDimension; ++j) {
    const double kept = std::max(std::abs(centre[j]) - kStrength / curvature[j], 0.0);
    best[j] = std::copysign(kept, centre[j]);
  }
  return solved(std::move(known), best);
}

KnownProblem boundary_quadratic() {
  constexpr Eigen::Index kDimension = 5;
  constexpr double kMultiplier = 0.5;
  RandomSource random(14);
  KnownProblem known{"boundary quadratic", in_ball(kDimension, 1.0), {}};
  const Eigen::VectorXd curvature = Eigen::VectorXd::LinSpaced(kDimension, 0.2, 1.0);
  const Eigen::VectorXd best = in_cube(random, kDimension).normalized();
  // curvature (w* - centre) + multiplier w* = 0: the gradient at w* is an inward normal of the ball.
  const Eigen::VectorXd centre = best + kMultiplier * best.cwiseQuotient(curvature);
  known.smoothness = curvature.maxCoeff();
  known.strong_convexity = curvature.minCoeff();
  for (const Eigen::VectorXd& offset : spread(random, kDimension, 4, 0.5)) {
    known.silos.push_back(diagonal_quadratic(curvature, centre + offset));
    known.gradient_bound = std::max(known.gradient_bound, 1.0 + (centre + offset).norm());
  }
  return solved(std::move(known), best);
}

KnownProblem nonconvex_valley() {
  constexpr Eigen::Index kDimension = 4;
  RandomSource random(15);
  KnownProblem known{"non-convex valley", {}, {}};
  known.problem.dimension = kDimension;
  // t^2 / (1 + t^2): second derivative 2 (1 - 3 t^2) / (1 + t^2)^3 in [-1/2, 2], slope at most 3 sqrt(3) / 8.
  known.smoothness = 2.0;
  const Eigen::VectorXd centre = Eigen::VectorXd::LinSpaced(kDimension, -1.0, 1.4);
  for (const Eigen::VectorXd& tilt : spread(random, kDimension, 4, 0.5)) {
    known.silos.push_back({[centre, tilt](const Eigen::VectorXd& w) {
                             const Eigen::ArrayXd square = (w - centre).array().square();
                             return (square / (1.0 + square)).sum() + tilt.dot(w);
                           },
                           [centre, tilt](const Eigen::VectorXd& w) -> Eigen::VectorXd {
                             const Eigen::ArrayXd off = (w - centre).array();
                             return (2.0 * off / (1.0 + off.square()).square()).matrix() + tilt;
                           }});
    known.gradient_bound = std::max(known.gradient_bound, 3.0 * std::sqrt(3.0) / 8.0 * 2.0 + tilt.norm());
  }
  return solved(std::move(known), centre);
}

KnownProblem far_apart_silos() {
  constexpr Eigen::Index kDimension = 6;
  constexpr double kRadius = 2.0;
  RandomSource random(16);
  KnownProblem known{"far-apart silos", in_ball(kDimension, kRadius), {}};
  const Eigen::VectorXd curvature = Eigen::VectorXd::LinSpaced(kDimension, 0.25, 1.0);
  const Eigen::VectorXd centre = in_cube(random, kDimension).normalized();
  known.smoothness = curvature.maxCoeff();
  known.strong_convexity = curvature.minCoeff();
  for (const Eigen::VectorXd& offset : spread(random, kDimension, 5, 10.0)) {
    known.silos.push_back(diagonal_quadratic(curvature, centre + offset));
    known.gradient_bound = std::max(known.gradient_bound, kRadius + (centre + offset).norm());
  }
  return solved(std::move(known), centre);
}

const std::vector<KnownProblem>& known_problems() {
  static const std::vector<KnownProblem> all{least_squares(),      regularised_logistic(), lasso(),
                                             boundary_quadratic(), nonconvex_valley(),     far_apart_silos()};
  return all;
}

KnownProblem far_quadratic(Eigen::Index dimension, std::size_t silos) {
  RandomSource random(17);
  KnownProblem known{"far quadratic", in_ball(dimension, 1.0), {}};
  known.smoothness = 0.1;
  known.strong_convexity = 0.1;
  known.gradient_bound = 1.1 + 0.2;  // of the whole, and of a silo's own part
  const Eigen::VectorXd best = in_cube(random, dimension).normalized();
  const Eigen::VectorXd curvature = Eigen::VectorXd::Constant(dimension, 0.1);
  for (const Eigen::VectorXd& offset : spread(random, dimension, silos, 1.0))
    known.silos.push_back(diagonal_quadratic(curvature, 10.0 * best + offset));
  return solved(std::move(known), best);
}

KnownProblem ill_conditioned_quadratic() {
  constexpr Eigen::Index kDimension = 61;
  KnownProblem known{"ill-conditioned quadratic", in_ball(kDimension, 2.0), {}};
  const Eigen::VectorXd exponents = Eigen::VectorXd::LinSpaced(kDimension, -6.0, 0.0);
  const Eigen::VectorXd curvature = exponents.unaryExpr([](double exponent) { return std::pow(10.0, exponent); });
  const Eigen::VectorXd best = Eigen::VectorXd::Ones(kDimension).normalized();
  known.smoothness = curvature.maxCoeff();
  known.strong_convexity = curvature.minCoeff();
  known.gradient_bound = 3.0;
  known.silos.push_back(diagonal_quadratic(curvature, best));
  return solved(std::move(known), best);
}

}  // namespace undertone::tests
