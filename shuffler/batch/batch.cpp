#include "shuffler/batch/batch.hpp"

#include <utility>

namespace undertone::shuffler {

std::set<std::size_t> agreeing_slots(const Batch& batch) {
  std::map<Digest, std::set<std::size_t>> groups;
  for (const auto& [slot, terms] : batch.terms) groups[terms].insert(slot);
  std::set<std::size_t> best;
  for (auto& [terms, slots] : groups) {
    if (slots.size() > best.size() || (slots.size() == best.size() && *slots.begin() < *best.begin()))
      best = std::move(slots);
  }
  return best;
}

}  // namespace undertone::shuffler
