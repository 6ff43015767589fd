#include "shared/statistics/score_fit.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace undertone::statistics {
namespace {

constexpr double kRidge = 0.7;             // deviations of the noise
constexpr double kStepMax = 1.75;          // record norms
constexpr double kReachMax = 4.6;          // record norms
constexpr double kScoresRefusedBelow = 3;  // of rho
constexpr double kScoresFlaggedBelow = 6;
constexpr double kRemainderMax = 3.0;  // half-widths at 95 %
constexpr double kNormal95 = 1.959964;

/// s2: of an entry off the diagonal of H; sqrt(2) times that on it.
double information_stddev(double stddev, ScoreLink link) {
  return stddev / (std::numbers::sqrt2 * information_factor(link));
}

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
  const double s2 = information_stddev(at.stddev, at.link);
  out.rho = s2 > 0.0 ? smallest / (s2 * std::sqrt(2.0 * static_cast<double>(p)))
            : smallest > 1e-9 * std::abs(information.trace()) ? std::numeric_limits<double>::infinity()
                                                              : 0.0;
  out.refusal = ScoreRefusal::Information;
  if (on_score_bound(at.point, at.record_norm)) out.refusal = ScoreRefusal::Bound;
  if (!(out.rho >= kScoresRefusedBelow) || out.refusal == ScoreRefusal::Bound) return out;
  const Eigen::MatrixXd inverse = information.inverse();
  const Eigen::VectorXd moved = inverse * at.sums.score;
  if (!inverse.allFinite() || !moved.allFinite()) return out;
  out.refusal = ScoreRefusal::None;
  out.carries = out.rho < kScoresFlaggedBelow ? Carries::Barely : Carries::Enough;
  out.moved = moved;
  // Two accounts of what a further step would be, each too large where the other is right: the first takes the noise of
  // the last step for an error that Newton's method left, the second knows no direction. A step that moves log odds by
  // s in the root mean square leaves s / 2 of itself where all records are so far, since |p''| <= p', but where the log
  // link is cut; here it is three times that, for records that are farther.
  const double ratio = at.moved_before > 0.0 ? moved.norm() / at.moved_before : 1.0;
  const double weights = at.record_norm * at.record_norm * information(p - 1, p - 1);  // sum of p (1 - p)
  const double of_odds = weights > 0.0 ? std::sqrt(std::max(0.0, moved.dot(information * moved)) / weights) : HUGE_VAL;
  // Means grow without bound where chances do not: with strong effects the log link leaves .23 where the first account
  // says .20 (coefficients 3 and -2, labels to 30, 20,000 records, epsilon 4; measured), and intervals covered .82.
  // Three times that lets them hold.
  const double squared = (at.link == ScoreLink::Log ? 3.0 : 1.0) * ratio * ratio;
  out.left = std::min({1.0, squared, 1.5 * of_odds});
  out.coefficients = at.point + moved;
  const double square = moved.squaredNorm();
  out.inverse = inverse;
  out.score_noise = at.stddev * at.stddev * Eigen::MatrixXd::Identity(p, p) +
                    s2 * s2 * (square * Eigen::MatrixXd::Identity(p, p) + moved * moved.transpose());
  out.meat = at.sums.meat;
  out.stddev = at.stddev;
  const double curvature = at.link == ScoreLink::Logistic ? std::abs(1.0 - 2.0 * positive_share) : 1.0;
  out.widening = weights > 0.0 ? 0.5 * curvature * at.record_norm * of_odds * of_odds : 0.0;
  for (Eigen::Index j = 0; j < p; ++j) {
    const Eigen::VectorXd unit = Eigen::VectorXd::Unit(p, j);
    const double half_width = kNormal95 * std::sqrt(out.noise_variance(unit) + out.robust_variance(unit));
    if (!(out.remainder(unit) <= kRemainderMax * half_width)) out.refusal = ScoreRefusal::Convergence;
  }
  if (out.refusal != ScoreRefusal::None) out.carries = Carries::Nothing;
  return out;
}

std::string_view to_string(ScoreRefusal refusal) noexcept {
  switch (refusal) {
    case ScoreRefusal::None:
      return "";
    case ScoreRefusal::Information:
      return "refused: the noised information carries no coefficient; more records, a larger epsilon, narrower bounds "
             "or "
             "fewer covariates would";
    case ScoreRefusal::Bound:
      return "refused: the coefficients are beyond what the iteration reaches, as of an outcome rarer than one in a "
             "hundred, of a mean far below the label's largest value, or of covariates that separate the label";
    case ScoreRefusal::Convergence:
      return "refused: the last step is too long to be the last, as where the covariates separate the label; fewer "
             "covariates may do";
  }
  return "";
}

double ScoreFit::remainder(const Eigen::Ref<const Eigen::VectorXd>& a) const { return left * std::abs(a.dot(moved)); }

double ScoreFit::noise_variance(const Eigen::Ref<const Eigen::VectorXd>& a) const {
  const Eigen::VectorXd b = inverse * a;
  return std::max(0.0, b.dot(score_noise * b));
}

double ScoreFit::robust_variance(const Eigen::Ref<const Eigen::VectorXd>& a) const {
  const Eigen::VectorXd b = inverse * a;
  return std::max(0.0, b.dot(meat * b) + std::numbers::sqrt2 * stddev * b.squaredNorm());
}

Stated state_combination(const ScoreFit& fit, const Eigen::Ref<const Eigen::VectorXd>& a, Confidence confidence) {
  Stated out;
  out.gate = fit.rho;
  if (fit.carries == Carries::Nothing) {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    out.noise = {-kNone, kNone};
    out.note = to_string(fit.refusal);
    return out;
  }
  if (fit.carries == Carries::Barely) out.note = "flagged: little information, coverage may be below what is said";
  const double widening = std::abs(a[a.size() - 1]) * fit.widening + fit.remainder(a);
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
