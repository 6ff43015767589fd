#include "shared/releases/influence_bound.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace undertone::releases {
namespace {

constexpr double kLargestTruncation = 2.0 * std::numbers::sqrt2 / 3.0;
constexpr double kLargestSmooth = 0.64364583;  // U erf(1 / sqrt 2) = .643645825...

/// P(Z > x) of a standard normal.
double upper_tail(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

double truncation(double u) {
  if (std::abs(u) > std::numbers::sqrt2) return std::copysign(kLargestTruncation, u);
  return u - u * u * u / 6.0;
}

}  // namespace

std::string_view to_string(Influence influence) noexcept {
  switch (influence) {
    case Influence::Clip:
      return "clip";
    case Influence::Smooth:
      return "smooth";
  }
  return "";
}

double largest_influence(Influence influence) noexcept { return influence == Influence::Smooth ? kLargestSmooth : 1.0; }

namespace {

/// @param a >= 0
double smooth_truncation_of_positive(double a, double b) {
  // The five terms cancel where b is small beside a: phi itself is then as close as they are.
  constexpr double kNarrow = 1e-9;
  if (b <= kNarrow * std::max(1.0, std::abs(a))) return truncation(a);
  const double below = (std::numbers::sqrt2 - a) / b;
  const double above = (std::numbers::sqrt2 + a) / b;
  const double tail_below = upper_tail(below);
  const double tail_above = upper_tail(above);
  const double density_below = std::exp(-0.5 * below * below);
  const double density_above = std::exp(-0.5 * above * above);
  // v^n exp(-v^2/2) of a v that is infinite is 0, not a number that is none.
  const auto weighed = [](double v, double power, double density) {
    return density > 0.0 ? std::pow(v, power) * density : 0.0;
  };
  const double root = std::sqrt(2.0 * std::numbers::pi);
  const double out =
      a * (1.0 - b * b / 2.0) - a * a * a / 6.0 + kLargestTruncation * (tail_below - tail_above) -
      (a - a * a * a / 6.0) * (tail_below + tail_above) +
      b / root * (1.0 - a * a / 2.0) * (density_above - density_below) +
      a * b * b / 2.0 *
          (tail_above + tail_below + (weighed(above, 1.0, density_above) + weighed(below, 1.0, density_below)) / root) +
      b * b * b / (6.0 * root) *
          (2.0 * density_below + weighed(below, 2.0, density_below) - 2.0 * density_above -
           weighed(above, 2.0, density_above));
  return std::clamp(std::isnan(out) ? 0.0 : out, 0.0, kLargestTruncation);
}

}  // namespace

double smooth_truncation(double a, double b) { return std::copysign(smooth_truncation_of_positive(std::abs(a), b), a); }

double influence_of(Influence influence, double x, double threshold) {
  if (influence == Influence::Clip) return std::clamp(x, -threshold, threshold);
  // Beyond a thousand thresholds the numerators of the five terms cancel. With Z normal and a = b = |x| / t, the sign
  // of 1 + Z decides there, so that psi is what it is at a thousand.
  constexpr double kFar = 1000.0;
  const double a = std::clamp(x / threshold, -kFar, kFar);
  return threshold * std::clamp(smooth_truncation(a, std::abs(a)), -kLargestSmooth, kLargestSmooth);
}

Result<InfluenceBound> InfluenceBound::create(double threshold, Influence influence, std::uint32_t groups,
                                              Eigen::Index dimension) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::InvalidArgument, std::move(why)}; };
  if (dimension < 1) return refuse(fmt::format("a bound of every coordinate needs a dimension, got {}", dimension));
  if (groups < 1 || groups > kGroupsMax || groups % 2 == 0)
    return refuse(fmt::format("expected an odd number of groups from 1 to {}, got {}", kGroupsMax, groups));
  if (!(threshold > 0.0)) return refuse(fmt::format("expected a threshold above 0, got {}", threshold));
  // Rounded up by far more than a root may be off.
  const double growth = largest_influence(influence) * std::sqrt(static_cast<double>(dimension)) * (1.0 + 0x1p-40);
  UNDERTONE_TRY(const ClipNorm l2, ClipNorm::create(threshold * growth));
  return InfluenceBound(threshold, influence, groups, l2);
}

InfluenceBound InfluenceBound::times(double factor) const {
  InfluenceBound out = *this;
  out.threshold_ *= factor;
  out.l2_ = *ClipNorm::create(l2_.value() * factor);
  return out;
}

InfluenceBound InfluenceBound::of_one_group() const noexcept {
  InfluenceBound out = *this;
  out.groups_ = 1;
  return out;
}

std::string described(const InfluenceBound& bound) {
  std::string out = bound.influence() == Influence::Clip
                        ? fmt::format("cut to at most {:.4g} in every coordinate", bound.threshold())
                        : fmt::format("with a smooth influence of at most {:.4g} in every coordinate",
                                      bound.threshold() * largest_influence(bound.influence()));
  if (bound.groups() > 1)
    out += fmt::format(" and added up in {} groups of records, which have none in common", bound.groups());
  return out;
}

}  // namespace undertone::releases
