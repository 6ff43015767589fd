#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "shared/statistics/noise_law.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// Cells of one one-hot table, of one silo or of several added up, with independent noise of one law on each.
struct NoisedTable {
  Eigen::VectorXd cells;         // [m >= 1], finite, never cut to what is possible
  double records = 0.0;          // n, public: how many records there are; where it is balanced all are in cells
  double noise_variance = 0.0;   // s^2 >= 0, of a raw cell
  double fourth_cumulant = 0.0;  // of the noise on a raw cell: 0 of a Gaussian law
  bool balanced = false;         // least squares have made the cells add up to n
};
/// @param noise on each cell
[[nodiscard]] NoisedTable noised_table(Eigen::VectorXd cells, double records, const NoiseLaw& noise);
/// The cells that add up to n and are nearest: each noised cell less the mean excess. Their noise has the covariance
/// s^2 (I - 1 1' / m). Source: spec survival 1.1.
[[nodiscard]] NoisedTable balanced(NoisedTable table);

/// A smooth function of a table's cells at its noised cells.
struct TableFunctional {
  double value = 0.0;
  Eigen::VectorXd gradient;  // [m]
};

/// How far an estimate lies from what it estimates, to first order.
struct Spread {
  double noise = 0.0;     // v: variance by the noise alone
  double sampling = 0.0;  // V: variance by the draw of the records
  double fourth = 0.0;    // fourth cumulant by the noise
  [[nodiscard]] double total() const noexcept { return noise + sampling; }
};
/// Of a sum of independent numbers, each times its weight.
void add_spread(Spread& sum, const Spread& one, double weight);

/// Whether how many records a functional is of is public: of the whole table, or of a group, whose size is noised.
enum class SizeOf : std::uint8_t { Table, Group };
/// V is the multinomial delta method's variance, which is never too small for several silos of fixed sizes; v is exact
/// for a linear functional. Source: spec survival 1.1.
[[nodiscard]] Spread spread_of(const NoisedTable& table, const Eigen::VectorXd& gradient, SizeOf size);
/// How much two functionals of one table vary together by its noise. @see spread_of
[[nodiscard]] double noise_covariance(const NoisedTable& table, const Eigen::VectorXd& a, const Eigen::VectorXd& b);

/// The same of every two columns. @param gradients [m, p] @return [p, p]
[[nodiscard]] Eigen::MatrixXd noise_covariance(const NoisedTable& table, const Eigen::MatrixXd& gradients);

/// The two-sided quantile of an estimate that is nearly normal: z of the confidence with the first correction for the
/// tails of the noise (Cornish and Fisher). @param variance in all, > 0 @param fourth of its fourth cumulant
[[nodiscard]] double corrected_quantile(double z, double fourth, double variance);
/// The two-sided p-value of an estimate that lies `deviations` standard deviations off: at which alpha the corrected
/// quantile is that. @param deviations >= 0, finite
[[nodiscard]] double corrected_p_value(double deviations, double fourth, double variance);

/// f +- q sqrt(V + v) for the population and f +- q sqrt(v) for these records. @param sampling whether the interval for
/// the population is asked for @param all what the number can be: intervals are cut to it
[[nodiscard]] Stated state_wald(double value, const Spread& spread, Confidence confidence, bool sampling, Interval all);

}  // namespace undertone::statistics
