#include "shared/accounting/replaced_poisson_law.hpp"

#include <cmath>

namespace undertone::accounting {
namespace {

long double poisson_upper_tail(long double x) { return 0.5L * erfcl(x / sqrtl(2.0L)); }

class ReplacedPoissonLaw final : public LossLaw {
 public:
  ReplacedPoissonLaw(long double rate, long double half_shift) : rate_(rate), half_shift_(half_shift) {}
  [[nodiscard]] LossTails above(long double loss) const override {
    const long double x = place(loss);
    const long double unread = (1.0L - rate_) * poisson_upper_tail(x);
    return {unread + rate_ * poisson_upper_tail(x - half_shift_), unread + rate_ * poisson_upper_tail(x + half_shift_)};
  }

 private:
  /// Where the loss, which increases in x, is `loss`: y = e^(m x) solves rate g (y^2 - e^loss) = (1 - rate)
  /// (e^loss - 1) y with g = e^(-m^2/2); each sign of the loss has the form that does not cancel.
  [[nodiscard]] long double place(long double loss) const {
    if (loss < 0.0L) return -place(-loss);
    const long double b = (1.0L - rate_) / rate_ * expm1l(loss) * expl(0.5L * half_shift_ * half_shift_);
    return logl(0.5L * (b + sqrtl(b * b + 4.0L * expl(loss)))) / half_shift_;
  }
  long double rate_;
  long double half_shift_;
};

}  // namespace

Result<LossLawPtr> replaced_poisson_law(double rate, releases::GaussianShift shift) {
  if (!(rate > 0.0 && rate <= 1.0))
    return Error{ErrorCode::InvalidArgument, fmt::format("the sampling rate must be in (0, 1], got {}", rate)};
  return LossLawPtr(std::make_shared<ReplacedPoissonLaw>(rate, 0.5L * shift.value()));
}

}  // namespace undertone::accounting
