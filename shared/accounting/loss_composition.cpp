#include "shared/accounting/loss_composition.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <unsupported/Eigen/FFT>

#include "shared/base/bisection.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone::accounting {
namespace {

constexpr double kLogCut = -34.5;  // ln of what each window may cut off, beyond ln delta: 1e-15 of it

/// Masses of losses (first + i) * step, and of an infinite loss.
struct GridLaw {
  std::int64_t first = 0;
  std::vector<double> mass;
  std::vector<double> log_mass;
  double infinite = 0.0;
  double times = 1.0;
};

constexpr double kWholePoints = 20'000.0;

enum class End : std::uint8_t { Lower, Upper };

/// Where the losses of a law that matter lie, and how wide they spread.
struct Extent {
  double low = 0.0;
  double high = 0.0;
  double variance = 0.0;
};

/// Where `holds` stops being true going up from almost nothing.
template <class Predicate>
double edge_of(const Predicate& holds) {
  double high = 1e-12;
  while (holds(high) && high < 600.0) high *= 1.25;
  return bisect_reals(
             {high / 1.25, high}, [&](double at) { return !holds(at); }, 36)
      .high;
}

/// @param log_cut ln of the delta above, and of the mass below, that may be left out
Extent extent_of(const LossLaw& law, double log_cut) {
  WorkMeter::charge(10'000);  // the edges and the variance evaluate the law some thousand times
  const long double cut = expl(log_cut);
  const long double infinite = law.infinite();
  Extent out;
  out.high = edge_of([&](double loss) {
    const LossTails tails = law.above(loss);
    return tails.p - (tails.q > 0.0L ? expl(loss) * tails.q : 0.0L) > cut;
  });
  const double below = edge_of([&](double loss) { return 1.0L - infinite - law.above(-loss).p > cut; });
  out.low = -below;
  // E[L^2] = integral of 2 l P[L > l] over l > 0 and of 2 l P[L <= -l], in ln l: coarse, it only chooses a step.
  constexpr int kSteps = 500;
  constexpr double kDepth = 30.0;
  for (int i = 0; i < kSteps; ++i) {
    const double scale = std::exp(-kDepth * (i + 0.5) / kSteps);
    const double up = out.high * scale;
    const double down = below * scale;
    out.variance += 2.0 * up * up * static_cast<double>(law.above(up).p) * kDepth / kSteps;
    out.variance += 2.0 * down * down * static_cast<double>(1.0L - infinite - law.above(-down).p) * kDepth / kSteps;
  }
  return out;
}

/// Connect-the-dots: the mass of a cell goes to its two ends so that both P's and Q's mass are kept. The pair that
/// comes out dominates the one that went in.
GridLaw dots(const LossLaw& law, const Extent& extent, double step) {
  GridLaw out;
  out.first = static_cast<std::int64_t>(std::floor(extent.low / step));
  const auto last = std::max(out.first + 1, static_cast<std::int64_t>(std::ceil(extent.high / step)));
  out.mass.assign(static_cast<std::size_t>(last - out.first + 1), 0.0);
  WorkMeter::charge(8 * out.mass.size());
  const auto width = static_cast<long double>(step);
  // Everything below the grid is taken for its first point.
  LossTails before = law.above(static_cast<long double>(out.first) * width);
  out.mass[0] = static_cast<double>(1.0L - static_cast<long double>(law.infinite()) - before.p);
  for (std::int64_t i = out.first + 1; i <= last; ++i) {
    const long double at = static_cast<long double>(i) * width;
    const LossTails next = law.above(at);
    const long double p = before.p - next.p;
    const long double q = before.q - next.q;
    // w_up e^-at + w_down e^-(at - step) = q, w_up + w_down = p.
    const long double down = std::clamp((expl(at) * q - p) / expm1l(width), 0.0L, std::max(p, 0.0L));
    out.mass[static_cast<std::size_t>(i - out.first) - 1] += static_cast<double>(down);
    out.mass[static_cast<std::size_t>(i - out.first)] += static_cast<double>(std::max(p - down, 0.0L));
    before = next;
  }
  const long double on_last =
      before.q > 0.0L ? std::min(before.p, expl(static_cast<long double>(last) * width) * before.q) : 0.0L;
  out.mass.back() += static_cast<double>(on_last);
  out.infinite = static_cast<double>(before.p - on_last) + law.infinite();
  for (double& mass : out.mass) mass *= 1.0 + 1e-12;  // the tails' own error, relative to what is local
  return out;
}

/// The largest convex function below the given values. @param x increasing
void take_convex_hull(const std::vector<long double>& x, std::vector<long double>& y) {
  std::vector<std::size_t> corners;
  for (std::size_t i = 0; i < x.size(); ++i) {
    while (corners.size() >= 2) {
      const std::size_t a = corners[corners.size() - 2];
      const std::size_t b = corners.back();
      if ((y[b] - y[a]) * (x[i] - x[b]) <= (y[i] - y[b]) * (x[b] - x[a])) break;
      corners.pop_back();
    }
    corners.push_back(i);
  }
  for (std::size_t c = 0; c + 1 < corners.size(); ++c) {
    const std::size_t a = corners[c];
    const std::size_t b = corners[c + 1];
    for (std::size_t i = a + 1; i < b; ++i) y[i] = y[a] + (y[b] - y[a]) * ((x[i] - x[a]) / (x[b] - x[a]));
  }
}

/// A convex profile with corners on the grid that lies below the law's own: in every cell the law's profile is above
/// its tangents at the cell's ends, so lowering both ends by what the chord is above their meeting point is enough. The
/// masses are those of a pair that the law's pair dominates; what is outside the grid is dropped.
GridLaw tangents(const LossLaw& law, const Extent& extent, double step) {
  GridLaw out;
  out.first = static_cast<std::int64_t>(std::floor(extent.low / step)) - 1;
  const auto last = std::max(out.first + 2, static_cast<std::int64_t>(std::ceil(extent.high / step))) + 1;
  const auto count = static_cast<std::size_t>(last - out.first + 1);
  WorkMeter::charge(16 * count);
  const auto width = static_cast<long double>(step);
  out.infinite = law.infinite() * (1.0 - 1e-12);
  std::vector<long double> order(count);
  std::vector<long double> profile(count);
  std::vector<long double> gap(count, 0.0L);    // of the cell that ends here, between chord and tangents,
  std::vector<long double> place(count, 0.5L);  // at this fraction of it
  LossTails left;
  long double steepest =
      0.0L;  // the slope at the grid's first point: left of it the law's profile is above that tangent
  for (std::size_t i = 0; i < count; ++i) {
    const long double at = static_cast<long double>(out.first + static_cast<std::int64_t>(i)) * width;
    const LossTails here = law.above(at);
    order[i] = expl(at);
    profile[i] = here.p - order[i] * here.q;
    if (i > 0) {
      const LossTails just_before = law.above(at - 1e-9L * width);  // a tangent, also where there is an atom at `at`
      const long double p = left.p - just_before.p;
      const long double q = left.q - just_before.q;
      if (p > 0.0L && q > 0.0L) {
        const long double cell = order[i] - order[i - 1];
        place[i] = std::clamp((p / q - order[i - 1]) / cell, 0.0L, 1.0L);
        gap[i] = place[i] * (1.0L - place[i]) * q * cell;
      }
    }
    left = here;
    if (i == 0) steepest = -here.q;
  }
  // Both ends of a cell are lowered by its gap; an end that has not that much leaves the rest to the other.
  long double owed = 0.0L;  // by this point, for the cell to its right
  for (std::size_t i = count; i-- > 0;) {
    profile[i] *= 1.0L - 1e-15L;
    const long double lowered = std::min(profile[i], std::max(gap[i], owed));
    profile[i] = std::max(0.0L, profile[i] - lowered);
    owed = lowered >= gap[i] ? gap[i] : (gap[i] - lowered * place[i]) / (1.0L - place[i]);
  }
  for (std::size_t i = 1; i < count; ++i) profile[i] = std::min(profile[i], profile[i - 1]);
  take_convex_hull(order, profile);
  out.mass.assign(count, 0.0);
  for (std::size_t i = 1; i + 1 < count; ++i) {
    const long double before = std::max(steepest, (profile[i] - profile[i - 1]) / (order[i] - order[i - 1]));
    const long double after = std::max(steepest, (profile[i + 1] - profile[i]) / (order[i + 1] - order[i]));
    out.mass[i] = static_cast<double>(std::max(0.0L, order[i] * (after - before))) * (1.0 - 1e-12);
  }
  return out;
}

/// The composition before it is convolved.
class Composition {
 public:
  Composition(std::vector<GridLaw> laws, double step) : laws_(std::move(laws)), step_(step) {
    double finite = 0.0;
    for (GridLaw& law : laws_) {
      for (const double mass : law.mass) law.log_mass.push_back(std::log(mass));
      finite += law.times * std::log1p(-law.infinite);
      times_ += law.times;
    }
    infinite_ = -std::expm1(finite) * (1.0 + 1e-12);
  }
  [[nodiscard]] double infinite() const { return infinite_; }

  /// ln E[e^(tilt S)] of the finite part.
  [[nodiscard]] double log_moment(double tilt) const {
    double sum = 0.0;
    for (const GridLaw& law : laws_) sum += law.times * log_moment(law, tilt);
    return sum;
  }
  /// The tilt > 0 whose Chernoff bound on P[S > loss] is least, for loss = epsilon(log_delta): minimises
  /// (log_moment(tilt) - log_delta) / tilt.
  [[nodiscard]] double tilt_for_delta(double log_delta) const {
    return minimise([&](double tilt) { return (log_moment(tilt) - log_delta) / tilt; }, 28);
  }
  [[nodiscard]] double tilt_for_epsilon(double epsilon) const {
    return minimise([&](double tilt) { return log_moment(tilt) - tilt * epsilon; }, 28);
  }
  /// What the bound says: P[S > loss] <= e^bound.
  [[nodiscard]] double log_bound(double tilt, double loss) const { return log_moment(tilt) - tilt * loss; }

  struct Convolved {
    double low = 0.0;          // loss of the first point
    std::vector<double> mass;  // tilted
    double log_weight = 0.0;   // ln of E[e^(tilt S)]
    double tilt = 0.0;
    double error = 0.0;     // of each tilted mass
    bool complete = false;  // no loss is outside the window
  };
  /// The tilted distribution of S within a window that leaves out at most e^log_cut on either side of it.
  [[nodiscard]] Result<Convolved> convolve(double tilt, double log_cut, std::size_t points_max) const;

  [[nodiscard]] double step() const { return step_; }
  /// Relative error of delta's sums: their two decays differ by a step.
  [[nodiscard]] double rounding() const { return 1e-10 + 2e-15 / step_; }

 private:
  [[nodiscard]] double log_moment(const GridLaw& law, double tilt) const {
    WorkMeter::charge(law.log_mass.size());
    const double slope = tilt * step_;
    const double start = slope * static_cast<double>(law.first);
    double largest = -INFINITY;
    for (std::size_t i = 0; i < law.log_mass.size(); ++i)
      largest = std::max(largest, law.log_mass[i] + slope * static_cast<double>(i));
    double sum = 0.0;
    for (std::size_t i = 0; i < law.log_mass.size(); ++i) {
      const double exponent = law.log_mass[i] + slope * static_cast<double>(i) - largest;
      if (exponent > -50.0) sum += std::exp(exponent);
    }
    return std::log(sum) + largest + start;
  }
  /// Of a function that is quasi-convex in ln s; any s is valid, only the accuracy depends on it.
  template <class Function>
  [[nodiscard]] static double minimise(const Function& f, int iterations) {
    double low = std::log(1e-6);
    double high = std::log(1e7);
    constexpr double kGolden = 0.6180339887498949;
    double a = high - kGolden * (high - low);
    double b = low + kGolden * (high - low);
    double fa = f(std::exp(a));
    double fb = f(std::exp(b));
    for (int i = 0; i < iterations; ++i) {
      if (fa < fb) {
        high = b;
        b = a;
        fb = fa;
        a = high - kGolden * (high - low);
        fa = f(std::exp(a));
      } else {
        low = a;
        a = b;
        fa = fb;
        b = low + kGolden * (high - low);
        fb = f(std::exp(b));
      }
    }
    return std::exp(0.5 * (low + high));
  }
  std::vector<GridLaw> laws_;
  double step_;
  double infinite_ = 0.0;
  double times_ = 0.0;
};

Result<Composition::Convolved> Composition::convolve(double tilt, double log_cut, std::size_t points_max) const {
  Convolved out;
  out.tilt = tilt;
  out.log_weight = log_moment(tilt);
  // Chernoff on both sides of the tilted law: ln E~[e^(s S)] = log_moment(tilt + s) - log_moment(tilt).
  const auto reach = [&](double sign) {
    const auto bound = [&](double s) { return (log_moment(tilt + sign * s) - out.log_weight - log_cut) / s; };
    return bound(minimise(bound, 18));
  };
  double all_low = 0.0;
  double all_high = 0.0;
  for (const GridLaw& law : laws_) {
    all_low += law.times * step_ * static_cast<double>(law.first);
    all_high += law.times * step_ * static_cast<double>(law.first + static_cast<std::int64_t>(law.mass.size()) - 1);
  }
  // A few releases' whole support is held: nothing is cut off then.
  out.complete = (all_high - all_low) / step_ < kWholePoints;
  const double low = out.complete ? all_low : std::max(all_low, -reach(-1.0) - step_);
  const double high = out.complete ? all_high : std::min(all_high, reach(1.0) + step_);
  std::size_t points = 64;
  const double needed = (high - low) / step_ + 4.0;
  if (!(needed < static_cast<double>(points_max))) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("the composition needs {:.3g} points, at most {} are allowed", needed, points_max)};
  }
  while (static_cast<double>(points) < needed) points *= 2;
  Eigen::FFT<double> fft;
  fft.SetFlag(Eigen::FFT<double>::HalfSpectrum);
  std::vector<double> wrapped(points);
  std::vector<std::complex<double>> spectrum;
  std::vector<std::complex<double>> log_sum(points / 2 + 1, 0.0);
  double first = 0.0;  // of the sum's grid, in steps
  for (const GridLaw& law : laws_) {
    WorkMeter::charge(4 * points + law.mass.size());
    std::fill(wrapped.begin(), wrapped.end(), 0.0);
    const double log_total = log_moment(law, tilt);
    // Each law is shifted by its tilted mean, so that phases stay small.
    double mean = 0.0;
    for (std::size_t i = 0; i < law.mass.size(); ++i) {
      if (!(law.mass[i] > 0.0)) continue;
      const auto at = static_cast<double>(law.first + static_cast<std::int64_t>(i));
      mean += at * std::exp(law.log_mass[i] + tilt * step_ * at - log_total);
    }
    const auto centre = static_cast<std::int64_t>(std::llround(mean));
    for (std::size_t i = 0; i < law.mass.size(); ++i) {
      if (!(law.mass[i] > 0.0)) continue;
      const std::int64_t at = law.first + static_cast<std::int64_t>(i);
      const auto size = static_cast<std::int64_t>(points);
      wrapped[static_cast<std::size_t>((((at - centre) % size) + size) % size)] +=
          std::exp(law.log_mass[i] + tilt * step_ * static_cast<double>(at) - log_total);
    }
    fft.fwd(spectrum, wrapped);
    for (std::size_t k = 0; k < log_sum.size(); ++k) log_sum[k] += law.times * std::log(spectrum[k]);
    first += law.times * static_cast<double>(centre);
  }
  for (std::size_t k = 0; k < log_sum.size(); ++k) {
    const double size = std::exp(log_sum[k].real());
    const bool nothing = log_sum[k].real() == -INFINITY;
    spectrum[k] = nothing ? std::complex<double>() : std::polar(size, log_sum[k].imag());
  }
  fft.inv(wrapped, spectrum, static_cast<Eigen::Index>(points));
  // Unwrap: the window begins at `low`.
  out.low = low;
  const auto begin = static_cast<std::int64_t>(std::floor(low / step_ - first));
  out.low = (static_cast<double>(begin) + first) * step_;
  out.mass.resize(points);
  const auto size = static_cast<std::int64_t>(points);
  for (std::int64_t i = 0; i < size; ++i)
    out.mass[static_cast<std::size_t>(i)] = wrapped[static_cast<std::size_t>((((begin + i) % size) + size) % size)];
  // Whatever is not a number would be taken for no mass at all.
  if (!std::all_of(out.mass.begin(), out.mass.end(), [](double mass) { return std::isfinite(mass); }))
    return Error{ErrorCode::LimitExceeded, "the composition's transform failed"};
  // Each factor of the spectrum is right to about 1e-16 (20 roundings along the transform), and counts `times` times.
  out.error = (times_ + static_cast<double>(laws_.size()) + 4.0) * 20.0 * 1.2e-16;
  return out;
}

