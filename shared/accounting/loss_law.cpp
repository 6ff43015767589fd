#include "shared/accounting/loss_law.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "shared/accounting/occurrence_law.hpp"
#include "shared/accounting/symmetric_law.hpp"

namespace undertone::accounting {
namespace {

class GaussianLaw final : public LossLaw {
 public:
  explicit GaussianLaw(long double shift) : shift_(shift) {}
  [[nodiscard]] LossTails above(long double loss) const override { return gaussian_tails(loss, shift_); }

 private:
  long double shift_;
};

class SubsetGaussianLaw final : public SymmetricLaw {
 public:
  SubsetGaussianLaw(long double rate, long double shift) : rate_(rate), shift_(shift) {}

 protected:
  // With alpha' = 1 + (alpha - 1)/rate the profile is rate G(ln alpha'), so its slope is G's own at alpha'.
  [[nodiscard]] LossTails above_zero(long double loss) const override {
    const LossTails base = gaussian_tails(log1pl(expm1l(loss) / rate_), shift_);
    return {rate_ * base.p + (1.0L - rate_) * base.q, base.q};
  }

 private:
  long double rate_;
  long double shift_;
};

class KnownSubsetGaussianLaw final : public LossLaw {
 public:
  KnownSubsetGaussianLaw(long double rate, long double shift) : rate_(rate), shift_(shift) {}
  [[nodiscard]] LossTails above(long double loss) const override {
    const LossTails drawn = gaussian_tails(loss, shift_);
    const long double missed = loss < 0.0L ? 1.0L - rate_ : 0.0L;
    return {rate_ * drawn.p + missed, rate_ * drawn.q + missed};
  }

 private:
  long double rate_;
  long double shift_;
};

/// ((1 - rate) N(0, 1) + rate N(mu, 1), N(0, 1)) or the reverse: also one record under Poisson sampling.
class MixtureLaw final : public LossLaw {
 public:
  MixtureLaw(long double rate, long double shift, bool reverse) : rate_(rate), shift_(shift), reverse_(reverse) {}
  [[nodiscard]] LossTails above(long double loss) const override {
    if (!reverse_) {
      const long double x = place(loss);
      return {(1.0L - rate_) * upper_tail(x) + rate_ * upper_tail(x - shift_), upper_tail(x)};
    }
    const long double x = place(-loss);  // L > loss where the mixture's loss is below -loss
    return {upper_tail(-x), (1.0L - rate_) * upper_tail(-x) + rate_ * upper_tail(shift_ - x)};
  }

 private:
  /// Where ln(1 - rate + rate e^(mu x - mu^2/2)) is `loss`; minus infinity below its range.
  [[nodiscard]] long double place(long double loss) const {
    const long double over = expm1l(loss) + rate_;
    if (!(over > 0.0L)) return -INFINITY;
    return logl(over / rate_) / shift_ + 0.5L * shift_;
  }
  long double rate_;
  long double shift_;
  bool reverse_;
};

class LaplaceLaw final : public LossLaw {
 public:
  explicit LaplaceLaw(long double epsilon) : epsilon_(epsilon) {}
  [[nodiscard]] LossTails above(long double loss) const override {
    if (loss >= epsilon_) return {};
    if (loss < -epsilon_) return {1.0L, 1.0L};
    return {1.0L - 0.5L * expl(-0.5L * (epsilon_ - loss)), 0.5L * expl(-0.5L * (epsilon_ + loss))};
  }

 private:
  long double epsilon_;
};

/// Randomised response, and with probability delta the record itself.
class ApproximateDpLaw final : public LossLaw {
 public:
  ApproximateDpLaw(long double epsilon, long double delta) : epsilon_(epsilon), delta_(delta) {}
  [[nodiscard]] LossTails above(long double loss) const override {
    const long double truth = 1.0L / (1.0L + expl(-epsilon_));
    if (loss >= epsilon_) return {};
    if (loss < -epsilon_) return {1.0L - delta_, 1.0L - delta_};
    return {(1.0L - delta_) * truth, (1.0L - delta_) * (1.0L - truth)};
  }
  [[nodiscard]] double infinite() const override { return static_cast<double>(delta_); }

 private:
  long double epsilon_;
  long double delta_;
};

class DiscreteGaussianLaw final : public LossLaw {
 public:
  DiscreteGaussianLaw(long double variance, std::int64_t sensitivity)
      : variance_(variance), sensitivity_(static_cast<long double>(sensitivity)) {
    reach_ = static_cast<std::int64_t>(ceill(sensitivity_ + 1.0L + 40.0L * sqrtl(variance)));
    for (std::int64_t x = -reach_; x <= reach_; ++x) total_ += weight(static_cast<long double>(x));
    tails_.resize(static_cast<std::size_t>(2 * reach_ + 2), 0.0L);
    for (std::int64_t x = reach_; x >= -reach_; --x)
      tails_[static_cast<std::size_t>(x + reach_)] =
          tails_[static_cast<std::size_t>(x + reach_ + 1)] + weight(static_cast<long double>(x)) / total_;
  }
  /// P is centred at the sensitivity, Q at 0: L(x) = (2 x D - D^2) / (2 variance), increasing in x.
  [[nodiscard]] LossTails above(long double loss) const override {
    const long double threshold = (loss * variance_ / sensitivity_) + 0.5L * sensitivity_;
    const long double first = floorl(threshold * (1.0L + 1e-17L)) + 1.0L;  // the smallest x with L(x) > loss
    return {at_least(first - sensitivity_), at_least(first)};
  }

