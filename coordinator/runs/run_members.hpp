#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "shared/base/ids.hpp"
#include "shared/jobs/job.hpp"
#include "shared/wire/messages.hpp"

namespace undertone::coordinator {

/// The silos of a run's cohort as the coordinator knows them: what each answered to the job, whether it is connected,
/// and why an answer of its is missing. All but the answers is forgotten by a restart.
class RunMembers {
 public:
  using Answers = std::map<SiloId, std::optional<wire::Refusal>>;  // no refusal: accepted

  struct Member {
    const jobs::CohortMember* of_job = nullptr;
    bool connected = false;
    std::optional<std::chrono::steady_clock::time_point> away_since = {};  // not connected
    bool dropped = false;      // it refused a query of this run, or said what no honest silo says, so that
    bool implausible = false;  // nothing of it is taken any more
    bool seen_end = false;
    bool told_end = false;  // on this connection, for accepting too late
    int offers_again = 0;   // in this round, since it said that it does not know the run
    int changes = 0;        // of its mind about the job
    std::string said;       // why its answer is still missing, as it says
  };

  /// @param job outlives this
  RunMembers(const jobs::Job& job, Answers answers);

  /// Null: not of the job's cohort.
  [[nodiscard]] Member* find(const SiloId& silo);
  [[nodiscard]] const Member* find(const SiloId& silo) const;
  [[nodiscard]] const std::map<SiloId, Member>& all() const noexcept { return members_; }
  [[nodiscard]] bool connected(const SiloId& silo) const;
  /// Those that are not connected, and nobody knows since when, are away from now on: a coordinator that was restarted
  /// has seen nobody yet.
  void begin_away(std::chrono::steady_clock::time_point now);

  /// @return whether that is another answer than the silo gave before
  [[nodiscard]] bool is_news(const SiloId& silo, const std::optional<wire::Refusal>& refusal) const;
  void answer(Member& member, const std::optional<wire::Refusal>& refusal);
  [[nodiscard]] bool answered(const SiloId& silo) const { return answers_.contains(silo); }
  [[nodiscard]] bool everybody_answered() const noexcept { return unanswered_ == 0; }
  /// It accepted the job.
  [[nodiscard]] bool accepted(const SiloId& silo) const;
  /// It accepted the job, and has not been dropped since.
  [[nodiscard]] bool takes_part(const SiloId& silo) const;
  /// Those that take part, ascending.
  [[nodiscard]] std::set<SiloId> participants() const;
  /// The others with what they answered to the job, "b (no answer), d (budget)".
  [[nodiscard]] std::string absent() const;
  [[nodiscard]] const Answers& answers() const noexcept { return answers_; }

  void forget_offers_again();
  void forget_said();

 private:
  Answers answers_;
  std::map<SiloId, Member> members_;
  std::size_t unanswered_ = 0;  // members whose answer to the job is not known
};

}  // namespace undertone::coordinator
