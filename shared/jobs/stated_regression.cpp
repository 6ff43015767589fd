#include "shared/jobs/stated_regression.hpp"

#include <cmath>
#include <utility>

namespace undertone::jobs {
namespace {

/// An encoded feature's name, and how many of its units are one of the column's.
struct NamedFeature {
  std::string name;
  double units = 1.0;
};

/// One for each encoded feature.
std::vector<NamedFeature> features_of(const data::Schema& schema) {
  std::vector<NamedFeature> out;
  for (const data::FeatureColumn& column : schema.features) {
    if (const auto* list = std::get_if<data::CategoricalColumn>(&column)) {
      for (const std::string& category : list->categories) out.push_back({list->name + "=" + category, 1.0});
      continue;
    }
    const auto& number = std::get<data::NumericColumn>(column);
    out.push_back({number.name, 2.0 / (number.max - number.min)});
    if (data::encoded_width(column) == 2) out.push_back({number.name + " missing", 1.0});
  }
  return out;
}

statistics::Interval exponential(const statistics::Interval& of) { return {std::exp(of.low), std::exp(of.high)}; }

/// The ratio of odds, or of means, that a coefficient stands for.
statistics::Stated ratio_of(const statistics::Stated& coefficient) {
  statistics::Stated out = coefficient;
  out.noise_stddev = 0.0;  // it is no longer a number's with noise added
  if (!coefficient.value) return out;
  out.value = std::exp(*coefficient.value);
  out.noise = exponential(coefficient.noise);
  if (coefficient.population) out.population = exponential(*coefficient.population);
  if (!std::isfinite(*out.value) || !std::isfinite(exponential(coefficient.noise).high))
    out.note = "too large to write: see the coefficient";
  return out;
}

/// The logarithm of the label's largest value, for a unit of the exposure where there is one: the model's mean is a
/// share of it.
double log_of_unit(const data::Schema& schema, const statistics::ScoreTerms& terms) {
  double out = std::log(std::get<data::NumericLabel>(schema.label).column.max);
  if (!terms.exposure) return out;
  for (const algorithms::Problem::Number& number : numbers_of(schema))
    if (number.coordinate == terms.exposure->coordinate) out -= std::log(number.max);
  return out;
}

NamedTest test_of(const std::string& name, const statistics::ScoreFit& fit, const Eigen::VectorXd& a) {
  NamedTest out;
  out.name = fmt::format("{} has no effect", name);
  if (fit.carries == statistics::Carries::Nothing) {
    out.note = "refused with the coefficient";
    return out;
  }
  if (fit.carries == statistics::Carries::Barely) {
    out.note = "refused: the coefficients are flagged for little information";
    return out;
  }
  const double variance = fit.noise_variance(a) + fit.robust_variance(a);
  const double value = a.dot(fit.coefficients);
  // No test takes for an effect what the last step leaves.
  const double least = std::max(0.0, std::abs(value) - fit.remainder(a));
  out.statistic = variance > 0.0 ? least * least / variance : 0.0;
  out.p_value = std::erfc(std::sqrt(0.5 * out.statistic));
  return out;
}

}  // namespace

StatedQuestion state_regression(const Job& job, const algorithms::FoundRegression& found,
                                statistics::Confidence confidence) {
  StatedQuestion out;
  out.rho = found.fit.rho;
  const std::vector<NamedFeature> features = features_of(job.schema);
  std::vector<NamedEstimate> ratios;
  const bool rates = found.terms.link == statistics::ScoreLink::Log;
  const double scale = 1.0 / found.terms.record_norm;
  const Eigen::Index p = found.terms.covariates();
  // Where every list has its first value and every number is in the middle.
  Eigen::VectorXd constant = scale * Eigen::VectorXd::Unit(p, p - 1);
  for (Eigen::Index i = 0; i + 1 < p; ++i) {
    const statistics::Covariate& covariate = found.terms.of[static_cast<std::size_t>(i)];
    const NamedFeature& own = features.at(covariate.coordinate);
    const Eigen::VectorXd a = scale * own.units * (covariate.two_valued ? 2.0 : 1.0) * Eigen::VectorXd::Unit(p, i);
    if (covariate.two_valued) constant[i] = -scale;
    const statistics::Stated stated = statistics::state_combination(found.fit, a, confidence);
    out.estimates.push_back({own.name, stated});
    ratios.push_back({(rates ? "rate ratio of " : "odds ratio of ") + own.name, ratio_of(stated)});
    out.tests.push_back(test_of(own.name, found.fit, a));
  }
  statistics::Stated intercept = statistics::state_combination(found.fit, constant, confidence);
  if (rates) intercept = statistics::in_units(std::move(intercept), log_of_unit(job.schema, found.terms), 1.0);
  out.estimates.push_back({"(intercept)", std::move(intercept)});
  for (NamedEstimate& ratio : ratios) out.estimates.push_back(std::move(ratio));
  return out;
}

}  // namespace undertone::jobs
