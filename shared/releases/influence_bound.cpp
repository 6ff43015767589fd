#include "shared/releases/influence_bound.hpp"

#include <cmath>

namespace undertone::releases {
Result<InfluenceBound> InfluenceBound::create(double threshold, Influence influence, std::uint32_t groups,
                                              Eigen::Index dimension) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::InvalidArgument, std::move(why)}; };
  if (dimension < 1) return refuse(fmt::format("a bound of every coordinate needs a dimension, got {}", dimension));
  if (groups < 1 || groups > kGroupsMax || groups % 2 == 0)
    return refuse(fmt::format("expected an odd number of groups from 1 to {}, got {}", kGroupsMax, groups));
  if (!(threshold > 0.0)) return refuse(fmt::format("expected a threshold above 0, got {}", threshold));
  // Rounded up by far more than a root may be off.
  const double growth = largest_influence(influence) * std::sqrt(static_cast<double>(dimension)) * (1.0 + 0x1p-40);
  UNDERTONE_TRY(const ClipNorm l2, ClipNorm::create(threshold * growth));
  return InfluenceBound(threshold, influence, groups, l2);
}

InfluenceBound InfluenceBound::times(double factor) const {
  InfluenceBound out = *this;
  out.threshold_ *= factor;
  out.l2_ = *ClipNorm::create(l2_.value() * factor);
  return out;
}

InfluenceBound InfluenceBound::of_one_group() const noexcept {
  InfluenceBound out = *this;
  out.groups_ = 1;
  return out;
}

std::string described(const InfluenceBound& bound) {
  std::string out = bound.influence() == Influence::Clip
                        ? fmt::format("cut to at most {:.4g} in every coordinate", bound.threshold())
                        : fmt::format("with a smooth influence of at most {:.4g} in every coordinate",
                                      bound.threshold() * largest_influence(bound.influence()));
  if (bound.groups() > 1)
    out += fmt::format(" and added up in {} groups of records, which have none in common", bound.groups());
  return out;
}

}  // namespace undertone::releases
