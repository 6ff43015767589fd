#include "shared/algorithms/scoring/fisher_scoring.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/config/section.hpp"
#include "shared/statistics/score_fit.hpp"

namespace undertone::algorithms {
namespace {

constexpr double kStartShare = 0.03;
constexpr std::array<double, 3> kScoreShares = {0.12, 0.20, 0.65};
constexpr double kPositiveMin = 0.02;  // of the share that the first point is made of
constexpr double kMeanMin = 0.002;     // the same of a label's mean, as a share of its largest value

/// The exposure that a section names; nothing where it names none, or one that does not serve.
std::optional<statistics::ExposureFeature> parse_exposure(config::Section& section, const Problem& problem) {
  if (!section.has("exposure")) return std::nullopt;
  const std::string name = section.text("exposure",
                                        "of a model \"poisson\": a feature, at least 0, that a record's mean is "
                                        "proportional to, such as the time that it "
                                        "was observed; it is no covariate then (default: all records count alike)");
  if (section.recording()) return std::nullopt;
  const auto found = std::find_if(problem.numbers.begin(), problem.numbers.end(),
                                  [&](const Problem::Number& number) { return number.name == name; });
  if (problem.link != statistics::ScoreLink::Log) {
    section.problem("exposure", "expected none: it is of a model \"poisson\" alone");
  } else if (found == problem.numbers.end() || found->may_be_missing || !(found->min >= 0.0) ||
             !(found->min / found->max < 1.0)) {
    section.problem(
        "exposure",
        "expected a feature that is a number, at least 0, never missing, and with a \"min\" below its \"max\"");
  } else {
    return statistics::ExposureFeature{found->coordinate, found->min / found->max};
  }
  return std::nullopt;
}

}  // namespace

std::string_view FisherScoringSettings::name() const { return FisherScoring::kName; }

std::string FisherScoringSettings::source() const {
  return fmt::format("{} regression by Fisher scoring on noised scores, with intervals",
                     terms.link == statistics::ScoreLink::Log ? "Poisson" : "logistic");
}

MethodNumbers FisherScoringSettings::numbers() const {
  return {{"rounds", number(FisherScoring::kRounds)}, {"covariates", static_cast<double>(terms.covariates())}};
}

Extent FisherScoringSettings::extent() const { return {FisherScoring::kRounds, FisherScoring::kRounds}; }

MethodTraits FisherScoringSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.bounded_in = MethodTraits::BoundedIn::ItsMap;
  traits.linear_models = true;
  traits.twice_differentiable = true;  // of the logistic loss, and the other link's
  traits.log_link = true;
  traits.evaluated = !terms.exposure;  // an evaluation would take every record's exposure for the largest
  traits.states_intervals = true;
  return traits;
}

ParsedMethod FisherScoring::parse(config::Section& section, const Problem& problem) {
  FisherScoringSettings out;
  out.problem = problem;
  out.terms.of = problem.covariates;
  out.terms.link = problem.link.value_or(statistics::ScoreLink::Logistic);
  double squares = problem.record_norm * problem.record_norm;
  out.terms.exposure = parse_exposure(section, problem);
  if (out.terms.exposure) {
    std::erase_if(out.terms.of,
                  [&](const statistics::Covariate& one) { return one.coordinate == out.terms.exposure->coordinate; });
    squares -= 1.0;
  }
  out.terms.record_norm = out.terms.exposure ? std::sqrt(std::max(1.0, squares)) : std::max(1.0, problem.record_norm);
  return {out, 1.0};
}

