#include "shared/accounting/pass_profile.hpp"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <complex>
#include <cstdint>
#include <unsupported/Eigen/FFT>
#include <vector>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/pass_terms.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone::accounting {
namespace {

constexpr double kPassEpsilonMax = 40.0;
constexpr double kPassShiftMin = 1e-3;  // a smaller one is taken for it: delta rises with every shift
constexpr double kLogOutside = 34.0;    // e^-34 of the tilted mass is outside the window
constexpr double kSumRounding = 1e-9;   // of the terms' call functions and of all sums, relative to delta

/// Masses of one term at knots first .. first + size - 1, times the step: unclipped, since rounding noise cancels in
/// sums only so.
struct TermLattice {
  std::int64_t first = 0;
  std::vector<double> mass;
  double excess = 0.0;  // E(w W - last knot)+
};

/// Alike terms of one pass.
struct Terms {
  PassTerm term;
  double weight;
  double count;

  [[nodiscard]] double above(double x) const { return weight * term.above(x / weight); }
  [[nodiscard]] double below(double x) const { return weight * term.below(x / weight); }
};

/// The law whose call function is that of w W by chords between the knots, with what is outside put on the ends.
TermLattice lattice_of(const Terms& terms, double step, std::int64_t first, std::int64_t last) {
  TermLattice out{first, std::vector<double>(static_cast<std::size_t>(last - first + 1)), 0.0};
  WorkMeter::charge(4 * out.mass.size());
  const auto at = [&](std::int64_t i) -> double& { return out.mass[static_cast<std::size_t>(i - first)]; };
  // A mass is a change of the chords' slopes. Below the middle they are those of E(x - w W)+, from there on those of
  // E(w W - x)+, which is 1 steeper: so noise is small beside the probability of what is further out.
  const auto middle = std::max(first, static_cast<std::int64_t>(terms.weight * terms.term.middle() / step));
  double slope = 0.0;
  double value = terms.below(static_cast<double>(first) * step);
  for (std::int64_t i = first; i < middle; ++i) {
    const double next = terms.below(static_cast<double>(i + 1) * step);
    at(i) = (next - value) / step - slope;
    slope = (next - value) / step;
    value = next;
  }
  value = terms.above(static_cast<double>(middle) * step);
  slope -= 1.0;
  for (std::int64_t i = middle; i < last; ++i) {
    const double next = terms.above(static_cast<double>(i + 1) * step);
    at(i) = (next - value) / step - slope;
    slope = (next - value) / step;
    value = next;
  }
  at(last) = -slope;
  out.excess = value;
  return out;
}

/// The smallest x of a geometric sequence up to `most` at which what is beyond falls to `enough`.
template <class Beyond>
double reach_of(const Beyond& beyond, double most, double enough) {
  double x = 1e-6 * most;
  while (x < most && beyond(x) > enough) x *= 1.1;
  return std::min(x, most);
}

/// Of a function that is quasi-convex in ln x. Any x is valid, only accuracy depends on it.
template <class Function>
double minimum_in_logarithms(const Function& f, double low, double high) {
  std::uintmax_t steps = 30;
  const auto of_logarithm = [&](double at) { return f(std::exp(at)); };
  constexpr int kBits = 12;
  return std::exp(
      boost::math::tools::brent_find_minima(of_logarithm, std::log(low), std::log(high), kBits, steps).first);
}

/// Where the terms lie, and the tilt and the window of their sum: from a law of some thousand points. None of it has to
/// be exact for the result to be an upper bound.
struct Frame {
  double up = 0.0;    // above it a term is put on it
  double down = 0.0;  // below -down likewise
  double tilt = 0.0;
  double bottom = 0.0;
  double top = 0.0;
  double beyond_tilt = 0.0;   // of the bound on what is above the window
  double log_estimate = 0.0;  // ln of a bound on delta
};

class Pass {
 public:
  /// @param epsilon >= 0
  Pass(const Allocation& allocation, double epsilon) : lift_(-allocation.unread() * std::expm1(epsilon)) {
    const double kappa = std::exp(epsilon);
    double variance = 0.0;
    for (const AllocatedParts& group : allocation.groups()) {
      const double shift = std::max(group.shift, kPassShiftMin);
      const auto count = static_cast<double>(group.parts);
      terms_.push_back({PassTerm(allocation.assignment(), shift, epsilon), group.weight, count});
      count_ += count;
      variance += count * group.weight * group.weight *
                  ((1.0 + kappa * kappa) * std::expm1(std::min(shift * shift, 300.0)) + 2.0 * kappa);
    }
    excess_ratio_ = kappa - 1.0;
    spread_ = std::min(0.3 * (1.0 + kappa), std::sqrt(variance));
  }

