#pragma once

#include <Eigen/Core>

#include "shared/data/split.hpp"
#include "shared/releases/records.hpp"

namespace undertone::lab {

/// Two data sets that differ in one record.
struct Neighbours {
  data::Dataset first;
  data::Dataset second;
  releases::Block block = releases::Block::Training;  // of the changed record
  Eigen::Index changed = 0;                           // its position there

  /// The block of one of the two.
  [[nodiscard]] const models::Records& records(const data::Dataset& dataset) const { return dataset.of(block); }
};

}  // namespace undertone::lab
