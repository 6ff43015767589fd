#include "shuffler/batch/batch_gate.hpp"

#include <algorithm>
#include <utility>

#include "shared/jobs/job.hpp"

namespace undertone::shuffler {
namespace {

/// Whether what the batch comes to, all units or one total, can be forwarded.
bool can_be_forwarded(const wire::BatchOpen& open, std::uint64_t bytes_max) {
  const std::uint64_t messages = open.word_bytes > 0 ? 1 : std::max<std::uint64_t>(open.expected.size(), 1);
  return open.message_bytes <= bytes_max / messages;
}

}  // namespace

Status BatchGate::offer(const RunId& run, std::string_view job) {
  const auto again = std::find(order_.begin(), order_.end(), run.job);
  if (again != order_.end()) {  // what was read under this digest was read from these bytes
    order_.erase(again);
    order_.push_back(run.job);
    return {};
  }
  if (sha256(job) != run.job)
    return Error{ErrorCode::Malformed, "the job that was offered is not the one that its run names"};
  Result<Known> known = read(job);
  if (!known) {
    remember(run.job, Known{});
    return known.error();
  }
  const bool names_this = known->names_this;
  remember(run.job, *std::move(known));
  if (names_this) return {};
  return Error{ErrorCode::Unauthorized,
               fmt::format("the job does not name the shuffler {} with the key {}", name_, to_hex(public_key_))};
}

Result<BatchGate::Known> BatchGate::read(std::string_view job) const {
  UNDERTONE_TRY(const jobs::ReadJob read, jobs::read_job(job, "job"));
  const jobs::JobTerms& parsed = read.terms();
  Known out;
  if (!parsed.shuffle) return out;
  const jobs::Shuffle& shuffle = *parsed.shuffle;
  const jobs::Shuffle::Party* self = shuffle.party(name_);
  out.adds = shuffle.adds();
  out.names_this = self != nullptr && (!out.adds || self->key == public_key_);
  for (const jobs::CohortMember& member : parsed.cohort) out.cohort.push_back(member.facts.silo);
  out.quorum = parsed.participation.quorum;
  out.round_deadline = parsed.participation.round_deadline;
  return out;
}

void BatchGate::remember(const Digest& job, Known known) {
  if (order_.size() == kJobsMax) {
    jobs_.erase(order_.front());
    order_.pop_front();
  }
  order_.push_back(job);
  jobs_.insert_or_assign(job, std::move(known));
}

BatchGate::Admission BatchGate::admit(const wire::BatchOpen& open) const {
  const auto found = jobs_.find(open.run.job);
  if (found == jobs_.end()) return wire::BatchRefusal::UnknownJob;
  const Known& job = found->second;
  const bool of_cohort = std::all_of(open.expected.begin(), open.expected.end(), [&job](const SiloId& silo) {
    return std::binary_search(job.cohort.begin(), job.cohort.end(), silo);
  });
  if (!job.names_this || !of_cohort || open.replies_min != job.quorum || (open.word_bytes > 0) != job.adds ||
      open.deadline > job.round_deadline) {
    return wire::BatchRefusal::NotOfJob;
  }
  if (!can_be_forwarded(open, forward_bytes_max_)) return wire::BatchRefusal::InvalidSpec;
  BatchSpec spec;
  spec.run = open.run;
  spec.round = open.round;
  spec.attempt = open.attempt;
  spec.expected = open.expected;
  spec.replies_min = static_cast<std::size_t>(open.replies_min);
  spec.message_bytes = static_cast<std::size_t>(open.message_bytes);
  spec.unit_bytes = static_cast<std::size_t>(open.unit_bytes);
  spec.word_bytes = open.word_bytes;
  spec.query = open.query;
  spec.deadline = open.deadline;
  return spec;
}

}  // namespace undertone::shuffler
