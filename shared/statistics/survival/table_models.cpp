#include "shared/statistics/survival/table_models.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace undertone::statistics {
namespace {

constexpr double kRhoMin = 2.0;
constexpr double kResidualMax = 1e-3;

/// A score and its negative derivative at some coefficients.
struct Score {
  Eigen::VectorXd value;        // [p]
  Eigen::MatrixXd information;  // [p, p]
};
struct Iteration {
  int steps = 0;
  double bound = 0.0;  // of a coefficient
};

double least_eigenvalue(const Eigen::MatrixXd& symmetric) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(symmetric, Eigen::EigenvaluesOnly).eigenvalues().minCoeff();
}
double largest_eigenvalue(const Eigen::MatrixXd& symmetric) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(symmetric, Eigen::EigenvaluesOnly).eigenvalues().maxCoeff();
}

template <class ScoreAt>
Eigen::VectorXd solve(Eigen::Index p, const Iteration& iteration, const ScoreAt& score_at) {
  Eigen::VectorXd beta = Eigen::VectorXd::Zero(p);
  for (int step = 0; step < iteration.steps; ++step) {
    Score score = score_at(beta);
    score.information.diagonal().array() += std::max(1.0 - least_eigenvalue(score.information), 0.0);
    const Eigen::VectorXd move = score.information.ldlt().solve(score.value);
    beta = (beta + move.cwiseMax(-1.0).cwiseMin(1.0)).cwiseMax(-iteration.bound).cwiseMin(iteration.bound);
  }
  return beta;
}

/// One table's derivatives of the score by its cells.
struct ScoreGradients {
  const NoisedTable& table;
  Eigen::MatrixXd by_cell;  // [m, p]
  SizeOf size = SizeOf::Table;
};

/// @param parts how many tables there are @param part_of one of them: only one is held at a time
template <class PartOf>
TableModel model_at(const Eigen::VectorXd& beta, const Score& score, double bound, std::size_t parts,
                    const PartOf& part_of) {
  const Eigen::Index p = beta.size();
  TableModel out;
  out.residual = score.value.cwiseAbs().maxCoeff();
  out.on_bound = beta.cwiseAbs().maxCoeff() >= bound;
  const double least = least_eigenvalue(score.information);
  const Eigen::MatrixXd held = score.information + (least < 1e-6 ? 1.0 : 0.0) * Eigen::MatrixXd::Identity(p, p);
  const Eigen::MatrixXd inverse = held.inverse();
  Eigen::MatrixXd noise = Eigen::MatrixXd::Zero(p, p);
  out.coefficients.resize(static_cast<std::size_t>(p));
  for (std::size_t i = 0; i < parts; ++i) {
    const ScoreGradients part = part_of(i);
    noise += noise_covariance(part.table, part.by_cell);
    const Eigen::MatrixXd of_beta = part.by_cell * inverse;
    for (Eigen::Index a = 0; a < p; ++a)
      add_spread(out.coefficients[static_cast<std::size_t>(a)].spread, spread_of(part.table, of_beta.col(a), part.size),
                 1.0);
  }
  const double loud = largest_eigenvalue(noise);
  out.rho = loud > 0.0 ? least / std::sqrt(loud) : (least > 0.0 ? std::numeric_limits<double>::infinity() : 0.0);
  for (Eigen::Index a = 0; a < p; ++a) {
    TableModel::Coefficient& one = out.coefficients[static_cast<std::size_t>(a)];
    one.value = beta[a];
    one.robust = one.spread.sampling;
    one.model = inverse(a, a);
    one.spread.sampling = std::max(one.robust, one.model);
  }
  out.carries = out.rho >= kRhoMin && out.residual < kResidualMax && !out.on_bound;
  return out;
}

/// One stratum's life tables of all groups.
struct CoxStratum {
  const NoisedTable& table;
  std::vector<LifeTable> lives;
  std::size_t horizon = 0;
  Exposure exposure = Exposure::ConstantHazard;
};
/// E_gj, how long a group is at risk in an interval in its lengths, with its derivatives by d and R.
struct Exposed {
  double value = 0.0;
  double by_events = 0.0;
  double by_at_risk = 0.0;
};
Exposed exposed(const LifeTable& life, Eigen::Index at, Exposure exposure) {
  constexpr double kLeast = -0.5;  // a noised share of events may be below 0
  constexpr double kMost = 0.95;
  constexpr double kSmall = 1e-4;
  const double risk = life.at_risk()[at];
  const double events = life.events()[at];
  if (exposure == Exposure::MidInterval || !(risk > 0.0)) return {risk - 0.5 * events, -0.5, 1.0};
  const double p = events / risk;
  const double held = std::clamp(p, kLeast, kMost);
  const double log = std::log1p(-held);
  const bool small = std::abs(held) < kSmall;
  const double share = small ? 1.0 - 0.5 * held : -held / log;
  const double slope = small ? -0.5 - held / 6.0 : (share / (1.0 - held) - 1.0) / log;
  if (held != p) return {risk * share, 0.0, share};
  return {risk * share, slope, share - p * slope};
}

