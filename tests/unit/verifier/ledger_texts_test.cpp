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

TEST(CostTest, HasOneSpelling) {
  for (const char* text : {"0", "gaussian:123", "pure:5+ranged:7", "gaussian:1+pure:2+ranged:3"}) {
    SCOPED_TRACE(text);
    const std::optional<Cost> cost = parse_cost(text, Format::Two);
    ASSERT_TRUE(cost);
    EXPECT_EQ(to_text(*cost), text);
  }
  for (const char* text :
       {"", "123", "gaussian:0", "gaussian:", "gaussian:01", "ranged:7+pure:5", "pure:5+pure:6", "pure:5+", "+pure:5",
        "pure:5++ranged:7", "laplace:5", "0+pure:5", "pure:340282366920938463463374607431768211456"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(parse_cost(text, Format::Two));
  }
  EXPECT_EQ(parse_cost("123", Format::One), (Cost{123, 0, 0}));
  EXPECT_FALSE(parse_cost("gaussian:123", Format::One));
}

}  // namespace
}  // namespace undertone::verifier