/// Sums from the top of the tilted law: P[S > e] and E_Q-mass, untilted, relative to e^(log_weight).
class TailSums {
 public:
  TailSums(const Composition::Convolved& law, double step, End end) : law_(&law), step_(step) {
    const std::size_t size = law.mass.size();
    const double error = end == End::Upper ? law.error : -law.error;
    // Relative to the tilt's weight at the window's own losses, so that nothing under- or overflows.
    p_.assign(size + 1, 0.0);
    q_.assign(size + 1, 0.0);
    for (std::size_t i = size; i-- > 0;) {
      const double mass = std::max(0.0, law.mass[i] + error);
      // Sums are kept relative to point i: one step down multiplies by e^(-tilt step).
      const double p_decay = std::exp(-law.tilt * step);
      const double q_decay = std::exp(-(law.tilt + 1.0) * step);
      p_[i] = mass + p_decay * p_[i + 1];
      q_[i] = mass + q_decay * q_[i + 1];
    }
  }
  /// delta at loss e: sum over S > e of mass (1 - e^(e - S)).
  [[nodiscard]] double delta(double epsilon) const {
    const double position = (epsilon - law_->low) / step_;
    const auto i = static_cast<std::int64_t>(std::floor(position)) + 1;
    const auto size = static_cast<std::int64_t>(law_->mass.size());
    if (i >= size) return 0.0;
    const auto from = static_cast<std::size_t>(std::max<std::int64_t>(i, 0));
    const double at = law_->low + static_cast<double>(from) * step_;
    const double scale = std::exp(law_->log_weight - law_->tilt * at);
    return scale * std::max(0.0, p_[from] - std::exp(epsilon - at) * q_[from]);
  }

