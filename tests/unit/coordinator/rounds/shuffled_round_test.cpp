#include "coordinator/rounds/shuffled_round.hpp"

#include <gtest/gtest.h>
#include <utility>

#include "shared/sealed/hand_over_receipt.hpp"

namespace undertone::coordinator {
namespace {

using std::chrono::milliseconds;
using State = ShuffledRound::State;
using Actions = std::vector<ShuffledRound::Action>;

const TimePoint kOpened{};
const RunId kRun{sha256("job"), {}};
constexpr RoundIndex kRound{3};

SiloId silo_named(std::string_view name) { return SiloId::create(name).value(); }

std::vector<SiloId> silos(std::initializer_list<std::string_view> names) {
  std::vector<SiloId> out;
  for (const std::string_view name : names) out.push_back(silo_named(name));
  return out;
}

/// Remembers what it was given, and fails when told to.
class ScriptedFold final : public sealed::BatchFold {
 public:
  struct Taken {
    std::size_t shuffler = 0;
    std::uint64_t replies = 0;
    std::string units;
    friend bool operator==(const Taken&, const Taken&) = default;
  };
  struct Script {
    std::vector<Taken> taken;
    bool refuses = false;
    bool does_not_belong_together = false;
  };
  explicit ScriptedFold(Script& script) : script_(&script) {}

  Status take(std::size_t shuffler, std::uint64_t replies, std::string units) override {
    if (script_->refuses) return Error{ErrorCode::Malformed, "unit 4 does not open"};
    script_->taken.push_back({shuffler, replies, std::move(units)});
    return {};
  }
  Result<folds::Gathered> gathered() const override {
    if (script_->does_not_belong_together) return Error{ErrorCode::Malformed, "the total is out of range"};
    return folds::Gathered{kRound, static_cast<Eigen::Index>(script_->taken.front().replies),
                           folds::Mean{Eigen::VectorXd::Constant(1, 0.5)}};
  }
  Digest digest() const override { return sha256(script_->taken.front().units); }

 private:
  Script* script_;
};

/// A round of silos a, b and c with a minimum of two replies and a deadline of 100 ms.
struct Round {
  std::unique_ptr<ScriptedFold::Script> script = std::make_unique<ScriptedFold::Script>();
  std::unique_ptr<ShuffledRound> machine;

  Round(std::vector<std::string> shufflers, bool adds, std::optional<ShuffledRound::Commit> committed = std::nullopt) {
    ShuffledRound::Setup setup;
    setup.run = kRun;
    setup.round = kRound;
    setup.query = sha256("query");
    for (const std::string& name : shufflers) setup.terms.push_back(terms_for(name));
    setup.shufflers = std::move(shufflers);
    setup.receipt_secret = sha256("secret");
    setup.adds = adds;
    setup.expected = {silo_named("a"), silo_named("b"), silo_named("c")};
    setup.replies_min = 2;
    setup.message_bytes = 64;
    setup.unit_bytes = adds ? 64 : 32;
    setup.word_bytes = adds ? 4 : 0;
    setup.deadline = milliseconds(100);
    setup.committed = std::move(committed);
    setup.fold = std::make_unique<ScriptedFold>(*script);
    machine = std::make_unique<ShuffledRound>(std::move(setup));
  }
  ShuffledRound* operator->() const { return machine.get(); }

  static Digest terms_for(const std::string& shuffler) { return sha256("terms for " + shuffler); }
  /// What every shuffler gave the silo, with the key that it was told.
  std::map<std::string, Digest> receipts(std::string_view of, std::uint32_t attempt = 0) const {
    std::map<std::string, Digest> out;
    for (const std::string& name : machine->setup().shufflers) {
      const Digest key = sealed::receipt_key(sha256("secret"), name);
      out.emplace(name, sealed::receipt_of(key, {kRun, kRound, attempt, silo_named(of), terms_for(name)}));
    }
    return out;
  }
  Actions handed_over(std::string_view who) const { return machine->on_handed_over(silo_named(who), receipts(who)); }

