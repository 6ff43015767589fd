#include "shared/statistics/bernstein.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace undertone::statistics {
namespace {

constexpr std::size_t kGridMax = std::size_t{1} << 20U;

/// b_(0,k)(x) .. b_(k,k)(x): one after the other from the nearer end, so that nothing cancels.
Eigen::VectorXd basis(std::size_t degree, double x) {
  const auto k = static_cast<Eigen::Index>(degree);
  Eigen::VectorXd out = Eigen::VectorXd::Zero(k + 1);
  out[0] = 1.0;
  for (Eigen::Index n = 1; n <= k; ++n) {
    for (Eigen::Index u = n; u > 0; --u) out[u] = x * out[u - 1] + (1.0 - x) * out[u];
    out[0] *= 1.0 - x;
  }
  return out;
}

/// M[v][u] = b_(u,k)(v / k).
Eigen::MatrixXd at_knots(std::size_t degree) {
  const auto k = static_cast<Eigen::Index>(degree);
  Eigen::MatrixXd out(k + 1, k + 1);
  for (Eigen::Index v = 0; v <= k; ++v)
    out.row(v) = basis(degree, static_cast<double>(v) / static_cast<double>(k)).transpose();
  return out;
}

/// The recursion g <- f + g - M g of one variable, h - 1 times: what it makes of values, as a matrix.
Eigen::MatrixXd iterated(std::size_t degree, std::size_t order) {
  const Eigen::MatrixXd knots = at_knots(degree);
  const Eigen::MatrixXd unit = Eigen::MatrixXd::Identity(knots.rows(), knots.cols());
  Eigen::MatrixXd out = unit;
  for (std::size_t i = 1; i < order; ++i) out = unit + out - knots * out;
  return out;
}

/// A tensor's variables, the first fastest: applies a matrix along one of them.
Eigen::VectorXd along(const Eigen::VectorXd& tensor, Eigen::Index inner, const Eigen::MatrixXd& matrix) {
  const Eigen::Index size = matrix.cols();
  Eigen::VectorXd out(tensor.size() / size * matrix.rows());
  const Eigen::Index outer = tensor.size() / (size * inner);
  for (Eigen::Index o = 0; o < outer; ++o) {
    for (Eigen::Index i = 0; i < inner; ++i) {
      for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
        double sum = 0.0;
        for (Eigen::Index column = 0; column < size; ++column)
          sum += matrix(row, column) * tensor[(o * size + column) * inner + i];
        out[(o * matrix.rows() + row) * inner + i] = sum;
      }
    }
  }
  return out;
}

}  // namespace

Result<BernsteinPolynomial> BernsteinPolynomial::create(const Eigen::VectorXd& grid, std::size_t variables,
                                                        std::size_t degree, std::size_t order) {
  const auto refused = [](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, "a Bernstein polynomial: " + what};
  };
  if (variables < 1 || variables > kVariablesMax || degree < 1 || order < 1 || order > kOrderMax)
    return refused(
        fmt::format("expected 1 to {} variables, a degree of 1 or more and an order of 1 to {}, got {}, {} and {}",
                    kVariablesMax, kOrderMax, variables, degree, order));
  double points = 1.0;
  for (std::size_t j = 0; j < variables; ++j) points *= static_cast<double>(degree + 1);
  if (points > static_cast<double>(kGridMax) || static_cast<double>(grid.size()) != points || !grid.allFinite())
    return refused(fmt::format("expected {} finite values, {} at most, got {}", points, kGridMax, grid.size()));
  const Eigen::MatrixXd made = iterated(degree, order);
  Eigen::VectorXd coefficients = grid;
  Eigen::Index inner = 1;
  for (std::size_t j = 0; j < variables; ++j) {
    coefficients = along(coefficients, inner, made);
    inner *= made.rows();
  }
  return BernsteinPolynomial(std::move(coefficients), variables, degree);
}

double BernsteinPolynomial::value(const Eigen::VectorXd& point) const {
  UNDERTONE_CHECK(static_cast<std::size_t>(point.size()) == variables_);
  Eigen::VectorXd left = coefficients_;
  for (const double x : point) left = along(left, 1, basis(degree_, x).transpose());
  return left[0];
}

