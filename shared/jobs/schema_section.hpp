#pragma once

#include "shared/config/json_section.hpp"
#include "shared/data/schema.hpp"

namespace undertone::jobs {

/// {"label", "features"}: what a job and a silo's data set both say.
[[nodiscard]] data::Schema parse_schema(config::Section section);

/// Refuses bounds that a draft left blank, with the names of their columns, before `parse_schema` points at each.
/// @param data {"label", "features"}, or anything else, which is `parse_schema`'s to refuse
/// @param file for the sentence
[[nodiscard]] Status check_bounds_said(const nlohmann::ordered_json& data, const std::string& file);

/// The inverse of `parse_schema`.
[[nodiscard]] nlohmann::ordered_json to_json(const data::Schema& schema);

}  // namespace undertone::jobs
