#pragma once

#include <cstdint>
#include <vector>

namespace undertone::statistics {

/// A silo's noised mean of vectors in a ball.
struct ProtectedMean {
  std::int64_t records = 0;     // n_i >= 1
  double noise_variance = 0.0;  // of the mean, summed over its coordinates
};
/// How the mean of public records and noised means of protected ones make one estimate.
struct MeanWeights {
  double of_public = 0.0;
  std::vector<double> of_silos;  // with it they sum to 1
  double expected_square = 0.0;  // E ||estimate - mean||^2, of the mean of the law that all records are drawn from
};
/// Inverse variances: the least expected squared error that weights have, where all records are independent draws from
/// one law. With one silo r* of the source, n r* = (1 / v) / (n_pub / V^2 + 1 / v), v = V^2 / n + noise.
/// @param public_records >= 0 @param spread_squared V^2 >= 0, the trace of the law's covariance
/// @pre one mean or more, or public records
/// Source: spec public-data 2.4 (Proposition 18/83), 2.6.
[[nodiscard]] MeanWeights inverse_variances(const std::vector<ProtectedMean>& silos, std::int64_t public_records,
                                            double spread_squared);
/// J(r) of the source with one silo, for any weight r on each protected record: r^2 noise n^2 + n r^2 V^2 + (1 - n r)^2
/// V^2 / n_pub. @param silo with the noise of its mean
[[nodiscard]] double expected_square_at(double weight, const ProtectedMean& silo, std::int64_t public_records,
                                        double spread_squared);
/// The same of the records that there are, each with the same weight: only noise is off. The throw-away estimate, the
/// sum of public records over all, is off by at most the squared share of protected ones instead, in a ball of radius
/// 1; where that is less, protected records are left out.
/// Source: spec public-data 2.1 (Theorem 77).
struct EmpiricalMean {
  bool leaves_out = false;       // the protected records
  double expected_square = 0.0;  // of the one that is taken: E ||estimate - mean||^2, or its most
};
[[nodiscard]] EmpiricalMean empirical_mean(const std::vector<ProtectedMean>& silos, std::int64_t public_records);

}  // namespace undertone::statistics
