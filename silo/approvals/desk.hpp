#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/store/sqlite.hpp"
#include "silo/approvals/past_offers.hpp"

namespace undertone::silo {

/// What the owner has decided about a run.
enum class Decision { Waiting, Approved, Refused, Withdrawn };
[[nodiscard]] const char* to_string(Decision decision) noexcept;

/// Who decided about a run, when, and why.
struct OwnersWord {
  std::string who = {};     // "anna, by the command"; empty where nobody kept it
  std::string reason = {};  // in the owner's words; empty where they said nothing
  std::int64_t at = 0;      // seconds since 1970
};

/// A job that was offered and that the policy allowed then, as the owner sees it.
struct DeskOffer {
  RunId run;
  std::string dataset;
  std::string job;
  Decision decision = Decision::Waiting;
  std::int64_t first_seen = 0;  // seconds since 1970
};

/// Where jobs wait for their owner, and where the owner's word is kept: the running agent and the owner's commands meet
/// in this file and nowhere else. A decision is on disk before the command that made it ends, and the agent looks here
/// before every answer.
class Desk {
 public:
  /// Most jobs that may wait; more are not entered until the owner has decided. What was not offered again for a day
  /// makes room: its run is over, or its coordinator is.
  static constexpr std::size_t kWaitingMax = 64;
  static constexpr std::int64_t kStaleSeconds = std::int64_t{24} * 3600;

  [[nodiscard]] static Result<Desk> open(store::Database& database);

  /// Enters an offer unless the run is known.
  /// @return the decision that stands; nothing where the desk is full
  [[nodiscard]] Result<std::optional<Decision>> offered(const RunId& run, const std::string& dataset,
                                                        const std::string& job, std::int64_t now);
  [[nodiscard]] Result<std::optional<Decision>> decision(const RunId& run);
  [[nodiscard]] Result<std::optional<DeskOffer>> find(const RunId& run);
  /// The run is over: if it still waits, there is nothing to decide any more.
  [[nodiscard]] Status forget_waiting(const RunId& run);
  /// For a run the desk does not know, only withdrawing makes sense. A withdrawn run stays withdrawn.
  /// @return whether the decision could be made
  /// @param word who decided, when, and why
  /// @param shown the data set that the owner was shown, where the decision is about an offer: it must still wait, on
  /// that
  ///   data set
  [[nodiscard]] Result<bool> decide(const RunId& run, Decision decision, const OwnersWord& word = {},
                                    const std::optional<std::string>& shown = {});
  /// What is known of the owner's last decision.
  [[nodiscard]] Result<OwnersWord> word(const RunId& run);
  [[nodiscard]] Result<std::vector<DeskOffer>> offers();

  /// What came of offers that neither wait nor were accepted.
  [[nodiscard]] PastOffers& past() noexcept { return past_; }

  /// An answer depends on this word of the owner.
  struct Standing {
    bool paused = false;
    std::optional<Decision> decision;  // about the run; nothing where the desk does not know it
    [[nodiscard]] bool forbids() const {
      return paused || decision == Decision::Withdrawn || decision == Decision::Refused;
    }
  };
  /// One statement reads it, since every answer asks for it twice.
  [[nodiscard]] Result<Standing> standing(const RunId& run);
  [[nodiscard]] Result<bool> paused();
  [[nodiscard]] Status set_paused(bool paused);

 private:
  Desk(store::Database& database, PastOffers past) : database_(&database), past_(past) {}
  /// What waited and was not offered again for a day becomes a past offer.
  [[nodiscard]] Status clear_stale(std::int64_t now);
  store::Database* database_;
  PastOffers past_;
};

}  // namespace undertone::silo
