#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace undertone {

/// How many letters must be put in, left out or replaced to make one word of the other (Levenshtein 1966).
[[nodiscard]] std::size_t edit_distance(std::string_view one, std::string_view other);

/// The word that was probably meant: the nearest, the first of equally near ones, with a third of its letters wrong at
/// most, but always one. @return empty where none is so near, or the word is longer than 64 letters
[[nodiscard]] std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace undertone
