#include "silo/owner/unused_ledger.hpp"

#include "silo/owner/snapshots.hpp"

namespace undertone::silo {

Result<UnusedLedger> UnusedLedger::find(const DatasetConfig& dataset, const Policy& policy, crypto::NoiseKind noise) {
  UnusedLedger out(dataset);
  if (!ledger_has_begun(dataset)) return out;
  UNDERTONE_TRY(LedgerFiles files, open_ledger_files(dataset));
  UNDERTONE_TRY(const LedgerView view, view_ledger(dataset, policy, noise));
  if (!view.ledger->accounts().empty())
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("the ledger of \"{}\" was charged for {} runs: its records have spent what they have spent. "
                    "`undertone-silo dataset remove {}` takes it out of the configuration and keeps the ledger",
                    dataset.name, view.ledger->accounts().size(), dataset.name)};
  out.replaces_.push_back(to_hex(as_bytes(view.ledger->id())));
  for (const Digest& id : dataset.replaced_ledgers) out.replaces_.push_back(to_hex(as_bytes(id)));
  out.files_ = std::make_unique<LedgerFiles>(std::move(files));
  return out;
}

void UnusedLedger::remove() && {
  std::error_code ignored;
  // In this order a crash leaves the data set as it was, or one whose ledger has not begun.
  std::filesystem::remove(dataset_->ledger_head, ignored);
  for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove(dataset_->ledger.string() + ending, ignored);
  std::filesystem::remove(place_file(*dataset_), ignored);
  if (dataset_->snapshots) {
    for (const std::filesystem::path& snapshot : snapshots_of(*dataset_)) std::filesystem::remove(snapshot, ignored);
  }
  files_.reset();
}

}  // namespace undertone::silo
