#include "shuffler/batch/limits.hpp"

#include <algorithm>

#include "shared/sealed/sealed_reply.hpp"
#include "shuffler/batch/adder.hpp"

namespace undertone::shuffler {
namespace {

/// One unit a message, and in it a whole number of words.
bool adds_words(const BatchSpec& spec) {
  using sealed::ReplyLength;
  if (spec.word_bytes > 8 || spec.unit_bytes != spec.message_bytes || spec.unit_bytes <= ReplyLength::kOverheadBytes)
    return false;
  return total_bytes(spec) <= ReplyLength::kBodyBytesMax && total_bytes(spec) % spec.word_bytes == 0;
}

}  // namespace

bool lengths_agree(const BatchSpec& spec) {
  if (spec.message_bytes == 0 || spec.unit_bytes == 0 || spec.message_bytes % spec.unit_bytes != 0) return false;
  return !spec.adds() || adds_words(spec);
}

bool ascending(const std::vector<SiloId>& silos) {
  return std::adjacent_find(silos.begin(), silos.end(),
                            [](const SiloId& one, const SiloId& next) { return !(one < next); }) == silos.end();
}

bool allows(const Limits& limits, const BatchSpec& spec) {
  if (spec.expected.empty() || spec.expected.size() > limits.silos_max || !ascending(spec.expected)) return false;
  // A single message has no order to hide in, and a total of one is that silo's.
  if (spec.replies_min < limits.replies_min || spec.replies_min > spec.expected.size()) return false;
  if (!lengths_agree(spec) || spec.message_bytes > limits.message_bytes_max) return false;
  if (spec.message_bytes > limits.held_bytes_max / spec.expected.size()) return false;
  if (spec.units_max() > limits.held_units_max) return false;
  return spec.deadline > std::chrono::milliseconds(0) && spec.deadline <= limits.deadline_max;
}

}  // namespace undertone::shuffler
