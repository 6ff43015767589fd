#pragma once

#include <cstddef>
#include <string>

#include "shared/data/schema.hpp"

namespace undertone::silo {

/// What a coordinate of an encoded record stands for, in words of the schema; the one after the features is the label.
struct EncodedColumn {
  enum class Kind { Number, Indicator, Class };
  std::string name;  // "age", "sex=female", of a label of two values "outcome=yes"
  Kind kind = Kind::Number;
  double min = -1.0;  // of a number in its own unit, which is encoded in [-1, 1]
  double max = 1.0;
  [[nodiscard]] double half_range() const noexcept { return 0.5 * (max - min); }
  /// Of an encoded number, in the column's unit.
  [[nodiscard]] double value_of(double encoded) const noexcept { return min + (encoded + 1.0) * half_range(); }
};

/// @pre coordinate <= data::encoded_width(schema)
[[nodiscard]] EncodedColumn encoded_column(const data::Schema& schema, std::size_t coordinate);

}  // namespace undertone::silo
