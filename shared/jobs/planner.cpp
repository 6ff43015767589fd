#include "shared/jobs/planner.hpp"

#include <utility>

#include "shared/base/work_meter.hpp"
#include "shared/config/json_section.hpp"

namespace undertone::jobs {

PlannedFacts planned_facts(const releases::SiloFacts& facts) {
  const auto* concentrated = std::get_if<releases::ConcentratedDp>(&facts.target);
  return {facts.records,        facts.holdout_records,
          facts.holdout_public, facts.public_records,
          facts.target.index(), facts.epsilon().value(),
          facts.delta(),        concentrated == nullptr ? 0.0 : concentrated->rho.value()};
}

Result<std::map<SiloId, planning::Plan>> plans_of(const Job& job) {
  std::map<PlannedFacts, planning::Plan> planned;
  std::map<SiloId, planning::Plan> out;
  for (const CohortMember& member : job.cohort) {
    const PlannedFacts own = planned_facts(member.facts);
    auto alike = planned.find(own);
    if (alike == planned.end()) {
      UNDERTONE_TRY(planning::Plan plan, plan_of(job, member));
      alike = planned.emplace(own, std::move(plan)).first;
    }
    out.emplace(member.facts.silo, alike->second);
  }
  return out;
}

Result<PlausibleCohort> PlausibleCohort::of(const Job& job, const std::string& file, const Planner& planner) {
  config::Problems problems(file);
  PlausibleCohort out(job);
  std::map<PlannedFacts, std::size_t> planned;
  const WorkMeter meter(kCohortWorkMax);
  for (const CohortMember& member : job.cohort) {
    const releases::SiloFacts& facts = member.facts;
    if (meter.exhausted()) {
      problems.add("/cohort",
                   fmt::format("planning {} different silos of {} takes more than {} operations, which is the "
                               "most: expected fewer silos of different records or promises, or whole "
                               "batches in place of draws",
                               planned.size(), job.cohort.size(), meter.most()));
      return Error{ErrorCode::LimitExceeded, problems.error().message};
    }
    const PlannedFacts own = planned_facts(facts);
    const auto alike = planned.find(own);
    if (alike != planned.end()) {
      out.kind_of_.emplace(facts.silo, alike->second);
      continue;
    }
    const Result<planning::Plan> plan = planner(job, member);
    if (!plan) {
      problems.add("/cohort", plan.error().message);
      continue;
    }
    planned.emplace(own, out.kinds_.size());
    out.kind_of_.emplace(facts.silo, out.kinds_.size());
    out.kinds_.push_back(folds::PlausibleReplies::of(*plan, out.shapes_, job.reply_lattice));
  }
  if (!problems.none()) return problems.error();
  return out;
}

std::string PlausibleCohort::save() const {
  ByteWriter writer;
  writer.u64(kinds_.size());
  for (const folds::PlausibleReplies& kind : kinds_) kind.save(writer);
  for (const auto& [silo, kind] : kind_of_) writer.u64(kind);
  return std::move(writer).bytes();
}

Result<PlausibleCohort> PlausibleCohort::read(std::string_view bytes, const Job& job) {
  const Error damaged{ErrorCode::Malformed, "what replies are plausible is not of the job's cohort"};
  ByteReader reader(bytes);
  UNDERTONE_TRY(const std::uint64_t kinds, reader.u64());
  if (kinds > job.cohort.size()) return damaged;
  PlausibleCohort out(job);
  out.kinds_.reserve(kinds);
  for (std::uint64_t i = 0; i < kinds; ++i) {
    UNDERTONE_TRY(folds::PlausibleReplies kind,
                  folds::PlausibleReplies::read(reader, out.shapes_.count(), job.reply_lattice));
    out.kinds_.push_back(std::move(kind));
  }
  for (const CohortMember& member : job.cohort) {  // in the order of the map: both are sorted
    UNDERTONE_TRY(const std::uint64_t kind, reader.u64());
    if (kind >= kinds) return damaged;
    out.kind_of_.emplace(member.facts.silo, kind);
  }
  if (const Status end = reader.end(); !end) return end.error();
  return out;
}

}  // namespace undertone::jobs
