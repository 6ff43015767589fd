#include "shared/accounting/shuffling.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace undertone::accounting {
namespace {

releases::Epsilon epsilon_at(double value) { return releases::Epsilon::create(value).value(); }
releases::Delta delta_at(double value) { return releases::Delta::create(value).value(); }
releases::GaussianShift shift_at(double value) { return releases::GaussianShift::create(value).value(); }

TEST(ShufflingTest, TheClosedFormIsThePublishedOne) {
  // Reference table, rows 98, 100, 102, 104, 106.
  struct Row {
    std::uint64_t messages;
    double local;
    double delta;
    double epsilon;
  };
  for (const Row& row : {Row{100'000, 4.0, 1e-6, 0.534633991652}, Row{10'000, 1.0, 1e-6, 0.214025651931},
                         Row{10'000, 2.0, 1e-6, 0.500920087251}, Row{1'000, 1.0, 1e-5, 0.53198744136},
                         Row{1'000, 0.5, 1e-5, 0.253841820341}}) {
    SCOPED_TRACE(row.epsilon);
    EXPECT_NEAR(shuffled_epsilon_closed(row.messages, epsilon_at(row.local), delta_at(row.delta)).value(), row.epsilon,
                1e-9 * row.epsilon);
  }
  // Rows 108, 110, 112: out of its range.
  EXPECT_FALSE(shuffled_epsilon_closed(100, epsilon_at(0.5), delta_at(1e-5)));
  EXPECT_FALSE(shuffled_epsilon_closed(50, epsilon_at(0.1), delta_at(1e-6)));
}

TEST(ShufflingTest, TheNumericBoundIsTheReferenceAndNeverBelowIt) {
  // Rows 99 to 113 (the reference has a relative error of 1e-7; the bound is inflated by 1e-8 in delta).
  struct Row {
    std::uint64_t messages;
    double local;
    double delta;
    double epsilon;
  };
  for (const Row& row :
       {Row{100'000, 4.0, 1e-6, 0.169769747}, Row{10'000, 1.0, 1e-6, 0.0530053165}, Row{10'000, 2.0, 1e-6, 0.155045243},
        Row{1'000, 1.0, 1e-5, 0.154046812}, Row{1'000, 0.5, 1e-5, 0.0582674787}, Row{100, 0.5, 1e-5, 0.205096854},
        Row{100, 1.0, 1e-5, 0.553189811}, Row{50, 0.1, 1e-6, 0.0505875223}}) {
    SCOPED_TRACE(row.epsilon);
    const double found = shuffled_epsilon(row.messages, epsilon_at(row.local), delta_at(row.delta)).value();
    EXPECT_NEAR(found, row.epsilon, 1e-6 * row.epsilon);
    EXPECT_GE(found, row.epsilon * (1.0 - 1e-7));
  }
}

TEST(ShufflingTest, SilosThatDoNotLookAlikeNeedTwoEpsilons) {
  // Rows 115 to 117.
  EXPECT_NEAR(shuffled_silos_epsilon(50, epsilon_at(0.1), epsilon_at(1.0), delta_at(1e-6)).value(), 0.082834534, 1e-7);
  EXPECT_NEAR(shuffled_silos_epsilon(100, epsilon_at(0.05), epsilon_at(1.0), delta_at(1e-6)).value(), 0.0272757378,
              1e-7);
  EXPECT_NEAR(shuffled_silos_epsilon(100, epsilon_at(0.5), epsilon_at(2.0), delta_at(1e-6)).value(), 0.498345208, 1e-6);
}

TEST(ShufflingTest, TheBoundAgreesWithAnExactSumOverTheTwoCounts) {
  // The pair (P, Q) enumerated for few messages: for every (C, A, D) the two observable counts and both probabilities.
  constexpr int kOthers = 6;
  for (const double local : {0.3, 1.0, 2.0}) {
    for (const double at : {0.0, 0.1, 0.25}) {
      SCOPED_TRACE(fmt::format("local {} epsilon {}", local, at));
      const double clone = std::exp(-local);
      const double truth = 1.0 / (1.0 + std::exp(-local));
      double p[kOthers + 2][kOthers + 2] = {};
      double q[kOthers + 2][kOthers + 2] = {};
      for (int c = 0; c <= kOthers; ++c) {
        for (int a = 0; a <= c; ++a) {
          const double weight =
              std::exp(std::lgamma(kOthers + 1.0) - std::lgamma(c + 1.0) - std::lgamma(kOthers - c + 1.0)) *
              std::pow(clone, c) * std::pow(1.0 - clone, kOthers - c) *
              std::exp(std::lgamma(c + 1.0) - std::lgamma(a + 1.0) - std::lgamma(c - a + 1.0)) * std::pow(0.5, c);
          for (const int d : {0, 1}) {
            const double mass = weight * (d == 1 ? truth : 1.0 - truth);
            p[a + d][c - a + 1 - d] += mass;
            q[a + 1 - d][c - a + d] += mass;
          }
        }
      }
      double exact = 0.0;
      for (int i = 0; i < kOthers + 2; ++i)
        for (int j = 0; j < kOthers + 2; ++j) exact += std::max(0.0, p[i][j] - std::exp(at) * q[i][j]);
      const double bound = clone_delta(kOthers, local, local, at);
      EXPECT_GE(bound, exact * (1.0 - 1e-12));
      EXPECT_NEAR(bound, exact, 1e-7 * exact + 1e-11);
    }
  }
}

TEST(ShufflingTest, GaussianReportsGainWhereTheyCanAndSayWhereTheyCannot) {
  // Row 143 at (0.1, 2.9) gives 0.04803061; a search may only do better.
  const ShuffledRound gain = shuffled_gaussians(1000, shift_at(0.5 / 20), shift_at(0.5), delta_at(1e-6)).value();
  EXPECT_TRUE(gain.gains());
  EXPECT_NEAR(gain.local_epsilon, 0.0901383, 1e-6);
  EXPECT_LE(gain.epsilon, 0.04803061);
  EXPECT_GT(gain.epsilon, 0.03);
  // Its own bound holds at what it reports.
  const double spent = clone_delta(999, gain.record_epsilon, gain.silo_epsilon, gain.epsilon) +
                       (1.0 + std::exp(gain.epsilon)) * gain.total_variation;
  EXPECT_LE(spent, 1e-6);
  const ShuffledRound none = shuffled_gaussians(100, shift_at(0.05), shift_at(0.5), delta_at(1e-6)).value();
  EXPECT_FALSE(none.gains());
  EXPECT_EQ(none.epsilon, none.local_epsilon);
}

TEST(ShufflingTest, RefusesNumbersThatMeanNothing) {
  EXPECT_FALSE(shuffled_epsilon(0, epsilon_at(1.0), delta_at(1e-6)));
  EXPECT_FALSE(shuffled_epsilon(1'000'000'000'000, epsilon_at(1.0), delta_at(1e-6)));
  EXPECT_FALSE(shuffled_epsilon(100, epsilon_at(60.0), delta_at(1e-6)));
  EXPECT_FALSE(
      shuffled_gaussians(100, shift_at(1.0), shift_at(0.5), delta_at(1e-6)));  // a record moves more than a silo
}

}  // namespace
}  // namespace undertone::accounting
