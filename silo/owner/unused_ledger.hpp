#pragma once

#include <memory>
#include <string>
#include <vector>

#include "silo/owner/institution.hpp"

namespace undertone::silo {

/// The ledger of a data set that was added by mistake: no run was ever charged to it, so that nothing is forgotten when
/// it goes. Its locks are held, so that nobody charges one in between.
class UnusedLedger {
 public:
  /// @param dataset outlives this
  /// @return an error where its records have spent something, or another process holds the ledger
  [[nodiscard]] static Result<UnusedLedger> find(const DatasetConfig& dataset, const Policy& policy,
                                                 crypto::NoiseKind noise);

  /// The ids that the next ledger of these records replaces, in hexadecimal: this one's, and those that it replaced.
  [[nodiscard]] const std::vector<std::string>& replaces() const noexcept { return replaces_; }
  /// Removes its files and its snapshot. A crash in the middle leaves a data set whose ledger has not begun.
  void remove() &&;

 private:
  explicit UnusedLedger(const DatasetConfig& dataset) : dataset_(&dataset) {}
  const DatasetConfig* dataset_;
  std::unique_ptr<LedgerFiles> files_;  // null where it was never begun
  std::vector<std::string> replaces_;
};

}  // namespace undertone::silo