  /// @param around about what delta is @param wide how many times kappa - 1 a term may reach
  [[nodiscard]] Frame frame(double around, double wide) const {
    Frame out;
    const double reach = wide * excess_ratio_ + 12.0 * spread_;
    out.up = reach_of([&](double x) { return sum_of([&](const Terms& terms) { return terms.above(x); }); }, reach,
                      1e-5 * around);
    out.down = reach_of([&](double x) { return sum_of([&](const Terms& terms) { return terms.below(-x); }); }, reach,
                        1e-7 * around);
    const double step = (out.up + out.down) / 1500.0;
    std::vector<TermLattice> coarse;
    for (const Terms& terms : terms_) {
      coarse.push_back(lattice_of(terms, step, first_of(out, step), last_of(out, step)));
      for (double& mass : coarse.back().mass) mass = std::max(mass, 0.0);
    }
    const auto log_moment = [&](double tilt) {
      double sum = 0.0;
      for (std::size_t i = 0; i < terms_.size(); ++i) sum += terms_[i].count * log_sum(coarse[i], step, tilt);
      return sum;
    };
    const auto bound = [&](double tilt) { return log_moment(tilt) + tilt * lift_; };
    const double tilt = minimum_in_logarithms(bound, 1e-3 / out.up, 60.0 / out.up);
    out.tilt = bound(tilt) < 0.0 ? tilt : 0.0;
    out.log_estimate = bound(tilt) - std::log(tilt) - 1.0;  // x <= e^(tilt x - 1) / tilt
    const double base = log_moment(out.tilt);
    const double scale = 1.0 / std::max(out.up, out.down);
    const auto edge = [&](double sign) {
      const auto at = [&](double tilt_more) {
        return (log_moment(out.tilt + sign * tilt_more) - base + kLogOutside) / tilt_more;
      };
      const double best = minimum_in_logarithms(at, 0.02 * scale, 300.0 * scale);
      if (sign > 0.0) out.beyond_tilt = best;
      return at(best);
    };
    out.top = std::max(edge(1.0), 1.01 * out.up);
    out.bottom = std::min(-edge(-1.0), -out.down);
    return out;
  }

  struct Value {
    double delta = 0.0;
    double slack = 0.0;  // of it: what was cut off
  };
  [[nodiscard]] Value evaluate(const Frame& frame, std::size_t points) const;

 private:
  template <class Of>
  [[nodiscard]] double sum_of(const Of& of) const {
    double sum = 0.0;
    for (const Terms& terms : terms_) sum += terms.count * of(terms);
    return sum;
  }
  [[nodiscard]] static std::int64_t first_of(const Frame& frame, double step) {
    return -static_cast<std::int64_t>(std::ceil(frame.down / step));
  }
  [[nodiscard]] static std::int64_t last_of(const Frame& frame, double step) {
    return static_cast<std::int64_t>(std::ceil(frame.up / step));
  }
  /// ln of the sum of mass e^(tilt x).
  [[nodiscard]] static double log_sum(const TermLattice& lattice, double step, double tilt) {
    const double lowest = static_cast<double>(lattice.first) * step;
    const double highest = lowest + static_cast<double>(lattice.mass.size() - 1) * step;
    const double shift = std::max(tilt * lowest, tilt * highest);
    const double ratio = std::exp(tilt * step);
    double sum = 0.0;
    if (tilt >= 0.0) {  // Horner from the end whose exponential is smallest
      for (const double mass : lattice.mass) sum = sum / ratio + mass;
    } else {
      for (std::size_t i = lattice.mass.size(); i-- > 0;) sum = sum * ratio + lattice.mass[i];
    }
    return std::log(sum) + shift;
  }

