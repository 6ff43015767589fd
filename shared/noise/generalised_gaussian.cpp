#include "shared/noise/generalised_gaussian.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <vector>

namespace undertone::noise {
namespace {

namespace multiprecision = boost::multiprecision;
using Real = multiprecision::number<
    multiprecision::backends::cpp_bin_float<256, multiprecision::backends::digit_base_2, void, std::int32_t>,
    multiprecision::et_off>;
using Words = std::function<std::uint64_t()>;

/// Uniform on the odd multiples of 2^-193 in (0, 1), each exact.
Real inner_unit(const Words& words) {
  const Real word = 0x1p64;
  Real out = words();
  out = out * word + words();
  out = out * word + words();
  return (2 * out + 1) * Real(0x1p-193);
}

/// A standard normal. Source: Marsaglia and Bray 1964, the polar method.
Real normal(const Words& words) {
  while (true) {
    const Real u = 2 * inner_unit(words) - 1;
    const Real v = 2 * inner_unit(words) - 1;
    const Real square = u * u + v * v;
    const bool inside = square < 1;
    if (inside && !square.is_zero()) return u * sqrt(-2 * log(square) / square);
  }
}

/// A gamma variate of shape >= 1 and scale 1. Source: Marsaglia and Tsang 2000, with their squeeze.
Real gamma(const Real& shape, const Words& words) {
  const Real d = shape - Real(1) / 3;
  const Real c = 1 / sqrt(9 * d);
  while (true) {
    const Real x = normal(words);
    const Real root = 1 + c * x;
    if (root <= 0) continue;
    const Real v = root * root * root;
    const Real u = inner_unit(words);
    const Real square = x * x;
    if (u < 1 - Real(331) / 10'000 * square * square) return d * v;
    if (log(u) < square / 2 + d - d * v + d * log(v)) return d * v;
  }
}

}  // namespace

Result<GeneralisedGaussian> GeneralisedGaussian::create(double norm, double scale) {
  if (!(norm >= 2.0 && norm <= kNormMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the norm of a generalised Gaussian must be in [2, {}], got {}", kNormMax, norm)};
  }
  if (!(scale >= kScaleMin && scale <= kScaleMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the scale of a generalised Gaussian must be in {} .. {} lattice units, got {}", kScaleMin,
                             kScaleMax, scale)};
  }
  return GeneralisedGaussian(norm, scale);
}

void GeneralisedGaussian::fill_from(const Words& words, std::span<std::int64_t> out) const {
  UNDERTONE_CHECK(!out.empty() && out.size() <= kSizeMax);
  // Coordinates of density exp(-|y|^p): |y|^p is gamma of shape 1/p, and that is one of shape 1 + 1/p times u^p. Over
  // their l_p norm they have the cone measure. Then the radius: ||z||_p / scale is chi of d degrees of freedom.
  const Real norm = norm_;
  std::vector<Real> logs;
  logs.reserve(out.size());
  Real sum = 0;
  for (std::size_t j = 0; j < out.size(); ++j) {
    const Real power = log(gamma(1 + 1 / norm, words));
    logs.push_back(log(inner_unit(words)) + power / norm);
    sum += exp(norm * logs.back());
  }
  // Of one number the shape is a half: then one of shape 3/2 times u^2.
  const Real half = Real(static_cast<std::uint64_t>(out.size())) / 2;
  Real square = 2 * gamma(out.size() == 1 ? half + 1 : half, words);
  if (out.size() == 1) {
    const Real u = inner_unit(words);
    square *= u * u;
  }
  const Real shift = log(Real(scale_)) + log(square) / 2 - log(sum) / norm;
  for (std::size_t j = 0; j < out.size(); ++j) {
    const Real magnitude = floor(exp(logs[j] + shift) + Real(0.5));
    UNDERTONE_CHECK(magnitude < Real(0x1p60));  // 2^10 times what the largest vectors' radius is: exp(-2^37)
    const auto units = magnitude.convert_to<std::int64_t>();
    out[j] = (words() & 1U) != 0 ? units : -units;
  }
}

}  // namespace undertone::noise
