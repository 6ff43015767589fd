#include "shared/mechanisms/binomial_sum/binomial_sum.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/bisection.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone::mechanisms {
namespace {

constexpr double kVarianceMax = 0x1p34;  // 131072 standard deviations of one: a few seconds, 100 MB
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 40U;
constexpr std::int64_t kRemedyMax = 1024;  // times as many vectors are tried where there are too few
constexpr double kEpsilonMax = 15.0;
constexpr double kDeltaMax = 0.5;
constexpr double kFailureShare = 0x1p-10;  // of delta, what a choice leaves to failures

double probability(noise::Rational heads) {
  return static_cast<double>(heads.numerator) / static_cast<double>(heads.denominator);
}

double variance_of(std::int64_t coins, noise::Rational heads) {
  const double p = probability(heads);
  return static_cast<double>(coins) * p * (1.0 - p);
}

/// One side of a binomial law: weights of mode, mode - 1, ... as parts of the mode's.
struct Side {
  std::int64_t mode = 0;
  std::vector<long double> weights;
  long double omitted = 0.0L;  // at least the weight of all that follow
};

/// @param reach after how many standard deviations nothing matters
Side below_mode(std::int64_t coins, std::int64_t mode, long double p, double reach) {
  Side side;
  side.mode = mode;
  const long double odds = (1.0L - p) / p;
  const auto n = static_cast<long double>(coins);
  const auto ratio_at = [&](std::int64_t x) {  // P[x - 1] / P[x]
    const auto at = static_cast<long double>(x);
    return at / (n - at + 1.0L) * odds;
  };
  const long double least = expl(-0.5L * static_cast<long double>(reach) * reach);
  long double weight = 1.0L;
  std::int64_t x = mode;
  while (true) {
    side.weights.push_back(weight);
    if (x == 0) return side;
    const long double ratio = ratio_at(x);
    if (weight < least) {  // ratios fall from here on
      side.omitted = weight * ratio / (1.0L - ratio) * 1.001L;
      return side;
    }
    weight *= ratio;
    --x;
  }
}

/// Both sides: `below` of Bin(n, p), `above` of Bin(n, 1 - p), which is the same law counted from the other end.
struct Law {
  Side below;
  Side above;
  long double total = 0.0L;  // of all weights
};

Law law_of(std::int64_t coins, noise::Rational heads, double reach) {
  const auto p = static_cast<long double>(heads.numerator) / static_cast<long double>(heads.denominator);
  const auto mode = std::min<std::int64_t>(
      coins,
      static_cast<std::int64_t>((releases::UInt128{heads.numerator} * (static_cast<releases::UInt128>(coins) + 1)) /
                                heads.denominator));
  Law law{below_mode(coins, mode, p, reach), below_mode(coins, coins - mode, 1.0L - p, reach)};
  const auto add_up = [](const Side& side) {  // from the small end
    long double sum = side.omitted;
    for (auto weight = side.weights.rbegin(); weight != side.weights.rend(); ++weight) sum += *weight;
    return sum;
  };
  law.total = add_up(law.below) + add_up(law.above) - 1.0L;  // the mode is on both
  return law;
}

/// The largest slope of the normal score between g cells before the cell in which the lower tail passes `rare`, and the
/// mode. @return nothing where the score has no value so far out
std::optional<long double> largest_slope(const Side& side, long double total, std::int64_t grid, long double rare) {
  // F(t) adds up the weights of 0 .. t-1; t runs over first + 1 .. mode + 1.
  const auto count = static_cast<std::int64_t>(side.weights.size());
  const std::int64_t first = side.mode - count + 1;
  const auto weight_below = [&](std::int64_t t) { return side.weights[static_cast<std::size_t>(side.mode - t + 1)]; };
  const long double limit = rare * total * (1.0L - 1e-9L);
  std::int64_t begin = first + 1;
  for (long double sum = side.omitted; begin <= side.mode; ++begin) {
    sum += weight_below(begin);
    if (sum > limit) break;
  }
  begin -= grid + 1;
  if (begin < 1 || begin <= first) return std::nullopt;
  long double sum = side.omitted;
  long double at_begin = 0.0L;
  long double before = 0.0L;
  long double largest = 0.0L;
  for (std::int64_t t = first + 1; t <= side.mode + 1; ++t) {
    sum += weight_below(t);
    if (t < begin) continue;
    const long double score = -sqrtl(2.0L) * boost::math::erfc_inv(2.0L * sum / total);
    if (t == begin) {
      at_begin = sum;
    } else {  // F rises evenly over the cell, so that the score is steepest at its outer end
      const long double outer = std::max(fabsl(before), fabsl(score));
      largest = std::max(largest, weight_below(t) * expl(0.5L * outer * outer));
    }
    before = score;
  }
  // A relative error e of F <= 0.9 moves ln phi at its score by at most |score| F / phi e < 7 e, below the mode by at
  // most 1.5 e. Every weight and sum was rounded a few times, and `omitted` may be too large by itself.
  const long double rounding = 16.0L * static_cast<long double>(count) * 0x1p-64L + side.omitted / at_begin;
  constexpr long double kSqrtTwoPi = 2.50662827463100050242L;
  return largest * kSqrtTwoPi / total * (1.0L + 10.0L * rounding + 1e-15L);
}

/// At least the largest slope of the normal score of Bin(coins, heads), for tails above `rare` and shifts up to `grid`.
std::optional<double> score_slope(std::int64_t coins, noise::Rational heads, std::int64_t grid, double rare) {
  const double stddev = std::sqrt(variance_of(coins, heads));
  // A law this coarse has next to no score, or one that a shift leaves at once.
  if (!(stddev >= 1.0) || static_cast<double>(grid) > 20.0 * stddev) return std::nullopt;
  const double reach = std::sqrt(-2.0 * std::log(rare)) + static_cast<double>(grid + 1) / stddev + 12.0;
  const Law law = law_of(coins, heads, reach);
  WorkMeter::charge(4 * (law.below.weights.size() + law.above.weights.size()));
  const std::optional<long double> below = largest_slope(law.below, law.total, grid, rare);
  const std::optional<long double> above = largest_slope(law.above, law.total, grid, rare);
  if (!below || !above) return std::nullopt;
  return static_cast<double>(std::max(*below, *above)) * (1.0 + 1e-15);
}

/// Hockey-stick divergence of Z + shift from Z, for a law counted from the end that makes Z + shift the larger.
long double divergence_above(const Law& law, std::int64_t coins, std::int64_t shift, long double power) {
  const std::int64_t mode = law.below.mode;
  const auto weight = [&](std::int64_t x) {
    const Side& side = x <= mode ? law.below : law.above;
    const auto away = static_cast<std::size_t>(x <= mode ? mode - x : x - mode);
    return x < 0 || x > coins || away >= side.weights.size() ? 0.0L : side.weights[away];
  };
  long double sum = law.above.omitted;
  // The likelihood ratio of Z + shift rises: the first place from above where it is not worth it ends the sum.
  for (std::int64_t x = mode + static_cast<std::int64_t>(law.above.weights.size()) - 1; x >= 0; --x) {
    const long double gain = weight(x) - power * weight(x + shift);
    if (gain <= 0.0L) break;
    sum += gain;
  }
  return std::min(1.0L, sum / law.total);
}

Error out_of_range(std::string_view name, double value, double most) {
  return {ErrorCode::InvalidArgument, fmt::format("a binomial sum needs 0 < {0} and {0} {1} {2}, got {3}", name,
                                                  name == "delta" ? "<" : "<=", most, value)};
}

Status check_choice(const BinomialDemand& demand) {
  if (!(demand.epsilon.value() <= kEpsilonMax)) return out_of_range("epsilon", demand.epsilon.value(), kEpsilonMax);
  if (!(demand.delta.value() < kDeltaMax)) return out_of_range("delta", demand.delta.value(), kDeltaMax);
  if (demand.rounds < 1 || demand.rounds > kCountMax || demand.dimension < 1 || demand.vectors < 1 ||
      demand.vectors > static_cast<std::int64_t>(kCountMax)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("a binomial sum needs 1 .. {0} rounds and vectors and at least 1 coordinate, got {1}, {3} and {2}",
                    kCountMax, demand.rounds, demand.dimension, demand.vectors)};
  }
  if (demand.coins_max < 1 || demand.coins_max > BinomialParameters::kCoinsMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("coins of a record must be in 1 .. {}, got {}",
                                                         BinomialParameters::kCoinsMax, demand.coins_max)};
  }
  if (!(demand.excess_max > 0.0 && demand.excess_max <= 100.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the excess of the variance must be in (0, 100], got {}", demand.excess_max)};
  }
  return {};
}

