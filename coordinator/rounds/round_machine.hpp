#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "coordinator/rounds/round.hpp"
#include "shared/folds/aggregation.hpp"

namespace undertone::coordinator {

/// What every reply to a query must look like.
struct ReplyShape {
  Eigen::Index dimension = 0;
  queries::WireLattice lattice;
  crypto::NoiseKind noise = crypto::NoiseKind::Secure;
  std::optional<Eigen::Index> candidates = {};     // of a selection: the one number names one of so many
  std::optional<folds::ReportShape> reports = {};  // of reports: one of every record of the participant
  bool beside_public = false;                      // a second block, of public records
  std::uint32_t groups = 1;                        // a block for each group of records
  bool kept = false;  // what each silo says is looked at, and not the fold of it alone: of statistics
};

/// A round whose replies come from silos, each in its own name, and are folded as they come. It closes when everybody
/// expected has answered or at the deadline, never at bare quorum. Below quorum at the deadline it re-asks once, then
/// gives up (decision 3). Where the job has a grace, a quorum of answers is there and everybody else has been
/// disconnected for as long, it closes then: whoever is connected is always waited for until the deadline, so that who
/// counts depends on who is there and never on how long an answer takes.
class RoundMachine final : public Round {
 public:
  enum class State { Open, Closed, Aborted };
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
    std::chrono::milliseconds grace{0};  // 0: nobody's connection matters
  };
  explicit RoundMachine(Setup setup);

  /// Asks everybody that is expected.
  [[nodiscard]] Actions open(TimePoint now) override;
  bool expect(const SiloId& silo, const Participant& participant) override;
  /// @param reception what became of the reply: only an accepted one is folded in. Whoever sent an implausible one is
  ///   lost, as if it had refused
  [[nodiscard]] Actions on_reply(const SiloId& silo, const wire::ReplyMessage& message,
                                 std::optional<Reception>& reception) override;
  [[nodiscard]] std::optional<Reception> refuses(const SiloId& silo, const wire::VectorHeader& header) const override;
  /// No shuffler has a part in it.
  [[nodiscard]] Actions on_shuffler_message(std::string_view /*shuffler*/, wire::Message /*message*/,
                                            TimePoint /*now*/) override {
    return {};
  }
  [[nodiscard]] Actions on_lost(const SiloId& silo) override;
  /// May be told before the round is opened, too.
  [[nodiscard]] Actions on_away(const SiloId& silo, TimePoint since) override;
  [[nodiscard]] Actions on_back(const SiloId& silo) override;
  /// @param now where it is before the deadline, a grace may be over
  [[nodiscard]] Actions on_deadline(TimePoint now) override;
  [[nodiscard]] Actions cancel() override;

  [[nodiscard]] RoundIndex index() const noexcept override { return setup_.round; }
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] bool closed() const noexcept override { return state_ == State::Closed; }
  [[nodiscard]] bool wants(const SiloId& silo) const override {
    return state_ == State::Open && !accepted_.contains(silo);
  }
  [[nodiscard]] std::set<SiloId> accepted() const override;
  [[nodiscard]] std::vector<SiloId> missing() const override;
  [[nodiscard]] std::map<SiloId, Digest> digests() const override { return accepted_; }
  [[nodiscard]] folds::Gathered gathered() const override;
  [[nodiscard]] const Setup& setup() const noexcept { return setup_; }

 private:
  /// Closes the round where nobody is waited for, and gives it up where too few can still answer.
  [[nodiscard]] Actions end_if_decided();
  /// The same, or when it is to be looked at again.
  [[nodiscard]] Actions end_or_arm();
  /// Until when somebody is waited for.
  [[nodiscard]] TimePoint due() const;
  /// Why no reply of this silo is waited for, if so.
  [[nodiscard]] std::optional<Reception> unwanted(const SiloId& silo, const RunId& run, RoundIndex round) const;
  Setup setup_;
  folds::RoundFold fold_;
  std::map<SiloId, Digest> accepted_;                 // and the digest of what each said
  std::map<SiloId, std::vector<std::int64_t>> kept_;  // what that was, of a shape that asks for it
  std::set<SiloId> lost_;
  std::map<SiloId, TimePoint> away_;  // not connected, since when
  TimePoint deadline_{};
  std::optional<TimePoint> armed_;  // none: it has not been opened
  State state_ = State::Open;
  bool asked_again_ = false;
};

}  // namespace undertone::coordinator
