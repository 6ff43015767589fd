#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "shared/config/section.hpp"

namespace undertone::config {

/// A JSON Schema (draft 2020-12). A type of its own, since a JSON value claims to be constructible from anything.
struct DocumentSchema {
  nlohmann::ordered_json root;
};

/// The schema of what a parser takes: types, ranges, choices, required keys, and no others. What is asked for only
/// beside another key, or a value of it, is asked for and allowed there alone, where that key stands in the same object
/// or in one around it. What a parser says of values besides (sums, equal names) is not in it: the schema refuses
/// nothing that the parser takes, and takes some of what it refuses.
/// @param parse of an empty document: asked many times, once for each way through its forks that makes a difference
[[nodiscard]] DocumentSchema document_schema(const std::function<void(Problems&)>& parse, const std::string& title,
                                             const std::string& about);

}  // namespace undertone::config
