#pragma once

#include <cstdint>
#include <vector>

#include "shared/folds/fold.hpp"
#include "shared/mechanisms/local_reports/local_reports.hpp"
#include "shared/queries/query.hpp"
#include "shared/releases/ask.hpp"

namespace undertone::folds {

/// What the reports of a round look like, and what of a silo's is kept: what its reports on each coordinate add up to,
/// or what they say against the public strings of their slots, since all that is estimated from them is a function of
/// that. @see releases::ReportsForm
class ReportShape {
 public:
  /// @param ask of form reports
  explicit ReportShape(const releases::Ask& ask);

  /// Numbers that reports are on.
  [[nodiscard]] Eigen::Index coordinates() const noexcept { return coordinates_; }
  /// Whether these may be the reports of so many records: one of each, in order of slots, and none that no record can
  /// make. @param records public, of the silo
  [[nodiscard]] bool admits(const queries::Answer& answer, std::int64_t records) const noexcept;
  /// Whether every report is kept, since what is estimated from them is no function of their sums.
  [[nodiscard]] bool keeps_all() const noexcept { return form_.randomiser == releases::Randomiser::Gaussian; }
  /// Numbers of one report.
  [[nodiscard]] Eigen::Index numbers() const noexcept { return numbers_; }
  /// What the reports on each coordinate add up to, or what they say against their strings: [coordinates]. Of copies
  /// of vectors the first ones.
  /// @param reports admitted
  [[nodiscard]] std::vector<std::int64_t> totals(const std::vector<std::int64_t>& reports) const;
  /// What of a silo's reports is kept where what each silo said is looked at.
  [[nodiscard]] std::vector<std::int64_t> kept(const std::vector<std::int64_t>& reports) const {
    return keeps_all() ? reports : totals(reports);
  }
  /// How many of so many slots report on a coordinate.
  [[nodiscard]] std::int64_t slots(std::int64_t records, Eigen::Index coordinate) const noexcept {
    return releases::of_vectors(form_.randomiser) ? records : (records + coordinates_ - 1 - coordinate) / coordinates_;
  }

 private:
  Eigen::Index coordinates_;
  Eigen::Index numbers_;
  releases::ReportsForm form_;
  mechanisms::ReportValues values_;
};

/// Reports as they arrive, added up in integers: one number a coordinate whatever their number, and the same in any
/// order of arrival.
class ReportsFold {
 public:
  explicit ReportsFold(const ReportShape& shape)
      : shape_(shape), totals_(static_cast<std::size_t>(shape.coordinates())) {}

  /// @param reports one of every record of a silo @param weight 1: a record counts for one
  void add(const std::vector<std::int64_t>& reports, std::uint64_t weight);
  [[nodiscard]] Eigen::Index replies() const noexcept { return replies_; }
  [[nodiscard]] Reports reports() const;

 private:
  ReportShape shape_;
  std::vector<releases::Int128> totals_;
  std::int64_t reports_ = 0;
  Eigen::Index replies_ = 0;
};

}  // namespace undertone::folds
