#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace undertone::operators {

/// What `undertone query` was asked: of a function that a run of statistics released, exactly one of the kinds.
struct FunctionQuery {
  std::filesystem::path result;  // the result.json of the run
  std::string statistic;         // its name, or its place from 0; empty where there is one function alone
  std::string all;               // "sex=female,smoker=yes": the share of the records with all of these values
  std::string any;               // the same, with one of them at least
  std::string kernel;            // "age=40,bmi=30": how many records are near
  double width = 0.5;            // of the kernel, in columns scaled to [-1, 1]
  std::string at;                // "0.5,-1": the risk at parameters
  bool minimum = false;          // where the risk is least
  double confidence = 0.95;
  bool json = false;
};

/// Answers from what the run released, with an interval; nothing is asked of any silo. @return the exit code
[[nodiscard]] int query_function(const FunctionQuery& query);

}  // namespace undertone::operators
