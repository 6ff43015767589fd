#include "verifier/multiset_profile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "verifier/gaussian_profile.hpp"

namespace undertone::verifier {
namespace {

using Real = long double;

constexpr Real kProbabilityMin = 1e-60L;  // times a million rounds and thousands of groups it is still nothing
constexpr Real kRoundOff = std::numeric_limits<Real>::epsilon();
constexpr Real kStepLast = 1e-12L;  // of the level; what is left after it is at most its square times a shift
constexpr Real kLossMax = 5000;     // its exponential, and that times a moment's, are finite

/// Where G's slope by the ratio is that of this level.
Real loss_at(Real shift, Real level) { return shift * (level - shift / 2); }
Real level_at(Real shift, Real loss) { return loss / shift + shift / 2; }

}  // namespace

MultisetProfile::MultisetProfile(Real mu, std::int64_t drawn, std::int64_t population) {
  const auto draws = static_cast<Real>(drawn);
  const auto others = static_cast<Real>(population - 1);
  const Real log_none = draws * std::log1p(-1 / static_cast<Real>(population));
  none_ = std::exp(log_none);
  rate_ = -std::expm1(log_none);
  Real probability = none_ * draws / others;
  Real count = 1;
  for (; count <= draws && (count == 1 || probability >= kProbabilityMin); ++count) {
    occurrences_.push_back({count * mu, probability, 0});
    probability *= (draws - count) / ((count + 1) * others);
  }
  // At most population draws: from one occurrence on each is at most half as probable as the one before.
  cut_ = 2 * probability;
  Real more = cut_;
  for (auto one = occurrences_.rbegin(); one != occurrences_.rend(); ++one) {
    one->more = more;
    more += one->probability;
  }
}

/// z, rounded down. Newton's method comes down to it from the right: what it solves is convex in the level.
Real MultisetProfile::level(Real loss) const {
  const Real budget = -none_ * std::expm1(-loss);  // both sides of the inequality are over the ratio here
  Real level = std::numeric_limits<Real>::infinity();
  for (const Occurrences& one : occurrences_) {  // no term alone is above the budget
    const Real alone = level_at(one.shift, loss + std::log1p(budget / one.probability));
    if (alone >= level) break;  // -ln p_j is convex in j: from here on they rise
    level = alone;
  }
  while (true) {
    Real excess = -budget;
    Real slope = 0;
    Real last = 0;
    for (const Occurrences& one : occurrences_) {
      const Real more = loss_at(one.shift, level) - loss;
      if (more <= 0 && one.shift > level) break;  // it rises in the shift up to the level, and falls after it
      if (more <= 0) continue;
      const Real growth = std::expm1(more);
      const Real grown = one.probability * (1 + growth);
      if (grown < last && grown < budget * kRoundOff / 1024) break;  // log-concave in j: it falls ever faster
      excess += one.probability * growth;
      slope += one.shift * grown;
      last = grown;
    }
    if (!(excess > 0) || !(slope > 0)) break;
    const Real next = level - excess / slope;
    if (!(next < level)) break;
    const bool is_last = level - next <= kStepLast * level;
    level = next;
    if (is_last) break;
  }
  return level * (1 - 8 * kRoundOff);
}

Real MultisetProfile::height(Real loss) const {
  const Real common = level(loss);
  Real sum = 0;
  for (const Occurrences& one : occurrences_) {
    sum += one.probability * gaussian_profile(std::max(loss, loss_at(one.shift, common)), one.shift);
    if (one.more < sum * kRoundOff / 1024) break;  // a sum to the end would not differ
  }
  return sum + cut_;
}

/// By the envelope theorem: the slopes at z of all that is filled up to it, and what the others have at the loss.
Real MultisetProfile::slope(Real loss) const {
  const Real common = level(loss);
  Real sum = none_ * upper_tail(common);
  for (const Occurrences& one : occurrences_) {
    sum += one.probability * upper_tail(std::max(common, level_at(one.shift, loss)));
    if (one.more < none_ * kRoundOff / 1024) break;
  }
  return -sum;
}

Real MultisetProfile::loss_of(Real height_wanted) const {
  Real low = std::log1p(rate_ * std::expm1(std::min(occurrences_.front().shift, kLossMax)));
  if (height(low) <= height_wanted) return low;
  Real high = 2 * low;
  while (high < kLossMax && height(high) > height_wanted) high *= 2;
  if (high >= kLossMax && height(kLossMax) > height_wanted) return kLossMax;
  high = std::min(high, kLossMax);
  for (int halving = 0; halving < 40; ++halving) {
    const Real middle = (low + high) / 2;
    (height(middle) > height_wanted ? low : high) = middle;
  }
  return high;
}

}  // namespace undertone::verifier
