#include "shared/statistics/public_means.hpp"

#include "shared/base/result.hpp"

namespace undertone::statistics {

MeanWeights inverse_variances(const std::vector<ProtectedMean>& silos, std::int64_t public_records,
                              double spread_squared) {
  UNDERTONE_CHECK((!silos.empty() || public_records > 0) && spread_squared >= 0.0);
  MeanWeights out;
  out.of_silos.assign(silos.size(), 0.0);
  if (public_records > 0 && spread_squared == 0.0) {  // every record is the mean
    out.of_public = 1.0;
    return out;
  }
  double precision = public_records > 0 ? static_cast<double>(public_records) / spread_squared : 0.0;
  out.of_public = precision;
  for (std::size_t i = 0; i < silos.size(); ++i) {
    const double variance = spread_squared / static_cast<double>(silos[i].records) + silos[i].noise_variance;
    UNDERTONE_CHECK(variance > 0.0);
    out.of_silos[i] = 1.0 / variance;
    precision += out.of_silos[i];
  }
  out.of_public /= precision;
  for (double& weight : out.of_silos) weight /= precision;
  out.expected_square = 1.0 / precision;
  return out;
}

double expected_square_at(double weight, const ProtectedMean& silo, std::int64_t public_records,
                          double spread_squared) {
  const auto n = static_cast<double>(silo.records);
  const double rest = 1.0 - n * weight;
  return weight * weight * n * n * silo.noise_variance + n * weight * weight * spread_squared +
         rest * rest * spread_squared / static_cast<double>(public_records);
}

EmpiricalMean empirical_mean(const std::vector<ProtectedMean>& silos, std::int64_t public_records) {
  double all = static_cast<double>(public_records);
  double protected_records = 0.0;
  double noise = 0.0;  // of the sum
  for (const ProtectedMean& silo : silos) {
    const auto n = static_cast<double>(silo.records);
    protected_records += n;
    noise += n * n * silo.noise_variance;
  }
  all += protected_records;
  UNDERTONE_CHECK(all > 0.0);
  const double left_out = protected_records / all * (protected_records / all);
  const double noised = noise / (all * all);
  if (public_records > 0 && left_out < noised) return {true, left_out};
  return {false, noised};
}

}  // namespace undertone::statistics
