#pragma once

#include <cstdint>
#include <vector>

#include "verifier/symmetric_profile.hpp"

namespace undertone::verifier {

/// Gaussian noise on the sum of a fresh multiset: so many draws from the population, each uniform and independent of
/// the others. A record occurs j times with p_j of Bin(drawn, 1 / population). Its profile is the water-filled one of
/// privacy-core.md, section D.2:
///   h(ratio) = sum over j >= 1 of p_j G(max(loss, j mu z - j^2 mu^2 / 2); j mu), ratio = e^loss,
/// with G the Gaussian's and z the largest number with
///   sum over j >= 1 of p_j max(0, e^(j mu z - j^2 mu^2 / 2) - ratio) <= p_0 (ratio - 1).
/// Occurrences of less probability than anybody counts are an infinite loss.
class MultisetProfile final : public SymmetricProfile {
 public:
  /// @param mu > 0, of one occurrence: sensitivity under its replacement over the standard deviation
  /// @param drawn 1 to population
  /// @param population at least 2
  MultisetProfile(long double mu, std::int64_t drawn, std::int64_t population);

  [[nodiscard]] long double height(long double loss) const override;
  [[nodiscard]] long double slope(long double loss) const override;
  [[nodiscard]] long double loss_of(long double height) const override;
  [[nodiscard]] long double rate() const override { return rate_; }
  /// That of all occurrences is at most so much lower.
  [[nodiscard]] long double excess() const override { return cut_; }

 private:
  struct Occurrences {
    long double shift;        // j mu
    long double probability;  // p_j
    long double more;         // probability of more than j, from above, with what is cut off
  };

  [[nodiscard]] long double level(long double loss) const;

  std::vector<Occurrences> occurrences_;  // j = 1, 2, ...
  long double none_;                      // p_0
  long double rate_;                      // 1 - p_0
  long double cut_ = 0;                   // at least the probability of more occurrences than are listed
};

}  // namespace undertone::verifier