  Actions say(std::string_view shuffler, wire::Message message, TimePoint now = kOpened) const {
    return machine->on_shuffler_message(shuffler, std::move(message), now);
  }
  Actions opened(std::string_view shuffler, std::uint32_t attempt = 0) const {
    return say(shuffler, wire::BatchOpened{kRun, kRound, attempt});
  }
  Actions collected(std::string_view shuffler, std::vector<SiloId> who, std::uint32_t attempt = 0) const {
    return say(shuffler, wire::BatchCollected{kRun, kRound, attempt, std::move(who)});
  }
  Actions forwarded(std::string_view shuffler, std::uint64_t replies, std::string units = "units") const {
    return say(shuffler, wire::BatchForward{kRun, kRound, replies, std::move(units)});
  }
  Actions failed(std::string_view shuffler, std::uint64_t replies = 1, std::uint32_t attempt = 0) const {
    return say(shuffler, wire::BatchFailed{kRun, kRound, attempt, replies});
  }
  Actions refused(std::string_view shuffler, wire::BatchRefusal refusal) const {
    return say(shuffler, wire::BatchRefused{kRun, kRound, 0, refusal});
  }
};

Round mixing() {
  Round round({"mix"}, false);
  (void)round->open(kOpened);
  (void)round.opened("mix");
  return round;
}

Round adding() {
  Round round({"one", "two"}, true);
  (void)round->open(kOpened);
  (void)round.opened("one");
  (void)round.opened("two");
  return round;
}

/// Told to add a and b.
Round closing() {
  Round round = adding();
  (void)round.collected("one", silos({"a", "b"}));
  (void)round.collected("two", silos({"a", "b", "c"}));
  return round;
}

template <class Kind>
std::vector<Kind> all(const Actions& actions) {
  std::vector<Kind> out;
  for (const auto& action : actions) {
    if (const auto* kind = std::get_if<Kind>(&action)) out.push_back(*kind);
  }
  return out;
}

/// The messages of one kind, by shuffler.
template <class Body>
std::map<std::string, Body> told(const Actions& actions) {
  std::map<std::string, Body> out;
  for (const auto& [shuffler, message] : all<ShuffledRound::ToShuffler>(actions)) {
    const auto* body = std::get_if<Body>(&message);
    if (body == nullptr) continue;
    EXPECT_TRUE(out.emplace(shuffler, *body).second) << "told twice";
  }
  return out;
}

template <class Body>
std::string told_whom(const Actions& actions) {
  std::string out;
  for (const auto& [shuffler, body] : told<Body>(actions)) out += (out.empty() ? "" : " ") + shuffler;
  return out;
}

std::string abortion(const Actions& actions) {
  const auto aborted = all<ShuffledRound::AbortRound>(actions);
  return aborted.size() == 1 ? aborted[0].reason.message : fmt::format("aborted {} times", aborted.size());
}

TEST(ShuffledRoundTest, CommitsWhomItExpectsBeforeItOpensAnything) {
  Round round({"one", "two"}, true);
  const Actions actions = round->open(kOpened);
  ASSERT_EQ(actions.size(), 4U);
  const auto& commit = std::get<ShuffledRound::Commit>(actions[0]);
  EXPECT_EQ(commit.attempt, 0U);
  EXPECT_EQ(commit.expected, silos({"a", "b", "c"}));
  EXPECT_FALSE(commit.closing.has_value());
  const auto opens = told<wire::BatchOpen>(actions);
  ASSERT_EQ(opens.size(), 2U);
  const wire::BatchOpen& open = opens.at("two");
  EXPECT_EQ(open.run, kRun);
  EXPECT_EQ(open.round, kRound);
  EXPECT_EQ(open.attempt, 0U);
  EXPECT_EQ(open.expected, silos({"a", "b", "c"}));
  EXPECT_EQ(open.replies_min, 2U);
  EXPECT_EQ(open.message_bytes, 64U);
  EXPECT_EQ(open.unit_bytes, 64U);
  EXPECT_EQ(open.word_bytes, 4U);
  EXPECT_EQ(open.query, sha256("query"));
  EXPECT_EQ(open.deadline, milliseconds(100));
  EXPECT_EQ(std::get<ShuffledRound::ArmDeadline>(actions[3]).at, kOpened + milliseconds(200));
}

TEST(ShuffledRoundTest, SilosAreAskedWhenEveryShufflerHasOpened) {
  Round round({"one", "two"}, true);
  (void)round->open(kOpened);
  EXPECT_TRUE(round.opened("two").empty());
  EXPECT_TRUE(round.opened("two").empty());
  EXPECT_FALSE(round->wants(silo_named("a")));
  const Actions actions = round.say("one", wire::BatchOpened{kRun, kRound, 0}, kOpened + milliseconds(30));
  const auto asked = all<ShuffledRound::AskSilos>(actions);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].silos, silos({"a", "b", "c"}));
  EXPECT_EQ(all<ShuffledRound::ArmDeadline>(actions).at(0).at, kOpened + milliseconds(230));
  EXPECT_TRUE(round->wants(silo_named("a")));
  EXPECT_TRUE(round.opened("one").empty()) << "nobody is asked twice";
}

TEST(ShuffledRoundTest, WantsNothingMoreOfASiloThatHandedOverOrWillNotAnswer) {
  const Round round = mixing();
  EXPECT_TRUE(round->on_handed_over(silo_named("a"), {}).empty());
  EXPECT_TRUE(round->on_lost(silo_named("b")).empty());
  EXPECT_FALSE(round->wants(silo_named("a")));
  EXPECT_FALSE(round->wants(silo_named("b")));
  EXPECT_TRUE(round->wants(silo_named("c")));
  EXPECT_FALSE(round->wants(silo_named("z")));
}

TEST(ShuffledRoundTest, AReplyInASilosOwnNameIsNotReceivedAndNobodyJoinsAnOpenBatch) {
  const Round round = mixing();
  std::optional<ShuffledRound::Reception> reception;
  EXPECT_TRUE(
      round->on_reply(silo_named("a"), {kRun, sha256("query"), queries::ReplyType::I64, {}}, reception).empty());
  EXPECT_EQ(reception, std::nullopt);
  EXPECT_EQ(round->refuses(silo_named("a"), {wire::Kind::Reply, kRun, kRound, 1, 8, 8}),
            ShuffledRound::Reception::Foreign);
  EXPECT_FALSE(round->expect(silo_named("d"), {}));
  EXPECT_EQ(round->missing(), silos({"a", "b", "c"}));
}

TEST(ShuffledRoundTest, ClosesWithTheBatchOfAMixer) {
  const Round round = mixing();
  (void)round->on_handed_over(silo_named("a"), {});
  (void)round->on_handed_over(silo_named("c"), {});
  const Actions actions = round.forwarded("mix", 2, "mixed");
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<ShuffledRound::CloseRound>(actions[0]));
  EXPECT_EQ(round->state(), State::Closed);
  EXPECT_EQ(round.script->taken, (std::vector<ScriptedFold::Taken>{{0, 2, "mixed"}}));
  EXPECT_EQ(round->gathered().replies, 2);
  EXPECT_EQ(round->digests(),
            (std::map<SiloId, Digest>{{silo_named("a"), sha256("mixed")}, {silo_named("c"), sha256("mixed")}}));
  EXPECT_EQ(round->accepted(), (std::set<SiloId>{silo_named("a"), silo_named("c")}));
  EXPECT_EQ(round->missing(), silos({"b"}));
}

