#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shared/config/section.hpp"
#include "shared/data/schema.hpp"

namespace undertone::jobs {

/// Reads "derived" of a schema: columns that follow from others by a public rule.
[[nodiscard]] std::vector<data::DerivedColumn> parse_derived(config::Section& schema);
[[nodiscard]] nlohmann::ordered_json to_json(const data::DerivedColumn& column);

/// The form of dates that a key says.
[[nodiscard]] data::DateFormat parse_date_format(config::Section& section, const std::string& key, const char* about);

/// Derived columns by their names, compared as people see them.
class DerivedByName {
 public:
  /// @param columns outlive this
  explicit DerivedByName(const std::vector<data::DerivedColumn>& columns);
  /// @return null where the file must have the column
  [[nodiscard]] const data::DerivedColumn* find(const std::string& name) const;
  /// The values that a column can have, which are listed once however often it is asked about.
  struct Values {
    std::vector<std::string> list;  // in order; empty where it has no list
    std::unordered_set<std::string> known;
  };
  [[nodiscard]] const Values& values(const data::DerivedColumn& column) const;

 private:
  std::unordered_map<std::string, const data::DerivedColumn*> columns_;
  mutable std::unordered_map<const data::DerivedColumn*, Values> values_;
};

/// Notes where a column is read as something that it is not: a derived text as a number, a list as values that it never
/// has.
void check_reads_number(config::Section& section, const DerivedByName& derived, const data::NumericColumn& column);
void check_reads_list(config::Section& section, const DerivedByName& derived, const std::string& column,
                      const char* key, const std::vector<std::string>& values);

}  // namespace undertone::jobs
