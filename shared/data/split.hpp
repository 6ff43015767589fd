#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shared/data/block_reader.hpp"
#include "shared/models/linear_model.hpp"
#include "shared/releases/records.hpp"

namespace undertone::data {

/// How a data set's records are divided into blocks: by position and a public seed, so that replacing a record moves no
/// other record. Whoever puts records into positions sees to it that no other record's value decides them.
struct SplitRule {
  double holdout_fraction = 0.0;  // [0, 1)
  std::uint64_t seed = 0;
  std::optional<std::int64_t> records_published;  // in all: records beyond this sit out (decision 11)
};

/// The blocks of a silo's data set.
struct Dataset {
  models::Records training;
  models::Records holdout;
  models::Records public_records = {};  // declared so when the data set was added
  /// In place of the records of that name, where these are too many for the memory. Null: they are as they stand.
  std::shared_ptr<const RecordSource> training_source = {};
  std::shared_ptr<const RecordSource> holdout_source = {};

  /// Reads a block wherever its records are.
  [[nodiscard]] BlockReader read(releases::Block block) const noexcept {
    if (block == releases::Block::Training && training_source) return BlockReader(*training_source);
    if (block == releases::Block::Holdout && holdout_source) return BlockReader(*holdout_source);
    return of(block);
  }
  /// How many units a block has.
  [[nodiscard]] Eigen::Index count(releases::Block block) const noexcept { return read(block).count(); }

  /// How many rows all blocks have.
  [[nodiscard]] Eigen::Index rows() const noexcept {
    return read(releases::Block::Training).rows() + read(releases::Block::Holdout).rows() + public_records.rows();
  }

  /// @pre the block's records are in memory
  [[nodiscard]] const models::Records& of(releases::Block block) const noexcept {
    switch (block) {
      case releases::Block::Training:
        return training;
      case releases::Block::Holdout:
        return holdout;
      case releases::Block::Public:
        break;
    }
    return public_records;
  }
};

/// Which records are in which block.
struct SplitOrder {
  std::vector<std::size_t> records;  // all, in the order of the split
  std::size_t holdout = 0;           // the first so many of these
  std::size_t used = 0;              // those after them up to here are for training; the rest sit out
};
/// @return an error where there are fewer records than are to be published
[[nodiscard]] Result<SplitOrder> split_order(std::size_t records, const SplitRule& rule);

/// @return an error where there are fewer records than are to be published
[[nodiscard]] Result<Dataset> split(const models::Records& records, const SplitRule& rule);

/// The rows that the order names, in that order. @pre records that are not of persons
[[nodiscard]] models::Records in_order(const models::Records& records, const std::vector<std::size_t>& order);

/// The records that are marked, or those that are not, in their order. @param marks [records]
[[nodiscard]] models::Records chosen(const models::Records& records, const std::vector<bool>& marks, bool marked);

/// Deals the rows of a table to parts of the given sizes, in an order drawn from a public seed.
/// @param sizes one or more, each > 0
/// @return for each part its rows; an error where there are not enough
[[nodiscard]] Result<std::vector<std::vector<std::size_t>>> deal(std::size_t rows,
                                                                 const std::vector<std::size_t>& sizes,
                                                                 std::uint64_t seed);

}  // namespace undertone::data