TEST(ShuffledRoundTest, NobodyIsMissingWhereAMixerHasAllBeforeTheySayIt) {
  const Round round = mixing();
  (void)round->on_handed_over(silo_named("a"), {});
  (void)round.forwarded("mix", 3, "mixed");
  EXPECT_EQ(round->state(), State::Closed);
  EXPECT_EQ(round->accepted(), (std::set<SiloId>{silo_named("a"), silo_named("b"), silo_named("c")}));
  EXPECT_TRUE(round->missing().empty());
}

TEST(ShuffledRoundTest, AddersAreToldToAddWhatAllOfThemHave) {
  const Round round = adding();
  EXPECT_TRUE(round.collected("one", silos({"a", "b"})).empty());
  const Actions actions = round.collected("two", silos({"a", "b", "c"}));
  ASSERT_EQ(actions.size(), 4U);
  EXPECT_EQ(std::get<ShuffledRound::LogEvent>(actions[0]).event, "replies_left_out round=3 shuffler=two silos=\"c\"");
  const auto& commit = std::get<ShuffledRound::Commit>(actions[1]);
  EXPECT_EQ(commit.attempt, 0U);
  EXPECT_EQ(commit.closing, silos({"a", "b"}));
  const auto closes = told<wire::BatchClose>(actions);
  ASSERT_EQ(closes.size(), 2U);
  for (const auto& [shuffler, close] : closes) {
    EXPECT_EQ(close.run, kRun);
    EXPECT_EQ(close.round, kRound);
    EXPECT_EQ(close.attempt, 0U);
    EXPECT_EQ(close.silos, silos({"a", "b"}));
  }
}

TEST(ShuffledRoundTest, ClosesWhenEveryAdderHasForwarded) {
  const Round round = closing();
  EXPECT_TRUE(round.forwarded("two", 2, "second").empty());
  EXPECT_TRUE(round.forwarded("two", 2, "again").empty());
  const Actions actions = round.forwarded("one", 2, "first");
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<ShuffledRound::CloseRound>(actions[0]));
  EXPECT_EQ(round.script->taken, (std::vector<ScriptedFold::Taken>{{1, 2, "second"}, {0, 2, "first"}}));
  EXPECT_EQ(round->accepted(), (std::set<SiloId>{silo_named("a"), silo_named("b")})) << "whoever handed over";
  EXPECT_EQ(round->missing(), silos({"c"}));
}

TEST(ShuffledRoundTest, OneAdderWillDo) {
  Round round({"add"}, true);
  (void)round->open(kOpened);
  (void)round.opened("add");
  EXPECT_EQ(told<wire::BatchClose>(round.collected("add", silos({"b", "c"}))).at("add").silos, silos({"b", "c"}));
  EXPECT_EQ(all<ShuffledRound::CloseRound>(round.forwarded("add", 2)).size(), 1U);
}

TEST(ShuffledRoundTest, BatchesAreForgottenWhenTheStoreHasWhatFollows) {
  const Round round = closing();
  (void)round.forwarded("one", 2);
  (void)round.forwarded("two", 2);
  EXPECT_TRUE(round->on_shuffler_connected("one").empty()) << "nothing is committed yet";
  EXPECT_TRUE(round.forwarded("one", 2).empty());
  EXPECT_EQ(told_whom<wire::BatchDelivered>(round->delivered()), "one two");
  EXPECT_EQ(told_whom<wire::BatchDelivered>(round->on_shuffler_connected("one")), "one");
  EXPECT_EQ(told_whom<wire::BatchDelivered>(round.forwarded("two", 2)), "two");
}

TEST(ShuffledRoundTest, ABatchOfAnEarlierRoundIsAcknowledgedAndNotFolded) {
  const Round round = mixing();
  const auto delivered = told<wire::BatchDelivered>(round.say("mix", wire::BatchForward{kRun, {2}, 3, "old"}));
  ASSERT_EQ(delivered.size(), 1U);
  EXPECT_EQ(delivered.at("mix").round, RoundIndex{2});
  EXPECT_TRUE(round.script->taken.empty());
}

TEST(ShuffledRoundTest, AWrongBatchEndsTheRoundAndIsNotAskedForAgain) {
  Round round = closing();
  round.script->refuses = true;
  const Actions actions = round.forwarded("two", 2);
  EXPECT_EQ(abortion(actions), "round 3: shuffler two forwarded a wrong batch: unit 4 does not open");
  EXPECT_EQ(told_whom<wire::BatchAbandon>(actions), "one");
  EXPECT_EQ(round->state(), State::Aborted);
  EXPECT_TRUE(round.failed("one").empty());
}

TEST(ShuffledRoundTest, BatchesThatDoNotBelongTogetherEndTheRound) {
  Round round = closing();
  round.script->does_not_belong_together = true;
  (void)round.forwarded("one", 2);
  EXPECT_EQ(abortion(round.forwarded("two", 2)), "round 3: what the shufflers forwarded: the total is out of range");
}

TEST(ShuffledRoundTest, ABatchBelowTheMinimumIsNotFolded) {
  const Round round = mixing();
  EXPECT_EQ(abortion(round.forwarded("mix", 1)), "round 3: shuffler mix forwarded 1 replies, minimum is 2");
  EXPECT_TRUE(round.script->taken.empty());
}

