#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>

#include "shared/base/result.hpp"
#include "shared/mechanisms/lattice.hpp"
#include "shared/noise/generalised_gaussian.hpp"
#include "shared/releases/dual_bound.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// Integer sums of vectors that are bounded in l_q, with noise of density exp(-||z||_r^2 / (2 scale^2)), 2 < r <= q:
/// rho-zCDP with rho = (r - 1) sensitivity^2 / (2 scale^2).
/// Source: Bassily, Guzman and Nandi 2021, Proposition 8, with the divergence of docs/accounting.md, section 5.
struct GeneralisedGaussianLattice {
  Lattice lattice;  // whose clip is of the integers' l2 norm
  noise::GeneralisedGaussian noise;
  /// How far replacing one record moves a sum in l_r, at most, in lattice units: 2 d^(1/r - 1/q) times the bound, and
  /// what floating point may have got wrong about a record's norm.
  double sensitivity = 0.0;
  Eigen::Index dimension = 0;
  releases::RhoAmount cost;

  /// Of the noise on a coordinate, real units.
  [[nodiscard]] double noise_stddev() const;
};

/// Of vectors that are clipped to the bound in l_q and whose coordinates are then rounded towards zero.
/// @param norm r, in (2, q] @param records how many vectors are added up
/// @param rho of one release, rounded down to a multiple of 2^-40
/// @return an error where r is out of its range, d above what is drawn, or a sum or the scale leaves its bits
[[nodiscard]] Result<GeneralisedGaussianLattice> generalised_gaussian_lattice(const releases::DualBound& bound,
                                                                              double norm, releases::Rho rho,
                                                                              Eigen::Index dimension,
                                                                              std::int64_t records);

/// Every number of it, to the last bit: what makes it one that no other is taken for. Digests are of it, so it never
/// changes.
[[nodiscard]] std::string canonical_text(const GeneralisedGaussianLattice& noise);

}  // namespace undertone::mechanisms
