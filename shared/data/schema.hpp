#pragma once

#include <string>
#include <variant>
#include <vector>

namespace undertone::data {

/// A numeric feature, scaled from its public bounds to [-1, 1]; values outside are clamped.
struct NumericColumn {
  std::string name;
  double min = 0.0;
  double max = 1.0;  // > min
  friend bool operator==(const NumericColumn&, const NumericColumn&) = default;
};

/// A target of two values, mapped to -1 and 1.
struct BinaryLabel {
  std::string column;
  std::string negative;
  std::string positive;
  friend bool operator==(const BinaryLabel&, const BinaryLabel&) = default;
};

/// A numeric target, scaled like a feature.
struct NumericLabel {
  NumericColumn column;
  friend bool operator==(const NumericLabel&, const NumericLabel&) = default;
};

/// What every silo's file holds. Everything here is public and fixed without looking at records.
struct Schema {
  std::variant<BinaryLabel, NumericLabel> label;
  std::vector<NumericColumn> features;
  friend bool operator==(const Schema&, const Schema&) = default;
};

}  // namespace undertone::data
