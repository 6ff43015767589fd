#include "verifier/allocation_bound.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <memory>
#include <numbers>
#include <utility>

#include "verifier/gaussian_profile.hpp"
#include "verifier/sampled_profile.hpp"

namespace undertone::verifier {
namespace {

using Real = long double;
using ComplexReal = std::complex<Real>;

constexpr std::size_t kPassPoints = std::size_t{1} << 16;    // for a pass by itself
constexpr std::size_t kCornerPoints = std::size_t{1} << 14;  // for each of the many corners of a profile
constexpr Real kEpsilonLimit = 40;
constexpr Real kRelativeError = 1e-12L;  // of the cells' masses and means
constexpr Real kLogMissed = -46;         // of what is outside the window

/// The probability of (from, to) under N(mean, 1), by the tails on the side where they are small.
Real between(Real from, Real to, Real mean) {
  const Real low = from - mean;
  const Real high = to - mean;
  if (low > 0) return upper_tail(low) - upper_tail(high);
  return upper_tail(-high) - upper_tail(-low);
}

/// One part's term, times its weight: X = w W. Under it a cell has a mass and a first moment.
struct Cell {
  Real mass;
  Real moment;
};

class Term {
 public:
  Term(const AllocatedGroup& group, bool fixed_sizes, Real epsilon)
      : weight_(group.weight), mu_(std::max(group.mu, 1e-3L)), fixed_(fixed_sizes), epsilon_(epsilon) {}

  /// From x = from to x = to, both on one side of 0, without what is at 0.
  [[nodiscard]] Cell cell(Real from, Real to) const {
    const Real kappa = std::exp(epsilon_);
    if (!fixed_) {
      const Real a = place(from);
      const Real b = place(to);
      return {between(a, b, 0), weight_ * (between(a, b, mu_ / 2) - kappa * between(a, b, -mu_ / 2))};
    }
    if (from >= 0) {  // W = l - kappa where that is positive
      const Real a = ratio_place(kappa + from / weight_);
      const Real b = ratio_place(kappa + to / weight_);
      const Real mass = between(a, b, 0);
      return {mass, weight_ * (between(a, b, mu_) - kappa * mass)};
    }
    const Real a = ratio_place((1 - to / weight_) / kappa);  // W = 1 - kappa l where that is negative
    const Real b = ratio_place((1 - from / weight_) / kappa);
    const Real mass = between(a, b, 0);
    return {mass, weight_ * (mass - kappa * between(a, b, mu_))};
  }
  [[nodiscard]] Cell above(Real x) const { return cell(x, std::numeric_limits<Real>::infinity()); }
  [[nodiscard]] Cell below(Real x) const { return cell(-std::numeric_limits<Real>::infinity(), x); }
  /// What is neither above nor below 0.
  [[nodiscard]] Real at_zero() const {
    return fixed_ ? 1 - upper_tail(ratio_place(std::exp(epsilon_))) - upper_tail(ratio_place(std::exp(-epsilon_))) : 0;
  }

 private:
  /// Where l_m - kappa l_-m = x / w, which is 2 e^(epsilon/2 - m^2/2) sinh(m z - epsilon/2).
  [[nodiscard]] Real place(Real x) const {
    if (std::isinf(x)) return x;
    const Real m = mu_ / 2;
    return (epsilon_ / 2 + std::asinh(x / weight_ * std::exp((m * m - epsilon_) / 2) / 2)) / m;
  }
  /// Where dN(mu)/dN(0) is this.
  [[nodiscard]] Real ratio_place(Real ratio) const { return std::log(ratio) / mu_ + mu_ / 2; }