 private:
  const Composition::Convolved* law_;
  double step_;
  std::vector<double> p_;
  std::vector<double> q_;
};

Status check(const std::vector<RepeatedLaw>& laws) {
  std::uint64_t total = 0;
  for (const RepeatedLaw& repeated : laws) {
    UNDERTONE_CHECK(repeated.law != nullptr);
    if (repeated.times > kComposedMax - total) {
      return Error{ErrorCode::LimitExceeded, fmt::format("at most {} releases can be composed", kComposedMax)};
    }
    total += repeated.times;
  }
  if (total == 0) return Error{ErrorCode::InvalidArgument, "there is nothing to compose"};
  return {};
}

/// Both ends on one grid.
class Numeric {
 public:
  /// @param log_cut what each release's extent may leave out, ln
  Numeric(const std::vector<RepeatedLaw>& laws, double log_cut) : laws_(&laws) {
    double variance = 0.0;
    double times = 0.0;
    for (const RepeatedLaw& repeated : laws) {
      extents_.push_back(extent_of(*repeated.law, log_cut));
      variance += extents_.back().variance * static_cast<double>(repeated.times);
      times += static_cast<double>(repeated.times);
    }
    step_ = std::sqrt(variance / times) / 16.0;
    // A grid on which the largest loss of what spreads most is a point: laws with a few losses then fit it.
    std::size_t widest = 0;
    for (std::size_t i = 1; i < extents_.size(); ++i)
      if (spread(i) > spread(widest)) widest = i;
    const double largest = extents_[widest].high;
    step_ = largest / std::ceil(std::max(1.0, largest / std::max(step_, 1e-13)));
  }
  [[nodiscard]] double step() const { return step_; }
  void refine() { step_ *= 0.4; }
  [[nodiscard]] Composition composition(End end) const {
    std::vector<GridLaw> grid;
    for (std::size_t i = 0; i < laws_->size(); ++i) {
      const RepeatedLaw& repeated = (*laws_)[i];
      if (repeated.times == 0) continue;
      grid.push_back(end == End::Upper ? dots(*repeated.law, extents_[i], step_)
                                       : tangents(*repeated.law, extents_[i], step_));
      grid.back().times = static_cast<double>(repeated.times);
    }
    return {std::move(grid), step_};
  }
  /// Points of the largest law's grid.
  [[nodiscard]] bool fits(std::size_t points_max) const {
    return std::all_of(extents_.begin(), extents_.end(), [&](const Extent& extent) {
      return (extent.high - extent.low) / step_ < static_cast<double>(points_max) / 2.0;
    });
  }

