#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "shared/data/schema.hpp"
#include "shared/data/split.hpp"

namespace undertone::data {

/// Whether a job may ask about some of a data set's columns by its own schema: the label is the same, and every feature
/// that is asked for is one of the data set's, in whatever order, with the same bounds, lists and rules. Sensitive
/// columns are the same, or the job knows none.
/// @return for each encoded feature of `asked` which of `own` it is; nothing where it is no part
[[nodiscard]] std::optional<std::vector<Eigen::Index>> part_of(const Schema& asked, const Schema& own);

/// The data set with these encoded features alone, in this order. A record stays where it is.
[[nodiscard]] Dataset with_features(const Dataset& dataset, const std::vector<Eigen::Index>& features);

}  // namespace undertone::data
