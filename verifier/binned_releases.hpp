#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "verifier/ledger_texts.hpp"
#include "verifier/sampled_profile.hpp"

namespace undertone::verifier {

/// What a block's list says of secret parts. Bins: in each pass every record drew one of `slots` for itself, and a
/// release reads those that drew one of its own. Besides there may be Gaussian releases of the whole block or of fresh
/// subsets of it. Or parts of one secret permutation with as many slots as records, one of which at least nobody reads;
/// then there is nothing besides.
struct BinnedBlock {
  struct Bin {
    UInt128 shift_squared = 0;  // of all releases of the bin, units of 2^-40
    UInt128 rows = 0;           // the fewest that one of them is worked on with
    friend bool operator==(const Bin&, const Bin&) = default;
  };
  using Bins = std::map<std::pair<UInt128, UInt128>, Bin>;  // by their slots, from the first to before the last
  bool permuted = false;                                    // else bins
  UInt128 slots = 0;
  std::map<UInt128, Bins> passes;
  std::vector<SampledGroup> besides;

  /// @param groups of a whole block
  /// @return nothing where bins of a pass overlap or leave the block, they disagree how many slots there are, not all
  /// records of a bin are read, a release besides reads a part of a permutation or another block, draws with
  /// replacement or is not Gaussian, or a number is out of its range; of a permutation also where all slots are read,
  /// or a part not in a row
  [[nodiscard]] static std::optional<BinnedBlock> of(const std::vector<ReleaseGroup>& groups);

  /// A bound on the probability that more records drew some bin of some pass than it has rows for: exp(-n KL(a || p))
  /// each, with p = slots of the bin / n and a = (rows + 1) / n; 0 of a permutation. Source: Chernoff, Hoeffding 1963,
  /// Theorem 1.
  [[nodiscard]] long double overflow() const;

  /// Whether the bins and what is besides keep epsilon at so much of delta: each pass as one random allocation, or by
  /// its dearest bin; passes and what is besides composed, of which random-allocation.md, theorem A, says that their
  /// pairs multiply.
  [[nodiscard]] bool is_kept(long double epsilon, long double delta) const;

 private:
  [[nodiscard]] bool is_kept_by_dearest(long double epsilon, long double delta) const;
};

}  // namespace undertone::verifier