/// What an interval of a stratum says at some coefficients.
struct CoxInterval {
  double events = 0.0;
  double weights = 0.0;    // sum of the groups' weights
  Eigen::VectorXd weight;  // exp(<x_g, beta>), [G]
  Eigen::VectorXd mean;    // of the designs by weight x exposure, [p]
};
CoxInterval interval_of(const CoxStratum& stratum, const Eigen::MatrixXd& designs, const Eigen::VectorXd& beta,
                        Eigen::Index at) {
  CoxInterval out;
  out.weight = (designs * beta).array().exp();
  out.mean = Eigen::VectorXd::Zero(designs.cols());
  for (std::size_t g = 0; g < stratum.lives.size(); ++g) {
    const auto row = static_cast<Eigen::Index>(g);
    const double weight = out.weight[row] * exposed(stratum.lives[g], at, stratum.exposure).value;
    out.events += stratum.lives[g].events()[at];
    out.weights += weight;
    out.mean += weight * designs.row(row).transpose();
  }
  out.mean /= out.weights;
  return out;
}

Score cox_score(const std::vector<CoxStratum>& strata, const Eigen::MatrixXd& designs, const Eigen::VectorXd& beta) {
  const Eigen::Index p = designs.cols();
  Score out{Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p)};
  for (const CoxStratum& stratum : strata) {
    for (std::size_t l = 0; l < stratum.horizon; ++l) {
      const auto at = static_cast<Eigen::Index>(l);
      const CoxInterval interval = interval_of(stratum, designs, beta, at);
      out.value -= interval.events * interval.mean;
      for (std::size_t g = 0; g < stratum.lives.size(); ++g) {
        const auto row = static_cast<Eigen::Index>(g);
        const Eigen::VectorXd x = designs.row(row).transpose();
        const Eigen::VectorXd off = x - interval.mean;
        out.value += stratum.lives[g].events()[at] * x;
        out.information += interval.events * interval.weight[row] *
                           exposed(stratum.lives[g], at, stratum.exposure).value / interval.weights *
                           (off * off.transpose());
      }
    }
  }
  return out;
}

ScoreGradients cox_gradients(const CoxStratum& stratum, const Eigen::MatrixXd& designs, const Eigen::VectorXd& beta) {
  const Eigen::Index p = designs.cols();
  ScoreGradients out{stratum.table, Eigen::MatrixXd::Zero(stratum.table.cells.size(), p)};
  for (std::size_t g = 0; g < stratum.lives.size(); ++g) {
    const LifeTable& life = stratum.lives[g];
    std::vector<LifePartials> partials(static_cast<std::size_t>(p), life.no_partials());
    for (std::size_t l = 0; l < stratum.horizon; ++l) {
      const auto at = static_cast<Eigen::Index>(l);
      const auto row = static_cast<Eigen::Index>(g);
      const CoxInterval interval = interval_of(stratum, designs, beta, at);
      const Eigen::VectorXd off = designs.row(row).transpose() - interval.mean;
      // The mean's derivative by this group's exposure.
      const Exposed own = exposed(life, at, stratum.exposure);
      const Eigen::VectorXd by_exposure = interval.events * interval.weight[row] / interval.weights * off;
      for (Eigen::Index a = 0; a < p; ++a) {
        LifePartials& by = partials[static_cast<std::size_t>(a)];
        by.events.col(at).setConstant(off[a] - own.by_events * by_exposure[a]);
        by.at_risk[at] = -own.by_at_risk * by_exposure[a];
      }
    }
    for (Eigen::Index a = 0; a < p; ++a) out.by_cell.col(a) += life.gradient(partials[static_cast<std::size_t>(a)]);
  }
  return out;
}

/// An interval is read while all groups together have more at risk than 4 deviations of their noise.
std::size_t joint_horizon(const std::vector<LifeTable>& lives) {
  const double groups = std::sqrt(static_cast<double>(lives.size()));
  for (std::size_t l = 0; l < lives.front().intervals(); ++l) {
    double risk = 0.0;
    double left = 0.0;
    for (const LifeTable& life : lives) {
      const auto at = static_cast<Eigen::Index>(l);
      risk += life.at_risk()[at];
      left += life.at_risk()[at] - life.events()[at];
    }
    if (!(left > 0.0 && risk > 4.0 * groups * lives.front().noise_of_at_risk(l))) return l;
  }
  return lives.front().intervals();
}

}  // namespace