TEST(ShuffledRoundTest, ABatchOfMoreThanWereExpectedIsNotFolded) {
  const Round round = mixing();
  EXPECT_EQ(abortion(round.forwarded("mix", 4)), "round 3: shuffler mix forwarded 4 replies, 3 were expected");
  EXPECT_TRUE(round.script->taken.empty());
}

TEST(ShuffledRoundTest, AMixerThatDropsAReplyIsNamed) {
  const Round round = mixing();
  for (const char* name : {"a", "b", "c"}) (void)round.handed_over(name);
  EXPECT_EQ(abortion(round.forwarded("mix", 2)), "round 3: shuffler mix dropped the replies of 1 silos");
  EXPECT_TRUE(round.script->taken.empty());
}

TEST(ShuffledRoundTest, AMixerThatDropsAReplyIsNamedWhenTheSiloIsHeardLater) {
  Round round({"one", "two"}, false);
  (void)round->open(kOpened);
  (void)round.opened("one");
  (void)round.opened("two");
  (void)round.forwarded("two", 2);
  (void)round.handed_over("a");
  (void)round.handed_over("b");
  EXPECT_EQ(abortion(round.handed_over("c")), "round 3: shuffler two dropped the replies of 1 silos");
}

TEST(ShuffledRoundTest, AnAdderThatDropsAReplyIsNamed) {
  const Round round = adding();
  for (const char* name : {"a", "b", "c"}) (void)round.handed_over(name);
  EXPECT_TRUE(round.collected("two", silos({"a", "b", "c"})).empty());
  const Actions actions = round.collected("one", silos({"b"}));
  EXPECT_EQ(abortion(actions), "round 3: shuffler one dropped the replies of 2 silos: a, c");
  EXPECT_EQ(told_whom<wire::BatchAbandon>(actions), "one two");
}

TEST(ShuffledRoundTest, AnAdderThatDropsAReplyIsNamedWhenTheSiloIsHeardLater) {
  const Round round = closing();
  EXPECT_EQ(abortion(round.handed_over("c")), "round 3: shuffler one dropped the replies of 1 silos: c");
}

TEST(ShuffledRoundTest, EachShufflerIsToldAReceiptKeyOfItsOwn) {
  Round round({"one", "two"}, true);
  const Actions actions = round->open(kOpened);
  for (const char* name : {"one", "two"})
    EXPECT_EQ(told<wire::BatchOpen>(actions).at(name).receipt_key, sealed::receipt_key(sha256("secret"), name));
}

std::string unproven(std::string_view shuffler, std::string_view names) {
  return fmt::format(
      "hand_over_unproven round=3 shuffler={} silos=\"{}\" reason=\"they say that it took their replies, it does not "
      "have "
      "them, and they show no receipt\"",
      shuffler, names);
}

TEST(ShuffledRoundTest, ALieAboutAHandOverEndsNoRoundOfAdders) {
  // Before the shufflers speak and after.
  for (const bool early : {true, false}) {
    SCOPED_TRACE(early);
    const Round round = adding();
    for (const char* name : {"a", "b"}) (void)round.handed_over(name);
    if (early) {
      EXPECT_TRUE(round->on_handed_over(silo_named("c"), {}).empty());
    }
    Actions said = round.collected("one", silos({"a", "b"}));
    if (!early) said = round->on_handed_over(silo_named("c"), {});
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(std::get<ShuffledRound::LogEvent>(said[0]).event, unproven("one", "c"));
    EXPECT_TRUE(round->on_handed_over(silo_named("c"), {}).empty()) << "it is named once";
    EXPECT_FALSE(round->wants(silo_named("c"))) << "it is not asked again";
    EXPECT_EQ(told<wire::BatchClose>(round.collected("two", silos({"a", "b"}))).at("two").silos, silos({"a", "b"}));
    (void)round.forwarded("one", 2);
    EXPECT_EQ(all<ShuffledRound::CloseRound>(round.forwarded("two", 2)).size(), 1U);
    EXPECT_EQ(round->missing(), silos({"c"}));
  }
}

TEST(ShuffledRoundTest, ALieAboutAHandOverEndsNoRoundOfAMixer) {
  for (const bool early : {true, false}) {
    SCOPED_TRACE(early);
    Round round({"one", "two"}, false);
    (void)round->open(kOpened);
    for (const char* name : {"one", "two"}) (void)round.opened(name);
    for (const char* name : {"a", "b"}) (void)round.handed_over(name);
    if (early) (void)round->on_handed_over(silo_named("c"), {});
    Actions said = round.forwarded("one", 2);
    if (!early) said = round->on_handed_over(silo_named("c"), {});
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(std::get<ShuffledRound::LogEvent>(said[0]).event, unproven("one", "c"));
    EXPECT_EQ(all<ShuffledRound::CloseRound>(round.forwarded("two", 2)).size(), 1U);
    EXPECT_EQ(round->accepted(), (std::set<SiloId>{silo_named("a"), silo_named("b")}));
    EXPECT_EQ(round->missing(), silos({"c"}));
  }
}

TEST(ShuffledRoundTest, AReceiptOfAnotherShufflerSiloAttemptOrOtherTermsAccusesNobody) {
  const auto said_with = [](const std::map<std::string, Digest>& receipts) {
    const Round round = adding();
    (void)round.collected("one", silos({"a", "b"}));
    const Actions actions = round->on_handed_over(silo_named("c"), receipts);
    EXPECT_EQ(all<ShuffledRound::LogEvent>(actions).size(), actions.size());
    return round->state();
  };
  const Round honest = adding();
  const Digest key = sealed::receipt_key(sha256("secret"), "one");
  std::map<std::string, Digest> receipts = honest.receipts("c");
  receipts["one"] = receipts.at("two");
  EXPECT_EQ(said_with(receipts), State::Collecting);
  EXPECT_EQ(said_with(honest.receipts("a")), State::Collecting);
  EXPECT_EQ(said_with(honest.receipts("c", 1)), State::Collecting);
  receipts["one"] = sealed::receipt_of(key, {kRun, kRound, 0, silo_named("c"), sha256("terms of its own")});
  EXPECT_EQ(said_with(receipts), State::Collecting);
  receipts.erase("one");
  EXPECT_EQ(said_with(receipts), State::Collecting);
}

