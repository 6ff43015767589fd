#include "shared/algorithms/mirror/localized_mirror_descent.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kLocalizedMirror = "localized mirror descent";

std::optional<double> l1_radius_of(const geometry::Domain& domain) {
  const auto* ball = std::get_if<geometry::L1Ball>(&domain.set());
  return ball == nullptr ? std::nullopt : std::optional<double>(ball->radius);
}

}  // namespace

double LocalizedMirrorDescentSettings::power() const {
  return std::max(norm, geometry::l1_setup_exponent(problem.dimension));
}

std::string_view LocalizedMirrorDescentSettings::name() const { return LocalizedMirrorDescent::kName; }

std::string LocalizedMirrorDescentSettings::source() const {
  return "localized noisy mirror descent, Algorithms 2 and 6 of Asi, Feldman, Koren and Talwar 2021";
}

MethodNumbers LocalizedMirrorDescentSettings::numbers() const {
  return {{"rounds", number(extent().rounds)}, {"phases", number(phases.size())}, {"norm", norm}, {"power", power()}};
}

Extent LocalizedMirrorDescentSettings::extent() const {
  std::uint64_t rounds = 0;
  for (const MirrorPhase& phase : phases) rounds = saturating_sum(rounds, phase.rounds);
  return {rounds, phases.size()};
}

MethodTraits LocalizedMirrorDescentSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.takes_subgradients = true;
  traits.clip_exponent = geometry::conjugate_exponent(norm);
  traits.linear_models = traits.clip_exponent > 2.0;
  return traits;
}

ParsedMethod LocalizedMirrorDescent::parse(config::Section& section, const Problem& problem) {
  LocalizedMirrorDescentSettings settings{problem, section.number("norm", 1.0, 2.0,
                                                                  "of localized_mirror_descent: p of the norm l_p; "
                                                                  "clip_norm is then of l_q, 1/p + 1/q = 1")};
  const double draw_fraction = keys::draw_fraction(section);
  for (config::Section& one : keys::phases(section)) {
    MirrorPhase phase;
    phase.rounds = keys::rounds(one);
    phase.relative_convexity = one.number("relative_convexity", 0.0, keys::kNumberMax,
                                          "of localized_mirror_descent: lambda of the proximity term lambda |x - "
                                          "c|_p^2/(2 (p - 1)), c where the phase began; steps are 2/(lambda (k+1))",
                                          true);
    phase.radius = keys::phase_radius(one);
    one.finish();
    settings.phases.push_back(phase);
  }
  return {settings, draw_fraction};
}

Result<std::unique_ptr<LocalizedMirrorDescent>> LocalizedMirrorDescent::create(
    const LocalizedMirrorDescentSettings& settings) {
  const auto refuse = [](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", kLocalizedMirror, what)};
  };
  const Problem& problem = settings.problem;
  const bool whole = std::holds_alternative<geometry::WholeSpace>(problem.domain.set());
  const std::optional<double> l1_radius = l1_radius_of(problem.domain);
  if (!whole && !l1_radius) {
    return refuse(fmt::format("it has an exact step around any centre of l1_ball and whole_space, got {}",
                              problem.domain.name()));
  }
  if (!(settings.norm >= 1.0 && settings.norm <= 2.0))
    return refuse(fmt::format("a norm must be in [1, 2], got {}", settings.norm));
  if (!problem.regulariser.is_none()) {
    return refuse(fmt::format("its phases are on the silos' losses alone: expected no regulariser, got {}",
                              problem.regulariser.name()));
  }
  if (settings.phases.empty() || settings.phases.size() > keys::kPhasesMax)
    return refuse(fmt::format("from 1 to {} phases, got {}", keys::kPhasesMax, settings.phases.size()));
  std::vector<geometry::LocalPNorm> maps;
  for (const MirrorPhase& phase : settings.phases) {
    if (phase.rounds == 0) return refuse("a phase of no rounds");
    UNDERTONE_TRY(
        geometry::check_positive("the relative convexity of localized mirror descent", phase.relative_convexity));
    UNDERTONE_TRY(geometry::LocalPNorm map, geometry::LocalPNorm::create(settings.power(), phase.radius, l1_radius));
    maps.push_back(map);
  }
  if (settings.extent().rounds > releases::kRoundsMax)
    return refuse(fmt::format("at most {} rounds in all, got {}", releases::kRoundsMax, settings.extent().rounds));
  return std::unique_ptr<LocalizedMirrorDescent>(new LocalizedMirrorDescent(settings, std::move(maps)));
}

