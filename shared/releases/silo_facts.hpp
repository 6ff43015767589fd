#pragma once

#include <cstdint>
#include <optional>

#include "shared/base/ids.hpp"
#include "shared/releases/quantities.hpp"
#include "shared/releases/records.hpp"
#include "shared/releases/target.hpp"

namespace undertone::releases {

/// What is public about a silo, and what it is promised.
struct SiloFacts {
  SiloId silo;
  std::int64_t records = 0;          // n_i, of the training block
  std::int64_t holdout_records = 0;  // of the holdout block
  bool holdout_public = false;       // declared so by its owner
  Target target;
  std::int64_t public_records = 0;  // beside both blocks, which their owner declared public

  [[nodiscard]] const Epsilon& epsilon() const noexcept { return epsilon_of(target); }
  /// 0 of a pure target.
  [[nodiscard]] double delta() const noexcept { return delta_of(target); }
};

/// That a block's owner declared its records public: nothing else says so, and only `public_block` makes one.
class PublicBlock {
 public:
  [[nodiscard]] Block block() const noexcept { return block_; }

 private:
  friend std::optional<PublicBlock> public_block(const SiloFacts& facts, Block block);
  explicit PublicBlock(Block block) noexcept : block_(block) {}
  Block block_;
};
/// @return nothing where the block's records are not public
[[nodiscard]] std::optional<PublicBlock> public_block(const SiloFacts& facts, Block block);

}  // namespace undertone::releases
