#include "shared/algorithms/sgd/minibatch_sgd.hpp"

#include <cmath>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

constexpr std::int64_t kEpochsMax = 10'000;

Averaging parse_averaging(config::Section& section, double step_size, double strong_convexity) {
  using Form = Averaging::Kind;
  const auto form = section.choice<Form>(
      "averaging",
      {{"uniform", Form::Uniform}, {"last", Form::Last}, {"geometric", Form::Geometric}, {"tail", Form::Tail}},
      "of noisy_minibatch_sgd: which average of the iterates is the model; geometric weighs w_r by (1 - strength "
      "step_size)^-(r+1), tail averages the last ones");
  if (form == Form::Tail || section.recording()) {
    const double tail =
        section.number("tail", 0.0, 1.0, "with averaging tail: the share of the rounds, from the last one back", true);
    if (form == Form::Tail) return {form, 1.0, tail};
  }
  if (form != Form::Geometric) return {form, 1.0};
  // Strongly convex: gamma_r = (1 - mu eta)^-(r+1) (Theorem 34), mu the regulariser's modulus.
  const double ratio = 1.0 - strong_convexity * step_size;
  if (ratio > 0.0 && ratio < 1.0) return {form, ratio};
  section.problem("averaging",
                  fmt::format("geometric averaging needs 0 < strength * step_size < 1, got {}", 1.0 - ratio));
  return {form, 0.5};
}

/// How a record reports its gradient.
releases::ReportsForm parse_reports(config::Section& section) {
  using releases::Randomiser;
  using releases::UnitAdapter;
  releases::ReportsForm out{Randomiser::Direction};
  if (!section.has("reports")) return out;
  config::Section reports = section.object(
      "reports", "of ldp_sgd and semi_ldp_sgd: how each record's clipped gradient is randomised by itself");
  if (reports.has("randomiser"))
    out.randomiser = reports.choice<Randomiser>(
        "randomiser", {{"direction", Randomiser::Direction}, {"gaussian_direction", Randomiser::GaussianDirection}},
        "direction (the default): a direction from a cap around the record's own or from outside it, PrivUnit. "
        "gaussian_direction: a Gaussian vector from a half space, PrivUnitG");
  if (reports.has("adapter"))
    out.adapter = reports.choice<UnitAdapter>(
        "adapter", {{"round", UnitAdapter::Round}, {"lift", UnitAdapter::Lift}, {"normalise", UnitAdapter::Normalise}},
        "how a gradient of length at most privacy.clip_norm becomes a direction. round (the default): its own or the "
        "opposite one, unbiased; lift: one in a dimension more, unbiased; normalise: its own, whatever its length, so "
        "that short gradients count like long ones");
  reports.finish();
  return out;
}

ParsedMethod parse_reported(config::Section& section, const Problem& problem, bool beside_public) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const Averaging averaging = parse_averaging(section, step_size, problem.regulariser.l2());
  const StepSchedule steps = keys::step_schedule(section);
  const ServerOptimiser server = keys::server_optimiser(section);
  return {MinibatchSgdSettings{problem, rounds, step_size, averaging, steps, server, 1,
                               RecordReports{parse_reports(section), beside_public}}};
}

}  // namespace

bool MinibatchSgdSettings::as_published() const {
  return steps.kind == StepSchedule::Kind::Constant && server.kind == ServerOptimiser::Kind::None && epochs == 0;
}

std::string MinibatchSgdSettings::source() const {
  std::string out = !reports                 ? "noisy minibatch SGD, Algorithms 14 and 19"
                    : reports->beside_public ? "semi-LDP SGD, Algorithm 13 by batches"
                                             : "LDP-SGD, by batches";
  if (!as_published()) out += fmt::format("; steps {}, server {}", to_string(steps), to_string(server));
  if (epochs > 0 && !reports) out += fmt::format("; {} passes over parts of the records", epochs);
  return out;
}

std::string_view MinibatchSgdSettings::name() const {
  if (!reports) return MinibatchSgd::kName;
  return reports->beside_public ? MinibatchSgd::kSemiLdpName : MinibatchSgd::kLdpName;
}

MethodNumbers MinibatchSgdSettings::numbers() const {
  MethodNumbers out = {{"rounds", number(rounds)}, {"step_size", step_size}};
  if (epochs > 0 && !reports) out.emplace_back("passes", number(epochs));
  return out;
}

