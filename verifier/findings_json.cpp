#include "verifier/findings_json.hpp"

namespace undertone::verifier {

nlohmann::ordered_json to_json(const LedgerFindings& findings) {
  nlohmann::ordered_json out = {{"sound", findings.problems.empty()},
                                {"problems", findings.problems},
                                {"dataset", findings.dataset},
                                {"noise", findings.noise},
                                {"unit", findings.unit},
                                {"public_key", findings.public_key},
                                {"ledger", findings.ledger},
                                {"entries", findings.entries},
                                {"head", findings.head_hash},
                                {"epsilon", findings.epsilon},
                                {"delta", findings.delta},
                                {"epsilon_units", findings.epsilon_units},
                                {"delta_units", findings.delta_units}};
  out["runs"] = nlohmann::ordered_json::array();
  for (const RunFindings& run : findings.runs) {
    out["runs"].push_back({{"run", run.run},
                           {"state", run.state},
                           {"epsilon", run.epsilon_reserved},
                           {"delta", run.delta_reserved},
                           {"epsilon_odometer", run.epsilon_spent},
                           {"releases", run.releases}});
  }
  return out;
}

}  // namespace undertone::verifier
