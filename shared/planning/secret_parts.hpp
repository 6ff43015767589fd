#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "shared/accounting/allocation.hpp"
#include "shared/accounting/random_allocation.hpp"
#include "shared/planning/plan.hpp"

/// What a plan's secret parts take and what they are as one event. Internal.
namespace undertone::planning {

/// How bins are padded: what they may overflow is a total variation of the whole run.
struct BinPadding {
  releases::DeltaAmount overflow;  // (1 + e^epsilon) times that, of delta
  double log_share = 0.0;          // L: ln(bins / variation), rounded up

  /// A thousandth of delta, shared by so many bins. @return an error where that is less than delta can count
  [[nodiscard]] static Result<BinPadding> create(releases::DeltaAmount delta, const releases::Epsilon& epsilon,
                                                 std::uint64_t bins);

  /// Rows that a bin of so many positions of a block's is worked on with: m + sqrt(2 m L) + L, or all records. More
  /// records than that drew it with probability at most e^-L, by Bernstein's inequality.
  /// Source: spec random-allocation, section 3.
  [[nodiscard]] std::int64_t rows(std::int64_t positions, std::int64_t records) const;
};

/// What secret parts of the training block a schedule reads.
struct SecretParts {
  releases::Slice::Assignment assignment = releases::Slice::Assignment::Bins;
  std::uint64_t parts = 0;  // those of every pass for themselves
};

/// Where there are any, they are of one assignment. Beside bins, what else reads the block are Gaussian releases of all
/// records or of fresh subsets: @see accounting::Besides. Several passes have equal bins and ask each of them alike, so
/// that whichever bins a record drew, it meets the same releases: then parallel composition by position holds for them
/// too. Beside parts of a secret permutation nothing else reads the block, and each is read in consecutive rounds:
/// what theorem B asks for.
/// @return nothing without secret parts, an error where what is asked of them is nothing that is known to be hidden
[[nodiscard]] Result<std::optional<SecretParts>> secret_parts(const Schedule& schedule,
                                                              const releases::SiloFacts& facts, bool shuffled);

/// What reads the training block's secret parts, all of it together: one pass, or as many epochs as there are passes.
/// Replace-one; secret are each record's parts, and of bins how full they are. A part that is read several times is one
/// reading of the sum of the shifts' squares (theorem A, consequence ii; B), passes are epochs of their own draws
/// (consequence iii).
/// @param shifts of each of these segments, of one release
/// @pre they read secret parts of one assignment
/// @return an error where shifts are too large, differ too much, or passes differ (internal)
[[nodiscard]] Result<accounting::Allocation> allocation_of(const std::vector<Plan::Segment>& segments,
                                                           const std::vector<std::size_t>& parts,
                                                           const std::vector<double>& shifts);

/// What reads the training block beside secret parts.
struct ReadsBesides {
  double gaussian = 0.0;                                       // shift of all that read every record, together
  std::map<std::pair<double, double>, std::uint64_t> subsets;  // draws by rate and shift
  friend bool operator==(const ReadsBesides&, const ReadsBesides&) = default;

  /// @param others indices of these segments @param shifts of each, of one draw
  [[nodiscard]] static ReadsBesides of(const std::vector<Plan::Segment>& segments,
                                       const std::vector<std::size_t>& others, const std::vector<double>& shifts);
  [[nodiscard]] Result<accounting::Besides> laws() const;
};

/// The largest factor, at least 1, by which the parts' shifts may be multiplied; what is besides stays as it is. 1
/// where no account allows more than parallel composition does. The last few are remembered.
[[nodiscard]] double louder_by(const accounting::Allocation& shape, const ReadsBesides& besides,
                               const releases::Epsilon& epsilon, const releases::Delta& delta);

}  // namespace undertone::planning