MethodTraits MinibatchSgdSettings::traits() const {
  MethodTraits traits;
  traits.shuffled_reports = true;
  traits.takes_subgradients = true;
  if (reports) {
    traits.shuffled = false;
    traits.shuffled_reports = false;
    traits.linear_models = true;
    traits.records_report = true;
    traits.needs_public_records = reports->beside_public;
    return traits;
  }
  traits.one_whole_step = rounds == 1 && step_size == 1.0 && averaging.kind == Averaging::Kind::Last && as_published();
  return traits;
}

Result<NoiseShifts> MinibatchSgdSettings::theorem_noise(const NoiseFacts& facts) const {
  if (reports) return no_theorem_noise(source());
  return NoiseConditions("Theorem 34", facts).composed({number(rounds)});
}

Result<NoiseShifts> MinibatchSgdSettings::experiment_noise(const NoiseFacts& facts) const {
  if (reports) return no_experiment_noise(source());
  const NoiseConditions conditions("the experiments' noise", facts);
  if (Status fits = conditions.some_rounds(rounds); !fits) return fits.error();
  const double share = facts.records * facts.epsilon / facts.drawn;
  return NoiseShifts{{share / std::sqrt(2.0 * number(rounds) * conditions.log_one())}, {}};
}

std::optional<RiskBound> MinibatchSgdSettings::predicted_risk(releases::ClipNorm clip, double noise_variance,
                                                              bool modulus_known) const {
  if (!modulus_known && averaging.kind != Averaging::Kind::Uniform) return std::nullopt;
  const std::optional<double> bound = MinibatchSgd::predicted_excess_risk(*this, clip, noise_variance);
  if (!bound) return std::nullopt;
  return RiskBound{*bound, "excess risk", "projected SGD, as in the proof of Theorem 34"};
}

ParsedMethod MinibatchSgd::parse_ldp(config::Section& section, const Problem& problem) {
  return parse_reported(section, problem, false);
}

ParsedMethod MinibatchSgd::parse_semi_ldp(config::Section& section, const Problem& problem) {
  return parse_reported(section, problem, true);
}

ParsedMethod MinibatchSgd::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const double draw_fraction = keys::draw_fraction(section);
  const Averaging averaging = parse_averaging(section, step_size, problem.regulariser.l2());
  const StepSchedule steps = keys::step_schedule(section);
  const ServerOptimiser server = keys::server_optimiser(section);
  std::uint64_t epochs = 0;
  if (section.has("passes")) {
    epochs = static_cast<std::uint64_t>(
        section.integer("passes", 1, kEpochsMax,
                        "of noisy_minibatch_sgd: passes over the records, each in rounds / passes parts of its own "
                        "(default: every round reads all records, or draws some afresh). With \"parts\": \"bins\" "
                        "every pass draws them anew"));
    if (!section.recording() && rounds % std::max<std::uint64_t>(epochs, 1) != 0)
      section.problem("passes", fmt::format("expected a divisor of the {} rounds, got {}", rounds, epochs));
    if (!section.recording() && draw_fraction < 1.0)
      section.problem("draw_fraction", "expected 1 with passes: a round's part is read whole");
  }
  return {MinibatchSgdSettings{problem, rounds, step_size, averaging, steps, server, epochs}, draw_fraction};
}

Result<std::unique_ptr<MinibatchSgd>> MinibatchSgd::create(const MinibatchSgdSettings& settings) {
  if (settings.rounds == 0) return Error{ErrorCode::InvalidArgument, "minibatch SGD: no rounds"};
  if (Status step = geometry::check_positive("the step size of minibatch SGD", settings.step_size); !step)
    return step.error();
  if (settings.epochs > 0 && settings.rounds % settings.epochs != 0)
    return Error{ErrorCode::InvalidArgument, fmt::format("minibatch SGD: {} rounds are no {} passes of equal parts",
                                                         settings.rounds, settings.epochs)};
  if (Status server = settings.server.check(); !server) return server.error();
  if (!(settings.averaging.tail > 0.0 && settings.averaging.tail <= 1.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("minibatch SGD: a tail must be in (0, 1], got {}", settings.averaging.tail)};
  }
  if (settings.averaging.kind == Averaging::Kind::Geometric &&
      (settings.steps.kind != StepSchedule::Kind::Constant || settings.server.kind != ServerOptimiser::Kind::None)) {
    return Error{ErrorCode::InvalidArgument,
                 "minibatch SGD: geometric averaging is for constant steps along the gradient itself"};
  }
  if (!settings.problem.regulariser.is_smooth()) {
    return Error{ErrorCode::InvalidArgument, fmt::format("minibatch SGD: {} is not smooth: use a proximal algorithm",
                                                         settings.problem.regulariser.name())};
  }
  return std::unique_ptr<MinibatchSgd>(new MinibatchSgd(settings));
}

