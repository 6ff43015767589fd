#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/releases/fixed_amount.hpp"

namespace undertone::silo {

/// The releases of a block as a reservation lists them where sampling is what the charge rests on: "MU2*ROUNDS@K/N"
/// groups in order, "r" after one that draws with replacement or "^STEPS" after one whose releases are made of so many
/// draws of noise, "+FROM:TO" after one that reads a part. There a sum of costs says too little: one loud release leaks
/// more than many quiet ones of the same sum. So each release must be one of the list, in its order; rounds may be
/// skipped.
class SampledReleases {
 public:
  SampledReleases() = default;
  [[nodiscard]] static Result<SampledReleases> parse(std::string_view text);
  /// Whether there is a list at all.
  [[nodiscard]] bool listed() const noexcept { return !groups_.empty(); }
  /// Takes the next release of this cost off the list. @return how many draws it is made of; nothing if there was none
  [[nodiscard]] std::optional<std::uint64_t> take(releases::ShiftSquaredAmount cost);

 private:
  struct Group {
    releases::ShiftSquaredAmount each;
    std::uint64_t rounds = 0;  // left
    std::uint64_t draws = 1;   // of each
  };
  std::vector<Group> groups_;
  std::size_t next_ = 0;
};

}  // namespace undertone::silo
