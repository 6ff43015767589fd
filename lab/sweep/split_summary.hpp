#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/sweep/sweep_plan.hpp"

namespace undertone::lab {

/// Cross-validation: for every setting of a sweep the mean of each metric over splits of the data, and how far that
/// mean is from another choice of splits'.
///   mean = sum_s m_s / S, standard error = sqrt(sum_s (m_s - mean)^2 / (S - 1) / S),
/// m_s the mean over the seeds of split s, S the splits with a result. Splits share records, so the error is too small
/// as one of the mean over new data (Nadeau and Bengio 2003).
class SplitSummary {
 public:
  SplitSummary(const SweepPlan& plan, std::vector<std::string> metrics);

  /// @param line of sweep.jsonl, of a run of the plan, with a result or an error
  void add(const nlohmann::json& line);
  /// A row for each setting in the order in which they came: its values, splits, runs, failed runs, and of each metric
  /// the mean and the standard error, which is empty for one split.
  [[nodiscard]] std::string csv() const;

 private:
  struct Sum {
    double sum = 0.0;
    std::size_t count = 0;
  };
  struct Setting {
    std::string cells;                             // its values, as they stand in the file
    std::map<std::string, std::vector<Sum>> sums;  // by split, of each metric
    std::size_t runs = 0;
    std::size_t failed = 0;
  };
  [[nodiscard]] std::string key_of(const nlohmann::json& line, bool split) const;
  [[nodiscard]] std::string row_of(const Setting& setting) const;

  const SweepPlan& plan_;
  std::vector<std::string> metrics_;
  std::vector<Setting> settings_;
  std::map<std::string, std::size_t> known_;
};

}  // namespace undertone::lab
