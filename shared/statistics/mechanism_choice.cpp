#include "shared/statistics/mechanism_choice.hpp"

#include <cmath>

#include "shared/accounting/gaussian_accountant.hpp"

namespace undertone::statistics {

LaplaceNoise laplace_noise(PairwiseBound bound, releases::Epsilon epsilon, double step) {
  UNDERTONE_CHECK(bound.l1 > 0.0 && std::isfinite(bound.l1) && step > 0.0 && std::isfinite(step));
  return {bound.l1 / (epsilon.value() * step), step};
}

GaussianNoise gaussian_noise(PairwiseBound bound, releases::GaussianShift shift) {
  UNDERTONE_CHECK(bound.l2 > 0.0 && std::isfinite(bound.l2));
  return {bound.l2 / shift.value(), 0.0};
}

Result<NoiseChoice> choose_noise(PairwiseBound bound, releases::Epsilon epsilon, std::optional<releases::Delta> delta,
                                 double laplace_step) {
  NoiseChoice out;
  if (bound.l1 > 0.0) {
    UNDERTONE_TRY(const NoiseLaw law, NoiseLaw::create({{laplace_noise(bound, epsilon, laplace_step), 1.0}}));
    out.laplace_stddev = law.stddev();
  }
  if (delta && bound.l2 > 0.0)
    out.gaussian_stddev = gaussian_noise(bound, accounting::gaussian_shift_for(epsilon, *delta)).stddev;
  if (!out.laplace_stddev && !out.gaussian_stddev) {
    return Error{ErrorCode::InvalidArgument,
                 "no noise serves: the map has Gaussian noise alone, and the promise has no delta"};
  }
  out.kind = !out.gaussian_stddev || (out.laplace_stddev && *out.laplace_stddev <= *out.gaussian_stddev)
                 ? NoiseKind::Laplace
                 : NoiseKind::Gaussian;
  return out;
}

Result<double> expected_half_width(const CoordinateNoise& noise, std::int64_t silos, Confidence confidence) {
  if (silos < 1 || silos > static_cast<std::int64_t>(NoiseLaw::kTermsMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("an expected width: expected 1 to {} silos, got {}", NoiseLaw::kTermsMax, silos)};
  }
  UNDERTONE_TRY(const NoiseLaw law, NoiseLaw::create({static_cast<std::size_t>(silos), NoiseTerm{noise, 1.0}}));
  return law.half_width(confidence.alpha());
}

}  // namespace undertone::statistics
