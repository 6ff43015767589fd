#include "silo/policy/policy.hpp"

#include <algorithm>

namespace undertone::silo {
namespace {

Status check_allowed(const std::vector<std::string>& allowed, std::string_view asked, const char* what) {
  if (std::find(allowed.begin(), allowed.end(), asked) != allowed.end()) return {};
  return Error{ErrorCode::PolicyRefused, fmt::format("the policy does not allow the {} \"{}\"", what, asked)};
}

Status check_shuffler(const ShuffleTrust& trust, const jobs::Shuffle& shuffle, const jobs::Shuffle::Party& party) {
  const auto known = std::find_if(trust.shufflers.begin(), trust.shufflers.end(),
                                  [&](const ShuffleTrust::Party& one) { return one.name == party.name; });
  if (known == trust.shufflers.end()) {
    return Error{ErrorCode::PolicyRefused, fmt::format("the policy does not allow the shuffler \"{}\"", party.name)};
  }
  if (!shuffle.adds() || !known->key || *known->key == party.key) return {};
  return Error{ErrorCode::PolicyRefused,
               fmt::format("the job names the shuffler \"{}\" with the key {}, the policy with {}", party.name,
                           to_hex(party.key), to_hex(*known->key))};
}

Status check_shuffle(const Policy& policy, const jobs::Job& job) {
  if (!policy.shuffle) {
    return Error{ErrorCode::PolicyRefused,
                 "the job's guarantee rests on shufflers, and the policy trusts none: it has no section \"shuffle\""};
  }
  const ShuffleTrust& trust = *policy.shuffle;
  const jobs::Shuffle& shuffle = *job.shuffle;
  UNDERTONE_TRY(check_allowed(trust.forms, jobs::to_string(shuffle.form), "form of shuffled replies"));
  for (const jobs::Shuffle::Party& party : shuffle.shufflers) {
    UNDERTONE_TRY(check_shuffler(trust, shuffle, party));
  }
  // Whoever closes a batch chooses who is in it, down to the quorum: it may leave honest silos out, and no others.
  const std::size_t silos = job.cohort.size();
  const std::size_t needed = shuffle.honest_min + (silos - std::min(silos, job.participation.quorum));
  if (needed > trust.honest_min) {
    return Error{ErrorCode::PolicyRefused,
                 fmt::format("the job counts on {} honest silos among any {} of its {}, which takes {} honest ones in "
                             "all; the policy believes in {}",
                             shuffle.honest_min, job.participation.quorum, silos, needed, trust.honest_min)};
  }
  return {};
}

}  // namespace

Status check_policy(const Policy& policy, const DatasetFacts& facts, const jobs::Job& job,
                    const jobs::CohortMember& member, crypto::NoiseKind noise) {
  const auto refuse = [](std::string sentence) { return Error{ErrorCode::PolicyRefused, std::move(sentence)}; };
  UNDERTONE_TRY(check_allowed(policy.models, job.model.name(), "model"));
  UNDERTONE_TRY(check_allowed(policy.algorithms, job.algorithm->name(), "algorithm"));
  if (job.projection && !policy.projections) {
    return refuse(
        "the job computes what its model reads from a record's features; policy.projections does not allow that");
  }
  UNDERTONE_TRY(check_allowed(policy.units, job.unit, "protected unit"));
  if (job.noise != noise) {
    return refuse(job.noise == crypto::NoiseKind::Test
                      ? "the job asks for seeded test noise, which protects nobody; this silo draws secure noise only"
                      : "this is the test build of the agent: it draws seeded noise and takes part in test jobs only");
  }
  if (job.shuffle) {
    UNDERTONE_TRY(check_shuffle(policy, job));
  }
  if (job.schema != facts.schema) return refuse("the job's schema is not the schema of the data set");
  const releases::SiloFacts& claimed = member.facts;
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
