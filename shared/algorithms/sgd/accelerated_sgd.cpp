#include "shared/algorithms/sgd/accelerated_sgd.hpp"

#include <cmath>
#include <utility>

#include "shared/geometry/local_domain.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {

namespace {

constexpr double kUpsilonMin = 1e-100;  // so that eta of the last round is no denormal

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
  if (round_ == total_) {
    Outcome outcome;
    outcome.vectors["weights"] = candidate();
    return Finished{std::move(outcome)};
  }
  return queries::Query{RoundIndex{round_}, queries::GradientQuestion{middle()}};
}

Status AcceleratedSgd::project(Eigen::VectorXd& point) const {
  if (!settings_.problem.representable(point))
    return Error{ErrorCode::Internal,
                 fmt::format("accelerated SGD diverged in round {}: a smaller step is needed", round_)};
  const std::optional<double>& radius = settings_.phases[phase_].radius;
  if (!radius) {
    settings_.problem.domain.project(point);
    return {};
  }
  const Result<geometry::LocalDomain> local = geometry::LocalDomain::create(settings_.problem.domain, centre_, *radius);
  if (!local) return local.error();
  local->project(point);
  return {};
}

Result<Step> AcceleratedSgd::advance(const folds::Gathered& gathered) {
  if (gathered.round.value != round_ || round_ == total_ || !settings_.problem.fits(gathered))
    return out_of_step("accelerated SGD", round_, gathered);
  const auto [alpha, eta, mu] = weights();
  const Eigen::VectorXd at = middle();
  Eigen::VectorXd gradient = gathered.mean;
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
  for (const Eigen::VectorXd* vector : {&iterate_, &aggregate_, &centre_}) save_vector(state, *vector);
}

Status AcceleratedSgd::restore(ByteReader& state) {
  if (Status read = restore_count(state, total_, round_); !read) return read;
  if (Status read = restore_count(state, settings_.phases.size() - 1, phase_); !read) return read;
  if (Status read = restore_count(state, settings_.phases[phase_].stages.size() - 1, stage_); !read) return read;
  if (Status read = restore_count(state, settings_.phases[phase_].stages[stage_].rounds, step_); !read) return read;
  if (step_ == 0) return Error{ErrorCode::Malformed, "the saved state of accelerated SGD stands before its first step"};
  for (Eigen::VectorXd* vector : {&iterate_, &aggregate_, &centre_})
    if (Status read = restore_vector(state, *vector); !read) return read;
  return {};
}

}  // namespace undertone::algorithms
