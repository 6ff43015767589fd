#include "shared/statistics/cosine_series.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace undertone::statistics {
namespace {

constexpr double kNodesMax = 0x1p24;
constexpr std::size_t kCheckedMax = 20'000;

}  // namespace

Result<CosineSeries> cosine_series(const std::function<double(const Eigen::VectorXd&)>& function, std::size_t variables,
                                   std::size_t terms) {
  const std::size_t nodes = std::max<std::size_t>(48, 4 * terms);
  if (variables < 1 || terms < 1 || std::pow(static_cast<double>(nodes), static_cast<double>(variables)) > kNodesMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("a cosine series: expected one variable or more, and {} nodes of each of {} to be 2^24 at "
                             "most",
                             nodes, variables)};
  }
  const auto m = static_cast<Eigen::Index>(nodes);
  const auto t = static_cast<Eigen::Index>(terms);
  const auto p = static_cast<Eigen::Index>(variables);
  // (2 - 1[v = 0]) / M cos(v theta_i), theta_i = pi (i + 1/2) / M.
  Eigen::MatrixXd transform(t, m);
  Eigen::VectorXd at(m);
  for (Eigen::Index i = 0; i < m; ++i) {
    const double theta = std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(m);
    at[i] = std::cos(theta);
    for (Eigen::Index v = 0; v < t; ++v)
      transform(v, i) = (v == 0 ? 1.0 : 2.0) / static_cast<double>(m) * std::cos(static_cast<double>(v) * theta);
  }
  Eigen::Index count = 1;
  for (Eigen::Index j = 0; j < p; ++j) count *= m;
  Eigen::VectorXd values(count);
  Eigen::VectorXd point(p);
  for (Eigen::Index place = 0; place < count; ++place) {
    Eigen::Index left = place;
    for (double& u : point) {
      u = at[left % m];
      left /= m;
    }
    values[place] = function(point);
  }
  // One variable after the other: the first of what is left becomes the last.
  for (Eigen::Index j = 0; j < p; ++j) {
    const Eigen::Index rest = values.size() / m;
    const Eigen::Map<const Eigen::MatrixXd> matrix(values.data(), m, rest);
    const Eigen::MatrixXd next = (transform * matrix).transpose();  // [rest, t]
    values = Eigen::Map<const Eigen::VectorXd>(next.data(), next.size());
  }
  CosineSeries out{std::move(values), 0.0};
  // Points between the nodes, by Kronecker's sequence: in every variable multiples of another irrational.
  const double root = std::pow(2.0, 1.0 / static_cast<double>(variables + 1));
  const std::size_t checked = std::min<std::size_t>(kCheckedMax, std::max<std::size_t>(2000, 10 * nodes));
  Eigen::VectorXd cosines(t);
  for (std::size_t i = 0; i < checked; ++i) {
    Eigen::VectorXd left = out.coefficients;
    double step = 1.0;
    for (Eigen::Index j = 0; j < p; ++j) {
      step *= root;
      const double theta = std::numbers::pi * std::fmod(static_cast<double>(i) * step, 1.0);
      point[j] = std::cos(theta);
      for (Eigen::Index v = 0; v < t; ++v) cosines[v] = std::cos(static_cast<double>(v) * theta);
      const Eigen::Map<const Eigen::MatrixXd> matrix(left.data(), t, left.size() / t);
      const Eigen::VectorXd summed = matrix.transpose() * cosines;
      left = summed;
    }
    out.error = std::max(out.error, std::abs(left[0] - function(point)));
  }
  return out;
}

}  // namespace undertone::statistics
