#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <variant>

#include "shared/base/result.hpp"
#include "shared/mechanisms/lattice.hpp"
#include "shared/mechanisms/local_reports/local_reports.hpp"
#include "shared/releases/ask.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// The sum of what records report, each a direction that its own vector alone decides the law of. Each report is
/// epsilon-DP for replacing its record, so that their sum is, too, whoever adds them up: no noise is added to the sum,
/// and none is needed. Neighbours differ in one record. Source: spec public-data 3.3, 6.1, 8 (record-local, where the
/// silo is trusted to add).
struct DirectionSum {
  Lattice lattice;  // of reports: one unit is C / (m 2^20) of the vectors' own unit, so that a sum estimates theirs
  LocalReports reports;  // of vectors that are divided by C
  double clip = 0.0;     // C > 0

  [[nodiscard]] const PrivUnit& direction() const { return std::get<PrivUnit>(reports.randomiser); }
  /// Returns a bound on the standard deviation of a coordinate's error, of a sum over so many records, in the vectors'
  /// unit.
  [[nodiscard]] double stddev_max(std::int64_t records) const;
  /// Returns how long the estimate is, in the vectors' unit, that is made of a report of such a length.
  [[nodiscard]] double longest(double report) const { return report * clip / direction().scale(); }
};

/// @param clip C: vectors are cut to it @param dimension of a vector, 2 .. PrivUnit::kDimensionMax
/// @param form of directions, one copy each @param records that report, 1 .. kReportsMax
/// @return an error where there are too many records or numbers, or no cap for the epsilon
[[nodiscard]] Result<DirectionSum> direction_sum(releases::ClipNorm clip, Eigen::Index dimension,
                                                 const releases::ReportsForm& form, releases::Epsilon epsilon,
                                                 std::int64_t records);

/// Every number of it, to the last bit. Digests are of it, so it never changes.
[[nodiscard]] std::string canonical_text(const DirectionSum& sum);

}  // namespace undertone::mechanisms