Error too_many_coins(double variance) {
  return {
      ErrorCode::LimitExceeded,
      fmt::format("a binomial sum of variance {:.4g} a coordinate is needed, at most {:.4g} can be certified: fewer "
                  "rounds, a larger epsilon or a coarser grid",
                  variance, kVarianceMax)};
}

Error no_grid(const BinomialRound& round) {
  return {ErrorCode::LimitExceeded,
          fmt::format("the roundings of {} vectors leave an excess of the variance above {} on every grid up to {}",
                      round.vectors, round.excess_max, BinomialParameters::kGridMax)};
}

/// The least value in (low, high] that serves, where high does and larger ones serve if smaller ones do.
template <class Serves>
std::int64_t least(std::int64_t low, std::int64_t high, const Serves& serves) {
  return bisect_integers(SearchRange<std::int64_t>{low, high}, serves).high;
}

/// What each round of a demand may cost.
BinomialRound round_of(const BinomialDemand& demand) {
  const auto rounds = static_cast<double>(demand.rounds);
  const double failure = demand.delta.value() * kFailureShare / rounds;
  const releases::Delta rest = *releases::Delta::create(demand.delta.value() * (1.0 - kFailureShare) * (1.0 - 1e-12));
  const double shift = accounting::gaussian_shift_for(demand.epsilon, rest).value() / std::sqrt(rounds) * (1.0 - 1e-12);
  return {*releases::GaussianShift::create(shift),
          failure,
          demand.dimension,
          demand.vectors,
          demand.coins_max,
          demand.excess_max};
}

