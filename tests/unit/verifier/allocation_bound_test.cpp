#include "verifier/allocation_bound.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <tuple>

#include "shared/accounting/random_allocation.hpp"
#include "verifier/gaussian_profile.hpp"

namespace undertone::verifier {
namespace {

AllocatedPasses equal_parts(std::uint64_t parts, long double mu, long double unread = 0, bool fixed_sizes = false) {
  return {fixed_sizes, {{parts, (1 - unread) / static_cast<long double>(parts), mu}}, unread, 1};
}
accounting::Allocation of_the_accountant(const AllocatedPasses& passes) {
  std::vector<accounting::AllocatedParts> groups;
  for (const AllocatedGroup& group : passes.groups)
    groups.push_back({group.parts, static_cast<double>(group.weight), static_cast<double>(group.mu)});
  return accounting::Allocation::create(passes.fixed_sizes ? accounting::PartAssignment::FixedWithUnreadSlot
                                                           : accounting::PartAssignment::IndependentBins,
                                        std::move(groups), static_cast<double>(passes.unread), passes.epochs)
      .value();
}

/// Exact values of two bins by quadrature, and the Gaussian profile of one.
TEST(AllocationBoundTest, IsJustAboveExactValues) {
  for (const auto& [parts, mu, epsilon, exact] :
       {std::tuple(2, 1.0L, 0.5L, 0.1237248796L), std::tuple(2, 2.0L, 1.0L, 0.2862082119L),
        std::tuple(1, 1.6L, 1.0L, gaussian_profile(1, 1.6L))}) {
    const long double found = allocated_pass_delta(equal_parts(static_cast<std::uint64_t>(parts), mu), epsilon).value();
    EXPECT_GE(found, exact * (1 - 1e-9L));
    EXPECT_LE(found, exact * (1 + 1e-6L));
  }
}

/// Two programs that share no line: laws by second differences of call functions, tilted, in double; laws by masses and
/// means of cells, not tilted, in long double. Both are above the truth; each is within its grid's percent of the
/// other.
TEST(AllocationBoundTest, AgreesWithTheAccountant) {
  for (const auto& [passes, epsilon] :
       {std::pair(equal_parts(10, 1.6L), 1.0L), std::pair(equal_parts(10, 4.0L), 8.0L),
        std::pair(equal_parts(100, 2.4L), 1.0L), std::pair(equal_parts(1000, 3.0L), 0.5L),
        std::pair(equal_parts(30, 0.4L), 0.0L), std::pair(equal_parts(5, 1.0L, 0.3L), 0.4L),
        std::pair(equal_parts(100, 1.1L, 1.0L / 1001, true), 1.0L), std::pair(equal_parts(3, 1.0L, 0.25L, true), 2.0L),
        std::pair(
            AllocatedPasses{
                false, {{20, 0.025L, 1.8L}, {20, 0.0125L, 1.8L}, {20, 0.00625L, 2.2L}, {1, 0.125L, 0.9L}}, 0, 1},
            1.0L)}) {
    const auto theirs =
        static_cast<long double>(accounting::pass_delta(of_the_accountant(passes), static_cast<double>(epsilon),
                                                        accounting::AllocationGrid::Charge)
                                     .value());
    const long double ours = allocated_pass_delta(passes, epsilon).value();
    EXPECT_NEAR(static_cast<double>(ours / theirs), 1.0, 0.03)
        << passes.groups[0].parts << " parts, mu " << passes.groups[0].mu << ", epsilon " << epsilon;
  }
}

TEST(AllocationBoundTest, AgreesWithTheAccountantOnEpochsAndWhatIsBesides) {
  AllocatedPasses passes = equal_parts(20, 1.2L);
  passes.epochs = 3;
  const auto delta = releases::Delta::create(1e-5).value();
  const auto epsilon = releases::Epsilon::create(1.5).value();
  const auto evaluation = accounting::gaussian_law(releases::GaussianShift::create(0.1).value());
  const double theirs = accounting::allocation_delta(of_the_accountant(passes), {0.0, {{evaluation, 1}}}, epsilon,
                                                     delta, accounting::AllocationGrid::Charge)
                            .value();
  const long double ours = allocation_delta_bound(passes, 0.1L, 1.5L, 1e-5L).value();
  EXPECT_NEAR(static_cast<double>(ours) / theirs, 1.0, 0.1);
}

TEST(AllocationBoundTest, IsNeverAboveParallelComposition) {
  for (const long double epsilon : {0.0L, 0.5L, 3.0L}) {
    for (const bool fixed_sizes : {false, true})
      EXPECT_LE(allocated_pass_delta(equal_parts(4, 1.3L, 0.2L, fixed_sizes), epsilon).value(),
                0.8L * gaussian_profile(epsilon, 1.3L) * (1 + 1e-9L));
  }
}

TEST(AllocationBoundTest, RefusesWhatIsOutOfRange) {
  EXPECT_TRUE(allocated_pass_delta(equal_parts(4, 1), 1));
  EXPECT_FALSE(allocated_pass_delta(equal_parts(4, 0), 1));
  EXPECT_FALSE(allocated_pass_delta(equal_parts(4, 41), 1));
  EXPECT_FALSE(allocated_pass_delta(equal_parts(4, std::nanl("")), 1));
  EXPECT_FALSE(allocated_pass_delta(equal_parts(4, 1), -0.1L));
  EXPECT_FALSE(allocated_pass_delta(equal_parts(4, 1), 41));
  EXPECT_FALSE(allocated_pass_delta(equal_parts(4, 1, 0, true), 1));
  EXPECT_FALSE(allocated_pass_delta({false, {{4, 0.3L, 1}}, 0, 1}, 1));
  EXPECT_FALSE(allocated_pass_delta({false, {{2'000'000, 5e-7L, 1}}, 0, 1}, 1));
  EXPECT_FALSE(allocated_pass_delta({false, {}, 0, 1}, 1));
  EXPECT_FALSE(allocated_pass_delta({false, {{4, 0.25L, 1}}, 0, 0}, 1));
  EXPECT_FALSE(allocation_delta_bound(equal_parts(4, 1), -1, 1, 1e-5L));
  EXPECT_FALSE(allocation_delta_bound(equal_parts(4, 1), 1, 1, 0));
}

}  // namespace
}  // namespace undertone::verifier
