#pragma once

#include <cmath>

namespace undertone::theorems {

/// This is a public bound on how heavy the tails of records' gradients are, in l2: at every silo and every point w,
/// E ||grad f(w, x)||^k <= bound^k. Whoever writes the job answers for it. No promise rests on it: records are clipped
/// whatever they are. Source: spec heavy-tailed 1, Assumption 9.
struct MomentBound {
  double order = 2.0;  // k >= 2
  double bound = 0.0;  // r_k > 0, of the gradients' unit
};

/// A moment's bound and a clip are within these, so that products of a few are numbers.
inline constexpr double kMomentClipMin = 1e-9;
inline constexpr double kMomentClipMax = 1e9;

/// Returns how far the mean of clipped gradients is from the mean of the gradients at most: r^k / ((k - 1) C^(k - 1)).
/// @param clip C > 0. Source: Lemma 49.
[[nodiscard]] inline double bias_of_clip(const MomentBound& moment, double clip) {
  const double k = moment.order;
  return moment.bound * std::pow(moment.bound / clip, k - 1.0) / (k - 1.0);
}

/// Returns the clip that makes bias^2 + d sigma^2 of one noised mean least: r (A / (2 sqrt(d (k - 1))))^(1/k).
/// @param signal A: at clip C the noise on a coordinate of the mean over silos has the standard deviation 2 C / A
/// @param dimension d. Source: spec heavy-tailed 2.1, corrected by its 0.2.
[[nodiscard]] inline double balanced_clip(const MomentBound& moment, double signal, double dimension) {
  const double k = moment.order;
  return moment.bound * std::pow(signal / (2.0 * std::sqrt(dimension * (k - 1.0))), 1.0 / k);
}

/// Rounds a clip to four digits, so that the last bits of a logarithm, which differ between machines, hardly ever
/// decide which clip it is. Where they do, a silo's plan has another digest than the coordinator's, and the silo
/// refuses.
[[nodiscard]] double stated_clip(double clip);

}  // namespace undertone::theorems