 private:
  [[nodiscard]] double spread(std::size_t i) const {
    return extents_[i].variance * static_cast<double>((*laws_)[i].times);
  }
  const std::vector<RepeatedLaw>* laws_;
  std::vector<Extent> extents_;
  double step_ = 0.0;
};

double total_times(const std::vector<RepeatedLaw>& laws) {
  double total = 0.0;
  for (const RepeatedLaw& repeated : laws) total += static_cast<double>(repeated.times);
  return total;
}

/// delta at epsilon of one end.
Result<double> delta_of(const Composition& composition, double epsilon, End end, std::size_t points_max) {
  const double tilt = composition.tilt_for_epsilon(epsilon);
  UNDERTONE_TRY(const Composition::Convolved law, composition.convolve(tilt, kLogCut, points_max));
  const double finite = TailSums(law, composition.step(), end).delta(epsilon);
  const double weight = std::exp(composition.log_bound(tilt, epsilon));
  // The windows' cut on either side: whatever it is of the tilted mass, it weighs at most this.
  const double cut = law.complete ? 0.0 : 2.0 * std::exp(kLogCut) * weight;
  if (end == End::Lower) return std::max(0.0, finite - cut) + composition.infinite() * (1.0 - 1e-10);
  return std::min(1.0, (finite + cut + composition.infinite()) * (1.0 + composition.rounding()));
}

