#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/folds/fold.hpp"
#include "shared/wire/codec.hpp"
#include "shared/wire/messages.hpp"

namespace undertone::coordinator {

/// Time as machines are told it; only hosts read a clock.
using TimePoint = std::chrono::steady_clock::time_point;

/// A silo that may answer, and how.
struct Participant {
  std::uint64_t weight = 1;
  bool public_answer = false;       // its records were declared public: it answers without noise
  std::int64_t records = 0;         // of its training block: public
  std::uint64_t public_weight = 0;  // of the second block of its reply, where replies have one
};

/// One query and its replies, as a machine from events to actions: who answered, until when, and what the answers fold
/// into. A RoundMachine hears replies from silos, a ShuffledRound from shufflers; an event that a kind of round does
/// not know changes nothing there.
///
/// The host carries out the actions one after another. Where a Commit fails it carries out nothing more and starts anew
/// from the store, as after a crash. Whatever it cannot send it may drop.
class Round {
 public:
  /// What the store must know of a shuffled round before anybody hears of it; each replaces the one before.
  struct Commit {
    std::uint32_t attempt = 0;
    std::vector<SiloId> expected;                // ascending; a shuffler is never asked for others in the same attempt
    std::optional<std::vector<SiloId>> closing;  // whose shares are added: in an attempt there is one set, for ever
  };
  struct ToShuffler {
    std::string shuffler;
    wire::Message message;
  };
  /// The shuffler does not know the run's job. The batch is opened again by an action that follows.
  struct OfferJob {
    std::string shuffler;
  };
  /// Send them the query, those that are connected and still take part.
  struct AskSilos {
    std::vector<SiloId> silos;
  };
  /// Replaces an earlier one.
  struct ArmDeadline {
    TimePoint at;
  };
  struct CloseRound {};
  struct AbortRound {
    Error reason;
  };
  /// For the log and for whoever watches.
  struct LogEvent {
    bool warning = false;
    std::string event;
  };
  using Action = std::variant<Commit, ToShuffler, OfferJob, AskSilos, ArmDeadline, CloseRound, AbortRound, LogEvent>;
  using Actions = std::vector<Action>;

  /// What becomes of a reply that a silo sends in its own name.
  enum class Reception { Accepted, Duplicate, Late, Foreign, Misshapen, Implausible };

  static constexpr std::uint32_t kAttemptsMax = 2;  // of a round that shufflers have a part in

  Round() = default;
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;
  virtual ~Round() = default;

  [[nodiscard]] virtual Actions open(TimePoint now) = 0;

  /// A silo that took the job while the round is open.
  /// @return whether its answer is expected in this round, so that it should be asked
  virtual bool expect(const SiloId& /*silo*/, const Participant& /*participant*/) { return false; }
  /// @param reception what became of the reply; nothing in a round whose replies do not come from silos
  [[nodiscard]] virtual Actions on_reply(const SiloId& silo, const wire::ReplyMessage& message,
                                         std::optional<Reception>& reception) = 0;
  /// What becomes of a reply of which nothing but the header is here. @return nothing where it is worth receiving
  [[nodiscard]] virtual std::optional<Reception> refuses(const SiloId& silo,
                                                         const wire::VectorHeader& header) const = 0;
  /// The silo says that every shuffler took its reply. @param receipts what they gave it, by name
  [[nodiscard]] virtual Actions on_handed_over(const SiloId& /*silo*/,
                                               const std::map<std::string, Digest>& /*receipts*/) {
    return {};
  }
  [[nodiscard]] virtual Actions on_shuffler_connected(std::string_view /*shuffler*/) { return {}; }
  /// @param shuffler whom the session's certificate names
  [[nodiscard]] virtual Actions on_shuffler_message(std::string_view shuffler, wire::Message message,
                                                    TimePoint now) = 0;
  /// The silo will not answer this round.
  [[nodiscard]] virtual Actions on_lost(const SiloId& silo) = 0;
  /// The silo is not connected, since then. @see jobs::Participation::grace
  [[nodiscard]] virtual Actions on_away(const SiloId& /*silo*/, TimePoint /*since*/) { return {}; }
  /// It is connected again.
  [[nodiscard]] virtual Actions on_back(const SiloId& /*silo*/) { return {}; }
  /// Time to say again what nobody has answered.
  [[nodiscard]] virtual Actions on_resend() const { return {}; }
  [[nodiscard]] virtual Actions on_deadline(TimePoint now) = 0;
  /// The run ends for a reason of its own: nothing more is waited for, and nothing that still comes has an effect.
  [[nodiscard]] virtual Actions cancel() = 0;
  /// The end of the round is in the store. @pre closed or aborted
  [[nodiscard]] virtual Actions delivered() { return {}; }

  [[nodiscard]] virtual RoundIndex index() const noexcept = 0;
  [[nodiscard]] virtual bool closed() const noexcept = 0;
  /// Whether the silo should be sent the query, again or when it connects.
  [[nodiscard]] virtual bool wants(const SiloId& silo) const = 0;
  /// Who is known to have answered.
  [[nodiscard]] virtual std::set<SiloId> accepted() const = 0;
  /// The other expected ones, ascending.
  [[nodiscard]] virtual std::vector<SiloId> missing() const = 0;
  /// Who was folded in, and the digest of what each said; of what all said together, where nobody knows who said what.
  /// @pre closed
  [[nodiscard]] virtual std::map<SiloId, Digest> digests() const = 0;
  /// What the answers folded into. @pre closed
  [[nodiscard]] virtual folds::Gathered gathered() const = 0;
};

/// A name for metrics and logs, e.g. "misshapen".
[[nodiscard]] std::string_view to_string(Round::Reception reception) noexcept;

}  // namespace undertone::coordinator
