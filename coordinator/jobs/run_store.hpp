#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/queries/receipt.hpp"
#include "shared/store/sqlite.hpp"
#include "shared/wire/messages.hpp"

namespace undertone::coordinator {

enum class RunState { Joining, Running, Succeeded, Failed };

/// Where a run stands: the algorithm's state and the query that follows from it.
struct Checkpoint {
  RoundIndex round;  // of the query; past the last one when the run succeeded
  std::string algorithm_state;
  Digest query{};  // digest of the query that is broadcast after this is committed
};

/// A closed round, as reports and audits see it.
struct RoundRecord {
  RoundIndex round;
  std::map<SiloId, Digest> accepted;  // who was folded in, and the digest of what each said
  std::vector<SiloId> missing;
};

struct RunRecord {
  RunId run;
  std::string job;
  RunState state = RunState::Joining;
  std::string failure;
  std::map<SiloId, std::optional<wire::Refusal>> answers;  // to the job's offer
  std::optional<Checkpoint> checkpoint;
};

/// The coordinator's memory. Each call is one transaction: done when it returns without an error, or never.
class RunStore {
 public:
  [[nodiscard]] static Result<RunStore> open(store::Database& database);

  [[nodiscard]] Status begin(const RunId& run, const std::string& job);
  /// The newest run of a job, if there is one.
  [[nodiscard]] Result<std::optional<RunRecord>> newest_run(const Digest& job);
  /// Ended runs of a job other than the given one, newest first, at most 16, and whether they succeeded.
  [[nodiscard]] Result<std::vector<std::pair<RunId, bool>>> earlier_runs(const RunId& current);
  [[nodiscard]] Status record_answer(const RunId& run, const SiloId& silo, std::optional<wire::Refusal> refusal);
  /// The first query: committed before it is broadcast.
  [[nodiscard]] Status start_rounds(const RunId& run, const Checkpoint& first);
  /// A closed round and the query that follows, in one commit. @param finished the run succeeded with this round
  [[nodiscard]] Status close_round(const RunId& run, const RoundRecord& closed, const Checkpoint& next, bool finished);
  [[nodiscard]] Status fail(const RunId& run, const std::string& reason);
  [[nodiscard]] Result<std::vector<RoundRecord>> rounds(const RunId& run);

  /// Keeps the newest head of each ledger that the silo told of, and no more ledgers than kReceiptsMax.
  [[nodiscard]] Status record_receipt(const SiloId& silo, const queries::Receipt& receipt);
  /// Oldest ledger first.
  [[nodiscard]] Result<std::vector<queries::Receipt>> receipts(const SiloId& silo);

 private:
  explicit RunStore(store::Database& database) : database_(&database) {}
  [[nodiscard]] Status put_checkpoint(const RunId& run, const Checkpoint& checkpoint, const char* state);
  store::Database* database_;
};

}  // namespace undertone::coordinator
