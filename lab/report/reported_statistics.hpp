#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared/config/json_section.hpp"

namespace undertone::lab {

/// Ends that a result gives as null are open.
struct ReportedInterval {
  std::optional<double> low;
  std::optional<double> high;
};
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
};

/// The rows that have estimates, checked; of older results none. @param root of a result.json
[[nodiscard]] std::vector<ReportedStatistic> statistics_of(const nlohmann::json& root, config::Problems& problems);

}  // namespace undertone::lab