TEST(ShuffledRoundTest, AReceiptOfTheFirstAttemptAccusesNobodyInTheSecond) {
  const Round round = mixing();
  for (const char* name : {"a", "b", "c"}) (void)round.handed_over(name);
  (void)round.failed("mix");
  (void)round.opened("mix", 1);
  for (const char* name : {"a", "b"}) (void)round->on_handed_over(silo_named(name), round.receipts(name, 1));
  (void)round.handed_over("c");
  EXPECT_EQ(all<ShuffledRound::CloseRound>(round.forwarded("mix", 2)).size(), 1U);
  EXPECT_EQ(round->missing(), silos({"c"}));
}

TEST(ShuffledRoundTest, AReceiptThatComesAfterTheLieStillNamesTheShuffler) {
  const Round round = closing();
  (void)round->on_handed_over(silo_named("c"), {});
  EXPECT_EQ(abortion(round.handed_over("c")), "round 3: shuffler one dropped the replies of 1 silos: c");
}

TEST(ShuffledRoundTest, AnAdderCannotHaveCollectedFromOthers) {
  const std::string sentence = "round 3: shuffler one says that it collected replies which were not expected";
  EXPECT_EQ(abortion(adding().collected("one", silos({"a", "z"}))), sentence);
  EXPECT_EQ(abortion(adding().collected("one", silos({"b", "a"}))), sentence);
  EXPECT_EQ(abortion(adding().collected("one", silos({"a", "a"}))), sentence);
}

TEST(ShuffledRoundTest, AnAdderCannotChangeWhatItCollected) {
  const Round round = adding();
  (void)round.collected("one", silos({"a", "b"}));
  EXPECT_TRUE(round.collected("one", silos({"a", "b"})).empty());
  EXPECT_EQ(abortion(round.collected("one", silos({"a", "c"}))),
            "round 3: shuffler one says that it collected other replies than it said before");
}

TEST(ShuffledRoundTest, AnAdderCannotForwardBeforeItIsToldWhatToAdd) {
  const Round round = adding();
  EXPECT_EQ(abortion(round.forwarded("one", 3)),
            "round 3: shuffler one forwarded a total before it was told what to add");
}

TEST(ShuffledRoundTest, AnAdderMustAddExactlyTheClosedSet) {
  EXPECT_EQ(abortion(closing().forwarded("two", 3)), "round 3: shuffler two forwarded 3 replies, was told to add 2");
}

TEST(ShuffledRoundTest, AnAttemptOfWhichNothingWasForwardedIsMadeAgainOnce) {
  const Round round = mixing();
  (void)round->on_lost(silo_named("c"));
  (void)round->on_handed_over(silo_named("a"), {});
  const Actions again = round.failed("mix");
  ASSERT_EQ(again.size(), 4U);
  EXPECT_TRUE(std::holds_alternative<ShuffledRound::LogEvent>(again[0]));
  const auto& commit = std::get<ShuffledRound::Commit>(again[1]);
  EXPECT_EQ(commit.attempt, 1U);
  EXPECT_EQ(commit.expected, silos({"a", "b"})) << "c will not answer";
  EXPECT_EQ(told<wire::BatchOpen>(again).at("mix").attempt, 1U);
  EXPECT_EQ(told<wire::BatchOpen>(again).at("mix").expected, silos({"a", "b"}));
  EXPECT_EQ(std::get<ShuffledRound::ArmDeadline>(again[3]).at, kOpened + milliseconds(200));
  EXPECT_TRUE(round.opened("mix", 0).empty()) << "of the earlier attempt";
  EXPECT_EQ(all<ShuffledRound::AskSilos>(round.opened("mix", 1)).at(0).silos, silos({"a", "b"}));
  (void)round->on_handed_over(silo_named("b"), {});
  EXPECT_EQ(abortion(round.failed("mix", 1, 1)),
            "round 3: shuffler mix forwarded nothing, with 1 replies, minimum is 2; missing: a");
}

TEST(ShuffledRoundTest, TheSecondAttemptCanClose) {
  const Round round = mixing();
  (void)round.failed("mix");
  (void)round.opened("mix", 1);
  EXPECT_TRUE(round.failed("mix", 1, 0).empty()) << "of the earlier attempt";
  EXPECT_EQ(all<ShuffledRound::CloseRound>(round.forwarded("mix", 3)).size(), 1U);
}

TEST(ShuffledRoundTest, HandOversOfTheEarlierAttemptDoNotAccuseAShuffler) {
  const Round round = mixing();
  (void)round.failed("mix");
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(round->on_handed_over(silo_named(name), {}).empty());
  (void)round.opened("mix", 1);
  EXPECT_EQ(all<ShuffledRound::CloseRound>(round.forwarded("mix", 2)).size(), 1U);
}