  Real weight_;
  Real mu_;
  bool fixed_;
  Real epsilon_;
};

/// Masses at (first + i) * step; what is further out is on the ends.
struct Atoms {
  std::int64_t first = 0;
  std::vector<Real> masses;
  Real lost_above = 0;  // the mean of what the upper end cuts off
};

Atoms atoms_of(const Term& term, Real step, std::int64_t first, std::int64_t last) {
  Atoms out{first, std::vector<Real>(static_cast<std::size_t>(last - first + 1)), 0};
  const auto at = [&](std::int64_t i) -> Real& { return out.masses[static_cast<std::size_t>(i - first)]; };
  at(0) += term.at_zero();
  for (std::int64_t i = first; i < last; ++i) {
    const Real left = static_cast<Real>(i) * step;
    const Cell cell = term.cell(left, left + step);
    const Real mass = std::max<Real>(cell.mass, 0);
    const Real up = std::clamp<Real>((cell.moment - left * cell.mass) / step, 0, mass);
    at(i) += mass - up;
    at(i + 1) += up;
  }
  at(first) += std::max<Real>(term.below(static_cast<Real>(first) * step).mass, 0);
  const Real top = static_cast<Real>(last) * step;
  const Cell above = term.above(top);
  at(last) += std::max<Real>(above.mass, 0);
  out.lost_above = std::max<Real>(above.moment - top * above.mass, 0) + 1e-18L * above.mass * top;
  return out;
}

Real log_moment(const Atoms& atoms, Real step, Real tilt) {
  const Real ends =
      std::max(tilt * step * static_cast<Real>(atoms.first),
               tilt * step * static_cast<Real>(atoms.first + static_cast<std::int64_t>(atoms.masses.size())));
  Real sum = 0;
  for (std::size_t i = 0; i < atoms.masses.size(); ++i) {
    const Real exponent = tilt * step * static_cast<Real>(atoms.first + static_cast<std::int64_t>(i)) - ends;
    if (exponent > -11'000) sum += atoms.masses[i] * std::exp(exponent);
  }
  return std::log(sum) + ends;
}

/// In place, without scaling; the length is a power of two. Roots are of the whole length.
void transform_sums(std::vector<ComplexReal>& values, const std::vector<ComplexReal>& roots) {
  const std::size_t length = values.size();
  for (std::size_t half = length / 2, stride = 1; half >= 1; half /= 2, stride *= 2) {
    for (std::size_t start = 0; start < length; start += 2 * half) {
      for (std::size_t i = 0; i < half; ++i) {
        const ComplexReal a = values[start + i];
        const ComplexReal b = values[start + i + half];
        const ComplexReal difference = a - b;
        const ComplexReal root = roots[i * stride];
        values[start + i] = a + b;
        values[start + i + half] = {difference.real() * root.real() - difference.imag() * root.imag(),
                                    difference.real() * root.imag() + difference.imag() * root.real()};
      }
    }
  }
  for (std::size_t i = 1, reversed = 0; i < length; ++i) {
    std::size_t bit = length / 2;
    for (; reversed & bit; bit /= 2) reversed ^= bit;
    reversed ^= bit;
    if (i < reversed) std::swap(values[i], values[reversed]);
  }
}

std::vector<ComplexReal> roots_of(std::size_t points) {
  std::vector<ComplexReal> roots(points / 2);
  for (std::size_t i = 0; i < roots.size(); ++i)
    roots[i] = std::polar<Real>(1, -2 * std::numbers::pi_v<Real> * static_cast<Real>(i) / static_cast<Real>(points));
  return roots;
}

/// The sum of all terms of a pass, at one epsilon.
class PassSum {
 public:
  PassSum(const AllocatedPasses& passes, Real epsilon) : least_(-passes.unread * std::expm1(epsilon)) {
    Real parallel = 0;
    for (const AllocatedGroup& group : passes.groups) {
      terms_.emplace_back(group, passes.fixed_sizes, epsilon);
      counts_.push_back(static_cast<Real>(group.parts));
      all_ += counts_.back();
      parallel += counts_.back() * group.weight * gaussian_profile(epsilon, group.mu);
    }
    parallel_ = parallel * (1 + kRelativeError);
    const Real scale = std::exp(epsilon);
    const auto cut_above = [&](Real x) {
      Real sum = 0;
      for (std::size_t i = 0; i < terms_.size(); ++i) {
        const Cell above = terms_[i].above(x);
        sum += counts_[i] * (above.moment - x * above.mass);
      }
      return sum;
    };
    const auto cut_below = [&](Real x) {
      Real sum = 0;
      for (std::size_t i = 0; i < terms_.size(); ++i) {
        const Cell below = terms_[i].below(-x);
        sum -= counts_[i] * (below.moment + x * below.mass);
      }
      return sum;
    };
    // A term that exceeds what all the others are below 0 is charged for the rest of it.
    for (up_ = 1e-7L * scale; up_ < 12 * scale && cut_above(up_) > 1e-15L; up_ *= 1.2L) continue;
    for (down_ = 1e-7L * scale; down_ < 12 * scale && cut_below(down_) > 1e-15L; down_ *= 1.2L) continue;
  }

  /// No mixture is dearer than the mean of its parts.
  [[nodiscard]] Real parallel() const { return parallel_; }

  /// E(sum + least)+ from above.
  [[nodiscard]] Real positive_part(std::size_t points) const {
    const Window window = window_of();
    const Real step = (window.top - window.bottom) / static_cast<Real>(points - 2);
    const std::vector<ComplexReal> roots = roots_of(points);
    std::vector<ComplexReal> product(points, 1);
    std::vector<ComplexReal> values;
    Real lost = 0;
    Real beyond = 0;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const Atoms atoms = atoms_at(terms_[i], step);
      lost += counts_[i] * atoms.lost_above;
      beyond += counts_[i] * log_moment(atoms, step, window.rate);
      values.assign(points, 0);
      for (std::size_t j = 0; j < atoms.masses.size(); ++j) {
        const auto index = static_cast<std::size_t>(atoms.first + static_cast<std::int64_t>(j)) & (points - 1);
        values[index] += atoms.masses[j];
      }
      transform_sums(values, roots);
      for (std::size_t k = 0; k <= points / 2; ++k) {
        const Real size = std::exp(counts_[i] * std::log(std::abs(values[k])));
        product[k] *= std::polar(size, counts_[i] * std::arg(values[k]));
      }
    }
    for (std::size_t k = 1; k < points / 2; ++k) product[points - k] = std::conj(product[k]);
    transform_sums(product, roots);  // a second time: back, in reverse
    const auto highest = static_cast<std::size_t>(window.top / step);
    Real sum = 0;
    Real squares = 0;
    for (std::size_t j = 1; j <= highest; ++j) {
      const Real value = std::max<Real>(static_cast<Real>(j) * step + least_, 0);
      sum += value * product[points - j].real() / static_cast<Real>(points);
      squares += value * value;
    }
    const Real rounding = (all_ + 1) * 20 * std::numeric_limits<Real>::epsilon() * std::sqrt(squares);
    const Real above = (window.top + 1 / window.rate) * std::exp(beyond - window.rate * window.top);
    return sum * (1 + kRelativeError * all_) + lost + above + rounding;
  }

 private:
  struct Window {
    Real bottom = 0;
    Real top = 0;
    Real rate = 0;  // of the exponential bound on what is above it
  };
  [[nodiscard]] Atoms atoms_at(const Term& term, Real step) const {
    const auto first = -static_cast<std::int64_t>(std::ceil(down_ / step));
    const auto last = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(up_ / step)));
    return atoms_of(term, step, std::min<std::int64_t>(first, -1), last);
  }
  /// By exponential bounds on a law of some hundred atoms. What is below it comes back above, which is dear and safe.
  [[nodiscard]] Window window_of() const {
    const Real step = (up_ + down_) / 600;
    std::vector<Atoms> rough;
    rough.reserve(terms_.size());
    for (const Term& term : terms_) rough.push_back(atoms_at(term, step));
    const auto edge = [&](Real rate) {
      Real sum = 0;
      for (std::size_t i = 0; i < rough.size(); ++i) sum += counts_[i] * log_moment(rough[i], step, rate);
      return (sum - kLogMissed) / rate;
    };
    const Real scale = 1 / std::max(up_, down_);
    Window out;
    Real lowest = std::numeric_limits<Real>::infinity();
    Real highest = lowest;
    for (Real rate = scale; rate < 1e4L * scale; rate *= 1.3L) {
      if (const Real top = edge(rate); top < highest) {
        highest = top;
        out.rate = rate;
      }
      lowest = std::min(lowest, -edge(-rate));
    }
    out.top = std::max(highest, 1.05L * up_);
    out.bottom = std::min(-lowest, -1.05L * down_);
    return out;
  }

