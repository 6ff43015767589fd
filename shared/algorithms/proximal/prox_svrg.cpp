#include "shared/algorithms/proximal/prox_svrg.hpp"

#include <utility>

#include "shared/base/random_source.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {

Result<std::unique_ptr<ProxSvrg>> ProxSvrg::create(const ProxSvrgSettings& settings) {
  const bool bounded = settings.restarts <= releases::kRoundsMax && settings.epochs <= releases::kRoundsMax &&
                       settings.inner < releases::kRoundsMax;
  if (!bounded || settings.restarts == 0 || settings.epochs == 0 || settings.inner == 0 ||
      settings.restarts * settings.epochs > releases::kRoundsMax / (settings.inner + 1)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("SVRG: {} restarts of {} epochs of 1 + {} rounds: expected at least one of each and at "
                             "most {} rounds",
                             settings.restarts, settings.epochs, settings.inner, releases::kRoundsMax)};
  }
  if (Status step = geometry::check_positive("the step size of SVRG", settings.step_size); !step) return step.error();
  const Result<geometry::ProximalStep> proximal =
      geometry::ProximalStep::create(settings.problem.domain, settings.problem.regulariser, settings.problem.dimension);
  if (!proximal) return proximal.error();
  return std::unique_ptr<ProxSvrg>(new ProxSvrg(settings, *proximal));
}

ProxSvrg::ProxSvrg(const ProxSvrgSettings& settings, const geometry::ProximalStep& proximal)
    : settings_(settings),
      proximal_(proximal),
      iterate_(settings_.problem.start()),
      anchor_(iterate_),
      anchor_gradient_(Eigen::VectorXd::Zero(iterate_.size())),
      output_(iterate_) {}

planning::Schedule ProxSvrg::schedule(const ProxSvrgSettings& settings, const GradientShape& shape) {
  const Eigen::Index d = settings.problem.dimension;
  GradientShape whole = shape;
  whole.draw_fraction = 1.0;
  whole.with_replacement = false;
  planning::Schedule out;
  for (std::uint64_t epoch = 0; epoch < settings.restarts * settings.epochs; ++epoch) {
    out.push_back({whole.gradient(d), 1});
    out.push_back({shape.difference(d, settings.smoothness), settings.inner});
  }
  return out;
}

std::uint64_t ProxSvrg::chosen(std::uint64_t restart) const {
  RandomSource random(settings_.seed ^ (0x9e3779b97f4a7c15ULL * (restart + 1)));
  return random.below(settings_.epochs * settings_.inner);
}

Step ProxSvrg::current() const {
  if (round_ == rounds()) {
    Outcome outcome;
    outcome.vectors["weights"] = iterate_;
    return Finished{std::move(outcome)};
  }
  if (round_ % (settings_.inner + 1) == 0)
    return queries::Query{RoundIndex{round_}, queries::GradientQuestion{iterate_}};
  Eigen::VectorXd points(2 * iterate_.size());
  points << iterate_, anchor_;
  return queries::Query{RoundIndex{round_}, queries::GradientDifferenceQuestion{std::move(points)}};
}

Result<Step> ProxSvrg::advance(const folds::Gathered& gathered) {
  if (gathered.round.value != round_ || round_ == rounds() || !settings_.problem.fits(gathered))
    return out_of_step("SVRG", round_, gathered);
  const std::uint64_t per_restart = settings_.epochs * (settings_.inner + 1);
  const std::uint64_t within = round_ % per_restart;
  const std::uint64_t epoch = within / (settings_.inner + 1);
  const std::uint64_t step = within % (settings_.inner + 1);
  if (step == 0) {
    anchor_ = iterate_;
    anchor_gradient_ = gathered.mean;
  } else {
    if (epoch * settings_.inner + step - 1 == chosen(round_ / per_restart)) output_ = iterate_;
    iterate_ -= settings_.step_size * (anchor_gradient_ + gathered.mean);
    if (!settings_.problem.representable(iterate_))
      return Error{ErrorCode::Internal, fmt::format("SVRG diverged in round {}: a smaller step is needed", round_)};
    proximal_.apply(settings_.step_size, iterate_);
    queries::round_to(settings_.problem.point_type, iterate_);
  }
  ++round_;
  if (round_ % per_restart == 0) iterate_ = output_;
  return current();
}

void ProxSvrg::save(ByteWriter& state) const {
  state.u64(round_);
  for (const Eigen::VectorXd* vector : {&iterate_, &anchor_, &anchor_gradient_, &output_}) save_vector(state, *vector);
}

Status ProxSvrg::restore(ByteReader& state) {
  if (Status read = restore_count(state, rounds(), round_); !read) return read;
  for (Eigen::VectorXd* vector : {&iterate_, &anchor_, &anchor_gradient_, &output_})
    if (Status read = restore_vector(state, *vector); !read) return read;
  return {};
}

}  // namespace undertone::algorithms
