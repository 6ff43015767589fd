#pragma once

namespace undertone::verifier {

/// 1 - Phi(x).
[[nodiscard]] long double upper_tail(long double x);

/// Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), for mu > 0. Since e^epsilon density(epsilon/mu + mu/2) =
/// density(epsilon/mu - mu/2), both terms are that density times a Mills ratio, and e^epsilon is never formed.
/// Source: Balle and Wang 2018, Theorem 8.
/// @return delta of the Gaussian mechanism of shift mu at this epsilon
[[nodiscard]] long double gaussian_profile(long double epsilon, long double mu);

/// Smallest epsilon >= 0 whose profile is at most delta: 0 where mu is 0, else infinite where delta is 0.
[[nodiscard]] long double smallest_epsilon(long double mu, long double delta);

}  // namespace undertone::verifier