Eigen::VectorXd BernsteinPolynomial::gradient(const Eigen::VectorXd& point) const {
  UNDERTONE_CHECK(static_cast<std::size_t>(point.size()) == variables_);
  const auto k = static_cast<Eigen::Index>(degree_);
  Eigen::VectorXd out(point.size());
  for (Eigen::Index j = 0; j < point.size(); ++j) {
    Eigen::VectorXd left = coefficients_;
    for (Eigen::Index i = 0; i < point.size(); ++i) {
      if (i != j) {
        left = along(left, 1, basis(degree_, point[i]).transpose());
        continue;
      }
      // Of degree k - 1 with the coefficients k (g_(u+1) - g_u).
      const Eigen::VectorXd lower = basis(degree_ - 1, point[i]);
      Eigen::RowVectorXd weights = Eigen::RowVectorXd::Zero(k + 1);
      weights.head(k) -= static_cast<double>(k) * lower.transpose();
      weights.tail(k) += static_cast<double>(k) * lower.transpose();
      left = along(left, 1, weights);
    }
    out[j] = left[0];
  }
  return out;
}

BernsteinPolynomial::Minimum BernsteinPolynomial::descend(Eigen::VectorXd from) const {
  constexpr int kIterations = 200;
  constexpr double kSufficient = 1e-4;
  Minimum at{std::move(from), 0.0};
  at.value = value(at.point);
  double step = 1.0;
  for (int i = 0; i < kIterations; ++i) {
    const Eigen::VectorXd slope = gradient(at.point);
    Eigen::VectorXd next;
    double found = at.value;
    bool descended = false;
    for (step = std::min(1.0, 2.0 * step); step > 1e-12 && !descended; step *= descended ? 1.0 : 0.5) {
      next = (at.point - step * slope).cwiseMax(0.0).cwiseMin(1.0);
      found = value(next);
      descended = found <= at.value - kSufficient / step * (next - at.point).squaredNorm();
    }
    if (!descended || (next - at.point).lpNorm<Eigen::Infinity>() < 1e-10) break;
    at = {next, found};
  }
  return at;
}

BernsteinPolynomial::Minimum BernsteinPolynomial::minimum() const {
  const auto p = static_cast<Eigen::Index>(variables_);
  const auto side = static_cast<Eigen::Index>(degree_) + 1;
  const auto point_at = [&](Eigen::Index place) {
    Eigen::VectorXd out(p);
    for (double& x : out) {
      x = static_cast<double>(place % side) / static_cast<double>(degree_);
      place /= side;
    }
    return out;
  };
  Eigen::VectorXd values = coefficients_;  // at the knots
  const Eigen::MatrixXd each = at_knots(degree_);
  for (Eigen::Index j = 0, inner = 1; j < p; ++j, inner *= side) values = along(values, inner, each);
  std::vector<std::pair<double, Eigen::Index>> knots;
  for (Eigen::Index place = 0; place < values.size(); ++place) knots.emplace_back(values[place], place);
  const std::size_t starts = std::min<std::size_t>(knots.size(), 2 * variables_ + 1);
  std::partial_sort(knots.begin(), knots.begin() + static_cast<std::ptrdiff_t>(starts), knots.end());
  Minimum best = descend(Eigen::VectorXd::Constant(p, 0.5));
  for (std::size_t i = 0; i < starts; ++i)
    if (Minimum found = descend(point_at(knots[i].second)); found.value < best.value) best = std::move(found);
  return best;
}

Eigen::VectorXd bernstein_weights(std::size_t degree, std::size_t order, double x) {
  UNDERTONE_CHECK(degree >= 1 && order >= 1);
  return iterated(degree, order).transpose() * basis(degree, x);
}

double bernstein_amplification(std::size_t degree, std::size_t order) {
  UNDERTONE_CHECK(degree >= 1 && order >= 1);
  const Eigen::MatrixXd made = iterated(degree, order);
  const std::size_t points = 64 * degree;
  double most = 0.0;
  for (std::size_t i = 0; i <= points; ++i) {
    const Eigen::VectorXd weights =
        made.transpose() * basis(degree, static_cast<double>(i) / static_cast<double>(points));
    most = std::max(most, weights.lpNorm<1>());
  }
  return most;
}

}  // namespace undertone::statistics
