#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"
#include "shared/releases/fixed_amount.hpp"

namespace undertone::releases {

/// What releases cost by their own noise a record that is in all of them, each in the currency in which releases of its
/// law add up. Zero is the cost of public records and of nothing else.
struct Cost {
  ShiftSquaredAmount gaussian;  // mu^2 of Gaussian releases
  EpsilonAmount pure;           // epsilon of (epsilon, 0)-DP releases
  /// epsilon of releases whose losses stay in a range of epsilon, such as selections: epsilon-DP and epsilon^2/8-zCDP
  /// each. Of several only the sum of the epsilons is kept here: a ledger lists them one by one.
  EpsilonAmount ranged;
  RhoAmount concentrated = {};  // rho of releases that are known by their rho alone, such as generalised Gaussian noise

  [[nodiscard]] bool is_zero() const noexcept { return gaussian.units() == 0 && is_gaussian(); }
  /// Whether it is a Gaussian release's, or nothing.
  [[nodiscard]] bool is_gaussian() const noexcept {
    return pure.units() == 0 && ranged.units() == 0 && concentrated.units() == 0;
  }
  [[nodiscard]] Result<Cost> plus(const Cost& other) const;
  [[nodiscard]] Result<Cost> times(std::uint64_t count) const;
  /// Whether it is at most this much in every currency.
  [[nodiscard]] bool fits(const Cost& limit) const noexcept {
    return gaussian <= limit.gaussian && pure <= limit.pure && ranged <= limit.ranged &&
           concentrated <= limit.concentrated;
  }
  /// As ledgers write it, in units of 2^-40: "gaussian:123", "pure:5+ranged:7"; "0" where nothing is spent.
  [[nodiscard]] std::string to_string() const;
  /// Its inverse; of ledgers before format 2, which know Gaussian releases alone, a number without a law is one.
  [[nodiscard]] static Result<Cost> parse(std::string_view text);

  friend bool operator==(const Cost&, const Cost&) = default;
};

}  // namespace undertone::releases
