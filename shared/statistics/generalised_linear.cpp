#include "shared/statistics/generalised_linear.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <functional>

#include "shared/statistics/binomial_coefficient.hpp"
#include "shared/statistics/cosine_series.hpp"

namespace undertone::statistics {
namespace {

constexpr double kLogisticScale = 4.0;

Eigen::VectorXd in_ball(Eigen::VectorXd point, double radius) {
  const double norm = point.norm();
  if (norm > radius) point *= radius / norm;
  return point;
}

/// The largest |P - f'| on a grid, and what lies between its points: both change by at most `steepness` a unit.
/// @param slope of t / reach
double error_on_grid(const std::function<double(double)>& polynomial, const std::function<double(double)>& slope,
                     double steepness) {
  constexpr int kPoints = 1 << 16;
  double worst = 0.0;
  for (int i = 0; i <= kPoints; ++i) {
    const double u = 2.0 * i / kPoints - 1.0;
    worst = std::max(worst, std::abs(polynomial(u) - slope(u)));
  }
  return worst + steepness / kPoints;
}

}  // namespace

LipschitzLoss LipschitzLoss::hinge() { return {{0.5}, {-1.0, 0.0}}; }
LipschitzLoss LipschitzLoss::logistic() { return {{}, {}}; }
LipschitzLoss LipschitzLoss::absolute() { return {{0.0}, {-1.0, 1.0}}; }
LipschitzLoss LipschitzLoss::quantile(double probability) {
  UNDERTONE_CHECK(probability >= 0.0 && probability <= 1.0);
  return {{0.0}, {-probability, 1.0 - probability}};
}

Result<LipschitzLoss> LipschitzLoss::piecewise(std::vector<double> kinks, std::vector<double> slopes) {
  const auto refused = [](const std::string& why) { return Error{ErrorCode::InvalidArgument, why}; };
  if (kinks.empty() || kinks.size() > kKinksMax)
    return refused(fmt::format("expected 1 to {} kinks, got {}", kKinksMax, kinks.size()));
  if (slopes.size() != kinks.size() + 1)
    return refused(
        fmt::format("expected one slope more than there are kinks, {}, got {}", kinks.size() + 1, slopes.size()));
  const auto rises = [](const std::vector<double>& numbers, double least) {
    return std::adjacent_find(numbers.begin(), numbers.end(), [least](double low, double high) {
             return !(high > low && high - low >= least);
           }) == numbers.end();
  };
  const bool finite = std::all_of(kinks.begin(), kinks.end(), [](double kink) { return std::isfinite(kink); });
  if (!finite || !rises(kinks, 0.0)) return refused("expected finite kinks in ascending order");
  if (!rises(slopes, kJumpMin))
    return refused(
        fmt::format("expected slopes that rise by {} or more at each kink: no other loss is convex", kJumpMin));
  if (!(slopes.front() >= -1.0 && slopes.back() <= 1.0))
    return refused(fmt::format("expected slopes in [-1, 1], got {} to {}", slopes.front(), slopes.back()));
  return LipschitzLoss(std::move(kinks), std::move(slopes));
}

double LipschitzLoss::slope(double smoothing, double t) const {
  if (kinks_.empty()) return -1.0 / (1.0 + std::exp(kLogisticScale * t));
  double out = slopes_.front();
  for (std::size_t i = 0; i < kinks_.size(); ++i) {
    const double from = t - kinks_[i];
    out += (slopes_[i + 1] - slopes_[i]) * 0.5 * (1.0 + from / std::hypot(from, smoothing));
  }
  return std::clamp(out, -1.0, 1.0);
}

double LipschitzLoss::curvature(double smoothing) const {
  return kinks_.empty() ? 0.25 * kLogisticScale : 0.5 * (slopes_.back() - slopes_.front()) / smoothing;
}

LipschitzLoss LipschitzLoss::in_unit(double unit) const {
  UNDERTONE_CHECK(!kinks_.empty());
  LipschitzLoss out = *this;
  for (double& kink : out.kinks_) kink /= unit;
  return out;
}

SlopePolynomial chebyshev_slope(const LipschitzLoss& loss, double smoothing, std::size_t degree, double reach) {
  const CosineSeries series = cosine_series([&](double u) { return loss.slope(smoothing, reach * u); },
                                            reach * loss.curvature(smoothing), degree + 1);
  const auto size = static_cast<Eigen::Index>(degree) + 1;
  SlopePolynomial out{Eigen::VectorXd::Zero(size), series.error};
  // T_0 = 1, T_1 = t, T_(v+1) = 2 t T_v - T_(v-1), in powers.
  Eigen::VectorXd before = Eigen::VectorXd::Zero(size);
  Eigen::VectorXd now = Eigen::VectorXd::Zero(size);
  now[0] = 1.0;
  for (Eigen::Index v = 0; v < size; ++v) {
    out.coefficients += series.coefficients[v] * now;
    Eigen::VectorXd next = -before;
    next.tail(size - 1) += (v == 0 ? 1.0 : 2.0) * now.head(size - 1);
    before = std::move(now);
    now = std::move(next);
  }
  return out;
}

SlopePolynomial bernstein_slope(const LipschitzLoss& loss, double smoothing, std::size_t degree, double reach) {
  const auto slope = [&](double u) { return loss.slope(smoothing, reach * u); };
  SlopePolynomial out{Eigen::VectorXd(static_cast<Eigen::Index>(degree) + 1), 0.0};
  for (std::size_t j = 0; j <= degree; ++j)
    out.coefficients[static_cast<Eigen::Index>(j)] =
        slope(2.0 * static_cast<double>(j) / static_cast<double>(degree) - 1.0);
  const auto at = [&](double t) {
    double sum = 0.0;
    for (std::size_t j = 0; j <= degree; ++j)
      sum += out.coefficients[static_cast<Eigen::Index>(j)] * binomial_coefficient(degree, j) *
             std::pow(0.5 * (1.0 + t), static_cast<double>(j)) *
             std::pow(0.5 * (1.0 - t), static_cast<double>(degree - j));
    return sum;
  };
  // A Bernstein polynomial is no steeper than what it is of.
  out.error = error_on_grid(at, slope, 2.0 * reach * loss.curvature(smoothing));
  return out;
}

std::size_t hermite_degree(double noise_stddev, std::int64_t records) {
  const double most = 0.02 * std::sqrt(static_cast<double>(records));
  for (const std::size_t degree : {std::size_t{5}, std::size_t{3}}) {
    const auto d = static_cast<double>(degree);
    if (std::pow(noise_stddev, d + 1.0) * std::sqrt(std::tgamma(d + 1.0)) < most) return degree;
  }
  return 1;
}

Eigen::VectorXd hermite_gradient(const Eigen::Ref<const Eigen::MatrixXd>& noised, double noise_variance,
                                 const SlopePolynomial& slope, const Eigen::Ref<const Eigen::VectorXd>& point) {
  const Eigen::Index records = noised.cols();
  const Eigen::ArrayXd s = (noised.transpose() * point).array();
  const double v = noise_variance * point.squaredNorm();
  Eigen::ArrayXd before = Eigen::ArrayXd::Zero(records);
  Eigen::ArrayXd now = Eigen::ArrayXd::Ones(records);
  Eigen::VectorXd of_vectors = Eigen::VectorXd::Zero(records);  // what each u~ is times
  double of_point = 0.0;
  for (Eigen::Index j = 0; j < slope.coefficients.size(); ++j) {
    const auto order = static_cast<double>(j);
    of_vectors += slope.coefficients[j] * now.matrix();
    of_point -= slope.coefficients[j] * order * noise_variance * before.sum();
    Eigen::ArrayXd next = s * now - order * v * before;
    before = std::move(now);
    now = std::move(next);
  }
  return (noised * of_vectors + of_point * point) / static_cast<double>(records);
}

Eigen::VectorXd copies_gradient(const Eigen::Ref<const Eigen::MatrixXd>& copies, const SlopePolynomial& slope,
                                const Eigen::Ref<const Eigen::VectorXd>& point) {
  const auto degree = static_cast<std::size_t>(slope.coefficients.size()) - 1;
  UNDERTONE_CHECK(static_cast<std::size_t>(copies.cols()) == copies_of(degree));
  const Eigen::VectorXd margins = copies.transpose() * point;
  double sum = 0.0;
  for (std::size_t j = 0; j <= degree; ++j) {
    double product = slope.coefficients[static_cast<Eigen::Index>(j)] * binomial_coefficient(degree, j);
    for (std::size_t r = 1; r <= degree; ++r) {
      const double own = margins[static_cast<Eigen::Index>(j * degree + r)];
      product *= 0.5 * (r <= j ? 1.0 + own : 1.0 - own);
    }
    sum += product;
  }
  return sum * copies.col(0);
}

Eigen::VectorXd least_in_ball(const std::function<Eigen::VectorXd(const Eigen::Ref<const Eigen::VectorXd>&)>& gradient,
                              Eigen::Index dimension, double radius, double curvature, int steps) {
  Eigen::VectorXd point = Eigen::VectorXd::Zero(dimension);
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(dimension);
  int counted = 0;
  for (int step = 0; step < steps; ++step) {
    const Eigen::VectorXd along = gradient(point);
    if (!along.allFinite()) break;
    point = in_ball(point - along / curvature, radius);
    if (2 * step < steps) continue;
    mean += point;
    ++counted;
  }
  return counted == 0 ? point : Eigen::VectorXd(mean / counted);
}

Eigen::VectorXd intermediate_gradient_descent(
    const std::function<Eigen::VectorXd(const Eigen::Ref<const Eigen::VectorXd>&)>& oracle, Eigen::Index dimension,
    const IntermediateGradient& how) {
  const double b = std::pow(2.0, 0.75);
  const auto beta = [&](std::uint64_t k) {
    return how.curvature + b * how.gradient_stddev / how.radius * std::sqrt(static_cast<double>(k) + 2.0);
  };
  Eigen::VectorXd sum = oracle(Eigen::VectorXd::Zero(dimension));
  Eigen::VectorXd out = in_ball(-sum / beta(0), how.radius);
  for (std::uint64_t k = 0; k + 1 < how.steps; ++k) {
    const Eigen::VectorXd z = in_ball(-sum / beta(k), how.radius);
    const Eigen::VectorXd along = oracle(z);
    const Eigen::VectorXd hat = in_ball(z - along / beta(k), how.radius);
    sum += along;
    const auto done = static_cast<double>(k);
    out = ((done + 1.0) * out + hat) / (done + 2.0);
  }
  return out;
}

}  // namespace undertone::statistics
