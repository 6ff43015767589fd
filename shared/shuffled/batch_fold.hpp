#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "shared/base/digest.hpp"
#include "shared/queries/fold.hpp"

namespace undertone::shuffled {

/// What the coordinator makes of what the shufflers of one round forwarded.
class BatchFold {
 public:
  BatchFold() = default;
  BatchFold(const BatchFold&) = delete;
  BatchFold& operator=(const BatchFold&) = delete;
  virtual ~BatchFold() = default;

  /// Opens and checks a whole batch: lengths, keys, codes, terms, tickets, ranges.
  /// @param shuffler its index in the job @param replies of so many silos, as the shuffler says
  /// @return an error that names what is wrong; a shuffler whose batch was wrong is not asked again
  [[nodiscard]] virtual Status take(std::size_t shuffler, std::uint64_t replies, std::string units) = 0;
  /// @pre every shuffler's batch was taken @return an error where the batches do not belong together
  [[nodiscard]] virtual Result<queries::Gathered> gathered() const = 0;
  /// Identifies what was folded. @pre as above
  [[nodiscard]] virtual Digest digest() const = 0;
};

}  // namespace undertone::shuffled
