#include "verifier/binned_releases.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <string>

#include "verifier/gaussian_profile.hpp"

namespace undertone::verifier {
namespace {

std::optional<BinnedBlock> block_of(const std::string& text) {
  const auto groups = parse_release_groups(text, Format::Two);
  return groups ? BinnedBlock::of(*groups) : std::nullopt;
}

TEST(BinnedReleasesTest, ReadsBinsAndTheirReads) {
  const auto block =
      block_of("gaussian:5*2@10/10~0:10/40:30,gaussian:7*1@20/20~10:30/40:40,gaussian:3*1@10/10~0:10/40:25");
  ASSERT_TRUE(block);
  EXPECT_EQ(block->slots, 40U);
  ASSERT_EQ(block->passes.size(), 1U);
  ASSERT_EQ(block->passes.at(0).size(), 2U);
  const auto first = block->passes.at(0).at({0, 10});
  EXPECT_EQ(first.shift_squared, 13U);  // 2 x 5 + 3
  EXPECT_EQ(first.rows, 25U);           // the fewest
}

TEST(BinnedReleasesTest, RefusesWhatIsNoDrawOfBins) {
  for (const char* text : {"gaussian:5*1@10/10+0:10",                                          // of a permutation
                           "gaussian:5*1@40/40",                                               // none
                           "gaussian:5*1@10/10~0:10/40:30,gaussian:5*1@50/50",                 // beside another block
                           "gaussian:5*1@10/10~0:10/40:30,gaussian:5*1@40/40r",                // with replacement
                           "gaussian:5*1@10/10~0:10/40:30,gaussian:5*1000001@40/40",           // more than is composed
                           "gaussian:5*1@10/10~0:10/40:30#1,gaussian:5*1@10/10~5:15/40:30#1",  // of one pass
                           "gaussian:5*1@10/10~0:10/40:30,gaussian:5*1@10/10~0:10/50:30#1",    // of another block
                           "gaussian:5*1@10/10~0:10/40:30,gaussian:5*1@10/10+10:20",           // beside a permutation's
                           "gaussian:5*1@10/10~0:10/40:30,gaussian:5*1@10/10~5:15/40:30",      // overlapping
                           "gaussian:5*1@10/10~0:10/40:30,gaussian:5*1@10/10~10:20/50:30",     // of another draw
                           "gaussian:5*1@5/10~0:10/40:30",                                     // a part of a bin
                           "gaussian:5*1@10/10~0:11/40:30",                                    // of another size
                           "gaussian:5*1@10/10~35:45/40:30",                                   // beyond the block
                           "gaussian:5*1@10/10~0:10/40:0", "gaussian:5*1@10/10~0:10/40:41",    // rows
                           "gaussian:5*1@10/10~0:10/40:30,concentrated:5*1@40/40",             // of another law
                           "pure:5*1@10/10~0:10/40:30"}) {
    EXPECT_FALSE(block_of(text)) << text;
  }
  for (const char* text :
       {"gaussian:5*1@10/10^2~0:10/40:30", "gaussian:5*1@10/10r~0:10/40:30", "gaussian:5*1@10/10~0:10/40:30#",
        "gaussian:5*1@10/10~0:10/40:30#0", "gaussian:5*1@10/10~0:10/40:30#01", "gaussian:5*1@10/10~0:10/40:30#1#2",
        "gaussian:5*1@10/10~0:10/40", "gaussian:5*1@10/10~0:10:40/30", "gaussian:5*1@10/10~"}) {
    EXPECT_FALSE(parse_release_groups(text, Format::Two)) << text;
  }
  EXPECT_FALSE(parse_release_groups("5*1@10/10~0:10/40:30", Format::One));
}

TEST(BinnedReleasesTest, ReadsPartsOfASecretPermutation) {
  const auto block = block_of("gaussian:5*2@10/10=0:10/40,gaussian:3*1@10/10=0:10/40,gaussian:7*1@20/20=10:30/40");
  ASSERT_TRUE(block);
  EXPECT_TRUE(block->permuted);
  EXPECT_EQ(block->slots, 40U);
  ASSERT_EQ(block->passes.size(), 1U);
  EXPECT_EQ((block->passes.at(0).at({0, 10}).shift_squared), 13U);
  EXPECT_EQ(block->overflow(), 0);
}

TEST(BinnedReleasesTest, RefusesWhatTheoremBDoesNotCover) {
  for (const char* text :
       {"gaussian:5*1@20/20=0:20/40,gaussian:5*1@20/20=20:40/40",                             // all
        "gaussian:5*1@10/10=0:10/40,gaussian:5*1@10/10=10:20/40,gaussian:5*1@10/10=0:10/40",  // turns
        "gaussian:5*1@10/10=0:10/40,gaussian:5*1@40/40", "gaussian:5*1@40/40,gaussian:5*1@10/10=0:10/40",
        "gaussian:5*1@10/10=0:10/40,concentrated:5*1@40/40",
        "gaussian:5*1@10/10=0:10/40,gaussian:5*1@10/10~10:20/40:30",  // bins
        "gaussian:5*1@10/10=0:10/40,gaussian:5*1@10/10+10:20",        // told
        "gaussian:5*1@10/10=0:10/40,gaussian:5*1@10/10=5:15/40",      // overlap
        "gaussian:5*1@10/10=0:10/40,gaussian:5*1@10/10=10:20/50",     // another
        "gaussian:5*1@9/10=0:10/40", "gaussian:5*1@10/10=0:11/40", "gaussian:5*1@10/10=35:45/40",
        "gaussian:5*1@10/10=0:10/0", "pure:5*1@10/10=0:10/40"}) {
    EXPECT_FALSE(block_of(text)) << text;
  }
  for (const char* text : {"gaussian:5*1@10/10^2=0:10/40", "gaussian:5*1@10/10r=0:10/40", "gaussian:5*1@10/10=0:10",
                           "gaussian:5*1@10/10=0:10/40:30", "gaussian:5*1@10/10=0:10/40#1", "gaussian:5*1@10/10="}) {
    EXPECT_FALSE(parse_release_groups(text, Format::Two)) << text;
  }
  EXPECT_FALSE(parse_release_groups("5*1@10/10=0:10/40", Format::One));
}

TEST(BinnedReleasesTest, PartsOfASecretPermutationAreChargedByTheoremB) {
  // Random-allocation row 22: t = 100, b = 10, n = 1001, m = 0.55, epsilon 1: 6.648e-6. As bins: less.
  const auto hundred = [](char mark) {
    std::string text;
    for (int i = 0; i < 100; ++i)
      text += (i == 0 ? "gaussian:" : ",gaussian:") +
              std::to_string(static_cast<unsigned long long>(std::ldexp(1.1L * 1.1L, 40))) + "*1@10/10" + mark +
              std::to_string(10 * i) + ":" + std::to_string(10 * i + 10) + "/1001" + (mark == '~' ? ":1001" : "");
    return text;
  };
  const auto block = block_of(hundred('='));
  ASSERT_TRUE(block);
  EXPECT_TRUE(block->is_kept(1, 6.72e-6L));
  EXPECT_FALSE(block->is_kept(1, 6.60e-6L));
  EXPECT_TRUE(block_of(hundred('~'))->is_kept(1, 1e-9L));
}

TEST(BinnedReleasesTest, OverflowIsBoundedAboveTheTruthAndNotFarFromIt) {
  // P(Bin(40, 1/4) > 25): the sum of the tail, about 1e-7; Chernoff is above it by less than sqrt(2 pi 40).
  long double tail = 0;
  for (int k = 26; k <= 40; ++k)
    tail += std::exp(std::lgamma(41.0L) - std::lgamma(k + 1.0L) - std::lgamma(41.0L - k)) * std::pow(0.25L, k) *
            std::pow(0.75L, 40 - k);
  const auto bound = block_of("gaussian:5*1@10/10~0:10/40:25")->overflow();
  EXPECT_GE(bound, tail);
  EXPECT_LE(bound, 16 * tail);
  EXPECT_EQ(block_of("gaussian:5*1@10/10~0:10/40:40")->overflow(), 0);
  EXPECT_EQ(block_of("gaussian:5*1@10/10~0:10/40:9")->overflow(), 1);
  // Two bins, two chances.
  EXPECT_NEAR(
      static_cast<double>(block_of("gaussian:5*1@10/10~0:10/40:25,gaussian:5*1@10/10~10:20/40:25")->overflow() / bound),
      2.0, 1e-12);
}

TEST(BinnedReleasesTest, BinsTogetherKeepWhatOneAloneDoesNot) {
  // t = 10, mu = 1.6 (m = 0.8): random-allocation row 16, 8.3546e-3 at epsilon 1; one bin that is told: 0.3599.
  std::string text;
  const auto units = static_cast<unsigned long long>(std::ldexp(1.6 * 1.6, 40));
  for (int i = 0; i < 10; ++i)
    text += (i == 0 ? "" : ",") + std::string("gaussian:") + std::to_string(units) + "*1@10/10~" +
            std::to_string(10 * i) + ":" + std::to_string(10 * i + 10) + "/100:100";
  const auto block = block_of(text);
  ASSERT_TRUE(block);
  EXPECT_TRUE(block->is_kept(1, 8.5e-3L));
  EXPECT_FALSE(block->is_kept(1, 8.2e-3L));
  EXPECT_TRUE(block->is_kept(1, 0.37L));
  EXPECT_FALSE(block->is_kept(1, 0));
}

/// Ten equal bins of mu in each of so many passes, and what is besides.
std::string ten_bins(long double mu, int passes, const std::string& besides = "") {
  std::string text;
  const auto units = static_cast<unsigned long long>(std::ldexp(mu * mu, 40));
  for (int pass = 0; pass < passes; ++pass) {
    for (int i = 0; i < 10; ++i) {
      text += (text.empty() ? "" : ",") + std::string("gaussian:") + std::to_string(units) + "*1@10/10~" +
              std::to_string(10 * i) + ":" + std::to_string(10 * i + 10) + "/100:100";
      if (pass > 0) text += "#" + std::to_string(pass);
    }
  }
  return text + besides;
}

TEST(BinnedReleasesTest, WhatIsBesidesIsComposedWithTheBins) {
  // One slot for all: the Gaussian of 0.9, beside one of 1.2, is that of 1.5.
  const auto units = [](long double mu) {
    return std::to_string(static_cast<unsigned long long>(std::ldexp(mu * mu, 40)));
  };
  const auto one =
      block_of("gaussian:" + units(0.9L) + "*1@100/100~0:100/100:100,gaussian:" + units(1.2L) + "*1@100/100");
  ASSERT_TRUE(one);
  const long double exact = gaussian_profile(2, 1.5L);
  EXPECT_TRUE(one->is_kept(2, exact * 1.0001L));
  EXPECT_FALSE(one->is_kept(2, exact * 0.999L));
  // Ten bins of 1.6 alone: 8.3546e-3 at epsilon 1. What is besides counts.
  const std::string besides = ",gaussian:" + units(0.3L) + "*4@100/100";
  EXPECT_TRUE(block_of(ten_bins(1.6L, 1))->is_kept(1, 9e-3L));
  EXPECT_FALSE(block_of(ten_bins(1.6L, 1, besides))->is_kept(1, 9e-3L));
  EXPECT_TRUE(block_of(ten_bins(1.6L, 1, besides))->is_kept(1, 0.12L));
  EXPECT_FALSE(block_of(ten_bins(1.6L, 1, ",gaussian:" + units(0.6L) + "*2@50/100"))->is_kept(1, 9e-3L));
}

TEST(BinnedReleasesTest, PassesAreComposed) {
  const auto four = block_of(ten_bins(0.4L, 4));
  ASSERT_TRUE(four);
  EXPECT_EQ(four->passes.size(), 4U);
  EXPECT_EQ(four->overflow(), 0);
  // Spec, section 7: epsilon 1, t = 10, E = 4: a noise multiplier of 2.3736 at delta 1e-5, mu = 0.42130.
  EXPECT_TRUE(four->is_kept(1, 1e-5L));
  EXPECT_FALSE(block_of(ten_bins(0.44L, 4))->is_kept(1, 1e-5L));
  // One pass takes 0.846.
  EXPECT_TRUE(block_of(ten_bins(0.83L, 1))->is_kept(1, 1e-5L));
  EXPECT_FALSE(block_of(ten_bins(0.83L, 2))->is_kept(1, 1e-5L));
  // Each pass has chances of its own to overflow.
  const std::string bin = "gaussian:5*1@10/10~0:10/40:25";
  EXPECT_NEAR(static_cast<double>(block_of(bin + "," + bin + "#1")->overflow() / block_of(bin)->overflow()), 2.0,
              1e-12);
}

TEST(BinnedReleasesTest, ADearestBinOfEachPassIsWhatIsKeptWithoutSecrets) {
  // The dear bin of one pass is the cheap one of the other: a record may have drawn both dear ones.
  const auto units = [](long double mu) {
    return std::to_string(static_cast<unsigned long long>(std::ldexp(mu * mu, 40)));
  };
  const auto block = block_of("gaussian:" + units(0.3L) + "*1@50/50~0:50/100:100,gaussian:" + units(0.1L) +
                              "*1@50/50~50:100/100:100,gaussian:" + units(0.1L) +
                              "*1@50/50~0:50/100:100#1,gaussian:" + units(0.3L) + "*1@50/50~50:100/100:100#1");
  ASSERT_TRUE(block);
  const long double both = gaussian_profile(1, std::sqrt(0.18L));
  const long double by_place = gaussian_profile(1, std::sqrt(0.1L));
  EXPECT_TRUE(block->is_kept(1, both * 1.001L));
  EXPECT_LT(by_place, both);
}

}  // namespace
}  // namespace undertone::verifier