Result<std::unique_ptr<FisherScoring>> FisherScoring::create(const FisherScoringSettings& settings) {
  const auto refuse = [](std::string what) { return Error{ErrorCode::InvalidArgument, std::move(what)}; };
  const Problem& problem = settings.problem;
  const std::vector<statistics::Covariate>& of = settings.terms.of;
  const bool log_link = settings.terms.link == statistics::ScoreLink::Log;
  if (!log_link && problem.classes != 2)
    return refuse("fisher_scoring needs a label of two values, or a model \"poisson\"");
  if (of.size() > statistics::kCovariatesMax)
    return refuse(
        fmt::format("fisher_scoring takes at most {} covariates, got {}", statistics::kCovariatesMax, of.size()));
  if (problem.dimension != problem.features + 1) return refuse("fisher_scoring needs a model with an intercept");
  if (!std::holds_alternative<geometry::WholeSpace>(problem.domain.set()))
    return refuse("fisher_scoring needs the domain \"whole_space\": another one would bend its intervals");
  if (!problem.regulariser.is_none())
    return refuse("fisher_scoring needs the regulariser \"none\": a penalty would bend its intervals");
  if (problem.initial.size() > 0)
    return refuse("fisher_scoring starts where its first question says: expected no other start");
  return std::unique_ptr<FisherScoring>(new FisherScoring(settings));
}

FisherScoring::FisherScoring(const FisherScoringSettings& settings)
    : settings_(settings),
      model_(Eigen::VectorXd::Zero(settings_.problem.dimension)),
      totals_(Eigen::VectorXd::Zero(statistics::score_numbers(settings_.terms.covariates()))) {}

planning::Schedule FisherScoring::schedule(const FisherScoringSettings& settings, const GradientShape& /*shape*/) {
  const releases::PairBound bound{releases::PairBound::Norm::L2};
  const auto label = static_cast<std::size_t>(std::max<Eigen::Index>(settings.problem.dimension, 1) - 1);
  planning::Schedule out;
  const releases::FeaturesMap of_label =
      settings.terms.link == statistics::ScoreLink::Log
          ? releases::FeaturesMap{statistics::SumMap{label}}
          : releases::FeaturesMap{statistics::CountMap{statistics::SignCells{label}, 1}};
  releases::Ask start{of_label, {}, bound, 1};
  start.share = kStartShare;
  out.push_back({std::move(start), 1});
  for (const double share : kScoreShares) {
    releases::Ask scores{
        releases::ScoreMomentsMap{settings.terms}, {}, bound, statistics::score_numbers(settings.terms.covariates())};
    scores.share = share;
    out.push_back({std::move(scores), 1});
  }
  return out;
}

