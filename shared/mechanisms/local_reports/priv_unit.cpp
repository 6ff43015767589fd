#include "shared/mechanisms/local_reports/priv_unit.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <numbers>

#include "shared/base/bisection.hpp"

namespace undertone::mechanisms {
namespace {

/// Of a uniform direction in d dimensions, U its first coordinate and a = (d - 1) / 2.
struct Caps {
  double a = 0.0;
  static constexpr double kThresholdMax = 1.0 - 0x1p-20;
  /// E[U^2].
  [[nodiscard]] double square() const { return 1.0 / (2.0 * a + 1.0); }
  /// The mean square of a coordinate across, where that along is so much: the length is 1.
  [[nodiscard]] double across(double along) const { return (1.0 - along) / (2.0 * a); }
  /// c = P[U >= gamma].
  [[nodiscard]] double in(double gamma) const { return boost::math::ibeta(a, a, 0.5 * (1.0 - gamma)); }
  /// h = E[U; U >= gamma] = (1 - gamma^2)^a / ((d - 1) Beta(1/2, a)).
  [[nodiscard]] double height(double gamma) const {
    return std::exp(a * std::log1p(-gamma * gamma)) / (2.0 * a * boost::math::beta(0.5, a));
  }
  /// E[U^2; U >= gamma]: U^2 has the law Beta(1/2, a), whose mean is 1/d, and half of it is on this side.
  [[nodiscard]] double square(double gamma) const {
    return 0.5 / (2.0 * a + 1.0) * boost::math::ibetac(1.5, a, gamma * gamma);
  }
  /// The density of U there.
  [[nodiscard]] double density(double gamma) const {
    return std::exp((a - 1.0) * std::log1p(-gamma * gamma)) / boost::math::beta(0.5, a);
  }
};

/// This is the same for a normal coordinate Y: c = Q(t), h = E[Y; Y >= t] = phi(t), E[Y^2; Y >= t] = Q(t) + t phi(t).
struct HalfSpaces {
  static constexpr double kThresholdMax = 16.0;
  [[nodiscard]] double square() const { return 1.0; }
  /// Whatever is along, what is across is normal.
  [[nodiscard]] double across(double /*along*/) const { return 1.0; }
  [[nodiscard]] double in(double t) const { return 0.5 * std::erfc(t / std::numbers::sqrt2); }
  [[nodiscard]] double height(double t) const { return std::exp(-0.5 * t * t) / std::sqrt(2.0 * std::numbers::pi); }
  [[nodiscard]] double square(double t) const { return in(t) + t * height(t); }
};

/// This is what follows from a level: the threshold whose estimates vary least, and how likely a drawn vector lies in
/// its cap.
struct Cut {
  double threshold = 0.0;
  double in = 0.0;  // c
};

/// m(gamma) = (e^level - 1) h / (1 + (e^level - 1) c) is largest where it is gamma itself. Left of there it grows.
template <class Law>
Cut best_cut(const Law& law, double level) {
  const double growth = std::expm1(level);
  // Where the best cap is met too rarely, the search ends at the smallest one that is not. Its estimates vary more.
  const SearchRange<double> found = bisect_reals(
      {0.0, Law::kThresholdMax},
      [&](double gamma) {
        const double c = law.in(gamma);
        return c < PrivUnit::kCapMin || growth * law.height(gamma) / (1.0 + growth * c) <= gamma;
      },
      60);
  return {found.low, law.in(found.low)};
}

/// These are the moments of reports with a coin of chance p.
struct Moments {
  double scale = 0.0;   // m
  double along = 0.0;   // the mean square of the coordinate along the record's own direction
  double across = 0.0;  // of each other one
};

template <class Law>
Moments moments_of(const Law& law, const Cut& cut, double p) {
  const double square = law.square(cut.threshold);
  const double along = p * square / cut.in + (1.0 - p) * (law.square() - square) / (1.0 - cut.in);
  return {law.height(cut.threshold) * (p / cut.in - (1.0 - p) / (1.0 - cut.in)), along, law.across(along)};
}

}  // namespace

double PrivUnit::gaussian_slack(Eigen::Index dimension) {
  const auto d = static_cast<double>(dimension);
  // Of G normal with deviation 1, g / 2^40 is within sqrt(d) 2^-41 of it. The record's vector has length 1 to within d
  // 2^-52, and doubles move <g, u> by less than d 2^-52 ||g||, of which ||g|| > 2^40 (sqrt(d) + 20) has a chance below
  // 2^-200. The density of <G, u> is at most 0.4. The samplers' own total variation, 2^-80 a vector, is far below.
  const double moved = std::sqrt(d) * 0x1p-40 + 4.0 * d * 0x1p-52 * (std::sqrt(d) + 20.0);
  return 1.02 * (2.0 * moved * 0.4) + 0x1p-70;
}

double PrivUnit::slack(Eigen::Index dimension, double threshold) {
  const auto d = static_cast<double>(dimension);
  const Caps caps{0.5 * (d - 1.0)};
  // Of G normal with deviation 1, g / 2^40 is within sqrt(d) 2^-41 of it. Of those that are no shorter than s, <g, u> /
  // ||g|| is within sqrt(d) 2^-40 / s of G's, and doubles move it by less than 2 d 2^-52: an edge moves by `moved` to
  // either side, over which the density is at most twice what it is at its ends. Besides, g may be as long as s and G
  // not, or the other way round, with a chance below sqrt(d) 2^-40, the density of ||G|| being below 1.
  constexpr double s = kNormMin * 0x1p-40;
  const double moved = std::sqrt(d) * 0x1p-40 / s + 2.0 * d * 0x1p-52;
  if (!(threshold + moved < 0.999)) return 1.0;  // an unbounded density, of two dimensions, is near
  const double density = std::max(caps.density(threshold), caps.density(std::max(0.0, threshold - moved)));
  // The chance that G is long enough is above 0.99. The samplers' own total variation, 2^-80 a vector, is far below.
  return 1.02 * (4.0 * moved * density + std::sqrt(d) * 0x1p-39) + 0x1p-70;
}

Result<PrivUnit> PrivUnit::create(releases::Epsilon epsilon, Eigen::Index dimension, releases::UnitAdapter adapter,
                                  Law law) {
  if (dimension < 2 || dimension > kDimensionMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("reports of directions are of vectors of 2 to {} numbers, got "
                                                         "{}",
                                                         kDimensionMax, dimension)};
  }
  if (!(epsilon.value() <= kEpsilonMax && epsilon.value() >= 0x1p-10)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the epsilon of a reported direction must be from 2^-10 to {}, "
                             "got {}",
                             kEpsilonMax, epsilon.value())};
  }
  PrivUnit out;
  UNDERTONE_TRY(out.epsilon_, releases::EpsilonAmount::rounded_down(epsilon.value()));
  out.adapter_ = adapter;
  out.law_ = law;
  out.dimension_ = dimension;
  const Eigen::Index drawn = dimension + (adapter == releases::UnitAdapter::Lift ? 1 : 0);
  const Caps caps{0.5 * (static_cast<double>(drawn) - 1.0)};
  Cut cut;
  double level = out.epsilon_.value_rounded_down();
  // What rounding costs is taken off first, at the cap that follows; the second time nothing of it changes by more.
  for (int attempt = 0; attempt < 2; ++attempt) {
    cut = law == Law::Sphere ? best_cut(caps, level) : best_cut(HalfSpaces{}, level);
    out.threshold_ = cut.threshold;
    const double c = cut.in;
    const double eta = law == Law::Sphere ? slack(drawn, out.threshold_) : gaussian_slack(drawn);
    if (!(c >= kCapMin && c <= 0.5 && 8.0 * eta < c)) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("a direction in {} dimensions at epsilon {} is drawn from a cap of chance {:.2g}, at least "
                      "{:.2g} is expected: another epsilon has one",
                      dimension, epsilon.value(), c, kCapMin)};
    }
    // ln((c + eta) / (c - eta)) <= 2.5 eta / c, and the same of q >= c; the coin's own rounding is below 2^-40.
    level = out.epsilon_.value_rounded_down() - 5.0 * eta / c - 0x1p-30;
    if (!(level > 0.0)) return Error{ErrorCode::InvalidArgument, "an epsilon that rounding takes all of"};
    const double rest = std::expm1(level);
    // p / (1 - p) = e^level c / q, the coin rounded down.
    const double p = (1.0 + rest) * c / (1.0 + rest * c);
    out.in_cap_units_ = static_cast<std::uint64_t>(std::floor(p * static_cast<double>(kCoin)));
    out.in_cap_ = static_cast<double>(out.in_cap_units_) / static_cast<double>(kCoin);
  }
  const Moments of =
      law == Law::Sphere ? moments_of(caps, cut, out.in_cap_) : moments_of(HalfSpaces{}, cut, out.in_cap_);
  out.cap_ = cut.in;
  out.scale_ = of.scale;
  // Of any coordinate a mean of the squares along the record's own direction and across it.
  out.variance_max_ = std::max(of.along, of.across) / (of.scale * of.scale);
  const double length = law == Law::Sphere ? 1.0 : of.along + (static_cast<double>(drawn) - 1.0) * of.across;
  out.square_max_ = length / (of.scale * of.scale);
  return out;
}

