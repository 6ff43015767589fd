#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shuffler/batch/batch.hpp"
#include "shuffler/batch/permuter.hpp"

namespace undertone::shuffler {

/// Time as the machine is told it; only the host reads a clock.
using TimePoint = std::chrono::steady_clock::time_point;

/// Bounds on what others can make a shuffler hold. Memory can reach three times `held_bytes_max` while a batch closes.
struct Limits {
  std::size_t replies_min = 2;  // beneath any job's minimum: a single message has no order to hide in
  std::size_t silos_max = 4096;
  std::size_t message_bytes_max = std::size_t{1} << 26U;
  std::size_t batches_max = 64;                        // Collecting or Forwarding
  std::size_t held_bytes_max = std::size_t{1} << 29U;  // set aside when a batch opens: every silo's message will fit
  std::size_t runs_max = 100'000;                      // remembered for good, so that no round is batched twice
  std::chrono::milliseconds deadline_max = std::chrono::hours(24);
  std::chrono::milliseconds undelivered_max = std::chrono::hours(24 * 7);  // then a permuted batch is wiped
};

/// Why a silo's message is not taken.
enum class MessageRefusal {
  UnknownBatch,  // not opened, or not yet
  Closed,        // forwarded or failed: nothing is added any more, and who was in it is no longer known
  NotExpected,
  WrongLength,
  Different,  // the silo has sent another message in this batch
};
[[nodiscard]] std::string_view to_string(MessageRefusal refusal) noexcept;

/// Why a batch is not opened.
enum class BatchRefusal {
  InvalidSpec,     // silos out of order or repeated, or a number outside the limits
  BelowMinimum,    // fewer replies would do than this shuffler allows
  Different,       // the round is being collected under another spec
  Unfinished,      // another round of the run is being collected or delivered
  Past,            // the round was forwarded and delivered, or wiped undelivered, or a later one was opened
  TooManyBatches,  // the next three may pass with time
  TooManyBytes,
  TooManyRuns,
};
[[nodiscard]] std::string_view to_string(BatchRefusal refusal) noexcept;

/// Collects the sealed messages of a round, one a silo, and forwards them once, in a secret order, without senders.
/// A run has one batch at a time. A forwarded batch is final: the same messages in the same order are sent again until
/// they are known to be delivered, nothing is ever added, and no other batch of that round is ever made.
///
/// The host carries out the actions one after another. Where a Store fails it carries out nothing more and starts anew
/// from what is on disk, as after a crash. Whatever it cannot send it may drop: the coordinator opens its current batch
/// again whenever it connects and is told where it stands, and acknowledges again what is forwarded again; a silo sends
/// again until it hears an answer. Unlinkability is the host's duty too: no log line, metric or trace of a message, and
/// of a batch only counts, after it is closed.
class BatchMachine {
 public:
  struct Store {
    Change change;
  };
  /// To the coordinator: the batch is on disk and silos may be asked.
  struct Opened {
    RunId run;
    RoundIndex round;
  };
  /// To the coordinator.
  struct RefuseBatch {
    RunId run;
    RoundIndex round;
    BatchRefusal reason;
  };
  /// To the coordinator, in one burst. It holds `replies_min` messages or more, all of the same length.
  struct Forward {
    RunId run;
    RoundIndex round;
    std::vector<std::string> messages;
  };
  /// To the coordinator: nothing of this attempt was forwarded, nor will be.
  struct Failed {
    RunId run;
    RoundIndex round;
    std::uint32_t attempt = 0;
    std::size_t replies = 0;
    std::size_t replies_min = 0;
  };
  /// To the silo: its message is on disk.
  struct Acknowledge {
    SiloId silo;
    RunId run;
    RoundIndex round;
  };
  /// To the silo.
  struct Refuse {
    SiloId silo;
    RunId run;
    RoundIndex round;
    MessageRefusal reason;
  };
  /// An earlier one of the same batch may be dropped or kept.
  struct ArmDeadline {
    RunId run;
    RoundIndex round;
    TimePoint at;
  };
  using Action = std::variant<Store, Opened, RefuseBatch, Forward, Failed, Acknowledge, Refuse, ArmDeadline>;

  /// @param permuter outlives the machine
  BatchMachine(const Limits& limits, Permuter& permuter) : limits_(limits), permuter_(&permuter) {}

  /// Once, before any event: what the store held. Deadlines begin anew.
  [[nodiscard]] std::vector<Action> restore(std::vector<Batch> batches, TimePoint now);
  /// The coordinator wants the batch, or wants to know what became of it.
  /// @param spec whoever calls has checked silos and minimum against the job whose digest the run names
  [[nodiscard]] std::vector<Action> open(const BatchSpec& spec, TimePoint now);
  /// @param silo whom the session's certificate names
  [[nodiscard]] std::vector<Action> on_message(const SiloId& silo, const RunId& run, RoundIndex round,
                                               std::string message, TimePoint now);
  [[nodiscard]] std::vector<Action> on_deadline(const RunId& run, RoundIndex round, TimePoint now);
  /// The coordinator has the whole batch and what follows from it on disk.
  [[nodiscard]] std::vector<Action> on_delivered(const RunId& run, RoundIndex round);
  /// The coordinator gives the round up: the answer is Failed, or Forward when that is too late.
  [[nodiscard]] std::vector<Action> abandon(const RunId& run, RoundIndex round);

  /// Batches that are Collecting or Forwarding.
  [[nodiscard]] std::size_t batches() const noexcept;
  /// Bytes set aside for their messages.
  [[nodiscard]] std::size_t held_bytes() const noexcept;

 private:
  struct Held {
    Batch batch;
    TimePoint due{};
  };
  using Actions = std::vector<Action>;
  [[nodiscard]] std::optional<BatchRefusal> refusal_of(const BatchSpec& spec) const;
  [[nodiscard]] std::optional<Actions> answer_of_known(const BatchSpec& spec) const;
  [[nodiscard]] Held* find(const RunId& run, RoundIndex round);
  static void arm(Held& held, TimePoint at, Actions& out);
  /// Nothing more is waited for.
  void close(Held& held, TimePoint now, Actions& out);
  static void fail(Batch& batch, Actions& out);
  void permute(Batch& batch);
  static void wipe(Batch& batch);

  Limits limits_;
  Permuter* permuter_;
  std::map<RunId, Held> runs_;
};

}  // namespace undertone::shuffler
