#include "shared/algorithms/sgd/minibatch_sgd.hpp"

#include <cmath>
#include <utility>

#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {

Result<std::unique_ptr<MinibatchSgd>> MinibatchSgd::create(const MinibatchSgdSettings& settings) {
  if (settings.rounds == 0) return Error{ErrorCode::InvalidArgument, "minibatch SGD: no rounds"};
  if (Status step = geometry::check_positive("the step size of minibatch SGD", settings.step_size); !step)
    return step.error();
  if (!settings.problem.regulariser.is_smooth()) {
    return Error{ErrorCode::InvalidArgument, fmt::format("minibatch SGD: {} is not smooth: use a proximal algorithm",
                                                         settings.problem.regulariser.name())};
  }
  return std::unique_ptr<MinibatchSgd>(new MinibatchSgd(settings));
}

MinibatchSgd::MinibatchSgd(const MinibatchSgdSettings& settings)
    : settings_(settings),
      iterate_(settings_.problem.start()),
      average_(Eigen::VectorXd::Zero(settings_.problem.dimension)) {}

planning::Schedule MinibatchSgd::schedule(const MinibatchSgdSettings& settings, const GradientShape& shape) {
  return {{shape.gradient(settings.problem.dimension), settings.rounds}};
}

Step MinibatchSgd::current() const {
  if (round_ == settings_.rounds) {
    Outcome outcome;
    outcome.vectors["weights"] = candidate();
    return Finished{std::move(outcome)};
  }
  return queries::Query{RoundIndex{round_}, queries::GradientQuestion{iterate_}};
}

std::optional<double> MinibatchSgd::predicted_excess_risk(const MinibatchSgdSettings& settings, releases::ClipNorm clip,
                                                          double noise_variance) {
  if (settings.averaging.kind == Averaging::Kind::Last) return std::nullopt;
  const auto* ball = std::get_if<geometry::L2Ball>(&settings.problem.domain.set());
  if (ball == nullptr) return std::nullopt;
  const double radius = ball->radius();
  const double longest = clip.value() + settings.problem.regulariser.l2() * radius;
  const double rounds = static_cast<double>(settings.rounds);
  // mu q^R / (1 - q^R), which tends to 1/(eta R) with mu.
  double start = 1.0 / (settings.step_size * rounds);
  if (settings.averaging.kind == Averaging::Kind::Geometric && settings.averaging.ratio < 1.0) {
    const double left = std::pow(settings.averaging.ratio, rounds);
    start = (1.0 - settings.averaging.ratio) / settings.step_size * left / (1.0 - left);
  }
  return start * radius * radius / 2.0 +
         settings.step_size / 2.0 *
             (longest * longest + static_cast<double>(settings.problem.dimension) * noise_variance);
}

Step MinibatchSgd::start() { return current(); }

Result<Step> MinibatchSgd::advance(const folds::Gathered& gathered) {
  if (gathered.round.value != round_ || round_ == settings_.rounds || !settings_.problem.fits(gathered))
    return out_of_step("minibatch SGD", round_, gathered);
  relative_weight_ = 1.0 + settings_.averaging.ratio * relative_weight_;
  average_ += (iterate_ - average_) / relative_weight_;

  Eigen::VectorXd gradient = gathered.mean;
  settings_.problem.regulariser.add_smooth_gradient(iterate_, gradient);
  iterate_ -= settings_.step_size * gradient;
  if (!settings_.problem.representable(iterate_))
    return Error{ErrorCode::Internal,
                 fmt::format("minibatch SGD diverged in round {}: a smaller step is needed", round_)};
  settings_.problem.settle(iterate_);
  ++round_;
  return current();
}

Eigen::VectorXd MinibatchSgd::candidate() const {
  if (settings_.averaging.kind == Averaging::Kind::Last || round_ == 0) return iterate_;
  Eigen::VectorXd out = average_;
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

void MinibatchSgd::save(ByteWriter& state) const {
  state.u64(round_);
  state.f64(relative_weight_);
  save_vector(state, iterate_);
  save_vector(state, average_);
}

Status MinibatchSgd::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  const Result<double> relative_weight = state.f64();
  if (!relative_weight) return relative_weight.error();
  relative_weight_ = *relative_weight;
  if (Status read = restore_vector(state, iterate_); !read) return read;
  return restore_vector(state, average_);
}

}  // namespace undertone::algorithms
