#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "shared/base/result.hpp"

namespace undertone::operators {

/// Reads values from JSON that somebody else wrote. Where one has another type than is read, or is missing, that is an
/// error that names the source, and no library's exception.
/// @param source a file or whoever answered, for the error @param work returns a Result
template <class Work>
[[nodiscard]] auto reading_json(const std::string& source, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const nlohmann::json::exception& /*of another type*/) {
    return Error{ErrorCode::InvalidData,
                 source + ": a value is missing or has another type than this version of the program reads"};
  }
}

}  // namespace undertone::operators
