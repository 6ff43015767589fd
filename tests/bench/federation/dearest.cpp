#include "tests/bench/federation/dearest.hpp"

#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "coordinator/jobs/job_service.hpp"
#include "shared/base/contained.hpp"
#include "shared/base/random_source.hpp"
#include "shared/base/work_meter.hpp"
#include "tests/support/every_job.hpp"

namespace undertone::bench {
namespace {

using Json = nlohmann::json;

/// What a coordinator does with the text before it answers. @return nothing where it is refused, or beyond the most
std::optional<std::uint64_t> cost_of(const std::string& text, std::uint64_t most) {
  const WorkMeter meter(most);
  const Result<coordinator::PlannedJob> planned =
      contained("planning", [&] { return coordinator::PlannedJob::plan(text, "job"); });
  if (!planned || meter.exhausted()) return std::nullopt;
  return meter.done();
}

/// With so many silos, no two alike where the job allows it: each is then planned by itself.
Json with_silos(const Json& job, int silos, bool alike) {
  Json out = job;
  Json& cohort = out["cohort"];
  const Json first = cohort.at(0);
  const double epsilon = first.at("epsilon").get<double>();
  cohort = Json::array();
  for (int i = 0; i < silos; ++i) {
    Json member = first;
    member["silo"] = fmt::format("silo-{}", i);
    if (!alike) member["epsilon"] = epsilon * (1.0 + 1e-4 * i);
    cohort.push_back(std::move(member));
  }
  if (out.contains("participation") && out["participation"].contains("quorum"))
    out["participation"]["quorum"] = std::max(1, silos / 2);
  return out;
}

void find_numbers(const Json& at, const std::string& path, std::vector<Json::json_pointer>& out) {
  if (at.is_number()) out.emplace_back(path);
  if (!at.is_structured()) return;
  for (const auto& [key, value] : at.items())
    if (key != "cohort") find_numbers(value, path + "/" + key, out);
}

DearJob dearest_of(const std::string& name, const std::string& text, const DearestSearch& search) {
  DearJob best{name, text, cost_of(text, search.operations_max).value_or(0)};
  const auto take = [&](const Json& changed) {
    std::string other = changed.dump();
    const std::optional<std::uint64_t> cost = cost_of(other, search.operations_max);
    if (!cost || *cost < best.operations) return false;
    best = {name, std::move(other), *cost};
    return true;
  };
  Json job = Json::parse(text);
  for (int silos = search.silos; silos > 1; silos /= 2) {
    const Json unlike = with_silos(job, silos, false);
    const Json alike = with_silos(job, silos, true);
    if (take(unlike) ? (job = unlike, true) : take(alike) && (job = alike, true)) break;
  }
  std::vector<Json::json_pointer> places;
  find_numbers(job, "", places);
  RandomSource random(20261127);
  constexpr std::array<double, 6> kFactors = {2.0, 8.0, 64.0, 0.5, 0.125, 0.01};
  for (int i = 0; i < search.tries && !places.empty(); ++i) {
    Json changed = job;
    Json& number = changed[places[random.below(places.size())]];
    const double scaled = number.get<double>() * kFactors[random.below(kFactors.size())];
    number = number.is_number_integer() ? Json(static_cast<std::int64_t>(scaled)) : Json(scaled);
    if (take(changed)) job = std::move(changed);
  }
  return best;
}

}  // namespace

std::vector<DearJob> dearest_jobs(const DearestSearch& search) {
  std::vector<DearJob> out;
  std::size_t number = 0;
  for (const auto& [name, text] : tests::every_job())
    if (number++ % search.of == 0) out.push_back(dearest_of(name, text, search));
  return out;
}

}  // namespace undertone::bench
