#include "shared/algorithms/proximal/spider.hpp"

#include <utility>

#include "shared/base/random_source.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {
namespace {

Error diverged(std::uint64_t round) {
  return {ErrorCode::Internal, fmt::format("SPIDER diverged in round {}: a smaller step is needed", round)};
}

queries::Question difference(const Eigen::VectorXd& at, const Eigen::VectorXd& from) {
  Eigen::VectorXd points(2 * at.size());
  points << at, from;
  return queries::GradientDifferenceQuestion{std::move(points)};
}

}  // namespace

Result<std::unique_ptr<Spider>> Spider::create(const SpiderSettings& settings) {
  if (settings.rounds == 0 || settings.rounds > releases::kRoundsMax || settings.period == 0) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("SPIDER: {} rounds with an anchor every {}: expected 1 to {} rounds and a period of at "
                             "least 1",
                             settings.rounds, settings.period, releases::kRoundsMax)};
  }
  if (Status step = geometry::check_positive("the step size of SPIDER", settings.step_size); !step) return step.error();
  const Result<geometry::ProximalStep> proximal =
      geometry::ProximalStep::create(settings.problem.domain, settings.problem.regulariser, settings.problem.dimension);
  if (!proximal) return proximal.error();
  return std::unique_ptr<Spider>(new Spider(settings, *proximal));
}

Spider::Spider(const SpiderSettings& settings, const geometry::ProximalStep& proximal)
    : settings_(settings),
      proximal_(proximal),
      chosen_(1 + RandomSource(settings_.seed).below(settings_.rounds)),
      iterate_(settings_.problem.start()),
      before_(iterate_),
      estimate_(Eigen::VectorXd::Zero(iterate_.size())),
      output_(iterate_) {}

planning::Schedule Spider::schedule(const SpiderSettings& settings, const GradientShape& shape) {
  const Eigen::Index d = settings.problem.dimension;
  planning::Schedule out;
  for (std::uint64_t r = 0; r < settings.rounds; r += settings.period) {
    out.push_back({shape.gradient(d), 1});
    const std::uint64_t differences = std::min(settings.period, settings.rounds - r) - 1;
    if (differences > 0) out.push_back({shape.difference(d, settings.smoothness), differences});
  }
  return out;
}

Step Spider::current() const {
  if (round_ == settings_.rounds) {
    Outcome outcome;
    outcome.vectors["weights"] = output_;
    return Finished{std::move(outcome)};
  }
  if (round_ % settings_.period == 0) return queries::Query{RoundIndex{round_}, queries::GradientQuestion{iterate_}};
  return queries::Query{RoundIndex{round_}, difference(iterate_, before_)};
}

Result<Step> Spider::advance(const folds::Gathered& gathered) {
  if (gathered.round.value != round_ || round_ == settings_.rounds || !settings_.problem.fits(gathered))
    return out_of_step("SPIDER", round_, gathered);
  if (round_ % settings_.period == 0) estimate_.setZero();
  estimate_ += gathered.mean;
  before_ = iterate_;
  iterate_ -= settings_.step_size * estimate_;
  if (!settings_.problem.representable(iterate_)) return diverged(round_);
  proximal_.apply(settings_.step_size, iterate_);
  queries::round_to(settings_.problem.point_type, iterate_);
  ++round_;
  if (round_ == chosen_) output_ = iterate_;
  return current();
}

void Spider::save(ByteWriter& state) const {
  state.u64(round_);
  for (const Eigen::VectorXd* vector : {&iterate_, &before_, &estimate_, &output_}) save_vector(state, *vector);
}

Status Spider::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  for (Eigen::VectorXd* vector : {&iterate_, &before_, &estimate_, &output_})
    if (Status read = restore_vector(state, *vector); !read) return read;
  return {};
}

Result<std::unique_ptr<SpiderAlternate>> SpiderAlternate::create(const SpiderAlternateSettings& settings) {
  if (settings.pairs == 0 || settings.pairs > releases::kRoundsMax / 2) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("SPIDER's alternate form: {} pairs of rounds, expected 1 to {}", settings.pairs,
                             releases::kRoundsMax / 2)};
  }
  if (Status step = geometry::check_positive("the step size of SPIDER", settings.step_size); !step) return step.error();
  const bool whole = std::holds_alternative<geometry::WholeSpace>(settings.problem.domain.set());
  if (!whole || settings.problem.regulariser.l1() != 0.0 || settings.problem.regulariser.l2() != 0.0 ||
      settings.problem.regulariser.group() != 0.0) {
    return Error{ErrorCode::InvalidArgument, "SPIDER's alternate form knows neither a domain nor a regulariser"};
  }
  return std::unique_ptr<SpiderAlternate>(new SpiderAlternate(settings));
}

SpiderAlternate::SpiderAlternate(const SpiderAlternateSettings& settings)
    : settings_(settings),
      chosen_(RandomSource(settings_.seed).below(2 * settings_.pairs)),
      iterate_(settings_.problem.start()),
      before_(iterate_),
      estimate_(Eigen::VectorXd::Zero(iterate_.size())),
      output_(iterate_) {}

planning::Schedule SpiderAlternate::schedule(const SpiderAlternateSettings& settings, const GradientShape& shape) {
  const Eigen::Index d = settings.problem.dimension;
  planning::Schedule out{{shape.gradient(d), 1}};
  for (std::uint64_t pair = 0; pair < settings.pairs; ++pair) {
    out.push_back({shape.difference(d, settings.smoothness), 1});
    out.push_back({shape.gradient(d), 1});
  }
  return out;
}

Step SpiderAlternate::current() const {
  if (round_ == rounds()) {
    Outcome outcome;
    outcome.vectors["weights"] = output_;
    return Finished{std::move(outcome)};
  }
  if (round_ % 2 == 0) return queries::Query{RoundIndex{round_}, queries::GradientQuestion{iterate_}};
  return queries::Query{RoundIndex{round_}, difference(iterate_, before_)};
}

Result<Step> SpiderAlternate::advance(const folds::Gathered& gathered) {
  if (gathered.round.value != round_ || round_ == rounds() || !settings_.problem.fits(gathered))
    return out_of_step("SPIDER's alternate form", round_, gathered);
  if (round_ % 2 == 0) estimate_.setZero();
  estimate_ += gathered.mean;
  ++round_;
  if (round_ < rounds()) {
    before_ = iterate_;
    iterate_ -= settings_.step_size * estimate_;
    if (!settings_.problem.representable(iterate_)) return diverged(round_ - 1);
    queries::round_to(settings_.problem.point_type, iterate_);
    if (round_ - 1 == chosen_) output_ = iterate_;
  }
  return current();
}

void SpiderAlternate::save(ByteWriter& state) const {
  state.u64(round_);
  for (const Eigen::VectorXd* vector : {&iterate_, &before_, &estimate_, &output_}) save_vector(state, *vector);
}

Status SpiderAlternate::restore(ByteReader& state) {
  if (Status read = restore_count(state, rounds(), round_); !read) return read;
  for (Eigen::VectorXd* vector : {&iterate_, &before_, &estimate_, &output_})
    if (Status read = restore_vector(state, *vector); !read) return read;
  return {};
}

}  // namespace undertone::algorithms
