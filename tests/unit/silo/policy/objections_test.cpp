#include "silo/policy/objections.hpp"

#include <gtest/gtest.h>

namespace undertone::silo {
namespace {

const std::string kNumbers = "the job costs epsilon 2; 3 of the data set's 4 are reserved already";

TEST(ObjectionsTest, ByDefaultOneWordLeavesAndNoNumber) {
  for (const ObjectionKind kind : {ObjectionKind::Policy, ObjectionKind::Counts, ObjectionKind::Budget,
                                   ObjectionKind::Schema, ObjectionKind::Shuffler, ObjectionKind::Owner}) {
    const std::string said = explanation(ExplainRefusals::Kind, kind, kNumbers);
    EXPECT_EQ(said, to_string(kind));
    EXPECT_EQ(said.find_first_of("0123456789"), said.npos);
  }
  EXPECT_EQ(explanation(ExplainRefusals::Kind, ObjectionKind::Job, kNumbers), "");
}

TEST(ObjectionsTest, NoneSaysNothingAndFullSaysTheSentence) {
  EXPECT_EQ(explanation(ExplainRefusals::None, ObjectionKind::Budget, kNumbers), "");
  EXPECT_EQ(explanation(ExplainRefusals::Full, ObjectionKind::Budget, kNumbers), kNumbers);
}

TEST(ObjectionsTest, WhatLeavesIsShortAndPrintable) {
  const std::string said =
      explanation(ExplainRefusals::Full, ObjectionKind::Policy, "a\n\xe2\x80\xa8" + std::string(2000, 'b'));
  EXPECT_EQ(said.size(), kExplanationBytesMax);
  EXPECT_EQ(said.substr(0, 6), "a????b");
}

TEST(ObjectionsTest, TheNearestDataSetIsOneOfTheSchemaWithTheFewestReasons) {
  std::vector<DatasetObjections> all = {{"other", {{ObjectionKind::Schema, "s"}}},
                                        {"far", {{ObjectionKind::Counts, "c"}, {ObjectionKind::Policy, "p"}}},
                                        {"near", {{ObjectionKind::Budget, "b"}}},
                                        {"as-near", {{ObjectionKind::Budget, "d"}}}};
  put_nearest_first(all);
  EXPECT_EQ(every_reason(all),
            "data set \"near\": b. data set \"as-near\": d. data set \"far\": c; p. data set \"other\": s");
}

TEST(ObjectionsTest, ASingleDataSetNeedsNoName) {
  EXPECT_EQ(every_reason({{"wards", {{ObjectionKind::Counts, "c"}, {ObjectionKind::Policy, "p"}}}}), "c; p");
  EXPECT_EQ(every_reason({{"wards", {}}}), "");
}

}  // namespace
}  // namespace undertone::silo
