#include "shared/preview/predicted_excess.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "shared/algorithms/mirror/one_pass_bounds.hpp"

namespace undertone::preview {
namespace {

using Plans = std::map<SiloId, planning::Plan>;

/// Whether the weighted mean has no more noise, and its draws vary no more, than theorems reckon with: as if all silos
/// counted alike, their draws were as the smallest, and their noise as the loudest or, where silos differ, as it is.
bool within_what_theorems_count(const jobs::Job& job, const Plans& plans) {
  constexpr double kRounding = 1.0 + 1e-9;
  const auto silos = static_cast<double>(job.cohort.size());
  double weights = 0.0;
  for (const jobs::CohortMember& member : job.cohort) weights += static_cast<double>(member.weight);
  for (const releases::QuestionKind kind :
       {releases::QuestionKind::Gradient, releases::QuestionKind::GradientDifference}) {
    double draws = 0.0;  // sum p_i^2/K_i
    double loudest = 0.0;
    double squares = 0.0;     // of all silos' noise
    double most_drawn = 0.0;  // the largest 1/K_i
    for (const jobs::CohortMember& member : job.cohort) {
      const double share = static_cast<double>(member.weight) / weights;
      for (const planning::Plan::Segment& segment : plans.at(member.facts.silo).segments()) {
        if (segment.release.ask.kind() != kind) continue;
        const double drawn = 1.0 / static_cast<double>(segment.release.records_drawn);
        draws += share * share * drawn;
        const double stddev = segment.release.noise_stddev_of_mean();
        loudest = std::max(loudest, stddev);
        squares += stddev * stddev;
        most_drawn = std::max(most_drawn, drawn);
        break;
      }
    }
    if (silos * draws > kRounding * most_drawn) return false;
    const double most = job.theorem->facts.members.empty() ? loudest * loudest : squares / silos;
    if (silos * mean_noise_variance(job, plans, kind) > kRounding * most) return false;
  }
  return true;
}

/// 1 / sum p_i^2/K_i of the first gradients.
double mean_gradient_records(const jobs::Job& job, const Plans& plans) {
  double weights = 0.0;
  for (const jobs::CohortMember& member : job.cohort) weights += static_cast<double>(member.weight);
  double draws = 0.0;
  for (const jobs::CohortMember& member : job.cohort) {
    const planning::Release& first = plans.at(member.facts.silo).segments().front().release;
    const double share = static_cast<double>(member.weight) / weights;
    draws += share * share / static_cast<double>(first.records_drawn);
  }
  return 1.0 / draws;
}

/// How many times more records a silo's first message has than its share of those of a later one says, at most: 1 where
/// parts divide the records, and a little more where they do not.
double unevenness(const Plans& plans) {
  constexpr std::int64_t kMany = std::int64_t{1} << 50U;  // of which a slice's share is exact but for 2^-30 of it
  const auto per_share = [](const planning::Release& release) {
    const releases::Slice::Positions share = release.ask.records.slice->positions(kMany);
    return static_cast<double>(release.records_drawn) * static_cast<double>(kMany) /
           static_cast<double>(share.to - share.from);
  };
  double most = 1.0;
  for (const auto& [silo, plan] : plans) {
    std::optional<double> first;
    for (const planning::Plan::Segment& segment : plan.segments()) {
      if (!segment.release.ask.records.slice) continue;  // of an evaluation
      const double here = per_share(segment.release);
      if (!first) first = here;
      most = std::max(most, *first / here);
    }
  }
  return most;
}

/// Of a method of one pass: as if no message had more records than its share of the least.
algorithms::OnePassFacts one_pass_facts(const jobs::Job& job, const Plans& plans, double lipschitz, double variance) {
  const double uneven = unevenness(plans);
  return {lipschitz, uneven * uneven * variance, mean_gradient_records(job, plans) / uneven};
}

std::vector<algorithms::WeighedPlan> weighed_plans(const jobs::Job& job, const Plans& plans) {
  double weights = 0.0;
  for (const jobs::CohortMember& member : job.cohort) weights += static_cast<double>(member.weight);
  std::vector<algorithms::WeighedPlan> out;
  for (const jobs::CohortMember& member : job.cohort)
    out.push_back({&plans.at(member.facts.silo), static_cast<double>(member.weight) / weights});
  return out;
}

std::optional<algorithms::RiskBound> smooth_prediction(const jobs::Job& job, const Plans& plans) {
  if (job.aggregation.robust()) return std::nullopt;  // theorems are of means
  if (job.public_terms) return std::nullopt;          // and of what silos say alone
  // A clip by a moment is shorter than some gradients, of which the theorem that chose it alone counts the loss.
  const bool by_moment = job.moments.has_value();
  if (by_moment && !job.theorem) return std::nullopt;
  // Bounds count noise as Gaussian, but of the methods whose own law is the other.
  if (job.noise_norm && !job.algorithm->traits().generalised_noise) return std::nullopt;
  const bool all_answer = !job.theorem || job.theorem->facts.answering == job.theorem->facts.silos;
  // Bounds over some of the silos count them as alike, whatever the mean divides by.
  if (!all_answer && !weighed_alike(job)) return std::nullopt;
  // Bounds of silos' own choices are of records that all have one law.
  const bool one_law = !job.theorem || job.theorem->facts.heterogeneity == 0.0;
  if (job.model->is_convex() && one_law && !by_moment)
    if (std::optional<algorithms::RiskBound> own = job.algorithm->planned_risk(weighed_plans(job, plans))) return own;
  const double gradients = mean_noise_variance(job, plans, releases::QuestionKind::Gradient);
  const auto* dual = std::get_if<releases::DualBound>(&job.bound);
  const releases::ClipNorm* clip = dual == nullptr ? releases::l2_clip_of(job.bound) : &dual->clip();
  if (clip != nullptr && job.model->is_convex() && !by_moment) {
    const double fewer = all_answer ? 1.0 : job.theorem->facts.silos / job.theorem->facts.answering;
    if (std::optional<algorithms::RiskBound> own =
            job.algorithm->predicted_risk(*clip, fewer * gradients, job.theorem.has_value());
        own && (!own->exact_means || (all_answer && !job.with_replacement)))
      return own;
    // Of bins a part's size varies.
    if (all_answer && job.parts != releases::Slice::Assignment::Bins) {
      if (std::optional<algorithms::RiskBound> own =
              algorithms::one_pass_risk(job.algorithm, one_pass_facts(job, plans, clip->value(), gradients)))
        return own;
    }
  }
  // Of multisets of all records the mean varies, and of bins how many records it is of.
  if (!job.theorem || job.with_replacement || job.parts == releases::Slice::Assignment::Bins ||
      !within_what_theorems_count(job, plans))
    return std::nullopt;
  if (job.theorem->bound_at) {
    if (!all_answer) return std::nullopt;
    const double differences = mean_noise_variance(job, plans, releases::QuestionKind::GradientDifference);
    return algorithms::RiskBound{job.theorem->bound_at(gradients + differences), job.theorem->measure,
                                 job.theorem->source};
  }
  // At the noise that was planned when the parameters were chosen, which noise by hand is not.
  if (job.theorem->bound && job.noise_choice.by != jobs::NoiseChoice::By::Hand)
    return algorithms::RiskBound{*job.theorem->bound, job.theorem->measure, job.theorem->source};
  return std::nullopt;
}

}  // namespace

double mean_noise_variance(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans,
                           releases::QuestionKind kind) {
  double weights = 0.0;
  for (const jobs::CohortMember& member : job.cohort) weights += static_cast<double>(member.weight);
  double variance = 0.0;
  for (const jobs::CohortMember& member : job.cohort) {
    for (const planning::Plan::Segment& segment : plans.at(member.facts.silo).segments()) {
      if (segment.release.ask.kind() != kind) continue;
      const double stddev = segment.release.noise_stddev_of_mean();
      const double share = static_cast<double>(member.weight) / weights;
      variance += share * share * stddev * stddev;
      break;
    }
  }
  return variance;
}

bool weighed_alike(const jobs::Job& job) {
  return std::all_of(job.cohort.begin(), job.cohort.end(),
                     [&](const jobs::CohortMember& member) { return member.weight == job.cohort.front().weight; });
}

std::optional<algorithms::RiskBound> predicted_excess(const jobs::Job& job, const Plans& plans) {
  std::optional<algorithms::RiskBound> out = smooth_prediction(job, plans);
  if (out && job.theorem) out->bound += job.theorem->envelope_gap();
  return out;
}

}  // namespace undertone::preview
