#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shared/accounting/accountant.hpp"
#include "shared/planning/plan.hpp"

/// What the parts of Plan share. Internal.
namespace undertone::planning {

/// How one draw picks its records, as accountants see it.
struct DrawnPart {
  double rate = 1.0;            // K/n of a subset, rounded up: 1 is every record
  std::int64_t population = 0;  // n of a multiset, else 0
  std::int64_t draws = 0;       // K of a multiset, else 0
  friend bool operator==(const DrawnPart&, const DrawnPart&) = default;
};

/// K/n, rounded up.
[[nodiscard]] double rate_of(std::int64_t drawn, std::int64_t population);
[[nodiscard]] DrawnPart drawn_part(const Release& release);
/// One draw, of which a record that is drawn once moves the sum by `shift` standard deviations of its noise.
[[nodiscard]] accounting::PrivacyEvent event_of_draw(const DrawnPart& part, releases::GaussianShift shift);
/// The same of a draw that is answered by something rho-zCDP. @pre no draw with replacement
[[nodiscard]] accounting::PrivacyEvent event_of_draw(const DrawnPart& part, releases::Rho rho);
/// What a private release is by this silo's own noise.
[[nodiscard]] accounting::PrivacyEvent local_event(const Release& release);
/// The positions that a release reads, as a part of [0, 1).
[[nodiscard]] accounting::Footprint footprint_of(const Release& release);
/// A node of a selection along a path: which positions it reads, and what the choice costs a record there.
struct PathPart {
  releases::Slice::Positions positions;
  releases::EpsilonAmount epsilon;
};
/// @pre the release is such a selection
[[nodiscard]] std::vector<PathPart> path_parts(const Release& release);
/// What a private release is by this silo's own noise, for the records of each part that it treats alike: one event, or
/// of a selection along a path one for every node.
[[nodiscard]] std::vector<accounting::RepeatedEvent> local_events(const Release& release, std::uint64_t times);
/// Of the first private release. @pre there is one, and it is Gaussian
[[nodiscard]] releases::GaussianShift local_shift_of(const std::vector<Plan::Segment>& segments);

/// Segments of a block that read some record together, directly or through others: each group is calibrated for itself.
using Group = std::vector<std::size_t>;
[[nodiscard]] std::vector<Group> groups_of(const std::vector<Plan::Segment>& segments, releases::Block block);

/// Rounds that draw the same part of the same positions.
struct DrawnRounds {
  DrawnPart part;
  std::uint64_t rounds = 0;
  accounting::Footprint footprint;
  friend bool operator==(const DrawnRounds&, const DrawnRounds&) = default;
};
[[nodiscard]] Law law_of(const releases::Ask& ask, const releases::Target& target);
/// The largest common epsilon of so many selections of the same records for (epsilon, delta).
[[nodiscard]] Result<releases::Epsilon> common_range(std::uint64_t rounds, const releases::Epsilon& epsilon,
                                                     const releases::Delta& delta);

/// Planned as a selection along a path that costs a record of its dearest node so much.
[[nodiscard]] Result<mechanisms::PathSelection> path_selection_of(const Release& release, releases::Epsilon epsilon);
/// Of each selection along a path its widest node's part in how far a record can move the estimate, of the widest of
/// all in the group: selections whose epsilons are in this proportion have noise of one scale on the estimate, whose
/// error is then the same in every step. 1 of every other release.
[[nodiscard]] Result<std::vector<double>> path_widths(const std::vector<Plan::Segment>& segments, const Group& group);
/// How loud releases of different laws, of generalised Gaussian noise, or along paths, may be together: a Gaussian
/// release then has this shift, a selection twice as large an epsilon, and generalised Gaussian noise loudness^2/2 as
/// its rho, so that each is loudness^2/2-zCDP; a selection along a path its width times that.
/// @param segments a group's @param delta nothing of a pure target, where loudness is half of every release's epsilon
[[nodiscard]] Result<double> common_loudness(const std::vector<Plan::Segment>& segments, const Group& group,
                                             const releases::Target& target,
                                             const std::optional<releases::Delta>& delta);

/// The largest common shift of a block's releases for (epsilon, delta).
[[nodiscard]] Result<releases::GaussianShift> common_shift(const std::vector<DrawnRounds>& drawn,
                                                           const releases::Epsilon& epsilon,
                                                           const releases::Delta& delta);

}  // namespace undertone::planning
