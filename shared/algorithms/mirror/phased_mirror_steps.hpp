#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/algorithms/problem.hpp"
#include "shared/geometry/local_p_norm.hpp"

namespace undertone::algorithms {

/// T_i steps on F(x) + lambda h_i(x), h_i(x) = ||x - c||_p^2 / (2 (p - 1)), over the part of X within `radius` of c in
/// l_p, c the output of the phase before (the starting point of the first).
struct MirrorPhase {
  std::uint64_t rounds = 0;         // T_i
  double relative_convexity = 0.0;  // lambda > 0
  double radius = 0.0;              // R_i > 0
};

/// p of the potential of phases in the setup of l_norm: that norm's, but no less than the l1 setup's.
[[nodiscard]] double phased_mirror_power(double norm, Eigen::Index dimension);

/// Phases of mirror descent one after the other, each around where the one before ended: the steps of localised mirror
/// descent, whoever says which records a phase reads. @see LocalizedMirrorDescent
class PhasedMirrorSteps {
 public:
  /// @param algorithm a literal, for errors @param norm of the setup, in [1, 2] @param phases at least one
  /// @return an error where a phase has no rounds, a number is out of range, the domain is neither the l1 ball nor all
  /// of space, there is a regulariser, or the rounds are more than releases::kRoundsMax
  [[nodiscard]] static Result<PhasedMirrorSteps> create(std::string_view algorithm, const Problem& problem, double norm,
                                                        std::vector<MirrorPhase> phases);

  /// What is asked now, or the end.
  [[nodiscard]] Step current() const;
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered);
  /// The phase's average so far; its centre before its first answer.
  [[nodiscard]] Eigen::VectorXd candidate() const;
  void save(ByteWriter& state) const;
  [[nodiscard]] Status restore(ByteReader& state);

 private:
  PhasedMirrorSteps(std::string_view algorithm, Problem problem, std::vector<MirrorPhase> phases,
                    std::vector<geometry::LocalPNorm> maps, std::uint64_t rounds);
  std::string_view algorithm_;
  Problem problem_;
  std::vector<MirrorPhase> phases_;
  std::vector<geometry::LocalPNorm> maps_;  // of each phase
  std::uint64_t rounds_;                    // of all phases
  std::uint64_t round_ = 0;                 // of the whole run
  std::uint64_t phase_ = 0;
  std::uint64_t step_ = 1;   // k, of the phase
  Eigen::VectorXd iterate_;  // x_k, rounded to the wire type
  Eigen::VectorXd average_;  // of x_1 .. x_{k-1}
  Eigen::VectorXd centre_;   // c
};

}  // namespace undertone::algorithms
