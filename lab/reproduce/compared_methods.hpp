#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/reproduce/paired_finding.hpp"
#include "lab/reproduce/reproduce_command.hpp"

namespace undertone::lab {

/// Methods side by side at several values, such as epsilons, in several panels of one figure: each of them tries some
/// settings on every repetition, and is shown at the setting that is best for the other repetitions.
struct ComparedMethods {
  /// One cell of the figure.
  struct Cell {
    std::size_t panel = 0;
    double value = 0.0;
    std::size_t method = 0;
    std::size_t repetition = 0;  // its records and its noise follow from this
  };
  std::string name;               // "figA.6"
  nlohmann::ordered_json header;  // everything that decides the numbers
  std::string introduction;       // one paragraph or more, Markdown
  std::string title;              // of the picture
  std::string measure;            // "excess test loss": the least is the best
  std::vector<std::string> panels;
  std::string axis = "epsilon";  // of the values, which are on it from left to right
  std::vector<double> values;
  std::vector<std::string> methods;
  std::size_t repetitions = 2;                                      // >= 2
  std::function<Result<std::vector<double>>(const Cell&)> compute;  // by setting
  std::string claim;                                                // the head of the last column
  /// This holds what each method reached in each repetition of a panel at a value. Repetitions are paired: all methods
  /// have the same records in one of them.
  struct Reached {
    std::vector<std::vector<double>> values;  // [methods][repetitions]
    std::vector<MeanInterval> means;          // [methods], with intervals of 90 %
  };
  /// Returns the words for them that stand in the last column.
  std::function<Result<std::string>(std::size_t panel, double value, const Reached& reached)> verdict;
};

/// How much less a method reaches than another, pair by pair.
struct Versus {
  MeanInterval difference;                            // of the other's values less its own
  double standard_error = 0.0;                        // of the difference's mean
  FindingVerdict better = FindingVerdict::Undecided;  // whether its values are less, by a paired t test at 5 %
};
/// @param own, other [repetitions >= 2]
[[nodiscard]] Result<Versus> versus(const std::vector<double>& own, const std::vector<double>& other);

/// Runs what NAME.jsonl does not have yet and writes table, picture and verdicts. The same lines for any number of
/// threads.
[[nodiscard]] Status reproduce_compared(const ComparedMethods& figure, const ReproduceRequest& request);

}  // namespace undertone::lab
