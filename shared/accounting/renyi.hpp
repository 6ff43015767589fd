#pragma once

#include <functional>
#include <optional>

#include "shared/accounting/loss_law.hpp"
#include "shared/base/result.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::accounting {

using releases::Rho;

/// Epsilon at delta of rho-zCDP: rho + 2 sqrt(rho ln(1/delta)). Source: Bun and Steinke 2016, Prop. 1.3.
[[nodiscard]] double epsilon_of_zcdp_closed(Rho rho, releases::Delta delta);
/// The smallest epsilon that Renyi DP allows: inf over order of the conversion below. Source: Canonne, Kamath, Steinke
/// 2020, Prop. 12 and Cor. 13.
[[nodiscard]] double epsilon_of_zcdp(Rho rho, releases::Delta delta);
/// Their inverses: the largest rho, rounded down.
[[nodiscard]] double rho_for_closed(releases::Epsilon epsilon, releases::Delta delta);
[[nodiscard]] double rho_for(releases::Epsilon epsilon, releases::Delta delta);

/// Renyi divergence at an order > 1; infinity where it is not finite.
using RenyiCurve = std::function<double(double order)>;

struct RenyiEpsilon {
  double epsilon = 0.0;
  double order = 0.0;  // at which it is attained
};
/// Epsilon at delta: the least over orders > 1.01 of r + ln(1 - 1/a) - (ln delta + ln a)/(a - 1), a grid and then a
/// search around its best; any order gives a valid bound. @return nothing where no order gives a finite one
/// Source: Canonne, Kamath, Steinke 2020, Prop. 12.
[[nodiscard]] std::optional<RenyiEpsilon> epsilon_of_renyi(const RenyiCurve& curve, releases::Delta delta);

[[nodiscard]] double gaussian_renyi(releases::GaussianShift shift, double order);
/// Source: Mironov 2017, Prop. 6.
[[nodiscard]] double laplace_renyi(releases::Epsilon epsilon, double order);
/// Of randomised response, the worst epsilon-DP release: at most min(epsilon, order epsilon^2 / 2).
[[nodiscard]] double pure_renyi(releases::Epsilon epsilon, double order);
/// Of a law that is the same in both orders, from its profile, rounded up:
///   ln(1 + a (a - 1) integral over t > 0 of (e^((a-1) t) + e^(-a t)) delta(t) dt) / (a - 1).
/// The mass of an infinite loss is left out: it belongs to delta, once for every release.
/// Source: spec privacy-core D.5; a dominating pair dominates every f-divergence.
[[nodiscard]] double profile_renyi(const LossLaw& law, double order);
/// Poisson sampling under add/remove, the worse of the two orders, which is removal. @param shift of one contribution
/// Source: Mironov, Talwar, Zhang 2019; the moment by quadrature, for any order.
[[nodiscard]] double poisson_renyi(double rate, releases::GaussianShift shift, double order);

/// rho of noise of density proportional to exp(-||z||_p^2 / (2 scale^2)) on a vector: (p - 1) sensitivity^2 /
/// (2 scale^2), without p - 1 for p = 2, rounded up.
/// @param norm p, in [2, 1e6] @param scale, sensitivity in the p-norm, finite and > 0, of one unit
/// Source: smoothness of half the squared p-norm; proof in docs/accounting.md, a factor alpha below privacy-core B.5
/// and Bassily, Guzman and Nandi 2021, Proposition 8.
[[nodiscard]] Result<Rho> generalised_gaussian_rho(double norm, double scale, double sensitivity);

/// Of a fixed-size subset that is drawn without replacement and answered by something rho-zCDP, under replacement of
/// one record. At an order that is no integer it is that of the next one, since no divergence falls with the order;
/// never more than order rho, which holds whatever was drawn; above an order of 1024 that. @param rate K/n, in (0, 1]
/// Source: Wang, Balle and Kasiviswanathan 2019, Theorem 9.
[[nodiscard]] double subset_zcdp_renyi(double rate, Rho rho, double order);

}  // namespace undertone::accounting
