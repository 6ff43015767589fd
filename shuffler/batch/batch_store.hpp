#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/store/sqlite.hpp"
#include "shuffler/batch/batch.hpp"

namespace undertone::shuffler {

/// A shuffler's memory. Each change is one transaction: done when `apply` returns without an error, or never.
///
/// While a batch is collected its silos stand in a table of their own and its messages in another, by slot. Closing it
/// drops both tables, and in the same transaction writes the permuted units by place, or the total, into a third.
/// SQLite overwrites with zeros every page that a dropped table gives back (secure_delete); tables are not shared
/// between batches because deleting rows does not do as much: cells that moved between pages leave copies behind. Where
/// a permuted unit then lies in the file depends on its place, on the equal lengths and on which pages were free, not
/// on who sent it.
/// Then the write-ahead log, which still holds the old pages, is copied back and cut to nothing; `apply` returns, and
/// anything is forwarded, only after that, and `open` does it before anything else. A failed or a finished batch goes
/// the same way. What stays of a run is its identity, its last round's numbers and query, and how many replies it had.
/// Rows do not stay in memory that SQLite still uses; with store::wipe_freed_memory, nor in what it gave back.
///
/// Not erased: what the file system or the drive keeps of overwritten and cut-off blocks (journals, snapshots, worn
/// flash), backups, swapped memory. The file belongs on an encrypted volume of its own that no backup reads.
class BatchStore {
 public:
  /// Takes the file for itself: nobody else can read it, or keep old pages in the log, while this is open.
  [[nodiscard]] static Result<BatchStore> open(store::Database& database);

  /// After an error nothing is known but what `load` says when the store is opened again.
  [[nodiscard]] Status apply(const Change& change);
  /// Every run's newest batch.
  [[nodiscard]] Result<std::vector<Batch>> load();

 private:
  explicit BatchStore(store::Database& database) : database_(&database) {}
  [[nodiscard]] Status upgrade();
  /// A run's row, and what its tables are named after.
  struct Row {
    std::int64_t number = 0;
    BatchState state = BatchState::Collecting;
    bool adds = false;
  };
  [[nodiscard]] Result<Row> row_of(const RunId& run);
  /// @return its number, or an error where the batch before is not over
  [[nodiscard]] Result<std::int64_t> open_row(const BatchSpec& spec);
  [[nodiscard]] Status write(const BatchOpened& opened);
  [[nodiscard]] Status write(const MessageReceived& received);
  [[nodiscard]] Status write(const BatchCollected& collected);
  [[nodiscard]] Status write(const BatchPermuted& permuted);
  [[nodiscard]] Status write(const BatchAdded& added);
  [[nodiscard]] Status write(const BatchFailed& failed);
  [[nodiscard]] Status write(const BatchFinished& finished);
  [[nodiscard]] Status set_state(const Row& row, BatchState state, std::size_t replies);
  [[nodiscard]] Status forget_senders(const Row& row);
  [[nodiscard]] Status read_collected(std::int64_t number, Batch& batch);
  [[nodiscard]] Status read_permuted(std::int64_t number, Batch& batch);
  [[nodiscard]] Status read_total(std::int64_t number, Batch& batch);
  [[nodiscard]] Status clear_scratch();
  [[nodiscard]] Status cut_log();
  store::Database* database_;
};

}  // namespace undertone::shuffler
