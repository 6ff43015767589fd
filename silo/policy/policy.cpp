#include "silo/policy/policy.hpp"

#include <algorithm>

namespace undertone::silo {
namespace {

Status check_allowed(const std::vector<std::string>& allowed, std::string_view asked, const char* what) {
  if (std::find(allowed.begin(), allowed.end(), asked) != allowed.end()) return {};
  return Error{ErrorCode::PolicyRefused, fmt::format("the policy does not allow the {} \"{}\"", what, asked)};
}

}  // namespace

Status check_policy(const Policy& policy, const DatasetFacts& facts, const config::Job& job,
                    const config::CohortMember& member, privacy::NoiseKind noise) {
  const auto refuse = [](std::string sentence) { return Error{ErrorCode::PolicyRefused, std::move(sentence)}; };
  if (Status ok = check_allowed(policy.models, job.model.name(), "model"); !ok) return ok;
  if (Status ok = check_allowed(policy.algorithms, job.algorithm_kind, "algorithm"); !ok) return ok;
  if (Status ok = check_allowed(policy.units, job.unit, "protected unit"); !ok) return ok;
  if (job.noise != noise) {
    return refuse(job.noise == privacy::NoiseKind::Test
                      ? "the job asks for seeded test noise, which protects nobody; this silo draws secure noise only"
                      : "this is the test build of the agent: it draws seeded noise and takes part in test jobs only");
  }
  if (job.schema != facts.schema) return refuse("the job's schema is not the schema of the data set");
  const privacy::SiloFacts& claimed = member.facts;
  if (claimed.records != facts.records || claimed.holdout_records != facts.holdout_records) {
    return refuse(fmt::format("the job counts on {} training and {} holdout records, the data set has {} and {}",
                              claimed.records, claimed.holdout_records, facts.records, facts.holdout_records));
  }
  if (claimed.holdout_public != facts.holdout_public) {
    return refuse(fmt::format("the job takes the holdout as {}, its owner declared it {}",
                              claimed.holdout_public ? "public" : "private",
                              facts.holdout_public ? "public" : "private"));
  }
  if (facts.records < policy.records_min) {
    return refuse(fmt::format("the data set has {} training records, the policy asks for at least {}", facts.records,
                              policy.records_min));
  }
  if (job.cohort.size() < policy.cohort_min) {
    return refuse(fmt::format("the job's cohort has {} silos, the policy asks for at least {}", job.cohort.size(),
                              policy.cohort_min));
  }
  if (claimed.epsilon > policy.epsilon_max) {
    return refuse(fmt::format("the job asks for epsilon {}, the policy allows {} a job", claimed.epsilon.value(),
                              policy.epsilon_max.value()));
  }
  if (claimed.delta > policy.delta_max) {
    return refuse(fmt::format("the job asks for delta {}, the policy allows {} a job", claimed.delta.value(),
                              policy.delta_max.value()));
  }
  return {};
}

}  // namespace undertone::silo
