#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace undertone::operators {

/// What `undertone query` was asked of a run of statistics: of a function that it released, exactly one of the kinds;
/// of a table of exits any of its own; of any statistic its rows.
struct ResultQuery {
  std::filesystem::path result = {};  // the result.json of the run
  std::string statistic = {};         // its name, or its place from 0; empty where there is one alone that can be asked
  std::string all = {};               // "sex=female,smoker=yes": the share of the records with all of these values
  std::string any = {};               // the same, with one of them at least
  std::string kernel = {};            // "age=40,bmi=30": how many records are near
  double width = 0.5;                 // of the kernel, in columns scaled to [-1, 1]
  std::string at = {};                // "0.5,-1": the risk at parameters
  bool minimum = false;               // where the risk is least
  std::string times = {};             // "6,12": of survival, edges of its grid
  std::string quantiles = {};         // "0.25,0.5": of survival, of the time
  std::string against = {};           // "arm=new": of survival, the group that others are compared with
  std::string test = {};              // "log_rank" or "gehan": of survival
  std::optional<double> confidence = {};  // nothing: of survival the run's, of a function .95
  bool json = false;
  bool csv = false;  // a row an estimate
};

/// Answers from what the run released, with an interval; nothing is asked of any silo. @return the exit code
[[nodiscard]] int query_result(const ResultQuery& query);

}  // namespace undertone::operators
