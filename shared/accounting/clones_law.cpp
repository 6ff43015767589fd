#include "shared/accounting/clones_law.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "shared/base/remembered_searches.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone::accounting {
namespace {

constexpr std::uint64_t kOthersMax = 100'000'000;
constexpr std::size_t kPoints = 768;
constexpr long double kInflation = 1e-8L;  // the binomial weights' own error

/// So many clones, or a few more.
struct Clones {
  long double count = 0.0L;
  long double probability = 0.0L;
};

struct CloneCounts {
  std::vector<Clones> counts;
  long double omitted = 0.0L;  // probability
};

/// The law of Bin(others, clone), its counts put together downwards so that about 600 remain.
CloneCounts clone_counts(long double others, long double clone) {
  const long double mean = others * clone;
  const long double variance = mean * (1.0L - clone);
  const long double reach = 12.0L * sqrtl(variance) + 60.0L;
  const long double first = std::max(0.0L, floorl(mean - reach));
  const long double last = std::min(others, ceill(mean + reach));
  const long double width = std::max(1.0L, floorl(sqrtl(variance) / 24.0L));
  const auto probability_of = [&](long double c) {
    if (clone >= 1.0L) return c == others ? 1.0L : 0.0L;
    return expl(lgammal(others + 1.0L) - lgammal(c + 1.0L) - lgammal(others - c + 1.0L) + c * logl(clone) +
                (others - c) * log1pl(-clone));
  };
  CloneCounts out;
  for (long double c = first; c <= last; c += width) {
    Clones together{c, 0.0L};
    for (long double k = c; k < c + width && k <= last; ++k) together.probability += probability_of(k);
    if (together.probability > 0.0L) out.counts.push_back(together);
  }
  // Bernstein, on both sides.
  if (first > 0.0L || last < others)
    out.omitted = 2.0L * expl(-0.5L * reach * reach / (variance + reach / 3.0L)) + 1e-40L;
  return out;
}

/// P[Bin(c, 1/2) = a] and P[Bin(c, 1/2) > a] for a from the middle up.
class FairTails {
 public:
  explicit FairTails(long double c) : from_(floorl(0.5L * c)) {
    long double at = expl(lgammal(c + 1.0L) - lgammal(from_ + 1.0L) - lgammal(c - from_ + 1.0L) - c * logl(2.0L));
    for (long double a = from_; a <= c && at > 1e-60L; ++a) {
      at_.push_back(at);
      at *= (c - a) / (a + 1.0L);
    }
    above_.assign(at_.size(), 0.0L);
    for (std::size_t i = at_.size() - 1; i-- > 0;) above_[i] = above_[i + 1] + at_[i + 1];
  }
  [[nodiscard]] std::size_t size() const noexcept { return at_.size(); }
  [[nodiscard]] LossTails of(long double a) const {
    const auto i = static_cast<std::size_t>(std::max(0.0L, a - from_));
    if (i >= at_.size()) return {};
    return {at_[i], above_[i]};
  }

