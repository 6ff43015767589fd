#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lab/reproduce/reproduce_command.hpp"
#include "shared/base/result.hpp"

/// heavy4-data: clips by a moment on insurance charges and on Parkinson scores, against the best clip of a grid and
/// against what a draft chooses. Least squares of five silos. Source: spec heavy-tailed 0.2.
namespace undertone::lab {

enum class CostsMethod : std::uint8_t {
  BestClip,  // of a grid, chosen by the test loss of the other repetitions: that choice is not private
  Known,     // the clip of the moment of order 4 at the records' own least squares: the bound is not private
  Double,    // of twice that bound
  Half,      // of half of it
  Bought,    // of a bound that a run of statistics released, whose cost is part of the promise
  Draft      // what `undertone draft` chooses without a look at records
};
[[nodiscard]] std::string_view to_string(CostsMethod method) noexcept;

struct CostsFigure {
  std::vector<std::string> data;  // "insurance", "parkinsons"
  std::vector<double> epsilons;   // of every record at its silo, delta 1e-5
  std::vector<double> clips;      // the grid
  std::size_t repetitions = 2;    // each with a partition and noise of its own, >= 2
  bool judged = true;
};
[[nodiscard]] CostsFigure costs_figure(FigureSize size);

/// Returns test losses of one repetition, one for each clip of the grid; of the other methods one.
/// @param folder of the data sets' files
[[nodiscard]] Result<std::vector<double>> costs_losses(const CostsFigure& figure, const std::string& data,
                                                       CostsMethod method, double epsilon, std::uint64_t seed,
                                                       const std::filesystem::path& folder);

/// Runs what FIGURE.jsonl does not have yet and writes table, picture and verdicts.
[[nodiscard]] Status reproduce_costs(const CostsFigure& figure, const ReproduceRequest& request);

inline constexpr std::string_view kCostsFigure = "heavy4-data";

}  // namespace undertone::lab
