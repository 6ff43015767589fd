#include "shared/mechanisms/binomial_sum/binomial_report.hpp"

#include <cmath>

namespace undertone::mechanisms {

Lattice binomial_lattice(const BinomialParameters& parameters, releases::ClipNorm clip) {
  Lattice lattice;
  lattice.clip = parameters.grid() << (kRoundingBits - 1);
  lattice.step = clip.value() / static_cast<double>(lattice.clip);
  return lattice;
}

Result<noise::BinomialTable> binomial_coins(const BinomialParameters& parameters, std::int64_t records) {
  if (records < 1 || records > noise::BinomialTable::kTrialsMax / parameters.coins()) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{} coins of each of {} records: a silo draws 1 .. {} a coordinate at once",
                             parameters.coins(), records, noise::BinomialTable::kTrialsMax)};
  }
  return noise::BinomialTable::create(records * parameters.coins(), parameters.heads());
}

std::vector<bool> report_bits(const BinomialParameters& parameters, std::int64_t ones) {
  UNDERTONE_CHECK(ones >= 0 && ones <= parameters.bits());
  std::vector<bool> bits(static_cast<std::size_t>(parameters.bits()), false);
  std::fill_n(bits.begin(), ones, true);
  return bits;
}

Result<BinomialEstimate> estimate_of(std::span<const std::int64_t> ones, const BinomialParameters& parameters,
                                     releases::ClipNorm clip, std::int64_t vectors) {
  if (vectors < 1 || vectors > kEstimatedBitsMax / parameters.bits()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a total of {} bits a record is of 1 .. {} records, got {}", parameters.bits(),
                             kEstimatedBitsMax / parameters.bits(), vectors)};
  }
  const std::int64_t most = vectors * parameters.bits();
  // With p = a/c: (2L/g) (ones - a b s / c) - s L = L (2 c ones - 2 a b s - c g s) / (g c).
  const auto a = static_cast<releases::Int128>(parameters.heads().numerator);
  const auto c = static_cast<releases::Int128>(parameters.heads().denominator);
  const releases::Int128 centre = (2 * a * parameters.coins() + c * parameters.grid()) * vectors;
  const double unit = clip.value() / (static_cast<double>(parameters.grid()) * static_cast<double>(c));
  BinomialEstimate estimate;
  estimate.sum.resize(static_cast<Eigen::Index>(ones.size()));
  for (std::size_t j = 0; j < ones.size(); ++j) {
    if (ones[j] < 0 || ones[j] > most) {
      return Error{ErrorCode::Malformed, fmt::format("coordinate {}: {} ones among {} bits", j, ones[j], most)};
    }
    estimate.sum[static_cast<Eigen::Index>(j)] = unit * static_cast<double>(2 * c * ones[j] - centre);
  }
  estimate.mean = estimate.sum / static_cast<double>(vectors);
  return estimate;
}

double binomial_sum_variance(const BinomialParameters& parameters, releases::ClipNorm clip, std::int64_t vectors,
                             double rounding) {
  const double step = 2.0 * clip.value() / static_cast<double>(parameters.grid());
  return step * step * (rounding + static_cast<double>(vectors) * parameters.noise_variance());
}

}  // namespace undertone::mechanisms
