#pragma once

#include <filesystem>
#include <map>
#include <tuple>
#include <vector>

#include "lab/reproduce/training.hpp"

namespace undertone::lab {

/// One point of a figure: a cohort, a method, its noise and its target.
using PointKey = std::tuple<std::size_t, Method, NoiseRule, double>;

/// What all splits gave, and what its noise really costs.
struct PointResults {
  std::vector<Trained> splits;  // by split
  RealCost cost;                // of the setting that won most often; zero without privacy
};
using FigureResults = std::map<PointKey, PointResults>;

/// The points of a figure in the order in which they are trained: without privacy first, then by target.
[[nodiscard]] std::vector<PointKey> points_of(const Experiment& experiment);

/// Writes FIGURE.csv, FIGURE.md with a verdict for each claim, and the pictures. @return the text of FIGURE.md
[[nodiscard]] Result<std::string> write_figure_report(const Experiment& experiment, const FigureResults& results,
                                                      const std::filesystem::path& folder);

}  // namespace undertone::lab
