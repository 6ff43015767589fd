#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

namespace undertone::mechanisms {

/// The integers that one release is made of. A record contributes an integer vector of l2 norm at most `clip`; one
/// unit stands for `step` of the real quantity.
struct Lattice {
  std::int64_t clip = 0;  // Lambda, in lattice units, > 0
  double step = 0.0;      // g, real units per lattice unit: metadata, never arithmetic on private data after quantising
};

/// Adds one record's vector to an exact integer sum, clipped so that what is added has integer l2 norm at most
/// `lattice.clip`, verified on the integers themselves. A vector with a NaN or an infinity adds nothing.
/// @param vector [dimension] in real units; used as scratch
/// @param sum [dimension] in lattice units
void add_clipped(Eigen::Ref<Eigen::VectorXd> vector, const Lattice& lattice, std::span<std::int64_t> sum);

}  // namespace undertone::mechanisms
