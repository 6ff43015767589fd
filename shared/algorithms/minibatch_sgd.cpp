#include "shared/algorithms/minibatch_sgd.hpp"

#include <utility>

namespace undertone::algorithms {

MinibatchSgd::MinibatchSgd(const MinibatchSgdSettings& settings)
    : settings_(settings),
      iterate_(Eigen::VectorXd::Zero(settings_.dimension)),
      average_(Eigen::VectorXd::Zero(settings_.dimension)) {
  UNDERTONE_CHECK(settings_.dimension > 0 && settings_.rounds > 0);
  UNDERTONE_CHECK(settings_.regularised <= settings_.dimension);
}

privacy::Schedule MinibatchSgd::schedule(const MinibatchSgdSettings& settings, privacy::ClipNorm clip,
                                         double draw_fraction) {
  const privacy::ReleaseShape shape{privacy::QuestionKind::Gradient, privacy::Block::Training, draw_fraction,
                                    settings.dimension, clip};
  return {{shape, settings.rounds}};
}

Step MinibatchSgd::current() const {
  if (round_ == settings_.rounds) {
    Outcome outcome;
    outcome.vectors["weights"] = candidate();
    return Finished{std::move(outcome)};
  }
  return queries::Query{RoundIndex{round_}, queries::GradientQuestion{iterate_}};
}

std::optional<double> MinibatchSgd::predicted_excess_risk(const MinibatchSgdSettings& settings, privacy::ClipNorm clip,
                                                          double noise_variance) {
  if (settings.averaging.kind != Averaging::Kind::Uniform) return std::nullopt;
  const double radius = settings.domain.radius();
  const double longest = clip.value() + settings.l2 * radius;
  const double rounds = static_cast<double>(settings.rounds);
  return radius * radius / (2.0 * settings.step_size * rounds) +
         settings.step_size / 2.0 * (longest * longest + static_cast<double>(settings.dimension) * noise_variance);
}

Step MinibatchSgd::start() { return current(); }

Result<Step> MinibatchSgd::advance(const queries::Gathered& gathered) {
  if (gathered.round.value != round_ || round_ == settings_.rounds || gathered.mean.size() != settings_.dimension) {
    return Error{ErrorCode::Internal,
                 fmt::format("minibatch SGD stands at round {} in dimension {}, was told of round {} "
                             "in dimension {}",
                             round_, settings_.dimension, gathered.round.value, gathered.mean.size())};
  }
  relative_weight_ = 1.0 + settings_.averaging.ratio * relative_weight_;
  average_ += (iterate_ - average_) / relative_weight_;

  Eigen::VectorXd gradient = gathered.mean;
  gradient.head(settings_.regularised) += settings_.l2 * iterate_.head(settings_.regularised);
  iterate_ -= settings_.step_size * gradient;
  settings_.domain.project(iterate_);
  queries::round_to(settings_.point_type, iterate_);
  ++round_;
  return current();
}

Eigen::VectorXd MinibatchSgd::candidate() const {
  if (settings_.averaging.kind == Averaging::Kind::Last || round_ == 0) return iterate_;
  Eigen::VectorXd out = average_;
  queries::round_to(settings_.point_type, out);
  return out;
}

void MinibatchSgd::save(ByteWriter& state) const {
  state.u64(round_);
  state.f64(relative_weight_);
  state.doubles(iterate_.data(), static_cast<std::size_t>(iterate_.size()));
  state.doubles(average_.data(), static_cast<std::size_t>(average_.size()));
}

Status MinibatchSgd::restore(ByteReader& state) {
  const Result<std::uint64_t> round = state.u64();
  const Result<double> relative_weight = state.f64();
  const Result<std::vector<double>> iterate = state.doubles();
  const Result<std::vector<double>> average = state.doubles();
  if (!round || !relative_weight || !iterate || !average) {
    return Error{ErrorCode::Malformed, "the saved state of minibatch SGD is cut short"};
  }
  const auto dimension = static_cast<std::size_t>(settings_.dimension);
  if (*round > settings_.rounds || iterate->size() != dimension || average->size() != dimension) {
    return Error{ErrorCode::Malformed,
                 fmt::format("the saved state of minibatch SGD is for round {} in dimension {}, the "
                             "job has {} rounds in dimension {}",
                             *round, iterate->size(), settings_.rounds, dimension)};
  }
  round_ = *round;
  relative_weight_ = *relative_weight;
  iterate_ = Eigen::Map<const Eigen::VectorXd>(iterate->data(), settings_.dimension);
  average_ = Eigen::Map<const Eigen::VectorXd>(average->data(), settings_.dimension);
  return {};
}

}  // namespace undertone::algorithms