 private:
  long double from_;
  std::vector<long double> at_;
  std::vector<long double> above_;
};

/// Losses 0, l_1 < l_2 < ... and their mirror images.
class ClonesLaw final : public LossLaw {
 public:
  /// @param losses from 0, increasing @param profile hockey-stick divergences at them, convex in e^loss
  ClonesLaw(std::vector<long double> losses, const std::vector<long double>& profile)
      : losses_(std::move(losses)), infinite_(profile.back()) {
    const std::size_t size = losses_.size();
    p_above_.assign(size, 0.0L);
    q_above_.assign(size, 0.0L);
    long double next = 0.0L;  // slope of the profile to the right of a loss
    for (std::size_t i = size - 1; i > 0; --i) {
      const long double here =
          (profile[i] - profile[i - 1]) / (expl(losses_[i - 1]) * expm1l(losses_[i] - losses_[i - 1]));
      const long double mass = std::max(0.0L, next - here);
      q_above_[i - 1] = q_above_[i] + mass;
      p_above_[i - 1] = p_above_[i] + expl(losses_[i]) * mass;
      next = std::min(next, here);
    }
  }
  [[nodiscard]] double infinite() const override { return static_cast<double>(infinite_); }
  [[nodiscard]] LossTails above(long double loss) const override {
    if (loss >= 0.0L) {
      const auto i = static_cast<std::size_t>(std::upper_bound(losses_.begin(), losses_.end(), loss) - losses_.begin());
      return {p_above_[i - 1], q_above_[i - 1]};
    }
    // What is at or below a loss under P is at or above its negative under Q.
    const auto i = static_cast<std::size_t>(std::lower_bound(losses_.begin(), losses_.end(), -loss) - losses_.begin());
    const long double finite = 1.0L - infinite_;
    return {finite - q_above_[i - 1], std::max(0.0L, finite - p_above_[i - 1])};
  }

 private:
  std::vector<long double> losses_;
  std::vector<long double> p_above_;  // of each loss: the mass beyond it
  std::vector<long double> q_above_;
  long double infinite_;
};

LossLawPtr make_law(std::uint64_t others, long double record_epsilon, long double silo_epsilon) {
  const long double w = 1.0L / (1.0L + expl(-record_epsilon));
  const long double v = 1.0L - w;
  std::vector<long double> losses(kPoints + 1);
  std::vector<long double> theta(kPoints + 1);
  for (std::size_t i = 0; i <= kPoints; ++i) {
    // Closer together near 0, where the losses of many clones are.
    losses[i] = record_epsilon * powl(static_cast<long double>(i) / static_cast<long double>(kPoints), 1.5L);
    const long double power = expl(losses[i]);
    theta[i] = (power * w - v) / ((2.0L * w - 1.0L) * (1.0L + power));
  }
  const CloneCounts clones = clone_counts(static_cast<long double>(others), expl(-silo_epsilon));
  std::vector<long double> profile(kPoints + 1, 0.0L);
  for (const Clones& some : clones.counts) {
    const FairTails tails(some.count);
    WorkMeter::charge(tails.size() + kPoints);
    for (std::size_t i = 0; i < kPoints; ++i) {  // nothing exceeds the last loss
      // The losses above are those of a > theta (c + 1).
      const LossTails fair = tails.of(floorl(theta[i] * (some.count + 1.0L)));
      const long double before = fair.p + fair.q;
      const long double power = expl(losses[i]);
      const long double kept = w * before + v * fair.q - power * (v * before + w * fair.q);
      if (!(kept > 0.0L)) break;
      profile[i] += some.probability * kept;
    }
  }
  for (long double& height : profile) height = height * (1.0L + kInflation) + clones.omitted;
  return std::make_shared<ClonesLaw>(std::move(losses), profile);
}

}  // namespace

Result<LossLawPtr> clones_law(std::uint64_t others, double record_epsilon, double silo_epsilon) {
  if (others > kOthersMax)
    return Error{ErrorCode::InvalidArgument, fmt::format("other messages: at most {}, got {}", kOthersMax, others)};
  for (const double epsilon : {record_epsilon, silo_epsilon}) {
    if (!(epsilon > 0.0 && epsilon <= 50.0))
      return Error{ErrorCode::InvalidArgument, fmt::format("an epsilon of clones must be in (0, 50], got {}", epsilon)};
  }
  struct Messages {
    std::uint64_t others;
    double record_epsilon;
    double silo_epsilon;
    bool operator==(const Messages&) const = default;
  };
  static RememberedSearches<Messages, LossLawPtr> known(8);
  return known.find({others, record_epsilon, silo_epsilon},
                    [&]() -> Result<LossLawPtr> { return make_law(others, record_epsilon, silo_epsilon); });
}

}  // namespace undertone::accounting
