#include "verifier/ledger_texts.hpp"

#include <gtest/gtest.h>
#include <string>

namespace undertone::verifier {
namespace {

TEST(ReleaseGroupsTest, EveryPartOfAGroupIsRead) {
  const auto groups =
      parse_release_groups("gaussian:5*3@1/40,gaussian:7*2@4/40r,pure:8*2@20/20+0:20,ranged:9*1@2/20^6+20:40",
                           Format::Two)
          .value();
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].units, 5U);
  EXPECT_EQ(groups[0].rounds, 3U);
  EXPECT_EQ(groups[0].drawn, 1U);
  EXPECT_EQ(groups[0].population, 40U);
  EXPECT_EQ(groups[0].steps, 1U);
  EXPECT_FALSE(groups[0].with_replacement);
  EXPECT_FALSE(groups[0].positions);

  EXPECT_TRUE(groups[1].with_replacement);
  EXPECT_EQ(groups[1].drawn, 4U);
  EXPECT_EQ(groups[1].population, 40U);
  EXPECT_FALSE(groups[1].positions);

  EXPECT_EQ(groups[0].law, Law::Gaussian);
  EXPECT_EQ(groups[2].law, Law::Pure);
  EXPECT_EQ(groups[3].law, Law::Ranged);

  EXPECT_FALSE(groups[2].with_replacement);
  EXPECT_EQ(groups[2].population, 20U);
  EXPECT_EQ(groups[2].positions, (std::pair<UInt128, UInt128>(0, 20)));

  EXPECT_FALSE(groups[3].with_replacement);
  EXPECT_EQ(groups[3].steps, 6U);
  EXPECT_EQ(groups[3].positions, (std::pair<UInt128, UInt128>(20, 40)));
}

TEST(ReleaseGroupsTest, NothingElseIsAGroup) {
  for (const char* text : {"",
                           ",",
                           "5*3@1/2,",
                           "5*3@1/2r,",
                           "5*3@1",
                           "5*3/2",
                           "*3@1/2",
                           "5*@1/2",
                           "5*3@/2",
                           "5*3@1/",
                           "05*3@1/2",
                           "5*3@1/2R",
                           "5*3@1/r",
                           "5*3@1r/2",
                           "5*3r@1/2",
                           "5r*3@1/2",
                           "r5*3@1/2",
                           "5*3@1/r2",
                           "5*3@1/2rr",
                           "5*3@1/2r ",
                           "5*3@1/2 r",
                           "5*3@1/2r^4",
                           "5*3@1/2^4r",
                           "5*3@1/2^r",
                           "5*3@1/2r^1",
                           "5*3@1/2r^",
                           "5*3@1/2r+0",
                           "5*3@1/2r+0:2r",
                           "5*3@1/2+r0:2",
                           "5*3@1/2+0:2r",
                           "5*3@1/2r+",
                           "5*3@1/2+0:2^4",
                           "5*3@1/2+0:2+0:2"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(parse_release_groups(text, Format::One));
    EXPECT_FALSE(parse_release_groups("gaussian:" + std::string(text), Format::Two));
  }
  EXPECT_FALSE(parse_release_groups("5*3@1/2", Format::Two));
  EXPECT_FALSE(parse_release_groups("gaussian:5*3@1/2", Format::One));
  EXPECT_FALSE(parse_release_groups("laplace:5*3@1/2", Format::Two));
  EXPECT_FALSE(parse_release_groups("pure:5+ranged:7*3@1/2", Format::Two));
}

TEST(ReleaseGroupsTest, AConcentratedGroupReadsAllASubsetOrAPart) {
  const auto groups =
      parse_release_groups("concentrated:5*3@40/40,concentrated:7*2@4/40,concentrated:8*1@2/20+20:40", Format::Two)
          .value();
  ASSERT_EQ(groups.size(), 3U);
  for (const ReleaseGroup& group : groups) {
    EXPECT_EQ(group.law, Law::Concentrated);
    EXPECT_FALSE(group.with_replacement);
    EXPECT_EQ(group.steps, 1U);
  }
  EXPECT_EQ(groups[0].units, 5U);
  EXPECT_EQ(groups[0].rounds, 3U);
  EXPECT_EQ(groups[0].drawn, 40U);
  EXPECT_EQ(groups[1].drawn, 4U);
  EXPECT_EQ(groups[1].population, 40U);
  EXPECT_FALSE(groups[1].positions);
  EXPECT_EQ(groups[2].positions, (std::pair<UInt128, UInt128>(20, 40)));
}

TEST(ReleaseGroupsTest, AConcentratedGroupHasNoOtherMarks) {
  for (const char* text :
       {"concentrated:5*3@4/40r", "concentrated:5*3@4/40^2", "concentrated:5*3@4/40^1",
        "concentrated:5*3@10/10~0:10/40:40", "concentrated:5*3@10/10~0:10/40:40#1", "concentrated:5*3@10/10=0:10/40",
        "concentrated:5*3@40/40!7", "concentrated:5*3@10/10+0:10&concentrated:5@10/10+10:20",
        "concentrated:5*3@10/10+0:10&ranged:5@10/10+10:20", "ranged:5*3@10/10+0:10&concentrated:5@10/10+10:20"}) {
    EXPECT_FALSE(parse_release_groups(text, Format::Two)) << text;
  }
  EXPECT_FALSE(parse_release_groups("concentrated:5*3@40/40", Format::One));
}

TEST(CostTest, HasOneSpelling) {
  for (const char* text : {"0", "gaussian:123", "pure:5+ranged:7", "gaussian:1+pure:2+ranged:3", "concentrated:123",
                           "gaussian:1+pure:2+ranged:3+concentrated:4"}) {
    SCOPED_TRACE(text);
    const std::optional<Cost> cost = parse_cost(text, Format::Two);
    ASSERT_TRUE(cost);
    EXPECT_EQ(to_text(*cost), text);
  }
  for (const char* text :
       {"", "123", "gaussian:0", "gaussian:", "gaussian:01", "ranged:7+pure:5", "pure:5+pure:6", "pure:5+", "+pure:5",
        "pure:5++ranged:7", "laplace:5", "0+pure:5", "pure:340282366920938463463374607431768211456", "concentrated:0",
        "concentrated:5+ranged:7", "concentrated:5+concentrated:6"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(parse_cost(text, Format::Two));
  }
  EXPECT_EQ(parse_cost("123", Format::One), (Cost{123, 0, 0}));
  EXPECT_FALSE(parse_cost("gaussian:123", Format::One));
}

TEST(CostTest, OfAConcentratedLawAddsUpAndFitsApart) {
  Cost cost = cost_of(Law::Concentrated, 5);
  EXPECT_FALSE(cost.is_zero());
  EXPECT_FALSE(cost.is_gaussian());
  EXPECT_TRUE(cost.add(cost_of(Law::Concentrated, 2)));
  EXPECT_TRUE(cost.add(cost_of(Law::Ranged, 1)));
  EXPECT_EQ(cost, parse_cost("ranged:1+concentrated:7", Format::Two));
  EXPECT_TRUE(cost_of(Law::Concentrated, 7).fits(cost));
  EXPECT_FALSE(cost_of(Law::Concentrated, 8).fits(cost));
  EXPECT_FALSE(cost_of(Law::Gaussian, 1).fits(cost));
  EXPECT_FALSE(cost.add(cost_of(Law::Concentrated, ~UInt128{0})));
  EXPECT_EQ(cost.concentrated, ~UInt128{0});
}

}  // namespace
}  // namespace undertone::verifier