Eigen::VectorXd PrivUnit::adapted(const Eigen::Ref<const Eigen::VectorXd>& vector, std::uint64_t coin) const {
  const double length = vector.norm();
  // A sum of squares that is too large or no number counts as the zero vector.
  const bool known = std::isfinite(length);
  const double norm = known ? length : 0.0;
  Eigen::VectorXd out(vector.size() + (adapter_ == releases::UnitAdapter::Lift ? 1 : 0));
  if (adapter_ == releases::UnitAdapter::Lift) {
    out.head(vector.size()).setZero();
    if (known) out.head(vector.size()) = vector / std::max(norm, 1.0);
    out[vector.size()] = std::sqrt(std::max(0.0, 1.0 - norm * norm));
  } else if (norm > 0.0) {
    out = vector / norm;
  } else {
    out.setZero();
    out[0] = 1.0;
  }
  if (adapter_ == releases::UnitAdapter::Round) {
    const auto up = static_cast<std::uint64_t>(0.5 * (1.0 + std::min(norm, 1.0)) * static_cast<double>(kCoin));
    if (coin >= up) out = -out;
  }
  // Of no direction at all both are as likely, so that nobody is drawn anywhere.
  if (adapter_ == releases::UnitAdapter::Normalise && norm == 0.0 && coin >= kCoin / 2) out = -out;
  // Numbers that change no product but would slow every one of them down.
  constexpr double kSlow = 0x1p-200;
  out = (out.array().abs() < kSlow).select(0.0, out);
  return out / out.norm();  // of what was divided and squared
}

}  // namespace undertone::mechanisms
