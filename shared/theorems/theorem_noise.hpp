#pragma once

#include <optional>
#include <vector>

#include "shared/algorithms/algorithm_settings.hpp"

namespace undertone::theorems {

/// One silo as the closed forms see it. No bound is a default.
struct NoiseFacts {
  double records = 0.0;  // n_i, of the training block: a whole number >= 1
  double drawn = 0.0;    // K_i of them in a sampled release: a whole number in 1 .. n_i
  double epsilon = 0.0;  // of the whole run, > 0
  double delta = 0.0;    // of the whole run, in (0, 1)
};

/// Gaussian shifts, sensitivity / noise standard deviation under replacement of one record, of ONE release for a record
/// that is in it once. Dimensionless: the clip norm L cancels. The noise of a mean over K records follows as
/// 2L/(K shift) for gradients and as 2c/(K shift) for differences whose records are clipped to c, be c the constant 2L
/// or beta times the distance of the points.
struct TheoremShifts {
  std::vector<double> gradients;     // one for all gradient releases; one per phase where records are used in phases
  std::optional<double> difference;  // of all differences, where the algorithm asks for any
};

/// The shifts of the noise that the source prints for its theorem, misprints and loose constants included: a target for
/// reproduction, no guarantee. The accountant decides whether it holds. With l1 = ln(1/delta), l2 = ln(2/delta), all
/// variances per coordinate of one silo's mean over K of n records:
///   minibatch SGD, accelerated on shared records (Theorems 34, 104, 129): 256 L^2 R ln(2.5R/delta) l2 / (n^2 eps^2),
///     K >= eps n / (4 sqrt(2 R l2)), eps <= 2 l2
///   accelerated, one pass (Theorem 124): 32 L^2 ln(1.25/delta) / (eps^2 K^2), eps <= 8 l1
///   localized (federated-core 3.8): as minibatch SGD, with a phase's rounds and records for R and n. That form is for
///     minibatches; on full batches the calibration of choice is the accountant's, and this form has noise to spare
///   proximal SGD (Theorem 144): 8 L^2 l1 / (eps^2 K^2), eps <= min{8 l1, 15}, delta < 1/2, R <= n
///   prox SVRG (Theorem 148), S restarts of E epochs of Q, R = EQ: anchors 256 L^2 S E l2 ln(5E/delta) / (eps^2 n^2),
///     differences 1024 L^2 S R l2 ln(2.5R/delta) / (eps^2 n^2), K >= eps n / (4 sqrt(2 S R l2)), eps <= min{2 l2, 15}
///   SPIDER (Theorem 149): anchors 16 L^2 l1 max(R/q, 1) / (eps^2 n^2), differences 64 L^2 R l1 / (eps^2 n^2) at
///     c = 2L, that is 16 beta^2 R l1 / (eps^2 n^2) times the squared distance; K = n, eps <= 2 l1
/// The least K is compared with K + 1: a silo's share of its records is rounded down.
/// @return an error that says which condition fails, with both numbers; for what has no theorem, such as SPIDER's
///   alternate form
[[nodiscard]] Result<TheoremShifts> theorem_shifts(const algorithms::AlgorithmSettings& settings,
                                                   const NoiseFacts& facts);

/// The shifts of the noise that the source's experiments use, "by the moments accountant", with the same meaning and
/// the same reservation:
///   minibatch SGD: 8 L^2 R l1 / (n^2 eps^2)
///   SPIDER: as in its theorem, at any K; alternate form (Algorithm 25), R = 2E - 1 rounds in all: gradients
///     8 L^2 l2 R / (n^2 eps^2), differences 32 L^2 l2 R / (n^2 eps^2)
/// @return an error where a number is out of range, and for the algorithms that the experiments leave out
/// Source: B.1.10 and B.2.4.
[[nodiscard]] Result<TheoremShifts> experiment_shifts(const algorithms::AlgorithmSettings& settings,
                                                      const NoiseFacts& facts);

/// The shift of one noised step of the experiments' local SGD: a step adds noise of variance
/// 8 L^2 R K l1 / (eps^2 n^2) per coordinate to one record's gradient, whose sensitivity is 2L.
/// @param rounds R >= 1 @param steps K >= 1, local steps of a round
/// @param facts `drawn` is the one record of a step: 1
/// Source: B.1.10; it presumes RK >= n^2 eps / 4, which the experiments do not have.
[[nodiscard]] Result<double> experiment_local_shift(double rounds, double steps, const NoiseFacts& facts);

/// The least batch of the minibatch theorems, eps n / (4 sqrt(2 R l2)), before rounding up; it may exceed n, where
/// every record is read and nothing is left to amplify.
/// @param rounds R, of all restarts together
[[nodiscard]] double least_batch(double rounds, double records, double epsilon, double delta);

}  // namespace undertone::theorems
