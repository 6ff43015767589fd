#include "shared/geometry/duality_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shared/base/result.hpp"

namespace undertone::geometry {
namespace {

constexpr double kWholeMax = 64.0;

/// sum_j (|x_j|/largest)^exponent by squarings, some at a time so that they stay in registers. @param exponent >= 1
double sum_of_whole_powers(const Eigen::Ref<const Eigen::VectorXd>& x, double largest, unsigned exponent) {
  constexpr Eigen::Index kTogether = 64;
  using Block = Eigen::Array<double, Eigen::Dynamic, 1, 0, kTogether, 1>;
  double sum = 0.0;
  for (Eigen::Index from = 0; from < x.size(); from += kTogether) {
    const Eigen::Index count = std::min(kTogether, x.size() - from);
    Block base = x.segment(from, count).array().abs() / largest;
    Block power = Block::Ones(count);
    for (unsigned left = exponent;; left >>= 1U) {
      if ((left & 1U) != 0) power *= base;
      if (left == 1U) break;
      base = base.square().eval();
    }
    sum += power.sum();
  }
  return sum;
}

}  // namespace

double l1_setup_exponent(Eigen::Index dimension) {
  UNDERTONE_CHECK(dimension >= 1);
  return 1.0 + 1.0 / std::max(1.0, std::log2(static_cast<double>(dimension)));
}

double conjugate_exponent(double exponent) {
  UNDERTONE_CHECK(exponent >= 1.0);
  if (exponent == 1.0) return std::numeric_limits<double>::infinity();
  if (std::isinf(exponent)) return 1.0;
  // That of 1.2 is 6, and not what is left of it after a rounding: whole powers are quick.
  const double out = exponent / (exponent - 1.0);
  const double whole = std::round(out);
  return std::abs(out - whole) <= 1e-13 * whole ? whole : out;
}

double lp_norm(const Eigen::Ref<const Eigen::VectorXd>& x, double exponent) {
  UNDERTONE_CHECK(exponent >= 1.0);
  if (x.size() == 0) return 0.0;
  if (exponent == 1.0) return x.lpNorm<1>();
  const double largest = x.lpNorm<Eigen::Infinity>();
  if (std::isinf(exponent) || largest == 0.0) return largest;
  if (exponent == 2.0) return x.stableNorm();
  const bool whole = exponent <= kWholeMax && exponent == std::floor(exponent);
  const double sum = whole ? sum_of_whole_powers(x, largest, static_cast<unsigned>(exponent))
                           : (x.array().abs() / largest).pow(exponent).sum();
  return largest * std::pow(sum, 1.0 / exponent);
}

void apply_duality_map(double exponent, Eigen::Ref<Eigen::VectorXd> u) {
  UNDERTONE_CHECK(exponent > 1.0 && std::isfinite(exponent));
  if (u.size() == 0 || exponent == 2.0) return;
  const double largest = u.lpNorm<Eigen::Infinity>();
  if (largest == 0.0) return;
  // One power a coordinate: b = a^(p-1), and a^p = a b.
  const Eigen::ArrayXd relative = u.array().abs() / largest;
  const Eigen::ArrayXd image = relative.pow(exponent - 1.0);
  const double scale = largest * std::pow((relative * image).sum(), (2.0 - exponent) / exponent);
  u = scale * (u.array() < 0.0).select(-image, image);
}

}  // namespace undertone::geometry
