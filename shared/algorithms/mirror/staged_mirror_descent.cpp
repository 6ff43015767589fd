#include "shared/algorithms/mirror/staged_mirror_descent.hpp"

#include <algorithm>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kStagedMirror = "staged mirror descent";
constexpr std::size_t kBlockPartsLog2Max = 40;  // of the last stage's block: more than any silo has records

Error staged_refusal(std::string_view what) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", kStagedMirror, what)};
}

}  // namespace

Result<StageTiling> tile_stages(const std::vector<std::size_t>& phases) {
  if (phases.empty()) return staged_refusal("no stage, expected at least 1");
  // 2^smallest parts in the first stage's block.
  std::size_t smallest = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (phases[i] == 0) return staged_refusal(fmt::format("stage {} has no phase", i + 1));
    smallest = std::max(smallest, phases[i] > i ? phases[i] - i : 0);
  }
  if (smallest + phases.size() - 1 > kBlockPartsLog2Max) {
    return staged_refusal(fmt::format("its last block would be of 2^{} parts, expected 2^{} at most",
                                      smallest + phases.size() - 1, kBlockPartsLog2Max));
  }
  StageTiling out;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    std::vector<std::uint64_t>& spans = out.spans.emplace_back();
    spans.reserve(phases[i]);
    for (std::size_t j = 1; j <= phases[i]; ++j) {
      UNDERTONE_CHECK(smallest + i >= j && smallest + i - j < 64);
      spans.push_back(std::uint64_t{1} << (smallest + i - j));
      out.parts += spans.back();
    }
  }
  return out;
}

std::vector<std::size_t> StagedMirrorDescentSettings::phase_counts() const {
  std::vector<std::size_t> out;
  for (const MirrorStage& stage : stages) out.push_back(stage.phases.size());
  return out;
}

std::vector<MirrorPhase> StagedMirrorDescentSettings::all_phases() const {
  std::vector<MirrorPhase> out;
  for (const MirrorStage& stage : stages) out.insert(out.end(), stage.phases.begin(), stage.phases.end());
  return out;
}

std::string_view StagedMirrorDescentSettings::name() const { return StagedMirrorDescent::kName; }

std::string StagedMirrorDescentSettings::source() const {
  return "localized noisy mirror descent in stages, Section 5 of Asi, Feldman, Koren and Talwar 2021";
}

MethodNumbers StagedMirrorDescentSettings::numbers() const {
  const Result<StageTiling> tiling = tile_stages(phase_counts());
  const Extent all = extent();
  return {{"rounds", number(all.rounds)},
          {"stages", number(stages.size())},
          {"phases", number(all.entries)},
          {"parts", tiling ? number(tiling->parts) : 0.0},
          {"norm", norm},
          {"power", phased_mirror_power(norm, problem.dimension)}};
}

Extent StagedMirrorDescentSettings::extent() const {
  Extent out;
  for (const MirrorStage& stage : stages) {
    out.entries += stage.phases.size();
    for (const MirrorPhase& phase : stage.phases) out.rounds = saturating_sum(out.rounds, phase.rounds);
  }
  return out;
}

MethodTraits StagedMirrorDescentSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.takes_subgradients = true;
  traits.clip_exponent = geometry::conjugate_exponent(norm);
  traits.linear_models = traits.clip_exponent > 2.0;
  return traits;
}

ParsedMethod StagedMirrorDescent::parse(config::Section& section, const Problem& problem) {
  StagedMirrorDescentSettings settings{problem, section.number("norm", 1.0, 2.0,
                                                               "of staged_mirror_descent: p of the norm l_p; clip_norm "
                                                               "is then of l_q, 1/p + 1/q = 1")};
  const double draw_fraction = keys::draw_fraction(section);
  for (config::Section& one :
       section.objects("stages", 1, kStagesMax,
                       "of staged_mirror_descent: each reads a block of twice the records of the one before")) {
    MirrorStage stage;
    for (config::Section& part :
         one.objects("phases", 1, keys::kPhasesMax, "phase j reads a part of 2^-j of its stage's block")) {
      MirrorPhase phase;
      phase.rounds = keys::rounds(part);
      // Late phases of a theorem's are on few records, with weights that grow as 32^j.
      phase.relative_convexity = part.number("relative_convexity", keys::kNumberMin, geometry::kParameterMax,
                                             "of staged_mirror_descent: lambda of the proximity term lambda |x - "
                                             "c|_p^2/(2 (p - 1)), c where the phase began; steps are 2/(lambda (k+1))",
                                             true);
      phase.radius = part.number("radius", 0.0, geometry::kParameterMax, "how far from its starting point", true);
      part.finish();
      stage.phases.push_back(phase);
    }
    one.finish();
    settings.stages.push_back(std::move(stage));
  }
  return {settings, draw_fraction};
}

Result<std::unique_ptr<StagedMirrorDescent>> StagedMirrorDescent::create(const StagedMirrorDescentSettings& settings) {
  if (settings.stages.empty() || settings.stages.size() > kStagesMax)
    return staged_refusal(fmt::format("from 1 to {} stages, got {}", kStagesMax, settings.stages.size()));
  for (const MirrorStage& stage : settings.stages) {
    if (stage.phases.empty() || stage.phases.size() > keys::kPhasesMax)
      return staged_refusal(fmt::format("from 1 to {} phases a stage, got {}", keys::kPhasesMax, stage.phases.size()));
  }
  if (const Result<StageTiling> tiling = tile_stages(settings.phase_counts()); !tiling) return tiling.error();
  UNDERTONE_TRY(PhasedMirrorSteps steps,
                PhasedMirrorSteps::create(kStagedMirror, settings.problem, settings.norm, settings.all_phases()));
  return std::unique_ptr<StagedMirrorDescent>(new StagedMirrorDescent(std::move(steps)));
}

planning::Schedule StagedMirrorDescent::schedule(const StagedMirrorDescentSettings& settings,
                                                 const GradientShape& shape) {
  const Result<StageTiling> tiling = tile_stages(settings.phase_counts());
  UNDERTONE_CHECK(tiling.has_value());
  planning::Schedule out;
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < settings.stages.size(); ++i) {
    const std::vector<MirrorPhase>& phases = settings.stages[i].phases;
    for (std::size_t j = 0; j < phases.size(); ++j) {
      releases::Slice part{releases::Slice::Cut::Equal, next, tiling->parts};
      part.span = tiling->spans[i][j];
      next += part.span;
      out.push_back({shape.gradient(settings.problem.dimension, part, out.size()), phases[j].rounds});
    }
  }
  UNDERTONE_CHECK(next == tiling->parts);
  return out;
}

}  // namespace undertone::algorithms
