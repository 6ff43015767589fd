#include "shared/accounting/random_allocation.hpp"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/pass_law.hpp"
#include "shared/accounting/pass_terms.hpp"
#include "shared/accounting/replaced_poisson_law.hpp"

namespace undertone::accounting {
namespace {

using Groups = std::vector<AllocatedParts>;
constexpr auto kBins = PartAssignment::IndependentBins;
constexpr auto kFixed = PartAssignment::FixedWithUnreadSlot;

Allocation bins(Groups groups, double unread = 0.0, std::uint64_t epochs = 1) {
  return Allocation::create(kBins, std::move(groups), unread, epochs).value();
}
Allocation equal_bins(std::uint64_t parts, double shift, std::uint64_t epochs = 1) {
  return bins({{parts, 1.0 / static_cast<double>(parts), shift}}, 0.0, epochs);
}
/// n = parts x records + 1 slots, one of which nobody reads.
Allocation fixed_parts(std::uint64_t parts, std::uint64_t records, double shift) {
  const auto slots = static_cast<double>(parts * records + 1);
  return Allocation::create(kFixed, {{parts, static_cast<double>(records) / slots, shift}}, 1.0 / slots, 1).value();
}
Groups halving(double shift, std::uint64_t sub_parts) {
  Groups out;
  for (const double share : {0.5, 0.25, 0.125, 0.0625, 0.0625})
    out.push_back({sub_parts, share / static_cast<double>(sub_parts), shift});
  return out;
}
double charged(const Allocation& allocation, double epsilon) {
  return pass_delta(allocation, epsilon, AllocationGrid::Charge).value();
}
double searched(const Allocation& allocation, double epsilon) {
  return pass_delta(allocation, epsilon, AllocationGrid::Search).value();
}
double gaussian_delta(double epsilon, double shift) {
  return std::exp(log_delta_of_gaussian(epsilon, releases::GaussianShift::create(shift).value()));
}
double scale(const Allocation& shape, double epsilon, const Besides& besides = {}) {
  return allocation_scale(shape, besides, releases::Epsilon::create(epsilon).value(),
                          releases::Delta::create(1e-5).value())
      .value();
}
void expect_relative(double value, double expected, double tolerance) {
  EXPECT_NEAR(value, expected, tolerance * expected);
}
double call(const PassTerm& term, double c, double kappa) {
  return c >= 0.0 ? term.above(c) : term.below(c) + 1.0 - kappa - c;
}
double density(double z) { return std::exp(-0.5 * z * z) * 0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2; }
/// Of a smooth function of a standard normal: the trapezoidal rule converges geometrically.
template <class Function>
double mean_under_normal(const Function& f) {
  constexpr double kStep = 1.0 / 256.0;
  double sum = 0.0;
  for (int i = -13 * 256; i <= 13 * 256; ++i) sum += f(i * kStep) * density(i * kStep) * kStep;
  return sum;
}

// The names of rows are those of the specification's table of reference values.
TEST(PassTermTest, IsTheReferenceCallFunction) {
  const PassTerm in_bins(kBins, 1.6, 1.0);
  const PassTerm fixed(kFixed, 1.6, 1.0);
  const double kappa = std::numbers::e;
  expect_relative(call(in_bins, -1.5, kappa), 0.968046709, 1e-9);  // rows 1 to 5
  expect_relative(call(in_bins, 0.0, kappa), 0.359938824, 2e-9);
  expect_relative(call(in_bins, 2.0, kappa), 0.0800618892, 1e-9);
  expect_relative(call(fixed, 0.0, kappa), 0.359938824, 2e-9);
  expect_relative(call(in_bins, 0.0, kappa), gaussian_delta(1.0, 1.6), 1e-9);
  expect_relative(call(fixed, 2.0, kappa), 0.251494969, 3e-9);  // rows 6 and 7
  expect_relative(call(fixed, -1.5, kappa), 1.39613236, 3e-9);
}

TEST(PassTermTest, BothFormsMeetAtZeroAndFixedSizesAreLarger) {
  for (const double shift : {0.1, 1.0, 4.0}) {
    for (const double epsilon : {0.0, 0.5, 4.0}) {
      const double kappa = std::exp(epsilon);
      const PassTerm in_bins(kBins, shift, epsilon);
      const PassTerm fixed(kFixed, shift, epsilon);
      for (const PassTerm& term : {in_bins, fixed})
        EXPECT_NEAR(term.above(0.0) - term.below(0.0), 1.0 - kappa, 1e-14 * kappa);
      for (double c = -2.0 * kappa; c < 2.0 * kappa; c += 0.1 * kappa)
        EXPECT_LE(call(in_bins, c, kappa), call(fixed, c, kappa) + 1e-14 * kappa)
            << shift << " " << epsilon << " " << c;
    }
  }
}

TEST(PassDeltaTest, IsTheExactValueOfTwoBins) {
  expect_relative(charged(equal_bins(2, 1.0), 0.5), 0.123724880, 4e-8);  // rows 8 to 11
  expect_relative(charged(equal_bins(2, 2.0), 1.0), 0.286208212, 1e-6);
  EXPECT_GE(charged(equal_bins(2, 1.0), 0.5), 0.1237248795);
  EXPECT_GE(charged(equal_bins(2, 2.0), 1.0), 0.2862082119);
}

TEST(PassDeltaTest, OfOnePartIsTheGaussianProfile) {
  expect_relative(charged(equal_bins(1, 1.6), 1.0), 0.359938824, 3e-9);  // row 12
  // Of the shift 0.3 at epsilon 3 it is 1e-24: rounding may not be relative to what is on the other side.
  for (const double shift : {0.3, 2.0})
    for (const double epsilon : {0.0, 0.7, 3.0})
      expect_relative(charged(equal_bins(1, shift), epsilon), gaussian_delta(epsilon, shift), 1e-9);
}

TEST(PassDeltaTest, IsTheReferenceValueOfManyParts) {
  expect_relative(charged(equal_bins(10, 1.6), 1.0), 8.3546e-3, 1e-5);  // rows 16 to 22
  expect_relative(charged(equal_bins(10, 4.0), 8.0), 8.98e-5, 1e-3);
  expect_relative(charged(equal_bins(100, 2.4), 1.0), 7.714e-5, 2e-4);
  expect_relative(charged(equal_bins(1000, 3.0), 0.5), 8.297e-5, 2e-3);
  expect_relative(charged(equal_bins(100, 1.6), 1.0), 4.86e-10, 1e-3);
  expect_relative(charged(equal_bins(10'000, 3.6), 1.0), 8.74e-7, 2e-3);
  expect_relative(charged(fixed_parts(100, 10, 1.1), 1.0), 6.648e-6, 2e-4);
  expect_relative(charged(equal_bins(100, 2.7339), 2.0), 1.000e-5, 2e-4);  // row 32
}

/// Two records in two parts of one record each: the static pair, what an adaptive second question reaches, and the
/// bound. The bound needs no unread slot there, but an allocation of fixed sizes without one is refused, so that its
/// value is approached through a slot that hardly matters.
TEST(PassDeltaTest, OfFixedSizesIsAboveWhatAnAdaptiveQuestionReaches) {
  const double kappa = std::numbers::e;
  const auto likelihood = [](double z) { return std::exp(2.0 * z - 2.0); };  // dN(2) / dN(0)
  const auto strike_call = [&](double strike) {                              // E(l - strike)+
    if (strike <= 0.0) return 1.0 - strike;
    const double at = std::log(strike) / 2.0;
    const auto tail = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
    return tail(1.0 - at) - strike * tail(-1.0 - at);
  };
  // After the first release at z the rest is the same trade with kappa - (l - kappa) in place of kappa, or its mirror.
  const auto straight = [&](double z) { return strike_call(kappa - (likelihood(z) - kappa)); };
  const auto mirrored = [&](double z) {  // E(1 - kappa l + (l_1 - kappa))+
    const double room = 1.0 + likelihood(z) - kappa;
    return room > 0.0 ? kappa * (room / kappa - 1.0 + strike_call(room / kappa)) : 0.0;
  };
  const double fixed_pair = mean_under_normal([&](double z) { return 0.5 * straight(z); });
  const double adaptive = mean_under_normal([&](double z) { return 0.5 * std::max(straight(z), mirrored(z)); });
  const double slots = 2e9 + 1.0;
  const Allocation nearly = Allocation::create(kFixed, {{2, 1e9 / slots, 2.0}}, 1.0 / slots, 1).value();
  const double bound = charged(nearly, 1.0);
  expect_relative(fixed_pair, 0.4045775, 1e-6);  // rows 13 to 15
  expect_relative(adaptive, 0.4374029, 1e-6);
  expect_relative(bound, 0.4703425, 2e-4);
  EXPECT_LT(fixed_pair, adaptive);
  EXPECT_LT(adaptive, bound);
  EXPECT_LT(bound, gaussian_delta(1.0, 2.0));
}

TEST(PassDeltaTest, FallsWithPartsAndEpsilonAndRisesWithTheShift) {
  for (const double shift : {0.5, 1.5, 3.0}) {
    for (const double epsilon : {0.0, 0.5, 2.0}) {
      double before = gaussian_delta(epsilon, shift) * (1.0 + 1e-9);
      for (const std::uint64_t parts : {1ULL, 2ULL, 4ULL, 16ULL, 64ULL}) {  // each halved or more
        const double delta = searched(equal_bins(parts, shift), epsilon);
        EXPECT_LE(delta, before) << parts << " parts, shift " << shift << ", epsilon " << epsilon;
        before = delta;
      }
    }
  }
  double before = 0.0;
  for (const double shift : {0.2, 0.4, 0.8, 1.6, 3.2, 6.4}) {
    const double delta = searched(equal_bins(20, shift), 1.0);
    EXPECT_GT(delta, before);
    before = delta;
  }
  before = 1.0;
  for (const double epsilon : {-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0, 5.0}) {
    const double delta = searched(equal_bins(20, 1.6), epsilon);
    EXPECT_LT(delta, before);
    before = delta;
  }
}

TEST(PassDeltaTest, AFinerGridIsNeverDearer) {
  for (const Allocation& allocation : {equal_bins(7, 1.2), equal_bins(300, 2.5), fixed_parts(40, 5, 1.0),
                                       bins(halving(1.0, 3)), bins({{5, 0.1, 2.0}}, 0.5)}) {
    for (const double epsilon : {0.0, 0.8, 3.0}) {
      const double coarse = pass_delta(allocation, epsilon, AllocationGrid::Coarse).value();
      const double search = pass_delta(allocation, epsilon, AllocationGrid::Search).value();
      const double charge = charged(allocation, epsilon);
      EXPECT_LE(search, coarse * (1.0 + 1e-6));
      EXPECT_LE(charge, search * (1.0 + 1e-6));
      EXPECT_GE(charge, 0.9 * coarse);
    }
  }
}

TEST(PassDeltaTest, BinsAreNeverDearerThanFixedSizes) {
  for (const double shift : {0.4, 1.1, 2.0}) {
    for (const double epsilon : {0.0, 1.0, 3.0}) {
      const Groups parts{{10, 0.09, shift}};
      const Allocation fixed = Allocation::create(kFixed, parts, 0.1, 1).value();
      EXPECT_LE(searched(bins(parts, 0.1), epsilon), searched(fixed, epsilon));
      EXPECT_LE(searched(fixed, epsilon), gaussian_delta(epsilon, shift));
    }
  }
}

TEST(PassDeltaTest, WhatIsHardlyReadCostsHardlyAnything) {
  double before = searched(equal_bins(1, 1.5), 0.5);
  for (const double unread : {0.5, 0.9, 0.999, 1.0 - 1e-9}) {
    const double delta = searched(bins({{1, 1.0 - unread, 1.5}}, unread), 0.5);
    EXPECT_LT(delta, before);
    EXPECT_LE(delta, (1.0 - unread) * gaussian_delta(0.5, 1.5) * (1.0 + 1e-6));  // the mean of the parts' profiles
    before = delta;
  }
}

/// One part read with probability q is a release of a Poisson sample, whose law is known in closed form.
TEST(PassDeltaTest, OnePartBesideUnreadOnesIsAPoissonSample) {
  for (const double rate : {0.02, 0.3}) {
    const LossLawPtr law = replaced_poisson_law(rate, releases::GaussianShift::create(1.5).value()).value();
    for (const double epsilon : {0.0, 0.1, 0.5}) {
      const double exact = law->delta(epsilon);
      const double found = searched(bins({{1, rate, 1.5}}, 1.0 - rate), epsilon);
      EXPECT_GE(found, exact * (1.0 - 1e-9));
      EXPECT_LE(found, exact * (1.0 + 1e-4));
    }
  }
}

TEST(PassDeltaTest, BelowZeroIsTheMirrorImage) {
  const Allocation allocation = equal_bins(10, 1.6);
  const double delta = searched(allocation, 0.7);
  EXPECT_NEAR(searched(allocation, -0.7), 1.0 - std::exp(-0.7) + std::exp(-0.7) * delta, 1e-12);
}

/// What one round's release is, on a grid, given what the others contribute to it: without the changed record, with it
/// and with its replacement.
struct RoundDensities {
  std::vector<double> none, up, down;
  RoundDensities(double others, double half_shift, double step, int half) {
    for (int i = -half; i <= half; ++i) {
      none.push_back(density(i * step - others) * step);
      up.push_back(density(i * step - others - half_shift) * step);
      down.push_back(density(i * step - others + half_shift) * step);
    }
  }
};

/// Delta of four records, every one of which draws one of two or three bins, by enumeration of all draws and
/// integration over all releases. The record that changes is the first, from m to -m. An adaptive second (and third)
/// question turns the others' values round where the first release was above 0.
double enumerated(std::size_t parts, const std::array<double, 3>& others, bool adaptive, double half_shift,
                  double kappa) {
  const double step = parts == 2 ? 0.05 : 0.15;
  const int half = static_cast<int>(8.0 / step);
  const auto points = static_cast<std::size_t>(2 * half + 1);
  std::vector<std::array<std::vector<RoundDensities>, 2>> draws;  // of the others; by whether they are turned round
  const std::size_t count = parts * parts * parts;
  for (std::size_t draw = 0; draw < count; ++draw) {
    std::array<double, 3> sums{};
    for (std::size_t i = 0, rest = draw; i < 3; ++i, rest /= parts) sums[rest % parts] += others[i];
    auto& both = draws.emplace_back();
    for (std::size_t round = 0; round < parts; ++round) {
      both[0].emplace_back(sums[round], half_shift, step, half);
      both[1].emplace_back(-sums[round], half_shift, step, half);
    }
  }
  double delta = 0.0;
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t turned = adaptive && i > points / 2 ? 1 : 0;
    for (std::size_t j = 0; j < points; ++j) {
      for (std::size_t k = 0; k < (parts == 2 ? 1 : points); ++k) {
        double p = 0.0;
        double q = 0.0;
        for (const auto& both : draws) {
          const RoundDensities& first = both[0][0];
          const RoundDensities& second = both[turned][1];
          const double third = parts == 2 ? 1.0 : both[turned][2].none[k];
          p += (first.up[i] * second.none[j] + first.none[i] * second.up[j]) * third;
          q += (first.down[i] * second.none[j] + first.none[i] * second.down[j]) * third;
          if (parts == 2) continue;
          p += first.none[i] * second.none[j] * both[turned][2].up[k];
          q += first.none[i] * second.none[j] * both[turned][2].down[k];
        }
        delta += std::max(p - kappa * q, 0.0);
      }
    }
  }
  return delta / static_cast<double>(count * parts);
}

TEST(PassDeltaTest, IsAttainedAndNotExceededByEveryDrawOfFourRecords) {
  constexpr double kQuadrature = 3e-3;
  const double kappa = std::exp(0.8);
  for (const std::size_t parts : {2U, 3U}) {
    const double claim = charged(equal_bins(parts, 1.8), 0.8);
    expect_relative(enumerated(parts, {0.0, 0.0, 0.0}, false, 0.9, kappa), claim, kQuadrature);
    for (const bool adaptive : {false, true}) {
      for (const auto& others : {std::array{0.9, 0.9, 0.9}, std::array{-0.9, 0.9, 0.3}})
        EXPECT_LE(enumerated(parts, others, adaptive, 0.9, kappa), claim * (1.0 + kQuadrature));
    }
  }
}

TEST(PassLawTest, OfTheReferenceEpochsIsAboveTheFinerOnes) {
  const Allocation allocation = equal_bins(100, 2.1941, 4);
  const auto delta = [&](double step) {
    const LossLawPtr law = pass_law(allocation, {step, 0.0}, 1e-8, AllocationGrid::Coarse).value();
    return composed_delta({{law, 4}}, 2.0, {0.002, CompositionLimits{}.points_max}).value().upper;
  };
  // Row 31: 1.099e-5 at this step, with laws whose cuts are less fine; with finer steps 9.8e-6 and 9.5e-6.
  const double coarse = delta(0.1);
  EXPECT_LE(coarse, 1.1e-5);
  EXPECT_GE(coarse, 1.05e-5);
  const double finer = delta(0.05);
  EXPECT_LE(finer, 9.85e-6);
  EXPECT_GE(finer, 9.2e-6);
}

TEST(PassLawTest, DominatesThePassInBothOrders) {
  const Allocation allocation = equal_bins(20, 1.6);
  const LossLawPtr law = pass_law(allocation, {0.05, 0.02}, 1e-9, AllocationGrid::Search).value();
  for (const double epsilon : {-1.0, -0.33, 0.0, 0.21, 0.77, 1.5}) {
    const double pass = charged(allocation, epsilon);
    EXPECT_GE(law->delta(epsilon), pass * (1.0 - 1e-6));
    EXPECT_LE(law->delta(epsilon), pass * 1.1);  // chords of a profile that falls by a third a step
  }
  // An order and its mirror: P[L > l] = 1 - Q[L >= -l].
  const LossTails zero = law->above(0.0L);
  EXPECT_NEAR(law->delta(0.0), static_cast<double>(zero.p - zero.q) + law->infinite(), 1e-12);
}

TEST(AllocationScaleTest, IsTheReferenceCalibration) {
  expect_relative(releases::GaussianShift(
                      gaussian_shift_for(releases::Epsilon::create(1.0).value(), releases::Delta::create(1e-5).value()))
                      .value(),
                  0.26805, 2e-5);  // rows 23 to 30
  expect_relative(scale(equal_bins(10, 1.0), 1.0), 0.8461, 2e-4);
  expect_relative(scale(equal_bins(100, 1.0), 1.0), 2.1836, 2e-4);
  expect_relative(scale(equal_bins(30, 1.0), 4.0), 2.9876, 2e-4);
  expect_relative(scale(fixed_parts(100, 1'000'000, 1.0), 1.0), 1.1186, 3e-4);
  expect_relative(scale(bins(halving(1.0, 1)), 1.0), 0.4643, 2e-4);
  expect_relative(scale(bins(halving(1.0, 20)), 1.0), 1.8420, 2e-4);
}

TEST(AllocationScaleTest, MeetsItsTargetAndNothingMuchLargerDoes) {
  for (const auto& [shape, epsilon] : {std::pair(equal_bins(50, 1.0), 2.0), std::pair(fixed_parts(20, 50, 1.0), 0.5),
                                       std::pair(equal_bins(1, 1.0), 1.0)}) {
    const double factor = scale(shape, epsilon);
    EXPECT_LE(charged(shape.scaled(factor).value(), epsilon), 1e-5);
    EXPECT_GT(charged(shape.scaled(factor * 1.001).value(), epsilon), 1e-5);
    const double back =
        allocation_epsilon(shape.scaled(factor).value(), {}, releases::Delta::create(1e-5).value()).value();
    EXPECT_LE(back, epsilon * (1.0 + 1e-9));
    EXPECT_GE(back, epsilon * 0.999);
  }
}

TEST(AllocationScaleTest, LeavesRoomForWhatIsBesides) {
  const releases::Epsilon epsilon = releases::Epsilon::create(1.0).value();
  const releases::Delta delta = releases::Delta::create(1e-5).value();
  const LossLawPtr evaluation = gaussian_law(releases::GaussianShift::create(0.1).value());
  const double alone = scale(equal_bins(50, 1.0), 1.0);
  const double beside = scale(equal_bins(50, 1.0), 1.0, {0.0, {{evaluation, 2}}});
  EXPECT_LT(beside, alone);
  EXPECT_GT(beside, 0.5 * alone);
  const Allocation found = equal_bins(50, beside);
  EXPECT_LE(allocation_delta(found, {0.0, {{evaluation, 2}}}, epsilon, delta, AllocationGrid::Charge).value(), 1e-5);
  EXPECT_LE(allocation_epsilon(found, {0.0, {{evaluation, 2}}}, delta).value(), 1.002);
  const LossLawPtr loud = gaussian_law(releases::GaussianShift::create(0.5).value());
  EXPECT_FALSE(allocation_scale(equal_bins(50, 1.0), {0.0, {{loud, 1}}}, epsilon, delta));
}

TEST(AllocationBesideTest, OneBinBesideAGaussianIsOneGaussian) {
  // A pass of one bin is the Gaussian of shift 0.9; beside 1.2 all is the one of 1.5.
  for (const double epsilon : {0.0, 0.5, 2.0, 4.0}) {
    const double found = allocation_delta(equal_bins(1, 0.9), {1.2}, releases::Epsilon::create(epsilon + 1e-12).value(),
                                          releases::Delta::create(1e-5).value(), AllocationGrid::Charge)
                             .value();
    const double exact = gaussian_delta(epsilon + 1e-12, 1.5);
    EXPECT_GE(found, exact) << epsilon;
    EXPECT_LE(found, exact * 1.03 + 1e-7) << epsilon;
  }
}

/// Of two bins of one record's pair (m e_r, -m e_r) beside (g, -g), straight from the likelihoods.
TEST(AllocationBesideTest, TwoBinsBesideAGaussianAreWhatTheirLikelihoodsIntegrateTo) {
  constexpr double kHalf = 0.7;    // of the bins' shift
  constexpr double kBeside = 0.3;  // of the shift besides
  const double epsilon = 0.9;
  const double kappa = std::exp(epsilon);
  const auto likelihood = [](double z, double a) { return std::exp(a * z - 0.5 * a * a); };
  constexpr double kStep = 1.0 / 16.0;
  double delta = 0.0;
  for (int i = -128; i <= 128; ++i) {
    for (int j = -128; j <= 128; ++j) {
      const double up = 0.5 * (likelihood(i * kStep, kHalf) + likelihood(j * kStep, kHalf));
      const double down = 0.5 * (likelihood(i * kStep, -kHalf) + likelihood(j * kStep, -kHalf));
      for (int k = -128; k <= 128; ++k) {
        const double z = k * kStep;
        const double value = up * likelihood(z, kBeside) - kappa * down * likelihood(z, -kBeside);
        if (value > 0.0) delta += value * density(i * kStep) * density(j * kStep) * density(z) * kStep * kStep * kStep;
      }
    }
  }
  const auto at = [&](const Besides& besides) {
    return allocation_delta(equal_bins(2, 2.0 * kHalf), besides, releases::Epsilon::create(epsilon).value(),
                            releases::Delta::create(1e-5).value(), AllocationGrid::Charge)
        .value();
  };
  EXPECT_GE(at({2.0 * kBeside}), delta * (1.0 - 2e-3));  // the sum's own error, of a kink
  EXPECT_LE(at({2.0 * kBeside}), delta * 1.02);
  // The same by numeric composition of the same laws.
  const Besides composed{0.0, {{gaussian_law(releases::GaussianShift::create(2.0 * kBeside).value()), 1}}};
  expect_relative(at(composed), at({2.0 * kBeside}), 0.01);
}

TEST(AllocationBesideTest, CalibratesToItsTarget) {
  const releases::Epsilon epsilon = releases::Epsilon::create(1.0).value();
  const releases::Delta delta = releases::Delta::create(1e-5).value();
  const double alone = scale(equal_bins(100, 1.0), 1.0);
  const double factor = scale(equal_bins(100, 1.0), 1.0, {0.15});
  EXPECT_LT(factor, alone);
  EXPECT_GT(factor, 0.6 * alone);
  const Allocation found = equal_bins(100, factor);
  EXPECT_LE(allocation_delta(found, {0.15}, epsilon, delta, AllocationGrid::Charge).value(), 1e-5);
  EXPECT_GT(allocation_delta(equal_bins(100, factor * 1.01), {0.15}, epsilon, delta, AllocationGrid::Charge).value(),
            1e-5);
  const double back = allocation_epsilon(found, {0.15}, delta).value();
  EXPECT_LE(back, 1.0 + 1e-6);
  EXPECT_GE(back, 0.99);
  // What is besides leaves nothing.
  EXPECT_FALSE(allocation_scale(equal_bins(100, 1.0), {0.3}, epsilon, delta));
}

TEST(AllocationEpsilonTest, OfOnePartIsTheGaussians) {
  const releases::Delta delta = releases::Delta::create(1e-6).value();
  const double epsilon = epsilon_of_gaussian(releases::GaussianShift::create(0.7).value(), delta);
  const double found = allocation_epsilon(equal_bins(1, 0.7), {}, delta).value();
  EXPECT_LE(found, epsilon * (1.0 + 1e-9));
  EXPECT_GE(found, epsilon * (1.0 - 1e-6));
  // So quiet that delta alone covers it.
  EXPECT_EQ(allocation_epsilon(equal_bins(100, 0.01), {}, releases::Delta::create(0.1).value()).value(), 0.0);
}

/// Spec, section 7: mu of Poisson samples at rate 1/t, t rounds, epsilon 1 and delta 1e-5.
TEST(ReplacedPoissonLawTest, ComposesToThePublishedFigures) {
  for (const auto& [parts, shift] : {std::pair(10, 0.828), std::pair(30, 1.377), std::pair(100, 2.098)}) {
    const LossLawPtr law = replaced_poisson_law(1.0 / parts, releases::GaussianShift::create(shift).value()).value();
    const Bracket found =
        composed_epsilon({{law, static_cast<std::uint64_t>(parts)}}, releases::Delta::create(1e-5).value(),
                         {1e-3, CompositionLimits{}.points_max})
            .value();
    EXPECT_NEAR(found.upper, 1.0, 2e-3);
  }
  EXPECT_FALSE(replaced_poisson_law(0.0, releases::GaussianShift::create(1.0).value()));
  EXPECT_FALSE(replaced_poisson_law(1.1, releases::GaussianShift::create(1.0).value()));
  EXPECT_FALSE(replaced_poisson_law(std::nan(""), releases::GaussianShift::create(1.0).value()));
}

TEST(ReplacedPoissonLawTest, EverybodyReadIsTheGaussian) {
  const LossLawPtr law = replaced_poisson_law(1.0, releases::GaussianShift::create(1.3).value()).value();
  for (const double epsilon : {-1.0, 0.0, 0.4, 3.0})
    EXPECT_NEAR(law->delta(epsilon), gaussian_law(releases::GaussianShift::create(1.3).value())->delta(epsilon), 1e-15);
}

TEST(AllocationTest, NamesWhatIsWrong) {
  const auto refusal = [](PartAssignment assignment, Groups groups, double unread, std::uint64_t epochs) {
    const auto made = Allocation::create(assignment, std::move(groups), unread, epochs);
    return made ? std::string("accepted") : made.error().message;
  };
  const double nan = std::nan("");
  const auto names = [](const std::string& message, const char* what) {
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  EXPECT_EQ(refusal(kBins, {{4, 0.25, 1.0}}, 0.0, 1), "accepted");
  names(refusal(kBins, {}, 0.0, 1), "groups");
  names(refusal(kBins, Groups(65, {1, 1.0 / 65.0, 1.0}), 0.0, 1), "groups");
  for (const double bad : {0.0, -0.25, 1.5, nan}) names(refusal(kBins, {{4, bad, 1.0}}, 0.0, 1), "weight");
  for (const double bad : {0.0, -1.0, 41.0, nan, static_cast<double>(INFINITY)})
    names(refusal(kBins, {{4, 0.25, bad}}, 0.0, 1), "shift");
  names(refusal(kBins, {{0, 0.25, 1.0}}, 0.0, 1), "expected 1");
  names(refusal(kBins, {{1'000'001, 1e-6, 1.0}}, 0.0, 1), "expected 1");
  names(refusal(kBins, {{600'000, 8e-7, 1.0}, {600'000, 8e-7, 1.0}}, 0.04, 1), "expected 1");
  names(refusal(kBins, {{4, 0.25, 1.0}}, 1e-9, 1), "add up");
  for (const double bad : {-0.1, 1.0, nan}) names(refusal(kBins, {{4, 0.25, 1.0}}, bad, 1), "reads");
  for (const std::uint64_t bad : {0ULL, 10'001ULL}) names(refusal(kBins, {{4, 0.25, 1.0}}, 0.0, bad), "epochs");
  names(refusal(kFixed, {{4, 0.25, 1.0}}, 0.0, 1), "parallel composition");
  EXPECT_FALSE(equal_bins(4, 1.0).scaled(50.0));
  EXPECT_FALSE(equal_bins(4, 1.0).scaled(nan));
  EXPECT_FALSE(pass_delta(equal_bins(4, 1.0), 41.0, AllocationGrid::Search));
  EXPECT_FALSE(pass_delta(equal_bins(4, 1.0), nan, AllocationGrid::Search));
  EXPECT_FALSE(pass_law(equal_bins(4, 1.0), {0.0, 0.0}, 1e-8, AllocationGrid::Coarse));
  EXPECT_FALSE(pass_law(equal_bins(4, 1.0), {0.1, 0.0}, 0.0, AllocationGrid::Coarse));
  EXPECT_FALSE(pass_law(equal_bins(4, 40.0), {1.0, 0.1}, 1e-8, AllocationGrid::Coarse));
}

}  // namespace
}  // namespace undertone::accounting
