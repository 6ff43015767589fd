#include "silo/owner/job_prospects.hpp"

#include <gtest/gtest.h>

namespace undertone::silo {
namespace {

const Objection kBudget{ObjectionKind::Budget, "the budget is spent"};
const Objection kCounts{ObjectionKind::Counts, "the counts differ"};
const Objection kSchema{ObjectionKind::Schema, "the schema differs"};

TEST(JobProspectsTest, TheFirstDataSetThatHasNothingAgainstTheJobTakesIt) {
  const Prospect waits = prospect_of({{"a", {kSchema}}, {"b", {}}, {"c", {}}}, Approval::Manual);
  EXPECT_TRUE(waits.taken);
  EXPECT_EQ(waits.sentence, "An offer of this job would wait for its owner, on the data set \"b\".");
  EXPECT_EQ(prospect_of({{"a", {}}}, Approval::Automatic).sentence,
            "An offer of this job would be accepted, on the data set \"a\".");
}

TEST(JobProspectsTest, TheLedgerOfTheDataSetThatThePolicyAllowsFirstIsNotPassedOver) {
  const Prospect refused = prospect_of({{"a", {kBudget}}, {"b", {}}}, Approval::Automatic);
  EXPECT_FALSE(refused.taken);  // as the agent does: it never tries another budget
}

TEST(JobProspectsTest, ARefusalNamesEveryDataSetAndReasonNearestFirst) {
  const Prospect refused = prospect_of({{"a", {kSchema}}, {"b", {kCounts, kBudget}}}, Approval::Automatic);
  EXPECT_FALSE(refused.taken);
  EXPECT_EQ(
      refused.sentence,
      "An offer of this job would be refused, because data set \"b\": the counts differ; the budget is spent. data "
      "set \"a\": the schema differs.");
}

}  // namespace
}  // namespace undertone::silo
