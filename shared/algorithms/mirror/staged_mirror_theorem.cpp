#include "shared/algorithms/mirror/staged_mirror_theorem.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/algorithms/mirror/mirror_geometry.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/printed_noise.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/base/bisection.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kMirrorStages = "the stages of mirror descent";
constexpr std::uint64_t kPhaseRecordsMin = 2;

Error stages_refusal(std::string_view what) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", kMirrorStages, what)};
}

/// What every stage's formulas have in common.
struct StageNumbers {
  double d = 0.0;
  double silos = 0.0;
  double power = 0.0;           // p
  double curve = 0.0;           // p - 1
  double log_delta = 0.0;       // ln(1/delta)
  double private_factor = 0.0;  // f
  double primal = 0.0;          // L_p
  double dual_exponent = 0.0;   // q
  double l2_squared = 0.0;      // d^(1 - 2/q') L^2
  double concentrated = 0.0;    // w
};

StageNumbers stage_numbers(const MirrorStageFacts& facts) {
  StageNumbers out;
  out.d = static_cast<double>(facts.dimension);
  out.silos = number(facts.silos);
  out.power = phased_mirror_power(facts.norm, facts.dimension);
  out.curve = out.power - 1.0;
  out.log_delta = std::log(1.0 / facts.delta);
  const double log_dimension = std::max(1.0, std::log2(out.d));
  const bool l1_setup = facts.norm <= geometry::l1_setup_exponent(facts.dimension);
  out.private_factor = out.power == 2.0 ? 1.0 : l1_setup ? log_dimension : 1.0 + log_dimension;
  const double own = 1.0 - 1.0 / facts.norm;  // 1/q'
  out.primal = std::pow(out.d, 1.0 - 1.0 / out.power - own) * facts.lipschitz;
  out.dual_exponent = geometry::conjugate_exponent(out.power);
  out.l2_squared = std::pow(out.d, 1.0 - 2.0 * own) * facts.lipschitz * facts.lipschitz;
  const double root = facts.epsilon / (std::sqrt(out.log_delta + facts.epsilon) + std::sqrt(out.log_delta));
  out.concentrated = root * root;
  return out;
}

Status check_stage_facts(const MirrorStageFacts& facts) {
  if (!(facts.norm >= 1.0 && facts.norm <= 2.0))
    return stages_refusal(fmt::format("a norm must be in [1, 2], got {}", facts.norm));
  if (facts.dimension < 1 || facts.silos < 1) {
    return stages_refusal(fmt::format("expected a dimension and silos, got {} and {}", facts.dimension, facts.silos));
  }
  UNDERTONE_TRY(geometry::check_positive(fmt::format("D of {}", kMirrorStages), facts.diameter));
  UNDERTONE_TRY(geometry::check_positive(fmt::format("L of {}", kMirrorStages), facts.lipschitz));
  if (facts.rounds_max < 1 || facts.rounds_max > releases::kRoundsMax) {
    return stages_refusal(fmt::format("rounds_max must be in 1 to {}, got {}", releases::kRoundsMax, facts.rounds_max));
  }
  return NoiseConditions(kMirrorStages, {number(facts.records), number(facts.records), facts.epsilon, facts.delta})
      .plausible();
}

/// K_i of every stage; none where the first has none.
std::vector<std::size_t> phases_of_stages(std::uint64_t records) {
  std::vector<std::size_t> out;
  if (records < 5) return out;
  const double logarithm = std::log2(number(records));
  const double stages = std::max(1.0, std::ceil(std::log2(logarithm)));
  double share = 0.5 * number(records) / logarithm;  // 2^(i-2) n/log2 n
  for (double i = 1.0; i <= stages; i += 1.0, share *= 2.0) {
    std::size_t phases = 0;
    for (auto left = static_cast<std::uint64_t>(share) / 2; left >= kPhaseRecordsMin && phases < keys::kPhasesMax;
         left /= 2)
      ++phases;
    if (phases == 0) return {};
    out.push_back(phases);
  }
  return out;
}

