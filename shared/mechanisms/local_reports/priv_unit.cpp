#include "shared/mechanisms/local_reports/priv_unit.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>

#include "shared/base/bisection.hpp"

namespace undertone::mechanisms {
namespace {

/// Of a uniform direction in d dimensions, U its first coordinate and a = (d - 1) / 2.
struct Caps {
  double a = 0.0;
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

}  // namespace

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

Result<PrivUnit> PrivUnit::create(releases::Epsilon epsilon, Eigen::Index dimension, releases::UnitAdapter adapter) {
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
  out.dimension_ = dimension;
  const Eigen::Index drawn = dimension + (adapter == releases::UnitAdapter::Lift ? 1 : 0);
  const Caps caps{0.5 * (static_cast<double>(drawn) - 1.0)};
  // m(gamma) = (e^epsilon - 1) h / (1 + (e^epsilon - 1) c) is largest where it is gamma itself.
  const auto scale_at = [&caps](double gamma, double growth) {
    return growth * caps.height(gamma) / (1.0 + growth * caps.in(gamma));
  };
  double level = out.epsilon_.value_rounded_down();
  // What rounding costs is taken off first, at the cap that follows; the second time nothing of it changes by more.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const double growth = std::expm1(level);
    const SearchRange<double> found = bisect_reals(
        {0.0, 1.0 - 0x1p-20}, [&](double gamma) { return scale_at(gamma, growth) <= gamma; }, 60);
    out.threshold_ = found.low;
    const double c = caps.in(out.threshold_);
    const double eta = slack(drawn, out.threshold_);
    if (!(c >= kCapMin && c <= 0.5 && 8.0 * eta < c)) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("a direction in {} dimensions at epsilon {} is drawn from a cap of chance {:.2g}, at least "
                      "{:.2g} is expected: a smaller epsilon has one, or fewer columns",
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
  const double c = caps.in(out.threshold_);
  out.scale_ = caps.height(out.threshold_) * (out.in_cap_ / c - (1.0 - out.in_cap_) / (1.0 - c));
  const auto d = static_cast<double>(drawn);
  const double square = caps.square(out.threshold_);
  const double along = out.in_cap_ * square / c + (1.0 - out.in_cap_) * (1.0 / d - square) / (1.0 - c);
  // Of any coordinate a mean of the squares along the record's own direction and across it.
  out.variance_max_ = std::max(along, (1.0 - along) / (d - 1.0)) / (out.scale_ * out.scale_);
  return out;
}

Eigen::VectorXd PrivUnit::adapted(const Eigen::Ref<const Eigen::VectorXd>& vector, std::uint64_t coin) const {
  const double norm = vector.norm();
  // No map makes such a vector; a sum of squares that is too large counts as one.
  if (!std::isfinite(norm)) return adapted(Eigen::VectorXd::Zero(vector.size()), coin);
  Eigen::VectorXd out(vector.size() + (adapter_ == releases::UnitAdapter::Lift ? 1 : 0));
  if (adapter_ == releases::UnitAdapter::Lift) {
    out << vector / std::max(norm, 1.0), std::sqrt(std::max(0.0, 1.0 - norm * norm));
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
  return out / out.norm();  // of what was divided and squared
}

}  // namespace undertone::mechanisms
