#include "shuffler/batch/batch_gate.hpp"

#include <gtest/gtest.h>

#include "tests/support/shuffled_job.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::shuffler {
namespace {

using std::chrono::milliseconds;
using tests::ShuffledJob;
using wire::BatchRefusal;

constexpr std::uint64_t kForwardBytesMax = 10'000;

Digest key_of_this() {
  Digest key{};
  key.fill(7);
  return key;
}

BatchGate gate() { return {"mixer", key_of_this(), kForwardBytesMax}; }

RunId run_of(const std::string& job) { return {sha256(job), Nonce{1}}; }

std::vector<SiloId> silos(int count) {
  std::vector<SiloId> out;
  for (int i = 0; i < count; ++i) out.push_back(SiloId::create(fmt::format("silo-{}", i)).value());
  return out;
}

/// A batch of the job as it may be asked for.
wire::BatchOpen batch_of(const std::string& job) {
  wire::BatchOpen open;
  open.run = run_of(job);
  open.round = RoundIndex{3};
  open.attempt = 1;
  open.expected = silos(3);
  open.replies_min = 2;
  open.message_bytes = 600;
  open.unit_bytes = 300;
  open.query = sha256("query");
  open.deadline = milliseconds(60'000);
  return open;
}

/// What became of a batch: its refusal, or nothing where it is admitted.
std::optional<BatchRefusal> refusal(const BatchGate& gate, const wire::BatchOpen& open) {
  const BatchGate::Admission admission = gate.admit(open);
  if (const auto* reason = std::get_if<BatchRefusal>(&admission)) return *reason;
  return std::nullopt;
}

TEST(BatchGateTest, AdmitsABatchOfAJobThatNamesThisShuffler) {
  BatchGate gate = shuffler::gate();
  const std::string job = ShuffledJob{}.json();
  ASSERT_TRUE(gate.offer(run_of(job), job));
  const wire::BatchOpen open = batch_of(job);
  const BatchGate::Admission admission = gate.admit(open);
  const auto* spec = std::get_if<BatchSpec>(&admission);
  ASSERT_NE(spec, nullptr);
  BatchSpec expected;
  expected.run = open.run;
  expected.round = RoundIndex{3};
  expected.attempt = 1;
  expected.expected = silos(3);
  expected.replies_min = 2;
  expected.message_bytes = 600;
  expected.unit_bytes = 300;
  expected.query = sha256("query");
  expected.deadline = milliseconds(60'000);
  EXPECT_EQ(*spec, expected);
}

TEST(BatchGateTest, AdmitsAPartOfTheCohortAndAnEarlierDeadline) {
  BatchGate gate = shuffler::gate();
  const std::string job = ShuffledJob{}.json();
  ASSERT_TRUE(gate.offer(run_of(job), job));
  wire::BatchOpen open = batch_of(job);
  open.expected = {silos(3)[0], silos(3)[2]};
  open.deadline = milliseconds(100);
  EXPECT_EQ(refusal(gate, open), std::nullopt);
}

TEST(BatchGateTest, AdmitsAnAddingBatchOfAJobThatHoldsItsKey) {
  BatchGate gate = shuffler::gate();
  const std::string job = ShuffledJob::counts("mixer", to_hex(key_of_this())).json();
  ASSERT_TRUE(gate.offer(run_of(job), job));
  wire::BatchOpen open = batch_of(job);
  open.unit_bytes = open.message_bytes;
  open.word_bytes = 4;
  const BatchGate::Admission admission = gate.admit(open);
  ASSERT_TRUE(std::holds_alternative<BatchSpec>(admission));
  EXPECT_EQ(std::get<BatchSpec>(admission).word_bytes, 4U);
}

TEST(BatchGateTest, ABatchOfAJobThatWasNotOfferedIsOfAnUnknownJob) {
  EXPECT_EQ(refusal(gate(), batch_of(ShuffledJob{}.json())), BatchRefusal::UnknownJob);
}

TEST(BatchGateTest, RefusesWhatTheJobDoesNotSay) {
  BatchGate gate = shuffler::gate();
  const std::string job = ShuffledJob{}.json();
  ASSERT_TRUE(gate.offer(run_of(job), job));
  const auto refused = [&](const char* what, const auto& change) {
    SCOPED_TRACE(what);
    wire::BatchOpen open = batch_of(job);
    change(open);
    EXPECT_EQ(refusal(gate, open), BatchRefusal::NotOfJob);
  };
  refused("a silo of another job", [](auto& open) { open.expected = silos(4); });
  refused("fewer replies than the quorum", [](auto& open) { open.replies_min = 1; });
  refused("more replies than the quorum", [](auto& open) { open.replies_min = 3; });
  refused("addition of what is to be mixed", [](auto& open) { open.word_bytes = 4; });
  refused("a later deadline", [](auto& open) { open.deadline += milliseconds(1); });
}

TEST(BatchGateTest, RefusesToMixWhatIsToBeAdded) {
  BatchGate gate = shuffler::gate();
  const std::string job = ShuffledJob::counts("mixer", to_hex(key_of_this())).json();
  ASSERT_TRUE(gate.offer(run_of(job), job));
  EXPECT_EQ(refusal(gate, batch_of(job)), BatchRefusal::NotOfJob);
}

TEST(BatchGateTest, RefusesBatchesOfAJobThatDoesNotNameThisShuffler) {
  BatchGate gate = shuffler::gate();
  std::vector<std::string> jobs = {tests::SmallFederation{}.job()};  // nobody's: it is not shuffled
  ShuffledJob other;
  other.shufflers = R"([{"name":"another"}])";
  jobs.push_back(other.json());
  for (const std::string& job : jobs) {
    const Status offered = gate.offer(run_of(job), job);
    ASSERT_FALSE(offered);
    EXPECT_EQ(offered.error().code, ErrorCode::Unauthorized);
    EXPECT_EQ(refusal(gate, batch_of(job)), BatchRefusal::NotOfJob);
  }
}

TEST(BatchGateTest, RefusesToAddForAJobThatHoldsAnotherKey) {
  BatchGate gate = shuffler::gate();
  const std::string job = ShuffledJob::counts("mixer", std::string(64, 'b')).json();
  ASSERT_FALSE(gate.offer(run_of(job), job));
  wire::BatchOpen open = batch_of(job);
  open.unit_bytes = open.message_bytes;
  open.word_bytes = 4;
  EXPECT_EQ(refusal(gate, open), BatchRefusal::NotOfJob);
}

TEST(BatchGateTest, DoesNotRememberBytesThatAreNotTheRunsJob) {
  BatchGate gate = shuffler::gate();
  const std::string job = ShuffledJob{}.json();
  ShuffledJob easier;
  easier.round_deadline_ms = 90'000;
  const Status offered = gate.offer(run_of(job), easier.json());
  ASSERT_FALSE(offered);
  EXPECT_EQ(offered.error().code, ErrorCode::Malformed);
  EXPECT_EQ(refusal(gate, batch_of(job)), BatchRefusal::UnknownJob);
  EXPECT_EQ(gate.jobs(), 0U);
}

TEST(BatchGateTest, BytesThatAreNoJobAreNobodysJob) {
  BatchGate gate = shuffler::gate();
  const std::string job = R"({"format":"undertone.job/1"})";
  EXPECT_FALSE(gate.offer(run_of(job), job));
  EXPECT_EQ(refusal(gate, batch_of(job)), BatchRefusal::NotOfJob);
}

TEST(BatchGateTest, RefusesWhatCouldNotBeForwarded) {
  BatchGate gate = shuffler::gate();
  const std::string job = ShuffledJob{}.json();
  ASSERT_TRUE(gate.offer(run_of(job), job));
  wire::BatchOpen open = batch_of(job);
  open.message_bytes = kForwardBytesMax / 3;  // 3333 of each of three silos: 9999 together
  EXPECT_EQ(refusal(gate, open), std::nullopt);
  ++open.message_bytes;
  EXPECT_EQ(refusal(gate, open), BatchRefusal::InvalidSpec);
  open.message_bytes = ~std::uint64_t{0};
  EXPECT_EQ(refusal(gate, open), BatchRefusal::InvalidSpec);
}

TEST(BatchGateTest, ATotalIsAsLongAsOneShareHoweverManyThereAre) {
  BatchGate gate = shuffler::gate();
  const std::string job = ShuffledJob::counts("mixer", to_hex(key_of_this())).json();
  ASSERT_TRUE(gate.offer(run_of(job), job));
  wire::BatchOpen open = batch_of(job);
  open.word_bytes = 4;
  open.message_bytes = open.unit_bytes = kForwardBytesMax;
  EXPECT_EQ(refusal(gate, open), std::nullopt);
  open.message_bytes = open.unit_bytes = kForwardBytesMax + 4;
  EXPECT_EQ(refusal(gate, open), BatchRefusal::InvalidSpec);
}

TEST(BatchGateTest, ForgetsTheJobThatWasOfferedLongestAgo) {
  BatchGate gate = shuffler::gate();
  const auto job = [](int number) {
    ShuffledJob out;
    out.round_deadline_ms = 60'000 + number;
    return out.json();
  };
  constexpr int kMax = static_cast<int>(BatchGate::kJobsMax);
  for (int i = 0; i < kMax; ++i) ASSERT_TRUE(gate.offer(run_of(job(i)), job(i)));
  ASSERT_TRUE(gate.offer(run_of(job(0)), job(0)));  // again: now it is the newest
  ASSERT_TRUE(gate.offer(run_of(job(kMax)), job(kMax)));
  EXPECT_EQ(gate.jobs(), BatchGate::kJobsMax);
  EXPECT_EQ(refusal(gate, batch_of(job(0))), std::nullopt);
  EXPECT_EQ(refusal(gate, batch_of(job(1))), BatchRefusal::UnknownJob);
  EXPECT_EQ(refusal(gate, batch_of(job(2))), std::nullopt);
  EXPECT_EQ(refusal(gate, batch_of(job(kMax))), std::nullopt);
}

}  // namespace
}  // namespace undertone::shuffler
