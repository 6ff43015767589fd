#include "shared/mechanisms/binomial_sum/binomial_sum.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "shared/accounting/accountant.hpp"
#include "shared/accounting/gaussian_accountant.hpp"

namespace undertone::mechanisms {
namespace {

using Pmf = std::vector<double>;  // of 0, 1, 2, ...

releases::Epsilon epsilon(double value) { return releases::Epsilon::create(value).value(); }
releases::Delta delta(double value) { return releases::Delta::create(value).value(); }
BinomialParameters sum_parameters(std::int64_t grid, std::int64_t coins, noise::Rational heads) {
  return BinomialParameters::create(grid, coins, heads).value();
}
BinomialDemand demand(double at_epsilon, double at_delta, Eigen::Index dimension, std::int64_t vectors) {
  BinomialDemand out{epsilon(at_epsilon), delta(at_delta)};
  out.dimension = dimension;
  out.vectors = vectors;
  return out;
}

Pmf convolved(const Pmf& a, const Pmf& b) {
  Pmf sum(a.size() + b.size() - 1, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) sum[i + j] += a[i] * b[j];
  return sum;
}

Pmf coins_of(int coins, double p) {
  Pmf law{1.0};
  for (int i = 0; i < coins; ++i) law = convolved(law, {1.0 - p, p});
  return law;
}

/// Randomised rounding of a place on the grid {0 .. grid}.
Pmf rounding_of(double place, int grid) {
  Pmf law(static_cast<std::size_t>(grid) + 1, 0.0);
  const auto down = static_cast<std::size_t>(std::floor(place));
  law[down] += 1.0 - (place - std::floor(place));
  if (place > std::floor(place)) law[down + 1] += place - std::floor(place);
  return law;
}

/// The hockey-stick divergence of two laws with independent coordinates, exactly.
double divergence(const std::vector<Pmf>& p, const std::vector<Pmf>& q, double power) {
  double sum = 0.0;
  const auto visit = [&](const auto& self, std::size_t j, double in_p, double in_q) -> void {
    if (j == p.size()) {
      sum += std::max(0.0, in_p - power * in_q);
      return;
    }
    for (std::size_t i = 0; i < p[j].size(); ++i) self(self, j + 1, in_p * p[j][i], in_q * q[j][i]);
  };
  visit(visit, 0, 1.0, 1.0);
  return sum;
}

/// What the certified bound says of several equal rounds.
double certified_delta(const BinomialShift& bound, double at_epsilon, double rounds = 1.0) {
  const releases::GaussianShift total =
      releases::GaussianShift::create(bound.shift.value() * std::sqrt(rounds)).value();
  return rounds * bound.failure + std::exp(accounting::log_delta_of_gaussian(at_epsilon, total));
}

TEST(ScalarBinomialTest, TheFewestCoinsAreThoseOfTheReference) {
  // Spec heavy-tailed 3.1, p = 1/4, method (a).
  struct Row {
    std::int64_t vectors;
    std::int64_t grid;
    double epsilon;
    double delta;
    std::int64_t coins;
    std::int64_t coins_of_one;
  };
  for (const Row& row :
       {Row{100, 10, 1.0, 1e-5, 7681, 77}, Row{1000, 32, 1.0, 1e-6, 98503, 99}, Row{1000, 32, 4.0, 1e-6, 8122, 9}}) {
    SCOPED_TRACE(row.coins);
    const std::int64_t found = scalar_binomial_coins({1, 4}, row.grid, epsilon(row.epsilon), delta(row.delta)).value();
    EXPECT_EQ(found, row.coins);
    EXPECT_EQ((found + row.vectors - 1) / row.vectors, row.coins_of_one);
    EXPECT_LE(scalar_binomial_delta(found, {1, 4}, row.grid, row.epsilon), row.delta);
    EXPECT_GT(scalar_binomial_delta(found - 1, {1, 4}, row.grid, row.epsilon), row.delta);
  }
}

TEST(ScalarBinomialTest, IsTheWorstOfAllNeighboursOfTheWholeProtocol) {
  // Three records of {0, 1/2, 1, 3/2, 2} on the grid {0, 1, 2}, 4 coins each: the law of the total count of ones by
  // convolution of the three reports, for every pair of neighbours.
  constexpr int kGrid = 2;
  for (const noise::Rational heads : {noise::Rational{1, 4}, noise::Rational{1, 2}}) {
    const double p = static_cast<double>(heads.numerator) / static_cast<double>(heads.denominator);
    std::vector<Pmf> report;
    for (int half = 0; half <= 2 * kGrid; ++half)
      report.push_back(convolved(rounding_of(0.5 * half, kGrid), coins_of(4, p)));
    for (const double at : {0.0, 0.3, 1.0, 2.5}) {
      SCOPED_TRACE(fmt::format("p {} epsilon {}", p, at));
      const double bound = scalar_binomial_delta(12, heads, kGrid, at);
      double worst = 0.0;
      for (const Pmf& second : report) {
        for (const Pmf& third : report) {
          const Pmf others = convolved(second, third);
          for (const Pmf& before : report)
            for (const Pmf& after : report)
              worst =
                  std::max(worst, divergence({convolved(others, before)}, {convolved(others, after)}, std::exp(at)));
        }
      }
      EXPECT_LE(worst, bound);
      EXPECT_NEAR(worst, bound, 1e-8 * bound);  // attained where nothing of the others is rounded
    }
  }
}

TEST(ScalarBinomialTest, NoSmallerShiftCostsMore) {
  for (const double at : {0.0, 0.5, 2.0}) {
    double before = 0.0;
    for (std::int64_t shift = 1; shift <= 12; ++shift) {
      const double found = scalar_binomial_delta(400, {1, 4}, shift, at);
      EXPECT_GE(found, before);
      before = found;
    }
  }
}

TEST(PublishedBinomialTest, ReproducesTheReference) {
  // Spec heavy-tailed 3.1, p = 1/4, method (b): the least b, and the mean squared error of the mean.
  struct Row {
    Eigen::Index dimension;
    std::int64_t vectors;
    double epsilon;
    double delta;
    std::int64_t grid;
    std::int64_t coins;
    double squared_error;
  };
  for (const Row& row :
       {Row{1, 1000, 1.0, 1e-6, 64, 795, 1.458e-4}, Row{10, 1000, 1.0, 1e-5, 64, 706, 1.295e-3},
        Row{100, 1000, 1.0, 1e-5, 100, 1775, 1.332e-2}, Row{100, 10'000, 0.5, 1e-6, 64, 371, 6.818e-4}}) {
    SCOPED_TRACE(row.coins);
    const auto at = [&](std::int64_t coins) {
      return published_binomial_epsilon(coins * row.vectors, {1, 4}, row.grid, row.dimension, delta(row.delta)).value();
    };
    EXPECT_LE(at(row.coins), row.epsilon);
    EXPECT_GT(at(row.coins - 1), row.epsilon);
    const BinomialParameters one = sum_parameters(row.grid, row.coins, {1, 4});
    const auto vectors = static_cast<double>(row.vectors);
    const double step = 2.0 / static_cast<double>(row.grid);
    const double found = static_cast<double>(row.dimension) * step * step * (0.25 + one.noise_variance()) / vectors;
    EXPECT_NEAR(found, row.squared_error, 5e-4 * row.squared_error);
    // The certified bound never asks for more.
    const BinomialShift bound = binomial_shift(one, row.dimension, row.vectors, row.delta / 1024.0).value();
    EXPECT_LE(accounting::epsilon_of_gaussian(bound.shift, delta(row.delta * (1.0 - 1.0 / 1024.0))),
              0.75 * row.epsilon);
  }
}

TEST(PublishedBinomialTest, RefusesWhatItsConditionExcludes) {
  EXPECT_FALSE(published_binomial_epsilon(100, {1, 4}, 8, 10, delta(1e-5)));
}

TEST(BinomialShiftTest, IsNeverBelowTheExactCostOfANumber) {
  int bounds = 0;
  for (const noise::Rational heads :
       {noise::Rational{1, 2}, noise::Rational{1, 4}, noise::Rational{1, 3}, noise::Rational{1, 10}}) {
    for (const std::int64_t coins : {33, 150, 1000, 5000, 40'000}) {
      for (const std::int64_t grid : {1, 3, 9, 20}) {
        for (const double failure : {1e-2, 1e-6, 1e-15}) {
          const auto bound = binomial_shift(sum_parameters(grid, coins, heads), 1, 1, failure);
          if (!bound) continue;
          ++bounds;
          for (const double at : {0.0, 0.1, 1.0, 3.0, 5.0, 8.0}) {
            SCOPED_TRACE(fmt::format("p {}/{} coins {} grid {} failure {} epsilon {}", heads.numerator,
                                     heads.denominator, coins, grid, failure, at));
            EXPECT_GE(certified_delta(*bound, at), scalar_binomial_delta(coins, heads, grid, at) * (1.0 - 1e-8));
          }
        }
      }
    }
  }
  EXPECT_GE(bounds, 150);
}

TEST(BinomialShiftTest, IsNotFarAboveTheExactCostOfANumber) {
  // Skew and the slope far out cost a shift that is some parts in a hundred larger.
  for (const noise::Rational heads : {noise::Rational{1, 4}, noise::Rational{1, 2}}) {
    const BinomialShift bound = binomial_shift(sum_parameters(32, 90'000, heads), 1, 1, 1e-9).value();
    for (const double at : {0.1, 0.4, 0.8}) {
      const double exact = scalar_binomial_delta(90'000, heads, 32, at);
      ASSERT_GT(exact, 1e-7);
      EXPECT_LE(certified_delta(bound, at), 1.8 * exact);
    }
  }
}

TEST(BinomialShiftTest, APartOfAMoveCostsThatPartOfTheShiftHoweverItIsRounded) {
  // What makes ||y - y'|| <= g enough: places between grid points, at which the rounding is anything from certain to a
  // fair coin. The law of a rounded place and n coins is exact.
  for (const double p : {0.5, 0.25, 0.1}) {
    const noise::Rational heads = p == 0.5    ? noise::Rational{1, 2}
                                  : p == 0.25 ? noise::Rational{1, 4}
                                              : noise::Rational{1, 10};
    for (const int coins : {300, 900}) {
      for (const int grid : {1, 2, 5}) {
        const BinomialShift bound = binomial_shift(sum_parameters(grid, coins, heads), 1, 1, 1e-5).value();
        const Pmf noise = coins_of(coins, p);
        std::vector<std::pair<double, Pmf>> laws;
        for (const double place : {0.0, 0.03, 0.31, 0.5, 0.62, 0.97, 1.0, 1.25, 1.9, 3.5, 4.4, 5.0})
          if (place <= grid) laws.emplace_back(place, convolved(noise, rounding_of(place, grid)));
        for (const auto& [from, before] : laws) {
          for (const auto& [to, after] : laws) {
            if (from == to) continue;
            const BinomialShift part{
                releases::GaussianShift::create(bound.shift.value() * std::abs(from - to) / grid).value(),
                bound.failure};
            for (const double at : {0.0, 0.02, 0.1, 0.3, 1.0}) {
              SCOPED_TRACE(fmt::format("p {} coins {} grid {} from {} to {} epsilon {}", p, coins, grid, from, to, at));
              EXPECT_GE(certified_delta(part, at), divergence({before}, {after}, std::exp(at)) * (1.0 - 1e-9));
            }
          }
        }
      }
    }
  }
}

TEST(BinomialShiftTest, IsNeverBelowTheExactCostOfAVector) {
  // Two and three coordinates, pairs of vectors in the ball of radius g/2 around the middle of the grid, rounded at
  // random; all others' coins are in one law of n.
  struct Pair {
    int grid;
    std::vector<double> from;
    std::vector<double> to;
  };
  const std::vector<Pair> pairs{
      {2, {2.0, 1.0}, {0.0, 1.0}},                         // from one end to the other
      {2, {1.7, 1.7}, {0.3, 0.3}},                         // fractions of 0.7 and 0.3
      {2, {1.5, 1.5}, {0.5, 0.5}},                         // every rounding as uncertain as it can be
      {1, {0.85, 0.85}, {0.15, 0.15}},                     //
      {2, {1.5, 1.85, 1.0}, {0.5, 0.15, 1.0}},             //
      {2, {1.577, 1.577, 1.577}, {0.423, 0.423, 0.423}},   // the diagonal
      {1, {0.788, 0.788, 0.788}, {0.212, 0.212, 0.212}}};  // roundings move it by 0.73 on the average, the vector by 1
  for (const noise::Rational heads : {noise::Rational{1, 4}, noise::Rational{1, 2}}) {
    const double p = static_cast<double>(heads.numerator) / static_cast<double>(heads.denominator);
    for (const Pair& pair : pairs) {
      const auto dimension = static_cast<Eigen::Index>(pair.from.size());
      const int coins = dimension == 2 ? 240 : 96;
      const Pmf noise = coins_of(coins, p);
      const BinomialShift bound =
          binomial_shift(sum_parameters(pair.grid, coins / 12, heads), dimension, 12, 1e-5).value();
      std::vector<Pmf> before;
      std::vector<Pmf> after;
      for (std::size_t j = 0; j < pair.from.size(); ++j) {
        before.push_back(convolved(noise, rounding_of(pair.from[j], pair.grid)));
        after.push_back(convolved(noise, rounding_of(pair.to[j], pair.grid)));
      }
      for (const double at : {0.0, 0.2, 0.6, 1.2}) {
        SCOPED_TRACE(
            fmt::format("p {} grid {} dimension {} from {} epsilon {}", p, pair.grid, dimension, pair.from[0], at));
        const double certified = certified_delta(bound, at);
        EXPECT_GE(certified, divergence(before, after, std::exp(at)));
        EXPECT_GE(certified, divergence(after, before, std::exp(at)));
      }
    }
  }
}

TEST(BinomialShiftTest, ComposesOverRoundsAsItSays) {
  // Two rounds of a number, in either direction: exactly the law of two coordinates that both move by g.
  constexpr int kGrid = 3;
  constexpr int kCoins = 300;
  for (const double p : {0.25, 0.5}) {
    const noise::Rational heads = p == 0.5 ? noise::Rational{1, 2} : noise::Rational{1, 4};
    const BinomialShift bound = binomial_shift(sum_parameters(kGrid, kCoins, heads), 1, 1, 1e-6).value();
    Pmf up = convolved(coins_of(kCoins, p), rounding_of(kGrid, kGrid));
    Pmf stay = convolved(coins_of(kCoins, p), rounding_of(0.0, kGrid));
    for (const double at : {0.0, 0.4, 1.0}) {
      SCOPED_TRACE(fmt::format("p {} epsilon {}", p, at));
      const double certified = certified_delta(bound, at, 2.0);
      EXPECT_GE(certified, divergence({up, up}, {stay, stay}, std::exp(at)));
      EXPECT_GE(certified, divergence({up, stay}, {stay, up}, std::exp(at)));
      EXPECT_GE(certified, divergence({stay, stay}, {up, up}, std::exp(at)));
    }
  }
}

TEST(BinomialShiftTest, IsTwoReleasesToTheAccountant) {
  BinomialDemand asked = demand(1.0, 1e-6, 100, 1000);
  asked.rounds = 50;
  const BinomialChoice choice = choose_binomial_parameters(asked).value();
  const BinomialShift bound = binomial_shift(choice.parameters, 100, 1000, 1e-6 / 1024.0 / 50.0).value();
  const accounting::Account found =
      accounting::account({{accounting::GaussianEvent{bound.shift}, 50},
                           {accounting::ApproximateEvent{epsilon(1e-9), bound.failure}, 50}},
                          delta(1e-6))
          .value();
  EXPECT_LE(found.epsilon, 1.0 + 1e-4);  // what adding up the failures first gives is 1
  EXPECT_GE(found.epsilon, 0.99);
}

TEST(BinomialShiftTest, RefusesTooFewCoinsAndNonsense) {
  EXPECT_FALSE(binomial_shift(sum_parameters(4, 3, {1, 2}), 10, 1, 1e-6));
  EXPECT_FALSE(binomial_shift(sum_parameters(4, 1000, {1, 2}), 0, 1, 1e-6));
  EXPECT_FALSE(binomial_shift(sum_parameters(4, 1000, {1, 2}), 1, 0, 1e-6));
  EXPECT_FALSE(binomial_shift(sum_parameters(4, 1000, {1, 2}), 1, 1, 0.0));
  EXPECT_FALSE(binomial_shift(sum_parameters(4, 1000, {1, 2}), 1, 1, std::nan("")));
  const auto many = binomial_shift(sum_parameters(4, BinomialParameters::kCoinsMax, {1, 2}), 1, 1'000'000, 1e-6);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::LimitExceeded);
}

TEST(BinomialParametersTest, RefuseWhatIsOutOfRange) {
  EXPECT_FALSE(BinomialParameters::create(0, 1, {1, 2}));
  EXPECT_FALSE(BinomialParameters::create(BinomialParameters::kGridMax + 1, 1, {1, 2}));
  EXPECT_FALSE(BinomialParameters::create(1, 0, {1, 2}));
  EXPECT_FALSE(BinomialParameters::create(1, -5, {1, 2}));
  EXPECT_FALSE(BinomialParameters::create(1, BinomialParameters::kCoinsMax + 1, {1, 2}));
  EXPECT_FALSE(BinomialParameters::create(1, 1, {0, 1}));
  EXPECT_FALSE(BinomialParameters::create(1, 1, {2, 3}));
  EXPECT_FALSE(BinomialParameters::create(1, 1, {1, 65'537}));
  // b p (1 - p) = 100 x 3/16.
  EXPECT_DOUBLE_EQ(sum_parameters(1, 100, {1, 4}).noise_variance(), 18.75);
  EXPECT_EQ(sum_parameters(7, 100, {1, 4}).bits(), 107);
}

TEST(BinomialChoiceTest, MeetsWhatItWasAskedForAndNotMuchMore) {
  for (BinomialDemand asked : {demand(1.0, 1e-6, 1, 1000), demand(1.0, 1e-5, 10, 1000), demand(0.5, 1e-6, 100, 10'000),
                               demand(15.0, 1e-6, 100, 1000), demand(1.0, 1e-6, 20'000, 200), demand(8.0, 0.1, 2, 3)}) {
    for (const std::uint64_t rounds : {1U, 20U}) {
      asked.rounds = rounds;
      SCOPED_TRACE(fmt::format("epsilon {} dimension {} rounds {}", asked.epsilon.value(), asked.dimension, rounds));
      const BinomialChoice choice = choose_binomial_parameters(asked).value();
      EXPECT_LE(choice.excess, asked.excess_max);
      const std::int64_t grid = choice.parameters.grid();
      const std::int64_t coins = choice.parameters.coins();
      const auto meets = [&](std::int64_t each) {
        if (asked.dimension == 1 && rounds == 1)
          return scalar_binomial_delta(each * asked.vectors, {1, 2}, grid, asked.epsilon.value()) <=
                 asked.delta.value();
        const auto times = static_cast<double>(rounds);
        const auto bound = binomial_shift(sum_parameters(grid, each, {1, 2}), asked.dimension, asked.vectors,
                                          asked.delta.value() / 1024.0 / times);
        return bound && certified_delta(*bound, asked.epsilon.value(), times) <= asked.delta.value();
      };
      EXPECT_TRUE(meets(coins));
      EXPECT_FALSE(coins > 1 && meets(coins - 1 - coins / 1000));
    }
  }
}

TEST(BinomialChoiceTest, NeedsLessThanHalfOfThePublishedCoins) {
  // d = 100, s = 1000, epsilon 1, delta 1e-5, g = 100: the closed form takes 1775 coins of p = 1/4, 333 of variance.
  BinomialDemand asked = demand(1.0, 1e-5, 100, 1000);
  asked.excess_max = 0.125;
  const BinomialChoice choice = choose_binomial_parameters(asked).value();
  const double step = 2.0 / static_cast<double>(choice.parameters.grid());
  EXPECT_LT(step * step * choice.parameters.noise_variance(), 0.5 * 4.0 / 1e4 * 1775.0 * 3.0 / 16.0);
}

TEST(BinomialChoiceTest, SaysWhichEpsilonsAndDeltasItServes) {
  const auto much = choose_binomial_parameters(demand(15.5, 1e-6, 10, 100));
  ASSERT_FALSE(much);
  EXPECT_NE(much.error().message.find("epsilon <= 15, got 15.5"), std::string::npos) << much.error().message;
  const auto half = choose_binomial_parameters(demand(1.0, 0.5, 10, 100));
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().message.find("delta < 0.5, got 0.5"), std::string::npos) << half.error().message;
  EXPECT_FALSE(choose_binomial_parameters(demand(1.0, 1e-6, 0, 100)));
  EXPECT_FALSE(choose_binomial_parameters(demand(1.0, 1e-6, 10, 0)));
}

TEST(BinomialChoiceTest, SaysHowManyVectorsItWouldTake) {
  BinomialDemand asked = demand(1.0, 1e-5, 100, 50);
  asked.coins_max = 20;
  const auto refused = choose_binomial_parameters(asked);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
  const std::string& message = refused.error().message;
  EXPECT_NE(message.find("of each of 50 vectors, at most 20 are allowed"), std::string::npos) << message;
  const std::size_t at = message.find("allowed: ");
  ASSERT_NE(at, std::string::npos) << message;
  // It tells the truth.
  asked.vectors = std::stoll(message.substr(at + 9));
  EXPECT_GT(asked.vectors, 100);
  EXPECT_LT(asked.vectors, 1000);
  EXPECT_TRUE(choose_binomial_parameters(asked));
  --asked.vectors;
  EXPECT_FALSE(choose_binomial_parameters(asked));
  // The variance of a record's rounding is to be a fourth of its coins': fewer than 4 coins never serve.
  asked.coins_max = 2;
  const auto never = choose_binomial_parameters(asked);
  ASSERT_FALSE(never);
  EXPECT_NE(never.error().message.find("would not do either"), std::string::npos) << never.error().message;
}

}  // namespace
}  // namespace undertone::mechanisms
