#include "coordinator/runs/run_members.hpp"

#include <gtest/gtest.h>
#include <string_view>

namespace undertone::coordinator {
namespace {

SiloId silo(std::string_view name) { return SiloId::create(name).value(); }

/// A job of the silos a, b and c.
jobs::Job job() {
  const auto member = [](const char* name) {
    return fmt::format(R"({{"silo":"{}","records":40,"holdout_records":8,"holdout_public":true,"epsilon":1,)"
                       R"("delta":1e-4}})",
                       name);
  };
  return jobs::parse_job(fmt::format(
                             R"({{"format":"undertone.job/1","name":"small",
"data":{{"label":{{"column":"y","negative":"no","positive":"yes"}},"features":[{{"column":"x","min":-1,"max":1}}]}},
"model":{{"kind":"logistic","intercept":true}},"domain":{{"kind":"l2_ball","radius":5}},"regulariser":{{"kind":"none"}},
"algorithm":{{"kind":"noisy_minibatch_sgd","rounds":2,"step_size":0.5,"averaging":"last","draw_fraction":1}},
"privacy":{{"mode":"isrl","unit":"record","noise":"test","clip_norm":1}},"cohort":[{},{},{}],
"participation":{{"quorum":2,"join_deadline_ms":1000,"round_deadline_ms":1000,"resend_ms":300}},
"evaluation":{{"every":0}},"wire":{{"points":"f64","replies":"i64","reply_step_log2":-40}}}})",
                             member("c"), member("a"), member("b")),
                         "job")
      .value();
}

TEST(RunMembersTest, KnowsTheSilosOfTheCohortAndNoOthers) {
  const jobs::Job small = job();
  RunMembers members(small, {});
  EXPECT_EQ(members.find(silo("b"))->of_job, small.member(silo("b")));
  EXPECT_EQ(members.find(silo("stranger")), nullptr);
  EXPECT_FALSE(members.connected(silo("stranger")));
  EXPECT_FALSE(members.takes_part(silo("stranger")));
}

TEST(RunMembersTest, EverybodyHasAnsweredOnceEachHasWhateverTheAnswer) {
  const jobs::Job small = job();
  RunMembers members(small, {{silo("a"), std::nullopt}});
  const auto answer = [&](const char* name, const std::optional<wire::Refusal>& refusal) {
    members.answer(*members.find(silo(name)), refusal);
  };
  answer("b", wire::Refusal::Budget);
  answer("b", std::nullopt);  // it thinks better of it, and counts once
  EXPECT_FALSE(members.everybody_answered());
  answer("c", wire::Refusal::Policy);
  EXPECT_TRUE(members.everybody_answered());
  EXPECT_EQ(members.participants(), (std::set<SiloId>{silo("a"), silo("b")}));
}

TEST(RunMembersTest, AnAnswerOfASiloThatIsNotOfTheCohortDoesNotCount) {
  const jobs::Job small = job();
  const RunMembers members(small,
                           {{silo("a"), std::nullopt}, {silo("b"), std::nullopt}, {silo("stranger"), std::nullopt}});
  EXPECT_FALSE(members.everybody_answered());
  EXPECT_FALSE(members.takes_part(silo("stranger")));
}

TEST(RunMembersTest, WhoWasDroppedTakesNoPartThoughItAccepted) {
  const jobs::Job small = job();
  RunMembers members(small, {{silo("a"), std::nullopt}});
  EXPECT_TRUE(members.takes_part(silo("a")));
  members.find(silo("a"))->dropped = true;
  EXPECT_FALSE(members.takes_part(silo("a")));
  EXPECT_TRUE(members.accepted(silo("a")));
}

TEST(RunMembersTest, SaysWhoIsAbsentAndWhy) {
  const jobs::Job small = job();
  const RunMembers members(small, {{silo("a"), wire::Refusal::Budget}, {silo("b"), std::nullopt}});
  EXPECT_EQ(members.absent(), "a (budget), c (no answer)");
}

TEST(RunMembersTest, TheSameAnswerAgainIsNoNews) {
  const jobs::Job small = job();
  const RunMembers members(small, {{silo("a"), wire::Refusal::Budget}});
  EXPECT_FALSE(members.is_news(silo("a"), wire::Refusal::Budget));
  EXPECT_TRUE(members.is_news(silo("a"), wire::Refusal::Policy));
  EXPECT_TRUE(members.is_news(silo("a"), std::nullopt));
  EXPECT_TRUE(members.is_news(silo("b"), std::nullopt));
}

}  // namespace
}  // namespace undertone::coordinator
