#pragma once

#include <cstdint>
#include <vector>

#include "shared/algorithms/mirror/staged_mirror_descent.hpp"

/// The phases that the theorem of convex objectives asks for, and the stages of phases of strongly convex ones.
namespace undertone::algorithms {

/// What bounds a stage's excess risk, and so how near to the optimum the next one is taken to begin. Either is public,
/// and no noise depends on it: a wrong one costs accuracy and no privacy.
enum class StageScale : std::uint8_t {
  /// B of `choose_mirror_stages`, which holds. Its constants are large: of few records no stage is known to come
  /// nearer.
  Proven,
  /// The order that the source prints, with constant 1, and that of a first phase whose rounds are cut: L D_i
  /// (1/sqrt((p-1) m) + sqrt(d f ln(1/delta))/((p-1) n_i eps sqrt N) + 1/((p-1) sqrt(T_i1))). It may be too small, and
  /// then phases cannot reach the optimum.
  Printed,
};

/// Public numbers of a run. No number is a default.
struct MirrorStageFacts {
  double norm = 0.0;              // of the setup, in [1, 2]
  Eigen::Index dimension = 0;     // d
  double diameter = 0.0;          // D in l_norm, of any point a run can come to, to the optimum
  std::uint64_t records = 0;      // n, of every silo
  std::uint64_t silos = 0;        // N, which all answer with weights 1/N, and whose records have one law
  double epsilon = 0.0;           // of every silo
  double delta = 0.0;             // of every silo, in (0, 1)
  double lipschitz = 0.0;         // L: no record's gradient is longer in the dual norm
  double strong_convexity = 0.0;  // lambda of the objective in l_norm, > 0
  std::uint64_t rounds_max = 0;   // of the whole run, at most releases::kRoundsMax
  StageScale scale = StageScale::Proven;
};

/// A phase with the records it reads.
struct SizedMirrorPhase {
  MirrorPhase phase = {};
  std::uint64_t records = 0;  // n_ij, of each silo
  std::uint64_t batch = 0;    // b_ij that the source draws of them; with all of them read a round is no noisier
};

struct SizedMirrorStage {
  double diameter = 0.0;   // D_i
  double step_size = 0.0;  // eta of the stage
  double bound = 0.0;      // of its output's excess risk, as the scale has it
  bool cut = false;        // whether its first phase has no more rounds than the cut left it
  std::vector<SizedMirrorPhase> phases = {};
};

struct MirrorStageChoice {
  std::vector<SizedMirrorStage> stages = {};
  [[nodiscard]] std::vector<MirrorStage> mirror_stages() const;
};

/// k = ceil(log2 log2 n) stages. Stage i has as many phases j = 1, 2, .. as leave two records of floor(n_i/2^j), with
/// n_i = floor(2^(i-2) n/log2 n) as printed; whole parts then give a phase n_ij records, from 2/3 to 5/2 of that, and
/// everything below is of these, with n_i = 2 n_i1 and m = n_i N. With p the potential's, q = p/(p-1), f = log2 d of
/// the l1 setup, 1 + log2 d of others below 2 and 1 of p = 2, every logarithm at least 1:
///   eta = D_i/L min{1/sqrt((p-1) m), eps/sqrt(N d f ln(1/delta))}, where the rounds of the first phase are capped at
///         D_i sqrt(T_i1)/(L m) at most,
///   eta_j = 2^-4j eta, and with mu = n_ij N  T_ij = ceil(max{1, min{mu/(p-1), N n_ij^2 eps^2/d}}),
///   R_ij = 2 L eta_j mu (p-1), lambda_ij = 2/(eta_j mu) of h = |x - c|_p^2/(2(p-1)), of either setup.
/// The rounds of all phases are cut at one number, the largest with which they are no more than `rounds_max`. All
/// phases have (eps, delta): they read records of their own, and the noise of 2^-j eps that the source plans is more.
/// Then D_1 = D, and D_{i+1} = min{D, sqrt(2 bound_i/lambda)} by strong convexity.
///
/// B of a stage holds for convex losses that nothing clips, where E |x_{i-1} - x*|_p^2 <= D_i^2:
///   B = D_i^2/(eta_1 mu_1 (p-1)) + L_p^2 sum_j eta_j + sum_{j>=2} e_{j-1}^2/(eta_j mu_j (p-1)) + L_p e_K,
///   e_j^2 = min{G_j^2 (eta_j mu_j)^2/(T_ij + 1), 4 R_ij^2},  G_j = L_p + 4 L + z_j,
///   L_p = d^(1/q - 1/q') L < 2 L, 1/q' = 1 - 1/norm,  z_j^2 at least E |noise|_q^2,
///   of variance v_j = 2 T_ij d^(1 - 2/q') L^2/(w n_ij^2 N) a coordinate, w = (sqrt(ln(1/delta) + eps) -
///   sqrt(ln(1/delta)))^2,
/// and no more than L D, which holds of any point. Proof: T releases of all records of a phase at w/T-zCDP each are
/// (eps, delta)-DP, and the accountant's noise is no larger than theirs. F_j = the mean loss + lambda_ij h is
/// lambda_ij-strongly convex in l_p, and its minimiser y_j over X is within L_p eta_j mu (p-1) <= R_ij of c. A step
/// goes along a gradient of F_j of square norm G_j^2 at most, its proximity part lambda_ij R_ij/(p-1) = 4 L: so F_j's
/// excess at the output x_j is 2 G_j^2/(lambda_ij (T_ij + 1)) at most, and E |x_j - y_j|_p^2 <= e_j^2. Replacing one of
/// mu records moves y_j by 2 L_p/(lambda_ij mu), whence E F(y_j) - F(y) <= lambda_ij E h(y) + L_p^2 eta_j for every y
/// that does not depend on the phase's records: y = x* at first, then y_{j-1}. The sum of these telescopes. Lattices,
/// far below the noise, are not counted.
/// @return an error where a number is out of range, the first stage is too small for a phase, or there are fewer rounds
/// than phases
/// Source: spec non-euclidean A4, FED-A2 in 3.3, 5.2; Asi, Feldman, Koren and Talwar 2021, Theorems 4, 5 and 8, whose
/// constants it gives; of the stage rule the source says only that each begins where the one before ended.
[[nodiscard]] Result<MirrorStageChoice> choose_mirror_stages(const MirrorStageFacts& facts);

/// One stage on all records, of convex objectives: phases j = 1, 2, .. that leave two records of floor(n/2^j) read as
/// many, as those of LocalizedMirrorDescent do. Everything else is as above with D_1 = D; `strong_convexity` is not
/// read, and B rests on none.
/// @return an error where a number is out of range, n is below 4, or there are fewer rounds than phases
/// Source: spec non-euclidean A2, FED-A2 in 3.3; Asi, Feldman, Koren and Talwar 2021, Theorems 4, 5 and 13.
[[nodiscard]] Result<SizedMirrorStage> choose_mirror_phases(const MirrorStageFacts& facts);

}  // namespace undertone::algorithms
