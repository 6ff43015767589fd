#include "shared/jobs/stated_json.hpp"

#include <cmath>

namespace undertone::jobs {
namespace {

using Json = nlohmann::ordered_json;

Json estimate_json(const NamedEstimate& estimate) {
  const statistics::Stated& stated = estimate.stated;
  Json out = {{"name", estimate.name}};
  out["value"] = stated.value ? end_json(*stated.value) : Json(nullptr);
  if (stated.noise_stddev > 0.0) out["noise_stddev"] = stated.noise_stddev;
  out["noise_interval"] = interval_json(stated.noise);
  if (stated.population) {
    out["population_interval"] = interval_json(*stated.population);
    if (stated.method != statistics::Method::None) out["method"] = std::string(statistics::to_string(stated.method));
  }
  if (stated.gate) out["gate"] = end_json(*stated.gate);
  if (!stated.note.empty()) out["note"] = stated.note;
  return out;
}

}  // namespace

Json end_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json interval_json(const statistics::Interval& interval) { return {end_json(interval.low), end_json(interval.high)}; }

Json estimates_json(const StatedQuestion& stated) {
  Json out = Json::array();
  for (const NamedEstimate& estimate : stated.estimates) out.push_back(estimate_json(estimate));
  return out;
}

Json tests_json(const StatedQuestion& stated) {
  Json out = Json::array();
  for (const NamedTest& test : stated.tests) {
    Json one = {{"name", test.name}};
    one["p_value"] = test.p_value ? end_json(*test.p_value) : Json(nullptr);
    if (test.p_value) {
      one["statistic"] = end_json(test.statistic);
      one["degrees"] = test.degrees;
    }
    if (!test.note.empty()) one["note"] = test.note;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace undertone::jobs
