#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/small_federation.hpp"

namespace undertone::tests {

inline constexpr std::int64_t kOfPersonsMax = 8;  // records of one person that count

/// A federation's job as one of as many persons.
[[nodiscard]] inline nlohmann::json of_persons(const SmallFederation& federation) {
  nlohmann::json job = nlohmann::json::parse(federation.job());
  job["privacy"]["unit"] = "person";
  const std::string model = job.contains("model") ? job["model"]["kind"] : "";
  job["privacy"]["person"] = {{"records_max", kOfPersonsMax}};
  if (!model.empty())
    job["privacy"]["person"]["contribution"] =
        model == "network" || model == "softmax" ? "mean_of_clipped" : "clipped_mean";
  for (nlohmann::json& member : job["cohort"]) {
    member["persons"] = member["records"];
    member["holdout_persons"] = member["holdout_records"];
    member.erase("records");
    member.erase("holdout_records");
  }
  return job;
}

/// Records as those of as many persons: the i-th has `held[i % size]` copies of the i-th record, whose features are
/// moved a little but in the first one.
[[nodiscard]] inline models::Records records_of_persons(const models::Records& records,
                                                        const std::vector<std::int64_t>& held) {
  models::Records out{{}, {}, {0}};
  for (Eigen::Index i = 0; i < records.rows(); ++i)
    out.starts.push_back(out.starts.back() + held[static_cast<std::size_t>(i) % held.size()]);
  out.features.resize(records.features.rows(), out.starts.back());
  out.targets.resize(out.starts.back());
  for (Eigen::Index i = 0; i < records.rows(); ++i) {
    const std::int64_t first = out.starts[static_cast<std::size_t>(i)];
    for (std::int64_t j = first; j < out.starts[static_cast<std::size_t>(i) + 1]; ++j) {
      out.features.col(j) = (1.0 - 0.05 * static_cast<double>(j - first)) * records.features.col(i);
      out.targets[j] = records.targets[i];
    }
  }
  return out;
}

/// The federation's silos, each of whose records is a person with so many of her own, in turn.
[[nodiscard]] inline std::vector<simulation::SimulatedSilo> cohort_of_persons(const SmallFederation& federation,
                                                                              const std::vector<std::int64_t>& held) {
  std::vector<simulation::SimulatedSilo> out = federation.cohort();
  for (simulation::SimulatedSilo& silo : out) {
    silo.facts.unit = releases::Unit::Person;
    silo.policy.units = {"person"};
    silo.policy.persons_min = 1;
    silo.dataset.training = records_of_persons(silo.dataset.training, held);
    silo.dataset.holdout = records_of_persons(silo.dataset.holdout, held);
  }
  return out;
}

}  // namespace undertone::tests
