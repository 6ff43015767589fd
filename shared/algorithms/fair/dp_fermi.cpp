#include "shared/algorithms/fair/dp_fermi.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"

namespace undertone::algorithms {
namespace {

constexpr double kLambdaMin = 1e-6;
constexpr double kLambdaMax = 1e6;
constexpr double kShareMin = 1e-4;

fairness::Grouping parse_grouping(config::Section& section, const Problem& problem) {
  using fairness::Notion;
  fairness::Grouping grouping;
  if (section.has("notion"))
    grouping.notion = section.choice<Notion>(
        "notion",
        {{"demographic_parity", Notion::DemographicParity},
         {"equalised_odds", Notion::EqualisedOdds},
         {"equal_opportunity", Notion::EqualOpportunity}},
        "of dp_fermi: what the prediction may not depend on the group for. demographic_parity (the default): for all "
        "records; equalised_odds: for the records of each label; equal_opportunity: for those of the advantaged label");
  if (grouping.notion == Notion::EqualOpportunity || section.recording())
    if (section.has("advantaged"))
      grouping.advantaged = section.integer("advantaged", 0, std::max<std::int64_t>(problem.classes, 2) - 1,
                                            "with notion equal_opportunity: the label's number, in the schema's order "
                                            "from 0 (default 1, the positive one)");
  grouping.groups = std::max<Eigen::Index>(problem.groups, 2);
  grouping.classes = std::max<Eigen::Index>(problem.classes, 2);
  return grouping;
}

/// The groups' shares, where a job says them.
std::vector<double> parse_shares(config::Section& section, const fairness::Grouping& grouping) {
  if (!section.has("shares")) return {};
  std::vector<double> shares = section.numbers(
      "shares",
      "of dp_fermi: the groups' shares of all records, in the schema's order, where they are public, as a census has "
      "them; of equalised_odds those of label 0 first, of equal_opportunity those of the advantaged label alone, each "
      "as "
      "a share of all records. They only weigh the groups, so that they need not be exact. "
      "Without them silos are asked in a round of its own, with noise");
  if (section.recording()) return {};
  if (static_cast<Eigen::Index>(shares.size()) != grouping.cells())
    section.problem("shares", fmt::format("expected {} numbers, one for each group of each label that counts, got {}",
                                          grouping.cells(), shares.size()));
  double sum = 0.0;
  for (const double share : shares) {
    if (!(share > 0.0 && share <= 1.0))
      section.problem("shares", fmt::format("expected shares in (0, 1], got {}", share));
    sum += share;
  }
  if (!(sum <= 1.0 + 1e-6))
    section.problem("shares", fmt::format("expected shares of one whole, they add up to {}", sum));
  return shares;
}

}  // namespace

std::string_view DpFermiSettings::name() const { return DpFermi::kName; }

std::string DpFermiSettings::source() const {
  std::string out =
      fmt::format("DP-FERMI of {}, Algorithm 10, noise by the accountant", fairness::to_string(terms.grouping.notion));
  if (steps.kind != StepSchedule::Kind::Constant || server.kind != ServerOptimiser::Kind::None)
    out += fmt::format("; steps {}, server {}", to_string(steps), to_string(server));
  return out;
}

MethodNumbers DpFermiSettings::numbers() const {
  return {{"rounds", number(rounds)},
          {"step_size", step_size},
          {"weights_step_size", weights_step_size},
          {"lambda", terms.lambda},
          {"groups", static_cast<double>(terms.grouping.groups)}};
}

Extent DpFermiSettings::extent() const {
  return {saturating_sum(rounds, asks_shares() ? 1 : 0), asks_shares() ? std::uint64_t{2} : std::uint64_t{1}};
}

MethodTraits DpFermiSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.linear_models = true;
  traits.twice_differentiable = true;  // of the logistic loss alone
  traits.attribute_alone = true;
  traits.centred = true;
  return traits;
}

