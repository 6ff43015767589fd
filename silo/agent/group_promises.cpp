#include "silo/agent/group_promises.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/group_privacy.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone::silo {
namespace {

constexpr double kRounding = 1.0 + 1e-12;  // of sums in double precision

/// So many of somebody's records as a block can hold.
struct Shares {
  double training = 0.0;
  double holdout = 0.0;
};

/// The largest cost of k records in either block, or in both together.
template <typename OfBlock>
double dearest(const Shares& shares, bool one_block, const OfBlock& of_block) {
  const double training = of_block(releases::Block::Training, shares.training);
  const double holdout = of_block(releases::Block::Holdout, shares.holdout);
  return one_block ? std::max(training, holdout) : training + holdout;
}

/// What the releases of pure laws cost a record of a block at most, whichever part it is in: of parts that no other
/// release reads the dearest one. It is nothing where some are along paths, whose nodes have costs of their own, and
/// where records draw their parts anew for each pass: one of them may then meet the dearest part of every pass.
std::optional<double> dearest_place(const planning::Plan& plan, releases::Block block) {
  std::map<std::int64_t, double> changes;  // of the sum, by position
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const planning::Release& release = segment.release;
    if (release.is_public() || release.ask.records.block != block) continue;
    if (release.ask.path() != nullptr || release.hides_part()) return std::nullopt;
    const releases::Cost cost = release.cost();
    const double all =
        static_cast<double>(segment.rounds) * (cost.pure.value_rounded_up() + cost.ranged.value_rounded_up());
    changes[release.positions.from] += all;
    changes[release.positions.to] -= all;
  }
  double here = 0.0;
  double most = 0.0;
  for (const auto& [position, change] : changes) most = std::max(most, here += change);
  return most;
}

/// Where every release reads all of the k records once: of what was reserved, shifts and pure losses grow k-fold.
/// @pre nothing is drawn with replacement: then they may stand in a sum more often
std::optional<double> epsilon_of_reserved(const planning::Plan& plan, const RunAccount& account, const Shares& shares,
                                          bool one_block, const std::optional<releases::Delta>& delta) {
  const auto cost = [&](releases::Block block) -> const releases::Cost& {
    return block == releases::Block::Training ? account.training_reserved : account.holdout_reserved;
  };
  // Linear and convex functions of how the records are split: their largest values have all of them in one block.
  const double pure = kRounding * dearest(shares, one_block, [&](releases::Block block, double records) {
                        const double sum = cost(block).pure.value_rounded_up() + cost(block).ranged.value_rounded_up();
                        return records * std::min(sum, dearest_place(plan, block).value_or(sum));
                      });
  const double shift_squared = kRounding * dearest(shares, one_block, [&](releases::Block block, double records) {
                                 return records * records * cost(block).gaussian.value_rounded_up();
                               });
  const double rho = kRounding * dearest(shares, one_block, [&](releases::Block block, double records) {
                       return records * records * cost(block).concentrated.value_rounded_up();
                     });
  if (rho == 0.0 && shift_squared == 0.0) return pure;
  if (!delta) return std::nullopt;
  if (rho == 0.0) {
    const Result<releases::GaussianShift> shift = releases::GaussianShift::create(std::sqrt(shift_squared));
    return shift ? std::optional(pure + accounting::epsilon_of_gaussian(*shift, *delta)) : std::nullopt;
  }
  const Result<releases::Rho> all = releases::Rho::create(rho + 0.5 * shift_squared);
  return all ? std::optional(pure + accounting::epsilon_of_zcdp(*all, *delta)) : std::nullopt;
}

/// The plan's releases of a run that draws records afresh; empty where some are of another kind, or of parts.
std::vector<accounting::GroupRelease> drawn_releases(const planning::Plan& plan) {
  std::vector<accounting::GroupRelease> out;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const planning::Release& release = segment.release;
    if (release.is_public()) continue;
    const auto* gaussian = std::get_if<mechanisms::GaussianLattice>(&release.mechanism);
    const Result<releases::GaussianShift> shift =
        releases::GaussianShift::create(std::sqrt(release.cost_of_draw().gaussian.value_rounded_up()));
    if (gaussian == nullptr || release.ask.records.slice || !shift) return {};
    out.push_back({*shift, release.records_drawn, release.population, release.ask.records.with_replacement,
                   segment.rounds * release.draws()});
  }
  return out;
}

