#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/folds/aggregation.hpp"
#include "shared/wire/codec.hpp"
#include "shared/wire/messages.hpp"

namespace undertone::coordinator {

/// Time as machines are told it; only hosts read a clock.
using TimePoint = std::chrono::steady_clock::time_point;

/// What every reply to a query must look like.
struct ReplyShape {
  Eigen::Index dimension = 0;
  queries::WireLattice lattice;
  crypto::NoiseKind noise = crypto::NoiseKind::Secure;
};

/// A silo that may answer, and how.
struct Participant {
  std::uint64_t weight = 1;
  bool public_answer = false;  // its records were declared public: it answers without noise
};

/// One round: who answered, until when, and the fold of the answers. It closes when everybody expected has answered or
/// at the deadline, never at bare quorum. Below quorum at the deadline it re-asks once, then gives up (decision 3).
class RoundMachine {
 public:
  struct ArmDeadline {
    TimePoint at;
  };
  struct AskAgain {
    std::vector<SiloId> silos;
  };
  struct CloseRound {};
  struct AbortRound {
    Error reason;
  };
  using Action = std::variant<ArmDeadline, AskAgain, CloseRound, AbortRound>;
  enum class State { Open, Closed, Aborted };
  enum class Reception { Accepted, Duplicate, Late, Foreign, Misshapen, Implausible };
  /// Whether what a silo says may be honest. @see folds::PlausibleReplies
  using Plausible = std::function<bool(const SiloId& silo, const std::vector<std::int64_t>& values)>;

  struct Setup {
    RunId run;
    RoundIndex round;
    Digest query{};
    ReplyShape shape;
    folds::Aggregation aggregation;
    Plausible plausible;  // empty: everything is
    std::map<SiloId, Participant> expected;
    std::size_t quorum = 1;
    std::chrono::milliseconds deadline{0};
  };
  explicit RoundMachine(Setup setup);

  [[nodiscard]] std::vector<Action> open(TimePoint now);
  /// @param reception what became of the reply: only an accepted one is folded in. Whoever sent an implausible one is
  ///   lost, as if it had refused
  [[nodiscard]] std::vector<Action> on_reply(const SiloId& silo, const wire::ReplyMessage& message,
                                             Reception& reception);
  /// What becomes of a reply of which nothing but the header is here. @return nothing where it is worth receiving
  [[nodiscard]] std::optional<Reception> refuses(const SiloId& silo, const wire::VectorHeader& header) const;
  /// The silo will not answer this round.
  [[nodiscard]] std::vector<Action> on_lost(const SiloId& silo);
  [[nodiscard]] std::vector<Action> on_deadline(TimePoint now);
  /// A silo that joined while the round is open is expected too.
  void expect(const SiloId& silo, const Participant& participant);

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] std::vector<SiloId> missing() const;
  /// Who was folded in, and the digest of what each said.
  [[nodiscard]] const std::map<SiloId, Digest>& accepted() const noexcept { return accepted_; }
  /// @pre closed
  [[nodiscard]] folds::Gathered gathered() const;
  [[nodiscard]] const Setup& setup() const noexcept { return setup_; }

 private:
  [[nodiscard]] std::vector<Action> settle();
  /// Why no reply of this silo is waited for, if so.
  [[nodiscard]] std::optional<Reception> unwanted(const SiloId& silo, const RunId& run, RoundIndex round) const;
  Setup setup_;
  folds::RoundFold fold_;
  std::map<SiloId, Digest> accepted_;
  std::set<SiloId> lost_;
  State state_ = State::Open;
  bool asked_again_ = false;
};

/// A name for metrics and logs, e.g. "misshapen".
[[nodiscard]] std::string_view to_string(RoundMachine::Reception reception) noexcept;

}  // namespace undertone::coordinator
