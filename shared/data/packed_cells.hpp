#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::data {

inline constexpr std::uint64_t kPackedTexts = 0;  // the kinds of a packed column
inline constexpr std::uint64_t kPackedDecimals = 1;
inline constexpr std::size_t kPackedDigitsMax = 18;  // of a whole number that fits 64 bits, its fraction's included

/// Writes digits with so many behind the mark. @param trimmed without zeros at the end of the fraction
/// @return what was written
[[nodiscard]] std::span<char> write_decimal(std::int64_t digits, std::size_t scale, bool trimmed, char mark,
                                            std::array<char, 32>& out);

/// The cells of one column in rows that follow each other, as a snapshot keeps them: one whole number of few bytes for
/// each row. It is either a place in a list of texts, where 0 says that nothing stands in the cell, or a decimal above
/// the least one, where the number after the largest says so. Texts and numbers refer to the bytes they were read from.
struct PackedCells {
  bool decimals = false;
  std::vector<std::string_view> texts;
  std::uint64_t scale = 0;  // of decimals: the digits behind the mark
  bool trimmed = false;     // and whether zeros at the end of the fraction are left out
  std::int64_t least = 0;
  std::uint64_t most = 0;  // the largest number of a cell that holds something
  std::uint64_t width = 1;
  std::string_view values;

  [[nodiscard]] std::size_t rows() const { return values.size() / width; }
  /// The number that says that a cell holds nothing.
  [[nodiscard]] std::uint64_t nothing() const { return decimals ? most + 1 : 0; }
  [[nodiscard]] std::uint64_t largest() const { return decimals ? most + 1 : most; }
  [[nodiscard]] std::uint64_t value(std::size_t row) const {
    const auto read = [at = values.data() + row * width]<class Value>(Value out) {
      std::memcpy(&out, at, sizeof out);
      return std::uint64_t{out};
    };
    return width == 1   ? read(std::uint8_t{})
           : width == 2 ? read(std::uint16_t{})
           : width == 4 ? read(std::uint32_t{})
                        : read(std::uint64_t{});
  }
  /// The digits that a decimal's number stands for. @pre decimals, and not nothing()
  [[nodiscard]] std::int64_t digits(std::uint64_t value) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + value);
  }
};

/// Rows of a table: all its columns, which have as many cells each.
struct PackedRows {
  std::vector<PackedCells> columns;
  std::size_t count = 0;
  char mark = '.';  // before the fraction of a decimal
};

/// Makes the texts of packed cells, one at a time.
class PackedTexts {
 public:
  explicit PackedTexts(char mark) : mark_(mark) {}
  /// A cell's text, valid until the next call. @pre the cell holds something
  [[nodiscard]] std::string_view of(const PackedCells& cells, std::uint64_t value) {
    if (!cells.decimals) return cells.texts[value - 1];
    const std::span<char> written = write_decimal(cells.digits(value), cells.scale, cells.trimmed, mark_, decimal_);
    return {written.data(), written.size()};
  }
  /// The same, as a copy that may be overwritten, as who takes ids does.
  [[nodiscard]] std::span<char> copy_of(const PackedCells& cells, std::uint64_t value) {
    text_ = of(cells, value);
    return text_;
  }

 private:
  char mark_;
  std::string text_;
  std::array<char, 32> decimal_{};
};

/// Calls loop(zero) with a zero of the unsigned type that the cells' numbers have in the file.
template <class Loop>
void by_width(const PackedCells& cells, const Loop& loop) {
  switch (cells.width) {
    case 1:
      return loop(std::uint8_t{});
    case 2:
      return loop(std::uint16_t{});
    case 4:
      return loop(std::uint32_t{});
    default:
      return loop(std::uint64_t{});
  }
}

/// Calls each(row, value) for the rows [from, from + count), with a loop for each width.
template <class Each>
void each_value(const PackedCells& cells, std::size_t from, std::size_t count, const Each& each) {
  by_width(cells, [&]<class Value>(Value value) {
    const char* at = cells.values.data() + from * sizeof value;
    for (std::size_t i = 0; i < count; ++i, at += sizeof value) {
      std::memcpy(&value, at, sizeof value);
      each(i, std::uint64_t{value});
    }
  });
}

/// The same of some of the rows: calls each(i, value) for the i-th of them.
template <class Each>
void each_value_at(const PackedCells& cells, std::span<const std::uint32_t> rows, const Each& each) {
  by_width(cells, [&]<class Value>(Value value) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(&value, cells.values.data() + rows[i] * sizeof value, sizeof value);
      each(i, std::uint64_t{value});
    }
  });
}

/// Reads a column of so many rows. @return an error without place where the bytes are none
[[nodiscard]] Result<PackedCells> unpack(std::string_view column, std::size_t rows);

}  // namespace undertone::data
