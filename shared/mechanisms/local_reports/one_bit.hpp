#pragma once

#include <bit>
#include <cstdint>

#include "shared/base/result.hpp"
#include "shared/crypto/noise_bits.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// One randomised bit about a level v in 0 .. levels, such as a number that is rounded to a lattice:
///   P[1] = (1 - c) / 2 + c v / levels,  c = H / 2^39, H the largest integer with (2^39 + H) / (2^39 - H) <= e^epsilon
/// up to a few units that rounding costs. Of any two levels the ratio of P[1], and that of P[0], is at most that of the
/// ends, (1 + c) / (1 - c): the bit is epsilon-DP, whatever the level was. Both probabilities are quotients of
/// integers, which one uniform integer decides: no floating-point number is drawn from. Of two levels it is Warner's
/// randomised response. Source: Warner 1965; Duchi, Jordan and Wainwright 2018, 4.2.1; spec noninteractive-ldp 2.4 (b).
class OneBit {
 public:
  static constexpr std::int64_t kLevelsMax = std::int64_t{1} << 22U;
  static constexpr double kEpsilonMax = 16.0;

  /// @param epsilon rounded down to a multiple of 2^-40 @param levels in 1 .. kLevelsMax
  /// @return an error where epsilon is above kEpsilonMax, or so small that both bits are as likely at every level
  [[nodiscard]] static Result<OneBit> create(releases::Epsilon epsilon, std::int64_t levels);

  [[nodiscard]] std::int64_t levels() const noexcept { return levels_; }
  /// H.
  [[nodiscard]] std::int64_t contrast_units() const noexcept { return contrast_units_; }
  /// c, exactly: how much likelier a 1 is at the top level than at the bottom one.
  [[nodiscard]] double contrast() const noexcept;
  /// What a bit costs the record that it is about: never above the epsilon asked for, never below ln((1 + c) / (1 -
  /// c)).
  [[nodiscard]] releases::EpsilonAmount epsilon() const noexcept { return epsilon_; }

  /// P[1] at a level is ones(level) / outcomes(), exactly. @param level in 0 .. levels
  [[nodiscard]] std::uint64_t ones(std::int64_t level) const noexcept {
    // At most (2^39 + H) levels < 2^62.
    const auto contrast = static_cast<std::uint64_t>(contrast_units_);
    return (kScale / 2 - contrast) * static_cast<std::uint64_t>(levels_) +
           2 * contrast * static_cast<std::uint64_t>(level);
  }
  [[nodiscard]] std::uint64_t outcomes() const noexcept { return kScale * static_cast<std::uint64_t>(levels_); }

  /// Takes as long for every level. @param level in 0 .. levels @return 0 or 1
  template <crypto::NoiseBits Bits>
  [[nodiscard]] std::int64_t report(std::int64_t level, Bits& bits) const {
    UNDERTONE_CHECK(level >= 0 && level <= levels_);
    const std::uint64_t all = outcomes();
    // Of a power of two nothing is drawn twice and the quotient is a shift: the same draw, without a branch.
    const std::uint64_t drawn = std::has_single_bit(all)
                                    ? bits.word() >> static_cast<unsigned>(64 - std::countr_zero(all))
                                    : crypto::uniform_below(bits, all);
    return static_cast<std::int64_t>(drawn < ones(level));
  }

 private:
  static constexpr std::uint64_t kScale = std::uint64_t{1} << 40U;
  OneBit(std::int64_t levels, std::int64_t contrast_units, releases::EpsilonAmount epsilon) noexcept
      : levels_(levels), contrast_units_(contrast_units), epsilon_(epsilon) {}
  std::int64_t levels_;
  std::int64_t contrast_units_;  // 1 .. 2^39 - 1
  releases::EpsilonAmount epsilon_;
};

}  // namespace undertone::mechanisms
