#include "shared/statistics/survival/expected_table.hpp"

#include <cmath>

namespace undertone::statistics {

Eigen::VectorXd expected_cells(const ExitLayout& layout, std::span<const double> edges, double records,
                               const SurvivalGuess& guess) {
  const double length = edges.back() - edges.front();
  const double hazard = -std::log(guess.survival) / length;
  const double rate = hazard - std::log1p(-guess.censored) / length;  // of leaving, either way
  const double of_group = records / static_cast<double>(layout.groups);
  Eigen::VectorXd out = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(layout.size()));
  for (std::size_t g = 0; g < layout.groups; ++g) {
    for (std::size_t j = 0; j < layout.intervals; ++j) {
      const double leaving =
          of_group * (std::exp(-rate * (edges[j] - edges.front())) - std::exp(-rate * (edges[j + 1] - edges.front())));
      for (std::size_t k = 0; k < layout.causes; ++k)
        out[layout.event(g, k, j)] = leaving * hazard / rate / static_cast<double>(layout.causes);
      out[layout.censored(g, j)] = leaving * (1.0 - hazard / rate);
    }
    out[layout.survivor(g)] = of_group * std::exp(-rate * length);
  }
  return out;
}

}  // namespace undertone::statistics
