#include "shared/algorithms/sgd/accelerated_sgd.hpp"

#include <cmath>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/local_domain.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {
namespace {

constexpr double kUpsilonMin = 1e-100;  // so that eta of the last round is no denormal
constexpr std::size_t kStagesMax = 64;

std::vector<AcceleratedStage> parse_stages(config::Section& section) {
  std::vector<AcceleratedStage> stages;
  for (config::Section& stage :
       section.objects("stages", 1, kStagesMax, "one after the other, each from the last one's output")) {
    AcceleratedStage one;
    one.rounds = keys::count(stage, "rounds", "R_k");
    one.upsilon =
        stage.number("upsilon", 0.0, keys::kNumberMax, "at least twice the smoothness of what is minimised", true);
    stage.finish();
    stages.push_back(one);
  }
  return stages;
}

AcceleratedPhase parse_phase(config::Section& section) {
  AcceleratedPhase phase;
  phase.proximity =
      section.number("proximity", 0.0, keys::kNumberMax, "lambda of lambda/2 |w - c|^2, c the phase's starting point");
  phase.strong_convexity = section.number("strong_convexity", 0.0, keys::kNumberMax,
                                          "of what is minimised, proximity included; 0 if it has none");
  phase.stages = parse_stages(section);
  return phase;
}

}  // namespace

struct AcceleratedSgd::Weights {
  double alpha;
  double eta;
  double mu;
};

std::uint64_t AcceleratedSgdSettings::rounds() const {
  std::uint64_t total = 0;
  for (const AcceleratedPhase& phase : phases)
    for (const AcceleratedStage& stage : phase.stages)
      total = stage.rounds > UINT64_MAX - total ? UINT64_MAX : total + stage.rounds;
  return total;
}

std::string_view AcceleratedSgdSettings::name() const {
  return use == RecordUse::Phased ? AcceleratedSgd::kLocalizedName : AcceleratedSgd::kName;
}

std::string AcceleratedSgdSettings::source() const {
  return use == RecordUse::Phased ? "localized accelerated minibatch SGD (arXiv 2407.09690)"
                                  : "accelerated noisy minibatch SGD, Algorithm 1";
}

MethodNumbers AcceleratedSgdSettings::numbers() const {
  return {{"rounds", number(rounds())}, {"phases", number(phases.size())}};
}

Extent AcceleratedSgdSettings::extent() const {
  switch (use) {
    case RecordUse::Shared:
      return {rounds(), 1};
    case RecordUse::OnePass:
      return {rounds(), rounds()};
    case RecordUse::Phased:
      return {rounds(), phases.size()};
  }
  UNDERTONE_CHECK(false);
  return {};
}

Result<NoiseShifts> AcceleratedSgdSettings::theorem_noise(const NoiseFacts& facts) const {
  switch (use) {
    case RecordUse::Shared:
      return NoiseConditions("Theorem 129", facts).composed({number(rounds())});
    case RecordUse::OnePass: {
      const NoiseConditions conditions("Theorem 124", facts);
      if (Status fits = conditions.epsilon_at_most("8 ln(1/delta)", 8.0 * conditions.log_one()); !fits)
        return fits.error();
      // 2L/(K sigma), sigma = sqrt(32 ln(1.25/delta)) L/(eps K).
      return NoiseShifts{{facts.epsilon / std::sqrt(8.0 * std::log(1.25 / facts.delta))}, {}};
    }
    case RecordUse::Phased: {
      std::vector<double> of_phases;
      for (const AcceleratedPhase& phase : phases) {
        double of_phase = 0.0;
        for (const AcceleratedStage& stage : phase.stages) of_phase += number(stage.rounds);
        of_phases.push_back(of_phase);
      }
      return NoiseConditions("federated-core 3.8", facts).composed(of_phases);
    }
  }
  UNDERTONE_CHECK(false);
  return NoiseShifts{};
}

