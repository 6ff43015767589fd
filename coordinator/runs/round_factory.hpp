#pragma once

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "coordinator/rounds/round.hpp"
#include "coordinator/rounds/shuffled_round.hpp"
#include "coordinator/runs/mixed_rounds.hpp"
#include "coordinator/runs/run_store.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/round_spec.hpp"
#include "shared/sealed/recipients.hpp"
#include "shared/sealed/reply_mac_key.hpp"
#include "shared/sealed/round_layout.hpp"
#include "shared/sealed/sealing_key.hpp"
#include "shared/wire/messages.hpp"

namespace undertone::coordinator {

/// Why a run cannot go on: its end, and no other's. An Error by itself is the store's, and every run's.
struct RunFailure {
  explicit RunFailure(Error why) : reason(std::move(why)) {}
  Error reason;
};

/// A silo of a round that asks for this: of those that are asked at first, and of those that join later.
[[nodiscard]] Participant participant_of(const jobs::RoundSpec& spec, const jobs::CohortMember& member);

/// Makes the rounds of one run: evaluations and whatever no shuffler mixes as a RoundMachine, the others as a
/// ShuffledRound with the keys that all of the run's shuffled rounds share.
class RoundFactory {
 public:
  /// @param job, store outlive this
  RoundFactory(const jobs::Job& job, const RunId& run, RunStore& store,
               std::shared_ptr<const jobs::PlausibleCohort> plausible, MixedRounds mixed);

  /// What is asked.
  struct Asked {
    queries::Query query;
    Digest digest{};    // of the query, in this run
    releases::Ask ask;  // of the round, in the job's schedule
    jobs::RoundSpec spec;
    /// What of the query bears upon which replies are plausible.
    std::shared_ptr<const folds::PlausibleReplies::Asked> plausibility;
  };
  struct Made {
    std::unique_ptr<Round> round;
    wire::QueryMessage message;  // what silos are sent
  };
  using Attempt = Result<std::variant<Made, RunFailure>>;
  /// @param participants who is expected to answer @return an error where the store fails
  [[nodiscard]] Attempt make(Asked asked, const std::set<SiloId>& participants);

 private:
  [[nodiscard]] Made make_plain(Asked asked, const std::set<SiloId>& participants) const;
  [[nodiscard]] Attempt make_shuffled(Asked asked, const std::set<SiloId>& participants);
  [[nodiscard]] std::unique_ptr<ShuffledRound> shuffled_round(const Asked& asked, const sealed::RoundLayout& layout,
                                                              const sealed::Recipients& recipients,
                                                              const std::set<SiloId>& participants,
                                                              const ShuffledState& state) const;
  /// What the store has of the run's shuffled rounds; begun with a new key for replies' codes where it has nothing.
  [[nodiscard]] Result<ShuffledState> state_from(RoundIndex round);
  /// Reads the keys of mixed replies, once. @return whether this coordinator has got them
  [[nodiscard]] Result<bool> read_keys(const Digest& mac_key);

  const jobs::Job* job_;
  RunId run_;
  RunStore* store_;
  std::shared_ptr<const jobs::PlausibleCohort> plausible_;
  MixedRounds mixed_;
  std::optional<sealed::SealingKey> sealing_key_;  // that mixed replies are sealed to
  std::optional<sealed::ReplyMacKey> mac_key_;     // of the codes in them
};

}  // namespace undertone::coordinator
