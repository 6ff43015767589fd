#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/ledger_texts.hpp"
#include "verifier/problems.hpp"

namespace undertone::verifier {

/// The texts of a body or of the head file by their keys, unescaped.
using Fields = std::map<std::string, std::string>;
using Keys = std::vector<std::string_view>;

/// The texts of a document, which has to be one flat object of them with each key once.
/// @param where begins the sentence of a problem
[[nodiscard]] std::optional<Fields> parse_fields(std::string_view text, const std::string& where, Problems& problems);

/// Whether these keys are there and no others, each with a value of the look that the format gives it.
/// @param format in which costs are spelled, where there are any
[[nodiscard]] bool has_exactly(const Fields& fields, const Keys& keys, Format format, const std::string& where,
                               Problems& problems);

/// Whether an entry's body has a kind of the format, and exactly the keys of that kind.
/// @param format of the ledger where the entry stands
[[nodiscard]] bool is_well_formed(const Fields& fields, Format format, const std::string& where, Problems& problems);

}  // namespace undertone::verifier
