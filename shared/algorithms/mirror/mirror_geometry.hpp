#pragma once

#include <optional>

#include "shared/algorithms/problem.hpp"
#include "shared/geometry/mirror_map.hpp"

namespace undertone::config {
class Section;
}

/// What the algorithms of mirror descent share: their potential, and what they say of their gradients.
namespace undertone::algorithms {

/// A job's `geometry`: a potential over the job's domain. A problem is noted, and something harmless returned.
[[nodiscard]] geometry::MirrorMap parse_mirror_map(config::Section section, const Problem& problem);

/// q of the dual norm in which an algorithm over this map bounds records' gradients: 2 where the map names no l_p.
[[nodiscard]] double dual_exponent(const geometry::MirrorMap& map);

/// Whether a problem is one of mirror descent over this map.
/// @return an error where the dimension is another, the run is to start elsewhere than at the least point of the
/// potential, or the regulariser is not smooth
[[nodiscard]] Status check_mirror_problem(std::string_view algorithm, const geometry::MirrorMap& map,
                                          const Problem& problem);

/// The point of a state, as it crosses the wire: [d].
[[nodiscard]] Eigen::VectorXd mirror_point(const geometry::MirrorMap& map, const Problem& problem,
                                           const Eigen::VectorXd& state);

/// A bound on E ||noise||_q^2 of independent Gaussian noise on d coordinates: variance d^(2/q) (q - 1), and 2 variance
/// (1 + ln d) for q = infinity; in l2 it is d variance.
/// Source: spec non-euclidean P2, with the constant of small d.
[[nodiscard]] double noise_norm_squared(double exponent, Eigen::Index dimension, double variance);

/// A bound on E ||gradient + noise||_q^2 of gradients of at most this norm: (norm + root of the noise's)^2 by
/// Minkowski, and the sum of the squares in l2, where independent vectors of mean 0 add up so.
[[nodiscard]] double noisy_gradient_squared(double exponent, Eigen::Index dimension, double norm, double variance);

}  // namespace undertone::algorithms
