#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::statistics {

/// Both ends are inside. low <= high.
struct Interval {
  double low = 0.0;
  double high = 0.0;
  [[nodiscard]] double half_width() const noexcept { return 0.5 * (high - low); }
  [[nodiscard]] bool holds(double value) const noexcept { return low <= value && value <= high; }
};
/// What both hold, or the nearest point of `feasible` where they do not meet. @param feasible low <= high
[[nodiscard]] Interval cut_to(Interval interval, Interval feasible) noexcept;

/// How often an interval covers, at least: 1 - alpha.
class Confidence {
 public:
  /// @param value in [0.5, 0.999]
  [[nodiscard]] static Result<Confidence> create(double value);
  [[nodiscard]] double value() const noexcept { return 1.0 - alpha_; }
  [[nodiscard]] double alpha() const noexcept { return alpha_; }
  /// The normal quantile of 1 - alpha / 2: 1.959964 at 0.95.
  [[nodiscard]] double z() const noexcept { return z_; }
  /// Each of `intervals` that shall hold at once: alpha / intervals, 1e-10 at least. @param intervals 1 .. 10^6
  [[nodiscard]] Confidence shared_by(std::int64_t intervals) const;

 private:
  Confidence(double alpha, double z) noexcept : alpha_(alpha), z_(z) {}
  double alpha_;
  double z_;
};

/// How an interval for the population came about. Names and gates are the spec's. Source: spec statistics 2.2.
enum class Method : std::uint8_t {
  None,           // there is none, see the note
  Exact,          // binomial convolved with the noise, inverted
  Score,          // the largest variance that a bounded mean allows
  PlugIn,         // a noised variance, raised, behind a gate on skewness
  Chernoff,       // rigorous for bounded data at every n
  VarianceScore,  // of a variance: the largest variance that it allows
  Box,            // of a variance: from intervals of two moments
  FourMoment,     // of a variance, from four moments
  Fisher,         // of a correlation: near-normal shape declared
  Mover,          // of a difference, from its two intervals
  Fieller,        // of a ratio, inverted
  Normal          // of a coefficient: standard error
};
/// "exact", "score", "plug-in", ...
[[nodiscard]] std::string_view to_string(Method method) noexcept;

/// A number that may be printed. Coverage is unconditional: where something is refused, the interval is trivial.
struct Stated {
  std::optional<double> value;         // never cut to what is possible; nothing where it is refused
  double noise_stddev = 0.0;           // of the value, exactly known unless the note says otherwise
  Interval noise;                      // for the value of these records: the only error is noise
  std::optional<Interval> population;  // for what they are drawn from: noise and sampling
  Method method = Method::None;        // of `population`
  std::optional<double> gate;          // what decided about it: skewness G, rho, ratio to the noise
  std::string note;                    // why something is refused, or what must be said with it; else empty
};
/// offset + factor x the number, everything with it. @param factor finite, not 0
[[nodiscard]] Stated in_units(Stated stated, double offset, double factor);

}  // namespace undertone::statistics