/// The fewest coins of a record for which a round costs at most its shift.
Result<std::int64_t> fewest_coins(const BinomialRound& round, std::int64_t grid) {
  const noise::Rational half{1, 2};
  const double rare = round.failure / static_cast<double>(round.dimension);
  const double slope_max = round.shift.value() / static_cast<double>(grid) * (1.0 - 1e-14);
  // The slope is nearly proportional to 1 / sqrt(coins), so that each try tells where the next should be.
  const auto vectors = static_cast<double>(round.vectors);
  double low = 0.0;
  double high = INFINITY;
  double coins = std::max(1.0, std::ceil(4.0 / (slope_max * slope_max) / vectors));
  while (high - low > 1.0 && high > low * (1.0 + 1e-6)) {
    if (!(0.25 * coins * vectors <= kVarianceMax)) return too_many_coins(0.25 * coins * vectors);
    if (WorkMeter::stopped()) return Error{ErrorCode::LimitExceeded, "the choice of coins was stopped"};
    const std::optional<double> slope = score_slope(static_cast<std::int64_t>(coins) * round.vectors, half, grid, rare);
    const double ratio = slope ? *slope / slope_max : 2.0;
    (ratio <= 1.0 ? high : low) = coins;
    const double next = std::ceil(coins * ratio * ratio);
    coins = next >= high ? high - std::max(1.0, std::floor(1e-6 * high)) : std::max(next, low + 1.0);
  }
  return static_cast<std::int64_t>(high);
}

/// What came of a demand: a choice, or how many coins of a record a grid that is not fine enough takes already.
struct Attempt {
  std::optional<BinomialChoice> choice;
  std::int64_t coins = 0;
};

