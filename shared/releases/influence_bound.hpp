#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>

#include "shared/features/influence.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::releases {

using statistics::Influence;
using statistics::influence_of;
using statistics::largest_influence;

/// Every coordinate of a record's vector has a bounded influence of its own. Replacing one record moves a sum by at
/// most 2 `l2()` in l2, which the lattice enforces on the integers: no guarantee rests on how psi was computed.
///
/// The records may be divided into groups, which have none in common. Each has a noised sum of its own, and of the
/// groups' means the coordinator takes the median of each coordinate. A record is in one group, so that groups cost
/// nothing more. Source: spec heavy-tailed 2.2.
class InfluenceBound {
 public:
  static constexpr std::uint32_t kGroupsMax = 255;

  /// @param threshold t > 0, of every coordinate @param groups odd, from 1 to `kGroupsMax`
  /// @param dimension d >= 1 of a contribution
  /// @return an error where a number is out of range or the l2 norm is no double
  [[nodiscard]] static Result<InfluenceBound> create(double threshold, Influence influence, std::uint32_t groups,
                                                     Eigen::Index dimension);

  /// Returns it with both numbers so many times as large. @param factor > 0 that leaves them positive doubles
  [[nodiscard]] InfluenceBound times(double factor) const;
  /// Returns the bound of one group's sum.
  [[nodiscard]] InfluenceBound of_one_group() const noexcept;

  [[nodiscard]] double threshold() const noexcept { return threshold_; }
  [[nodiscard]] Influence influence() const noexcept { return influence_; }
  [[nodiscard]] std::uint32_t groups() const noexcept { return groups_; }
  /// What follows in l2: the largest influence times sqrt(d), rounded up.
  [[nodiscard]] const ClipNorm& l2() const noexcept { return l2_; }

  friend bool operator==(const InfluenceBound&, const InfluenceBound&) = default;

 private:
  InfluenceBound(double threshold, Influence influence, std::uint32_t groups, ClipNorm l2) noexcept
      : threshold_(threshold), influence_(influence), groups_(groups), l2_(l2) {}
  double threshold_;
  Influence influence_;
  std::uint32_t groups_;
  ClipNorm l2_;
};

/// This says for people how every coordinate is cut: "cut to at most 2 in every coordinate", and whether records are
/// divided into groups.
[[nodiscard]] std::string described(const InfluenceBound& bound);

}  // namespace undertone::releases
