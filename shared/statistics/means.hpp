#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/statistics/noise_law.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// A mean with the law of its noise.
struct NoisedMean {
  double value = 0.0;
  NoiseLaw noise;
};
/// Noised means of a number u in [-1, 1] and of its square over one silo's records; or over those of several as if they
/// were one, which is conservative: the variance then has the differences between silos in it.
struct SiloMoments {
  std::int64_t records = 0;  // n_i >= 1, public
  double weight = 1.0;       // c_i > 0, public; they sum to 1 over the silos
  NoisedMean mean;           // of u
  /// Of u^2, computed of the same clamped u; its noise is independent of the other's.
  std::optional<NoisedMean> square = {};
};

/// Which interval for the population is asked for.
enum class Sampling : std::uint8_t {
  None,
  Automatic,  // plug-in where its gate passes, else score; score where u^2 was not released
  Score,      // asymptotic; needs no u^2
  Chernoff    // rigorous at every n; silos weighted by their records
};

/// Everything that the formulas of 4.3 say between the input and the interval.
struct MeanVariance {
  double sample_variance = 0.0;  // V: pooled, unclipped; silos' means its a_i V_i / sum a_i
  double raised = 0.0;           // T_1: of the mean's sampling error, raised by one sd
  double gate = 0.0;             // G: bound on the skewness of the whole error
};
/// @pre every silo has u^2 and two records
[[nodiscard]] MeanVariance mean_variance(const std::vector<SiloMoments>& silos);

/// The mean sum_i c_i m_i in [-1, 1]. In the unit of a column with bounds: in_units(_, centre, half_range); as a sum:
/// times the records.
/// @return an error where a number is not finite, weights do not sum to 1, or Chernoff is asked for other weights than
/// records / sum of records
/// Source: spec statistics 4.3.
[[nodiscard]] Result<Stated> state_mean(const std::vector<SiloMoments>& silos, Confidence confidence,
                                        Sampling sampling);

/// SCORE of a mean with effective sample size n° = 1 / max(c_i / n_i). @pre n > 0
[[nodiscard]] Interval score_mean(double mean, double effective_records, const NoiseLaw& noise, Confidence confidence);
/// CHERNOFF. @param noise on the mean
[[nodiscard]] Interval chernoff_mean(double mean, std::int64_t records, const NoiseLaw& noise, Confidence confidence);

}  // namespace undertone::statistics
