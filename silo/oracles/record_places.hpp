#pragma once

#include <cstdint>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/releases/records.hpp"

namespace undertone::silo {

/// At which position of a block a run has put each record: by a permutation, or where every record drew its position
/// for itself. As secret as the noise: moved, never copied, and a silo's program wipes what is given back.
/// @see releases::Slice
class RecordPlaces {
 public:
  /// None: of releases that read no slices.
  RecordPlaces() = default;
  /// @param order the record at each position
  [[nodiscard]] static RecordPlaces permuted(std::vector<std::int64_t> order);
  /// @param drawn the position of each record, below their number
  [[nodiscard]] static RecordPlaces binned(const std::vector<std::int64_t>& drawn);

  RecordPlaces(RecordPlaces&&) noexcept = default;
  RecordPlaces& operator=(RecordPlaces&&) noexcept = default;
  RecordPlaces(const RecordPlaces&) = delete;
  RecordPlaces& operator=(const RecordPlaces&) = delete;
  ~RecordPlaces() = default;

  [[nodiscard]] bool empty() const noexcept { return order_.empty(); }
  [[nodiscard]] std::int64_t records() const noexcept { return static_cast<std::int64_t>(order_.size()); }

  /// The record at a position of a permutation.
  [[nodiscard]] std::int64_t at(std::int64_t position) const {
    UNDERTONE_CHECK(starts_.empty());
    return order_.at(static_cast<std::size_t>(position));
  }

  /// Rows that a bin's work is made of.
  struct Rows {
    std::vector<std::int64_t> records;  // as many as were asked for, all different
    std::int64_t counted = 0;           // the first so many are in the bin: secret
  };
  /// The records of a bin, and after them others that make the work the same whatever is in it. Of more records than
  /// rows the last are left out.
  /// @param rows at most the number of records @pre binned
  [[nodiscard]] Rows bin(const releases::Slice::Positions& positions, std::int64_t rows) const;

 private:
  std::vector<std::int64_t> order_;   // records by ascending position
  std::vector<std::int64_t> starts_;  // of bins: how many records are below each position; one more at the end
};

}  // namespace undertone::silo
