#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/data/split.hpp"

namespace undertone::data {

/// A person's id under a secret key: what stands for her in memory, in place of the id.
using PersonKey = std::array<std::uint8_t, 16>;

/// The column of a file that says whose each record is. It is the silo's own: no job names it, and it is no feature.
struct PersonColumn {
  std::string column;
  /// A keyed hash of an id without the blanks at its ends. Two cells are one person where the ids are then equal. Of a
  /// record without an id it is asked for a blank and what stands in its cells: no id begins with a blank.
  std::function<PersonKey(std::string_view id)> key = {};
  /// Each record without an id is a person of its own; else it is an error.
  bool without_id_alone = false;
  /// Besides, ids are looked at that nearly agree: for the owner's terminal alone. @see loose_id
  bool looks_for_near_ids = false;
};

/// The id in a cell: without spaces and tabs at its ends.
[[nodiscard]] std::string_view id_in(std::string_view cell) noexcept;

/// This finds what ids have in common that differ in case, in zeros at their beginning or in blanks within them.
/// @param out overwritten; whoever calls this wipes it
void loose_id(std::string_view id, std::string& out);

/// Puts the records of each person together, persons in ascending order of their keys, and divides them into blocks by
/// that order alone: the first floor(f P) are the holdout, those beyond the published ones sit out. Neither the order
/// of the file nor any value decides where somebody stands. So if one person is replaced by another, with any records
/// anywhere in the file, the arrangement has the same law, and everybody else can keep her place.
/// Source: spec person-unit 2.2.
/// @param persons [records] the key of each record's person
/// @param rule of persons: `holdout_fraction`, and `records_published` for how many persons are published; its seed is
/// not looked at
/// @return an error where there are fewer persons than are to be published; it names no number of records
[[nodiscard]] Result<Dataset> split_persons(const models::Records& records, const std::vector<PersonKey>& persons,
                                            const SplitRule& rule);

}  // namespace undertone::data
