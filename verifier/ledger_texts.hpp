#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace undertone::verifier {

/// An amount in the format's units: 2^-40 for epsilon and shift squared, 2^-80 for delta.
__extension__ typedef unsigned __int128 UInt128;
using Bytes = std::string;

constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kRunBytes = 48;
constexpr std::size_t kSignatureBytes = 64;

/// Two lower-case digits a byte.
[[nodiscard]] std::string to_hex(std::string_view bytes);

/// Bytes of any length, for a message.
[[nodiscard]] std::string shown(std::string_view bytes);

/// Refuses upper case, so that bytes have one spelling.
/// @param size in bytes, 0 for any but none
[[nodiscard]] std::optional<Bytes> from_hex(std::string_view text, std::size_t size);

/// Digits only and no leading zero, so that an amount has one spelling.
/// @return below 2^128
[[nodiscard]] std::optional<UInt128> parse_amount(std::string_view text);

/// A round or a sequence, spelled as an amount.
/// @return below 2^63
[[nodiscard]] std::optional<std::int64_t> parse_index(std::string_view text);

/// One group of a reservation's list of releases, "MU2*ROUNDS@K/N", with "r" where records are drawn with replacement
/// or "^STEPS" where each release is made of so many draws of noise, and "+FROM:TO" where it reads a part of the block.
/// What is missing is a group of its own kind: a subset, 1 step, all.
struct ReleaseGroup {
  UInt128 shift_squared = 0;  // of one draw, in units of 2^-40
  UInt128 rounds = 0;
  UInt128 drawn = 0;
  UInt128 population = 0;
  bool with_replacement = false;
  UInt128 steps = 1;
  std::optional<std::pair<UInt128, UInt128>> positions;
};
/// @return nothing where a group has another form or a number leaves 128 bits; ranges are not looked at
[[nodiscard]] std::optional<std::vector<ReleaseGroup>> parse_release_groups(std::string_view text);

/// What a reservation says of a run whose replies are shuffled, "binomial:HONEST:FAILURE" or "reports:HONEST:0", or
/// "reports:HONEST:FAILURE:RECORD:SILO" where its epsilon owes something to the shuffler.
struct ShuffledRun {
  struct Mixed {
    UInt128 record_epsilon = 0;  // in units of 2^-40
    UInt128 silo_epsilon = 0;
  };
  bool binomial = true;
  UInt128 honest = 0;   // silos
  UInt128 failure = 0;  // of all its releases, in units of 2^-80
  std::optional<Mixed> mixed;
};
[[nodiscard]] std::optional<ShuffledRun> parse_shuffled(std::string_view text);

}  // namespace undertone::verifier
