#pragma once

#include <Eigen/Core>
#include <span>

#include "shared/statistics/survival/exit_layout.hpp"

namespace undertone::statistics {

/// What is guessed of a survival table before anybody answers, from outside knowledge.
struct SurvivalGuess {
  double survival = 0.5;  // S at the last edge, in (0, 1)
  double censored = 0.2;  // of those without an event the share that is lost until then, in [0, 1)
};

/// The cells of records with that constant hazard and that constant rate of censoring. Groups are alike and equally
/// large, and so are causes. @param edges t_0 .. t_J @return [layout.size()]
[[nodiscard]] Eigen::VectorXd expected_cells(const ExitLayout& layout, std::span<const double> edges, double records,
                                             const SurvivalGuess& guess);

}  // namespace undertone::statistics
