#include "shared/mechanisms/direction_sum/direction_sum.hpp"

#include <cmath>

#include "shared/base/exact_text.hpp"

namespace undertone::mechanisms {

double DirectionSum::stddev_max(std::int64_t records) const {
  return clip * std::sqrt(static_cast<double>(records) * direction().variance_max());
}

Result<DirectionSum> direction_sum(releases::ClipNorm clip, Eigen::Index dimension, const releases::ReportsForm& form,
                                   releases::Epsilon epsilon, std::int64_t records) {
  if (records < 1 || records > kReportsMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("1 to {} records report to a question, got {}", kReportsMax, records)};
  }
  // One record's numbers are what is checked: a sum has no more of them, however many records report.
  UNDERTONE_TRY(const LocalReports reports, direction_reports(dimension, form, epsilon, 1));
  DirectionSum out{{}, reports, clip.value()};
  out.lattice.step = clip.value() / (out.direction().scale() * static_cast<double>(PrivUnit::kUnits));
  // The longest that a report can be, in units: of a direction its length, of a Gaussian vector what it is cut to.
  const double root = std::sqrt(static_cast<double>(dimension));
  const double most = static_cast<double>(report_values(form.randomiser).high);
  const bool sphere = out.direction().law() == PrivUnit::Law::Sphere;
  out.lattice.clip = static_cast<std::int64_t>(std::ceil(sphere ? most + root : most * root));
  return out;
}

std::string canonical_text(const DirectionSum& sum) {
  return fmt::format("sum_of_{}:{}:{}:{}", canonical_text(sum.reports), exact_text(sum.clip), sum.lattice.clip,
                     exact_text(sum.lattice.step));
}

}  // namespace undertone::mechanisms
