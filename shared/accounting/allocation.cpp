#include "shared/accounting/allocation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace undertone::accounting {
namespace {

constexpr double kWeightSumSlack = 1e-12;

Status check_allocated_parts(const AllocatedParts& group, std::uint64_t parts_left) {
  if (group.parts < 1 || group.parts > parts_left) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a group of allocated parts: expected 1 .. {} of them, got {}", parts_left, group.parts)};
  }
  if (!(group.weight > 0.0 && group.weight <= 1.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the weight of an allocated part must be in (0, 1], got {}", group.weight)};
  }
  if (!(group.shift > 0.0 && group.shift <= Allocation::kShiftMax)) {
    return Error{ErrorCode::LimitExceeded, fmt::format("the shift of an allocated part must be in (0, {}], got {}",
                                                       Allocation::kShiftMax, group.shift)};
  }
  return {};
}

}  // namespace

Allocation::Allocation(PartAssignment assignment, std::vector<AllocatedParts> groups, double unread,
                       std::uint64_t epochs)
    : assignment_(assignment), groups_(std::move(groups)), unread_(unread), epochs_(epochs) {}

Result<Allocation> Allocation::create(PartAssignment assignment, std::vector<AllocatedParts> groups, double unread,
                                      std::uint64_t epochs) {
  if (assignment != PartAssignment::IndependentBins && assignment != PartAssignment::FixedWithUnreadSlot)
    return Error{ErrorCode::InvalidArgument, "the assignment of parts: expected bins or fixed sizes"};
  if (groups.empty() || groups.size() > kGroupsMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("groups of allocated parts: expected 1 .. {}, got {}", kGroupsMax, groups.size())};
  }
  if (!(unread >= 0.0 && unread < 1.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the weight of what no part reads must be in [0, 1), got {}", unread)};
  }
  if (assignment == PartAssignment::FixedWithUnreadSlot && !(unread > 0.0)) {
    return Error{ErrorCode::InvalidArgument,
                 "parts of fixed sizes: without a slot that nobody reads only parallel composition is proved"};
  }
  if (epochs < 1 || epochs > kEpochsMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("epochs of allocated parts: expected 1 .. {}, got {}", kEpochsMax, epochs)};
  }
  std::uint64_t parts_left = kPartsMax;
  double sum = unread;
  for (const AllocatedParts& group : groups) {
    UNDERTONE_TRY(check_allocated_parts(group, parts_left));
    parts_left -= group.parts;
    sum += static_cast<double>(group.parts) * group.weight;
  }
  if (!(std::abs(sum - 1.0) <= kWeightSumSlack)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("the weights of all allocated parts and of what no part reads must add up to 1, got {:.17g}", sum)};
  }
  return Allocation(assignment, std::move(groups), unread, epochs);
}

double Allocation::largest_shift() const {
  double largest = 0.0;
  for (const AllocatedParts& group : groups_) largest = std::max(largest, group.shift);
  return largest;
}

Result<Allocation> Allocation::scaled(double factor) const {
  std::vector<AllocatedParts> groups = groups_;
  for (AllocatedParts& group : groups) group.shift *= factor;
  return create(assignment_, std::move(groups), unread_, epochs_);
}

}  // namespace undertone::accounting
