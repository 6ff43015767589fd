#include "shared/config/json_section.hpp"
#include "silo/owner/silo_config.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

/// An institution's file, its policy in it: whatever is let in has named policy, ledgers and heads.
void silo_config(std::string_view input) {
  const auto document = config::parse_json(input, "silo.json");
  if (!document) return;
  config::Problems problems("silo.json");
  const auto parsed = silo::parse_silo_config(document->root, "/institution", problems);
  UNDERTONE_CHECK(parsed.has_value() == problems.none());
  if (!parsed) return;
  UNDERTONE_CHECK(!parsed->datasets.empty() && parsed->datasets.size() <= silo::kDatasetsMax);
  UNDERTONE_CHECK(parsed->policy.records_min >= 1 && parsed->policy.cohort_min >= 1);
  UNDERTONE_CHECK(parsed->policy.epsilon_max.value() > 0.0 && parsed->policy.delta_max.value() > 0.0);
  for (const silo::DatasetConfig& dataset : parsed->datasets)
    UNDERTONE_CHECK(dataset.ledger != dataset.ledger_head && !dataset.ledger_key.empty());
}

const Target kTarget("silo_config", silo_config);

}  // namespace
}  // namespace undertone::fuzz
