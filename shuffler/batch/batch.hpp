#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "shared/base/ids.hpp"

namespace undertone::shuffler {

/// The batch of one round, as the coordinator asks for it and every silo's message must fit it.
struct BatchSpec {
  RunId run;
  RoundIndex round;
  std::uint32_t attempt = 0;      // a round of which nothing was forwarded may be asked again, under a higher number
  std::vector<SiloId> expected;   // ascending, each once; a silo's position is its slot
  std::size_t replies_min = 0;    // the job's minimum
  std::size_t message_bytes = 0;  // exactly, of every message
  std::chrono::milliseconds deadline{0};
  friend bool operator==(const BatchSpec&, const BatchSpec&) = default;
};

/// Collecting: who sent what is known. Forwarding: permuted, senders forgotten, perhaps forwarded, not yet known to be
/// delivered. Final: the messages are gone too. Failed: wiped, and nothing was ever forwarded.
enum class BatchState { Collecting, Forwarding, Final, Failed };

/// What is known of a run: its newest batch.
struct Batch {
  BatchSpec spec;  // no expected silos unless Collecting
  BatchState state = BatchState::Collecting;
  std::size_t replies = 0;                      // how many there were when it closed; 0 while Collecting
  std::map<std::size_t, std::string> received;  // by slot; Collecting only
  std::vector<std::string> permuted;            // Forwarding only
};

/// A run's first batch, or one that takes the place of a Final or Failed one.
struct BatchOpened {
  BatchSpec spec;
};
struct MessageReceived {
  RunId run;
  std::size_t slot = 0;
  std::string message;
};
/// The permuted messages take the place of slots, silos and what they sent.
struct BatchPermuted {
  RunId run;
  std::vector<std::string> messages;
};
struct BatchFailed {
  RunId run;
  std::size_t replies = 0;
};
/// Delivered, or undelivered for too long.
struct BatchFinished {
  RunId run;
};
/// One step of a batch, committed whole.
using Change = std::variant<BatchOpened, MessageReceived, BatchPermuted, BatchFailed, BatchFinished>;

}  // namespace undertone::shuffler
