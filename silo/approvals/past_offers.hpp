#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/store/sqlite.hpp"

namespace undertone::silo {

/// An offer that came to nothing, as the owner sees it.
struct PastOffer {
  enum class Outcome { Refused, Ended };
  RunId run;
  std::string dataset;  // the nearest one
  std::string name;     // the job's, as its author wrote it
  Outcome outcome = Outcome::Refused;
  std::string kind;    // of the refusal: "policy", "budget", ...; empty where the offer ended
  std::string reason;  // in full, for the owner alone
  double epsilon = 0.0;
  double delta = 0.0;
  std::int64_t at = 0;  // seconds since 1970: when it was refused last, or ended
};
[[nodiscard]] const char* to_string(PastOffer::Outcome outcome) noexcept;

/// What became of offers that were refused or that ended before they were accepted. For the owner to read: nothing is
/// decided by it. Whoever may offer jobs may fill it, so the oldest make room.
class PastOffers {
 public:
  static constexpr std::size_t kKeptMax = 256;
  static constexpr std::size_t kNameBytesMax = 256;
  static constexpr std::size_t kReasonBytesMax = 4096;
  /// The same refusal again, as after each time the connection is made, is not written again within this time.
  static constexpr std::int64_t kAgainSeconds = 60;

  [[nodiscard]] static Result<PastOffers> open(store::Database& database);

  /// Enters what became of an offer, in place of what was known of its run.
  [[nodiscard]] Status note(const PastOffer& offer);
  /// The run was accepted or waits after all.
  [[nodiscard]] Status forget(const RunId& run);
  /// Newest first.
  [[nodiscard]] Result<std::vector<PastOffer>> all();

 private:
  [[nodiscard]] Result<bool> knows(const RunId& run);
  /// Whether that stands there already, written not long before.
  [[nodiscard]] Result<bool> says(const RunId& run, PastOffer::Outcome outcome, const std::string& reason,
                                  std::int64_t now);

  explicit PastOffers(store::Database& database) : database_(&database) {}
  store::Database* database_;
};

}  // namespace undertone::silo
