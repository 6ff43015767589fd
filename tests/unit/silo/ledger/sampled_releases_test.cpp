#include "silo/ledger/sampled_releases.hpp"

#include <gtest/gtest.h>

namespace undertone::silo {
namespace {

std::optional<std::uint64_t> take(SampledReleases& releases, std::uint64_t cost) {
  return releases.take(releases::ShiftSquaredAmount::from_units(cost));
}

TEST(SampledReleasesTest, ReadsEveryFormOfAGroup) {
  SampledReleases releases =
      SampledReleases::parse("5*1@1/40,7*2@4/40r,8*1@4/20r+0:20,9*1@2/20^6+20:40,9*1@2/20+20:40").value();
  EXPECT_EQ(take(releases, 5), 1U);
  EXPECT_EQ(take(releases, 7), 1U);
  EXPECT_EQ(take(releases, 7), 1U);
  EXPECT_EQ(take(releases, 8), 1U);
  EXPECT_EQ(take(releases, 54), 6U);
  EXPECT_EQ(take(releases, 9), 1U);
  EXPECT_EQ(take(releases, 9), std::nullopt);
}

TEST(SampledReleasesTest, RoundsOfAGroupMayBeSkippedButNotTakenBack) {
  SampledReleases releases = SampledReleases::parse("5*2@4/40r,7*2@4/40r").value();
  EXPECT_EQ(take(releases, 7), 1U);
  EXPECT_EQ(take(releases, 5), std::nullopt);
}

TEST(SampledReleasesTest, NothingElseIsAList) {
  for (const char* text : {"",
                           ",",
                           "5*3@1/2,",
                           "5*3@1/2r,",
                           ",5*3@1/2",
                           "5*3@1",
                           "5*3/2",
                           "5@1/2",
                           "0*3@1/2",
                           "5*0@1/2",
                           "5*3@0/2",
                           "5*3@1/0",
                           "05*3@1/2",
                           "5*3@banana",
                           "5*3@1/2R",
                           "5*3@1/r",
                           "5*3@1r/2",
                           "5*3r@1/2",
                           "5r*3@1/2",
                           "5*3@1/2rr",
                           "5*3@1/2 r",
                           "5*3@1/2r^4",
                           "5*3@1/2^4r",
                           "5*3@1/2r^1",
                           "5*3@1/2r^",
                           "5*3@1/2^0",
                           "5*3@1/2^",
                           "5*3@1/2r+0",
                           "5*3@1/2r+",
                           "5*3@1/2r+:",
                           "5*3@1/2+0:2r",
                           "5*3@1/2+r0:2",
                           "5*3@1/2+0:2^4",
                           "5*3@1/2+0:2+0:2",
                           "5*4611686018427387904@1/2"}) {
    SCOPED_TRACE(text);
    const Result<SampledReleases> releases = SampledReleases::parse(text);
    ASSERT_FALSE(releases);
    EXPECT_EQ(releases.error().code, ErrorCode::LedgerCorrupt);
  }
}

}  // namespace
}  // namespace undertone::silo
