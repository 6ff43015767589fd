#include "tests/net/kill_matrix/fault_plan.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace undertone::tests {
namespace {

constexpr std::size_t kLivesMax = 3;  // of one process in one federation that a kill ends
constexpr int kTriesMax = 12;

}  // namespace

const char* to_string(Role role) noexcept {
  switch (role) {
    case Role::Coordinator:
      return "coordinator";
    case Role::Silo:
      return "silo";
    case Role::Shuffler:
      return "shuffler";
  }
  return "";
}

FaultPlan::FaultPlan(std::size_t kills, std::uint64_t seed) : random_(seed) {
  for (std::size_t i = 0; i < kills; ++i) waiting_.push_back(draw(i % kFaultPoints.size()));
  for (std::size_t i = waiting_.size(); i > 1; --i) std::swap(waiting_[i - 1], waiting_[random_.below(i)]);
}

PlannedKill FaultPlan::draw(std::size_t point) {
  const FaultPoint& at = kFaultPoints[point];
  FaultOrder order;
  order.call = at.call;
  order.files = at.files;
  const bool has_middle = at.call == FaultOrder::Call::Write || at.call == FaultOrder::Call::Send;
  const std::uint64_t side = random_.below(has_middle ? 3 : 2);
  order.side = side == 0 ? FaultOrder::Side::Before : side == 1 ? FaultOrder::Side::After : FaultOrder::Side::During;
  order.fault = random_.below(2) == 0 ? FaultOrder::Fault::Kill : FaultOrder::Fault::PowerLoss;
  order.count = 1 + random_.below(at.calls);
  order.seed = random_.below(std::uint64_t{1} << 32U);
  return {point, std::move(order), 0};
}

FaultPlan::Lives FaultPlan::take(const std::map<Role, std::vector<std::string>>& processes) {
  Lives out;
  std::deque<PlannedKill> left;
  for (PlannedKill& kill : waiting_) {
    const auto of_role = processes.find(kFaultPoints[kill.point].role);
    const bool any = of_role != processes.end() && !of_role->second.empty();
    const std::string& name = any ? of_role->second[random_.below(of_role->second.size())] : "";
    if (!any || out[name].size() >= kLivesMax) {
      left.push_back(std::move(kill));
    } else {
      out[name].push_back(std::move(kill));
    }
  }
  waiting_ = std::move(left);
  return out;
}

std::vector<std::string> FaultPlan::settle(const Lives& lives, const std::map<std::string, std::size_t>& struck) {
  std::vector<std::string> problems;
  for (const auto& [name, kills] : lives) {
    const auto count = struck.find(name);
    const std::size_t done = count == struck.end() ? 0 : count->second;
    for (std::size_t i = 0; i < kills.size(); ++i) {
      PlannedKill kill = kills[i];
      if (i < done) {
        Tally& tally = tallies_[kill.point];
        ++(kill.order.fault == FaultOrder::Fault::PowerLoss ? tally.power_losses : tally.kills);
        continue;
      }
      if (i == done) {  // a life went by without as many calls; of those after it nothing is known
        kill.order.count = std::max<std::uint64_t>(1, kill.order.count / 2);
        if (++kill.tries == kTriesMax) {
          problems.push_back(fmt::format("{}, {}: never reached", to_string(kFaultPoints[kill.point].role),
                                         kFaultPoints[kill.point].label));
          continue;
        }
      }
      waiting_.push_back(std::move(kill));
    }
  }
  return problems;
}

bool FaultPlan::waits_for(Role role) const noexcept {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [role](const PlannedKill& kill) { return kFaultPoints[kill.point].role == role; });
}

std::string FaultPlan::table() const {
  std::string out = fmt::format("{:<12} {:<22} {:>6} {:>13}\n", "process", "point", "kills", "power losses");
  Tally all;
  for (std::size_t i = 0; i < kFaultPoints.size(); ++i) {
    out += fmt::format("{:<12} {:<22} {:>6} {:>13}\n", to_string(kFaultPoints[i].role), kFaultPoints[i].label,
                       tallies_[i].kills, tallies_[i].power_losses);
    all.kills += tallies_[i].kills;
    all.power_losses += tallies_[i].power_losses;
  }
  return out + fmt::format("{:<35} {:>6} {:>13}\n", "all", all.kills, all.power_losses);
}

}  // namespace undertone::tests
