#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <span>

#include "shared/base/result.hpp"
#include "shared/statistics/survival/life_table.hpp"

namespace undertone::statistics {

/// How much an interval counts in a test between groups.
enum class RankWeight : std::uint8_t {
  Equal,  // log-rank
  AtRisk  // Gehan: by the share of the records that are at risk, so that few late ones count little
};

/// What a test between groups reads.
struct RankTest {
  Times times = Times::Continuous;
  RankWeight weight = RankWeight::Equal;
  double at_risk_min = 10.0;  // of every group: with fewer the test's level was seen above what it says
};

/// A test of a hypothesis, from noised numbers alone.
struct TestOutcome {
  double statistic =
      0.0;  // chi-squared; of a rank test of two groups its root, with the sign of the first one's excess
  std::size_t degrees = 1;   // of freedom
  double p_value = 1.0;      // two-sided
  std::size_t horizon = 0;   // of a test on survival: the most intervals that a stratum reads
  Eigen::VectorXd excess;    // observed less expected, of every group but the last
  Eigen::MatrixXd sampling;  // their covariance where no group differs
  Eigen::MatrixXd noise;     // and by the noise
};

/// Whether groups have the same hazard: events less those expected of each group's share at risk, added over strata.
/// Intervals are read while every group has more at risk than 4 deviations of the noise and than the test's least. The
/// variance is the hypergeometric one and that of the noise.
/// @param strata one table each, balanced where every record is in a cell, one or more; their noises are independent
/// @return an error where no stratum has a usable interval or the covariance is singular
/// Source: spec survival 3.
[[nodiscard]] Result<TestOutcome> log_rank(std::span<const NoisedTable> strata, const ExitLayout& layout,
                                           const RankTest& test);

}  // namespace undertone::statistics