TEST(ShuffledRoundTest, WaitsUntilEveryShufflerHasGivenTheAttemptUp) {
  const Round round = adding();
  const Actions given_up = round.failed("two");
  EXPECT_EQ(told_whom<wire::BatchAbandon>(given_up), "one");
  EXPECT_TRUE(told<wire::BatchOpen>(given_up).empty());
  EXPECT_EQ(round->state(), State::Retracting);
  EXPECT_FALSE(round->wants(silo_named("a")));
  EXPECT_TRUE(round.failed("two").empty());
  EXPECT_EQ(told_whom<wire::BatchAbandon>(round.collected("one", silos({"a", "b"}))), "one") << "they crossed";
  const Actions again = round.failed("one", 2);
  EXPECT_EQ(all<ShuffledRound::Commit>(again).at(0).attempt, 1U);
  EXPECT_EQ(told_whom<wire::BatchOpen>(again), "one two");
}

TEST(ShuffledRoundTest, TooFewInCommonAreNotAdded) {
  const Round round = adding();
  (void)round.collected("one", silos({"a", "b"}));
  const Actions given_up = round.collected("two", silos({"b", "c"}));
  EXPECT_TRUE(all<ShuffledRound::Commit>(given_up).empty());
  EXPECT_TRUE(told<wire::BatchClose>(given_up).empty());
  EXPECT_EQ(told_whom<wire::BatchAbandon>(given_up), "one two");
  (void)round.failed("one", 2);
  EXPECT_EQ(told_whom<wire::BatchOpen>(round.failed("two", 2)), "one two");
  (void)round.opened("one", 1);
  (void)round.opened("two", 1);
  (void)round.collected("one", silos({"a", "b"}), 1);
  EXPECT_EQ(abortion(round.collected("two", silos({"b", "c"}), 1)),
            "round 3: the shufflers have 1 replies in common, minimum is 2; missing: a, b, c");
}

TEST(ShuffledRoundTest, NothingIsAskedAgainOnceAnotherShufflerHasForwarded) {
  const Round round = closing();
  (void)round.forwarded("one", 2);
  const Actions actions = round.failed("two", 3);
  EXPECT_EQ(abortion(actions),
            "round 3: shuffler two forwarded nothing, and shuffler one has forwarded its batch, "
            "which is final");
  EXPECT_TRUE(told<wire::BatchOpen>(actions).empty());
  EXPECT_EQ(told_whom<wire::BatchDelivered>(round->delivered()), "one") << "it may forget what is of no use";
}

TEST(ShuffledRoundTest, NothingIsAskedAgainWhenTheForwardCrossesTheAbandonment) {
  const Round round = closing();
  EXPECT_EQ(told_whom<wire::BatchAbandon>(round.failed("two", 3)), "one");
  const Actions actions = round.forwarded("one", 2);
  EXPECT_EQ(abortion(actions),
            "round 3: shuffler two forwarded nothing, and shuffler one has forwarded its batch, "
            "which is final");
  EXPECT_TRUE(told<wire::BatchOpen>(actions).empty());
  EXPECT_TRUE(round.script->taken.empty());
}

TEST(ShuffledRoundTest, AnAttemptThatFailsAfterItsSetWasToldMayCloseWithAnotherSet) {
  const Round round = closing();
  (void)round.failed("two", 3);
  const auto commit = all<ShuffledRound::Commit>(round.failed("one", 2)).at(0);
  EXPECT_FALSE(commit.closing.has_value());
  (void)round.opened("one", 1);
  (void)round.opened("two", 1);
  (void)round.collected("one", silos({"a", "b", "c"}), 1);
  const auto closes = told<wire::BatchClose>(round.collected("two", silos({"b", "c"}), 1));
  EXPECT_EQ(closes.at("one").attempt, 1U);
  EXPECT_EQ(closes.at("one").silos, silos({"b", "c"}));
}

TEST(ShuffledRoundTest, TheDeadlineNamesWhoDidNotOpen) {
  Round round({"one", "two"}, true);
  (void)round->open(kOpened);
  (void)round.opened("one");
  EXPECT_TRUE(round->on_deadline(kOpened + milliseconds(199)).empty());
  const Actions actions = round->on_deadline(kOpened + milliseconds(200));
  EXPECT_EQ(abortion(actions), "round 3: shuffler two did not open its batch until the deadline");
  EXPECT_EQ(told_whom<wire::BatchAbandon>(actions), "one two");
  EXPECT_TRUE(round->on_deadline(kOpened + milliseconds(500)).empty());
}

TEST(ShuffledRoundTest, TheDeadlineNamesWhoDidNotForward) {
  EXPECT_EQ(abortion(mixing()->on_deadline(kOpened + milliseconds(200))),
            "round 3: shuffler mix did not forward its batch until the deadline");
  const Round round = closing();
  (void)round.forwarded("one", 2);
  EXPECT_EQ(abortion(round->on_deadline(kOpened + milliseconds(200))),
            "round 3: shuffler two did not forward its batch until the deadline");
}

TEST(ShuffledRoundTest, TheDeadlineNamesWhoDidNotCollect) {
  const Round round = adding();
  (void)round.collected("two", silos({"a", "b"}));
  EXPECT_EQ(abortion(round->on_deadline(kOpened + milliseconds(200))),
            "round 3: shuffler one did not say what it collected until the deadline");
}

TEST(ShuffledRoundTest, TheDeadlineNamesWhoDidNotGiveUp) {
  const Round round = adding();
  (void)round.failed("two");
  EXPECT_EQ(abortion(round->on_deadline(kOpened + milliseconds(200))),
            "round 3: shuffler one did not give up its batch until the deadline");
}

TEST(ShuffledRoundTest, TooFewThatCanStillAnswerEndTheRoundAtOnce) {
  const Round round = adding();
  EXPECT_TRUE(round->on_lost(silo_named("c")).empty());
  const Actions actions = round->on_lost(silo_named("a"));
  EXPECT_EQ(abortion(actions), "round 3: 1 silos can still answer, minimum is 2; will not answer: a, c");
  EXPECT_EQ(told_whom<wire::BatchAbandon>(actions), "one two");
}

