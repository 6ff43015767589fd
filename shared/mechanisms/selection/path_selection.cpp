#include "shared/mechanisms/selection/path_selection.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/exact_text.hpp"

namespace undertone::mechanisms {
namespace {

constexpr double kPathScoreMax = 0x1p60;
constexpr double kNodeLevelsMax = 0x1p30;

}  // namespace

Result<PathLattice> PathLattice::finest(std::span<const PathShare> shares, const geometry::Vertices& candidates) {
  UNDERTONE_CHECK(!shares.empty());
  // levels_i = bound_i factor_i / (records_i unit), so that all records of node i together have bound_i factor_i / unit
  // units at most, and every level is within what a selection's score range allows.
  double all = 0.0;
  double most = 0.0;
  std::int64_t records = 0;
  for (const PathShare& share : shares) {
    if (share.records < 1 || share.records > ClampLattice::kRecordsMax - records)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("nodes of a path have from 1 to {} records together", ClampLattice::kRecordsMax)};
    if (!(share.factor > 0.0 && share.factor <= 1.0))
      return Error{ErrorCode::InvalidArgument, fmt::format("a node's factor is in (0, 1], got {}", share.factor)};
    records += share.records;
    all += share.bound.value() * share.factor;
    most = std::max(most, share.bound.value() * share.factor / static_cast<double>(share.records));
  }
  const double levels_most = std::min(kNodeLevelsMax, static_cast<double>(candidates.levels_max()));
  const double least = std::max(all * static_cast<double>(candidates.score_factor()) / kPathScoreMax,
                                most / levels_most * (1.0 + 0x1p-40));
  PathLattice out;
  out.unit_ = std::exp2(std::ceil(std::log2(least)));  // one place in a double more than is needed, at most
  for (const PathShare& share : shares) {
    const double per_unit = share.factor / (static_cast<double>(share.records) * out.unit_);
    // Terms of a node that hardly counts any more may be less than a unit: they add nothing, and are charged for one.
    const auto levels = static_cast<std::int64_t>(std::max(1.0, std::floor(share.bound.value() * per_unit)));
    const bool sound = std::isfinite(per_unit) && per_unit > 0.0 && static_cast<double>(levels) <= levels_most;
    if (!sound)
      return Error{ErrorCode::LimitExceeded, fmt::format("no lattice has room for terms of up to {} at a factor of {}",
                                                         share.bound.value(), share.factor)};
    out.nodes_.push_back({per_unit, levels, share.records});
    out.levels_max_ = std::max(out.levels_max_, levels);
  }
  if (static_cast<double>(out.levels_max_) < 16.0)
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("scores of {} records with vertices of {} units leave 60 bits on every lattice", records,
                             candidates.score_factor())};
  return out;
}

releases::EpsilonAmount PathSelection::epsilon(std::size_t node) const {
  // Parts of the dearest node's, so that nodes of one kind cost the same on whichever lattice: below 2^50 x 2^12.
  constexpr releases::UInt128 kParts = 4096;
  const auto levels = static_cast<releases::UInt128>(lattice.nodes()[node].levels);
  const auto most = static_cast<releases::UInt128>(lattice.levels_max());
  const releases::UInt128 parts = (levels * kParts + most - 1) / most;
  return releases::EpsilonAmount::from_units((draw.epsilon().units() * parts + kParts - 1) / kParts);
}

Result<PathSelection> path_selection(const PathLattice& lattice, const geometry::Vertices& candidates,
                                     releases::Epsilon epsilon) {
  UNDERTONE_TRY(const ScoreRange range, ScoreRange::of_differences(candidates.score_range(lattice.levels_max())));
  UNDERTONE_TRY(const ExponentialMechanism draw, ExponentialMechanism::create(epsilon, range));
  return PathSelection{lattice, draw};
}

std::string canonical_text(const PathSelection& selection) {
  std::string out = fmt::format("path:{}:{}", selection.draw.range().value(), selection.draw.epsilon().to_string());
  for (const ClampUnits& node : selection.lattice.nodes())
    out += fmt::format(":{}/{}/{}", exact_text(node.per_unit), node.levels, node.records);
  return out;
}

}  // namespace undertone::mechanisms
