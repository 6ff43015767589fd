#include "verifier/sampled_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include "verifier/gaussian_profile.hpp"
#include "verifier/loss_law.hpp"
#include "verifier/multiset_profile.hpp"
#include "verifier/symmetric_profile.hpp"
#include "verifier/tilted_sums.hpp"

namespace undertone::verifier {
namespace {

using Real = long double;

constexpr Real kComposedRoundsMax = 1e6L;
constexpr Real kMuMin = 1e-6L;
constexpr Real kMuMax = 40;
constexpr std::size_t kPointsMin = std::size_t{1} << 11;
constexpr std::size_t kPointsMax = std::size_t{1} << 20;
constexpr std::size_t kWorkMax = std::size_t{1} << 26;  // points of all groups together
constexpr Real kEpsilonGap = 0.002L;
constexpr Real kDeltaGap = 0.001L;
constexpr Real kDeltaSmall = 1e-15L;  // round-off may hide less, where a rare large loss outweighs the tilt
constexpr std::size_t kPointsSmall = std::size_t{1} << 16;  // to find that out
constexpr Real kDeltaMin = 1e-30L;
constexpr Real kCut = 1e-6L;          // of delta, for the largest losses of all rounds, and for what the window misses
constexpr Real kPowersError = 1e-8L;  // relative: a million powers of a double err by 10^-10

/// Where a function that falls and then rises is least, by thirds of the logarithm of the argument.
template <class Function>
Real minimiser(Function function, Real low, Real high) {
  while (high > low * 1.02L) {
    const Real left = low * std::cbrt(high / low);
    const Real right = high / std::cbrt(high / low);
    if (function(left) < function(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return low;
}

/// The delta, given that the sampled losses sum up to epsilon - rest, of plain Gaussians that are together of this mu.
Real plain_profile(Real rest, Real mu) {
  if (mu == 0) return rest < 0 ? -std::expm1(rest) : 0;
  const auto tail = [](Real x) { return std::erfc(x / std::numbers::sqrt2_v<Real>) / 2; };
  if (rest / mu - mu / 2 > 37) return 0;  // below 10^-300; e^rest stays finite
  return std::max<Real>(tail(rest / mu - mu / 2) - std::exp(rest) * tail(rest / mu + mu / 2), 0);
}

/// Laws, one per release, that are rounded in the same direction.
struct End {
  std::vector<LossLaw> laws;
  Real at_infinity = 0;
  Real scale = 0;   // of the tilted sum of losses, to get delta
  Real missed = 0;  // bound on what lies outside the window, in delta
};

class Composition {
 public:
  /// @param plain_mu of all that is not sampled
  Composition(std::vector<SampledRelease> releases, Real plain_mu, Real epsilon)
      : releases_(std::move(releases)), plain_mu_(plain_mu), epsilon_(epsilon) {}

  [[nodiscard]] std::optional<DeltaBracket> delta() {
    const Settled settled = settle();
    if (!settled.is_closed) return std::nullopt;
    return settled.bracket;
  }

  /// The upper end, certified whether or not the ends close.
  [[nodiscard]] Real upper() { return settle().bracket.upper; }

 private:
  struct Settled {
    DeltaBracket bracket;
    bool is_closed;
  };

  Settled settle() {
    DeltaBracket bracket{0, plan(kDeltaMin)};
    std::size_t points = kPointsMin;
    while (points <= kPointsMax && points * releases_.size() <= kWorkMax) {
      const Real bound = plan(bracket.upper);
      const bool is_far = bound < bracket.upper / 10;
      if (is_far) bracket.upper = bound;
      if (bracket.upper < kDeltaMin) return {bracket, true};
      if (is_far) continue;
      const Real planned_for = bracket.upper;
      const Real gap = try_points(points, bracket);
      if (gap <= 1 || (bracket.upper < kDeltaSmall && points >= kPointsSmall)) return {bracket, true};
      // Rare large losses make the first bounds far too high, and with them the window too wide.
      if (bracket.upper > planned_for / 10) points *= gap < 4 ? 2 : gap < 16 ? 4 : 8;
    }
    return {bracket, false};
  }

  Real log_moment(const std::vector<LossLaw>& laws, Real tilt) const {
    Real sum = 0;
    for (std::size_t i = 0; i < laws.size(); ++i) sum += releases_[i].rounds * laws[i].log_moment(tilt);
    return sum;
  }

  /// Logarithm of the largest (1 - e^-x) e^(-tilt x), times the moment of the plain Gaussians: of what a tilted unit
  /// can be in delta.
  Real log_unit(Real tilt) const {
    const Real log_peak = tilt * std::log(tilt) - (1 + tilt) * std::log1p(tilt);
    return log_peak + plain_mu_ * plain_mu_ * tilt * (tilt + 1) / 2;
  }

  /// Chooses what large losses to cut off, the tilt and the window. The tilt of the best Chernoff bound puts the sum of
  /// losses just above epsilon, where delta comes from.
  /// @param delta about the result, or above it
  /// @return that bound
  Real plan(Real delta) {
    const Real delta_cut = kCut * delta / static_cast<Real>(releases_.size());
    std::vector<LossLaw> sketches;
    Real cut = 0;  // about kCut * delta at most
    loss_max_.clear();
    for (const SampledRelease& release : releases_) {
      loss_max_.push_back(release.profile->loss_of(delta_cut / release.rounds));
      sketches.push_back(law_sketched(*release.profile, loss_max_.back()));
      cut += release.rounds * sketches.back().at_infinity;
    }
    const Real tilt_max = 1000 / *std::max_element(loss_max_.begin(), loss_max_.end());
    const auto moment = [&](Real tilt) { return log_moment(sketches, tilt); };
    const auto log_bound = [&](Real tilt) { return moment(tilt) - tilt * epsilon_ + log_unit(tilt); };
    tilt_ = minimiser(log_bound, 1e-12L, tilt_max);
    const Real at_tilt = moment(tilt_) + std::log(kCut * delta) - log_bound(tilt_);
    const auto high = [&](Real more) { return (moment(tilt_ + more) - at_tilt) / more; };
    const auto low = [&](Real less) { return (moment(tilt_ - less) - at_tilt) / less; };
    tilt_more_ = minimiser(high, 1e-6L * tilt_max, tilt_max);
    tilt_less_ = minimiser(low, 1e-6L * tilt_max, tilt_max);
    high_ = high(tilt_more_);
    low_ = -low(tilt_less_);
    return std::exp(log_bound(tilt_)) + cut;
  }

  End end_of(std::vector<LossLaw> laws) const {
    const Real moment = log_moment(laws, tilt_);
    const Real above = std::exp(log_moment(laws, tilt_ + tilt_more_) - moment - tilt_more_ * high_);
    const Real below = std::exp(log_moment(laws, tilt_ - tilt_less_) - moment + tilt_less_ * low_);
    End end{std::move(laws), 0, std::exp(moment - tilt_ * epsilon_), 0};
    for (std::size_t i = 0; i < releases_.size(); ++i) end.at_infinity += releases_[i].rounds * end.laws[i].at_infinity;
    end.missed = end.scale * (above + below) * std::exp(log_unit(tilt_));
    return end;
  }

  /// @return how many times wider than asked for the bracket is
  Real try_points(std::size_t points, DeltaBracket& bracket) const {
    const Real step = (high_ - low_) / static_cast<Real>(points - 2);
    std::vector<LossLaw> laws_above;
    std::vector<LossLaw> laws_below;
    for (std::size_t i = 0; i < releases_.size(); ++i) {
      const auto cells = 1 + static_cast<std::size_t>(std::min<Real>(loss_max_[i] / step, kPointsMax));
      if (cells > kPointsMax) return std::numeric_limits<Real>::infinity();
      laws_above.push_back(law_above(*releases_[i].profile, step, cells));
      laws_below.push_back(law_below(*releases_[i].profile, step, cells));
    }
    const End above = end_of(std::move(laws_above));
    const End below = end_of(std::move(laws_below));
    const TiltedSums sums = tilted_sums(releases_, above.laws, below.laws, tilt_, step, points);
    return add_up(above, below, sums, step, bracket);
  }

  Real add_up(const End& above, const End& below, const TiltedSums& sums, Real step, DeltaBracket& bracket) const {
    const auto first = static_cast<std::int64_t>(std::floor(low_ / step));
    Real upper = 0;
    Real upper_near = 0;  // at a slightly larger epsilon
    Real lower = 0;
    Real squares = 0;
    const auto points = static_cast<std::int64_t>(sums.masses.size());
    for (std::int64_t index = first; index < first + points; ++index) {
      const Real rest = epsilon_ - step * static_cast<Real>(index);
      const Real untilted = plain_profile(rest, plain_mu_);
      if (untilted <= 0) continue;
      const auto mass = sums.masses[static_cast<std::size_t>(index) & (sums.masses.size() - 1)];
      const Real factor = std::exp(tilt_ * rest);
      upper += mass.real() * factor * untilted;
      upper_near += mass.real() * factor * plain_profile(rest + kEpsilonGap * epsilon_, plain_mu_);
      lower += mass.imag() * factor * untilted;
      squares += factor * untilted * factor * untilted;
    }
    const Real error = sums.error * std::sqrt(squares);
    // What the window misses comes back in at its other end, where it may weigh more or less.
    const Real extra = above.missed + above.at_infinity + above.scale * error;
    upper = above.scale * upper * (1 + kPowersError) + extra;
    upper_near = above.scale * upper_near * (1 + kPowersError) + extra;
    lower = below.scale * (lower * (1 - kPowersError) - error) - below.missed;
    bracket = {std::max<Real>(0, lower), std::min<Real>(1, upper)};  // in this order NaN is not kept
    if (!(lower > 0)) return std::numeric_limits<Real>::infinity();
    return std::log(upper / lower) / std::max(std::log(upper / upper_near), kDeltaGap);
  }

  std::vector<SampledRelease> releases_;
  Real plain_mu_;
  Real epsilon_;
  Real tilt_ = 0;
  Real tilt_more_ = 0;
  Real tilt_less_ = 0;
  Real low_ = 0;  // the window of the sum of losses
  Real high_ = 0;
  std::vector<Real> loss_max_;  // of each release, above which it goes to infinity
};

bool is_sound(const SampledGroup& group) {
  constexpr Real kPureMax = 100;
  return std::isfinite(group.mu) && group.mu >= 0 && 0 < group.drawn && group.drawn <= group.population &&
         group.pure_epsilon >= 0 && group.pure_epsilon <= kPureMax;
}

/// Whether every record is in every sum once.
bool reads_all(const SampledGroup& group) {
  return group.drawn == group.population && (!group.with_replacement || group.population == 1);
}

/// Equal in releases of one profile: the shift, the rate, how many are drawn where it is with replacement, and the
/// epsilon of pure ones.
using Kind = std::array<Real, 4>;

Kind kind_of(const SampledGroup& group) {
  if (group.pure_epsilon > 0) return {0, 0, 0, group.pure_epsilon};
  const auto drawn = static_cast<Real>(group.drawn);
  return {group.mu, drawn / static_cast<Real>(group.population), group.with_replacement ? drawn : 0, 0};
}

/// What randomised response has and no epsilon-DP release is above: (e^epsilon - e^loss)+ / (1 + e^epsilon).
Polygon pure_profile(Real epsilon) { return {{0, std::tanh(epsilon / 2)}, {epsilon, 0}}; }

std::shared_ptr<const SymmetricProfile> profile_of(const SampledGroup& group) {
  if (group.pure_epsilon > 0) return std::make_shared<PolygonProfile>(pure_profile(group.pure_epsilon));
  if (group.with_replacement) return std::make_shared<MultisetProfile>(group.mu, group.drawn, group.population);
  return std::make_shared<SubsetProfile>(group.mu, kind_of(group)[1]);
}

/// All groups, equal ones counted together, and whole Gaussians as one.
struct Releases {
  std::vector<SampledRelease> composed;
  Real plain_mu = 0;
};

std::optional<Releases> releases_of(const std::vector<SampledGroup>& groups) {
  Real plain_square = 0;
  Real rounds_sum = 0;
  std::map<Kind, SampledRelease> by_kind;
  for (const SampledGroup& group : groups) {
    if (!is_sound(group)) return std::nullopt;
    const auto rounds = static_cast<Real>(group.rounds);
    const bool pure = group.pure_epsilon > 0;
    if ((group.mu == 0 && !pure) || group.rounds == 0) continue;
    if (!pure && reads_all(group)) {
      plain_square += group.mu * group.mu * rounds;
      continue;
    }
    if (!pure && (group.mu < kMuMin || group.mu > kMuMax)) return std::nullopt;
    rounds_sum += rounds;
    SampledRelease& release = by_kind[kind_of(group)];
    if (!release.profile) release = {profile_of(group), 0};
    release.rounds += rounds;
  }
  if (!(rounds_sum <= kComposedRoundsMax) || !std::isfinite(plain_square)) return std::nullopt;
  Releases out;
  out.plain_mu = std::sqrt(plain_square);
  if (!by_kind.empty() && out.plain_mu > kMuMax) return std::nullopt;
  out.composed.reserve(by_kind.size());
  for (const auto& [kind, release] : by_kind) out.composed.push_back(release);
  return out;
}

}  // namespace

std::optional<DeltaBracket> sampled_delta(const std::vector<SampledGroup>& groups, long double epsilon) {
  if (!(std::isfinite(epsilon) && epsilon >= 0)) return std::nullopt;
  std::optional<Releases> releases = releases_of(groups);
  if (!releases) return std::nullopt;
  if (releases->composed.empty()) {
    const Real delta = releases->plain_mu > 0 ? gaussian_profile(epsilon, releases->plain_mu) : 0;
    return DeltaBracket{delta * (1 - kPowersError), delta * (1 + kPowersError)};
  }
  return Composition(std::move(releases->composed), releases->plain_mu, epsilon).delta();
}

std::optional<Real> delta_above(const std::vector<SampledGroup>& groups, Real epsilon) {
  if (!(std::isfinite(epsilon) && epsilon >= 0)) return std::nullopt;
  std::optional<Releases> releases = releases_of(groups);
  if (!releases) return std::nullopt;
  if (releases->composed.empty())
    return releases->plain_mu > 0 ? gaussian_profile(epsilon, releases->plain_mu) * (1 + kPowersError) : 0;
  return Composition(std::move(releases->composed), releases->plain_mu, epsilon).upper();
}

std::optional<Real> delta_above(const std::vector<SampledRelease>& releases, const std::vector<SampledGroup>& groups,
                                Real epsilon) {
  if (!(std::isfinite(epsilon) && epsilon >= 0)) return std::nullopt;
  std::optional<Releases> all = releases_of(groups);
  if (!all || all->plain_mu > kMuMax) return std::nullopt;
  Real rounds = 0;
  for (const SampledRelease& release : all->composed) rounds += release.rounds;
  for (const SampledRelease& release : releases) {
    if (!release.profile || !(release.rounds >= 1)) return std::nullopt;
    rounds += release.rounds;
    all->composed.push_back(release);
  }
  if (!(rounds <= kComposedRoundsMax) || all->composed.empty()) return std::nullopt;
  if (all->composed.size() == 1 && rounds == 1 && all->plain_mu == 0)
    return all->composed.front().profile->height(epsilon) * (1 + kPowersError);
  return Composition(std::move(all->composed), all->plain_mu, epsilon).upper();
}

std::optional<Real> profile_delta(std::shared_ptr<const SymmetricProfile> profile, std::uint64_t rounds, Real epsilon) {
  return profile_delta(std::move(profile), rounds, 0, epsilon);
}

std::optional<Real> profile_delta(std::shared_ptr<const SymmetricProfile> profile, std::uint64_t rounds, Real plain_mu,
                                  Real epsilon) {
  if (!(std::isfinite(epsilon) && epsilon >= 0 && plain_mu >= 0 && plain_mu <= kMuMax)) return std::nullopt;
  const auto times = static_cast<Real>(rounds);
  if (rounds == 0 || times > kComposedRoundsMax) return std::nullopt;
  if (rounds == 1 && plain_mu == 0) return profile->height(epsilon) * (1 + kPowersError);
  return Composition({SampledRelease{std::move(profile), times}}, plain_mu, epsilon).upper();
}

}  // namespace undertone::verifier
