#pragma once

#include <cstdint>

#include "shared/algorithms/sgd/accelerated_sgd.hpp"

namespace undertone::theorems {

/// Bounds with constants that a run can be held to, in expectation over its draws and noise. None holds where clipping
/// changes a gradient. Arguments are finite, counts >= 1, moduli > 0, the rest >= 0: the callers' to check.
/// Noise variances are per coordinate of the mean over the answering silos.

/// (N-M)/((N-1)M), 0 if N = 1: times the heterogeneity, what the mean over M uniformly random of N silos varies by.
/// Source: federated-core 7.
[[nodiscard]] double silo_sampling_factor(double silos, double answering);

/// E F(w^ag_R) - F* of one stage of AC-SA:
///   4 upsilon ||w_0 - w*||^2 / (R(R+1)) + min{4 V^2 (R+2) / (3 upsilon), 8 V^2 / (mu (R+1))}.
/// Of an objective with modulus mu >= 0 and smoothness at most upsilon/2. @param distance >= ||w_0 - w*||
/// @param variance V^2 >= E||g - grad F||^2, all coordinates together
/// @param strong_convexity mu that the method is run with; 0: the second term of the minimum is left out
/// Source: Proposition 172 with B = 0, whose noise is Gamma_R sum_r 2 alpha_r^2 V^2 / (Gamma_r (eta_r - beta
/// alpha_r^2)). With a modulus the denominator is mu + eta_r - beta alpha_r^2, at least mu; Gamma_r = 2/(r(r+1)), so
/// that alpha_r^2 / Gamma_r <= 2.
[[nodiscard]] double accelerated_risk(const algorithms::AcceleratedStage& stage, double distance, double variance,
                                      double strong_convexity = 0.0);

/// E F - F* after whole stages of multi-stage AC-SA: gap 2^-k. Source: B.1.6.1, Lemma 127.
[[nodiscard]] double multi_stage_risk(double gap, std::uint64_t stages);

/// E F(w_R) - F* of proximal SGD with step 1/(2 beta): the fixed point of the contraction plus what is left of the gap,
///   q^R gap + (1 - q^R) 4 kappa V^2 / beta,  q = 1 - 1/(2 kappa),
/// as every step does E[F - F*] <- q E[F - F*] + 2 V^2 / beta.
/// @param variance V^2: d s^2 + L^2/(MK) + the silo sampling's
/// Source: (B.45), whose terms are 2 d sigma^2/(beta M) + 2 L^2/(beta M K).
[[nodiscard]] double proximal_sgd_risk(double gap, double smoothness, double strong_convexity, std::uint64_t rounds,
                                       double variance);

/// E F - F* after S restarts of prox SVRG with step 1/(8 beta): every restart does
///   gap <- 24 kappa gap / R + (3/mu)(h upsilon_X^2 + d (s_1^2 + s_2^2) / 2).
/// @param rounds R = EQ, inner steps of a restart @param silo_variance h upsilon_X^2
/// @param noise_variance d (s_1^2 + s_2^2), s_1^2 of anchors, s_2^2 of differences
/// Source: (B.64), (B.65) with the 8 of the step put back in.
[[nodiscard]] double prox_svrg_risk(double gap, double smoothness, double strong_convexity, std::uint64_t restarts,
                                    std::uint64_t rounds, double silo_variance, double noise_variance);

/// E||G_eta||^2, the squared proximal gradient mapping at SPIDER's output: 16 (gap/(eta R) + tau_1^2).
/// Needs a period q <= 1/(eta^2 tau_2^2), and all silos to answer. @param anchor_variance tau_1^2 = d s_1^2
/// Source: proof of Theorem 149.
[[nodiscard]] double spider_stationarity(double gap, double step_size, std::uint64_t rounds, double anchor_variance);

}  // namespace undertone::theorems