  std::vector<Terms> terms_;
  double lift_;  // w_0 (1 - kappa) <= 0
  double count_ = 0.0;
  double excess_ratio_ = 0.0;  // kappa - 1: the mean of all terms is its negative
  double spread_ = 0.0;
};

Pass::Value Pass::evaluate(const Frame& frame, std::size_t points) const {
  const double step = (frame.top - frame.bottom) / static_cast<double>(points);
  const std::int64_t first = first_of(frame, step);
  const std::int64_t last = last_of(frame, step);
  Eigen::FFT<double> fft;
  fft.SetFlag(Eigen::FFT<double>::HalfSpectrum);
  std::vector<double> wrapped(points);
  std::vector<std::complex<double>> spectrum;
  std::vector<std::complex<double>> log_product(points / 2 + 1, 0.0);
  double excess = 0.0;
  double log_weight = 0.0;  // ln of the product of all M_r^n_r
  double log_beyond = 0.0;  // the same at the tilt of the bound on what is above the window
  const double beyond_tilt = frame.tilt + frame.beyond_tilt;
  for (const Terms& terms : terms_) {
    const TermLattice lattice = lattice_of(terms, step, first, last);
    WorkMeter::charge(4 * points);
    excess += terms.count * lattice.excess;
    const double log_moment = log_sum(lattice, step, frame.tilt);
    log_weight += terms.count * log_moment;
    log_beyond += terms.count * log_sum(lattice, step, beyond_tilt);
    std::fill(wrapped.begin(), wrapped.end(), 0.0);
    for (std::int64_t i = first; i <= last; ++i) {
      const auto place = static_cast<std::size_t>(i < 0 ? i + static_cast<std::int64_t>(points) : i);
      wrapped[place] += lattice.mass[static_cast<std::size_t>(i - first)] *
                        std::exp(frame.tilt * static_cast<double>(i) * step - log_moment);
    }
    fft.fwd(spectrum, wrapped);
    for (std::size_t k = 0; k < log_product.size(); ++k) log_product[k] += terms.count * std::log(spectrum[k]);
  }
  for (std::size_t k = 0; k < log_product.size(); ++k) {
    const double size = std::exp(log_product[k].real());
    spectrum[k] = size > 0.0 ? std::polar(size, log_product[k].imag()) : std::complex<double>();
  }
  fft.inv(wrapped, spectrum, static_cast<Eigen::Index>(points));
  const auto above = static_cast<std::size_t>(frame.top / step);
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t i = 1; i <= above; ++i) {
    const double x = static_cast<double>(i) * step;
    const double value = std::max(x + lift_, 0.0) * std::exp(log_weight - frame.tilt * x);
    sum += value * wrapped[i];
    squares += value * value;
  }
  // Each factor of the spectrum is right to about 20 u, and counts as often as it is a factor; by Cauchy and Schwarz
  // errors of that root mean square add up to at most this.
  constexpr double kTransformError = 32.0 * 1.2e-16;
  const double rounding = (count_ + 1.0) * kTransformError * std::sqrt(squares);
  // S <= (top + 1/v) e^(v (S - top)) from top on.
  const double beyond =
      (frame.top + 1.0 / beyond_tilt) * std::exp(std::min(log_beyond - beyond_tilt * frame.top, 300.0));
  return {(sum + excess + beyond + rounding) * (1.0 + kSumRounding), excess + beyond + rounding};
}

/// No mixture is dearer than the mean of its parts: G(epsilon; shift) of each.
double parallel_delta(const Allocation& allocation, double epsilon) {
  double sum = 0.0;
  for (const AllocatedParts& group : allocation.groups()) {
    sum += static_cast<double>(group.parts) * group.weight *
           std::exp(log_delta_of_gaussian(epsilon, *releases::GaussianShift::create(group.shift)));
  }
  return sum;
}

}  // namespace

Result<double> pass_delta(const Allocation& allocation, double epsilon, AllocationGrid grid) {
  if (!(std::abs(epsilon) <= kPassEpsilonMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("epsilon of a pass must be from -{0} to {0}, got {1}", kPassEpsilonMax, epsilon)};
  }
  if (epsilon < 0.0) {  // the laws are the same in both orders
    Result<double> mirrored = pass_delta(allocation, -epsilon, grid);
    if (!mirrored) return mirrored;
    return std::min(1.0, (-std::expm1(epsilon) + std::exp(epsilon) * *mirrored) * (1.0 + 1e-15));
  }
  constexpr double kLeast = 1e-40;  // what is cut off is small beside delta, or beside this
  const double parallel = parallel_delta(allocation, epsilon);
  const Pass pass(allocation, epsilon);
  // A term that reaches three times as far as the mean of all is below 0 hardly ever leaves the sum there: what is cut
  // off makes no difference. Where it is much of delta, a wider look may say less, and both are bounds.
  double wide = 3.0;
  const double rough = std::exp(pass.frame(std::max(kLeast, 1e-3 * parallel), wide).log_estimate);
  double around = std::max(kLeast, std::min(parallel, 0.03 * rough));
  double least = parallel;
  for (int look = 0; look < 3; ++look, wide *= 4.0) {
    const Pass::Value found = pass.evaluate(pass.frame(around, wide), static_cast<std::size_t>(grid));
    if (!std::isfinite(found.delta)) break;
    const bool much = found.slack > 1e-3 * found.delta && (look == 0 || found.delta < 0.999 * least);
    least = std::min(least, std::max(found.delta, 0.0));
    if (!much) break;
    around = std::max(kLeast, 0.1 * std::min(around, found.delta));
  }
  return least;
}

}  // namespace undertone::accounting