ParsedMethod AcceleratedSgd::parse(config::Section& section, const Problem& problem) {
  const double draw_fraction = keys::draw_fraction(section);
  const auto use =
      section.choice<RecordUse>("reads", {{"shared", RecordUse::Shared}, {"one_pass", RecordUse::OnePass}},
                                "of accelerated_sgd: every round the same records, or each a part that no other reads");
  AcceleratedPhase phase = parse_phase(section);
  if (use == RecordUse::OnePass && draw_fraction < 1.0)
    section.problem("draw_fraction", "expected 1 with reads \"one_pass\": a round's part is read whole");
  return {AcceleratedSgdSettings{problem, {std::move(phase)}, use}, draw_fraction};
}

ParsedMethod AcceleratedSgd::parse_localized(config::Section& section, const Problem& problem) {
  const double draw_fraction = keys::draw_fraction(section);
  std::vector<AcceleratedPhase> phases;
  for (config::Section& one : keys::phases(section)) {
    AcceleratedPhase phase = parse_phase(one);
    if (one.has("radius")) phase.radius = keys::phase_radius(one);
    one.finish();
    phases.push_back(std::move(phase));
  }
  return {AcceleratedSgdSettings{problem, std::move(phases), RecordUse::Phased}, draw_fraction};
}

Result<std::unique_ptr<AcceleratedSgd>> AcceleratedSgd::create(AcceleratedSgdSettings settings) {
  const auto bad = [](std::string what) {
    return Error{ErrorCode::InvalidArgument, "accelerated SGD: " + std::move(what)};
  };
  if (!settings.problem.regulariser.is_smooth())
    return bad(fmt::format("{} is not smooth: use a proximal algorithm", settings.problem.regulariser.name()));
  if (settings.phases.empty()) return bad("no phase");
  for (const AcceleratedPhase& phase : settings.phases) {
    if (!(phase.proximity >= 0.0 && std::isfinite(phase.proximity)) ||
        !(phase.strong_convexity >= 0.0 && std::isfinite(phase.strong_convexity)) ||
        (phase.radius && !(*phase.radius > 0.0 && std::isfinite(*phase.radius)))) {
      return bad(fmt::format("proximity {}, strong convexity {} and radius {} must be finite and not negative",
                             phase.proximity, phase.strong_convexity, phase.radius.value_or(1.0)));
    }
    if (phase.stages.empty()) return bad("a phase without a stage");
    for (const AcceleratedStage& stage : phase.stages) {
      if (stage.rounds == 0 || !(stage.upsilon >= kUpsilonMin && std::isfinite(stage.upsilon)))
        return bad(fmt::format("a stage of {} rounds with upsilon {}", stage.rounds, stage.upsilon));
    }
  }
  if (settings.rounds() > releases::kRoundsMax)
    return bad(fmt::format("at most {} rounds in all", releases::kRoundsMax));
  return std::unique_ptr<AcceleratedSgd>(new AcceleratedSgd(std::move(settings)));
}

AcceleratedSgd::AcceleratedSgd(AcceleratedSgdSettings settings)
    : settings_(std::move(settings)),
      total_(settings_.rounds()),
      iterate_(settings_.problem.start()),
      aggregate_(iterate_),
      centre_(iterate_) {}

planning::Schedule AcceleratedSgd::schedule(const AcceleratedSgdSettings& settings, const GradientShape& shape) {
  const Eigen::Index d = settings.problem.dimension;
  planning::Schedule out;
  switch (settings.use) {
    case RecordUse::Shared:
      out.push_back({shape.gradient(d), settings.rounds()});
      break;
    case RecordUse::OnePass:
      for (std::uint64_t r = 0; r < settings.rounds(); ++r)
        out.push_back({shape.gradient(d, releases::Slice{releases::Slice::Cut::Equal, r, settings.rounds()}), 1});
      break;
    case RecordUse::Phased:
      for (std::uint64_t i = 0; i < settings.phases.size(); ++i) {
        std::uint64_t rounds = 0;
        for (const AcceleratedStage& stage : settings.phases[i].stages) rounds += stage.rounds;
        out.push_back(
            {shape.gradient(d, releases::Slice{releases::Slice::Cut::Halving, i, settings.phases.size()}, i), rounds});
      }
      break;
  }
  return out;
}

