#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shared/statistics/survival/life_table.hpp"

namespace undertone::statistics {

/// A model of a few listed covariates, solved on a table's noised cells: nothing is asked for beside them.
struct TableModel {
  /// A coefficient with its variances.
  struct Coefficient {
    double value = 0.0;
    Spread spread;        // noise, and the larger of the robust and the model's variance
    double robust = 0.0;  // variance by sampling that holds whatever the model
    double model = 0.0;   // and where the model is true
  };
  std::vector<Coefficient> coefficients;
  double rho = 0.0;       // the least information beside the noise of the score
  double residual = 0.0;  // the largest score at the solution
  bool on_bound = false;  // a coefficient is at the iteration's bound
  bool carries = false;   // whether the numbers may be printed: rho >= 2, and a solution inside the bounds
};

/// How long a group is taken to be at risk in an interval.
enum class Exposure : std::uint8_t {
  ConstantHazard,  // R p / -log(1 - p), p = d / R: hazard ratios are consistent on any grid where nobody is censored
  MidInterval      // R - d / 2, the first two terms of it: nearer to 1 the more events an interval has
};

/// Proportional hazards of groups: the Poisson likelihood of a hazard that is constant in every interval, free in every
/// interval and stratum. Group g has the hazard ratio exp(<x_g, beta>). 12 steps of Newton, cut to 1 and to 3.
/// @param strata one table each, balanced where every record is in a cell, with independent noises
/// @param designs [groups, p], a row a group
/// @param cause whose hazard it is: who leaves by another is censored then. Nothing: the hazard of any event
/// Source: Holford 1980, Laird and Olivier 1981; spec survival 4.2, whose exposure is that of mid-intervals.
[[nodiscard]] TableModel table_cox(std::span<const NoisedTable> strata, const ExitLayout& layout,
                                   const Eigen::MatrixXd& designs, Exposure exposure = Exposure::ConstantHazard,
                                   std::optional<std::size_t> cause = {});

/// Logistic regression of a yes or no on patterns of covariates: of pattern g the cells are 2 g (yes) and 2 g + 1 (no).
/// Every stratum has a constant of its own. 25 steps of Newton, cut to 1 and to 6.
/// @param strata raw, one or more, with independent noises
/// @param designs [patterns, q], a row a pattern, without a constant
/// @return the strata's constants, then q coefficients
/// Source: spec survival 5.
[[nodiscard]] TableModel table_logistic(std::span<const NoisedTable> strata, const Eigen::MatrixXd& designs);

/// A coefficient with its intervals, or why it has none. All of a model that does not carry are refused together.
[[nodiscard]] Stated state_coefficient(const TableModel& model, std::size_t coefficient, Confidence confidence,
                                       bool sampling);

}  // namespace undertone::statistics
