#pragma once

#include <memory>

#include "silo/owner/institution.hpp"

namespace undertone::silo {

/// The ledger of a data set that was added by mistake: it holds nothing but its beginning. Its locks are held, so that
/// nobody charges it in between. It is forgotten here alone: a coordinator that has met it still knows its id, and an
/// agent with another ledger halts there until its owner says so in the configuration. So a ledger that was put back
/// from an old copy is not passed off as a new one.
class UnusedLedger {
 public:
  /// @param dataset outlives this
  /// @return an error where its ledger was charged, amended or given a filter, or another process holds it
  [[nodiscard]] static Result<UnusedLedger> find(const DatasetConfig& dataset, const Policy& policy,
                                                 crypto::NoiseKind noise);

  /// Removes its files and its snapshot, once no configuration names them any more.
  /// @return an error where some are left
  [[nodiscard]] Status remove() &&;

 private:
  UnusedLedger(const DatasetConfig& dataset, LedgerFiles files)
      : dataset_(&dataset), files_(std::make_unique<LedgerFiles>(std::move(files))) {}
  const DatasetConfig* dataset_;
  std::unique_ptr<LedgerFiles> files_;
};

}  // namespace undertone::silo
