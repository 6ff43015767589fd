#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "shared/base/result.hpp"
#include "shared/noise/discrete_samplers.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// The public integers of a binomial vector sum: every coordinate of every record is rounded to the grid {0 .. g}, b
/// coins of heads probability p are added, and the report of it is that many ones among g + b bits.
/// Source: spec heavy-tailed 3.1 (Algorithms 16, 17). p = 1/2 is allowed: it needs the fewest coins for a variance.
class BinomialParameters {
 public:
  static constexpr std::int64_t kGridMax = std::int64_t{1} << 16U;
  static constexpr std::int64_t kCoinsMax = std::int64_t{1} << 32U;  // of a record's coordinate

  /// @param grid g in 1 .. kGridMax @param coins b in 1 .. kCoinsMax
  /// @param heads p in (0, 1/2], of a denominator of at most 2^16
  [[nodiscard]] static Result<BinomialParameters> create(std::int64_t grid, std::int64_t coins, noise::Rational heads);
  [[nodiscard]] std::int64_t grid() const noexcept { return grid_; }
  [[nodiscard]] std::int64_t coins() const noexcept { return coins_; }
  [[nodiscard]] noise::Rational heads() const noexcept { return heads_; }
  /// g + b: the bits of a record's coordinate, and the most ones among them.
  [[nodiscard]] std::int64_t bits() const noexcept { return grid_ + coins_; }
  /// b p (1 - p), grid units squared.
  [[nodiscard]] double noise_variance() const;

 private:
  BinomialParameters(std::int64_t grid, std::int64_t coins, noise::Rational heads) noexcept
      : grid_(grid), coins_(coins), heads_(heads) {}
  std::int64_t grid_;
  std::int64_t coins_;
  noise::Rational heads_;
};

/// What the total counts of one round cost under replacement of one record, whatever the other records are: except with
/// probability `failure` at most as much as a Gaussian release with this shift. Its trade-off function is at least that
/// of the two together, (0, failure)-DP and Gaussian, so that it composes as two releases of one footprint:
///   GaussianEvent{shift} and ApproximateEvent{any small epsilon, failure};
/// R adaptive rounds are (epsilon, R failure + delta)-DP if R Gaussian releases of this shift are (epsilon, delta)-DP.
struct BinomialShift {
  releases::GaussianShift shift;
  double failure = 0.0;
};

/// The certified bound for any dimension. Its argument:
///  (1) Replacing a record moves a silo's vector on the grid from y to y', ||y - y'|| <= g. A coordinate of the total
///      is floor(y) + Ber(y - floor(y)) + Z, Z ~ Bin(n, p), and something that does not depend on the record.
///      Coordinates are independent.
///  (2) Let y >= y'. The rounded y is above the rounded y' in the likelihood ratio order, and adding Z, whose law is
///      log-concave, keeps that order, so that the best tests are thresholds. With F(x) = P[Z < x] at the integers and
///      linear between them, P[rounded y + Z < t] = F(t - y). With the normal score N(x) = Phi^-1(F(x)) a threshold has
///      the power of a Gaussian test of shift N(t - y') - N(t - y). Where neither side of a test is rarer than f that
///      is at most m (y - y'), m the largest slope of N there; elsewhere the test is one that a release which fails
///      with probability f allows. The trade-off function is linear between thresholds, and lies above a convex one if
///      its corners do. It bounds the other order too: what it is compared with is its own inverse.
///  (3) Trade-off functions of independent coordinates multiply: Gaussians of shifts m |y_j - y'_j| are one of at most
///      m g. Rounding costs nothing: it needs neither the sqrt d of spec heavy-tailed 3.1(b) nor a part of the failure.
/// m is found by adding up the law from its far ends in extended precision, with an allowance for every rounding.
/// Source: trade-off functions: Dong, Roth, Su 2022; (2): Shaked and Shanthikumar 2007, Theorem 1.C.9.
/// @param vectors whose coins are certainly in the total: those of records of honest silos
/// @param failure in (0, 1): shared by the coordinates, it comes off the account's delta
/// @return an error where there are too few coins for any bound, or too many to compute one
[[nodiscard]] Result<BinomialShift> binomial_shift(const BinomialParameters& parameters, Eigen::Index dimension,
                                                   std::int64_t vectors, double failure);

/// The smallest delta of one number's count at an epsilon: the hockey-stick divergence of Z + shift and Z in both
/// orders, Z ~ Bin(coins, heads), by a sum over its support, rounded up. No smaller shift has a larger one, and no
/// sharper bound is true: a record that goes from one end of the range to the other attains it.
/// @param coins of all records together @param shift g >= 1 @param epsilon >= 0
/// Source: spec heavy-tailed 3.1(a).
[[nodiscard]] double scalar_binomial_delta(std::int64_t coins, noise::Rational heads, std::int64_t shift,
                                           double epsilon);

/// The fewest coins of all records together for which a number's count is (epsilon, delta)-DP, exactly.
/// @return an error where that is more than can be computed
[[nodiscard]] Result<std::int64_t> scalar_binomial_coins(noise::Rational heads, std::int64_t shift,
                                                         releases::Epsilon epsilon, releases::Delta delta);

/// The published closed form for one round, to compare with: the count moves by at most g + sqrt d, both roundings
/// coupled. @param coins of all records together
/// @return an error where its condition does not hold: coins p (1 - p) >= max(23 ln(10 d/delta), 2 g)
/// Source: Agarwal et al. 2018, Theorem 1, as in spec heavy-tailed 3.1(b), l2-ball row.
[[nodiscard]] Result<double> published_binomial_epsilon(std::int64_t coins, noise::Rational heads, std::int64_t grid,
                                                        Eigen::Index dimension, releases::Delta delta);

/// What parameters are wanted for. Neither the clip norm nor anything else with a unit matters: both scale.
struct BinomialDemand {
  releases::Epsilon epsilon;  // of all rounds together, at most 15
  releases::Delta delta;      // of all rounds together, below 1/2
  std::uint64_t rounds = 1;
  Eigen::Index dimension = 1;
  std::int64_t vectors = 1;                                // at least so many honest records in every round
  std::int64_t coins_max = BinomialParameters::kCoinsMax;  // of a record's coordinate
  /// How much more variance a sum may have than the Gaussian's of the same guarantee, as a part of it. A coarser grid
  /// needs fewer coins and costs more of it.
  double excess_max = 0.25;
};

struct BinomialChoice {
  BinomialParameters parameters;
  double excess = 0.0;  // of the variance, records rounded one by one
};

/// The coarsest grid and with it the fewest coins, p = 1/2, that meet a demand: exactly for one number in one round, by
/// `binomial_shift` else. @return an error that names the range of epsilon or delta, or how many vectors it would take
[[nodiscard]] Result<BinomialChoice> choose_binomial_parameters(const BinomialDemand& demand);

/// What one round of several is wanted for, whose shift somebody else chose.
struct BinomialRound {
  releases::GaussianShift shift;
  double failure = 0.0;  // in (0, 1)
  Eigen::Index dimension = 1;
  std::int64_t vectors = 1;                                // at least so many honest records
  std::int64_t coins_max = BinomialParameters::kCoinsMax;  // of a record's coordinate
  double excess_max = 0.25;                                // @see BinomialDemand
};

/// The same choice for one round: certified by `binomial_shift` to cost at most the shift, but for the failure.
[[nodiscard]] Result<BinomialChoice> binomial_parameters_for(const BinomialRound& round);

}  // namespace undertone::mechanisms
