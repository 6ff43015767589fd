#include "silo/owner/job_prospects.hpp"

#include <algorithm>

#include "shared/base/plain_text.hpp"
#include "shared/sealed/round_layout.hpp"
#include "shared/service/clock.hpp"

namespace undertone::silo {
namespace {

/// Whether the data set's ledger, or the policy where it has not begun, has room for the plan.
Status affordable(const Files& files, const DatasetConfig& dataset, const planning::Plan& plan) {
  const auto view = files.ledgers.find(dataset.name);
  if (view == files.ledgers.end()) return check_budget(files.config.policy.total, {}, plan);
  return view->second.ledger->could_reserve(plan);
}

}  // namespace

std::vector<Objection> objections_now(const Files& files, const DatasetConfig& dataset, const DatasetFacts& facts,
                                      const jobs::Job& job, crypto::NoiseKind noise) {
  const jobs::CohortMember* member = job.member(files.config.id);
  if (member == nullptr) return {{ObjectionKind::Policy, "the job's cohort does not name this silo"}};
  std::vector<Objection> out = objections_to(files.config.policy, facts, job, *member, noise);
  std::set<std::string> dialled;
  for (const net::LinkAddress& shuffler : files.config.shufflers) dialled.insert(shuffler.name);
  for (Objection& objection : undialled_shufflers(job, dialled)) out.push_back(std::move(objection));
  if (std::optional<Objection> ended = permit_objection(dataset.permit, service::wall_clock()))
    out.push_back(*std::move(ended));
  const Result<planning::Plan> plan = jobs::plan_of(job, *member);
  if (!plan) {
    out.push_back(objection_of(plan.error()));
    return out;
  }
  if (job.shuffle) {
    const Status laid_out = sealed::check_layouts(*job.shuffle, *plan, job.reply_lattice, job.cohort.size());
    if (!laid_out) out.push_back(objection_of(laid_out.error()));
  }
  if (const Status fits = affordable(files, dataset, *plan); !fits) out.push_back(objection_of(fits.error()));
  return out;
}

Prospect prospect_of(std::vector<DatasetObjections> everywhere, Approval approval) {
  // The agent takes the first data set that the policy allows, and asks its ledger alone.
  const auto allowed = [](const DatasetObjections& dataset) {
    return std::all_of(dataset.objections.begin(), dataset.objections.end(), [](const Objection& objection) {
      return objection.kind == ObjectionKind::Budget || objection.kind == ObjectionKind::Job;
    });
  };
  const auto chosen = std::find_if(everywhere.begin(), everywhere.end(), allowed);
  if (chosen != everywhere.end() && chosen->objections.empty()) {
    const char* what = approval == Approval::Manual ? "wait for its owner" : "be accepted";
    return {true, fmt::format("An offer of this job would {}, on the data set \"{}\".", what, chosen->dataset)};
  }
  put_nearest_first(everywhere);
  return {false,
          fmt::format("An offer of this job would be refused, because {}.", plain_text(every_reason(everywhere)))};
}

DatasetFacts facts_as_offered(const DatasetConfig& dataset, const jobs::CohortMember& member) {
  return {dataset.schema,         member.facts.records,        member.facts.holdout_records,
          dataset.holdout_public, member.facts.public_records, dataset.unit()};
}

}  // namespace undertone::silo
