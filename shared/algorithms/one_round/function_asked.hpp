#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/features/feature_map.hpp"
#include "shared/releases/ask.hpp"

namespace undertone::algorithms {

/// A column of numbers; of an indicator the bounds -1 and 1, which make its number itself.
struct NumberColumn {
  std::string name;
  std::size_t coordinate = 0;
  double low = 0.0;
  double high = 0.0;  // > low
};

/// A value of a column of listed values.
struct NamedLiteral {
  std::string column;
  std::string value;
  std::string other;  // the one other value, where every record has one of the two; else empty
  statistics::Literal literal;
};
/// The share of the records that have all or any of some values, whatever choice of up to `width` of the literals is
/// asked for later.
struct MarginalsOf {
  std::vector<NamedLiteral> literals;  // one or more
  std::size_t width = 1;               // k, at most as many as there are literals
  std::size_t degree = 0;              // t of the conjunctions that are released, 1 .. k; 0: to be chosen
};
/// The mean of any smooth function of the columns, such as a kernel around any point.
struct KernelsOf {
  std::vector<NumberColumn> columns;  // one or more
  std::size_t terms = 0;              // t of each column, 2 or more; 0: to be chosen
};
/// The empirical risk of a linear model at any parameters in a box, as a polynomial of them.
struct LossOf {
  statistics::ScalarLoss loss = statistics::ScalarLoss::Logistic;
  std::vector<NumberColumn> columns;  // features
  NumberColumn label;                 // of a binary label with the bounds -1 and 1
  bool intercept = false;
  double half_width = 1.0;          // W > 0
  std::size_t degree = 0;           // k of each parameter, 1 or more; 0: to be chosen
  std::size_t order = 0;            // h of the Bernstein operator, 1 .. 6; 0: to be chosen
  std::vector<double> centre = {};  // of the box, one number a parameter; empty: 0
  double ridge = 0.0;               // of the loss, where there is a centre
};
/// A function that is released once and asked for its values as often as anybody likes, at no further cost.
struct FunctionAsked {
  std::variant<MarginalsOf, KernelsOf, LossOf> of;
  std::optional<releases::Randomiser> reports = {};  // from a report of each record, instead of totals
  std::uint64_t seed = 0;                            // of public strings that reports are made against
};

/// "marginals", "kernels", "loss"
[[nodiscard]] std::string_view kind_of(const FunctionAsked& asked) noexcept;
/// What every record contributes. @pre nothing is left to be chosen
[[nodiscard]] statistics::FeatureMap features_of(const FunctionAsked& asked);
/// Whether nothing is left to be chosen.
[[nodiscard]] bool is_settled(const FunctionAsked& asked) noexcept;

}  // namespace undertone::algorithms
