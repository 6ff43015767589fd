#include "coordinator/jobs/metrics_json.hpp"

#include <nlohmann/json.hpp>

#include "shared/jobs/group_metrics.hpp"
#include "shared/jobs/metric_values.hpp"

namespace undertone::coordinator {
namespace {

nlohmann::ordered_json share_json(const jobs::NoisedShare& share) {
  nlohmann::ordered_json out = {{"value", share.value}};
  if (share.stddev > 0.0) out["noise_stddev"] = share.stddev;
  return out;
}

/// Every group's table and rates. What a group is too small to say is null.
nlohmann::ordered_json groups_json(const jobs::GroupTables& tables) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const jobs::GroupTable& group : tables.groups) {
    nlohmann::ordered_json said = nullptr;
    for (std::size_t j = 0; j < group.said.size(); ++j) said[tables.labels[j]] = share_json(group.said[j]);
    nlohmann::ordered_json said_of = nlohmann::ordered_json::object();
    for (std::size_t truth = 0; truth < group.said_of.size(); ++truth) {
      nlohmann::ordered_json own = nullptr;
      for (std::size_t j = 0; j < group.said_of[truth].size(); ++j)
        own[tables.labels[j]] = share_json(group.said_of[truth][j]);
      said_of[tables.labels[truth]] = std::move(own);
    }
    out.push_back({{"group", group.name},
                   {"share", group.share},
                   {"accuracy", group.accuracy ? share_json(*group.accuracy) : nlohmann::ordered_json(nullptr)},
                   {"said", std::move(said)},
                   {"said_of_label", std::move(said_of)},
                   {"shares", group.shares}});
    if (tables.noise_stddev > 0.0) out.back()["shares_noise_stddev"] = tables.noise_stddev;
  }
  return out;
}

}  // namespace

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
  if (const std::optional<jobs::GroupTables> groups = jobs::group_tables(job, row))
    out["groups"] = groups_json(*groups);
  const std::optional<jobs::ConfusionTable> table = jobs::confusion_table(job, row);
  if (!table) return;
  out["confusion"] = {{"labels", table->labels}, {"shares", table->shares}};
  if (table->noise_stddev) out["confusion"]["noise_stddev"] = *table->noise_stddev;
}

}  // namespace undertone::coordinator
