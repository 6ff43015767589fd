#include "coordinator/runs/run_members.hpp"

#include <gtest/gtest.h>
#include <string_view>

namespace undertone::coordinator {
namespace {

SiloId member_named(std::string_view name) { return SiloId::create(name).value(); }

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
  EXPECT_EQ(members.find(member_named("b"))->of_job, small.member(member_named("b")));
  EXPECT_EQ(members.find(member_named("stranger")), nullptr);
  EXPECT_FALSE(members.connected(member_named("stranger")));
  EXPECT_FALSE(members.takes_part(member_named("stranger")));
}

TEST(RunMembersTest, EverybodyHasAnsweredOnceEachHasWhateverTheAnswer) {
  const jobs::Job small = job();
  RunMembers members(small, {{member_named("a"), std::nullopt}});
  const auto answer = [&](const char* name, const std::optional<wire::Refusal>& refusal) {
    members.answer(*members.find(member_named(name)), refusal);
  };
  answer("b", wire::Refusal::Budget);
  answer("b", std::nullopt);  // it thinks better of it, and counts once
  EXPECT_FALSE(members.everybody_answered());
  answer("c", wire::Refusal::Policy);
  EXPECT_TRUE(members.everybody_answered());
  EXPECT_EQ(members.participants(), (std::set<SiloId>{member_named("a"), member_named("b")}));
}

TEST(RunMembersTest, AnAnswerOfASiloThatIsNotOfTheCohortDoesNotCount) {
  const jobs::Job small = job();
  const RunMembers members(
      small,
      {{member_named("a"), std::nullopt}, {member_named("b"), std::nullopt}, {member_named("stranger"), std::nullopt}});
  EXPECT_FALSE(members.everybody_answered());
  EXPECT_FALSE(members.takes_part(member_named("stranger")));
}

TEST(RunMembersTest, WhoWasDroppedTakesNoPartThoughItAccepted) {
  const jobs::Job small = job();
  RunMembers members(small, {{member_named("a"), std::nullopt}});
  EXPECT_TRUE(members.takes_part(member_named("a")));
  members.find(member_named("a"))->dropped = true;
  EXPECT_FALSE(members.takes_part(member_named("a")));
  EXPECT_TRUE(members.accepted(member_named("a")));
}

TEST(RunMembersTest, SaysWhoIsAbsentAndWhy) {
  const jobs::Job small = job();
  const RunMembers members(small, {{member_named("a"), wire::Refusal::Budget}, {member_named("b"), std::nullopt}});
  EXPECT_EQ(members.absent(), "a (budget), c (no answer)");
}

TEST(RunMembersTest, TheSameAnswerAgainIsNoNews) {
  const jobs::Job small = job();
  const RunMembers members(small, {{member_named("a"), wire::Refusal::Budget}});
  EXPECT_FALSE(members.is_news(member_named("a"), wire::Refusal::Budget));
  EXPECT_TRUE(members.is_news(member_named("a"), wire::Refusal::Policy));
  EXPECT_TRUE(members.is_news(member_named("a"), std::nullopt));
  EXPECT_TRUE(members.is_news(member_named("b"), std::nullopt));
}

}  // namespace
}  // namespace undertone::coordinator