 private:
  [[nodiscard]] long double weight(long double x) const { return expl(-x * x / (2.0L * variance_)); }
  [[nodiscard]] long double at_least(long double x) const {
    if (x > static_cast<long double>(reach_)) return 0.0L;
    if (x < -static_cast<long double>(reach_)) return 1.0L;
    return tails_[static_cast<std::size_t>(static_cast<std::int64_t>(x) + reach_)];
  }
  long double variance_;
  long double sensitivity_;
  std::int64_t reach_ = 0;
  long double total_ = 0.0L;
  std::vector<long double> tails_;
};

/// Of one record among K draws with replacement from n: binomial.
Occurrences occurrences_of_multiset(std::int64_t records, std::int64_t draws) {
  const long double rate = 1.0L / static_cast<long double>(records);
  const auto count = static_cast<long double>(draws);
  Occurrences out;
  long double term = expl(count * log1pl(-rate));
  out.never = term;
  for (std::int64_t j = 1; j <= draws; ++j) {
    const auto k = static_cast<long double>(j);
    term *= (count - k + 1.0L) / k * rate / (1.0L - rate);
    if (term < 1e-40L && k > count * rate) break;
    out.times.push_back(term);
  }
  return out;
}

Result<LossLawPtr> check_rate(double rate) {
  if (rate > 0.0 && rate <= 1.0) return LossLawPtr();
  return Error{ErrorCode::InvalidArgument, fmt::format("the sampling rate must be in (0, 1], got {}", rate)};
}

}  // namespace

double LossLaw::delta(double epsilon) const {
  const LossTails tails = above(epsilon);
  const long double value = tails.p - (tails.q > 0.0L ? expl(epsilon) * tails.q : 0.0L);
  return std::clamp(static_cast<double>(value) + infinite(), 0.0, 1.0);
}

LossLawPtr gaussian_law(releases::GaussianShift shift) { return std::make_shared<GaussianLaw>(shift.value()); }

Result<LossLawPtr> subset_gaussian_law(double rate, releases::GaussianShift shift) {
  if (const auto checked = check_rate(rate); !checked) return checked.error();
  return LossLawPtr(std::make_shared<SubsetGaussianLaw>(rate, shift.value()));
}

Result<LossLawPtr> known_subset_gaussian_law(double rate, releases::GaussianShift shift) {
  if (const auto checked = check_rate(rate); !checked) return checked.error();
  return LossLawPtr(std::make_shared<KnownSubsetGaussianLaw>(rate, shift.value()));
}

Result<LossLawPtr> subset_gaussian_attained_law(double rate, releases::GaussianShift shift, bool reverse) {
  if (const auto checked = check_rate(rate); !checked) return checked.error();
  return LossLawPtr(std::make_shared<MixtureLaw>(rate, shift.value(), reverse));
}

Result<LossLawPtr> multiset_gaussian_law(std::int64_t records, std::int64_t draws, releases::GaussianShift shift,
                                         double cut) {
  if (records < 2 || draws < 1) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("with replacement: expected at least 2 records and 1 draw, got {} and {}", records, draws)};
  }
  if (draws > 100 * records) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("with replacement: {} draws from {} records, at most 100 a record", draws, records)};
  }
  return occurrence_gaussian_law(occurrences_of_multiset(records, draws), shift, cut);
}

Result<LossLawPtr> poisson_gaussian_law(double rate, releases::GaussianShift shift, bool added) {
  if (const auto checked = check_rate(rate); !checked) return checked.error();
  return LossLawPtr(std::make_shared<MixtureLaw>(rate, shift.value(), added));
}

LossLawPtr laplace_law(releases::Epsilon epsilon) { return std::make_shared<LaplaceLaw>(epsilon.value()); }

Result<LossLawPtr> approximate_dp_law(releases::Epsilon epsilon, double delta) {
  if (!(delta >= 0.0 && delta < 1.0))
    return Error{ErrorCode::InvalidArgument, fmt::format("delta must be in [0, 1), got {}", delta)};
  return LossLawPtr(std::make_shared<ApproximateDpLaw>(epsilon.value(), delta));
}

Result<LossLawPtr> discrete_gaussian_law(double variance, std::int64_t sensitivity) {
  if (!(variance > 0.0 && variance <= 1e9))
    return Error{ErrorCode::InvalidArgument, fmt::format("the variance must be in (0, 1e9], got {}", variance)};
  if (sensitivity < 1 || sensitivity > 1'000'000) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("an integer sensitivity must be in 1 .. 1000000, got {}", sensitivity)};
  }
  return LossLawPtr(std::make_shared<DiscreteGaussianLaw>(variance, sensitivity));
}

}  // namespace undertone::accounting
