#include "shared/privacy/release.hpp"

#include <algorithm>
#include <cmath>

#include "shared/privacy/binomial_report.hpp"

namespace undertone::privacy {

std::string_view to_string(QuestionKind kind) noexcept {
  switch (kind) {
    case QuestionKind::Gradient:
      return "gradient";
    case QuestionKind::Metrics:
      return "metrics";
    case QuestionKind::GradientDifference:
      return "difference";
    case QuestionKind::LocalRun:
      return "local_run";
  }
  return "";
}

Slice::Positions Slice::positions(std::int64_t records) const {
  UNDERTONE_CHECK(records >= 0 && of >= 1 && index < of);
  if (cut == Cut::Equal) {
    const auto size = static_cast<std::int64_t>(static_cast<std::uint64_t>(records) / of);
    const std::int64_t from = static_cast<std::int64_t>(index) * size;
    return {from, from + size};
  }
  std::int64_t from = 0;
  for (std::uint64_t i = 0; i < index; ++i) from += i + 1 < 63 ? records >> (i + 1) : 0;
  return {from, from + (index + 1 < 63 ? records >> (index + 1) : 0)};
}

const Lattice& Release::lattice() const {
  if (const auto* gaussian = std::get_if<GaussianLattice>(&mechanism)) return gaussian->lattice;
  if (const auto* binomial = std::get_if<BinomialSum>(&mechanism)) return binomial->lattice;
  return std::get<ExactPublicSum>(mechanism).lattice;
}

Release Release::scaled_to(double distance) const {
  if (!shape.smoothness) return *this;
  UNDERTONE_CHECK(std::isfinite(distance) && distance >= 0.0);
  // Floored above zero: where the points agree to a billionth there is nothing to learn from their difference.
  const double norm = std::clamp(*shape.smoothness * distance, 0x1p-30 * shape.clip.value(), shape.clip.value());
  Release scaled = *this;
  scaled.shape.clip = *ClipNorm::create(norm);
  const double factor = norm / shape.clip.value();
  if (auto* gaussian = std::get_if<GaussianLattice>(&scaled.mechanism)) gaussian->lattice.step *= factor;
  if (auto* exact = std::get_if<ExactPublicSum>(&scaled.mechanism)) exact->lattice.step *= factor;
  if (auto* binomial = std::get_if<BinomialSum>(&scaled.mechanism)) binomial->lattice.step *= factor;
  return scaled;
}

double Release::noise_stddev_of_mean() const {
  const auto records = static_cast<double>(records_drawn);
  if (const auto* gaussian = std::get_if<GaussianLattice>(&mechanism)) return gaussian->noise_stddev() / records;
  if (const auto* binomial = std::get_if<BinomialSum>(&mechanism)) {
    constexpr double kRoundingMax = 0.25;  // a silo rounds its sum once
    return std::sqrt(binomial_sum_variance(binomial->parameters, shape.clip, records_drawn, kRoundingMax)) / records;
  }
  return 0.0;
}

ShiftSquaredAmount Release::cost_of_draw() const {
  if (const auto* gaussian = std::get_if<GaussianLattice>(&mechanism)) return gaussian->shift_squared();
  if (const auto* binomial = std::get_if<BinomialSum>(&mechanism)) {
    const double shift = binomial->shift.shift.value();
    return *ShiftSquaredAmount::rounded_up(shift * shift * (1.0 + 0x1p-50));
  }
  return {};
}

ShiftSquaredAmount Release::cost() const {
  // At most kShiftMax^2 2^40 units, kDrawsMax times: no overflow.
  const Result<ShiftSquaredAmount> all = cost_of_draw().times(draws());
  UNDERTONE_CHECK(all.has_value());
  return *all;
}

}  // namespace undertone::privacy
