#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shared/wire/messages.hpp"
#include "shuffler/batch/adder.hpp"
#include "shuffler/batch/batch.hpp"
#include "shuffler/batch/limits.hpp"
#include "shuffler/batch/permuter.hpp"

namespace undertone::shuffler {

/// Time as the machine is told it; only the host reads a clock.
using TimePoint = std::chrono::steady_clock::time_point;

/// Collects the sealed messages of a round, one a silo, and forwards what those of the same terms hold once, without
/// senders: all units in a secret order, or, in an adding batch, the one total of the shares that the coordinator chose
/// among the collected.
/// A run has one batch at a time. A forwarded batch is final: the same units in the same order are sent again until
/// they are known to be delivered, nothing is ever added, and no other batch of that round is ever made. Two totals of
/// one round would differ by single shares.
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
    std::uint32_t attempt = 0;
  };
  /// To the coordinator: InvalidSpec also for silos that cannot be added, Busy also while another round of the run is
  /// collected or delivered, Past also for a batch that was wiped undelivered or that nobody opened.
  struct RefuseBatch {
    RunId run;
    RoundIndex round;
    std::uint32_t attempt = 0;
    wire::BatchRefusal reason;
  };
  /// To the coordinator: whose shares there are to add, ascending. Nothing more is taken.
  struct Collected {
    RunId run;
    RoundIndex round;
    std::uint32_t attempt = 0;
    std::vector<SiloId> silos;
  };
  /// To the coordinator, in one burst. Units are of equal length: all those of `replies` silos, or the one total.
  struct Forward {
    RunId run;
    RoundIndex round;
    std::size_t replies = 0;  // `replies_min` or more
    std::vector<std::string> units;
  };
  /// To the coordinator: nothing of this attempt was forwarded, nor will be.
  struct Failed {
    RunId run;
    RoundIndex round;
    std::uint32_t attempt = 0;
    std::size_t replies = 0;
    std::size_t replies_min = 0;
  };
  /// For the log: why the batch that fails next could not be added.
  struct ShareRefused {
    SiloId silo;
    RunId run;
    RoundIndex round;
    Error why;
  };
  /// For the log: whose messages were made for other terms than those of most. They are in no batch and no total.
  struct TermsDiffer {
    std::vector<SiloId> silos;  // ascending
    RunId run;
    RoundIndex round;
  };
  /// To the silo: its message is on disk.
  struct Acknowledge {
    SiloId silo;
    RunId run;
    RoundIndex round;
    std::optional<Digest> receipt;  // where the coordinator gave a key for it
  };
  /// To the silo.
  struct Refuse {
    SiloId silo;
    RunId run;
    RoundIndex round;
    wire::ReplyRefusal reason;
  };
  /// An earlier one of the same batch may be dropped or kept.
  struct ArmDeadline {
    RunId run;
    RoundIndex round;
    TimePoint at;
  };
  using Action = std::variant<Store, Opened, RefuseBatch, Collected, Forward, Failed, ShareRefused, TermsDiffer,
                              Acknowledge, Refuse, ArmDeadline>;

  /// @param permuter outlives the machine @param adder too
  BatchMachine(const Limits& limits, Permuter& permuter, Adder& adder)
      : limits_(limits), permuter_(&permuter), adder_(&adder) {}

  /// Once, before any event: what the store held. Deadlines begin anew.
  [[nodiscard]] std::vector<Action> restore(std::vector<Batch> batches, TimePoint now);
  /// The coordinator wants the batch, or wants to know what became of it.
  /// @param spec whoever calls has checked silos and minimum against the job whose digest the run names
  /// @param receipt_key of the receipts that silos get from here on, the newest one; it is not stored, since the
  ///   coordinator opens the batch again after a restart. None: none are given
  [[nodiscard]] std::vector<Action> open(const BatchSpec& spec, TimePoint now,
                                         const std::optional<Digest>& receipt_key = {});
  /// @param silo whom the session's certificate names @param making a message that was made for another cut or another
  ///   word than the batch has is not taken: nobody but its silo says what is done with it. One of other terms than
  ///   most have is taken and left out when the batch closes: which terms those are, the first to come does not decide
  [[nodiscard]] std::vector<Action> on_message(const SiloId& silo, const RunId& run, RoundIndex round,
                                               const Making& making, std::string message, TimePoint now);
  /// Why a silo's message is refused of which nothing but this is known. @return nothing where it must be received
  /// first
  [[nodiscard]] std::optional<wire::ReplyRefusal> refuses(const SiloId& silo, const RunId& run, RoundIndex round,
                                                          const Making& making, std::uint64_t message_bytes) const;
  /// The coordinator chose whose shares are added. @param silos ascending, of those collected, the minimum or more
  [[nodiscard]] std::vector<Action> on_close(const RunId& run, RoundIndex round, std::uint32_t attempt,
                                             const std::vector<SiloId>& silos, TimePoint now);
  [[nodiscard]] std::vector<Action> on_deadline(const RunId& run, RoundIndex round, TimePoint now);
  /// The coordinator has the whole batch and what follows from it on disk.
  [[nodiscard]] std::vector<Action> on_delivered(const RunId& run, RoundIndex round);
  /// The coordinator gives the round up: the answer is Failed, or Forward when that is too late.
  [[nodiscard]] std::vector<Action> abandon(const RunId& run, RoundIndex round);

  /// Batches that are Collecting, Collected or Forwarding.
  [[nodiscard]] std::size_t batches() const noexcept;
  /// Bytes set aside for what they hold.
  [[nodiscard]] std::size_t held_bytes() const noexcept;
  /// Units set aside.
  [[nodiscard]] std::size_t held_units() const noexcept;

 private:
  struct Held {
    Batch batch;
    TimePoint due{};
    std::optional<Digest> receipt_key;
  };
  using Actions = std::vector<Action>;
  [[nodiscard]] std::optional<wire::BatchRefusal> refusal_of(const BatchSpec& spec) const;
  [[nodiscard]] std::optional<Actions> answer_of_known(const BatchSpec& spec) const;
  [[nodiscard]] Held* find(const RunId& run, RoundIndex round);
  /// @pre its message is there
  [[nodiscard]] static Acknowledge acknowledgement(const Held& held, std::size_t slot);
  static void arm(Held& held, TimePoint at, Actions& out);
  /// Nothing more is waited for.
  void close(Held& held, TimePoint now, Actions& out);
  static void fail(Batch& batch, Actions& out);
  void permute(Batch& batch);
  void add(Held& held, const std::vector<SiloId>& silos, TimePoint now, Actions& out);
  static void wipe(Batch& batch);

  Limits limits_;
  Permuter* permuter_;
  Adder* adder_;
  std::map<RunId, Held> runs_;
};

}  // namespace undertone::shuffler
