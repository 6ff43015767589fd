#pragma once

#include <cstdint>
#include <vector>

#include "shared/crypto/noise_bits.hpp"
#include "shared/mechanisms/local_reports/public_strings.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// One bit about a level v against the public number y of its slot: 1 with chance q = 1/2 exp(|y| - |y - w|), w = e0 v
/// / levels. (2 B - 1) y has the expectation w over y's law, Laplace of scale 1. For one y the quotient of two levels'
/// chances of a 1 is at most e^e0, of a 0 at most (1 - 1/2) / (1 - e^e0 / 2) = 1 / (2 - e^e0), which is the larger,
/// since |y| - |y - w| has the range [0, e0] of a y above it and [-e0, 0] of one below 0, and less between: with e0 =
/// ln(2 - e^-epsilon) the bit is epsilon-DP whatever y is. (As printed, with e0 = epsilon, its 0 is not: the level is
/// -ln(2 - e^epsilon), and there is none from ln 2 on.) Source: Wang, Gaboardi, Smith and Xu, Algorithm 3, Theorem 23,
/// corrected: spec noninteractive-ldp 2.4 (a), F1, F2.
class StringBit {
 public:
  static constexpr double kEpsilonMax = 16.0;
  /// @param levels 1 .. 2^22 @return an error where epsilon is above kEpsilonMax or below 2^-20
  [[nodiscard]] static Result<StringBit> create(releases::Epsilon epsilon, std::int64_t levels, std::uint64_t seed);

  /// Never above the epsilon asked for.
  [[nodiscard]] releases::EpsilonAmount epsilon() const noexcept { return epsilon_; }
  [[nodiscard]] const StringChance& chance() const noexcept { return chance_; }
  [[nodiscard]] const PublicStrings& strings() const noexcept { return strings_; }
  /// What a report says of w, without bias, in units of the strings. @param report 0 or 1
  [[nodiscard]] static std::int64_t estimate(const PublicStrings& strings, std::int64_t report, std::uint64_t slot) {
    return report == 1 ? strings.at(slot) : -strings.at(slot);
  }
  /// Of an estimate, at most, in squared levels: E y^2 = 2.
  [[nodiscard]] double variance_max() const { return chance_.variance(); }

  /// @param level in 0 .. levels
  template <crypto::NoiseBits Bits>
  [[nodiscard]] std::int64_t report(std::int64_t level, std::uint64_t slot, Bits& bits) const {
    const std::uint64_t ones = chance_.ones(level, strings_.at(slot));
    return static_cast<std::int64_t>(crypto::uniform_below(bits, StringChance::kOutcomes) < ones);
  }

 private:
  StringBit(releases::EpsilonAmount epsilon, StringChance chance, PublicStrings strings) noexcept
      : epsilon_(epsilon), chance_(chance), strings_(strings) {}
  releases::EpsilonAmount epsilon_;
  StringChance chance_;
  PublicStrings strings_;
};

/// The number of one of T public numbers of a slot, nearly drawn from a Laplace law around w: each is kept with the
/// chance q of `StringChance`, and one of those that are kept is reported, or of all where none is. The one whose
/// number it is has the expectation w (1 - 2^(1 - T)).
///
/// P[g] = q_g A_g + E / T with A_g = E[1 / (1 + S)], S how many others are kept, and E the product of all 1 - q.
/// Between two levels each q moves by a factor within e^-b and e^b, so A_g = int_0^1 prod (1 - q_t u) du moves by e^b
/// at most (of q' = c q, c < 1, it is 1 / c times an integral over [0, c]), and q_g A_g by e^(2 b). With q >= e^-b / 2,
/// E <= (1 - e^-b / 2)^T, and A_g >= 1 / (1 + (T - 1) e^b / 2) by Jensen's inequality, the quotient of P is at most
///   e^(2 b) + (1 - e^-b / 2)^T (1 + (T - 1) e^b / 2) / (T e^-b / 2),
/// for which b is chosen: about half of epsilon.
/// Source: Wang, Gaboardi, Smith and Xu, Algorithm 8, Theorem 46, corrected: spec noninteractive-ldp 2.4 (c), F3.
class StringIndex {
 public:
  static constexpr std::int64_t kStrings = 32;  // T
  static constexpr double kEpsilonMax = 1.375;  // b is below ln 2, so that q is a chance
  /// @return an error where epsilon is above kEpsilonMax, or so small that no b serves
  [[nodiscard]] static Result<StringIndex> create(releases::Epsilon epsilon, std::int64_t levels, std::uint64_t seed);

  [[nodiscard]] releases::EpsilonAmount epsilon() const noexcept { return epsilon_; }
  [[nodiscard]] const StringChance& chance() const noexcept { return chance_; }
  [[nodiscard]] const PublicStrings& strings() const noexcept { return strings_; }
  [[nodiscard]] static std::int64_t estimate(const PublicStrings& strings, std::int64_t report, std::uint64_t slot) {
    return strings.at(slot * static_cast<std::uint64_t>(kStrings) + static_cast<std::uint64_t>(report));
  }
  /// Of what is reported, in squared levels.
  [[nodiscard]] double variance_max() const { return chance_.variance(); }
  /// The bound above. @param base b >= 0
  [[nodiscard]] static double epsilon_at(double base);

  template <crypto::NoiseBits Bits>
  [[nodiscard]] std::int64_t report(std::int64_t level, std::uint64_t slot, Bits& bits) const {
    std::int64_t kept[kStrings];
    std::uint64_t count = 0;
    for (std::int64_t t = 0; t < kStrings; ++t) {
      const bool keep =
          crypto::uniform_below(bits, StringChance::kOutcomes) < chance_.ones(level, estimate(strings_, t, slot));
      if (keep) kept[count++] = t;
    }
    if (count == 0) return static_cast<std::int64_t>(crypto::uniform_below(bits, static_cast<std::uint64_t>(kStrings)));
    return kept[crypto::uniform_below(bits, count)];
  }

 private:
  StringIndex(releases::EpsilonAmount epsilon, StringChance chance, PublicStrings strings) noexcept
      : epsilon_(epsilon), chance_(chance), strings_(strings) {}
  releases::EpsilonAmount epsilon_;
  StringChance chance_;
  PublicStrings strings_;
};

}  // namespace undertone::mechanisms
