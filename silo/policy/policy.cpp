#include "silo/policy/policy.hpp"

#include <algorithm>

#include "shared/data/schema_part.hpp"
#include "shared/jobs/schema_difference.hpp"
#include "shared/releases/choice_time.hpp"

namespace undertone::silo {
namespace {

using Objections = std::vector<Objection>;

void check_allowed(const std::vector<std::string>& allowed, std::string_view asked, const char* what,
                   ObjectionKind kind, Objections& out) {
  if (std::find(allowed.begin(), allowed.end(), asked) == allowed.end())
    out.push_back({kind, fmt::format("the policy does not allow the {} \"{}\"", what, asked)});
}

void check_shuffler(const ShuffleTrust& trust, const jobs::Shuffle& shuffle, const jobs::Shuffle::Party& party,
                    Objections& out) {
  const auto known = std::find_if(trust.shufflers.begin(), trust.shufflers.end(),
                                  [&](const ShuffleTrust::Party& one) { return one.name == party.name; });
  if (known == trust.shufflers.end()) {
    out.push_back({ObjectionKind::Shuffler, fmt::format("the policy does not allow the shuffler \"{}\"", party.name)});
  } else if (shuffle.adds() && known->key && *known->key != party.key) {
    out.push_back(
        {ObjectionKind::Shuffler, fmt::format("the job names the shuffler \"{}\" with the key {}, the policy with {}",
                                              party.name, to_hex(party.key), to_hex(*known->key))});
  }
}

void check_shuffle(const Policy& policy, const jobs::JobTerms& job, Objections& out) {
  if (!policy.shuffle) {
    out.push_back(
        {ObjectionKind::Shuffler,
         "the job's guarantee rests on shufflers, and the policy trusts none: it has no section \"shuffle\""});
    return;
  }
  const ShuffleTrust& trust = *policy.shuffle;
  const jobs::Shuffle& shuffle = *job.shuffle;
  check_allowed(trust.forms, jobs::to_string(shuffle.form), "form of shuffled replies", ObjectionKind::Shuffler, out);
  for (const jobs::Shuffle::Party& party : shuffle.shufflers) check_shuffler(trust, shuffle, party, out);
  // Whoever closes a batch chooses who is in it, down to the quorum: it may leave honest silos out, and no others.
  const std::size_t silos = job.cohort.size();
  const std::size_t needed = shuffle.honest_min + (silos - std::min(silos, job.participation.quorum));
  if (needed > trust.honest_min) {
    out.push_back(
        {ObjectionKind::Shuffler,
         fmt::format("the job counts on {} honest silos among any {} of its {}, which takes {} honest ones in "
                     "all; the policy believes in {}",
                     shuffle.honest_min, job.participation.quorum, silos, needed, trust.honest_min)});
  }
}

/// Whether the job protects what the data set holds: mixing units would cost what nobody has counted.
void check_unit(const DatasetFacts& facts, const jobs::JobTerms& job, Objections& out) {
  if (job.unit == facts.unit) return;
  out.push_back({ObjectionKind::Policy, fmt::format("the job protects a {}, the data set is of {}s",
                                                    releases::noun_of(job.unit), releases::noun_of(facts.unit))});
}

/// Whether the job counts on the records, or persons, that there are.
void check_counts(const Policy& policy, const DatasetFacts& facts, const releases::SiloFacts& claimed,
                  Objections& out) {
  const auto object = [&out](std::string sentence) { out.push_back({ObjectionKind::Counts, std::move(sentence)}); };
  const std::string_view unit = facts.unit == releases::Unit::Person ? "person" : "record";
  if (claimed.records != facts.records || claimed.holdout_records != facts.holdout_records) {
    object(fmt::format("the job counts on {} training and {} holdout {}s, the data set has {} and {}", claimed.records,
                       claimed.holdout_records, unit, facts.records, facts.holdout_records));
  }
  if (claimed.holdout_public != facts.holdout_public) {
    object(fmt::format("the job takes the holdout as {}, its owner declared it {}",
                       claimed.holdout_public ? "public" : "private", facts.holdout_public ? "public" : "private"));
  }
  if (claimed.public_records != facts.public_records) {
    object(fmt::format("the job counts on {} public records, the data set has {}", claimed.public_records,
                       facts.public_records));
  }
  const std::int64_t least = facts.unit == releases::Unit::Person ? policy.persons_min : policy.records_min;
  if (facts.records < least) {
    object(
        fmt::format("the data set has {} training {}s, the policy asks for at least {}", facts.records, unit, least));
  }
}

}  // namespace

std::vector<Objection> objections_to_terms(const Policy& policy, const DatasetFacts& facts, const jobs::JobTerms& job,
                                           std::string_view algorithm, const jobs::CohortMember& member,
                                           crypto::NoiseKind noise) {
  Objections out;
  const auto object = [&out](std::string sentence) { out.push_back({ObjectionKind::Policy, std::move(sentence)}); };
  if (job.model) check_allowed(policy.models, job.model->name(), "model", ObjectionKind::Policy, out);
  check_allowed(policy.algorithms, algorithm, "algorithm", ObjectionKind::Policy, out);
  if (job.projection && !policy.projections) {
    object("the job computes what its model reads from a record's features; policy.projections does not allow that");
  }
  if (job.parts != releases::Slice::Assignment::Permutation && !policy.allocation_accounting) {
    object(
        "the job's noise counts on this silo to keep secret which part of a pass a record was in; "
        "policy.allocation_accounting does not allow that: a job whose parts are a \"permutation\" does not");
  }
  check_allowed(policy.units, std::string(releases::to_string(job.unit)), "protected unit", ObjectionKind::Policy, out);
  check_unit(facts, job, out);
  if (job.noise != noise) {
    object(job.noise == crypto::NoiseKind::Test
               ? "the job asks for seeded test noise, which protects nobody; this silo draws secure noise only"
               : "this is the test build of the agent: it draws seeded noise and takes part in test jobs only");
  }
  if (job.shuffle) check_shuffle(policy, job, out);
  if (job.schema != facts.schema && facts.unit == releases::Unit::Person)
    out.push_back(
        {ObjectionKind::Schema,
         "the job's schema is not that of the data set, and of persons all columns are read: how long it takes to "
         "choose some would tell how many rows there are"});
  else if (!data::part_of(job.schema, facts.schema))
    out.push_back({ObjectionKind::Schema, "the job's schema is not that of the data set, nor a part of it: " +
                                              jobs::schema_difference(job.schema, facts.schema)});
  const releases::SiloFacts& claimed = member.facts;
  check_counts(policy, facts, claimed, out);
  if (job.cohort.size() < policy.cohort_min) {
    object(fmt::format("the job's cohort has {} silos, the policy asks for at least {}", job.cohort.size(),
                       policy.cohort_min));
  }
  if (claimed.epsilon() > policy.epsilon_max) {
    object(fmt::format("the job asks for epsilon {}, the policy allows {} a job", claimed.epsilon().value(),
                       policy.epsilon_max.value()));
  }
  if (job.parts != releases::Slice::Assignment::Permutation && policy.release_interval.count() == 0) {
    object(
        "the job's records are in secret parts, and how long an answer takes may tell of them: expected "
        "policy.release_interval_ms above 0, and longer than an answer takes, got 0");
  }
  if (claimed.delta() > policy.delta_max.value()) {
    object(fmt::format("the job asks for delta {}, the policy allows {} a job", claimed.delta(),
                       policy.delta_max.value()));
  }
  return out;
}

std::vector<Objection> objections_to(const Policy& policy, const DatasetFacts& facts, const jobs::Job& job,
                                     const jobs::CohortMember& member, crypto::NoiseKind noise) {
  Objections out = objections_to_terms(policy, facts, job, job.algorithm->name(), member, noise);
  const auto object = [&out](std::string sentence) { out.push_back({ObjectionKind::Policy, std::move(sentence)}); };
  if (job.algorithm->traits().simulated_only) {
    out.push_back({ObjectionKind::Job,
                   fmt::format("{} is a baseline of simulations, which no silo answers", job.algorithm->name())});
  }
  const planning::Schedule schedule = jobs::schedule_of(job);
  const bool selects = std::any_of(schedule.begin(), schedule.end(), [](const planning::ScheduledRounds& part) {
    return releases::time_depends_on_records(part.ask);
  });
  const bool reports = std::any_of(schedule.begin(), schedule.end(),
                                   [](const planning::ScheduledRounds& part) { return part.ask.reports() != nullptr; });
  if (reports && !policy.local_reports) {
    object(
        "the job asks for a report of every record by itself, in which a record has no other's company; "
        "policy.local_reports does not allow that");
  }
  const bool bends = std::any_of(schedule.begin(), schedule.end(), [](const planning::ScheduledRounds& part) {
    return releases::bends_numbers(part.ask);
  });
  if (bends && policy.release_interval.count() == 0) {
    object(
        "the job bends records' numbers by a smooth influence, and how long that takes depends on the numbers: "
        "expected policy.release_interval_ms above 0, and longer than an answer takes, got 0");
  }
  if (selects && policy.release_interval.count() == 0) {
    object(
        "the job asks for selections, and how long drawing one takes depends on the records: expected "
        "policy.release_interval_ms above 0, and longer than an answer takes, got 0");
  }
  return out;
}

std::vector<Objection> undialled_shufflers(const jobs::JobTerms& job, const std::set<std::string>& dialled) {
  Objections out;
  if (!job.shuffle) return out;
  for (const jobs::Shuffle::Party& party : job.shuffle->shufflers) {
    if (dialled.contains(party.name)) continue;
    out.push_back({ObjectionKind::Shuffler,
                   fmt::format("the configuration does not say where the shuffler \"{}\" is dialled", party.name)});
  }
  return out;
}

Status check_policy(const Policy& policy, const DatasetFacts& facts, const jobs::Job& job,
                    const jobs::CohortMember& member, crypto::NoiseKind noise) {
  const Objections all = objections_to(policy, facts, job, member, noise);
  if (all.empty()) return {};
  return Error{ErrorCode::PolicyRefused, all.front().sentence};
}

}  // namespace undertone::silo
