#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "shared/base/result.hpp"
#include "silo/policy/objections.hpp"

namespace undertone::silo {

/// An authority's or a committee's leave to use a data set. Without a valid one a data set that needs it answers
/// nothing.
struct Permit {
  std::string id;       // as whoever gave it knows it
  std::string purpose;  // in their words
  std::string until;    // YYYY-MM-DD: the last day, which ends at midnight UTC
};

/// @return an error where the text is no date
[[nodiscard]] Result<std::int64_t> permit_end(const std::string& until);

/// The permit in a line: "DE-2026-17, for research on readmission, until 2027-06-30".
[[nodiscard]] std::string describe(const Permit& permit);

/// What an ended permit has against every job and every answer. @param now seconds since 1970
[[nodiscard]] std::optional<Objection> permit_objection(const std::optional<Permit>& permit, std::int64_t now);

}  // namespace undertone::silo
