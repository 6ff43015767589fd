#include <cmath>
#include <gtest/gtest.h>

#include "shared/accounting/calibration.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/group_privacy.hpp"
#include "shared/features/feature_map.hpp"

/// These rows of spec person-unit 12 stand in no other test. The product's own accountant and maps give them.
namespace undertone::accounting {
namespace {

releases::GaussianShift shift_of(double value) { return releases::GaussianShift::create(value).value(); }
releases::Delta delta_of(double value) { return releases::Delta::create(value).value(); }
releases::Epsilon epsilon_of(double value) { return releases::Epsilon::create(value).value(); }

/// This is what a run of K of P persons promises. Upper ends are at most 2 % above the row, and no end is below what is
/// true.
Bracket drawn_persons(double mu, std::int64_t persons, std::int64_t drawn, std::uint64_t times, double delta) {
  return group_epsilon({{shift_of(mu), drawn, persons, false, times}}, 1, delta_of(delta)).value();
}

TEST(PersonRowsTest, GaussianRows) {
  EXPECT_NEAR(epsilon_of_gaussian(shift_of(1.0), delta_of(1e-5)), 4.37718, 1e-5);             // 1
  EXPECT_NEAR(epsilon_of_gaussian(shift_of(std::sqrt(0.1)), delta_of(1e-6)), 1.36757, 1e-5);  // 12
  EXPECT_NEAR(gaussian_shift_for(epsilon_of(1.0), delta_of(1e-6)).value(), 0.236704, 1e-6);   // 13
  const double one = gaussian_shift_for(epsilon_of(1.0), delta_of(1e-6)).value();
  for (const auto& [silos, at_sum, at_one] :
       {std::tuple(2, 1.40326, 1.45467), std::tuple(3, 1.71384, 1.81378), std::tuple(5, 2.21025, 2.39971)}) {  // 23-25
    const releases::GaussianShift all = shift_of(one * std::sqrt(silos));
    EXPECT_NEAR(epsilon_of_gaussian(all, delta_of(1e-6 * silos)), at_sum, 2e-5);
    EXPECT_NEAR(epsilon_of_gaussian(all, delta_of(1e-6)), at_one, 2e-5);
  }
  const double two = gaussian_shift_for(epsilon_of(2.0), delta_of(1e-6)).value();
  EXPECT_NEAR(epsilon_of_gaussian(shift_of(std::hypot(one, two)), delta_of(2e-6)), 2.21206, 2e-5);   // 26
  EXPECT_NEAR(epsilon_of_gaussian(shift_of(one / std::sqrt(2.0)), delta_of(1e-6)), 0.688911, 1e-5);  // 27
  EXPECT_NEAR(epsilon_of_gaussian(shift_of(one / std::sqrt(3.0)), delta_of(1e-6)), 0.554347, 1e-5);
}

/// These rows are traps: a permutation of records in place of persons, and a record's ledger read as a person's.
TEST(PersonRowsTest, TrapRows) {
  EXPECT_NEAR(epsilon_of_gaussian(shift_of(1.5), delta_of(1e-6)), 7.8066, 1e-4);   // 39: five records in one part
  EXPECT_NEAR(epsilon_of_gaussian(shift_of(0.3), delta_of(1e-6)), 1.29171, 1e-5);  // what was claimed
  const double one = gaussian_shift_for(epsilon_of(1.0), delta_of(1e-6)).value();
  EXPECT_NEAR(epsilon_of_gaussian(shift_of(8.0 * one), delta_of(1e-6)), 10.2962, 1e-4);  // 41
  // 38: a mean over records seen, with 99 persons of one record at C and one of 1 or of 100 records at -C.
  const auto mean_over_records = [](double hers) { return (99.0 - hers) / (99.0 + hers); };
  EXPECT_NEAR((mean_over_records(1.0) - mean_over_records(100.0)) / (2.0 / 100.0), 49.2513, 1e-4);
}

TEST(PersonRowsTest, RowsOfDrawnPersons) {
  const LossLawPtr law = group_law({shift_of(1.0), 10, 1'000, false, 1}, 1).value();
  EXPECT_NEAR(law->delta(0.05) / 3.11065e-4, 1.0, 1e-5);  // 5
  EXPECT_NEAR(law->delta(0.2) / 9.90857e-6, 1.0, 1e-5);
  for (const auto& [mu, expected] : {std::pair(1.0, 2.513), std::pair(std::sqrt(0.1), 0.4592)}) {  // 6, 7
    const Bracket found = drawn_persons(mu, 1'000, 10, 1'000, 1e-6);
    EXPECT_LE(found.lower, expected);
    EXPECT_NEAR(found.upper, expected, 0.02 * expected);
  }
  const Bracket records = drawn_persons(0.5, 10'000, 100, 1'000, 1e-5);  // 2
  EXPECT_LE(records.lower, 0.7186);
  EXPECT_NEAR(records.upper, 0.7186, 0.02 * 0.7186);
}

/// Row 51 is the noise that 200 draws of 100 of 2,000 persons need for a promise.
TEST(PersonRowsTest, RowOfACalibration) {
  const Bracket at = drawn_persons(0.504144, 2'000, 100, 200, 1e-6);
  EXPECT_LE(at.lower, 2.0);
  EXPECT_NEAR(at.upper, 2.0, 0.04);
  // Row 52: of draws of 500 of 10,000 slots, of which she has five. Her own shift may be larger than if persons were
  // drawn.
  const Bracket slots = group_epsilon({{shift_of(0.599096 / 5.0), 500, 10'000, false, 200}}, 5, delta_of(1e-6)).value();
  EXPECT_LE(slots.lower, 2.0);
  EXPECT_NEAR(slots.upper, 2.0, 0.04);
}

/// Rows 28 to 34 say that two persons' means are no farther apart than two records can be.
TEST(PersonRowsTest, RowsOfMaps) {
  const statistics::BinnedCells five{0, {-1.0, -0.6, -0.2, 0.2, 0.6, 1.0}};
  EXPECT_NEAR(statistics::pairwise_bound(statistics::MomentsMap{0, false}).l2, 2.0, 1e-12);    // 28
  EXPECT_NEAR(statistics::pairwise_bound(statistics::MomentsMap{0, true}).l1, 2.0, 1e-12);     // 29
  EXPECT_NEAR(statistics::pairwise_bound(statistics::FourMomentsMap{0}).l2, 2.23607, 1e-5);    // 30
  EXPECT_NEAR(statistics::pairwise_bound(statistics::CellsMap{{five}}).l1, 2.0, 1e-12);        // 31
  EXPECT_NEAR(statistics::pairwise_bound(statistics::CellsMap{{five}}).l2, 1.41421, 1e-5);     // 32
  EXPECT_EQ(statistics::pairwise_bound(statistics::GroupMomentsMap{five, 0, false}).l1, 4.0);  // 33
  EXPECT_EQ(statistics::pairwise_bound(statistics::CountedSumMap{0}).l1, 2.0);                 // 34
  EXPECT_EQ(statistics::pairwise_bound(statistics::CountedSumMap{0}).l2, 2.0);
}

}  // namespace
}  // namespace undertone::accounting
