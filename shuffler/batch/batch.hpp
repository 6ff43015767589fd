#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
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
  std::size_t message_bytes = 0;  // exactly, of every message: one or more sealed units, end to end
  std::size_t unit_bytes = 0;     // of each unit; a message that is added is a single one
  std::uint32_t word_bytes = 0;   // 1 .. 8: units are opened and their words added modulo 2^(8 word_bytes); 0: mixed
  Digest query{};                 // queries::query_digest: what added shares must be sealed for
  std::chrono::milliseconds deadline{0};

  /// Whether units are opened and added up, rather than mixed unread.
  [[nodiscard]] bool adds() const noexcept { return word_bytes != 0; }
  /// All units that the batch may come to hold. @pre unit_bytes > 0
  [[nodiscard]] std::size_t units_max() const noexcept { return expected.size() * (message_bytes / unit_bytes); }
  friend bool operator==(const BatchSpec&, const BatchSpec&) = default;
};

/// What a silo says of the message that it made.
struct Making {
  Digest terms{};  // sealed::terms_digest
  std::size_t unit_bytes = 0;
  std::uint32_t word_bytes = 0;
};

/// Collecting: who sent what is known. Collected (of an adding batch): nothing more is taken, and the coordinator says
/// whose shares are added. Forwarding: permuted or added, senders forgotten, perhaps forwarded, not yet known to be
/// delivered. Final: the units are gone too. Failed: wiped, and nothing was ever forwarded.
enum class BatchState { Collecting, Collected, Forwarding, Final, Failed };

/// What is known of a run: its newest batch.
struct Batch {
  BatchSpec spec;  // no expected silos unless Collecting or Collected
  BatchState state = BatchState::Collecting;
  std::size_t replies = 0;                      // how many went together when it closed; 0 before that
  std::map<std::size_t, std::string> received;  // by slot; Collecting and Collected only
  std::map<std::size_t, Digest> terms;          // sealed::terms_digest of each of them, as its silo says
  std::vector<std::string> units;               // what is forwarded, permuted or the one total; Forwarding only
  std::optional<Digest> added;                  // identifies the silos in the total; Forwarding only
};

/// The slots whose replies go together: those of the terms that most have, or, of two terms with as many replies each,
/// of those with the lowest slot. Only they are mixed or added; a function of what is stored, so that a shuffler that
/// was killed takes the same ones. One silo's terms can neither keep the others' from being taken nor stand among them.
[[nodiscard]] std::set<std::size_t> agreeing_slots(const Batch& batch);

/// A run's first batch, or one that takes the place of a Final or Failed one.
struct BatchOpened {
  BatchSpec spec;
};
struct MessageReceived {
  RunId run;
  std::size_t slot = 0;
  Digest terms{};
  std::string message;
};
/// Nothing more is added to what an adding batch holds.
struct BatchCollected {
  RunId run;
};
/// The permuted units take the place of slots, silos and what they sent.
struct BatchPermuted {
  RunId run;
  std::size_t replies = 0;  // of so many silos
  std::vector<std::string> units;
};
/// The total takes the place of slots, silos and what they sent.
struct BatchAdded {
  RunId run;
  std::size_t replies = 0;  // of so many silos
  Digest added{};           // identifies which
  std::string total;
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
using Change =
    std::variant<BatchOpened, MessageReceived, BatchCollected, BatchPermuted, BatchAdded, BatchFailed, BatchFinished>;

}  // namespace undertone::shuffler