std::uint64_t rounds_of_phase(const MirrorStageFacts& facts, const StageNumbers& all, double records) {
  const double statistical = records * all.silos / all.curve;
  const double private_ones = all.silos * records * records * facts.epsilon * facts.epsilon / all.d;
  const double wanted = std::ceil(std::max(1.0, std::min(statistical, private_ones)));
  return static_cast<std::uint64_t>(std::min(wanted, number(releases::kRoundsMax)));
}

std::uint64_t batch_of_phase(const MirrorStageFacts& facts, const StageNumbers& all, double records) {
  const double least =
      std::max(std::sqrt(records * all.curve / all.silos), std::sqrt(all.d / all.silos) / facts.epsilon);
  return static_cast<std::uint64_t>(std::min(records, std::ceil(least)));
}

SizedMirrorPhase sized_phase(const MirrorStageFacts& facts, const StageNumbers& all, std::uint64_t records) {
  SizedMirrorPhase out;
  out.records = records;
  out.phase.rounds = rounds_of_phase(facts, all, number(records));
  out.batch = batch_of_phase(facts, all, number(records));
  return out;
}

/// Cuts the phases' rounds at one number, so that they add up to what there is.
/// @return an error where there are fewer rounds than phases
Status cut_rounds(std::vector<SizedMirrorStage>& stages, std::uint64_t most) {
  std::uint64_t phases = 0;
  for (const SizedMirrorStage& stage : stages) phases += stage.phases.size();
  if (most < phases) return stages_refusal(fmt::format("{} phases of a round at least, in {} rounds", phases, most));
  const auto too_many = [&](std::uint64_t cap) {
    std::uint64_t sum = 0;
    for (const SizedMirrorStage& stage : stages)
      for (const SizedMirrorPhase& one : stage.phases) sum += std::min(one.phase.rounds, cap);
    return sum > most;
  };
  const std::uint64_t cap = too_many(releases::kRoundsMax)
                                ? bisect_integers(SearchRange<std::uint64_t>{1, releases::kRoundsMax}, too_many).low
                                : releases::kRoundsMax;  // at which a phase's own rounds were cut
  for (SizedMirrorStage& stage : stages) {
    stage.cut = stage.phases.front().phase.rounds >= cap;
    for (SizedMirrorPhase& one : stage.phases) one.phase.rounds = std::min(one.phase.rounds, cap);
  }
  return {};
}

/// eta, the phases' radii and weights.
void set_steps(const MirrorStageFacts& facts, const StageNumbers& all, SizedMirrorStage& stage) {
  const SizedMirrorPhase& first = stage.phases.front();
  const double records = 2.0 * number(first.records) * all.silos;  // m
  double longest = std::min(1.0 / std::sqrt(all.curve * records),
                            facts.epsilon / std::sqrt(all.silos * all.d * all.private_factor * all.log_delta));
  if (stage.cut) longest = std::min(longest, std::sqrt(number(first.phase.rounds)) / records);
  stage.step_size = stage.diameter / facts.lipschitz * longest;
  double step = stage.step_size;
  for (SizedMirrorPhase& one : stage.phases) {
    step /= 16.0;
    const double reach = step * number(one.records) * all.silos;  // eta_j mu
    one.phase.relative_convexity = 2.0 / reach;
    one.phase.radius = 2.0 * facts.lipschitz * reach * all.curve;
  }
}

double proven_bound(const MirrorStageFacts& facts, const StageNumbers& all, const SizedMirrorStage& stage) {
  double bound = 0.0;
  double before = stage.diameter * stage.diameter;  // D_i^2, then e_{j-1}^2
  double step = stage.step_size;
  for (const SizedMirrorPhase& one : stage.phases) {
    step /= 16.0;
    const double records = number(one.records);
    const double rounds = number(one.phase.rounds);
    const double reach = step * records * all.silos;
    bound += before / (reach * all.curve) + all.primal * all.primal * step;
    const double variance = 2.0 * rounds * all.l2_squared / (all.concentrated * records * records * all.silos);
    const double longest = all.primal + 4.0 * facts.lipschitz +
                           std::sqrt(noise_norm_squared(all.dual_exponent, facts.dimension, variance));
    before = std::min(longest * longest * reach * reach / (rounds + 1.0), 4.0 * one.phase.radius * one.phase.radius);
  }
  return bound + all.primal * std::sqrt(before);
}

