#include "shared/algorithms/sgd/localized_subgradient.hpp"

#include <cmath>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/mirror/staged_mirror_descent.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/local_domain.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kSubgradient = "the subgradient method";
constexpr double kClipShareMin = 1e-6;  // the squares of a shorter clip could vanish
using Reads = LocalizedSubgradientSettings::Reads;

Error subgradient_refusal(const std::string& what) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", kSubgradient, what)};
}

SubgradientPhase parse_phase_of_steps(config::Section& section) {
  SubgradientPhase phase;
  phase.rounds = keys::rounds(section);
  phase.step_size = keys::step_size(section);
  phase.proximity =
      section.number("proximity", 0.0, keys::kNumberMax,
                     "lambda of lambda/2 |w - c|^2, c where the phase begins; steps are at most 2/lambda");
  if (section.has("radius")) phase.radius = keys::phase_radius(section);
  if (section.has("clip_share") || section.recording())
    phase.clip_share =
        section.number("clip_share", kClipShareMin, 1.0,
                       "of the subgradient methods: a phase's clip, as a share of the job's (default 1)");
  return phase;
}

SubgradientStage parse_stage_of_phases(config::Section& section) {
  SubgradientStage stage;
  for (config::Section& one : keys::phases(section)) {
    stage.push_back(parse_phase_of_steps(one));
    one.finish();
  }
  return stage;
}

Status check_phase(const SubgradientPhase& phase) {
  if (phase.rounds == 0) return subgradient_refusal("a phase of no rounds");
  UNDERTONE_TRY(geometry::check_positive("a step of the subgradient method", phase.step_size));
  if (!(phase.proximity >= 0.0 && std::isfinite(phase.proximity)))
    return subgradient_refusal(fmt::format("a proximity must be finite and not negative, got {}", phase.proximity));
  if (phase.step_size * phase.proximity > 2.0 * (1.0 + 1e-12))
    return subgradient_refusal(
        fmt::format("a step must be at most 2/proximity = {}, got {}", 2.0 / phase.proximity, phase.step_size));
  if (phase.radius) UNDERTONE_TRY(geometry::check_positive("a radius of the subgradient method", *phase.radius));
  if (!(phase.clip_share >= kClipShareMin && phase.clip_share <= 1.0))
    return subgradient_refusal(
        fmt::format("a clip_share must be from {} to 1, got {}", kClipShareMin, phase.clip_share));
  return {};
}

/// This is the clip of a phase.
releases::ClipNorm clip_of_phase(const releases::ClipNorm& whole, double share) {
  const auto own = releases::ClipNorm::create(whole.value() * share);
  return own ? *own : whole;
}

}  // namespace

std::vector<std::size_t> LocalizedSubgradientSettings::phase_counts() const {
  std::vector<std::size_t> out;
  for (const SubgradientStage& stage : stages) out.push_back(stage.size());
  return out;
}

std::string_view LocalizedSubgradientSettings::name() const {
  if (reads == Reads::All) return LocalizedSubgradient::kRegularisedName;
  return reads == Reads::Phases ? LocalizedSubgradient::kName : LocalizedSubgradient::kStagedName;
}

std::string LocalizedSubgradientSettings::source() const {
  if (reads == Reads::All) return "the noisy clipped regularised subgradient method, Algorithm 6 of Lowy's thesis";
  return reads == Reads::Phases
             ? "the localised noisy clipped subgradient method, Algorithm 7 of Lowy's thesis"
             : "the localised noisy clipped subgradient method in stages, Appendix C.4.3 of Lowy's thesis";
}

MethodNumbers LocalizedSubgradientSettings::numbers() const {
  const Extent all = extent();
  const Result<StageTiling> tiling = tile_stages(phase_counts());
  return {{"rounds", number(all.rounds)},
          {"stages", number(stages.size())},
          {"phases", number(all.entries)},
          {"parts", reads == Reads::All ? 1.0
                    : tiling            ? number(tiling->parts)
                                        : 0.0}};
}

Extent LocalizedSubgradientSettings::extent() const {
  Extent out;
  for (const SubgradientStage& stage : stages) {
    out.entries += stage.size();
    for (const SubgradientPhase& phase : stage) out.rounds = saturating_sum(out.rounds, phase.rounds);
  }
  return out;
}

MethodTraits LocalizedSubgradientSettings::traits() const {
  MethodTraits traits;
  traits.takes_subgradients = true;
  return traits;
}

ParsedMethod LocalizedSubgradient::parse(config::Section& section, const Problem& problem) {
  const double draw_fraction = keys::draw_fraction(section);
  return {LocalizedSubgradientSettings{problem, {parse_stage_of_phases(section)}}, draw_fraction};
}

ParsedMethod LocalizedSubgradient::parse_regularised(config::Section& section, const Problem& problem) {
  const double draw_fraction = keys::draw_fraction(section);
  return {LocalizedSubgradientSettings{problem, {{parse_phase_of_steps(section)}}, Reads::All}, draw_fraction};
}

ParsedMethod LocalizedSubgradient::parse_staged(config::Section& section, const Problem& problem) {
  const double draw_fraction = keys::draw_fraction(section);
  LocalizedSubgradientSettings settings{problem, {}, Reads::Stages};
  for (config::Section& one :
       section.objects("stages", 2, kStagesMax,
                       "of staged_subgradient: each reads a block of twice the records of the one before")) {
    settings.stages.push_back(parse_stage_of_phases(one));
    one.finish();
  }
  return {settings, draw_fraction};
}

