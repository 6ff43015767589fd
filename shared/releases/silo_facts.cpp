#include "shared/releases/silo_facts.hpp"

namespace undertone::releases {

std::optional<PublicBlock> public_block(const SiloFacts& facts, Block block) {
  if (block == Block::Holdout && facts.holdout_public) return PublicBlock(block);
  if (block == Block::Public && facts.public_records > 0) return PublicBlock(block);
  return std::nullopt;
}

}  // namespace undertone::releases
