#include "shared/preview/fair_plan.hpp"

#include <cmath>

#include "shared/preview/predicted_excess.hpp"

namespace undertone::preview {
namespace {

/// The first ask of this kind; null where there is none.
const releases::Ask* asked(const planning::Schedule& schedule, releases::QuestionKind kind) {
  for (const planning::ScheduledRounds& part : schedule)
    if (part.ask.kind() == kind) return &part.ask;
  return nullptr;
}

}  // namespace

std::optional<FairPlan> fair_plan(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans) {
  const planning::Schedule schedule = jobs::schedule_of(job);
  const releases::Ask* ask = asked(schedule, releases::QuestionKind::FairGradient);
  if (ask == nullptr) return std::nullopt;
  const fairness::FairTerms& terms = std::get<releases::FairGradientMap>(ask->map).terms;
  const auto cells = static_cast<double>(terms.grouping.cells());
  Eigen::VectorXd start = Eigen::VectorXd::Zero(terms.grouping.weights() + terms.grouping.cells());
  start.tail(terms.grouping.cells()).setConstant(1.0 / cells);
  const fairness::FairBlocks blocks(terms, start);
  const double noise = std::sqrt(mean_noise_variance(job, plans, releases::QuestionKind::FairGradient));
  FairPlan out{terms.lambda, noise * blocks.model_scale(), noise * blocks.adversary_scale(), terms.share_floor, {}, ""};
  if (asked(schedule, releases::QuestionKind::GroupShares) != nullptr) {
    out.shares_noise = std::sqrt(mean_noise_variance(job, plans, releases::QuestionKind::GroupShares));
    // Beyond this a group at the floor cannot be told from one of none or of twice as many.
    if (*out.shares_noise > terms.share_floor / 3.0)
      out.warning = fmt::format(
          "the noise of a group's share, {:.2g}, is more than a third of share_floor, {:.2g}: of {} groups the small "
          "ones "
          "are not told from none. Merge some (data/sensitive/merged), or say the shares where they are public",
          *out.shares_noise, terms.share_floor, terms.grouping.groups);
  }
  return out;
}

nlohmann::ordered_json to_json(const FairPlan& plan) {
  return {{"lambda", plan.lambda},
          {"model_noise_stddev", plan.model_noise},
          {"adversary_noise_stddev", plan.adversary_noise},
          {"share_floor", plan.share_floor},
          {"shares_noise_stddev", plan.shares_noise ? nlohmann::ordered_json(*plan.shares_noise) : nullptr},
          {"warning", plan.warning.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(plan.warning)}};
}

std::string describe(const FairPlan& plan) {
  std::string out = fmt::format(
      "fair gradients: where W begins, at 0, the noise of a round's weighted mean is {:.4g} on each number of the "
      "model's "
      "gradient and {:.4g} on each of the adversary's; both follow W. In the first step lambda = {:g} moves nothing, "
      "since "
      "W is 0\n",
      plan.model_noise, plan.adversary_noise, plan.lambda);
  if (plan.shares_noise)
    out += fmt::format(
        "groups' shares: known up to a noise of {:.2g}; no group is taken for less than {:.2g} of the "
        "records\n",
        *plan.shares_noise, plan.share_floor);
  if (!plan.warning.empty()) out += fmt::format("WARNING: {}\n", plan.warning);
  return out;
}

}  // namespace undertone::preview