  std::vector<Term> terms_;
  std::vector<Real> counts_;
  Real least_;
  Real all_ = 0;
  Real parallel_ = 0;
  Real up_ = 0;
  Real down_ = 0;
};

bool is_sound(const AllocatedPasses& passes) {
  Real sum = passes.unread;
  Real parts = 0;
  if (passes.groups.empty() || passes.groups.size() > 64 || passes.epochs < 1 || passes.epochs > 10'000) return false;
  if (!(passes.unread >= 0 && passes.unread < 1) || (passes.fixed_sizes && !(passes.unread > 0))) return false;
  for (const AllocatedGroup& group : passes.groups) {
    if (!(group.mu > 0 && group.mu <= 40 && group.weight > 0 && group.weight <= 1 && group.parts > 0)) return false;
    parts += static_cast<Real>(group.parts);
    sum += static_cast<Real>(group.parts) * group.weight;
  }
  return parts <= 1e6L && std::abs(sum - 1) <= 1e-12L;
}

Real pass_delta_with(const AllocatedPasses& passes, Real epsilon, std::size_t points) {
  const PassSum sum(passes, epsilon);
  const Real found = sum.positive_part(points);
  return found < sum.parallel() ? std::max<Real>(found, 0) : sum.parallel();  // what is not a number is no bound
}

}  // namespace

