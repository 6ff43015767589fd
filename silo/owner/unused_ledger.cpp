#include "silo/owner/unused_ledger.hpp"

#include "silo/owner/snapshots.hpp"

namespace undertone::silo {

Result<UnusedLedger> UnusedLedger::find(const DatasetConfig& dataset, const Policy& policy, crypto::NoiseKind noise) {
  UNDERTONE_TRY(LedgerFiles files, open_ledger_files(dataset));
  if (ledger_has_begun(dataset)) {
    UNDERTONE_TRY(const LedgerView view, view_ledger(dataset, policy, noise));
    if (const std::uint64_t entries = view.ledger->head().sequence; entries != 1)
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("the ledger of \"{}\" has {} entries, and only one that nothing was written to is taken back: "
                      "what its records have spent stays spent. `undertone-silo dataset remove {}` takes it out of "
                      "the configuration and keeps the ledger",
                      dataset.name, entries, dataset.name)};
  }
  return UnusedLedger(dataset, std::move(files));
}

Status UnusedLedger::remove() && {
  std::vector<std::filesystem::path> all = {dataset_->ledger_head};
  for (const char* ending : {"", "-wal", "-shm"}) all.emplace_back(dataset_->ledger.string() + ending);
  all.push_back(place_file(*dataset_));
  if (dataset_->snapshots) {
    for (std::filesystem::path& snapshot : snapshots_of(*dataset_)) all.push_back(std::move(snapshot));
  }
  std::error_code failed;
  for (const std::filesystem::path& file : all) {
    std::filesystem::remove(file, failed);
    if (failed) break;
  }
  files_.reset();
  if (!failed) return {};
  return Error{ErrorCode::StorageFailed, fmt::format("some of its files are left: {}", failed.message())};
}

}  // namespace undertone::silo
