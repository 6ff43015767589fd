#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "coordinator/rounds/round.hpp"
#include "shared/base/ids.hpp"
#include "shared/store/sqlite.hpp"

namespace undertone::coordinator {

/// What a run with shufflers must remember beside its checkpoint.
struct ShuffledState {
  Digest mac_key{};  // of the run's replies
  RoundIndex round;  // that the rest is about
  std::optional<Round::Commit> committed = {};
};

/// The tables of a RunStore that runs with shufflers need: the keys that replies are sealed to, and a ShuffledState for
/// each run. Whoever writes does so within a transaction of its own. @see RunStore
class ShuffledTables {
 public:
  /// @param database outlives this, and has the tables
  explicit ShuffledTables(store::Database& database) : database_(&database) {}

  /// @param secret 32 bytes @return an error where as many keys as may be are kept
  [[nodiscard]] Status add_sealing_key(const Digest& fingerprint, std::string_view secret);
  [[nodiscard]] Result<std::optional<std::string>> sealing_secret(const Digest& fingerprint);
  [[nodiscard]] Result<std::optional<ShuffledState>> state(const RunId& run);
  [[nodiscard]] Status set_state(const RunId& run, const ShuffledState& state);

 private:
  store::Database* database_;
};

}  // namespace undertone::coordinator
