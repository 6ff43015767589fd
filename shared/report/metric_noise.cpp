#include "shared/report/metric_noise.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "shared/jobs/round_spec.hpp"

namespace undertone::report {
namespace {

/// A silo's part in the mean of metrics.
struct Part {
  double weight = 0.0;
  double stddev = 0.0;  // of its answer's noise, before the metric's scale
};

std::map<std::string, Part> parts_of(const RunResult& result, const jobs::Job& job) {
  std::map<std::string, Part> out;
  const planning::Schedule schedule = jobs::schedule_of(job);
  const auto evaluation = std::find_if(schedule.begin(), schedule.end(), [](const planning::ScheduledRounds& part) {
    return part.ask.kind() == releases::QuestionKind::Metrics;
  });
  if (evaluation == schedule.end()) return out;
  const jobs::RoundSpec spec = jobs::round_spec(job, evaluation->ask);
  for (const jobs::CohortMember& member : job.cohort)
    out[member.facts.silo.name()].weight = static_cast<double>(spec.weight(member));
  for (const SiloPrivacy& silo : result.privacy) {
    for (const NoiseRow& row : silo.noise) {
      if (row.kind == releases::to_string(releases::QuestionKind::Metrics)) out[silo.silo].stddev = row.stddev_of_mean;
    }
  }
  return out;
}

}  // namespace

void add_metric_noise(RunResult& result, const jobs::Job& job, const std::set<std::uint64_t>& evaluating) {
  if (job.shuffle || !job.model || result.setting("noise") == "none") return;
  const std::map<std::string, Part> parts = parts_of(result, job);
  const std::vector<std::string_view> names = job.model->metric_names();
  const std::vector<double> scales = job.model->metric_scales();
  std::size_t evaluation = 0;
  for (const ClosedRound& round : result.participation) {
    if (!evaluating.contains(round.round) || evaluation == result.evaluations.size()) continue;
    Evaluation& row = result.evaluations[evaluation++];
    if (!row.noise_stddevs.empty()) continue;  // the result says it
    double weights = 0.0;
    double variance = 0.0;
    for (const std::string& silo : round.answered) {
      const auto part = parts.find(silo);
      if (part == parts.end()) continue;
      weights += part->second.weight;
      variance += std::pow(part->second.weight * part->second.stddev, 2);
    }
    if (!(variance > 0.0)) continue;
    const double stddev = std::sqrt(variance) / weights;
    for (std::size_t m = 0; m < names.size(); ++m) {
      row.noise_stddevs.emplace_back(names[m], scales[m] * stddev);
      // The larger class is as uncertain as the share that it is computed from.
      if (names[m] == "positive_share") row.noise_stddevs.emplace_back("majority_class_accuracy", scales[m] * stddev);
    }
  }
}

}  // namespace undertone::report
