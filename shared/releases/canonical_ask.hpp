#pragma once

#include <optional>
#include <string>

#include "shared/releases/ask.hpp"

namespace undertone::releases {

/// What makes an ask, or a part of one, one that no other is taken for: every number of it, to the last bit. Digests of
/// plans are of these texts, so what they are of an ask that exists never changes. Two asks are alike where their texts
/// are equal, and nobody compares them field by field.
[[nodiscard]] std::string canonical_text(const Bound& bound);
/// Empty where the question's kind says all.
[[nodiscard]] std::string canonical_text(const RecordMap& map);
/// Empty of a sum that names no norm of its noise.
[[nodiscard]] std::string canonical_text(const Form& form);
/// The text is empty where the units are records.
[[nodiscard]] std::string canonical_text(const std::optional<PersonContribution>& persons);
/// But for what was chosen of its noise and its share of a promise, which the mechanism says.
[[nodiscard]] std::string canonical_text(const Ask& ask);

}  // namespace undertone::releases