/// @param exactly the guarantee of one number in one round, where that is all there is
Result<Attempt> attempt_at(const BinomialRound& round, const BinomialDemand* exactly) {
  const double mu = round.shift.value();
  const auto vectors = static_cast<double>(round.vectors);
  const auto excess_of = [&](std::int64_t grid, double noise) {  // a Gaussian has (g / mu)^2 on this grid
    return (0.25 * vectors + noise) * (mu / static_cast<double>(grid)) * (mu / static_cast<double>(grid)) - 1.0;
  };
  const auto fine = [&](std::int64_t grid) {  // were the coins' law a Gaussian
    const double shrunk = static_cast<double>(grid) / mu;
    return excess_of(grid, shrunk * shrunk) <= round.excess_max;
  };
  if (!fine(BinomialParameters::kGridMax)) return no_grid(round);
  const noise::Rational half{1, 2};
  // Whole coins of a record, and the far tails of few of them, can cost more than a Gaussian's.
  for (std::int64_t grid = least(0, BinomialParameters::kGridMax, fine);; grid += 1 + grid / 16) {
    if (grid > BinomialParameters::kGridMax) return no_grid(round);
    UNDERTONE_TRY(std::int64_t coins, exactly != nullptr
                                          ? scalar_binomial_coins(half, grid, exactly->epsilon, exactly->delta)
                                          : fewest_coins(round, grid));
    if (exactly != nullptr) coins = (coins + round.vectors - 1) / round.vectors;
    if (coins > round.coins_max) return Attempt{std::nullopt, coins};
    UNDERTONE_TRY(BinomialParameters parameters, BinomialParameters::create(grid, coins, half));
    const double excess = excess_of(grid, parameters.noise_variance() * vectors);
    if (excess <= round.excess_max) return Attempt{BinomialChoice{parameters, excess}, coins};
  }
}

Result<Attempt> attempt_at(const BinomialDemand& demand) {
  return attempt_at(round_of(demand), demand.dimension == 1 && demand.rounds == 1 ? &demand : nullptr);
}

}  // namespace

Result<BinomialParameters> BinomialParameters::create(std::int64_t grid, std::int64_t coins, noise::Rational heads) {
  if (grid < 1 || grid > kGridMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the grid must be in 1 .. {}, got {}", kGridMax, grid)};
  }
  if (coins < 1 || coins > kCoinsMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("coins of a record must be in 1 .. {}, got {}", kCoinsMax, coins)};
  }
  if (heads.numerator < 1 || heads.denominator > (std::uint64_t{1} << 16U) || heads.numerator > heads.denominator / 2) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("a coin's probability of heads must be in (0, 1/2], of a denominator of at most 65536, got "
                    "{}/{}",
                    heads.numerator, heads.denominator)};
  }
  return BinomialParameters(grid, coins, heads);
}

double BinomialParameters::noise_variance() const { return variance_of(coins_, heads_); }

Result<BinomialShift> binomial_shift(const BinomialParameters& parameters, Eigen::Index dimension, std::int64_t vectors,
                                     double failure) {
  if (dimension < 1 || vectors < 1 || !(failure > 0.0 && failure < 1.0)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("a binomial sum needs at least 1 coordinate and vector and a failure in (0, 1), got {}, {} "
                    "and {}",
                    dimension, vectors, failure)};
  }
  const double variance = parameters.noise_variance() * static_cast<double>(vectors);
  if (!(variance <= kVarianceMax)) return too_many_coins(variance);
  const std::optional<double> slope = score_slope(parameters.coins() * vectors, parameters.heads(), parameters.grid(),
                                                  failure / static_cast<double>(dimension));
  if (!slope) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} coins of {} vectors are too few to hide a move of {} with a failure of {}",
                             parameters.coins(), vectors, parameters.grid(), failure)};
  }
  UNDERTONE_TRY(const releases::GaussianShift shift,
                releases::GaussianShift::create(*slope * static_cast<double>(parameters.grid()) * (1.0 + 1e-15)));
  return BinomialShift{shift, failure};
}

double scalar_binomial_delta(std::int64_t coins, noise::Rational heads, std::int64_t shift, double epsilon) {
  UNDERTONE_CHECK(coins >= 1 && variance_of(coins, heads) <= kVarianceMax && shift >= 1 && epsilon >= 0.0);
  const Law law = law_of(coins, heads, 40.0);
  WorkMeter::charge(4 * (law.below.weights.size() + law.above.weights.size()));
  const Law mirrored{law.above, law.below, law.total};
  const long double power = expl(static_cast<long double>(epsilon));
  const long double delta =
      std::max(divergence_above(law, coins, shift, power), divergence_above(mirrored, coins, shift, power));
  return std::min(1.0, static_cast<double>(delta) * (1.0 + 1e-9));
}

Result<std::int64_t> scalar_binomial_coins(noise::Rational heads, std::int64_t shift, releases::Epsilon epsilon,
                                           releases::Delta delta) {
  UNDERTONE_CHECK(shift >= 1);
  // A further coin is noise of its own: more coins never have a larger delta.
  const auto serves = [&](std::int64_t coins) {
    return scalar_binomial_delta(coins, heads, shift, epsilon.value()) <= delta.value();
  };
  std::int64_t high = 1;
  while (!serves(high)) {
    high *= 2;
    if (variance_of(high, heads) > kVarianceMax) return too_many_coins(variance_of(high, heads));
  }
  return least(high / 2, high, serves);
}