std::optional<double> epsilon_of_drawn(const std::vector<accounting::GroupRelease>& releases, std::int64_t records,
                                       releases::Delta delta) {
  if (releases.empty()) return std::nullopt;
  // Somebody with records in both blocks is in no more than if all of them were in each.
  const Result<accounting::Bracket> epsilon = accounting::group_epsilon(releases, records, delta);
  return epsilon && !WorkMeter::stopped() ? std::optional(epsilon->upper) : std::nullopt;
}

std::optional<double> epsilon_of_group(const planning::Plan& plan, const releases::SiloFacts& facts,
                                       const RunAccount& account, bool secret_draws, std::int64_t records) {
  constexpr double kEpsilonMax = 30.0;  // beyond it, it is as good as none
  const Shares shares{static_cast<double>(std::min(records, facts.records)),
                      static_cast<double>(std::min(records, facts.holdout_records))};
  const bool one_block = facts.holdout_records == 0 || records <= std::min(facts.records, facts.holdout_records);
  const bool draws =
      secret_draws && (plan.reads_parts(releases::Block::Training) || plan.reads_parts(releases::Block::Holdout));
  const std::vector<accounting::GroupRelease> drawn =
      draws ? drawn_releases(plan) : std::vector<accounting::GroupRelease>{};
  const auto at = [&](std::optional<releases::Delta> delta) {
    const std::optional<double> all =
        plan.draws_with_replacement() ? std::nullopt : epsilon_of_reserved(plan, account, shares, one_block, delta);
    if (!delta || drawn.empty()) return all;
    const std::optional<double> amplified = epsilon_of_drawn(drawn, records, *delta);
    return amplified && (!all || *amplified < *all) ? amplified : all;
  };
  if (!plan.mechanism_delta()) {
    const std::optional<double> pure = at(std::nullopt);
    return pure && *pure <= kEpsilonMax ? pure : std::nullopt;
  }
  return plan.epsilon_with_samplers([&](releases::Delta delta) { return at(delta); });
}

}  // namespace

bool holds_but_for_failures(const planning::Plan& plan) {
  return std::any_of(plan.segments().begin(), plan.segments().end(), [](const planning::Plan::Segment& segment) {
    return std::holds_alternative<mechanisms::PerturbedObjective>(segment.release.mechanism);
  });
}

namespace {

constexpr std::uint64_t kWorkMax = std::uint64_t{1} << 24U;  // of all figures of a run: a law's numbers cost several

std::int64_t protected_records(const releases::SiloFacts& facts) {
  return facts.records + (facts.holdout_public ? 0 : facts.holdout_records);
}

GroupPromise promise_to(const planning::Plan& plan, const releases::SiloFacts& facts, const RunAccount& account,
                        bool secret_draws, std::int64_t records) {
  return {records,
          holds_but_for_failures(plan) ? std::nullopt : epsilon_of_group(plan, facts, account, secret_draws, records)};
}

}  // namespace

GroupPromise silo_promise(const planning::Plan& plan, const releases::SiloFacts& facts, const RunAccount& account,
                          bool secret_draws) {
  const WorkMeter meter(kWorkMax);
  return promise_to(plan, facts, account, secret_draws, protected_records(facts));
}

std::vector<GroupPromise> group_promises(const planning::Plan& plan, const releases::SiloFacts& facts,
                                         const RunAccount& account, bool secret_draws) {
  const WorkMeter meter(kWorkMax);
  const std::int64_t all = protected_records(facts);
  std::vector<GroupPromise> out;
  for (const std::int64_t records : {5, 10, 20}) {
    const std::int64_t own = std::min<std::int64_t>(records, all);
    if (!out.empty() && out.back().records == own) break;
    out.push_back(promise_to(plan, facts, account, secret_draws, own));
  }
  return out;
}

}  // namespace undertone::silo