/// The epsilon at which one end's finite part has delta, by any tilt.
Result<double> epsilon_with(const Composition& composition, double tilt, double target, End end,
                            std::size_t points_max) {
  UNDERTONE_TRY(const Composition::Convolved law, composition.convolve(tilt, kLogCut, points_max));
  const TailSums sums(law, composition.step(), end);
  const auto delta_at = [&](double epsilon) {
    const double weight = std::exp(composition.log_bound(tilt, epsilon));
    const double cut = law.complete ? 0.0 : 2.0 * std::exp(kLogCut) * weight;
    const double finite = sums.delta(epsilon);
    return end == End::Upper ? (finite + cut) * (1.0 + composition.rounding()) : finite - cut;
  };
  if (sums.delta(0.0) <= target && delta_at(0.0) <= target) return 0.0;
  // The root of the monotone part, then outwards until what was cut off is covered as well.
  const auto enough = [&](double epsilon) { return !(sums.delta(epsilon) > target); };
  double above = std::max(1e-12, law.low + composition.step() * static_cast<double>(law.mass.size()));
  while (!enough(above)) above *= 2.0;
  const auto [low, high] = bisect_reals({0.0, above}, enough, 100, 1e-13);
  const bool upper = end == End::Upper;
  double epsilon = upper ? high : low;
  for (double nudge = 1e-12; nudge < 1e9; nudge *= 4.0) {
    if (upper ? delta_at(epsilon) <= target : delta_at(epsilon) >= target) return epsilon;
    epsilon = upper ? epsilon * (1.0 + nudge) + composition.step() * nudge : epsilon * (1.0 - std::min(1.0, nudge));
  }
  if (!upper) return 0.0;
  return Error{ErrorCode::LimitExceeded, "the composition's upper end was not found"};
}

