#pragma once

#include <Eigen/Core>
#include <string_view>
#include <vector>

#include "shared/features/feature_map.hpp"

namespace undertone::statistics {

/// A part of what a feature map adds up to: `size` totals from `first` on, each `factor` times a sum over the records.
struct NamedBlock {
  std::string_view name;  // of what is summed: "numbers", "squares", "products", "cells", "nodes", ...
  Eigen::Index first = 0;
  Eigen::Index size = 0;
  double factor = 1.0;
};
/// All of a map's totals, in order: who reads them asks for a block by its name and knows no place and no factor.
/// "products" are of an upper triangle row by row, and off its diagonal sqrt(2) times the factor.
/// @param map checked
[[nodiscard]] std::vector<NamedBlock> named_blocks(const FeatureMap& map);
/// @pre the map has a block of that name
[[nodiscard]] NamedBlock block_named(const FeatureMap& map, std::string_view name);

}  // namespace undertone::statistics
