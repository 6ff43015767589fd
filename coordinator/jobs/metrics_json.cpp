#include "coordinator/jobs/metrics_json.hpp"

#include <nlohmann/json.hpp>

#include "shared/jobs/metric_values.hpp"

namespace undertone::coordinator {

nlohmann::ordered_json metrics_json(const jobs::JobTerms& job, const algorithms::MetricsRow& row) {
  nlohmann::ordered_json out = {{"after_steps", row.steps}, {"silos", row.replies}};
  nlohmann::ordered_json noise = nlohmann::ordered_json::object();
  for (const jobs::MetricValue& one : jobs::metric_values(job, row)) {
    out[one.name] = one.value;
    if (one.noise_stddev) noise[one.name] = *one.noise_stddev;
  }
  if (!noise.empty()) out["noise_stddev"] = std::move(noise);
  return out;
}

void put_verdicts(const jobs::JobTerms& job, const algorithms::MetricsRow& row, nlohmann::ordered_json& out) {
  out["verdicts"] = jobs::verdicts(job, row);
  const std::optional<jobs::ConfusionTable> table = jobs::confusion_table(job, row);
  if (!table) return;
  out["confusion"] = {{"labels", table->labels}, {"shares", table->shares}};
  if (table->noise_stddev) out["confusion"]["noise_stddev"] = *table->noise_stddev;
}

}  // namespace undertone::coordinator
