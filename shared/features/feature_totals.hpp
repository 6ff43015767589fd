#pragma once

#include <cstdint>
#include <span>

#include "shared/features/feature_map.hpp"

namespace undertone::statistics {

/// Records as they stand in a data set, of which some are read.
struct EncodedRecords {
  const double* features = nullptr;         // [width, n], a record a column
  std::size_t width = 0;                    // of a record, without its label
  std::span<const double> labels;           // [n]
  std::span<const std::int64_t> positions;  // of the columns that are read

  [[nodiscard]] EncodedRecord at(std::int64_t position) const {
    return {{features + static_cast<std::size_t>(position) * width, width}, labels[static_cast<std::size_t>(position)]};
  }
};

/// number x units, rounded to the nearest integer, ties to even; 0 of a number beyond 1.5 or of none.
/// @param units in 1 .. 2^40
[[nodiscard]] std::int64_t rounded_units(double number, double units);

/// Adds phi(x) units, rounded to the nearest integers, of every record that is read, in one pass. What a coordinate of
/// phi has beyond 1.5, or that is no number, counts as 0: no record is told by a defect of a map.
/// @param map checked for records of that width @param units per 1, in 1 .. 2^40
/// @param sum [dimension of the map]
void add_totals(const FeatureMap& map, std::int64_t units, const EncodedRecords& records, std::span<std::int64_t> sum);

}  // namespace undertone::statistics