MinibatchSgd::MinibatchSgd(const MinibatchSgdSettings& settings)
    : settings_(settings),
      iterate_(settings_.problem.start()),
      average_(Eigen::VectorXd::Zero(settings_.problem.dimension)),
      server_(settings_.server, settings_.problem.dimension) {}

planning::Schedule MinibatchSgd::schedule(const MinibatchSgdSettings& settings, const GradientShape& shape) {
  const Eigen::Index d = settings.problem.dimension;
  if (settings.epochs == 0) return {{shape.gradient(d), settings.rounds}};
  using Slice = releases::Slice;
  const std::uint64_t parts = std::max<std::uint64_t>(settings.rounds / settings.epochs, 1);
  planning::Schedule out;
  for (std::uint64_t r = 0; r < settings.rounds; ++r) {
    const std::uint64_t index = shape.parts == Slice::Assignment::Bins ? r : r % parts;
    releases::Ask ask = shape.gradient(d, Slice{Slice::Cut::Equal, index, parts});
    if (settings.reports) std::get<releases::SumForm>(ask.form).of_reports = settings.reports->form;
    out.push_back({std::move(ask), 1});
  }
  return out;
}

Step MinibatchSgd::current() const {
  return round_ < settings_.rounds ? ask_gradient(round_, iterate_) : finished(candidate());
}

std::optional<double> MinibatchSgd::predicted_excess_risk(const MinibatchSgdSettings& settings, releases::ClipNorm clip,
                                                          double noise_variance) {
  using Kind = Averaging::Kind;
  const Kind averaging = settings.averaging.kind;
  if (averaging == Kind::Last || averaging == Kind::Tail || !settings.as_published()) return std::nullopt;
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
  // ||w_0 - w*||: the start lies anywhere in the ball.
  const double distance = radius + settings.problem.start().norm();
  return start * distance * distance / 2.0 +
         settings.step_size / 2.0 *
             (longest * longest + static_cast<double>(settings.problem.dimension) * noise_variance);
}

bool MinibatchSgd::counts(std::uint64_t round) const {
  if (settings_.averaging.kind != Averaging::Kind::Tail) return true;
  return number(settings_.rounds - round) <= std::ceil(settings_.averaging.tail * number(settings_.rounds));
}

Result<Step> MinibatchSgd::advance(const folds::Gathered& gathered) {
  if (Status told = check_told("minibatch SGD", round_, settings_.rounds, settings_.problem, gathered); !told)
    return told.error();
  if (counts(round_)) {
    relative_weight_ = 1.0 + settings_.averaging.ratio * relative_weight_;
    average_ += (iterate_ - average_) / relative_weight_;
  }

  Eigen::VectorXd gradient = gathered.mean();
  settings_.problem.regulariser.add_smooth_gradient(iterate_, gradient);
  server_.direct(round_, gradient);
  iterate_ -= settings_.step_size * settings_.steps.factor(round_, settings_.rounds) * gradient;
  if (Status converges = check_converges("minibatch SGD", round_, settings_.problem, iterate_); !converges)
    return converges.error();
  settings_.problem.settle(iterate_);
  ++round_;
  return current();
}

Eigen::VectorXd MinibatchSgd::candidate() const {
  if (settings_.averaging.kind == Averaging::Kind::Last || relative_weight_ == 0.0) return iterate_;
  Eigen::VectorXd out = average_;
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

void MinibatchSgd::save(ByteWriter& state) const {
  state.u64(round_);
  state.f64(relative_weight_);
  save_vectors(state, {&iterate_, &average_});
  server_.save(state);
}

Status MinibatchSgd::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  UNDERTONE_TRY(const double relative_weight, state.f64());
  relative_weight_ = relative_weight;
  if (Status read = restore_vectors(state, {&iterate_, &average_}); !read) return read;
  return server_.restore(state);
}

}  // namespace undertone::algorithms