AcceleratedSgd::Weights AcceleratedSgd::weights() const {
  const AcceleratedPhase& phase = settings_.phases[phase_];
  const auto r = static_cast<double>(step_);
  return {2.0 / (r + 1.0), 4.0 * phase.stages[stage_].upsilon / (r * (r + 1.0)), phase.strong_convexity};
}

Eigen::VectorXd AcceleratedSgd::middle() const {
  const auto [alpha, eta, mu] = weights();
  const double whole = eta + (1.0 - alpha * alpha) * mu;
  Eigen::VectorXd point =
      ((1.0 - alpha) * (mu + eta) / whole) * aggregate_ + (alpha * ((1.0 - alpha) * mu + eta) / whole) * iterate_;
  queries::round_to(settings_.problem.point_type, point);
  return point;
}

Step AcceleratedSgd::current() const {
  return round_ < total_ ? ask_gradient(round_, middle()) : finished(candidate());
}

Status AcceleratedSgd::project(Eigen::VectorXd& point) const {
  if (Status converges = check_converges("accelerated SGD", round_, settings_.problem, point); !converges)
    return converges;
  const std::optional<double>& radius = settings_.phases[phase_].radius;
  if (!radius) {
    settings_.problem.domain.project(point);
    return {};
  }
  UNDERTONE_TRY(const geometry::LocalDomain local,
                geometry::LocalDomain::create(settings_.problem.domain, centre_, *radius));
  local.project(point);
  return {};
}

Result<Step> AcceleratedSgd::advance(const folds::Gathered& gathered) {
  if (Status told = check_told("accelerated SGD", round_, total_, settings_.problem, gathered); !told)
    return told.error();
  const auto [alpha, eta, mu] = weights();
  const Eigen::VectorXd at = middle();
  Eigen::VectorXd gradient = gathered.mean();
  settings_.problem.regulariser.add_smooth_gradient(at, gradient);
  gradient += settings_.phases[phase_].proximity * (at - centre_);
  iterate_ = (alpha * mu * at + ((1.0 - alpha) * mu + eta) * iterate_ - alpha * gradient) / (mu + eta);
  if (Status projected = project(iterate_); !projected) return projected.error();
  aggregate_ = alpha * iterate_ + (1.0 - alpha) * aggregate_;
  next_round();
  return current();
}

void AcceleratedSgd::next_round() {
  ++round_;
  const AcceleratedPhase& phase = settings_.phases[phase_];
  if (++step_ <= phase.stages[stage_].rounds) return;
  step_ = 1;
  iterate_ = aggregate_;
  if (++stage_ < phase.stages.size()) return;
  stage_ = 0;
  centre_ = aggregate_;
  if (phase_ + 1 < settings_.phases.size()) ++phase_;
}

Eigen::VectorXd AcceleratedSgd::candidate() const {
  Eigen::VectorXd out = aggregate_;
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

void AcceleratedSgd::save(ByteWriter& state) const {
  for (const std::uint64_t count : {round_, phase_, stage_, step_}) state.u64(count);
  save_vectors(state, {&iterate_, &aggregate_, &centre_});
}

Status AcceleratedSgd::restore(ByteReader& state) {
  if (Status read = restore_count(state, total_, round_); !read) return read;
  if (Status read = restore_count(state, settings_.phases.size() - 1, phase_); !read) return read;
  if (Status read = restore_count(state, settings_.phases[phase_].stages.size() - 1, stage_); !read) return read;
  if (Status read = restore_count(state, settings_.phases[phase_].stages[stage_].rounds, step_); !read) return read;
  if (step_ == 0) return Error{ErrorCode::Malformed, "the saved state of accelerated SGD stands before its first step"};
  return restore_vectors(state, {&iterate_, &aggregate_, &centre_});
}

}  // namespace undertone::algorithms
