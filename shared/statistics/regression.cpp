#include "shared/statistics/regression.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <limits>

namespace undertone::statistics {
namespace {

constexpr double kRefusedBelow = 2.0;
constexpr double kFlaggedBelow = 4.0;

/// K: the covariance of b's noise less A's noise times the coefficients.
Eigen::MatrixXd noise_of_right(const RegressionMoments& moments, const Eigen::VectorXd& coefficients) {
  const Eigen::Index p = coefficients.size();
  const double s1 = moments.first_stddev * moments.first_stddev;
  const double s2 = moments.cross_stddev * moments.cross_stddev;
  const Eigen::VectorXd slopes = coefficients.tail(p - 1);
  const double intercept = coefficients[0];
  const double size = slopes.squaredNorm();
  Eigen::MatrixXd out(p, p);
  out.bottomRightCorner(p - 1, p - 1) = s2 * slopes * slopes.transpose();
  for (Eigen::Index j = 0; j + 1 < p; ++j)
    out(j + 1, j + 1) = s2 * (1.0 + size + slopes[j] * slopes[j]) + s1 * intercept * intercept;
  out(0, 0) = s1 * (1.0 + size);
  out.row(0).tail(p - 1) = s1 * intercept * slopes.transpose();
  out.col(0).tail(p - 1) = s1 * intercept * slopes;
  return out;
}

/// Sum of (x - mean) (x - mean)'.
Eigen::MatrixXd centred_gram(const RegressionMoments& moments) {
  const Eigen::Index d = moments.gram.rows() - 1;
  const Eigen::VectorXd sums = moments.gram.col(0).tail(d);
  return moments.gram.bottomRightCorner(d, d) - sums * sums.transpose() / static_cast<double>(moments.records);
}

double noise_of_gram(const RegressionMoments& moments) {
  return moments.cross_stddev * std::sqrt(2.0 * static_cast<double>(moments.gram.rows() - 1));
}

double smallest_eigenvalue(const Eigen::MatrixXd& symmetric) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(symmetric, Eigen::EigenvaluesOnly).eigenvalues()[0];
}

}  // namespace

Result<RegressionMoments> regression_moments(const VectorMoments& moments, const std::vector<Eigen::Index>& predictors,
                                             Eigen::Index response) {
  const Eigen::Index d = moments.dimension();
  std::vector<Eigen::Index> all = predictors;
  all.push_back(response);
  std::sort(all.begin(), all.end());
  if (predictors.empty() || all.front() < 0 || all.back() >= d ||
      std::adjacent_find(all.begin(), all.end()) != all.end()) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("a regression: expected one predictor or more and a response, all different and below {}", d)};
  }
  const auto p = static_cast<Eigen::Index>(predictors.size()) + 1;
  if (moments.records <= p) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("a regression: expected more records than coefficients, got {} and {}", moments.records, p)};
  }
  RegressionMoments out;
  out.records = moments.records;
  out.gram.resize(p, p);
  out.right.resize(p);
  out.gram(0, 0) = static_cast<double>(moments.records);
  out.right[0] = moments.first[response];
  for (Eigen::Index j = 1; j < p; ++j) {
    const Eigen::Index from = predictors[static_cast<std::size_t>(j - 1)];
    out.gram(0, j) = out.gram(j, 0) = moments.first[from];
    out.right[j] = moments.second(from, response);
    for (Eigen::Index k = 1; k < p; ++k)
      out.gram(j, k) = moments.second(from, predictors[static_cast<std::size_t>(k - 1)]);
  }
  out.response_square = moments.second(response, response);
  out.first_stddev = moments.first_stddev;
  out.cross_stddev = moments.cross_stddev;
  return out;
}

Regression regress(const RegressionMoments& moments) {
  Regression out;
  out.rho = smallest_eigenvalue(centred_gram(moments)) / noise_of_gram(moments);
  if (!(out.rho >= kRefusedBelow)) return out;
  out.carries = out.rho < kFlaggedBelow ? Carries::Barely : Carries::Enough;
  const Eigen::Index p = moments.gram.rows();
  const Eigen::LDLT<Eigen::MatrixXd> factor(moments.gram);  // positive definite: so is the centred part, and n > 0
  const Eigen::MatrixXd inverse = factor.solve(Eigen::MatrixXd::Identity(p, p));
  out.coefficients = factor.solve(moments.right);
  const double size = out.coefficients.tail(p - 1).squaredNorm();
  const double intercept = out.coefficients[0];
  const double s1 = moments.first_stddev * moments.first_stddev;
  const double s2 = moments.cross_stddev * moments.cross_stddev;
  const auto freedom = static_cast<double>(moments.records - p);
  out.residual_variance = (moments.response_square - out.coefficients.dot(moments.right)) / freedom;
  const double noise = std::sqrt(2.0 * s2 * (1.0 + 2.0 * size + size * size) + 4.0 * s1 * intercept * intercept);
  out.raised_variance = std::max(0.0, out.residual_variance + noise / freedom);
  out.noise_covariance = inverse * noise_of_right(moments, out.coefficients) * inverse;
  out.covariance = out.noise_covariance + out.raised_variance * inverse;
  return out;
}