Result<double> published_binomial_epsilon(std::int64_t coins, noise::Rational heads, std::int64_t grid,
                                          Eigen::Index dimension, releases::Delta delta) {
  UNDERTONE_CHECK(coins >= 1 && grid >= 1 && dimension >= 1);
  const double variance = variance_of(coins, heads);
  const auto g = static_cast<double>(grid);
  const auto d = static_cast<double>(dimension);
  const double least_variance = std::max(23.0 * std::log(10.0 * d / delta.value()), 2.0 * g);
  if (!(variance >= least_variance)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("the published bound needs a variance of at least {:.6g}, got {:.6g}", least_variance, variance)};
  }
  const double p = probability(heads);
  const double q = 1.0 - p;
  const double b_p = 2.0 / 3.0 * (p * p + q * q) + 1.0 - 2.0 * p;
  const double c_p = std::sqrt(2.0) * (3.0 * p * p * p + 3.0 * q * q * q + 2.0 * p * p + 2.0 * q * q);
  const double d_p = 4.0 / 3.0 * (p * p + q * q);
  const double l2 = g + std::sqrt(d);
  const double l1 = std::sqrt(d) * l2;
  const double at = delta.value();
  return l2 * std::sqrt(2.0 * std::log(1.25 / at) / variance) +
         (l2 * c_p * std::sqrt(std::log(10.0 / at)) + l1 * b_p) / (variance * (1.0 - at / 10.0)) +
         (2.0 / 3.0 * g * std::log(1.25 / at) + g * d_p * std::log(20.0 * d / at) * std::log(10.0 / at)) / variance;
}

Result<BinomialChoice> choose_binomial_parameters(const BinomialDemand& demand) {
  if (const Status checked = check_choice(demand); !checked) return checked.error();
  UNDERTONE_TRY(const Attempt attempt, attempt_at(demand));
  if (attempt.choice) return *attempt.choice;
  // More vectors bring more coins and more roundings, which ask for a finer grid: whether they help is tried.
  BinomialDemand larger = demand;
  const auto serves = [&](std::int64_t vectors) {
    larger.vectors = vectors;
    const Result<Attempt> found = attempt_at(larger);
    return found && found->choice;
  };
  std::string remedy = fmt::format("{} would not do either", kRemedyMax * demand.vectors);
  for (std::int64_t factor = 2; factor <= kRemedyMax; factor *= 2) {
    if (!serves(factor * demand.vectors)) continue;
    const std::int64_t low = factor / 2 * demand.vectors;
    remedy = fmt::format("{} vectors would do", least(low, factor * demand.vectors, serves));
    break;
  }
  return Error{ErrorCode::LimitExceeded,
               fmt::format("epsilon {} at delta {} over {} rounds needs {} coins of each of {} vectors, at most {} are "
                           "allowed: {}",
                           demand.epsilon.value(), demand.delta.value(), demand.rounds, attempt.coins, demand.vectors,
                           demand.coins_max, remedy)};
}

Result<BinomialChoice> binomial_parameters_for(const BinomialRound& round) {
  UNDERTONE_TRY(const Attempt attempt, attempt_at(round, nullptr));
  if (attempt.choice) return *attempt.choice;
  BinomialRound larger = round;
  for (std::int64_t factor = 2; factor <= kRemedyMax; factor *= 2) {
    larger.vectors = factor * round.vectors;
    const Result<Attempt> found = attempt_at(larger, nullptr);
    if (!found || !found->choice) continue;
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("a round of shift {:.4g} needs {} coins of each of {} honest records, at most {} are "
                             "allowed: {} times as many records would do",
                             round.shift.value(), attempt.coins, round.vectors, round.coins_max, factor)};
  }
  return Error{
      ErrorCode::LimitExceeded,
      fmt::format("a round of shift {:.4g} needs {} coins of each of {} honest records, at most {} are allowed",
                  round.shift.value(), attempt.coins, round.vectors, round.coins_max)};
}

}  // namespace undertone::mechanisms
