#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/data/packed_cells.hpp"
#include "shared/data/schema.hpp"

namespace undertone::data {

/// This says what the cells of a packed column become in a record's numbers. It is made once a block, of good cells
/// alone.
class PackedEncoding {
 public:
  /// One number of the packed column becomes this.
  struct Put {
    double value = 0.0;
    std::uint32_t place = 0;  // from the column's first encoded number
    bool indicator = false;   // the next place is 1, since nothing stands in the cell
  };

  /// Nothing is written.
  PackedEncoding() = default;
  /// @param puts for each number that stands in the cells
  /// @param indicates whether nothing in a cell sets an indicator: the work is then the same whether some cell has
  /// nothing or none
  PackedEncoding(std::vector<Put> puts, bool indicates);
  /// Decimals without a table. @param numeric bounds to which they are scaled @param nothing of cells without a value
  PackedEncoding(NumericColumn numeric, Put nothing);

  /// @param out the column's first number of the first row @param stride from a row's to the next row's
  void write(const PackedCells& cells, std::size_t from, std::size_t count, double* out, std::size_t stride) const;
  /// The same of some rows. @param slots [rows] the record that each of them becomes, counted from `out`
  void write_at(const PackedCells& cells, std::span<const std::uint32_t> rows, std::span<const std::uint32_t> slots,
                double* out, std::size_t stride) const;
  /// How many bytes its table takes.
  [[nodiscard]] std::size_t bytes() const noexcept { return puts_.capacity() * sizeof(Put); }

 private:
  /// @param visit calls what it is given with (place of a record, value of its cell), for every record
  template <class Visit>
  void write_each(const PackedCells& cells, const Visit& visit, double* out, std::size_t stride) const;

  enum class How { Nothing, ByTable, Computed };
  How how_ = How::Nothing;
  std::vector<Put> puts_;
  bool indicators_ = false;
  // of decimals that are computed
  NumericColumn numeric_;
  Put nothing_;
};

/// The number that a decimal's digits stand for. @pre exactly_computed(cells)
[[nodiscard]] double decimal_value(const PackedCells& cells, std::uint64_t value);
/// Whether every decimal's digits and power of ten are doubles, so that one division rounds to the nearest double, as
/// reading its text does (Clinger, 1990).
[[nodiscard]] bool exactly_computed(const PackedCells& cells);

}  // namespace undertone::data
