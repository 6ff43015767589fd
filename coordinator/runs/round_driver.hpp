#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <variant>

#include "coordinator/rounds/round.hpp"
#include "coordinator/runs/advance.hpp"
#include "coordinator/runs/round_factory.hpp"
#include "coordinator/runs/run_store.hpp"
#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/jobs/planner.hpp"

namespace undertone::coordinator {

/// Drives a run's algorithm from query to query: makes each round, has the algorithm absorb what its answers folded
/// into, and commits what follows before anybody hears of it. @see algorithms::AlgorithmDriver where nobody waits
class RoundDriver {
 public:
  /// @param job, store outlive this @param checkpoint of the store, if rounds have begun
  RoundDriver(const jobs::Job& job, const RunId& run, RunStore& store,
              std::shared_ptr<const jobs::PlausibleCohort> plausible, MixedRounds mixed,
              const jobs::AlgorithmMaker& make_algorithm, std::optional<Checkpoint> checkpoint);
  RoundDriver(const RoundDriver&) = delete;
  RoundDriver& operator=(const RoundDriver&) = delete;
  ~RoundDriver() { give_up(); }

  /// Puts the algorithm where the checkpoint says. An error is this run's end, and no other's.
  [[nodiscard]] Status restore();
  /// Of the whole run.
  [[nodiscard]] std::uint64_t rounds_total() const noexcept { return rounds_total_; }
  [[nodiscard]] std::uint64_t rounds_closed() const noexcept { return checkpoint_ ? checkpoint_->round.value : 0; }
  /// @return an error where the algorithm has not finished
  [[nodiscard]] Result<algorithms::Outcome> outcome() const;

  /// Commits the first query. @return what ends this run, if anything does; an error where the store fails
  [[nodiscard]] Result<std::variant<std::monostate, RunFailure>> begin();
  /// Makes the round of the query that is committed, in place of the last; whoever asked opens it.
  /// @return what silos are asked; an error where the store fails
  [[nodiscard]] Result<std::variant<wire::QueryMessage, RunFailure>> make_round(const std::set<SiloId>& participants,
                                                                                TimePoint now);
  /// Hands out the work that a round leaves, and the algorithm with it. @pre the round is closed, and nothing is out
  ///
  /// Until `commit_round` nothing of this is in the store, which still stands at the round's query. A process that dies
  /// meanwhile asks that query again, the round being open as it was before anybody had answered: silos send again what
  /// they have stored, byte for byte, and shufflers forward again what they keep until they hear that it was delivered,
  /// which they do after the commit. Given the same accepted replies the same fold meets the same saved state, and the
  /// model is the same. A silo that had answered and is gone by then is missing, as in any round: nobody outside this
  /// process had heard that the round was closed.
  [[nodiscard]] Advance close_round(TimePoint now);
  /// Whether the algorithm is out.
  [[nodiscard]] bool is_advancing() const noexcept { return algorithm_ == nullptr; }
  struct Closed {
    RoundRecord record;
    Eigen::Index replies = 0;
    bool last = false;  // the algorithm has finished
  };
  /// Takes the algorithm back, and commits the round together with what follows from it. @pre it was handed out for
  /// this round @return an error where the store fails
  [[nodiscard]] Result<std::variant<Closed, RunFailure>> commit_round(Advanced advanced);
  /// Nobody waits for what is handed out any more. Nothing else is to be done with this afterwards.
  void give_up() noexcept { nobody_waits_.request_stop(); }
  /// What the round wants remembered.
  [[nodiscard]] Status commit(Round::Commit committed);

  /// The last that was made; null before the first, and while another is made.
  [[nodiscard]] Round* round() const noexcept { return round_.get(); }
  /// The round broke: there is none any more.
  void drop_round() noexcept { round_.reset(); }
  /// How a silo's own answer counts in this round.
  [[nodiscard]] Participant participant(const jobs::CohortMember& member) const;
  /// Of an answer in this round: what it is and what it may be.
  [[nodiscard]] std::string why_implausible(const SiloId& silo, const queries::Reply& reply) const;

 private:
  [[nodiscard]] std::string saved_state() const;
  /// The query that is committed, and what a round of it needs besides. An error is this run's end.
  [[nodiscard]] Result<RoundFactory::Asked> asked_next();
  /// Of each coordinate of the closed round's mean. @pre its fold is a mean
  [[nodiscard]] double noise_stddev_of_mean() const;

  RunId run_;
  RunStore* store_;
  const jobs::Job* job_;
  std::unique_ptr<algorithms::FederatedAlgorithm> algorithm_;  // null while it is out
  std::stop_source nobody_waits_;                              // for what is out
  planning::Schedule schedule_;
  std::uint64_t rounds_total_ = 0;
  std::shared_ptr<const jobs::PlausibleCohort> plausible_;
  RoundFactory factory_;
  std::optional<Checkpoint> checkpoint_;
  std::unique_ptr<Round> round_;
  jobs::RoundSpec spec_;                                                // of that round
  std::shared_ptr<const folds::PlausibleReplies::Asked> plausibility_;  // of its replies
  TimePoint round_began_{};
  std::chrono::milliseconds round_took_{0};  // to its close
};

}  // namespace undertone::coordinator
