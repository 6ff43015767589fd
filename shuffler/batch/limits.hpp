#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "shuffler/batch/batch.hpp"

namespace undertone::shuffler {

/// Bounds on what others can make a shuffler hold. Memory can reach three times `held_bytes_max`, and besides a hundred
/// bytes for each unit, while a batch closes.
struct Limits {
  std::size_t replies_min = 2;  // beneath any job's minimum: a single message has no order to hide in
  std::size_t silos_max = 4096;
  std::size_t message_bytes_max = std::size_t{1} << 26U;
  std::size_t batches_max = 64;                        // Collecting, Collected or Forwarding
  std::size_t held_bytes_max = std::size_t{1} << 29U;  // set aside when a batch opens: every silo's message will fit
  std::size_t held_units_max = std::size_t{1} << 22U;  // and so will the units of all messages
  std::size_t runs_max = 100'000;                      // remembered for good, so that no round is batched twice
  std::chrono::milliseconds deadline_max = std::chrono::hours(24);
  std::chrono::milliseconds undelivered_max = std::chrono::hours(24 * 7);  // then what is held is wiped
};

/// Whether the batch, were it the only one, could be held: silos ascending, lengths that go together, no number outside
/// the limits.
[[nodiscard]] bool allows(const Limits& limits, const BatchSpec& spec);

/// Whether messages, units and words are of lengths that go together, as they must of a stored batch, too.
[[nodiscard]] bool lengths_agree(const BatchSpec& spec);

/// Each silo once, in order.
[[nodiscard]] bool ascending(const std::vector<SiloId>& silos);

}  // namespace undertone::shuffler