std::optional<Real> allocated_pass_delta(const AllocatedPasses& passes, Real epsilon) {
  if (!is_sound(passes) || !(epsilon >= 0 && epsilon <= kEpsilonLimit)) return std::nullopt;
  return pass_delta_with(passes, epsilon, kPassPoints);
}

std::optional<Polygon> allocated_profile(const AllocatedPasses& passes, Real left_out) {
  if (!is_sound(passes) || !(left_out > 0)) return std::nullopt;
  constexpr Real kHeightMin = 1e-11L;
  const Real variation = pass_delta_with(passes, 0, kCornerPoints);
  const Real step = std::clamp<Real>(variation / 3, 1e-4L, 0.06L);  // an eighth of a Gaussian's spread
  Polygon corners{{0, variation}};
  for (Real loss = step; corners.back().height > std::max(left_out, kHeightMin); loss += step + loss / 50) {
    if (loss > kEpsilonLimit) return std::nullopt;
    const Corner next{loss, std::min(pass_delta_with(passes, loss, kCornerPoints), corners.back().height)};
    // The true profile is convex: a corner above the chord of its neighbours says nothing.
    while (corners.size() > 1 &&
           slope_between(corners[corners.size() - 2], corners.back()) >= slope_between(corners.back(), next))
      corners.pop_back();
    corners.push_back(next);
  }
  if (corners.size() < 2) corners.push_back({step, variation});
  return corners;
}

std::optional<Real> allocation_delta_bound(const AllocatedPasses& passes, Real plain_mu, Real epsilon, Real around) {
  if (!(plain_mu >= 0) || !(around > 0)) return std::nullopt;
  if (passes.epochs == 1 && plain_mu == 0) return allocated_pass_delta(passes, epsilon);
  std::optional<Polygon> profile = allocated_profile(passes, around / (1000 * static_cast<Real>(passes.epochs)));
  if (!profile) return std::nullopt;
  return profile_delta(std::make_shared<PolygonProfile>(*std::move(profile)), passes.epochs, plain_mu, epsilon);
}

}  // namespace undertone::verifier
