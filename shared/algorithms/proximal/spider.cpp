#include "shared/algorithms/proximal/spider.hpp"

#include <algorithm>
#include <cmath>

#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/base/random_source.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {
namespace {

/// 2L/(K sigma_1) and 4L/(K sigma_2).
Result<NoiseShifts> spider_shifts(const SpiderSettings& settings, const NoiseFacts& facts) {
  const NoiseConditions conditions("Theorem 149", facts);
  if (Status fits = conditions.some_rounds(settings.rounds); !fits) return fits.error();
  if (settings.period == 0) return conditions.refuse("an anchor every 0 rounds, expected at least 1");
  const double l1 = conditions.log_one();
  const double rounds = number(settings.rounds);
  const double anchors = std::max(rounds / number(settings.period), 1.0);
  const double share = facts.records / facts.drawn;
  return NoiseShifts{{share * facts.epsilon / (2.0 * std::sqrt(l1 * anchors))},
                     share * facts.epsilon / (2.0 * std::sqrt(l1 * rounds))};
}

}  // namespace

std::string_view SpiderSettings::name() const { return Spider::kName; }

MethodNumbers SpiderSettings::numbers() const {
  return {{"rounds", number(rounds)}, {"step_size", step_size}, {"period", number(period)}};
}

Extent SpiderSettings::extent() const {
  const std::uint64_t anchors = saturating_sum(rounds / std::max<std::uint64_t>(period, 1), 1);
  return {rounds, saturating_product(2, anchors)};
}

Result<NoiseShifts> SpiderSettings::theorem_noise(const NoiseFacts& facts) const {
  const NoiseConditions conditions("Theorem 149", facts);
  if (Status fits = conditions.epsilon_at_most("2 ln(1/delta)", 2.0 * conditions.log_one()); !fits) return fits.error();
  if (facts.drawn != facts.records)
    return conditions.refuse(fmt::format("{} records are drawn, expected all {}", facts.drawn, facts.records));
  return spider_shifts(*this, facts);
}

Result<NoiseShifts> SpiderSettings::experiment_noise(const NoiseFacts& facts) const {
  return spider_shifts(*this, facts);
}

ParsedMethod Spider::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const std::uint64_t period = keys::count(section, "period", "q of spider: an anchor every q rounds");
  const std::optional<double> smoothness = keys::smoothness(section);
  return {SpiderSettings{problem, rounds, period, step_size, smoothness, keys::seed(section)}};
}

Result<std::unique_ptr<Spider>> Spider::create(const SpiderSettings& settings) {
  if (settings.rounds == 0 || settings.rounds > releases::kRoundsMax || settings.period == 0) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("SPIDER: {} rounds with an anchor every {}: expected 1 to {} rounds and a period of at "
                             "least 1",
                             settings.rounds, settings.period, releases::kRoundsMax)};
  }
  UNDERTONE_TRY(const ProximalDescent descent, ProximalDescent::create("SPIDER", settings.problem, settings.step_size));
  return std::unique_ptr<Spider>(new Spider(settings, descent));
}

Spider::Spider(const SpiderSettings& settings, const ProximalDescent& descent)
    : settings_(settings),
      descent_(descent),
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
  if (round_ == settings_.rounds) return finished(output_);
  const bool anchors = round_ % settings_.period == 0;
  return anchors ? ask_gradient(round_, iterate_) : ask_difference(round_, iterate_, before_);
}

Result<Step> Spider::advance(const folds::Gathered& gathered) {
  if (Status told = check_told("SPIDER", round_, settings_.rounds, settings_.problem, gathered); !told)
    return told.error();
  if (round_ % settings_.period == 0) estimate_.setZero();
  estimate_ += gathered.mean();
  before_ = iterate_;
  if (Status done = descent_.step(round_, settings_.problem, estimate_, iterate_); !done) return done.error();
  ++round_;
  if (round_ == chosen_) output_ = iterate_;
  return current();
}

void Spider::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&iterate_, &before_, &estimate_, &output_});
}

Status Spider::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  return restore_vectors(state, {&iterate_, &before_, &estimate_, &output_});
}

std::string_view SpiderAlternateSettings::name() const { return SpiderAlternate::kName; }

MethodNumbers SpiderAlternateSettings::numbers() const {
  return {{"rounds", number(rounds())}, {"step_size", step_size}};
}

Extent SpiderAlternateSettings::extent() const {
  const std::uint64_t asked = saturating_sum(saturating_product(2, pairs), 1);
  return {asked, asked};
}

Result<NoiseShifts> SpiderAlternateSettings::experiment_noise(const NoiseFacts& facts) const {
  // Twice the sensitivity and twice the noise: both kinds have the same shift.
  const double asked = 2.0 * number(pairs) + 1.0;
  const double log = NoiseConditions("the experiments' noise", facts).log_two();
  const double shift = facts.records * facts.epsilon / facts.drawn / std::sqrt(2.0 * asked * log);
  return NoiseShifts{{shift}, shift};
}

ParsedMethod SpiderAlternate::parse(config::Section& section, const Problem& problem) {
  const double step_size = keys::step_size(section);
  const double draw_fraction = keys::draw_fraction(section);
  const std::uint64_t pairs = keys::count(section, "pairs", "E - 1 of spider_alternate");
  const std::optional<double> smoothness = keys::smoothness(section);
  return {SpiderAlternateSettings{problem, pairs, step_size, smoothness, keys::seed(section)}, draw_fraction};
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
  if (round_ == rounds()) return finished(output_);
  return round_ % 2 == 0 ? ask_gradient(round_, iterate_) : ask_difference(round_, iterate_, before_);
}

Result<Step> SpiderAlternate::advance(const folds::Gathered& gathered) {
  if (Status told = check_told("SPIDER's alternate form", round_, rounds(), settings_.problem, gathered); !told)
    return told.error();
  if (round_ % 2 == 0) estimate_.setZero();
  estimate_ += gathered.mean();
  ++round_;
  if (round_ < rounds()) {
    before_ = iterate_;
    iterate_ -= settings_.step_size * estimate_;
    if (Status converges = check_converges("SPIDER", round_ - 1, settings_.problem, iterate_); !converges)
      return converges.error();
    queries::round_to(settings_.problem.point_type, iterate_);
    if (round_ - 1 == chosen_) output_ = iterate_;
  }
  return current();
}

void SpiderAlternate::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&iterate_, &before_, &estimate_, &output_});
}

Status SpiderAlternate::restore(ByteReader& state) {
  if (Status read = restore_count(state, rounds(), round_); !read) return read;
  return restore_vectors(state, {&iterate_, &before_, &estimate_, &output_});
}

}  // namespace undertone::algorithms
