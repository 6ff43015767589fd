#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "operator/deployment.hpp"

namespace undertone::tests {

/// What the files of a deployment say once its processes are gone, whatever happened to them on the way.
struct FederationAudit {
  /// One sentence for each rule that is broken:
  ///  * every ledger verifies, with code that shares nothing with the silo's, and is charged for the run once;
  ///  * every reply that the coordinator folded in stands in its silo's ledger with the same digest;
  ///  * no ledger is behind a head that the coordinator was told of;
  ///  * the run ended; where it succeeded without shufflers, the model is, to the bit, what its algorithm makes of the
  ///    replies as the ledgers hold them.
  std::vector<std::string> problems;
  bool succeeded = false;
  std::string failure;              // of a run that did not succeed
  std::size_t replies = 0;          // folded in
  bool everybody_answered = false;  // every silo in every round
};

/// @pre the deployment's processes have ended
[[nodiscard]] FederationAudit audit(const operators::Deployment& deployment);

}  // namespace undertone::tests
