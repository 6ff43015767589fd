#include "shared/algorithms/proximal/prox_svrg.hpp"

#include <cmath>
#include <utility>

#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/base/random_source.hpp"
#include "shared/config/section.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {

std::string_view ProxSvrgSettings::name() const { return ProxSvrg::kName; }

std::string ProxSvrgSettings::source() const {
  return restarts > 1 ? "FedProx-PL-SVRG, Algorithm 3" : "FedProx-SVRG, Algorithm 2";
}

MethodNumbers ProxSvrgSettings::numbers() const {
  return {{"rounds", number(restarts * epochs * (inner + 1))},
          {"step_size", step_size},
          {"restarts", number(restarts)},
          {"epochs", number(epochs)},
          {"inner", number(inner)}};
}

Extent ProxSvrgSettings::extent() const {
  const std::uint64_t anchors = saturating_product(restarts, epochs);
  return {saturating_product(anchors, saturating_sum(inner, 1)), saturating_product(anchors, 2)};
}

Result<NoiseShifts> ProxSvrgSettings::theorem_noise(const NoiseFacts& facts) const {
  const NoiseConditions conditions("Theorem 148", facts);
  const double steps = number(epochs) * number(inner);  // R
  if (!(restarts >= 1 && steps >= 1.0))
    return conditions.refuse(
        fmt::format("{} restarts of {} epochs of {} steps, expected at least one of each", restarts, epochs, inner));
  const double l2 = conditions.log_two();
  if (Status fits = conditions.epsilon_at_most("2 ln(2/delta)", 2.0 * l2); !fits) return fits.error();
  if (Status fits = conditions.epsilon_at_most("15", 15.0); !fits) return fits.error();
  if (Status fits = conditions.batch(number(restarts) * steps); !fits) return fits.error();
  // 2L/(n sigma_1), and 4L/(K sigma_2) with the difference clipped to 2L.
  const double anchor =
      facts.epsilon /
      (8.0 * std::sqrt(number(restarts) * number(epochs) * l2 * std::log(5.0 * number(epochs) / facts.delta)));
  const double difference =
      facts.records * facts.epsilon /
      (8.0 * facts.drawn * std::sqrt(number(restarts) * steps * l2 * std::log(2.5 * steps / facts.delta)));
  return NoiseShifts{{anchor}, difference};
}

ParsedMethod ProxSvrg::parse(config::Section& section, const Problem& problem) {
  const double step_size = keys::step_size(section);
  const double draw_fraction = keys::draw_fraction(section);
  const std::uint64_t restarts = keys::count(section, "restarts", "S of prox_svrg: 1, or more for PL-SVRG");
  const std::uint64_t epochs = keys::count(section, "epochs", "E of prox_svrg");
  const std::uint64_t inner = keys::count(section, "inner", "Q of prox_svrg: differences after each anchor");
  const std::optional<double> smoothness = keys::smoothness(section);
  return {ProxSvrgSettings{problem, restarts, epochs, inner, step_size, smoothness, keys::seed(section)},
          draw_fraction};
}

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
  UNDERTONE_TRY(const ProximalDescent descent, ProximalDescent::create("SVRG", settings.problem, settings.step_size));
  return std::unique_ptr<ProxSvrg>(new ProxSvrg(settings, descent));
}

ProxSvrg::ProxSvrg(const ProxSvrgSettings& settings, const ProximalDescent& descent)
    : settings_(settings),
      descent_(descent),
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
  if (round_ == rounds()) return finished(iterate_);
  const bool anchors = round_ % (settings_.inner + 1) == 0;
  return anchors ? ask_gradient(round_, iterate_) : ask_difference(round_, iterate_, anchor_);
}

Result<Step> ProxSvrg::advance(const folds::Gathered& gathered) {
  if (Status told = check_told("SVRG", round_, rounds(), settings_.problem, gathered); !told) return told.error();
  const std::uint64_t per_restart = settings_.epochs * (settings_.inner + 1);
  const std::uint64_t within = round_ % per_restart;
  const std::uint64_t epoch = within / (settings_.inner + 1);
  const std::uint64_t step = within % (settings_.inner + 1);
  if (step == 0) {
    anchor_ = iterate_;
    anchor_gradient_ = gathered.mean();
  } else {
    if (epoch * settings_.inner + step - 1 == chosen(round_ / per_restart)) output_ = iterate_;
    const Eigen::VectorXd estimate = anchor_gradient_ + gathered.mean();
    if (Status done = descent_.step(round_, settings_.problem, estimate, iterate_); !done) return done.error();
  }
  ++round_;
  if (round_ % per_restart == 0) iterate_ = output_;
  return current();
}

void ProxSvrg::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&iterate_, &anchor_, &anchor_gradient_, &output_});
}

Status ProxSvrg::restore(ByteReader& state) {
  if (Status read = restore_count(state, rounds(), round_); !read) return read;
  return restore_vectors(state, {&iterate_, &anchor_, &anchor_gradient_, &output_});
}

}  // namespace undertone::algorithms