TableModel table_cox(std::span<const NoisedTable> strata, const ExitLayout& layout, const Eigen::MatrixXd& designs,
                     Exposure exposure, std::optional<std::size_t> cause) {
  UNDERTONE_CHECK(designs.rows() == static_cast<Eigen::Index>(layout.groups) && designs.cols() >= 1);
  constexpr Iteration kIteration{12, 3.0};
  std::vector<CoxStratum> read;
  for (const NoisedTable& table : strata) {
    CoxStratum& stratum = read.emplace_back(CoxStratum{table, {}, 0, exposure});
    for (std::size_t g = 0; g < layout.groups; ++g)
      stratum.lives.emplace_back(table, layout, g, Times::Continuous, cause);  // the exposure is that of mid-intervals
    stratum.horizon = joint_horizon(stratum.lives);
  }
  const auto score_at = [&](const Eigen::VectorXd& beta) { return cox_score(read, designs, beta); };
  const Eigen::VectorXd beta = solve(designs.cols(), kIteration, score_at);
  return model_at(beta, score_at(beta), kIteration.bound, read.size(),
                  [&](std::size_t i) { return cox_gradients(read[i], designs, beta); });
}

TableModel table_logistic(std::span<const NoisedTable> strata, const Eigen::MatrixXd& designs) {
  const Eigen::Index patterns = designs.rows();
  const auto constants = static_cast<Eigen::Index>(strata.size());
  const Eigen::Index p = constants + designs.cols();
  UNDERTONE_CHECK(constants >= 1 && patterns >= 1);
  for (const NoisedTable& table : strata) UNDERTONE_CHECK(table.cells.size() == 2 * patterns);
  constexpr Iteration kIteration{25, 6.0};
  const auto design_of = [&](std::size_t stratum, Eigen::Index pattern) {
    Eigen::VectorXd out = Eigen::VectorXd::Zero(p);
    out[static_cast<Eigen::Index>(stratum)] = 1.0;
    out.tail(designs.cols()) = designs.row(pattern).transpose();
    return out;
  };
  const auto share_at = [](const Eigen::VectorXd& x, const Eigen::VectorXd& beta) {
    return 1.0 / (1.0 + std::exp(-x.dot(beta)));
  };
  const auto score_at = [&](const Eigen::VectorXd& beta) {
    Score out{Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p)};
    for (std::size_t s = 0; s < strata.size(); ++s) {
      for (Eigen::Index g = 0; g < patterns; ++g) {
        const Eigen::VectorXd x = design_of(s, g);
        const double share = share_at(x, beta);
        const double all = strata[s].cells[2 * g] + strata[s].cells[2 * g + 1];
        out.value += (strata[s].cells[2 * g] - all * share) * x;
        out.information += all * share * (1.0 - share) * (x * x.transpose());
      }
    }
    return out;
  };
  const Eigen::VectorXd beta = solve(p, kIteration, score_at);
  const auto gradients = [&](std::size_t s) {
    ScoreGradients out{strata[s], Eigen::MatrixXd(strata[s].cells.size(), p)};
    for (Eigen::Index g = 0; g < patterns; ++g) {
      const Eigen::VectorXd x = design_of(s, g);
      const double share = share_at(x, beta);
      out.by_cell.row(2 * g) = (1.0 - share) * x.transpose();
      out.by_cell.row(2 * g + 1) = -share * x.transpose();
    }
    return out;
  };
  return model_at(beta, score_at(beta), kIteration.bound, strata.size(), gradients);
}

Stated state_coefficient(const TableModel& model, std::size_t coefficient, Confidence confidence, bool sampling) {
  constexpr double kAll = std::numeric_limits<double>::infinity();
  UNDERTONE_CHECK(coefficient < model.coefficients.size());
  if (model.carries) {
    const TableModel::Coefficient& one = model.coefficients[coefficient];
    Stated out = state_wald(one.value, one.spread, confidence, sampling, {-kAll, kAll});
    out.gate = model.rho;
    return out;
  }
  Stated out;
  out.noise = {-kAll, kAll};
  if (sampling) out.population = out.noise;
  out.gate = model.rho;
  out.note = fmt::format(
      "refused: {}", model.rho < kRhoMin ? fmt::format("the least information is {:.2g} deviations of the noise, and "
                                                       "{} are needed: more records, a larger epsilon, fewer groups",
                                                       model.rho, kRhoMin)
                                         : "no solution within the bounds of the iteration");
  return out;
}

}  // namespace undertone::statistics