TEST(ShuffledRoundTest, ALostSiloThatHandedOverAfterAllCounts) {
  const Round round = mixing();
  (void)round->on_lost(silo_named("c"));
  (void)round->on_handed_over(silo_named("c"), {});
  EXPECT_TRUE(round->on_lost(silo_named("c")).empty());
  EXPECT_TRUE(round->on_lost(silo_named("a")).empty());
  EXPECT_EQ(round->state(), State::Collecting);
}

TEST(ShuffledRoundTest, OnceSomethingIsCollectedLostSilosDoNotEndTheRound) {
  const Round round = adding();
  (void)round.collected("one", silos({"a", "b"}));
  EXPECT_TRUE(round->on_lost(silo_named("b")).empty());
  EXPECT_TRUE(round->on_lost(silo_named("c")).empty());
  EXPECT_EQ(told_whom<wire::BatchClose>(round.collected("two", silos({"a", "b"}))), "one two");
}

TEST(ShuffledRoundTest, NoSecondAttemptWhereTooFewCanStillAnswer) {
  const Round round = adding();
  (void)round.collected("one", silos({"a", "b"}));
  (void)round->on_lost(silo_named("b"));
  (void)round->on_lost(silo_named("c"));
  (void)round.failed("two");
  EXPECT_EQ(abortion(round.failed("one", 2)), "round 3: 1 silos can still answer, minimum is 2; will not answer: b, c");
}

TEST(ShuffledRoundTest, FewerExpectedThanTheMinimumAreNotAsked) {
  Round round({"mix"}, false, ShuffledRound::Commit{1, silos({"a"}), std::nullopt});
  const Actions actions = round->open(kOpened);
  EXPECT_EQ(abortion(actions), "round 3: 1 silos can still answer, minimum is 2");
}

TEST(ShuffledRoundTest, AShufflerThatDoesNotKnowTheJobIsOfferedItThreeTimes) {
  Round round({"mix"}, false);
  (void)round->open(kOpened);
  for (int i = 0; i < ShuffledRound::kOffersMax; ++i) {
    const Actions actions = round.refused("mix", wire::BatchRefusal::UnknownJob);
    ASSERT_EQ(actions.size(), 2U);
    EXPECT_EQ(std::get<ShuffledRound::OfferJob>(actions[0]).shuffler, "mix");
    EXPECT_EQ(told_whom<wire::BatchOpen>(actions), "mix");
  }
  EXPECT_EQ(abortion(round.refused("mix", wire::BatchRefusal::UnknownJob)),
            "round 3: shuffler mix does not open its batch: unknown_job");
}

TEST(ShuffledRoundTest, ABusyShufflerIsAskedAgainLater) {
  Round round({"one", "two"}, true);
  (void)round->open(kOpened);
  (void)round.opened("two");
  EXPECT_TRUE(all<ShuffledRound::ToShuffler>(round.refused("one", wire::BatchRefusal::Busy)).empty());
  EXPECT_EQ(told_whom<wire::BatchOpen>(round->on_resend()), "one");
  EXPECT_EQ(all<ShuffledRound::AskSilos>(round.opened("one")).size(), 1U);
  EXPECT_TRUE(round->on_resend().empty());
}

TEST(ShuffledRoundTest, AnyOtherRefusalEndsTheRound) {
  Round round({"one", "two"}, true);
  (void)round->open(kOpened);
  const Actions actions = round.refused("one", wire::BatchRefusal::NotOfJob);
  EXPECT_EQ(abortion(actions), "round 3: shuffler one does not open its batch: not_of_job");
  EXPECT_EQ(told_whom<wire::BatchAbandon>(actions), "one two");
}

TEST(ShuffledRoundTest, AShufflerThatConnectsAgainIsAskedWhereItStands) {
  const Round round = adding();
  EXPECT_EQ(told_whom<wire::BatchOpen>(round->on_shuffler_connected("two")), "two");
  EXPECT_TRUE(round.opened("two").empty()) << "silos are asked once";
  (void)round.collected("one", silos({"a", "b"}));
  (void)round.collected("two", silos({"a", "b"}));
  EXPECT_EQ(told_whom<wire::BatchOpen>(round->on_shuffler_connected("two")), "two");
  EXPECT_EQ(told<wire::BatchClose>(round.collected("two", silos({"a", "b"}))).at("two").silos, silos({"a", "b"}));
  (void)round.forwarded("two", 2);
  EXPECT_TRUE(round->on_shuffler_connected("two").empty());
  EXPECT_TRUE(round->on_shuffler_connected("stranger").empty());
}

TEST(ShuffledRoundTest, AShufflerThatWasAwayWhenTheAttemptWasGivenUpGivesItUpWhenItConnects) {
  Round round({"one", "two"}, true, ShuffledRound::Commit{0, silos({"a", "b", "c"}), std::nullopt});
  (void)round->open(kOpened);
  EXPECT_TRUE(told<wire::BatchAbandon>(round.failed("one")).empty()) << "two is not known to hold anything";
  EXPECT_EQ(told_whom<wire::BatchOpen>(round->on_resend()), "two");
  EXPECT_EQ(told_whom<wire::BatchOpen>(round->on_shuffler_connected("two")), "two");
  EXPECT_EQ(told_whom<wire::BatchAbandon>(round.collected("two", silos({"a", "b"}))), "two");
  EXPECT_EQ(told_whom<wire::BatchAbandon>(round->on_resend()), "two");
  EXPECT_EQ(told_whom<wire::BatchOpen>(round.failed("two", 2)), "one two");
}

