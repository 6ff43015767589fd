#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "shared/accounting/renyi.hpp"
#include "shared/base/random_source.hpp"
#include "shared/base/result.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::lab {

/// Private selection: a base mechanism runs a random number of times, each time with settings drawn afresh from a
/// public law, such as uniformly from a grid, and the best run alone is published. The score is part of what a run
/// would publish, so it is paid for by the base; equal scores are ordered by a public rule. The runs that lost and
/// their number stay secret. Every bound holds for a base whose own bound holds for both orders of a pair of
/// neighbours, whatever the settings, and under the base's neighbouring relation.

/// No draw is above this. The bounds are those of the law without the cap, which changes the law of what is published
/// by no more than the probability of passing it.
inline constexpr std::int64_t kRunsMax = 1'000'000;
/// No rule starts more runs than this on average.
inline constexpr double kRunsMeanMax = 1e5;

/// How many runs are started, at least one: the negative binomial law without its zero,
///   P[K = k] = (1 - g)^k / (g^-e - 1) prod over l < k of (l + e) / (l + 1), for shape e and stopping probability g.
/// Shape 1 is geometric: after each run, stop with probability g. Shape 0 is logarithmic, (1 - g)^k / (k ln(1/g)).
/// Source: Papernot and Steinke 2022, Definition 1.
class NegativeBinomialRuns {
 public:
  /// @param shape finite, > -1 @param stopping in (0, 1)
  /// @return an error outside these ranges, or where the mean is above kRunsMeanMax
  [[nodiscard]] static Result<NegativeBinomialRuns> create(double shape, double stopping);
  [[nodiscard]] double shape() const noexcept { return shape_; }
  [[nodiscard]] double stopping() const noexcept { return stopping_; }

 private:
  NegativeBinomialRuns(double shape, double stopping) noexcept : shape_(shape), stopping_(stopping) {}
  double shape_;
  double stopping_;
};

/// A Poisson number of runs: with probability e^-mean there is none, and nothing is published but that.
class PoissonRuns {
 public:
  /// @param mean in (0, kRunsMeanMax]
  [[nodiscard]] static Result<PoissonRuns> create(double mean);
  [[nodiscard]] double mean() const noexcept { return mean_; }

 private:
  explicit PoissonRuns(double mean) noexcept : mean_(mean) {}
  double mean_;
};

using RunsRule = std::variant<NegativeBinomialRuns, PoissonRuns>;

/// Expected number of runs: for the negative binomial e (1 - g) / (g (1 - g^e)), at shape 0 (1/g - 1) / ln(1/g).
[[nodiscard]] double runs_mean(const RunsRule& rule);
[[nodiscard]] double runs_probability(const RunsRule& rule, std::int64_t runs);
/// For simulations: the inverse of the law in double precision, from seeded public randomness. A silo would need the
/// number of runs from its noise bits, exactly. @return 0 .. kRunsMax
[[nodiscard]] std::int64_t draw_runs(RandomSource& source, const RunsRule& rule);

/// Renyi divergence of the published best, at every order a > 1, from the base's r; with b any other order >= 1:
///   negative binomial: r(a) + (1 + e) ((1 - 1/b) r(b) + ln(1/g) / b) + ln(mean) / (a - 1)
///   Poisson: ln(e^-mean + mean e^((a-1) (r(a) + mean d))) / (a - 1), d the base's delta at epsilon ln(1 + 1/(a - 1)).
/// The least over b is found when this is called, d at every call of the curve.
/// Source: Papernot and Steinke 2022, Theorems 2 and 6. Theorem 6 as printed is r(a) + mean d + ln(mean) / (a - 1),
/// which is negative for small means: the part of no run at all, e^-mean under both neighbours, is added here.
[[nodiscard]] accounting::RenyiCurve selection_renyi(const RunsRule& rule, const accounting::RenyiCurve& base);
/// The same for Gaussian releases with this shift in total, d from their exact profile.
[[nodiscard]] accounting::RenyiCurve selection_renyi(const RunsRule& rule, releases::GaussianShift base);

/// Epsilon at delta of the published best, from its Renyi divergence. @return nothing where no order gives a finite one
[[nodiscard]] std::optional<accounting::RenyiEpsilon> selection_epsilon(const RunsRule& rule,
                                                                        const accounting::RenyiCurve& base,
                                                                        releases::Delta delta);

/// Epsilon at delta of the published best, from the exact profile D of Gaussian releases with this shift in total: the
/// epsilon at which D is delta / mean, and
///   negative binomial: + (1 + e) ln(e^x + D(x) (1 - g) / g), the least over x >= 0, or (1 + e) ln(1/g) if that is less
///   Poisson: + mean D(0).
/// Source: Koskela, Redberg, Wang 2024, for the negative binomial; the argument is in the source file.
[[nodiscard]] double selection_epsilon_by_profile(const RunsRule& rule, releases::GaussianShift base,
                                                  releases::Delta delta);

/// The lesser of the two bounds for Gaussian releases with this shift in total. Both hold, so their least does.
[[nodiscard]] double selection_epsilon(const RunsRule& rule, releases::GaussianShift base, releases::Delta delta);

struct SelectionCost {
  double epsilon = 0.0;
  double delta = 0.0;
};
/// The (epsilon, delta) of the published best when the base is (x, d)-DP.
///   negative binomial: x + (1 + e) ln(e^x + d (1 - g) / g), or x + (1 + e) ln(1/g) if that is less, at delta mean d
///   Poisson: x + mean (e^x - 1 + 2 d) / (e^x + 1) at delta mean d.
/// For the geometric law and d = 0 this is at most 3 x whatever g, the theorem of Liu and Talwar 2019 for random
/// stopping. Their own extension to d > 0 is not used.
/// @param base_delta >= 0 @return an error where it is not, or the resulting delta is not below 1
/// Source: Liu and Talwar 2019, section 3; for d > 0 Koskela, Redberg, Wang 2024.
[[nodiscard]] Result<SelectionCost> selection_cost(const RunsRule& rule, releases::Epsilon base, double base_delta);

/// The largest total shift of a Gaussian base, to 1e-7 and rounded down, whose selection costs at most the target: what
/// it returns was evaluated. @return an error where not even a shift of 1e-6 does
[[nodiscard]] Result<releases::GaussianShift> base_shift_for(const RunsRule& rule, releases::Epsilon target,
                                                             releases::Delta delta);

}  // namespace undertone::lab
