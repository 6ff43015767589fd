#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "shared/data/record_source.hpp"

namespace undertone::data {

/// Reads the records of one block, whether they are all in memory or are made when they are read. It refers to them.
class BlockReader {
 public:
  BlockReader(const models::Records& records) : records_(&records) {}  // NOLINT(google-explicit-constructor)
  explicit BlockReader(const RecordSource& source) : source_(&source) {}

  /// How many units the block has. @see models::Records::count
  [[nodiscard]] Eigen::Index count() const noexcept {
    return records_ != nullptr ? records_->count() : source_->count();
  }
  [[nodiscard]] Eigen::Index rows() const noexcept { return records_ != nullptr ? records_->rows() : source_->count(); }
  /// How many numbers a record has, its target left out.
  [[nodiscard]] Eigen::Index features() const noexcept {
    return records_ != nullptr ? records_->features.rows() : source_->features();
  }
  [[nodiscard]] bool of_persons() const noexcept { return records_ != nullptr && records_->of_persons(); }

  /// Units of a block, or of a part of it that was made for the purpose.
  struct Part {
    const models::Records& records;
    std::span<const std::int64_t> positions;  // of the units within `records`
    std::size_t from = 0;                     // how many were handed over before them
  };
  using Use = std::function<void(const Part&)>;
  /// Hands over the units at the positions, in this order, in one part or several.
  void read(std::span<const std::int64_t> positions, const Use& use) const;
  /// Hands over every unit once, in any order: for sums of integers.
  void read_all(const Use& use) const;

 private:
  const models::Records* records_ = nullptr;
  const RecordSource* source_ = nullptr;
};

}  // namespace undertone::data