LocalizedMirrorDescent::LocalizedMirrorDescent(const LocalizedMirrorDescentSettings& settings,
                                               std::vector<geometry::LocalPNorm> maps)
    : settings_(settings),
      maps_(std::move(maps)),
      iterate_(settings_.problem.start()),
      average_(Eigen::VectorXd::Zero(settings_.problem.dimension)),
      centre_(iterate_) {}

planning::Schedule LocalizedMirrorDescent::schedule(const LocalizedMirrorDescentSettings& settings,
                                                    const GradientShape& shape) {
  planning::Schedule out;
  for (std::size_t i = 0; i < settings.phases.size(); ++i) {
    const releases::Slice part{releases::Slice::Cut::Halving, i, settings.phases.size()};
    out.push_back({shape.gradient(settings.problem.dimension, part, i), settings.phases[i].rounds});
  }
  return out;
}

Step LocalizedMirrorDescent::current() const {
  return phase_ < settings_.phases.size() ? ask_gradient(round_, iterate_) : finished(candidate());
}

Result<Step> LocalizedMirrorDescent::advance(const folds::Gathered& gathered) {
  if (Status told = check_told(kLocalizedMirror, round_, settings_.extent().rounds, settings_.problem, gathered); !told)
    return told.error();
  const MirrorPhase& phase = settings_.phases[phase_];
  const geometry::LocalPNorm& map = maps_[phase_];
  const double k = number(step_);
  average_ += (iterate_ - average_) * (2.0 / (k + 1.0));
  const Eigen::VectorXd dual = (k - 1.0) / (k + 1.0) * map.gradient(iterate_, centre_) -
                               2.0 / (phase.relative_convexity * (k + 1.0)) * gathered.mean();
  if (Status converges = check_converges(kLocalizedMirror, round_, settings_.problem, dual); !converges)
    return converges.error();
  iterate_ = map.minimiser(dual, centre_);
  ++round_;
  if (++step_ > phase.rounds) {
    queries::round_to(settings_.problem.point_type, average_);
    centre_ = iterate_ = average_;
    step_ = 1;
    ++phase_;
  }
  queries::round_to(settings_.problem.point_type, iterate_);
  return current();
}

Eigen::VectorXd LocalizedMirrorDescent::candidate() const {
  if (step_ == 1) return centre_;
  Eigen::VectorXd out = average_;
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

void LocalizedMirrorDescent::save(ByteWriter& state) const {
  for (const std::uint64_t count : {round_, phase_, step_}) state.u64(count);
  save_vectors(state, {&iterate_, &average_, &centre_});
}

Status LocalizedMirrorDescent::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.extent().rounds, round_); !read) return read;
  if (Status read = restore_count(state, settings_.phases.size(), phase_); !read) return read;
  const std::uint64_t steps = phase_ < settings_.phases.size() ? settings_.phases[phase_].rounds : 1;
  if (Status read = restore_count(state, steps, step_); !read) return read;
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < phase_; ++i) before += settings_.phases[i].rounds;
  if (step_ == 0 || round_ != before + step_ - 1)
    return Error{ErrorCode::Malformed, fmt::format("round {} is not step {} of phase {}", round_, step_, phase_)};
  return restore_vectors(state, {&iterate_, &average_, &centre_});
}

}  // namespace undertone::algorithms