Result<double> epsilon_of(const Composition& composition, double delta, End end, std::size_t points_max) {
  const double infinite = composition.infinite();
  if (infinite >= delta) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("delta {} is at most the probability {} of losing everything", delta, infinite)};
  }
  const double target = delta - infinite;
  const double tilt = composition.tilt_for_delta(std::log(target));
  const double sharp = 0.2 / composition.step();
  if (tilt < sharp) return epsilon_with(composition, tilt, target, end, points_max);
  // Where the largest loss alone is likelier than delta, that tilt is infinite. A rough answer says where to aim.
  Result<double> epsilon = epsilon_with(composition, sharp, target, end, points_max);
  for (int i = 0; i < 2 && epsilon; ++i)
    epsilon = epsilon_with(composition, composition.tilt_for_epsilon(*epsilon), target, end, points_max);
  return epsilon;
}

template <class OneEnd>
Result<Bracket> bracket(const std::vector<RepeatedLaw>& laws, double log_cut, const CompositionLimits& limits,
                        const OneEnd& one_end) {
  if (Status checked = check(laws); !checked) return checked.error();
  Numeric numeric(laws, log_cut - std::log(total_times(laws)));
  std::optional<Bracket> best;
  for (int attempt = 0; attempt < 8; ++attempt, numeric.refine()) {
    if (!numeric.fits(limits.points_max)) break;
    if (WorkMeter::stopped()) return Error{ErrorCode::LimitExceeded, "the composition was stopped"};
    const Result<double> upper = one_end(numeric.composition(End::Upper), End::Upper);
    const Result<double> lower = upper ? one_end(numeric.composition(End::Lower), End::Lower) : upper;
    if (!lower && best) break;
    if (!lower) return lower.error();
    if (!best) best = Bracket{*lower, *upper};
    best->lower = std::max(best->lower, *lower);
    best->upper = std::min(best->upper, *upper);
    if (best->upper - best->lower <= limits.gap * best->upper) break;
  }
  if (!best) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("the composition needs a grid of more than {} points", limits.points_max)};
  }
  return *best;
}

}  // namespace

