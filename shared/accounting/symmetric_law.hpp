#pragma once

#include <algorithm>
#include <cmath>

#include "shared/accounting/loss_law.hpp"

namespace undertone::accounting {

/// P[N(0,1) > x], with a small relative error.
inline long double upper_tail(long double x) { return 0.5L * erfcl(x / sqrtl(2.0L)); }

/// Of N(0, 1) against N(shift, 1).
inline LossTails gaussian_tails(long double loss, long double shift) {
  return {upper_tail(loss / shift - 0.5L * shift), upper_tail(loss / shift + 0.5L * shift)};
}

/// A law that is the same in both orders: what it is below zero follows from what it is above.
class SymmetricLaw : public LossLaw {
 public:
  [[nodiscard]] LossTails above(long double loss) const final {
    if (loss >= 0.0L) return above_zero(loss);
    const LossTails mirrored = above_zero(-loss);
    // P[L > -l] = 1 - Q[L >= l]. Atoms but at zero are not met: the laws here have none.
    const long double finite = 1.0L - infinite();
    return {finite - mirrored.q, std::max(0.0L, finite - mirrored.p)};
  }

 protected:
  [[nodiscard]] virtual LossTails above_zero(long double loss) const = 0;
};

}  // namespace undertone::accounting