double printed_order(const MirrorStageFacts& facts, const StageNumbers& all, const SizedMirrorStage& stage) {
  const SizedMirrorPhase& first = stage.phases.front();
  const double records = 2.0 * number(first.records);
  double order =
      1.0 / std::sqrt(all.curve * records * all.silos) +
      std::sqrt(all.d * all.private_factor * all.log_delta / all.silos) / (all.curve * records * facts.epsilon);
  if (stage.cut) order += 1.0 / (all.curve * std::sqrt(number(first.phase.rounds)));
  return facts.lipschitz * stage.diameter * order;
}

/// What follows from the rounds and from how near the stage begins.
void settle_stage(const MirrorStageFacts& facts, const StageNumbers& all, double diameter, SizedMirrorStage& stage) {
  stage.diameter = diameter;
  set_steps(facts, all, stage);
  const double bound =
      facts.scale == StageScale::Proven ? proven_bound(facts, all, stage) : printed_order(facts, all, stage);
  stage.bound = std::min(bound, facts.lipschitz * facts.diameter);
}

}  // namespace

std::vector<MirrorStage> MirrorStageChoice::mirror_stages() const {
  std::vector<MirrorStage> out;
  for (const SizedMirrorStage& stage : stages) {
    MirrorStage& one = out.emplace_back();
    for (const SizedMirrorPhase& phase : stage.phases) one.phases.push_back(phase.phase);
  }
  return out;
}

Result<MirrorStageChoice> choose_mirror_stages(const MirrorStageFacts& facts) {
  UNDERTONE_TRY(check_stage_facts(facts));
  UNDERTONE_TRY(geometry::check_positive(fmt::format("lambda of {}", kMirrorStages), facts.strong_convexity));
  const StageNumbers all = stage_numbers(facts);
  const std::vector<std::size_t> counts = phases_of_stages(facts.records);
  if (counts.empty()) {
    return stages_refusal(fmt::format(
        "the first has n/(2 log2 n) = {:.3g} of {} records, at least 4 are needed",
        facts.records < 2 ? 0.0 : 0.5 * number(facts.records) / std::log2(number(facts.records)), facts.records));
  }
  UNDERTONE_TRY(const StageTiling tiling, tile_stages(counts));
  const std::uint64_t part = facts.records / tiling.parts;
  UNDERTONE_CHECK(part >= 1);
  MirrorStageChoice out;
  for (const std::vector<std::uint64_t>& spans : tiling.spans) {
    SizedMirrorStage& stage = out.stages.emplace_back();
    for (const std::uint64_t span : spans) stage.phases.push_back(sized_phase(facts, all, part * span));
  }
  UNDERTONE_TRY(cut_rounds(out.stages, facts.rounds_max));
  double diameter = facts.diameter;
  for (SizedMirrorStage& stage : out.stages) {
    settle_stage(facts, all, diameter, stage);
    diameter = std::min(facts.diameter, std::sqrt(2.0 * stage.bound / facts.strong_convexity));
  }
  return out;
}

Result<SizedMirrorStage> choose_mirror_phases(const MirrorStageFacts& facts) {
  UNDERTONE_TRY(check_stage_facts(facts));
  const StageNumbers all = stage_numbers(facts);
  std::vector<SizedMirrorStage> only(1);
  std::vector<SizedMirrorPhase>& phases = only.front().phases;
  for (std::uint64_t left = facts.records / 2; left >= kPhaseRecordsMin && phases.size() < keys::kPhasesMax; left /= 2)
    phases.push_back(sized_phase(facts, all, left));
  if (phases.empty()) {
    return stages_refusal(
        fmt::format("the first phase has n/2 of {} records, at least {} are needed", facts.records, kPhaseRecordsMin));
  }
  UNDERTONE_TRY(cut_rounds(only, facts.rounds_max));
  settle_stage(facts, all, facts.diameter, only.front());
  return only.front();
}

}  // namespace undertone::algorithms
