#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/schema.hpp"
#include "shared/models/linear_model.hpp"

namespace undertone::data {

/// A table of somebody else's memory, column by column, such as a data frame of Python. It outlives nothing.
struct Frame {
  /// NaN where a value is missing.
  using Numbers = std::span<const double>;
  /// Texts by their places in a list of different ones; a negative place where a text is missing.
  struct Texts {
    std::span<const std::int32_t> places;
    std::vector<std::string> different;
  };
  struct Column {
    std::string name;
    std::variant<Numbers, Texts> cells;
  };

  std::vector<Column> columns;  // all as long as each other

  [[nodiscard]] std::size_t rows() const noexcept;
};

/// Turns the schema's columns into records by the encoder that reads files, so that a table and the file that holds it
/// give the same records, bit for bit: a number goes in as the shortest decimal text that means it,
/// a whole one up to 2^53 without an exponent. Columns that the
/// schema does not name are not read.
/// @param name of the table, for errors, which give the record and the column and never a value
[[nodiscard]] Result<models::Records> to_records(const Frame& frame, const Schema& schema, const std::string& name);

}  // namespace undertone::data
