#include "shared/preview/regression_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shared/jobs/stated_regression.hpp"

namespace undertone::preview {
namespace {

constexpr double kPositiveGuessed = 0.2;  // of the labels
constexpr double kCarriedFrom = 3.0;      // rho: @see statistics::fit_scores

/// Mean and mean square of one encoded feature at the guess, and the column that it is of.
struct GuessedFeature {
  double mean = 0.0;
  double square = 0.0;
  std::size_t column = 0;
};

/// One for each encoded feature.
std::vector<GuessedFeature> guessed_features(const data::Schema& schema) {
  std::vector<GuessedFeature> out;
  for (std::size_t column = 0; column < schema.features.size(); ++column) {
    const data::FeatureColumn& of = schema.features[column];
    if (const auto* list = std::get_if<data::CategoricalColumn>(&of)) {
      const double share = 1.0 / static_cast<double>(list->categories.size() + (list->others_allowed ? 1 : 0));
      out.insert(out.end(), list->categories.size(), {share, share, column});
      continue;
    }
    out.push_back({0.0, 1.0 / 3.0, column});
    if (data::encoded_width(of) == 2) out.push_back({0.05, 0.05, column});  // one number in twenty is missing
  }
  return out;
}

/// E[x x'] of the covariates at the guess, in which columns do not depend on each other.
Eigen::MatrixXd guessed_products(const data::Schema& schema, const statistics::ScoreTerms& terms) {
  const std::vector<GuessedFeature> features = guessed_features(schema);
  const Eigen::Index p = terms.covariates();
  Eigen::VectorXd mean = Eigen::VectorXd::Ones(p);
  Eigen::MatrixXd out(p, p);
  for (Eigen::Index i = 0; i + 1 < p; ++i) {
    const statistics::Covariate& of = terms.of[static_cast<std::size_t>(i)];
    const double own = features.at(of.coordinate).mean;
    mean[i] = of.two_valued ? 2.0 * own - 1.0 : own;
  }
  for (Eigen::Index i = 0; i < p; ++i) {
    for (Eigen::Index k = 0; k < p; ++k) out(i, k) = mean[i] * mean[k];
    if (i + 1 == p) continue;
    const statistics::Covariate& of = terms.of[static_cast<std::size_t>(i)];
    const GuessedFeature& own = features.at(of.coordinate);
    out(i, i) = of.two_valued ? 1.0 : own.square;
    // No record has two values of one list.
    for (Eigen::Index k = 0; k + 1 < p; ++k)
      if (k != i && features.at(terms.of[static_cast<std::size_t>(k)].coordinate).column == own.column) out(i, k) = 0.0;
  }
  return out / (terms.record_norm * terms.record_norm);
}

}  // namespace

std::optional<RegressionPlan> regression_plan(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans) {
  const planning::Schedule schedule = jobs::schedule_of(job);
  RoundIndex last{0};
  const statistics::ScoreTerms* terms = nullptr;
  std::uint64_t rounds = 0;
  for (const planning::ScheduledRounds& part : schedule) {
    rounds += part.rounds;
    const auto* scores = std::get_if<releases::ScoreMomentsMap>(&part.ask.map);
    if (scores == nullptr || part.rounds == 0) continue;
    terms = &scores->terms;
    last = RoundIndex{rounds - 1};
  }
  if (terms == nullptr) return std::nullopt;
  double variance = 0.0;
  double loudest = 0.0;
  std::string of_loudest;
  double records = 0.0;
  for (const auto& [silo, plan] : plans) {
    const planning::Release* release = plan.release(last);
    UNDERTONE_CHECK(release != nullptr);
    const auto own = static_cast<double>(release->records_drawn);
    records += own;
    const double noise = std::pow(release->noise_stddev_of_mean() * own, 2);
    variance += noise;
    if (noise <= loudest) continue;
    loudest = noise;
    of_loudest = silo.name();
  }
  const Eigen::Index p = terms->covariates();
  const Eigen::MatrixXd products = records * guessed_products(job.schema, *terms);
  const bool log_link = terms->link == statistics::ScoreLink::Log;
  const double own = log_link ? kPositiveGuessed : kPositiveGuessed * (1.0 - kPositiveGuessed);
  const double spread = log_link ? kPositiveGuessed * kPositiveGuessed : own;
  const statistics::ScoresAt at{Eigen::VectorXd::Zero(p),
                                {Eigen::VectorXd::Zero(p), spread * products, own * products},
                                std::sqrt(variance),
                                terms->record_norm,
                                std::numeric_limits<double>::infinity(),
                                terms->link};
  const algorithms::FoundRegression found{*terms, statistics::fit_scores(at, kPositiveGuessed), plans.size(),
                                          static_cast<std::int64_t>(records)};
  RegressionPlan out{found.fit.rho, {}, "", log_link};
  if (plans.size() > 1 && loudest > 0.5 * variance && loudest * static_cast<double>(plans.size()) > 2.0 * variance)
    out.warning = fmt::format(
        "{} alone has {:.0f} % of the noise, since sums of all silos are added up as they are: without it, or with a "
        "larger epsilon of its own, the coefficients would be known better",
        of_loudest, 100.0 * loudest / variance);
  const jobs::StatedQuestion stated = jobs::state_regression(job, found, *statistics::Confidence::create(0.95));
  for (Eigen::Index i = 0; i < p; ++i) {
    const jobs::NamedEstimate& estimate = stated.estimates.at(static_cast<std::size_t>(i));
    if (estimate.stated.population)
      out.widths.push_back(
          {estimate.name, estimate.stated.noise.half_width(), estimate.stated.population->half_width()});
  }
  return out;
}

nlohmann::ordered_json to_json(const RegressionPlan& plan) {
  nlohmann::ordered_json out = {
      {"rho", plan.rho},
      {"half_widths", nlohmann::ordered_json::array()},
      {"warning", plan.warning.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(plan.warning)}};
  for (const RegressionPlan::Width& width : plan.widths)
    out["half_widths"].push_back({{"coefficient", width.name}, {"noise", width.noise}, {"population", width.both}});
  return out;
}

std::string describe(const RegressionPlan& plan) {
  constexpr std::size_t kShown = 12;
  std::string out = fmt::format(
      "coefficients at a guess, with {}, numbers spread evenly over their bounds and values of lists "
      "equally common:\n",
      plan.log_link ? "a mean of a fifth of the label's largest value and a spread as large"
                    : "a fifth of the labels positive");
  if (!plan.warning.empty()) out = "WARNING: " + plan.warning + "\n" + out;
  if (plan.widths.empty())
    return out +
           fmt::format(
               "    all would be refused: their information is {:.2g} times its noise, and {:g} is needed. {:.2g} "
               "times as many records would do, or an epsilon about so many times as large, narrower bounds, or "
               "fewer columns\n",
               plan.rho, kCarriedFrom, kCarriedFrom / std::max(plan.rho, 1e-6));
  for (std::size_t i = 0; i < std::min(kShown, plan.widths.size()); ++i) {
    const RegressionPlan::Width& width = plan.widths[i];
    out += fmt::format("    {} within {:.3g} at 95 %, of which the noise alone is {:.3g}\n", width.name, width.both,
                       width.noise);
  }
  if (plan.widths.size() > kShown) out += fmt::format("    and {} more\n", plan.widths.size() - kShown);
  return out + fmt::format(
                   "    their information is {:.2g} times its noise: below {:g} all are refused, below {:g} they are "
                   "flagged\n",
                   plan.rho, kCarriedFrom, 2.0 * kCarriedFrom);
}

}  // namespace undertone::preview
