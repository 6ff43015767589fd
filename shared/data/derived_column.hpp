#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/data/dates.hpp"

namespace undertone::data {

/// The time from one date to another, in days or in years of 365.25 days. It is negative where the second is earlier.
struct TimeBetween {
  enum class Unit { Days, Years };
  std::string from;
  std::string to;
  DateFormat date = DateFormat::YearMonthDay;  // of both
  Unit unit = Unit::Days;
  friend bool operator==(const TimeBetween&, const TimeBetween&) = default;
};

/// A part of a date, as a whole number.
struct DatePart {
  enum class Part { Year, Month, Weekday };  // weekdays from 1, Monday, to 7 (ISO 8601)
  std::string from;
  DateFormat date = DateFormat::YearMonthDay;
  Part part = Part::Year;
  friend bool operator==(const DatePart&, const DatePart&) = default;
};

/// The natural logarithm of a number and something that is added to it. Where their sum is not above 0 it is below
/// every bound that a schema may have.
struct Logarithm {
  std::string from;
  double plus = 0.0;
  bool limits = false;  // a cell such as "<0.6" counts as its limit; else it is an error
  friend bool operator==(const Logarithm&, const Logarithm&) = default;
};

/// The interval that a number is in: below the first edge, from an edge to below the next, from the last edge on.
struct Bins {
  std::string from;
  std::vector<double> edges;       // ascending
  std::vector<std::string> names;  // one more than edges
  bool limits = false;             // as of logarithms
  friend bool operator==(const Bins&, const Bins&) = default;
};

/// The group that a public list puts a text into. A listed value goes before prefixes, and a longer prefix before a
/// shorter one.
struct Merged {
  struct Group {
    std::string name;
    std::vector<std::string> values;
    std::vector<std::string> prefixes;
    friend bool operator==(const Group&, const Group&) = default;
  };
  std::string from;
  std::vector<Group> groups;
  std::string rest;  // the name of what is in no list; empty: such a text stays what it is
  friend bool operator==(const Merged&, const Merged&) = default;
};

/// One of so many buckets by a public hash of a text: the first 8 bytes of its SHA-256, read as a big-endian number,
/// modulo the buckets. Texts of one bucket cannot be told apart.
struct Buckets {
  std::string from;
  std::size_t buckets = 2;
  friend bool operator==(const Buckets&, const Buckets&) = default;
};

/// A column that no file holds: what each record has in it follows from its other cells alone, by a public rule.
struct DerivedColumn {
  std::string name;
  std::variant<TimeBetween, DatePart, Logarithm, Bins, Merged, Buckets> rule;
  std::vector<std::string> missing = {""};  // what is written where a cell that it comes from has no value
  friend bool operator==(const DerivedColumn&, const DerivedColumn&) = default;
};

/// The columns that it comes from: of the file, or derived before it.
[[nodiscard]] std::vector<std::string> sources_of(const DerivedColumn& column);

/// The kind of a column's cells decides what may be derived from it, and which features may read it.
enum class CellKind { Number, WholeNumber, Text };
[[nodiscard]] CellKind kind_of(const DerivedColumn& column);
/// Its sources must be of this kind where they are derived themselves. A file's columns hold texts of any kind.
[[nodiscard]] CellKind needed_kind(const DerivedColumn& column);

/// Every value that it can have, in order, where there is a list: of bins, groups and buckets. Empty for numbers, and
/// where a text that is in no list stays what it is.
[[nodiscard]] std::vector<std::string> values_of(const DerivedColumn& column);

/// "below 18", "18 to below 65", "65 or more".
[[nodiscard]] std::vector<std::string> names_of_bins(const std::vector<double>& edges);
/// The bucket of a text, from 0 on.
[[nodiscard]] std::size_t bucket_of(std::string_view text, std::size_t buckets);

}  // namespace undertone::data
