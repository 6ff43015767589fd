#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared/config/json_section.hpp"

namespace undertone::report {

/// Ends that a result gives as null are open.
struct ReportedInterval {
  std::optional<double> low;
  std::optional<double> high;
};
/// A p-value as papers print it: three digits, and one below 1/10,000 as "< 0.0001", since no approximation is exact
/// there.
[[nodiscard]] std::string shown_p(double p_value);

/// Whether an estimate over all silos is that which a silo states under a name of its own: all say how they were made.
[[nodiscard]] bool is_of_silos(const std::string& over_all, const std::string& own);

/// One number of a statistic.
struct ReportedEstimate {
  std::string name;
  std::optional<double> value;  // nothing where it was refused
  ReportedInterval noise;
  std::optional<ReportedInterval> population;
  std::string method;
  std::string note;
};
/// What one silo's own totals say.
struct ReportedSilo {
  std::string silo;
  std::uint64_t records = 0;
  std::vector<ReportedEstimate> estimates;
};
/// What was released to be asked later.
struct ReportedFunction {
  std::size_t numbers = 0;
  std::vector<double> parameters;  // where a loss is least; empty of others
  double risk = 0.0;
};
/// Survival curves of groups, as `survival_figure` draws them.
struct ReportedSurvival {
  double from = 0.0;                // where times begin
  std::vector<double> at;           // edges at which curves are stated
  std::vector<std::string> groups;  // one empty name where there is one group
  std::uint64_t estimates_of_group = 0;
};
struct ReportedTest {
  std::string name;
  double statistic = 0.0;  // chi-squared
  std::uint64_t degrees = 0;
  std::optional<double> p_value;  // nothing where it was refused
  std::optional<double> p_value_holm;
  std::string note;
};
/// One row of `statistics` of a result whose answers were kept.
struct ReportedStatistic {
  std::string name;
  std::string kind;
  std::string column;
  double confidence = 0.0;
  std::uint64_t silos = 0;
  std::uint64_t records = 0;  // or persons: as many units
  std::string unit = "record";
  std::vector<ReportedEstimate> estimates;
  std::vector<ReportedSilo> by_silo;
  std::optional<ReportedFunction> function;  // then there are no estimates
  std::optional<ReportedSurvival> survival = {};
  std::vector<ReportedTest> tests = {};
};

/// The rows that have estimates, checked; of older results none. @param root of a result.json
[[nodiscard]] std::vector<ReportedStatistic> statistics_of(const nlohmann::json& root, config::Problems& problems);

}  // namespace undertone::report
