#pragma once

#include <array>
#include <cstdint>

namespace undertone::releases {

/// Disjoint parts of a silo's records, fixed before a job by record position alone. A record is in one block, so what
/// different blocks release composes in parallel. Public are records that their owner declared public when the data set
/// was added, once and for good: nothing protects them, and no other record ever joins them.
enum class Block : std::uint8_t { Training = 1, Holdout = 2, Public = 3 };
/// The blocks whose records may be protected.
inline constexpr std::array<Block, 2> kProtectedBlocks{Block::Training, Block::Holdout};
/// "training", "holdout", "public"
[[nodiscard]] constexpr const char* block_name(Block block) noexcept {
  switch (block) {
    case Block::Training:
      return "training";
    case Block::Holdout:
      return "holdout";
    case Block::Public:
      return "public";
  }
  return "";
}

/// Consecutive positions of a block, at which a run puts its records once, in secret and without looking at values: a
/// record is at one position, so releases of disjoint slices compose in parallel.
struct Slice {
  /// How records come to their positions. All are secret, look at no value, and put a record at one position.
  /// Permutation: one of all records, so that a slice holds as many records as it has positions. Nothing counts on it
  /// staying secret.
  /// Bins: every record draws its position for itself, uniformly. How many records a slice then holds is as secret as
  /// which, and is as many as it has positions on average alone. Source: spec random-allocation, section 2.
  /// SecretPermutation: a permutation that the noise counts on. Slices are cut from all positions but one, so that one
  /// at least is read by nobody. Source: the same, theorem B.
  enum class Assignment : std::uint8_t { Permutation, Bins, SecretPermutation };
  /// Equal: `of` parts of floor(n / of) records. Halving: floor(n/2), floor(n/4), ... records, `of` parts at most.
  /// HalfThenEqual: floor(n/2) records, then `of` - 1 parts of floor((n - floor(n/2)) / (of - 1)).
  enum class Cut : std::uint8_t { Equal, Halving, HalfThenEqual };
  Cut cut = Cut::Equal;
  /// The part, below `of`; of bins counted through all passes: the pass times `of`, plus the part.
  std::uint64_t index = 0;
  std::uint64_t of = 1;
  Assignment assignment = Assignment::Permutation;
  std::uint64_t span = 1;  // of Equal: so many parts in a row, index + span <= of; of the other cuts 1

  /// Whether it is all of a permutation, of which something else than parts is made.
  [[nodiscard]] bool whole() const noexcept {
    return cut == Cut::Equal && of == 1 && assignment == Assignment::Permutation;
  }

  struct Positions {
    std::int64_t from = 0;
    std::int64_t to = 0;
    friend bool operator==(const Positions&, const Positions&) = default;
  };
  /// @return where the slice lies among as many positions as there are `records`; empty where there are too few
  [[nodiscard]] Positions positions(std::int64_t records) const;
  /// Which draw of bins it reads: every pass has one of its own, that knows nothing of the others. 0 of a permutation,
  /// of which a run has one.
  [[nodiscard]] std::uint64_t pass() const noexcept { return assignment == Assignment::Bins ? index / of : 0; }
};

}  // namespace undertone::releases
