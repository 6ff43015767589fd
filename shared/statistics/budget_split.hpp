#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/releases/quantities.hpp"
#include "shared/statistics/noise_law.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// What a question weighs in a split.
struct QuestionSize {
  double weight = 1.0;       // > 0, public
  std::int64_t numbers = 1;  // D
  double sensitivity = 1.0;  // of its vector, in the norm of its noise; > 0
};
/// Shares of mu^2 that minimise the weighted total variance: proportional to sqrt(w D) Delta_2. They sum to 1.
/// Source: spec statistics 13.
[[nodiscard]] Result<std::vector<double>> gaussian_shares(std::span<const QuestionSize> questions);
/// Shares of epsilon, proportional to (w D Delta_1^2)^(1/3): the optimum for large b.
[[nodiscard]] Result<std::vector<double>> laplace_shares(std::span<const QuestionSize> questions);

/// A half-width that a question's total over the silos shall have, noise interval.
struct TargetWidth {
  double half_width = 0.0;   // H > 0, in units of the vector
  double sensitivity = 1.0;  // of the vector, in the norm of its noise; > 0
  double step = 1.0;         // of its lattice: Laplace alone
};
/// mu_q = z sqrt(N) Delta_2 / H_q of every question. What is above the whole mu is the caller's to refuse.
/// @param silos N >= 1, all with the same noise
[[nodiscard]] Result<std::vector<double>> gaussian_shifts_for(std::span<const TargetWidth> targets, std::int64_t silos,
                                                              Confidence confidence);
/// The least epsilon_q (to 1e-6 relative, rounded up) whose exact half-width is at most H_q.
/// @return an error where epsilon 1024 does not serve
[[nodiscard]] Result<std::vector<double>> laplace_epsilons_for(std::span<const TargetWidth> targets, std::int64_t silos,
                                                               Confidence confidence);
/// sqrt(sum mu_q^2), and the sum of epsilons.
[[nodiscard]] double joint_shift(std::span<const double> shifts) noexcept;
[[nodiscard]] double total_epsilon(std::span<const double> epsilons) noexcept;

}  // namespace undertone::statistics
