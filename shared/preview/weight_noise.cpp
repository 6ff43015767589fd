#include "shared/preview/weight_noise.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

namespace undertone::preview {
namespace {

using Json = nlohmann::ordered_json;

/// What the mean needs to know of one silo.
struct Counted {
  double weight = 0.0;
  double records = 0.0;
  double noise = 0.0;  // sigma_i of its mean gradient
};

/// Nothing of a silo whose plan has no gradient of private records.
std::vector<Counted> counted(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans) {
  std::vector<Counted> out;
  for (const jobs::CohortMember& member : job.cohort) {
    for (const planning::Plan::Segment& segment : plans.at(member.facts.silo).segments()) {
      const planning::Release& release = segment.release;
      if (release.ask.kind() != releases::QuestionKind::Gradient || release.ask.selects()) continue;
      out.push_back({static_cast<double>(member.weight), static_cast<double>(member.facts.records),
                     release.noise_stddev_of_mean()});
      break;
    }
  }
  return out;
}

template <class Weight>
double stddev(const std::vector<Counted>& silos, const Weight& weight) {
  double weights = 0.0;
  double variance = 0.0;
  for (const Counted& silo : silos) {
    weights += weight(silo);
    variance += std::pow(weight(silo) * silo.noise, 2.0);
  }
  return std::sqrt(variance) / weights;
}

}  // namespace

Json weight_noise(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans) {
  if (job.shuffle || job.aggregation.robust()) return nullptr;
  const std::vector<Counted> silos = counted(job, plans);
  if (silos.size() < job.cohort.size()) return nullptr;
  const Counted& first = silos.front();
  const bool alike = std::all_of(silos.begin(), silos.end(), [&](const Counted& silo) {
    return silo.weight == first.weight && silo.records == first.records && silo.noise == first.noise;
  });
  if (alike) return nullptr;
  double precision = 0.0;
  for (const Counted& silo : silos) precision += 1.0 / (silo.noise * silo.noise);
  return {{"job", stddev(silos, [](const Counted& silo) { return silo.weight; })},
          {"records", stddev(silos, [](const Counted& silo) { return silo.records; })},
          {"equal", stddev(silos, [](const Counted&) { return 1.0; })},
          {"least", 1.0 / std::sqrt(precision)}};
}

std::string describe_weight_noise(const Json& noise) {
  if (noise.is_null()) return "";
  const auto of = [&](const char* weights) { return noise.at(weights).get<double>(); };
  return fmt::format(
      "noise of the mean gradient by weights: {:.4g} with the job's own, {:.4g} by records, {:.4g} with equal ones, "
      "{:.4g} "
      "at the least, which \"weights\": \"noise_optimal\" is made for. Weights choose the objective, too: where silos' "
      "records differ, so does what the model is trained for\n",
      of("job"), of("records"), of("equal"), of("least"));
}

}  // namespace undertone::preview
