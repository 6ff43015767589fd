#include "silo/agent/answer_room.hpp"

#include <algorithm>
#include <limits>

#include "shared/jobs/round_spec.hpp"
#include "shared/sealed/round_layout.hpp"

namespace undertone::silo {
namespace {

constexpr std::uint64_t kEntryBytes = 1536;                      // of an entry and a reply's row besides its numbers
constexpr std::uint64_t kPagesBytes = std::uint64_t{24} << 10U;  // of the pages that one commit writes to the log
constexpr std::uint64_t kLogBytesMax = std::uint64_t{4} << 20U;  // of SQLite's log: 1,000 pages, then it begins anew
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 60U;     // more than any disk has

std::uint64_t times(std::uint64_t bytes, std::uint64_t rounds) {
  std::uint64_t out = 0;
  return __builtin_mul_overflow(bytes, rounds, &out) ? kBytesMax : std::min(out, kBytesMax);
}

std::uint64_t numbers_bytes(const jobs::Job& job, const jobs::CohortMember& member, const planning::Release& release) {
  if (job.shuffle && !release.is_public()) {
    const Result<sealed::RoundLayout> layout =
        sealed::RoundLayout::create(*job.shuffle, release, job.reply_lattice, job.cohort.size());
    return layout ? times(layout->message_bytes(), job.shuffle->shufflers.size()) : 0;  // else it is refused elsewhere
  }
  const jobs::RoundSpec spec = jobs::round_spec(job, release.ask);
  const std::int64_t numbers = spec.candidates ? 1 : spec.reports ? spec.records(member) : spec.dimension;
  return times(sizeof(std::int64_t), static_cast<std::uint64_t>(std::max<std::int64_t>(numbers, 0)));
}

}  // namespace

AnswerBytes bytes_of_answer(const jobs::Job& job, const jobs::CohortMember& member, const planning::Release& release) {
  const std::uint64_t numbers = numbers_bytes(job, member, release);
  return {numbers + numbers / 8 + kEntryBytes, numbers + kPagesBytes};
}

Status AnswerRoom::add(const RunId& run, const jobs::Job& job, const jobs::CohortMember& member,
                       const planning::Plan& plan, std::optional<RoundIndex> answered) {
  if (reserve_ == nullptr || left_.contains(run)) return {};
  const std::uint64_t begin = answered ? answered->value + 1 : 0;
  std::uint64_t first = 0;  // of the segment
  AnswerBytes all;
  std::uint64_t longest = 0;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const std::uint64_t end = first + segment.rounds;
    const std::uint64_t rounds = end - std::clamp(begin, first, end);
    first = end;
    if (rounds == 0) continue;
    const AnswerBytes one = bytes_of_answer(job, member, segment.release);
    all.kept = std::min(kBytesMax, all.kept + times(one.kept, rounds));
    all.log = std::min(kBytesMax, all.log + times(one.log, rounds));
    longest = std::max(longest, one.log);
  }
  all.log = std::min(all.log, kLogBytesMax + 2 * longest);
  left_.emplace(run, all);
  Status kept = keep();
  if (kept) {
    unknown_.erase(run);
  } else {
    left_.erase(run);
  }
  return kept;
}

void AnswerRoom::give(const RunId& run, const AnswerBytes& answer) {
  const auto left = left_.find(run);
  if (left == left_.end()) return;
  left->second.kept -= std::min(left->second.kept, answer.kept);
  left->second.log -= std::min(left->second.log, answer.log);
  (void)keep();  // less than before: what does not shrink is only more than is needed
}

void AnswerRoom::forget(const RunId& run) {
  if (reserve_ != nullptr && left_.erase(run) + unknown_.erase(run) > 0) (void)keep();
}

Status AnswerRoom::keep() const {
  std::uint64_t bytes = 0;
  for (const auto& [run, left] : left_) bytes = std::min(kBytesMax, bytes + left.kept + left.log);
  if (!unknown_.empty() && bytes <= reserve_->kept()) return {};
  return reserve_->keep(bytes);
}

}  // namespace undertone::silo
