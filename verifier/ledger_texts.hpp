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

/// How a ledger, and each of its runs, says what releases cost.
enum class Format : std::uint8_t { One = 1, Two = 2 };

/// How releases' losses are bounded, and so in what their costs add up.
enum class Law : std::uint8_t { Gaussian, Pure, Ranged, Concentrated };

/// Units of 2^-40 by law: of shift squared, of epsilon, of epsilon of releases whose losses stay in a range of it, and
/// of rho of releases that are rho-zCDP.
struct Cost {
  UInt128 gaussian = 0;
  UInt128 pure = 0;
  UInt128 ranged = 0;
  UInt128 concentrated = 0;

  /// Stays at the largest amount on overflow, which it reports.
  bool add(const Cost& other);
  [[nodiscard]] bool is_zero() const { return gaussian == 0 && is_gaussian(); }
  [[nodiscard]] bool is_gaussian() const { return pure == 0 && ranged == 0 && concentrated == 0; }
  /// Whether it is at most this much of each law.
  [[nodiscard]] bool fits(const Cost& limit) const {
    return gaussian <= limit.gaussian && pure <= limit.pure && ranged <= limit.ranged &&
           concentrated <= limit.concentrated;
  }
  friend bool operator==(const Cost&, const Cost&) = default;
};
[[nodiscard]] Cost cost_of(Law law, UInt128 units);
/// "gaussian:123", "pure:5+ranged:7", "0": in this order, none twice, none of nothing. In the first format a shift
/// squared alone, "123".
[[nodiscard]] std::optional<Cost> parse_cost(std::string_view text, Format format);
[[nodiscard]] std::string to_text(const Cost& cost);

/// One group of a reservation's list of releases, "LAW:UNITS*ROUNDS@K/N" (in the first format "MU2*ROUNDS@K/N"), with
/// "r" where records are drawn with replacement or "^STEPS" where each release is made of so many draws of noise, and
/// "+FROM:TO" where it reads a part of the block, "~FROM:TO/SLOTS:ROWS" where it reads the records that drew one of
/// these slots, with "#PASS" after it where they drew anew for a later pass, "=FROM:TO/SLOTS" where it reads these
/// slots of a permutation that the noise counts on. What is missing is a group of its own kind: a subset, 1 step, all.
/// Behind "!" follows what each release adds to delta, since its epsilon holds but for that.
/// Behind "&" follow other parts that the releases of the group read, at a cost of their own, which is no larger.
/// A concentrated group has none of these marks but "+".
struct ReleaseGroup {
  Law law = Law::Gaussian;
  UInt128 units = 0;  // of one draw, of 2^-40
  UInt128 rounds = 0;
  UInt128 drawn = 0;
  UInt128 population = 0;
  bool with_replacement = false;
  UInt128 steps = 1;
  std::optional<std::pair<UInt128, UInt128>> positions;
  struct Bin {
    UInt128 slots = 0;  // of the block, of which every record draws one for itself; `positions` are slots then
    UInt128 rows = 0;   // that the work is padded to
    UInt128 pass = 0;   // whose draw it is
  };
  std::optional<Bin> bin;
  UInt128 failure = 0;  // of each release, that its epsilon does not hold: in units of 2^-80
  bool beside = false;  // the release of the group before it reads these positions, too: it is no release of its own
  std::optional<UInt128> secret_slots;  // of the block's secret permutation, `positions` of which are read
};
/// @return nothing where a group has another form or a number leaves 128 bits; ranges are not looked at
[[nodiscard]] std::optional<std::vector<ReleaseGroup>> parse_release_groups(std::string_view text, Format format);

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
