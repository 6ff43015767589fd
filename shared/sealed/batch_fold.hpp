#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/digest.hpp"
#include "shared/crypto/noise_kind.hpp"
#include "shared/folds/fold.hpp"
#include "shared/queries/query.hpp"
#include "shared/sealed/reply_mac_key.hpp"
#include "shared/sealed/round_layout.hpp"
#include "shared/sealed/sealing_key.hpp"

namespace undertone::sealed {

/// What the coordinator makes of what the shufflers of one round forwarded.
class BatchFold {
 public:
  BatchFold() = default;
  BatchFold(const BatchFold&) = delete;
  BatchFold& operator=(const BatchFold&) = delete;
  virtual ~BatchFold() = default;

  /// Opens and checks a whole batch: lengths, keys, codes, terms, tickets, ranges.
  /// @param shuffler its index in the job @param replies of so many silos, as the shuffler says
  /// @return an error that names what is wrong; a shuffler whose batch was wrong is not asked again
  /// @pre nothing was taken of this shuffler yet
  [[nodiscard]] virtual Status take(std::size_t shuffler, std::uint64_t replies, std::string units) = 0;
  /// @pre every shuffler's batch was taken @return an error where the batches do not belong together
  [[nodiscard]] virtual Result<folds::Gathered> gathered() const = 0;
  /// Identifies what was folded: the query, how many replied and what they add up to (reports: each), in any order.
  /// @pre gathered() is no error
  [[nodiscard]] virtual Digest digest() const = 0;
  /// Reports of the batch that were not folded, since no honest silo sends such.
  [[nodiscard]] virtual std::uint64_t refused() const { return 0; }
};

/// What is folded.
struct FoldedRound {
  RunId run;
  const queries::Query& query;                          // needed while the fold is made
  crypto::NoiseKind noise = crypto::NoiseKind::Secure;  // what reports must say that they drew
  /// Whether a report may be honest; empty: all may. @see folds::PlausibleReplies
  std::function<bool(const std::vector<std::int64_t>& values)> plausible = {};
};
/// What mixed units are opened with. Both outlive the fold.
struct OpeningKeys {
  const sealed::SealingKey& coordinator;
  const sealed::ReplyMacKey& mac_key;
};

/// Of bits and reports: every unit is opened.
[[nodiscard]] std::unique_ptr<BatchFold> make_mixed_fold(const RoundLayout& layout, const FoldedRound& round,
                                                         const OpeningKeys& keys);
/// Of counts and shares: each shuffler forwards one total.
[[nodiscard]] std::unique_ptr<BatchFold> make_added_fold(const RoundLayout& layout, const FoldedRound& round);

}  // namespace undertone::sealed
