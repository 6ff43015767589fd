#include "verifier/ledger_texts.hpp"

#include <gtest/gtest.h>

namespace undertone::verifier {
namespace {

TEST(ReleaseGroupsTest, EveryPartOfAGroupIsRead) {
  const auto groups = parse_release_groups("5*3@1/40,7*2@4/40r,8*2@4/20r+0:20,9*1@2/20^6+20:40").value();
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].shift_squared, 5U);
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

  EXPECT_TRUE(groups[2].with_replacement);
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
    EXPECT_FALSE(parse_release_groups(text));
  }
}

}  // namespace
}  // namespace undertone::verifier
