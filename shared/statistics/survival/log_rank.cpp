#include "shared/statistics/survival/log_rank.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <vector>

namespace undertone::statistics {
namespace {

/// One stratum's part of the test.
struct RankSums {
  std::size_t horizon = 0;
  Eigen::VectorXd excess;     // [G - 1]
  Eigen::MatrixXd variance;   // [G - 1, G - 1], where no group differs
  Eigen::MatrixXd gradients;  // [m, G - 1]
};

RankSums sums_of(const NoisedTable& table, const ExitLayout& layout, const RankTest& test) {
  const auto groups = static_cast<Eigen::Index>(layout.groups);
  std::vector<LifeTable> lives;
  RankSums out;
  out.horizon = layout.intervals;
  for (std::size_t g = 0; g < layout.groups; ++g) {
    lives.emplace_back(table, layout, g, test.times);
    out.horizon = std::min(out.horizon, lives.back().horizon(test.at_risk_min));
  }
  out.excess = Eigen::VectorXd::Zero(groups - 1);
  out.variance = Eigen::MatrixXd::Zero(groups - 1, groups - 1);
  out.gradients = Eigen::MatrixXd::Zero(table.cells.size(), groups - 1);
  std::vector<std::vector<LifePartials>> partials;  // of the excess of a, by the numbers of g
  for (Eigen::Index a = 0; a + 1 < groups; ++a) {
    partials.emplace_back();
    for (const LifeTable& life : lives) partials.back().push_back(life.no_partials());
  }
  for (std::size_t l = 0; l < out.horizon; ++l) {
    const auto at = static_cast<Eigen::Index>(l);
    double events = 0.0;
    double risk = 0.0;
    for (const LifeTable& life : lives) {
      events += life.events()[at];
      risk += life.at_risk()[at];
    }
    const double w = test.weight == RankWeight::AtRisk ? risk / table.records : 1.0;
    const double by_risk = test.weight == RankWeight::AtRisk ? 1.0 / table.records : 0.0;
    const double hypergeometric = events * (risk - events) / std::max(risk - 1.0, 1.0);
    for (Eigen::Index a = 0; a + 1 < groups; ++a) {
      const LifeTable& own = lives[static_cast<std::size_t>(a)];
      const double share = own.at_risk()[at] / risk;
      const double excess = own.events()[at] - share * events;
      out.excess[a] += w * excess;
      for (std::size_t g = 0; g < lives.size(); ++g) {
        const double is_own = static_cast<Eigen::Index>(g) == a ? 1.0 : 0.0;
        LifePartials& by = partials[static_cast<std::size_t>(a)][g];
        by.events.col(at).array() += w * (is_own - share);
        by.at_risk[at] += w * (share - is_own) * events / risk + by_risk * excess;
      }
      for (Eigen::Index b = 0; b + 1 < groups; ++b) {
        const double other = lives[static_cast<std::size_t>(b)].at_risk()[at] / risk;
        out.variance(a, b) += w * w * hypergeometric * share * ((a == b ? 1.0 : 0.0) - other);
      }
    }
  }
  for (Eigen::Index a = 0; a + 1 < groups; ++a)
    for (std::size_t g = 0; g < lives.size(); ++g)
      out.gradients.col(a) += lives[g].gradient(partials[static_cast<std::size_t>(a)][g]);
  return out;
}

}  // namespace

Result<TestOutcome> log_rank(std::span<const NoisedTable> strata, const ExitLayout& layout, const RankTest& test) {
  UNDERTONE_CHECK(!strata.empty() && layout.groups >= 2);
  const auto rows = static_cast<Eigen::Index>(layout.groups) - 1;
  TestOutcome out;
  out.degrees = layout.groups - 1;
  out.excess = Eigen::VectorXd::Zero(rows);
  out.sampling = Eigen::MatrixXd::Zero(rows, rows);
  out.noise = Eigen::MatrixXd::Zero(rows, rows);
  double fourth = 0.0;
  for (const NoisedTable& table : strata) {
    const RankSums sums = sums_of(table, layout, test);
    out.horizon = std::max(out.horizon, sums.horizon);
    if (sums.horizon == 0) continue;
    out.excess += sums.excess;
    out.sampling += sums.variance;
    out.noise += noise_covariance(table, sums.gradients);
    fourth += spread_of(table, sums.gradients.col(0), SizeOf::Table).fourth;
  }
  if (out.horizon == 0)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("in no interval every group has {} records at risk and four deviations of the noise",
                             test.at_risk_min)};
  if (rows == 1) {
    const double variance = std::max(out.sampling(0, 0), 0.0) + out.noise(0, 0);
    if (!(variance > 0.0)) return Error{ErrorCode::InvalidArgument, "no event tells the groups apart"};
    out.statistic = out.excess[0] / std::sqrt(variance);
    out.p_value = corrected_p_value(std::abs(out.statistic), fourth, variance);
    return out;
  }
  const Eigen::MatrixXd covariance = out.sampling + out.noise;
  const Eigen::VectorXd spectrum = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(covariance).eigenvalues();
  if (!(spectrum.minCoeff() > 1e-6))
    return Error{ErrorCode::InvalidArgument, "the noised numbers do not tell the groups apart"};
  out.statistic = out.excess.dot(covariance.ldlt().solve(out.excess));
  out.p_value = boost::math::gamma_q(0.5 * static_cast<double>(out.degrees), 0.5 * out.statistic);
  return out;
}

}  // namespace undertone::statistics
