#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/algorithms/one_round/statistic_asked.hpp"
#include "shared/config/section.hpp"
#include "shared/jobs/statistic_columns.hpp"

namespace undertone::jobs {

enum class FunctionKind : std::uint8_t { Marginals, Kernels, Loss };

/// What a question for a function says beside its columns, 0 where it leaves a number to be chosen.
struct WrittenFunction {
  std::size_t width = 0;
  std::size_t degree = 0;
  std::size_t terms = 0;
  std::size_t order = 0;
  statistics::ScalarLoss loss = statistics::ScalarLoss::Logistic;
  bool intercept = false;
  double parameter_bound = 1.0;
  std::vector<double> centre = {};  // of least_loss
  double ridge = 0.0;
};
/// @param kind nothing: takes the keys of every kind, for the reference
[[nodiscard]] WrittenFunction read_function(config::Section& section, std::optional<FunctionKind> kind);

/// Reads what a least_loss has besides: the middle of its box, and an l2 penalty.
void read_least(config::Section& section, WrittenFunction& out);

/// @param columns of listed values for marginals, else of numbers @param response of a loss: a binary label, or numbers
/// @return nothing where a problem was noted
[[nodiscard]] std::optional<algorithms::StatisticAsked> parse_function(config::Section& section, FunctionKind kind,
                                                                       const WrittenFunction& written,
                                                                       const std::vector<std::string>& columns,
                                                                       const std::string& response,
                                                                       const ColumnIndex& known);

}  // namespace undertone::jobs