ParsedMethod DpFermi::parse(config::Section& section, const Problem& problem) {
  DpFermiSettings out;
  out.problem = problem;
  out.rounds = keys::rounds(section);
  out.step_size = keys::step_size(section);
  const double draw_fraction = keys::draw_fraction(section);
  out.terms.grouping = parse_grouping(section, problem);
  out.terms.lambda =
      section.number("lambda", kLambdaMin, kLambdaMax,
                     "of dp_fermi: of ERMI beside the loss; the larger, the fairer and the less accurate");
  out.terms.attribute_alone = problem.attribute_alone;
  out.terms.record_norm = problem.record_norm;
  out.terms.clip = problem.clip;
  out.weights_step_size = 0.4 / std::max(1.0, out.terms.lambda);
  if (section.has("weights_step_size"))
    out.weights_step_size =
        section.number("weights_step_size", keys::kNumberMin, keys::kNumberMax,
                       "of dp_fermi: of the adversary, at most 1 / (2 lambda) (default 0.4 / max(1, lambda))");
  const double equal = 1.0 / static_cast<double>(out.terms.grouping.groups);
  out.terms.share_floor = std::min(0.05, 0.5 * equal);
  if (section.has("share_floor"))
    out.terms.share_floor =
        section.number("share_floor", kShareMin, section.recording() ? 0.5 : equal,
                       "of dp_fermi: no group is taken for a smaller share of the records (default 0.05, or half of an "
                       "equal share where that is less); the smaller, the more noise");
  if (section.has("model_share"))
    out.terms.model_share = section.number(
        "model_share", 0.01, 0.99,
        "of dp_fermi: of an answer's privacy, the model's part; the rest is the adversary's (default 0.5)");
  out.shares = parse_shares(section, out.terms.grouping);
  if (out.shares.empty() && section.has("histogram_share"))
    out.histogram_share = section.number("histogram_share", 0.001, 0.9,
                                         "of dp_fermi: of what a silo promises, what the groups' shares cost (default "
                                         "0.1); not looked at where batches are drawn, as all rounds then cost alike");
  if (section.has("tail"))
    out.tail = section.number("tail", 0.0, 1.0,
                              "of dp_fermi: the model is the mean over this last share of the rounds (default 0: the "
                              "last iterate)");
  out.steps = keys::step_schedule(section);
  out.server = keys::server_optimiser(section);
  return {out, draw_fraction};
}

Result<std::unique_ptr<DpFermi>> DpFermi::create(const DpFermiSettings& settings) {
  const auto refuse = [](std::string what) { return Error{ErrorCode::InvalidArgument, std::move(what)}; };
  if (settings.problem.groups < 2)
    return refuse(
        "dp_fermi needs groups to be fair to: expected two or more by the columns that \"data\" names as "
        "\"sensitive\"");
  if (settings.problem.classes != 2) return refuse("dp_fermi needs a label of two values");
  if (settings.rounds == 0) return refuse("dp_fermi needs a round");
  if (!(std::isfinite(settings.step_size) && settings.step_size > 0.0))
    return refuse(fmt::format("dp_fermi needs a step_size > 0, got {}", settings.step_size));
  if (!(settings.weights_step_size > 0.0 && 2.0 * settings.terms.lambda * settings.weights_step_size <= 1.0))
    return refuse(
        fmt::format("dp_fermi needs a weights_step_size > 0 and at most 1 / (2 lambda) = {:g}, got {}: what "
                    "is larger does not settle",
                    0.5 / settings.terms.lambda, settings.weights_step_size));
  if (Status fits = settings.server.check(); !fits) return fits.error();
  if (!settings.problem.regulariser.is_smooth())
    return refuse(fmt::format("dp_fermi needs a smooth regulariser, {} is not", settings.problem.regulariser.name()));
  return std::unique_ptr<DpFermi>(new DpFermi(settings));
}

DpFermi::DpFermi(const DpFermiSettings& settings)
    : settings_(settings),
      model_(settings_.problem.start()),
      weights_(Eigen::VectorXd::Zero(settings_.terms.grouping.weights())),
      shares_(Eigen::VectorXd::Zero(settings_.terms.grouping.cells())),
      average_(Eigen::VectorXd::Zero(settings_.problem.dimension)),
      server_(settings_.server, settings_.problem.dimension) {
  for (std::size_t i = 0; i < settings_.shares.size(); ++i) shares_[static_cast<Eigen::Index>(i)] = settings_.shares[i];
}

