#pragma once

#include <cstdint>

#include "shared/base/result.hpp"
#include "shared/planning/plan.hpp"
#include "shared/releases/cost.hpp"
#include "shared/releases/fixed_amount.hpp"

namespace undertone::silo {

/// What a filter grants: Gaussian releases whose shifts squared add up to no more than this, of at most
/// kDrawsMax draws of noise, chosen one by one in the light of all before them, are together (epsilon, delta)-DP for
/// replacement of a record. rho = shift_squared / 2.
struct FilterTerms {
  releases::EpsilonAmount epsilon;
  releases::DeltaAmount delta;
  releases::DeltaAmount mechanism_delta;  // what the profile is evaluated at; the rest pays for the implementation
  releases::ShiftSquaredAmount shift_squared;

  static constexpr std::uint64_t kDrawsMax = std::uint64_t{1} << 20U;

  /// The largest shift squared for (epsilon, delta). Every release's loss is, given what came before, a Gaussian's with
  /// a shift chosen by the past; padded with a last one so that the shifts squared always add up to the limit, the
  /// whole loss is exactly one Gaussian's. So a filter of Gaussian releases alone costs no more than a plan of them.
  /// Source: privacy-core F, 2 (a); zCDP filters: Feldman and Zrnic 2021, Rogers et al. 2016.
  /// @return an error where epsilon is zero or above 30, delta does not cover the implementation, or both are so small
  ///   that no release would ever fit
  [[nodiscard]] static Result<FilterTerms> create(releases::EpsilonAmount epsilon, releases::DeltaAmount delta);

  /// Whether epsilon and delta cover the rest, to 1e-9 relative: terms that were written once stay sound where another
  /// mathematical library rounds the last digits otherwise.
  [[nodiscard]] bool sound() const;
};

/// How much of a filter is spent. A record is in one block at a time, so the blocks' spending composes in parallel; a
/// change of content may move a record from one block to the other, and what was spent before counts for both.
class GaussianFilter {
 public:
  explicit GaussianFilter(const FilterTerms& terms) : terms_(terms) {}

  [[nodiscard]] const FilterTerms& terms() const noexcept { return terms_; }
  /// Whether a release of this cost fits; if so it is counted. Without a cost it always fits: it carries no noise. One
  /// that is not Gaussian never does.
  /// @param draws of noise that it is made of
  [[nodiscard]] bool spend(releases::Block block, const releases::Cost& cost, std::uint64_t draws);
  /// Records may be in another block from now on.
  void content_changed();
  [[nodiscard]] releases::ShiftSquaredAmount left(releases::Block block) const;
  [[nodiscard]] bool unused() const noexcept { return draws_ == 0; }
  [[nodiscard]] std::uint64_t draws_left() const noexcept { return FilterTerms::kDrawsMax - draws_; }

 private:
  FilterTerms terms_;
  releases::ShiftSquaredAmount training_;  // with what was spent under earlier contents
  releases::ShiftSquaredAmount holdout_;
  std::uint64_t draws_ = 0;
};

}  // namespace undertone::silo
