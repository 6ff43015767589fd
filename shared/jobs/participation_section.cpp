#include "shared/jobs/participation_section.hpp"

#include <chrono>
#include <cstdint>

#include "shared/jobs/cohort_section.hpp"

namespace undertone::jobs {
namespace {

constexpr std::int64_t kMillisecondsMax = 86'400'000;         // a day
constexpr std::int64_t kJoinMillisecondsMax = 2'592'000'000;  // thirty: people decide

Participation parse_section(config::Section section, std::size_t silos) {
  section.otherwise("quorum", silos / 2 + 1);
  section.otherwise("join_deadline_ms", 7 * 86'400'000);
  section.otherwise("round_deadline_ms", 600'000);
  section.otherwise("resend_ms", 10'000);
  section.otherwise("grace_ms", 0);
  Participation out;
  out.quorum = static_cast<std::size_t>(
      section.integer("quorum", 1, static_cast<std::int64_t>(kSilosMax),
                      "fewer answers than this fail a round, after asking once more (default: more "
                      "than half of the silos)"));
  out.join_deadline = std::chrono::milliseconds(
      section.integer("join_deadline_ms", 1, kJoinMillisecondsMax,
                      "from the start of the run to the first round: time for owners to approve (default: a week)"));
  out.round_deadline = std::chrono::milliseconds(
      section.integer("round_deadline_ms", 1, kMillisecondsMax, "of one round (default: ten minutes)"));
  out.resend = std::chrono::milliseconds(section.integer(
      "resend_ms", 100, kMillisecondsMax, "how often an unanswered message is sent again (default 10000)"));
  out.grace = std::chrono::milliseconds(
      section.integer("grace_ms", 0, kMillisecondsMax,
                      "with a quorum of answers a round waits no longer for silos that have been disconnected for this "
                      "long, which then "
                      "do not count in it; 0 (default): it waits for them until its deadline"));
  section.finish();
  return out;
}

}  // namespace

Participation parse_participation(config::Section& root, const std::vector<CohortMember>& cohort,
                                  config::Problems& problems) {
  root.otherwise("participation", nlohmann::json::object());
  const Participation participation = parse_section(root.object("participation", "may be left out"), cohort.size());
  if (participation.quorum > cohort.size()) {
    problems.add("/participation/quorum", fmt::format("expected at most the {} silos of the cohort, got {}",
                                                      cohort.size(), participation.quorum));
  }
  return participation;
}

}  // namespace undertone::jobs