TEST(ShuffledRoundTest, AShufflerThatWasAwayWhenTheRoundEndedHearsOfIt) {
  Round round({"one", "two"}, true);
  (void)round->open(kOpened);
  (void)round->on_deadline(kOpened + milliseconds(200));
  EXPECT_EQ(told_whom<wire::BatchAbandon>(round->on_shuffler_connected("one")), "one");
  EXPECT_TRUE(round->on_resend().empty());
}

TEST(ShuffledRoundTest, AfterACrashItClosesWithTheCommittedSetAndNoOther) {
  Round round({"one", "two"}, true, ShuffledRound::Commit{1, silos({"a", "b", "c"}), silos({"a", "b"})});
  const Actions opened = round->open(kOpened);
  EXPECT_TRUE(all<ShuffledRound::Commit>(opened).empty()) << "the store has it";
  EXPECT_EQ(told<wire::BatchOpen>(opened).at("one").attempt, 1U);
  EXPECT_FALSE(round->wants(silo_named("c")));
  // Both have c, which was left out: the set was chosen before.
  const Actions one = round.collected("one", silos({"a", "b", "c"}), 1);
  EXPECT_TRUE(all<ShuffledRound::Commit>(one).empty());
  EXPECT_EQ(told<wire::BatchClose>(one).at("one").silos, silos({"a", "b"}));
  EXPECT_TRUE(round.forwarded("two", 2).empty()) << "it had heard before the crash";
  EXPECT_EQ(all<ShuffledRound::CloseRound>(round.forwarded("one", 2)).size(), 1U);
  EXPECT_EQ(round->accepted(), (std::set<SiloId>{silo_named("a"), silo_named("b")}));
}

TEST(ShuffledRoundTest, AfterACrashAnAdderMustStillHaveTheCommittedSet) {
  Round round({"one", "two"}, true, ShuffledRound::Commit{0, silos({"a", "b", "c"}), silos({"a", "b"})});
  (void)round->open(kOpened);
  EXPECT_EQ(abortion(round.collected("one", silos({"b", "c"}))),
            "round 3: shuffler one no longer has the replies of 1 silos: a");
}

TEST(ShuffledRoundTest, AfterACrashTheSameAttemptExpectsTheSameSilos) {
  Round round({"mix"}, false, ShuffledRound::Commit{0, silos({"a", "c"}), std::nullopt});
  const Actions opened = round->open(kOpened);
  EXPECT_TRUE(all<ShuffledRound::Commit>(opened).empty());
  EXPECT_EQ(told<wire::BatchOpen>(opened).at("mix").expected, silos({"a", "c"})) << "b joined while it was down";
}

TEST(ShuffledRoundTest, AfterACrashAMixerMayHaveForwardedAlready) {
  Round round({"mix"}, false, ShuffledRound::Commit{0, silos({"a", "b", "c"}), std::nullopt});
  (void)round->open(kOpened);
  EXPECT_EQ(all<ShuffledRound::CloseRound>(round.forwarded("mix", 3)).size(), 1U);
}

TEST(ShuffledRoundTest, AfterACrashNobodyIsAskedWhereOneHasForwarded) {
  Round round({"one", "two"}, false, ShuffledRound::Commit{0, silos({"a", "b", "c"}), std::nullopt});
  (void)round->open(kOpened);
  (void)round.forwarded("one", 3);
  EXPECT_TRUE(all<ShuffledRound::AskSilos>(round.opened("two")).empty());
  EXPECT_FALSE(round->wants(silo_named("a")));
  EXPECT_EQ(all<ShuffledRound::CloseRound>(round.forwarded("two", 3)).size(), 1U);
}

TEST(ShuffledRoundTest, AfterACrashTheSecondAttemptIsStillTheLast) {
  Round round({"mix"}, false, ShuffledRound::Commit{1, silos({"a", "b", "c"}), std::nullopt});
  (void)round->open(kOpened);
  EXPECT_EQ(abortion(round.failed("mix", 0, 1)),
            "round 3: shuffler mix forwarded nothing, with 0 replies, minimum is 2; missing: a, b, c");
}

TEST(ShuffledRoundTest, ForeignAndLateMessagesHaveNoEffect) {
  const Round round = mixing();
  const auto no_effect = [](const Actions& actions) {
    return all<ShuffledRound::LogEvent>(actions).size() == actions.size();
  };
  EXPECT_TRUE(no_effect(round.say("mix", wire::BatchFailed{{sha256("other"), {}}, kRound, 0, 1})));
  EXPECT_TRUE(no_effect(round.say("mix", wire::BatchForward{kRun, kRound.next(), 3, "units"})));
  EXPECT_TRUE(no_effect(round.say("mix", wire::BatchFailed{kRun, {2}, 0, 1})));
  EXPECT_TRUE(no_effect(round.failed("mix", 1, 1)));
  EXPECT_TRUE(no_effect(round.collected("mix", silos({"a", "b"})))) << "it does not add";
  EXPECT_TRUE(no_effect(round.say("mix", wire::ReplyHandedOver{kRun, kRound})));
  EXPECT_TRUE(no_effect(round.say("mix", wire::BatchClose{kRun, kRound, 0, silos({"a", "b"})})));
  EXPECT_TRUE(no_effect(round.forwarded("stranger", 3)));
  EXPECT_TRUE(no_effect(round->on_handed_over(silo_named("z"), {})));
  EXPECT_TRUE(no_effect(round->on_lost(silo_named("z"))));
  EXPECT_EQ(round->state(), State::Collecting);
  EXPECT_TRUE(round->accepted().empty());
  EXPECT_TRUE(round.script->taken.empty());
}

}  // namespace
}  // namespace undertone::coordinator
