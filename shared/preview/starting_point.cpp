#include "shared/preview/starting_point.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "shared/base/work_meter.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/preview/predicted_excess.hpp"

namespace undertone::preview {
namespace {

using Json = nlohmann::ordered_json;

/// The largest loss of a record where every score is 0; nothing where that is not known.
std::optional<double> loss_of_zero(const models::Model& model) {
  if (const models::LinearModel* linear = model.linear())
    return std::max(linear->linear_loss().value(0.0, 1.0), linear->linear_loss().value(0.0, -1.0));
  if (const models::Network* network = model.network(); network != nullptr && network->is_linear())
    return std::log(static_cast<double>(network->classes()));
  return std::nullopt;
}

/// The same job with numbers of every silo multiplied: its records or persons, and what it is promised. rho grows with
/// the square of epsilon.
std::string with_more(const std::string& text, int units, int epsilon) {
  Json job = Json::parse(text);
  for (Json& member : job.at("cohort")) {
    for (const char* count : {"records", "persons"})
      if (member.contains(count)) member[count] = member[count].get<std::int64_t>() * units;
    if (member.contains("epsilon")) member["epsilon"] = member["epsilon"].get<double>() * epsilon;
    if (member.contains("rho")) member["rho"] = member["rho"].get<double>() * epsilon * epsilon;
  }
  return job.dump();
}

/// Returns what is predicted of that job. There is nothing where the job is refused.
std::optional<double> bound_with_more(const std::string& text, const std::filesystem::path& file, int records,
                                      int epsilon) {
  const Result<jobs::Job> job = jobs::parse_job(with_more(text, records, epsilon), file.string());
  if (!job) return std::nullopt;
  const Result<std::map<SiloId, planning::Plan>> plans = jobs::plans_of(*job);
  if (!plans) return std::nullopt;
  const std::optional<algorithms::RiskBound> found = predicted_excess(*job, *plans);
  return found ? std::optional(found->bound) : std::nullopt;
}

/// This says by what a number of the cohort has to be multiplied for the bound to be below where the run starts.
struct Remedy {
  std::optional<std::pair<int, double>> better;  // the factor, and the bound there
  int tried = 1;                                 // the largest factor that was looked at
};

/// Tries the powers of one factor.
template <typename BoundAt>
Remedy remedy(double most, int factor, int factor_max, const BoundAt& bound_at) {
  Remedy out;
  for (int times = factor; times <= factor_max; times *= factor) {
    const std::optional<double> bound = bound_at(times);
    if (!bound || WorkMeter::stopped()) return out;
    out.tried = times;
    if (*bound >= most) continue;
    out.better = std::pair(times, *bound);
    return out;
  }
  return out;
}

/// "With 16 times as many records at every silo it would be 0.31"
std::string said_of(const Remedy& remedy, const char* what) {
  if (remedy.better)
    return fmt::format(" With {} times {} it would be {:.4g}.", remedy.better->first, what, remedy.better->second);
  return remedy.tried == 1 ? std::string() : fmt::format(" It is no better with {} times {}.", remedy.tried, what);
}

}  // namespace

std::optional<StartingPoint> starting_point(const jobs::Job& job, std::string_view measure) {
  std::optional<StartingPoint> out;
  const auto at_most = [&](std::optional<double> most, const char* why) {
    if (most && *most > 0.0 && (!out || *most < out->most)) out = StartingPoint{*most, why};
  };
  const theorems::TheoremFacts* facts = job.theorem && !job.moments ? &job.theorem->facts : nullptr;
  const bool excess = measure == theorems::kExcessRisk || measure == theorems::kPopulationRisk;
  const algorithms::Problem& problem = job.algorithm->problem();
  const bool at_zero = problem.start().isZero();
  if (excess && job.model && at_zero) at_most(loss_of_zero(*job.model), "the zero model's loss");
  if (facts == nullptr) return out;
  if (excess && facts->gap > 0.0) at_most(facts->gap, "the gap that the theorem reckons with");
  // A regulariser adds nothing at zero alone. Of projected records no bound on a gradient is proven.
  if (job.projection || !(at_zero || problem.regulariser.is_none())) return out;
  const double norm = jobs::record_norm(*job.model, job.schema);
  const std::optional<double> proven = job.model->constants(norm).lipschitz;
  if (!proven) return out;
  if (!excess)
    at_most(*proven * *proven, "the square of the longest gradient");
  else if (const std::optional<double> diameter = problem.domain.diameter(problem.dimension))
    at_most(*proven * *diameter, "the longest gradient times the domain's diameter");
  return out;
}

std::string idle_bound_warning(const std::string& text, const std::filesystem::path& file, const jobs::Job& job,
                               const algorithms::RiskBound& bound) {
  const std::optional<StartingPoint> start = starting_point(job, bound.measure);
  if (!start || bound.bound < start->most) return {};
  std::string out = fmt::format(
      "the bound on the {}, {:.4g}, is no better than where the run starts, which is at most {:.4g} ({}): it promises "
      "nothing.",
      bound.measure, bound.bound, start->most, start->why);
  const WorkMeter meter(kIdleWorkMax);  // of both
  std::string found =
      said_of(remedy(start->most, 4, kRecordsMoreMax, [&](int times) { return bound_with_more(text, file, times, 1); }),
              job.unit == releases::Unit::Person ? "as many persons at every silo" : "as many records at every silo");
  if (job.noise_choice.by != jobs::NoiseChoice::By::Hand)  // whose noise no promise changes
    found += said_of(
        remedy(start->most, 2, kEpsilonMoreMax, [&](int times) { return bound_with_more(text, file, 1, times); }),
        "the epsilon");
  return out + (found.empty() ? " From which number of records on it would be better was not found: such a plan takes "
                                "too long, or is refused."
                              : found);
}

}  // namespace undertone::preview