Regression in_column_units(Regression regression, const std::vector<Scaling>& predictors, Scaling response) {
  if (regression.carries == Carries::Nothing) return regression;
  const Eigen::Index p = regression.coefficients.size();
  UNDERTONE_CHECK(static_cast<Eigen::Index>(predictors.size()) + 1 == p && response.half_range > 0.0);
  // y = c_y + h_y (b_0 + sum b_j (x_j - c_j) / h_j)
  Eigen::MatrixXd map = Eigen::MatrixXd::Zero(p, p);
  map(0, 0) = response.half_range;
  for (Eigen::Index j = 1; j < p; ++j) {
    const Scaling& scaling = predictors[static_cast<std::size_t>(j - 1)];
    UNDERTONE_CHECK(scaling.half_range > 0.0);
    map(j, j) = response.half_range / scaling.half_range;
    map(0, j) = -map(j, j) * scaling.centre;
  }
  regression.coefficients = (map * regression.coefficients).eval();
  regression.coefficients[0] += response.centre;
  regression.noise_covariance = (map * regression.noise_covariance * map.transpose()).eval();
  regression.covariance = (map * regression.covariance * map.transpose()).eval();
  const double square = response.half_range * response.half_range;
  regression.residual_variance *= square;
  regression.raised_variance *= square;
  return regression;
}

std::vector<Stated> state_coefficients(const Regression& regression, Eigen::Index coefficients, Confidence confidence) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  std::vector<Stated> out;
  for (Eigen::Index j = 0; j < coefficients; ++j) {
    Stated one;
    one.gate = regression.rho;
    if (regression.carries == Carries::Nothing) {
      one.noise = {-kUnbounded, kUnbounded};
      one.population = one.noise;
      one.note = fmt::format(
          "refused: the noised moment matrix does not carry coefficients, rho is {:.2f}, expected {} "
          "or more",
          regression.rho, kRefusedBelow);
      out.push_back(std::move(one));
      continue;
    }
    UNDERTONE_CHECK(coefficients == regression.coefficients.size());
    const double value = regression.coefficients[j];
    one.value = value;
    one.noise_stddev = std::sqrt(regression.noise_covariance(j, j));
    const double noise_half = confidence.z() * one.noise_stddev;
    const double whole_half = confidence.z() * std::sqrt(regression.covariance(j, j));
    one.noise = {value - noise_half, value + noise_half};
    one.population = Interval{value - whole_half, value + whole_half};
    one.method = Method::Normal;
    if (regression.carries == Carries::Barely) {
      one.note = fmt::format("flagged: rho is {:.2f}, below {}: the noised moment matrix barely carries coefficients",
                             regression.rho, kFlaggedBelow);
    }
    out.push_back(std::move(one));
  }
  return out;
}

double anderson_rubin(const RegressionMoments& moments, const Eigen::VectorXd& coefficients) {
  UNDERTONE_CHECK(coefficients.size() == moments.gram.rows() && coefficients.allFinite());
  const auto n = static_cast<double>(moments.records);
  const double residual = (moments.response_square - 2.0 * moments.right.dot(coefficients) +
                           coefficients.dot(moments.gram * coefficients)) /
                          n;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> gram(moments.gram);
  const Eigen::MatrixXd raised =
      gram.eigenvectors() * gram.eigenvalues().cwiseMax(0.0).asDiagonal() * gram.eigenvectors().transpose();
  const Eigen::MatrixXd spread = noise_of_right(moments, coefficients) + std::clamp(residual, 1e-4, 1.0) * raised;
  const Eigen::VectorXd gap = moments.right - moments.gram * coefficients;
  return gap.dot(spread.ldlt().solve(gap));
}

bool region_holds(const RegressionMoments& moments, const Eigen::VectorXd& coefficients, Confidence confidence) {
  const boost::math::chi_squared law(static_cast<double>(coefficients.size()));
  return anderson_rubin(moments, coefficients) <=
         boost::math::quantile(boost::math::complement(law, confidence.alpha()));
}

Eigen::VectorXd ridge_for_prediction(const RegressionMoments& moments) {
  const Eigen::Index d = moments.gram.rows() - 1;
  const auto n = static_cast<double>(moments.records);
  const Eigen::VectorXd sums = moments.gram.col(0).tail(d);
  Eigen::MatrixXd gram = centred_gram(moments);
  const double ridge = std::max(0.0, 2.0 * noise_of_gram(moments) - smallest_eigenvalue(gram));
  gram.diagonal().array() += ridge;
  Eigen::VectorXd out(d + 1);
  out.tail(d) = gram.ldlt().solve(moments.right.tail(d) - sums * (moments.right[0] / n));
  out[0] = (moments.right[0] - sums.dot(out.tail(d))) / n;
  return out;
}

}  // namespace undertone::statistics
