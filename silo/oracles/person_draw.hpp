#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/digest.hpp"
#include "shared/models/linear_model.hpp"

namespace undertone::silo {

/// Which of a person's records a release looks at: all of them where there are few, else as many as may count, drawn
/// without replacement. The draw is a function of a secret key of the release and of the person's place, so that a
/// round that is done again after a crash looks at the same ones, and whoever else is drawn changes nobody's records.
/// It needs no law of its own: given any draws, a person moves a sum as far as one record does. It is secret all the
/// same, since an index tells how many records she has. Source: spec person-unit 2.3, 3.1.
class PersonDraw {
 public:
  /// @param key of the run, the block and the round, which only the silo can derive
  /// @param records_max s, 1 or more
  PersonDraw(const Digest& key, std::int64_t records_max);

  [[nodiscard]] std::size_t records_max() const noexcept { return records_max_; }

 private:
  friend class PersonRows;
  Digest key_;
  std::size_t records_max_;
};

/// This is one pass over persons. It says which rows of each are looked at. The words that decide are her own, wherever
/// she stands in the pass; they are made for several persons at once where those follow each other.
class PersonRows {
 public:
  /// @param block of persons, with a row at least; both outlive the pass
  PersonRows(const PersonDraw& draw, const models::Records& block);

  /// Fills all of `rows`, and does the same work however many records the person has: what stands behind the number
  /// that is returned is some row of the block, and is not to count.
  /// @param person her place @param rows [records_max] @return m', how many of them are hers and count: min(m, s)
  [[nodiscard]] std::size_t next(std::int64_t person, std::span<std::int64_t> rows);

 private:
  /// Returns the words of a person, [records_max].
  std::span<const std::uint32_t> words_of(std::int64_t person);
  const PersonDraw& draw_;
  const models::Records& block_;
  std::size_t words_each_;  // few, or whole blocks of the stream
  std::int64_t first_ = 0;  // whose words are at hand, and of how many persons
  std::int64_t count_ = 0;
  std::vector<std::uint32_t> words_;  // [persons together, words_each]
};

}  // namespace undertone::silo
