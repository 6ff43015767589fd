#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/reproduce/reproduce_command.hpp"

/// fig2.1, fig3.3, fig3.4 and fig4.1: the source's tables of rates, drawn from their formulas with constants dropped,
/// and over them what the product predicts of its own methods, constants included.
namespace undertone::lab {

/// This holds what a line of a map is at one x. A number is missing where a theorem's conditions fail.
struct RateAndBound {
  std::optional<double> rate;   // of the source, no bound
  std::optional<double> bound;  // of the product, of its own method
};

struct RateLine {
  std::string name;
  std::function<Result<RateAndBound>(double x)> at;
};

struct RatePanel {
  std::string title;
  std::string measure;  // "excess risk"
  std::vector<RateLine> lines;
};

struct RateMap {
  std::string name;          // "fig3.3"
  std::string introduction;  // the fixed numbers, one paragraph
  std::string axis;          // "records a silo"
  std::vector<double> values;
  std::vector<RatePanel> panels;
};

[[nodiscard]] std::vector<RateMap> rate_maps(FigureSize size);

/// Writes one map's table, text and picture. No records are made and nothing is drawn at random.
/// @return an error where there is no such map
[[nodiscard]] Status reproduce_rates(std::string_view name, const ReproduceRequest& request);

}  // namespace undertone::lab
