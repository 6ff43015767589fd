#include "shared/algorithms/proximal/proximal_sgd.hpp"

#include <utility>

#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {

Result<std::unique_ptr<ProximalSgd>> ProximalSgd::create(const ProximalSgdSettings& settings) {
  if (settings.rounds == 0) return Error{ErrorCode::InvalidArgument, "proximal SGD: no rounds"};
  if (Status step = geometry::check_positive("the step size of proximal SGD", settings.step_size); !step)
    return step.error();
  const Result<geometry::ProximalStep> proximal =
      geometry::ProximalStep::create(settings.problem.domain, settings.problem.regulariser, settings.problem.dimension);
  if (!proximal) return proximal.error();
  return std::unique_ptr<ProximalSgd>(new ProximalSgd(settings, *proximal));
}

ProximalSgd::ProximalSgd(const ProximalSgdSettings& settings, const geometry::ProximalStep& proximal)
    : settings_(settings), proximal_(proximal), iterate_(settings_.problem.start()) {}

planning::Schedule ProximalSgd::schedule(const ProximalSgdSettings& settings, const GradientShape& shape) {
  planning::Schedule out;
  for (std::uint64_t r = 0; r < settings.rounds; ++r) {
    const releases::Slice part{releases::Slice::Cut::Equal, r, settings.rounds};
    out.push_back({shape.gradient(settings.problem.dimension, part), 1});
  }
  return out;
}

Step ProximalSgd::current() const {
  if (round_ < settings_.rounds) return queries::Query{RoundIndex{round_}, queries::GradientQuestion{iterate_}};
  Outcome outcome;
  outcome.vectors["weights"] = iterate_;
  return Finished{std::move(outcome)};
}

Result<Step> ProximalSgd::advance(const folds::Gathered& gathered) {
  if (gathered.round.value != round_ || round_ == settings_.rounds || !settings_.problem.fits(gathered))
    return out_of_step("proximal SGD", round_, gathered);
  iterate_ -= settings_.step_size * gathered.mean;
  if (!settings_.problem.representable(iterate_))
    return Error{ErrorCode::Internal,
                 fmt::format("proximal SGD diverged in round {}: a smaller step is needed", round_)};
  proximal_.apply(settings_.step_size, iterate_);
  queries::round_to(settings_.problem.point_type, iterate_);
  ++round_;
  return current();
}

void ProximalSgd::save(ByteWriter& state) const {
  state.u64(round_);
  save_vector(state, iterate_);
}

Status ProximalSgd::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  return restore_vector(state, iterate_);
}

}  // namespace undertone::algorithms
