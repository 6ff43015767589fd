#pragma once

#include <cstdint>

#include "shared/base/result.hpp"

namespace undertone::mechanisms {

/// Public numbers, one for every place: of the Laplace law of scale 1, in units of 2^-20, up to what floating-point
/// logarithms may be off. Everybody knows them: privacy holds whatever they are, and what is estimated from reports
/// against them is unbiased because of their law.
class PublicStrings {
 public:
  static constexpr double kUnit = 0x1p-20;
  explicit PublicStrings(std::uint64_t seed) noexcept : seed_(seed) {}
  /// The same for a place whenever it is asked. Of magnitude below 2^26.
  [[nodiscard]] std::int64_t at(std::uint64_t place) const;
  friend bool operator==(const PublicStrings&, const PublicStrings&) = default;

 private:
  std::uint64_t seed_;
};

/// For a level v in 0 .. levels and a public number y, q = 1/2 exp(|y| - |y - w|), w = rate v / levels, in units of
/// 2^-40: half the quotient of the chances of y under a Laplace law around w and around 0. For one y and any two levels
/// the quotient of two such chances is at most e^rate; that of the units is checked for the levels at which they are
/// least and largest, whenever one is made.
class StringChance {
 public:
  static constexpr std::uint64_t kOutcomes = std::uint64_t{1} << 40U;
  /// @param levels >= 1 @param rate in (0, ln 2)
  StringChance(std::int64_t levels, double rate) noexcept : levels_(levels), rate_(rate) {}
  [[nodiscard]] std::int64_t levels() const noexcept { return levels_; }
  [[nodiscard]] double rate() const noexcept { return rate_; }
  /// How many levels a unit of a string is worth.
  [[nodiscard]] double levels_per_unit() const noexcept {
    return PublicStrings::kUnit * static_cast<double>(levels_) / rate_;
  }
  /// Of a number that has the law of the strings around the level, in squared levels: 2 (levels / rate)^2.
  [[nodiscard]] double variance() const noexcept;
  /// @param level in 0 .. levels @return 1 .. kOutcomes - 1
  [[nodiscard]] std::uint64_t ones(std::int64_t level, std::int64_t string) const;
  friend bool operator==(const StringChance&, const StringChance&) = default;

 private:
  /// @param at w
  [[nodiscard]] static std::uint64_t units(double at, double string);
  std::int64_t levels_;
  double rate_;
};

}  // namespace undertone::mechanisms
