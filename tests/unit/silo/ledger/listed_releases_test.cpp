#include "silo/ledger/listed_releases.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace undertone::silo {
namespace {

std::optional<std::uint64_t> take(ListedReleases& list, const char* cost) {
  return list.take(releases::Cost::parse(cost).value());
}

TEST(ListedReleasesTest, ReadsEveryFormOfAGroup) {
  ListedReleases list = ListedReleases::parse(
                            "gaussian:5*1@1/40,gaussian:7*2@4/40r,pure:8*1@20/20+0:20,"
                            "gaussian:9*1@2/20^6+20:40,ranged:9*1@20/20+20:40",
                            LedgerFormat::Two)
                            .value();
  EXPECT_EQ(list.total().to_string(), "gaussian:73+pure:8+ranged:9");  // 5 + 2 * 7 + 6 * 9
  EXPECT_EQ(take(list, "gaussian:5"), 1U);
  EXPECT_EQ(take(list, "gaussian:7"), 1U);
  EXPECT_EQ(take(list, "gaussian:7"), 1U);
  EXPECT_EQ(take(list, "pure:8"), 1U);
  EXPECT_EQ(take(list, "gaussian:54"), 6U);
  EXPECT_EQ(take(list, "ranged:9"), 1U);
  EXPECT_EQ(take(list, "ranged:9"), std::nullopt);
}

TEST(ListedReleasesTest, TheFirstFormatKnowsGaussianReleasesAlone) {
  ListedReleases list = ListedReleases::parse("5*1@1/40,7*2@4/40r,9*1@2/20^6+20:40", LedgerFormat::One).value();
  EXPECT_EQ(list.total().to_string(), "gaussian:73");
  EXPECT_EQ(take(list, "gaussian:7"), 1U);
  EXPECT_EQ(take(list, "gaussian:54"), 6U);
  EXPECT_FALSE(ListedReleases::parse("gaussian:5*1@1/40", LedgerFormat::One));
  EXPECT_FALSE(ListedReleases::parse("5*1@1/40", LedgerFormat::Two));
}

TEST(ListedReleasesTest, RoundsOfAGroupMayBeSkippedButNotTakenBack) {
  ListedReleases list = ListedReleases::parse("gaussian:5*2@4/40r,gaussian:7*2@4/40r", LedgerFormat::Two).value();
  EXPECT_EQ(take(list, "gaussian:7"), 1U);
  EXPECT_EQ(take(list, "gaussian:5"), std::nullopt);
}

TEST(ListedReleasesTest, AskingTakesNothingOff) {
  ListedReleases list = ListedReleases::parse("pure:5*1@4/4,pure:7*1@4/4", LedgerFormat::Two).value();
  const releases::Cost later = releases::Cost::parse("pure:7").value();
  EXPECT_EQ(list.draws_of(later), 1U);
  EXPECT_EQ(list.draws_of(releases::Cost::parse("pure:8").value()), std::nullopt);
  EXPECT_EQ(take(list, "pure:5"), 1U);
  EXPECT_EQ(take(list, "pure:7"), 1U);
  EXPECT_EQ(list.draws_of(later), std::nullopt);
}

TEST(ListedReleasesTest, AnotherLawIsAnotherCost) {
  ListedReleases list = ListedReleases::parse("pure:5*9@4/4", LedgerFormat::Two).value();
  EXPECT_EQ(take(list, "ranged:5"), std::nullopt);
  EXPECT_EQ(take(list, "gaussian:5"), std::nullopt);
  EXPECT_EQ(take(list, "0"), std::nullopt);
  EXPECT_EQ(take(list, "pure:5"), 1U);
}

TEST(ListedReleasesTest, NothingElseIsAList) {
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
    for (const auto& [law, format] : {std::pair("", LedgerFormat::One), std::pair("gaussian:", LedgerFormat::Two)}) {
      const std::string list = law + std::string(text);
      SCOPED_TRACE(list);
      const Result<ListedReleases> parsed = ListedReleases::parse(list, format);
      ASSERT_FALSE(parsed);
      EXPECT_EQ(parsed.error().code, ErrorCode::LedgerCorrupt);
    }
  }
  for (const char* text : {"pure:5*3@4/4r", "ranged:5*3@4/4r", "pure:5+ranged:5*3@4/4", "laplace:5*3@4/4",
                           "pure:0*3@4/4", "0*3@4/4", "pure:05*3@4/4", "Pure:5*3@4/4", "pure: 5*3@4/4", "pure:*3@4/4",
                           ":5*3@4/4", "pure:340282366920938463463374607431768211455*2@4/4"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(ListedReleases::parse(text, LedgerFormat::Two));
  }
}

TEST(ListedReleasesTest, AReleaseOfSeveralPartsIsOneAtItsDearestPartsCost) {
  ListedReleases list =
      ListedReleases::parse("ranged:9*1@20/20+0:20&ranged:4@10/10+20:30&ranged:9@5/5+30:35,ranged:4*2@20/20+0:20",
                            LedgerFormat::Two)
          .value();
  EXPECT_EQ(list.total().to_string(), "ranged:17");  // 9 + 2 * 4: a record is in one part
  EXPECT_EQ(take(list, "ranged:9"), 1U);
  EXPECT_EQ(take(list, "ranged:9"), std::nullopt);
  EXPECT_EQ(take(list, "ranged:4"), 1U);
  EXPECT_EQ(take(list, "ranged:4"), 1U);
  EXPECT_EQ(take(list, "ranged:4"), std::nullopt);
  for (const char* wrong :
       {"ranged:4*1@20/20+0:20&ranged:9@10/10+20:30",    // dearer than what answers are charged
        "ranged:9*1@20/20&ranged:4@10/10+20:30",         // of all records, and of others too
        "ranged:9*1@20/20+0:20&ranged:4@5/10+20:30",     // some of a part
        "ranged:9*1@20/20+0:20&ranged:4@10/10",          // no part
        "ranged:9*1@20/20+0:20&ranged:4*2@10/10+20:30",  // as often as it is asked
        "ranged:9*1@20/20+0:20&gaussian:4@10/10+20:30",  // of another law
        "gaussian:9*1@20/20+0:20&gaussian:4@10/10+20:30", "ranged:9*1@20/20+0:20&", "ranged:9*1@20/20+0:20&&"}) {
    EXPECT_FALSE(ListedReleases::parse(wrong, LedgerFormat::Two)) << wrong;
  }
}

TEST(ListedReleasesTest, AFailureIsOfPureReleasesOfAllRecords) {
  EXPECT_TRUE(ListedReleases::parse("pure:9*1@20/20!123", LedgerFormat::Two));
  for (const char* wrong : {"pure:9*1@20/20!", "pure:9*1@20/20!x", "gaussian:9*1@20/20!1", "ranged:9*1@20/20!1",
                            "pure:9*1@10/20!1", "pure:9*1@20/20+0:20!1", "pure:9*1@20/20!1!2"}) {
    EXPECT_FALSE(ListedReleases::parse(wrong, LedgerFormat::Two)) << wrong;
  }
}

}  // namespace
}  // namespace undertone::silo
