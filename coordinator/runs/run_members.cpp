#include "coordinator/runs/run_members.hpp"

#include <string_view>
#include <utility>

namespace undertone::coordinator {

RunMembers::RunMembers(const jobs::Job& job, Answers answers) : answers_(std::move(answers)) {
  for (const jobs::CohortMember& member : job.cohort) {
    members_[member.facts.silo].of_job = &member;
    if (!answered(member.facts.silo)) ++unanswered_;
  }
}

RunMembers::Member* RunMembers::find(const SiloId& silo) {
  const auto found = members_.find(silo);
  return found == members_.end() ? nullptr : &found->second;
}

const RunMembers::Member* RunMembers::find(const SiloId& silo) const {
  const auto found = members_.find(silo);
  return found == members_.end() ? nullptr : &found->second;
}

bool RunMembers::connected(const SiloId& silo) const {
  const Member* member = find(silo);
  return member != nullptr && member->connected;
}

void RunMembers::begin_away(std::chrono::steady_clock::time_point now) {
  for (auto& [silo, member] : members_) {
    if (!member.connected && !member.away_since) member.away_since = now;
  }
}

bool RunMembers::is_news(const SiloId& silo, const std::optional<wire::Refusal>& refusal) const {
  const auto known = answers_.find(silo);
  return known == answers_.end() || known->second != refusal;
}

void RunMembers::answer(Member& member, const std::optional<wire::Refusal>& refusal) {
  const auto [position, is_first] = answers_.insert_or_assign(member.of_job->facts.silo, refusal);
  if (is_first) --unanswered_;
  member.said.clear();
}

bool RunMembers::accepted(const SiloId& silo) const {
  const auto answer = answers_.find(silo);
  return answer != answers_.end() && !answer->second;
}

bool RunMembers::takes_part(const SiloId& silo) const {
  const Member* member = find(silo);
  return member != nullptr && !member->dropped && accepted(silo);
}

std::set<SiloId> RunMembers::participants() const {
  std::set<SiloId> out;
  for (const auto& [silo, member] : members_) {
    if (takes_part(silo)) out.insert(out.end(), silo);
  }
  return out;
}

std::string RunMembers::absent() const {
  std::string out;
  for (const auto& [silo, member] : members_) {
    if (takes_part(silo)) continue;
    const auto answer = answers_.find(silo);
    const std::string_view why = answer == answers_.end() ? "no answer" : wire::to_string(*answer->second);
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", silo.name(), why);
  }
  return out;
}

void RunMembers::forget_offers_again() {
  for (auto& [silo, member] : members_) member.offers_again = 0;
}

void RunMembers::forget_said() {
  for (auto& [silo, member] : members_) member.said.clear();
}

}  // namespace undertone::coordinator
