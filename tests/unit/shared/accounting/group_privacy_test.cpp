#include "shared/accounting/group_privacy.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/accounting/gaussian_accountant.hpp"

namespace undertone::accounting {
namespace {

releases::GaussianShift of_record(double value) { return releases::GaussianShift::create(value).value(); }
releases::Delta at_delta(double value) { return releases::Delta::create(value).value(); }

/// Spec person-unit 12, rows 3 and 4: K = 100 of 10,000 slots, ten of them one person's.
TEST(GroupPrivacyTest, OneReleaseHasTheProfileOfTheReferenceRows) {
  const LossLawPtr law = group_law({of_record(0.1), 100, 10'000, false, 1}, 10).value();
  EXPECT_NEAR(law->delta(0.05) / 6.69157e-8, 1.0, 1e-5);
  EXPECT_NEAR(law->delta(0.2) / 1.5823e-31, 1.0, 1e-3);
}

/// Row 8, of 1,000 releases; row 9 is what it attains. Row 10, the record's own figure, is a trap. The rows are upper
/// bounds on a coarser grid than the program's: what is certified here may be less, and is never more than 2 % above.
TEST(GroupPrivacyTest, AThousandReleasesComposeToTheReferenceRow) {
  const Bracket ten = group_epsilon({{of_record(0.1), 100, 10'000, false, 1000}}, 10, at_delta(1e-6)).value();
  EXPECT_LE(ten.lower, 1.431);
  EXPECT_LE(ten.upper, 1.431 * 1.02);
  EXPECT_GE(ten.upper, 1.383);  // attained by some pair of data sets
  const Bracket one = group_epsilon({{of_record(0.1), 100, 10'000, false, 1000}}, 1, at_delta(1e-6)).value();
  EXPECT_LE(one.upper, 0.131);
  EXPECT_GE(one.upper, 0.1162);  // what so many releases are in the limit: mu = K / n sqrt(T (e^(mu^2) - 1))
}

/// Rows 18 to 21: a sampled run, q = .01, mu = .5, 200 releases.
TEST(GroupPrivacyTest, ASampledRunIsWhatTheReferenceRowsSay) {
  const std::vector<GroupRelease> run = {{of_record(0.5), 100, 10'000, false, 200}};
  for (const auto& [members, expected] :
       {std::pair(2, 0.752), std::pair(5, 2.008), std::pair(10, 4.32), std::pair(1, 0.355)}) {
    const Bracket found = group_epsilon(run, members, at_delta(1e-6)).value();
    EXPECT_LE(found.lower, expected) << members;
    EXPECT_LE(found.upper, expected * 1.02) << members;
    EXPECT_GE(found.upper, expected * 0.98) << members;
    EXPECT_LE(found.lower, found.upper);
  }
}

/// Rows 14 to 17: where all records are read it is k times the shift, exactly.
TEST(GroupPrivacyTest, WhereAllAreReadTheShiftsOfAPersonsRecordsAddUp) {
  const std::vector<GroupRelease> run = {{of_record(0.236704), 500, 500, false, 1}};
  for (const auto& [members, expected] :
       {std::pair(2, 2.12286), std::pair(5, 5.92618), std::pair(10, 13.507), std::pair(50, 125.454)}) {
    EXPECT_NEAR(group_epsilon(run, members, at_delta(1e-6)).value().upper, expected, expected * 1e-4) << members;
  }
  // Row 11: 100 releases of shift .01, ten slots.
  EXPECT_NEAR(group_epsilon({{of_record(0.01), 10'000, 10'000, false, 100}}, 10, at_delta(1e-6)).value().upper, 4.88655,
              1e-3);
}

TEST(GroupPrivacyTest, SomebodyWithOneRecordHasTheRecordsLaw) {
  for (const double epsilon : {0.0, 0.01, 0.5, 2.0}) {
    const LossLawPtr group = group_law({of_record(0.7), 30, 1000, false, 1}, 1).value();
    EXPECT_NEAR(group->delta(epsilon), subset_gaussian_law(0.03, of_record(0.7)).value()->delta(epsilon), 1e-12);
    const LossLawPtr drawn = group_law({of_record(0.7), 30, 1000, true, 1}, 1).value();
    EXPECT_NEAR(drawn->delta(epsilon), multiset_gaussian_law(1000, 30, of_record(0.7)).value()->delta(epsilon), 1e-15);
  }
}

/// By hand, spec person-unit PU10: of few records every draw is enumerated. The bound is never below the divergence of
/// the mixtures where all of a person's records point one way.
TEST(GroupPrivacyTest, IsNeverBelowAnEnumerationOfAllDraws) {
  constexpr int kPopulation = 7;
  for (const int members : {1, 2, 3}) {
    for (const int draws : {1, 3, 5}) {
      std::vector<double> law(static_cast<std::size_t>(members) + 1, 0.0);
      double all = 0.0;
      for (int mask = 0; mask < (1 << kPopulation); ++mask) {
        if (__builtin_popcount(static_cast<unsigned>(mask)) != draws) continue;
        law[static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned>(mask & ((1 << members) - 1))))] += 1.0;
        all += 1.0;
      }
      const double mu = 0.8;
      const LossLawPtr bound = group_law({of_record(mu), draws, kPopulation, false, 1}, members).value();
      for (const double epsilon : {0.0, 0.2, 1.0}) {
        // The hockey-stick divergence of sum_j p_j N(j mu, 1) from N(0, 1), by a sum over a fine grid.
        double divergence = 0.0;
        constexpr double kStep = 1e-3;
        for (double x = -8.0; x < 12.0; x += kStep) {
          double p = 0.0;
          for (std::size_t j = 0; j < law.size(); ++j)
            p += law[j] / all * std::exp(-0.5 * std::pow(x - static_cast<double>(j) * mu, 2));
          divergence += kStep / std::sqrt(2.0 * M_PI) * std::max(0.0, p - std::exp(epsilon) * std::exp(-0.5 * x * x));
        }
        EXPECT_GE(bound->delta(epsilon), divergence - 1e-6) << members << " of " << draws << " at " << epsilon;
      }
    }
  }
}

/// Nearly everybody's records are hers: a law of which no term underflows.
TEST(GroupPrivacyTest, DrawsOfNearlyAllRecordsAreALawToo) {
  const LossLawPtr law = group_law({of_record(1e-3), 3000, 3000, true, 1}, 2950).value();
  // Some 2,950 of the 3,000 draws take hers: their shifts add up to that many times the one.
  EXPECT_GT(law->delta(0.5), gaussian_law(of_record(2.9))->delta(0.5));
  EXPECT_LT(law->delta(0.5), gaussian_law(of_record(3.0))->delta(0.5));
}

TEST(GroupPrivacyTest, SaysWhatIsOutOfRange) {
  EXPECT_FALSE(group_law({of_record(1.0), 1, 10, false, 1}, 0));
  EXPECT_FALSE(group_law({of_record(1.0), 1, 10, false, 1}, 10'001));
  EXPECT_FALSE(group_law({of_record(1.0), 11, 10, false, 1}, 2));
  EXPECT_TRUE(group_law({of_record(1.0), 5, 10, false, 1}, 20));  // whoever has more than there are has all
  EXPECT_TRUE(group_law({of_record(1.0), 9, 10, false, 1}, 5));   // some of them are always drawn
  EXPECT_TRUE(group_law({of_record(1.0), 90, 10, true, 1}, 5));
}

}  // namespace
}  // namespace undertone::accounting
