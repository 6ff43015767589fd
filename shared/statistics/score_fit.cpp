#include "shared/statistics/score_fit.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace undertone::statistics {
namespace {

constexpr double kRidge = 0.7;       // deviations of the noise
constexpr double kStepMax = 1.75;    // record norms
constexpr double kReachMax = 4.6;    // record norms
constexpr double kScoresRefusedBelow = 3;  // of rho
constexpr double kScoresFlaggedBelow = 6;

/// s2: of an entry off the diagonal of H; sqrt(2) times that on it.
double information_stddev(double stddev) { return stddev / (std::numbers::sqrt2 * kInformationFactor); }

double least_information(const Eigen::MatrixXd& of) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(of, Eigen::EigenvaluesOnly).eigenvalues()[0];
}

}  // namespace

Eigen::VectorXd next_score_point(const ScoresAt& at) {
  const Eigen::Index p = at.point.size();
  const double smallest = least_information(at.sums.information);
  // Without noise a singular information still needs a ridge.
  const double least = std::max(kRidge * at.stddev, 1e-9 * std::abs(at.sums.information.trace()) + 1e-12);
  const Eigen::MatrixXd ridged =
      at.sums.information + std::max(0.0, least - smallest) * Eigen::MatrixXd::Identity(p, p);
  Eigen::VectorXd step = ridged.ldlt().solve(at.sums.score);
  if (!step.allFinite()) step.setZero();
  const double length = step.norm();
  if (length > kStepMax * at.record_norm) step *= kStepMax * at.record_norm / length;
  Eigen::VectorXd out = at.point + step;
  const double reach = out.norm();
  if (reach > kReachMax * at.record_norm) out *= kReachMax * at.record_norm / reach;
  return out;
}

bool on_score_bound(const Eigen::Ref<const Eigen::VectorXd>& point, double record_norm) {
  return point.norm() > kReachMax * record_norm * (1.0 - 1e-6);
}

ScoreFit fit_scores(const ScoresAt& at, double positive_share) {
  const Eigen::Index p = at.point.size();
  const Eigen::MatrixXd& information = at.sums.information;
  ScoreFit out;
  const double smallest = least_information(information);
  const double s2 = information_stddev(at.stddev);
  out.rho = s2 > 0.0     ? smallest / (s2 * std::sqrt(2.0 * static_cast<double>(p)))
            : smallest > 1e-9 * std::abs(information.trace()) ? std::numeric_limits<double>::infinity()
                                                             : 0.0;
  if (!(out.rho >= kScoresRefusedBelow) || on_score_bound(at.point, at.record_norm)) return out;
  const Eigen::MatrixXd inverse = information.inverse();
  const Eigen::VectorXd moved = inverse * at.sums.score;
  if (!inverse.allFinite() || !moved.allFinite()) return out;
  out.carries = out.rho < kScoresFlaggedBelow ? Carries::Barely : Carries::Enough;
  out.coefficients = at.point + moved;
  const double square = moved.squaredNorm();
  out.inverse = inverse;
  out.score_noise = at.stddev * at.stddev * Eigen::MatrixXd::Identity(p, p) +
                    s2 * s2 * (square * Eigen::MatrixXd::Identity(p, p) + moved * moved.transpose());
  out.meat = at.sums.meat;
  out.stddev = at.stddev;
  const double weights = at.record_norm * at.record_norm * information(p - 1, p - 1);  // sum of p (1 - p)
  const double curvature = std::abs(1.0 - 2.0 * positive_share);
  out.widening = weights > 0.0 ? 0.5 * curvature * at.record_norm * std::max(0.0, moved.dot(information * moved)) /
                                     weights
                               : 0.0;
  return out;
}

double ScoreFit::noise_variance(const Eigen::Ref<const Eigen::VectorXd>& a) const {
  const Eigen::VectorXd moved = inverse * a;
  return std::max(0.0, moved.dot(score_noise * moved));
}

double ScoreFit::robust_variance(const Eigen::Ref<const Eigen::VectorXd>& a) const {
  const Eigen::VectorXd moved = inverse * a;
  return std::max(0.0, moved.dot(meat * moved) + std::numbers::sqrt2 * stddev * moved.squaredNorm());
}

Stated state_combination(const ScoreFit& fit, const Eigen::Ref<const Eigen::VectorXd>& a, Confidence confidence) {
  Stated out;
  out.gate = fit.rho;
  if (fit.carries == Carries::Nothing) {
    out.note =
        "refused: the noised information carries no coefficient; more records, a larger epsilon or fewer covariates "
        "would";
    return out;
  }
  if (fit.carries == Carries::Barely) out.note = "little information: of such intervals some are too narrow";
  const double widening = std::abs(a[a.size() - 1]) * fit.widening;
  const double by_noise = fit.noise_variance(a);
  const double noise = confidence.z() * std::sqrt(by_noise) + widening;
  const double both = confidence.z() * std::sqrt(by_noise + fit.robust_variance(a)) + widening;
  const double value = a.dot(fit.coefficients);
  out.value = value;
  out.noise_stddev = std::sqrt(by_noise);
  out.noise = {value - noise, value + noise};
  out.population = Interval{value - both, value + both};
  out.method = Method::Normal;
  return out;
}

}  // namespace undertone::statistics
