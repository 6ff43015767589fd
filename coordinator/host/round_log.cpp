#include "coordinator/host/round_log.hpp"

namespace undertone::coordinator {
namespace {

constexpr std::uint64_t kEvery = 10;
constexpr std::chrono::seconds kPause{1};

}  // namespace

bool RoundLog::is_worth_a_line(const RunId& run, RoundIndex round, std::uint64_t rounds, TimePoint now) {
  const auto [said, is_first] = said_.try_emplace(run, now);
  const std::uint64_t closed = round.value + 1;
  const bool worth = is_first || closed % kEvery == 0 || closed == rounds || now - said->second >= kPause;
  if (worth) said->second = now;
  return worth;
}

}  // namespace undertone::coordinator
