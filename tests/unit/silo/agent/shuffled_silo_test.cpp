#include <gtest/gtest.h>

#include "silo/agent/hand_over.hpp"
#include "silo/agent/shuffled_reply.hpp"
#include "silo/policy/policy.hpp"
#include "tests/support/one_of_each.hpp"
#include "tests/support/shuffled_job.hpp"

namespace undertone::silo {
namespace {

using Bytes = HandOver::Bytes;

RunId run(std::uint8_t number) { return {sha256("job"), {number}}; }
Bytes bytes(const std::string& text) { return std::make_shared<const std::string>(text); }
ShuffledReply pair(const std::string& text) { return {{"mixer-a", bytes(text + "a")}, {"mixer-b", bytes(text + "b")}}; }

/// "mixer-a:1a handed-over": what is sent, in order.
std::string told(const std::vector<HandOver::Action>& actions) {
  std::string out;
  for (const HandOver::Action& action : actions) {
    if (!out.empty()) out += " ";
    if (const auto* sent = std::get_if<HandOver::ToShuffler>(&action)) {
      out += sent->shuffler + ":" + *sent->bytes;
    } else if (std::holds_alternative<HandOver::ToCoordinator>(action)) {
      out += "handed-over";
    } else {
      out += "tells";
    }
  }
  return out;
}

TEST(HandOverTest, TellsTheCoordinatorOnceEveryShufflerHasTakenTheReply) {
  HandOver over;
  EXPECT_EQ(told(over.offer(run(1), {3}, pair("1"))), "mixer-a:1a mixer-b:1b");
  EXPECT_EQ(told(over.on_message("mixer-b", wire::SealedReplyTaken{run(1), {3}})), "");
  EXPECT_EQ(told(over.on_message("mixer-b", wire::SealedReplyTaken{run(1), {3}})), "");
  EXPECT_EQ(told(over.on_message("mixer-a", wire::SealedReplyTaken{run(1), {3}})), "handed-over");
  EXPECT_EQ(told(over.on_message("mixer-a", wire::SealedReplyTaken{run(1), {3}})), "");
}

TEST(HandOverTest, ShowsTheReceiptsOfThisTimeAndNoOthers) {
  HandOver over;
  const auto shown_after = [&over](std::optional<Digest> of_a, std::optional<Digest> of_b) {
    (void)over.offer(run(1), {3}, pair("1"));
    (void)over.on_message("mixer-c", wire::SealedReplyTaken{run(1), {3}, sha256("a third's")});
    (void)over.on_message("mixer-a", wire::SealedReplyTaken{run(1), {3}, of_a});
    (void)over.on_message("mixer-a", wire::SealedReplyTaken{run(1), {3}, sha256("a second time")});
    const auto actions = over.on_message("mixer-b", wire::SealedReplyTaken{run(1), {3}, of_b});
    return std::get<wire::ReplyHandedOver>(std::get<HandOver::ToCoordinator>(actions.at(0)).message).receipts;
  };
  using Receipts = std::map<std::string, Digest>;
  EXPECT_EQ(shown_after(sha256("a"), sha256("b")), (Receipts{{"mixer-a", sha256("a")}, {"mixer-b", sha256("b")}}));
  EXPECT_EQ(shown_after(std::nullopt, sha256("b2")), (Receipts{{"mixer-b", sha256("b2")}}));
  EXPECT_EQ(shown_after(std::nullopt, std::nullopt), Receipts{});
}

TEST(HandOverTest, AskedAgainEveryShufflerGetsItAgain) {
  // It may have lost the batch: what it took before counts for nothing.
  HandOver over;
  (void)over.offer(run(1), {3}, pair("1"));
  for (const char* shuffler : {"mixer-a", "mixer-b"})
    (void)over.on_message(shuffler, wire::SealedReplyTaken{run(1), {3}});
  EXPECT_EQ(told(over.offer(run(1), {3}, pair("1"))), "mixer-a:1a mixer-b:1b");
  EXPECT_EQ(told(over.on_message("mixer-a", wire::SealedReplyTaken{run(1), {3}})), "");
  EXPECT_EQ(told(over.on_message("mixer-b", wire::SealedReplyTaken{run(1), {3}})), "handed-over");
}

TEST(HandOverTest, WhatNoShufflerSendsASiloIsIgnored) {
  HandOver over;
  (void)over.offer(run(1), {4}, pair("1"));
  for (const wire::Message& message : tests::one_of_each(run(1))) {
    if (std::holds_alternative<wire::SealedReplyTaken>(message)) continue;
    EXPECT_EQ(told(over.on_message("mixer-a", message)), "tells") << wire::name_of(message);
  }
  EXPECT_EQ(told(over.on_message("mixer-c", wire::SealedReplyTaken{run(1), {4}})), "");  // another shuffler
  EXPECT_EQ(told(over.on_connected("mixer-a")), "mixer-a:1a");
}

TEST(HandOverTest, AReconnectedShufflerGetsWhatItHasNotTaken) {
  HandOver over;
  (void)over.offer(run(1), {3}, pair("1"));
  (void)over.offer(run(2), {5}, pair("2"));
  (void)over.on_message("mixer-a", wire::SealedReplyTaken{run(1), {3}});
  EXPECT_EQ(told(over.on_connected("mixer-a")), "mixer-a:2a");
  EXPECT_EQ(told(over.on_connected("mixer-b")), "mixer-b:1b mixer-b:2b");
  over.forget(run(2));
  EXPECT_EQ(told(over.on_connected("mixer-a")), "");
}

TEST(HandOverTest, OldRoundsAndOtherRunsAndRefusalsSendNothing) {
  HandOver over;
  (void)over.offer(run(1), {3}, pair("1"));
  EXPECT_EQ(told(over.offer(run(1), {2}, pair("0"))), "");
  EXPECT_EQ(told(over.on_message("mixer-a", wire::SealedReplyTaken{run(1), {2}})), "");
  EXPECT_EQ(told(over.on_message("mixer-a", wire::SealedReplyTaken{run(9), {3}})), "");
  EXPECT_EQ(told(over.on_message("mixer-a", wire::SealedReplyRefused{run(1), {3}, wire::ReplyRefusal::Closed})),
            "tells");
  EXPECT_EQ(told(over.on_message("mixer-a", wire::JobPending{run(1)})), "tells");
}

TEST(HandOverTest, KeepsABoundedNumberOfRuns) {
  HandOver over;
  for (std::size_t i = 0; i < HandOver::kRunsMax; ++i)
    EXPECT_NE(told(over.offer(run(static_cast<std::uint8_t>(i)), {1}, pair("x"))), "tells");
  EXPECT_EQ(told(over.offer(run(200), {1}, pair("y"))), "tells");
  EXPECT_NE(told(over.offer(run(0), {2}, pair("z"))), "tells");  // known ones go on
}

TEST(ShuffledReplyTest, IsKeptWithASaltOfItsOwnAndReadBack) {
  const std::string stored = pack(pair("1"));
  EXPECT_TRUE(is_shuffled(stored));
  EXPECT_FALSE(is_shuffled("UTNE"));
  const ShuffledReply again = unpack(stored).value();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(*again.at("mixer-a"), "1a");
  EXPECT_EQ(*again.at("mixer-b"), "1b");
  EXPECT_NE(pack(pair("1")), stored);  // a receipt, which is a hash over it, is no test for its content
  EXPECT_FALSE(unpack(stored.substr(0, stored.size() - 1)));
  EXPECT_FALSE(unpack(stored.substr(0, 30)));
}

class ShuffleTrustTest : public testing::Test {
 protected:
  std::string refusal() const {
    const jobs::Job job = jobs::parse_job(file_.json(), "job").value();
    const jobs::CohortMember& member = job.cohort.front();
    const DatasetFacts facts{job.schema, member.facts.records, 0, true};
    const Status allowed = check_policy(policy_, facts, job, member, crypto::NoiseKind::Test);
    return allowed ? "allowed" : allowed.error().message;
  }
  std::string key_ = to_hex(sha256("a key"));
  tests::ShuffledJob file_ = tests::ShuffledJob::counts("mixer", key_);
  Policy policy_{{"logistic"},
                 {"noisy_minibatch_sgd"},
                 {"record"},
                 1,
                 1,
                 releases::Epsilon::create(4.0).value(),
                 releases::Delta::create(1e-3).value(),
                 {},
                 Approval::Automatic,
                 std::chrono::milliseconds(0),
                 ShuffleTrust{{{"mixer", std::nullopt}}, {"counts"}, 3}};
};

TEST_F(ShuffleTrustTest, WithoutASectionNoShuffledJob) {
  EXPECT_EQ(refusal(), "allowed");
  policy_.shuffle.reset();
  EXPECT_NE(refusal().find("no section \"shuffle\""), std::string::npos);
}

TEST_F(ShuffleTrustTest, FormsAndShufflersThatAreNotNamedAreRefused) {
  policy_.shuffle->forms = {"shares"};
  EXPECT_EQ(refusal(), "the policy does not allow the form of shuffled replies \"counts\"");
  policy_.shuffle->forms = {"counts"};
  policy_.shuffle->shufflers = {{"another", std::nullopt}};
  EXPECT_EQ(refusal(), "the policy does not allow the shuffler \"mixer\"");
}

TEST_F(ShuffleTrustTest, AShufflerNamedWithAKeyIsThatOneAlone) {
  policy_.shuffle->shufflers = {{"mixer", sha256("a key")}};
  EXPECT_EQ(refusal(), "allowed");
  policy_.shuffle->shufflers = {{"mixer", sha256("another key")}};
  EXPECT_NE(refusal().find("with the key " + key_), std::string::npos);
}

TEST_F(ShuffleTrustTest, HonestSilosAreCountedAsTheyCanBeLeftOut) {
  // The job counts on 2 honest of any 2 replies of its 3 silos: one may be left out, so all 3 must be honest.
  policy_.shuffle->honest_min = 2;
  EXPECT_EQ(refusal(),
            "the job counts on 2 honest silos among any 2 of its 3, which takes 3 honest ones in all; the "
            "policy believes in 2");
  file_.quorum = 3;  // nobody is left out
  EXPECT_EQ(refusal(), "allowed");
}

}  // namespace
}  // namespace undertone::silo