planning::Schedule DpFermi::schedule(const DpFermiSettings& settings, const GradientShape& shape) {
  const fairness::Grouping& grouping = settings.terms.grouping;
  planning::Schedule out;
  releases::Ask gradient = shape.gradient(settings.problem.dimension + grouping.weights());
  gradient.map = releases::FairGradientMap{settings.terms};
  gradient.bound = releases::L2Bound{*releases::ClipNorm::create(1.0)};
  if (settings.asks_shares()) {
    // 1 in one of m cells, less 1 / m in each, is so long.
    const auto cells = static_cast<double>(grouping.cells());
    // Where batches are drawn, for this round too: read by all records it would cost as much as many drawn rounds.
    releases::Ask shares{releases::GroupSharesMap{grouping}, gradient.records,
                         releases::L2Bound{*releases::ClipNorm::create(std::sqrt(1.0 - 1.0 / cells))},
                         grouping.cells()};
    shares.shift = gradient.shift;
    const bool whole = gradient.records.draw_fraction >= 1.0 && !gradient.records.with_replacement;
    if (whole && !gradient.shift) {
      shares.share = settings.histogram_share;
      gradient.share = (1.0 - settings.histogram_share) / number(settings.rounds);
    }
    out.push_back({std::move(shares), 1});
  }
  out.push_back({std::move(gradient), settings.rounds});
  return out;
}

Eigen::VectorXd DpFermi::point() const {
  Eigen::VectorXd all(model_.size() + weights_.size() + shares_.size());
  all << model_, weights_, shares_;
  queries::round_to(settings_.problem.point_type, all);
  return all;
}

std::uint64_t DpFermi::steps_made() const noexcept {
  const std::uint64_t before = settings_.asks_shares() ? 1 : 0;
  return round_ < before ? 0 : round_ - before;
}

Step DpFermi::current() const {
  if (settings_.asks_shares() && round_ == 0) return queries::Query{RoundIndex{round_}, queries::GroupSharesQuestion{}};
  if (steps_made() == settings_.rounds) return finished(candidate());
  return queries::Query{RoundIndex{round_}, queries::FairGradientQuestion{point()}};
}

Status DpFermi::descend(const Eigen::VectorXd& mean) {
  const Problem& problem = settings_.problem;
  const Eigen::Index d = problem.dimension;
  // The scales of the very numbers that were asked with: silos divided by them.
  const Eigen::VectorXd asked = point();
  const fairness::FairBlocks blocks(settings_.terms, asked.tail(asked.size() - d));
  Eigen::VectorXd gradient = blocks.model_scale() * mean.head(d);
  problem.regulariser.add_smooth_gradient(model_, gradient);
  const std::uint64_t step = steps_made();
  server_.direct(step, gradient);
  const double factor = settings_.steps.factor(step, settings_.rounds);
  model_ -= settings_.step_size * factor * gradient;
  if (Status converges = check_converges("DP-FERMI", round_, problem, model_); !converges) return converges;
  problem.settle(model_);
  weights_ += settings_.terms.lambda * settings_.weights_step_size *
              (blocks.adversary_scale() * mean.tail(weights_.size()) + blocks.centre());
  fairness::project_weights(settings_.terms, weights_);
  if (number(settings_.rounds - step) <= std::ceil(settings_.tail * number(settings_.rounds))) {
    averaged_ += 1.0;
    average_ += (model_ - average_) / averaged_;
  }
  return {};
}

Result<Step> DpFermi::advance(const folds::Gathered& gathered) {
  const bool of_shares = settings_.asks_shares() && round_ == 0;
  const Eigen::Index size = of_shares ? shares_.size() : model_.size() + weights_.size();
  if (steps_made() >= settings_.rounds || gathered.round.value != round_ || gathered.size() != size)
    return Error{ErrorCode::Internal, fmt::format("DP-FERMI stands at round {}, was told {} numbers of round {}",
                                                  round_, gathered.size(), gathered.round.value)};
  if (of_shares) {
    shares_ = gathered.mean().array() + 1.0 / static_cast<double>(shares_.size());
    shares_ = shares_.cwiseMax(0.0).cwiseMin(1.0).eval();
  } else if (Status moved = descend(gathered.mean()); !moved) {
    return moved.error();
  }
  ++round_;
  return current();
}

Eigen::VectorXd DpFermi::candidate() const {
  if (averaged_ == 0.0) return model_;
  Eigen::VectorXd out = average_;
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

void DpFermi::save(ByteWriter& state) const {
  state.u64(round_);
  state.f64(averaged_);
  save_vectors(state, {&model_, &weights_, &shares_, &average_});
  server_.save(state);
}

Status DpFermi::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.extent().rounds, round_); !read) return read;
  UNDERTONE_TRY(const double averaged, state.f64());
  averaged_ = averaged;
  if (Status read = restore_vectors(state, {&model_, &weights_, &shares_, &average_}); !read) return read;
  return server_.restore(state);
}

}  // namespace undertone::algorithms
