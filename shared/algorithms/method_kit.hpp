#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/algorithms/problem.hpp"
#include "shared/geometry/proximal_step.hpp"

namespace undertone::algorithms {

/// What the state machines of several algorithms share.

/// The end of a run whose outcome is a model. @param weights [d]
[[nodiscard]] Step finished(Eigen::VectorXd weights);
/// @param at [d]
[[nodiscard]] Step ask_gradient(std::uint64_t round, const Eigen::VectorXd& at);
/// Every record's gradient at one point less that at another, both [d].
[[nodiscard]] Step ask_difference(std::uint64_t round, const Eigen::VectorXd& at, const Eigen::VectorXd& from);

/// Whether an algorithm was told of the round at which it stands, in its dimension.
/// @param rounds after which it asks nothing any more
[[nodiscard]] Status check_told(std::string_view algorithm, std::uint64_t round, std::uint64_t rounds,
                                const Problem& problem, const folds::Gathered& gathered);
/// Whether a new iterate is finite on the wire; else a step was too long.
[[nodiscard]] Status check_converges(std::string_view algorithm, std::uint64_t round, const Problem& problem,
                                     const Eigen::VectorXd& iterate);
/// The same before a step: whether what it moves to is finite, so that it can be projected.
[[nodiscard]] Status check_step(std::string_view algorithm, std::uint64_t round, const Eigen::VectorXd& from,
                                const Eigen::VectorXd& direction, double step);

/// The step of the proximal algorithms: w <- prox_{eta f1}(w - eta g), f1 the regulariser on the domain.
class ProximalDescent {
 public:
  /// @param algorithm a literal, for errors
  /// @return an error where the step is no step, or the regulariser has no exact proximal map on the domain
  [[nodiscard]] static Result<ProximalDescent> create(std::string_view algorithm, const Problem& problem,
                                                      double step_size);
  /// @param gradient g: [d] @param iterate w: [d], rounded to the wire type afterwards
  [[nodiscard]] Status step(std::uint64_t round, const Problem& problem, const Eigen::VectorXd& gradient,
                            Eigen::VectorXd& iterate) const;

 private:
  ProximalDescent(std::string_view algorithm, double step_size, const geometry::ProximalStep& proximal)
      : algorithm_(algorithm), step_size_(step_size), proximal_(proximal) {}
  std::string_view algorithm_;
  double step_size_;
  geometry::ProximalStep proximal_;
};

void save_vectors(ByteWriter& state, std::initializer_list<const Eigen::VectorXd*> vectors);
/// @param vectors each of the size that is expected, overwritten
[[nodiscard]] Status restore_vectors(ByteReader& state, std::initializer_list<Eigen::VectorXd*> vectors);
/// @param most the largest value that makes sense
[[nodiscard]] Status restore_count(ByteReader& state, std::uint64_t most, std::uint64_t& count);

/// Of counts in closed form: what leaves 64 bits is the largest number.
[[nodiscard]] std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b);
[[nodiscard]] std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b);

}  // namespace undertone::algorithms
