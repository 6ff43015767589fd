#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/statistics/lattice_law.hpp"
#include "shared/statistics/normal_laplace_law.hpp"

namespace undertone::statistics {

/// P[Z = k step] proportional to e^(-|k| / scale), k any integer.
struct LaplaceNoise {
  double scale = 0.0;  // b > 0, in lattice units
  double step = 0.0;   // > 0, real units
};
/// A normal law, rounded to multiples of a step.
struct GaussianNoise {
  double stddev = 0.0;  // > 0, real units, before rounding
  double step = 0.0;    // >= 0, real units; 0: not rounded
};
/// What a silo added to one number, exactly known.
using CoordinateNoise = std::variant<LaplaceNoise, GaussianNoise>;
/// One silo's noise as it stands in a linear estimate.
struct NoiseTerm {
  CoordinateNoise noise;
  double weight = 1.0;  // finite, not 0
};

/// The law of sum_i weight_i Z_i with independent Z_i: symmetric about 0. Everything it says is certified: a
/// probability of being inside is rounded down, one of being outside up, so that an interval covers at least as often
/// as it says. What is lost by that is below 1e-9 in probability, or a few lattice steps where those are small beside
/// the noise. Source: spec statistics 2.1.
class NoiseLaw {
 public:
  static constexpr std::size_t kTermsMax = 10'000;
  /// @return an error that names the number where one is out of range, or there are no terms or too many
  [[nodiscard]] static Result<NoiseLaw> create(std::vector<NoiseTerm> terms);
  /// Of independent noises, each times its weight. @param laws at least one
  [[nodiscard]] static Result<NoiseLaw> sum(const std::vector<std::pair<NoiseLaw, double>>& laws);

  [[nodiscard]] const std::vector<NoiseTerm>& terms() const noexcept { return terms_; }
  /// Exactly: 2 q / (1 - q)^2 step^2, q = e^(-1/b), of a Laplace term; stddev^2 + step^2 / 12 of a Gaussian one.
  [[nodiscard]] double variance() const noexcept { return variance_; }
  [[nodiscard]] double stddev() const noexcept;
  /// Fourth cumulant / variance^2: 0 of a normal law, 3 of a continuous Laplace one.
  [[nodiscard]] double excess_kurtosis() const noexcept { return excess_kurtosis_; }
  /// No term is Laplace.
  [[nodiscard]] bool is_gaussian() const noexcept;
  /// The step of which every value is a multiple, where all terms are Laplace with one |weight| x step and the law is a
  /// table. Then `half_width` is a multiple of it, and 0 says that the number is exact with that probability.
  [[nodiscard]] std::optional<double> lattice_step() const noexcept;

  /// The least w (on the lattice, else to 1e-9 relative) with P[|Z| > w] <= alpha. @param alpha in [1e-10, 1)
  [[nodiscard]] double half_width(double alpha) const;
  /// P[|Z| > width], rounded up. @param width >= 0
  [[nodiscard]] double outside(double width) const;
  /// P[Z <= x], rounded up, but where there is no lattice and x > 0 only up to the wider law's fourth order in 1 / b;
  /// P[Z >= x] is at_most(-x).
  [[nodiscard]] double at_most(double x) const;
  /// P[|Z + N(0, normal_variance)| > width]: noise and the error of a sample. Asymptotic where the sample's error is,
  /// so Laplace terms are taken as continuous. @param normal_variance >= 0 @param width >= 0
  [[nodiscard]] double outside_with_normal(double normal_variance, double width) const;
  /// The least w with outside_with_normal(_, w) <= alpha.
  [[nodiscard]] double half_width_with_normal(double normal_variance, double alpha) const;

 private:
  NoiseLaw() = default;
  /// N(0, variance) with this law's Laplace terms as continuous ones.
  [[nodiscard]] NormalLaplaceLaw with_normal(double variance) const;
  std::vector<NoiseTerm> terms_;
  double variance_ = 0.0;
  double excess_kurtosis_ = 0.0;
  std::optional<LatticeLaw> lattice_;
  double lattice_step_ = 0.0;
  NormalLaplaceLaw dominating_;  // where there is no lattice: Z less a remainder of at most `slack_` is more peaked
  double slack_ = 0.0;
  double slack_failure_ = 0.0;  // probability of a larger remainder
};

}  // namespace undertone::statistics
