#include "shared/jobs/cohort_noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone::jobs {

CohortNoise::CohortNoise(const std::vector<releases::SiloFacts>& cohort)
    : cohort_(&cohort), least_epsilon_(std::numeric_limits<double>::infinity()) {
  UNDERTONE_CHECK(!cohort.empty());
  for (const releases::SiloFacts& facts : cohort) {
    const double epsilon = facts.epsilon().value();
    records_ += static_cast<double>(facts.records);
    least_epsilon_ = std::min(least_epsilon_, epsilon);
    records_by_epsilon_[epsilon] += facts.records;
    if (const auto* approximate = std::get_if<releases::ApproximateDp>(&facts.target)) {
      const auto [known, is_new] = shifts_.try_emplace({epsilon, approximate->delta.value()}, 0.0);
      // A meter that has run out makes what follows worthless: whoever set it refuses the job.
      if (is_new && !WorkMeter::stopped())
        known->second = accounting::gaussian_shift_for(approximate->epsilon, approximate->delta).value();
      gaussian_ += 1.0 / (known->second * known->second);
    } else if (const auto* concentrated = std::get_if<releases::ConcentratedDp>(&facts.target)) {
      gaussian_ += 1.0 / (2.0 * concentrated->rho.value());
    } else {
      pure_ += 1.0 / (epsilon * epsilon);
    }
  }
}

double CohortNoise::shift_of(const releases::ApproximateDp& promise) const {
  return shifts_.at({promise.epsilon.value(), promise.delta.value()});
}

FunctionNoise CohortNoise::of(const algorithms::FunctionAsked& settled, std::size_t questions) const {
  const statistics::FeatureMap map = algorithms::features_of(settled);
  const std::optional<statistics::CoordinateRange> range = statistics::reported_range(map);
  UNDERTONE_CHECK(range.has_value() && questions >= 1);
  const double width = range->high - range->low;
  const statistics::PairwiseBound bound = statistics::pairwise_bound(map);
  const auto parts = static_cast<double>(questions);
  FunctionNoise out;
  const double squares = bound.l2 * bound.l2 * parts * gaussian_ + 2.0 * bound.l1 * bound.l1 * parts * parts * pure_;
  out.totals = std::sqrt(squares) / width / records_;
  // A bit's variance is at most 1/4, and a silo's records / numbers of them are of one number. A report's bit is so
  // much likelier to be 1 at one end of the range than at the other:
  const auto contrast = [parts](double epsilon) { return std::tanh(0.5 * epsilon / parts); };
  double reports = 0.0;
  for (const auto& [epsilon, records] : records_by_epsilon_)
    reports += static_cast<double>(records) / (4.0 * std::pow(contrast(epsilon), 2));
  WorkMeter::charge(records_by_epsilon_.size());
  out.reports = std::sqrt(reports * static_cast<double>(statistics::dimension(map))) / records_;
  return out;
}

double CohortNoise::of_mean(std::size_t questions) const {
  constexpr double kApart = 2.0;  // two records' numbers
  const auto parts = static_cast<double>(questions);
  return kApart * std::sqrt(parts * gaussian_ + 2.0 * parts * parts * pure_) / records_;
}

}  // namespace undertone::jobs
