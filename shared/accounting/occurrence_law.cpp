#include "shared/accounting/occurrence_law.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <utility>

#include "shared/accounting/symmetric_law.hpp"

namespace undertone::accounting {
namespace {

class OccurrenceGaussianLaw final : public SymmetricLaw {
 public:
  OccurrenceGaussianLaw(Occurrences occurrences, long double shift, long double cut)
      : shift_(shift), never_(occurrences.never), times_(std::move(occurrences.times)) {
    while (times_.size() > 1 && cut_ + times_.back() <= cut) {
      cut_ += times_.back();
      times_.pop_back();
    }
    cut_ = cut_ * (1.0L + 1e-15L) + 1e-38L;
  }
  [[nodiscard]] double infinite() const override { return static_cast<double>(cut_); }

 protected:
  [[nodiscard]] LossTails above_zero(long double loss) const override {
    const long double alpha = expl(loss);
    const long double z = water_level(loss, alpha);
    LossTails tails;
    tails.q = never_ * upper_tail(z);
    long double profile = 0.0L;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const long double mu = static_cast<long double>(i + 1) * shift_;
      const long double at = std::max(loss, mu * z - 0.5L * mu * mu);
      const LossTails base = gaussian_tails(at, mu);
      profile += times_[i] * (base.p - expl(at) * base.q);
      tails.q += times_[i] * base.q;
    }
    tails.p = profile + alpha * tails.q;
    return tails;
  }

 private:
  /// The largest z with p_0 + sum p_j max(alpha, e^(j mu z - j^2 mu^2/2)) <= alpha (1 - cut), rounded down.
  [[nodiscard]] long double water_level(long double loss, long double alpha) const {
    const auto excess = [&](long double z) {
      long double sum = never_ - alpha * (1.0L - cut_);
      for (std::size_t i = 0; i < times_.size(); ++i) {
        const long double mu = static_cast<long double>(i + 1) * shift_;
        sum += times_[i] * std::max(alpha, expl(mu * z - 0.5L * mu * mu));
      }
      return sum;
    };
    long double low = loss / shift_ + 0.5L * shift_;  // where no term is above alpha
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const long double mu = static_cast<long double>(i + 1) * shift_;
      low = std::min(low, loss / mu + 0.5L * mu);
    }
    if (excess(low) > 0.0L) return low;
    long double high = low + 1.0L;
    while (excess(high) <= 0.0L) high += high - low;
    std::uintmax_t iterations = 100;
    const auto close = [](long double a, long double b) { return b - a <= 1e-17L * std::max(1.0L, fabsl(a)); };
    low = boost::math::tools::toms748_solve(excess, low, high, close, iterations).first;
    while (excess(low) > 0.0L) low -= 1e-17L * std::max(1.0L, fabsl(low));
    return low;
  }
  long double shift_;
  long double never_;               // P[0 occurrences]
  std::vector<long double> times_;  // P[j occurrences], j = 1, 2, ...
  long double cut_ = 0.0L;          // at least the probability of more
};

}  // namespace

LossLawPtr occurrence_gaussian_law(Occurrences occurrences, releases::GaussianShift shift, double cut) {
  return std::make_shared<OccurrenceGaussianLaw>(std::move(occurrences), shift.value(), cut);
}

}  // namespace undertone::accounting