Eigen::VectorXd FisherScoring::model_of(const Eigen::Ref<const Eigen::VectorXd>& theta) const {
  const Eigen::VectorXd coefficients = theta / settings_.terms.record_norm;
  Eigen::VectorXd out = Eigen::VectorXd::Zero(settings_.problem.dimension);
  double& constant = out[out.size() - 1];
  constant = coefficients[coefficients.size() - 1];
  for (std::size_t j = 0; j < settings_.terms.of.size(); ++j) {
    const statistics::Covariate& of = settings_.terms.of[j];
    const double own = coefficients[static_cast<Eigen::Index>(j)];
    out[static_cast<Eigen::Index>(of.coordinate)] = of.two_valued ? 2.0 * own : own;
    if (of.two_valued) constant -= own;
  }
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

Eigen::VectorXd FisherScoring::theta_of(const Eigen::VectorXd& model) const {
  Eigen::VectorXd out(settings_.terms.covariates());
  double constant = model[model.size() - 1];
  for (std::size_t j = 0; j < settings_.terms.of.size(); ++j) {
    const statistics::Covariate& of = settings_.terms.of[j];
    const double weight = model[static_cast<Eigen::Index>(of.coordinate)];
    out[static_cast<Eigen::Index>(j)] = of.two_valued ? 0.5 * weight : weight;
    if (of.two_valued) constant += 0.5 * weight;
  }
  out[out.size() - 1] = constant;
  return out * settings_.terms.record_norm;
}

FoundRegression FisherScoring::found() const {
  const statistics::ScoresAt at{
      theta_of(model_), statistics::score_sums(totals_, settings_.terms.covariates(), settings_.terms.link),
      stddev_,          settings_.terms.record_norm,
      moved_,           settings_.terms.link};
  return {settings_.terms, statistics::fit_scores(at, share_), silos_, records_};
}

Step FisherScoring::current() const {
  if (round_ == 0) return queries::Query{RoundIndex{0}, queries::StatisticQuestion{}};
  if (round_ < kRounds) return queries::Query{RoundIndex{round_}, queries::ScoreMomentsQuestion{model_}};
  Outcome outcome;
  outcome.regression = found();
  outcome.vectors["weights"] = model_of(*outcome.regression);
  return Finished{std::move(outcome)};
}

Result<Step> FisherScoring::advance(const folds::Gathered& gathered) {
  const Eigen::Index size = round_ == 0 ? 1 : totals_.size();
  if (round_ >= kRounds || gathered.round.value != round_ || gathered.size() != size || gathered.records <= 0)
    return Error{ErrorCode::Internal, fmt::format("Fisher scoring stands at round {}, was told {} numbers of round {}",
                                                  round_, gathered.size(), gathered.round.value)};
  const auto silos = static_cast<double>(gathered.replies);
  if (round_ == 0) {
    const double mean = silos * gathered.mean()[0] / static_cast<double>(gathered.records);
    double constant = 0.0;
    if (settings_.terms.link == statistics::ScoreLink::Log) {
      // The total is of labels that are scaled to [-1, 1]; exposures are guessed to be spread evenly.
      share_ = std::clamp(0.5 * (mean + 1.0), kMeanMin, 1.0 - kPositiveMin);
      const double exposure = settings_.terms.exposure ? settings_.terms.exposure->of(0.0) : 1.0;
      constant = std::log(std::min(share_ / exposure, 1.0 - kPositiveMin));
    } else {
      share_ = std::clamp(mean, kPositiveMin, 1.0 - kPositiveMin);
      constant = std::log(share_ / (1.0 - share_));
    }
    Eigen::VectorXd theta = Eigen::VectorXd::Zero(settings_.terms.covariates());
    theta[theta.size() - 1] = settings_.terms.record_norm * constant;
    model_ = model_of(theta);
    ++round_;
    return current();
  }
  totals_ = silos * gathered.mean();
  stddev_ = silos * gathered.noise_stddev;
  records_ = gathered.records;
  silos_ = static_cast<std::uint64_t>(gathered.replies);
  ++round_;
  if (round_ < kRounds) {
    const Eigen::VectorXd moved = statistics::next_score_point(
        {theta_of(model_), statistics::score_sums(totals_, settings_.terms.covariates(), settings_.terms.link), stddev_,
         settings_.terms.record_norm, std::numeric_limits<double>::infinity(), settings_.terms.link});
    if (Status converges = check_converges("Fisher scoring", round_, settings_.problem, model_of(moved)); !converges)
      return converges.error();
    moved_ = (moved - theta_of(model_)).norm();
    model_ = model_of(moved);
  }
  return current();
}

Eigen::VectorXd FisherScoring::candidate() const { return round_ < kRounds ? model_ : model_of(found()); }

Eigen::VectorXd FisherScoring::model_of(const FoundRegression& regression) const {
  return regression.fit.carries == statistics::Carries::Nothing ? model_ : model_of(regression.fit.coefficients);
}

void FisherScoring::save(ByteWriter& state) const {
  state.u64(round_);
  state.f64(stddev_);
  state.f64(moved_);
  state.f64(share_);
  state.i64(records_);
  state.u64(silos_);
  save_vectors(state, {&model_, &totals_});
}

Status FisherScoring::restore(ByteReader& state) {
  if (Status read = restore_count(state, kRounds, round_); !read) return read;
  UNDERTONE_TRY(stddev_, state.f64());
  UNDERTONE_TRY(moved_, state.f64());
  UNDERTONE_TRY(share_, state.f64());
  UNDERTONE_TRY(records_, state.i64());
  UNDERTONE_TRY(silos_, state.u64());
  return restore_vectors(state, {&model_, &totals_});
}

}  // namespace undertone::algorithms