Result<Bracket> composed_epsilon(const std::vector<RepeatedLaw>& laws, releases::Delta delta,
                                 const CompositionLimits& limits) {
  return bracket(laws, std::log(delta.value()) - 18.0, limits, [&](const Composition& composition, End end) {
    return epsilon_of(composition, delta.value(), end, limits.points_max);
  });
}

Result<Bracket> composed_delta(const std::vector<RepeatedLaw>& laws, double epsilon, const CompositionLimits& limits) {
  if (!(epsilon >= 0.0 && std::isfinite(epsilon)))
    return Error{ErrorCode::InvalidArgument, fmt::format("epsilon must be finite and >= 0, got {}", epsilon)};
  // What the grids cut off must be small beside an answer that is not known yet: look again until it is.
  double log_cut = -40.0;
  for (int look = 0;; ++look) {
    Result<Bracket> found = bracket(laws, log_cut, limits, [&](const Composition& composition, End end) {
      return delta_of(composition, epsilon, end, limits.points_max);
    });
    if (!found) return found;
    const double log_delta = std::log(std::max(found->lower, 1e-300));
    const bool settled = found->upper - found->lower <= limits.gap * found->upper;
    if (settled || look == 4 || log_cut < log_delta - 18.0) return found;
    log_cut = std::max(-690.0, std::min(4.0 * log_cut, log_delta - 18.0));
  }
}

}  // namespace undertone::accounting