Result<std::unique_ptr<LocalizedSubgradient>> LocalizedSubgradient::create(
    const LocalizedSubgradientSettings& settings) {
  if (settings.stages.empty() || settings.stages.size() > kStagesMax)
    return subgradient_refusal(fmt::format("from 1 to {} stages, got {}", kStagesMax, settings.stages.size()));
  if (settings.reads == Reads::All && settings.extent().entries != 1)
    return subgradient_refusal("one phase reads all records");
  if (settings.reads == Reads::Phases && settings.stages.size() != 1)
    return subgradient_refusal(fmt::format("phases are of one stage, got {}", settings.stages.size()));
  for (const SubgradientStage& stage : settings.stages) {
    if (stage.empty() || stage.size() > keys::kPhasesMax)
      return subgradient_refusal(fmt::format("from 1 to {} phases a stage, got {}", keys::kPhasesMax, stage.size()));
    for (const SubgradientPhase& phase : stage) UNDERTONE_TRY(check_phase(phase));
  }
  if (settings.extent().rounds > releases::kRoundsMax)
    return subgradient_refusal(
        fmt::format("at most {} rounds in all, got {}", releases::kRoundsMax, settings.extent().rounds));
  if (!tile_stages(settings.phase_counts()))
    return subgradient_refusal("the last block would be of more than 2^40 parts, expected fewer stages or phases");
  if (!settings.problem.regulariser.is_smooth())
    return subgradient_refusal(
        fmt::format("{} is not smooth: use a proximal algorithm", settings.problem.regulariser.name()));
  return std::unique_ptr<LocalizedSubgradient>(new LocalizedSubgradient(settings));
}

LocalizedSubgradient::LocalizedSubgradient(const LocalizedSubgradientSettings& settings)
    : problem_(settings.problem), rounds_(settings.extent().rounds), iterate_(problem_.start()), centre_(iterate_) {
  for (const SubgradientStage& stage : settings.stages) phases_.insert(phases_.end(), stage.begin(), stage.end());
}

planning::Schedule LocalizedSubgradient::schedule(const LocalizedSubgradientSettings& settings,
                                                  const GradientShape& shape) {
  const Result<StageTiling> tiling = tile_stages(settings.phase_counts());
  UNDERTONE_CHECK(tiling.has_value());
  planning::Schedule out;
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < settings.stages.size(); ++i) {
    for (std::size_t j = 0; j < settings.stages[i].size(); ++j) {
      const SubgradientPhase& phase = settings.stages[i][j];
      std::optional<releases::Slice> part;
      if (settings.reads != Reads::All) {
        part = releases::Slice{releases::Slice::Cut::Equal, next, tiling->parts};
        part->span = tiling->spans[i][j];
        next += part->span;
      }
      releases::Ask ask = shape.gradient(settings.problem.dimension, part, out.size());
      if (phase.clip_share < 1.0) {
        if (auto* bound = std::get_if<releases::L2Bound>(&ask.bound))
          bound->clip = clip_of_phase(bound->clip, phase.clip_share);
        if (const auto* influence = std::get_if<releases::InfluenceBound>(&ask.bound))
          ask.bound = influence->times(phase.clip_share);
      }
      out.push_back({std::move(ask), phase.rounds});
    }
  }
  return out;
}

Step LocalizedSubgradient::current() const {
  return round_ < rounds_ ? ask_gradient(round_, iterate_) : finished(iterate_);
}

Result<Step> LocalizedSubgradient::advance(const folds::Gathered& gathered) {
  UNDERTONE_TRY(check_told(kSubgradient, round_, rounds_, problem_, gathered));
  const SubgradientPhase& phase = phases_[phase_];
  Eigen::VectorXd along = gathered.mean() + phase.proximity * (iterate_ - centre_);
  problem_.regulariser.add_smooth_gradient(iterate_, along);
  iterate_ -= phase.step_size * along;
  UNDERTONE_TRY(check_converges(kSubgradient, round_, problem_, iterate_));
  if (phase.radius) {
    UNDERTONE_TRY(const geometry::LocalDomain local,
                  geometry::LocalDomain::create(problem_.domain, centre_, *phase.radius));
    local.project(iterate_);
    queries::round_to(problem_.point_type, iterate_);
  } else {
    problem_.settle(iterate_);
  }
  ++round_;
  if (++step_ == phase.rounds) {
    step_ = 0;
    ++phase_;
    centre_ = iterate_;
  }
  return current();
}

void LocalizedSubgradient::save(ByteWriter& state) const {
  for (const std::uint64_t count : {round_, phase_, step_}) state.u64(count);
  save_vectors(state, {&iterate_, &centre_});
}

Status LocalizedSubgradient::restore(ByteReader& state) {
  UNDERTONE_TRY(restore_count(state, rounds_, round_));
  UNDERTONE_TRY(restore_count(state, phases_.size(), phase_));
  UNDERTONE_TRY(restore_count(state, phase_ < phases_.size() ? phases_[phase_].rounds : 0, step_));
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < phase_; ++i) before += phases_[i].rounds;
  const bool within = phase_ < phases_.size() ? step_ < phases_[phase_].rounds : step_ == 0;
  if (!within || round_ != before + step_)
    return Error{ErrorCode::Malformed, fmt::format("round {} is not step {} of phase {}", round_, step_, phase_)};
  return restore_vectors(state, {&iterate_, &centre_});
}

}  // namespace undertone::algorithms
