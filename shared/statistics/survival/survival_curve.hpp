#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "shared/statistics/survival/life_table.hpp"

namespace undertone::statistics {

/// Functions of one group's life table at the end of its first `ended` intervals, with their gradients by the table's
/// cells. @param ended 1 .. the table's horizon: beyond it they may be no numbers. Source: spec survival 2.3.

/// The logarithm of the Kaplan-Meier estimate of S(t).
[[nodiscard]] TableFunctional log_survival(const LifeTable& life, std::size_t ended);
/// The Nelson-Aalen estimate of the cumulative hazard: events over the exposure R_j - d_j / 2, or over R_j of times on
/// the grid.
[[nodiscard]] TableFunctional cumulative_hazard(const LifeTable& life, std::size_t ended);
/// The mean time until an event or t, whichever is first: the area below the curve, by trapezes, or below its steps of
/// times on the grid. @param edges t_0 .. t_J
[[nodiscard]] TableFunctional restricted_mean(const LifeTable& life, std::size_t ended, std::span<const double> edges);
/// Between these lies the mean time whatever the times inside of intervals.
[[nodiscard]] Interval restricted_mean_bracket(const LifeTable& life, std::size_t ended, std::span<const double> edges);
/// The probability of an event of a cause until t, where the others compete (Aalen and Johansen).
[[nodiscard]] TableFunctional incidence(const LifeTable& life, std::size_t ended, std::size_t cause);

/// Between these lies the Kaplan-Meier estimate of the exact times, whatever the order inside of intervals: with all
/// events before, and after, those who are censored in an interval. Source: spec survival 2.2.
[[nodiscard]] Interval grid_bracket(const LifeTable& life, std::size_t ended);

/// S(t) and how far it lies from what it estimates.
struct SurvivalPoint {
  double value = 1.0;
  Spread spread;                // of the value, not of its logarithm
  double effective_size = 1.0;  // n' with S (1 - S) / n' = the variance by sampling
};
/// @param records of the group: public, or its noised size
[[nodiscard]] SurvivalPoint survival_point(const NoisedTable& table, const LifeTable& life, std::size_t ended,
                                           SizeOf size, double records);
/// A point of one silo's curve. Weights are >= 0 and of sum 1.
struct WeighedPoint {
  SurvivalPoint point;
  double weight = 1.0;
  double records = 1.0;
};
/// The weighted sum of independent silos' points: the standardised curve. Where a silo's curve has not fallen yet, its
/// variance is at least that of a share.
[[nodiscard]] SurvivalPoint standardised(std::span<const WeighedPoint> points);

/// The score interval: all theta that S does not reject, with the variance that theta allows. It holds for the
/// population; for these records it is S +- q sqrt(v). @param sampling whether the former is asked for
/// Source: spec survival 2.4.
[[nodiscard]] Stated state_survival_point(const SurvivalPoint& point, Confidence confidence, bool sampling);

/// Between which edges of the grid a quantile of the time lies.
struct QuantileEdges {
  std::size_t low = 0;               // t_low
  std::optional<std::size_t> high;   // t_high; nothing: no upper bound is known
  std::optional<std::size_t> first;  // the first edge at which the running minimum of S is at most 1 - p
};
/// @param points of the ends of the first intervals, up to the horizon @param survivors at the quantile, 1 - p
/// @param of_population else for these records
/// Source: Brookmeyer and Crowley 1982; spec survival 2.4.
[[nodiscard]] QuantileEdges quantile_edges(std::span<const SurvivalPoint> points, double survivors,
                                           Confidence confidence, bool of_population);

}  // namespace undertone::statistics
