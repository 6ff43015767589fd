#pragma once

#include <string>

#include "shared/data/schema.hpp"
#include "shared/features/feature_map.hpp"

namespace undertone::silo {

/// What a feature map adds up, in words of the schema: "the counts of age in 8 ranges from 17 to 90".
/// @pre the map was checked against the schema's encoded width
[[nodiscard]] std::string describe_features(const statistics::FeatureMap& features, const data::Schema& schema);

}  // namespace undertone::silo
