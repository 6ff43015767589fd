#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/crypto/test_bits.hpp"
#include "shared/sealed/adder_mac_key.hpp"
#include "shared/sealed/additive_shares.hpp"
#include "shared/sealed/sealed_reply.hpp"
#include "shuffler/batch/batch_machine.hpp"
#include "shuffler/batch/batch_store.hpp"
#include "shuffler/batch/sealed_adder.hpp"
#include "tests/support/plain_adder.hpp"

/// A round whose shares are added has one total for ever, whatever it is asked and however often it starts anew.
namespace undertone::shuffler {
namespace {

using std::chrono::milliseconds;
using tests::PlainAdder;

const RunId kRun{sha256("job"), {1}};

std::vector<SiloId> silos_of(std::uint32_t set) {
  std::vector<SiloId> out;
  for (std::uint32_t i = 0; i < 8; ++i) {
    if ((set >> i & 1U) != 0) out.push_back(SiloId::create(fmt::format("silo-{}", i)).value());
  }
  return out;
}

/// Takes any events, from a coordinator that keeps no rule. Silo i's share is the word 2^i: a total is the set of silos
/// that are in it.
class Anything {
 public:
  explicit Anything(std::uint64_t seed)
      : random_(seed), bad_(random_.chance(0.3) ? 1U << random_.below(kSilos) : 0), replies_min_(2 + random_.below(3)) {
    store_.emplace(BatchStore::open(database_).value());
    restart();
  }
  void step() {
    const bool present = random_.chance(0.9);
    const RoundIndex round = present ? round_ : RoundIndex{random_.below(6)};
    const auto attempt = present ? attempt_ : static_cast<std::uint32_t>(random_.below(4));
    const std::uint64_t what = random_.below(100);
    if (what < 12) {
      carry_out(machine_->open(spec(round, attempt), now_));
    } else if (what < 60) {
      const auto silo = static_cast<std::uint32_t>(random_.below(kSilos));
      const bool other_terms = random_.chance(0.03);
      carry_out(machine_->on_message(
          silos_of(1U << silo).front(), kRun, round,
          {sha256(other_terms ? "other" : "terms"), spec(round, attempt).unit_bytes, spec(round, attempt).word_bytes},
          share(silo), now_));
    } else if (what < 85) {
      carry_out(machine_->on_close(kRun, round, attempt, any_set(), now_));
    } else if (what < 90) {
      now_ += random_.chance(0.05) ? Limits{}.undelivered_max : milliseconds(60);
      carry_out(machine_->on_deadline(kRun, round, now_));
    } else if (what < 93) {
      carry_out(machine_->abandon(kRun, round));
    } else if (what < 95) {
      carry_out(machine_->on_delivered(kRun, round));
      if (random_.chance(0.5)) {
        round_ = round_.next();
        attempt_ = 0;
      }
    } else {
      restart();
    }
  }
  [[nodiscard]] std::size_t forwarded() const noexcept { return forwarded_.size(); }
  [[nodiscard]] std::size_t repeated() const noexcept { return repeated_; }
  [[nodiscard]] std::size_t bad() const noexcept { return bad_shares_; }

 private:
  static constexpr std::uint32_t kSilos = 6;
  [[nodiscard]] BatchSpec spec(RoundIndex round, std::uint32_t attempt) const {
    const std::size_t bytes = PlainAdder::kSealing + 1;
    return {kRun, round, attempt, silos_of((1U << kSilos) - 1), replies_min_, bytes, bytes, 1, {}, milliseconds(100)};
  }
  [[nodiscard]] std::string share(std::uint32_t silo) const {
    std::string out = PlainAdder::share(std::string(1, static_cast<char>(1U << silo)));
    if ((bad_ >> silo & 1U) != 0) out.front() = '!';
    return out;
  }
  /// Of any size, of silos that exist or not, now and then out of order.
  std::vector<SiloId> any_set() {
    std::vector<SiloId> out = silos_of(static_cast<std::uint32_t>(random_.below(1U << (kSilos + 1))));
    if (random_.chance(0.3)) out = silos_of(last_collected_);
    if (out.size() > 1 && random_.chance(0.05)) std::swap(out.front(), out.back());
    return out;
  }
  void restart() {
    machine_.emplace(Limits{}, permuter_, adder_);
    carry_out(machine_->restore(store_->load().value(), now_));
  }
  /// Dies between any two actions.
  void carry_out(const std::vector<BatchMachine::Action>& actions) {
    for (const BatchMachine::Action& action : actions) {
      if (const auto* store = std::get_if<BatchMachine::Store>(&action)) {
        ASSERT_TRUE(store_->apply(store->change));
      } else if (const auto* collected = std::get_if<BatchMachine::Collected>(&action)) {
        check(*collected);
      } else if (const auto* forward = std::get_if<BatchMachine::Forward>(&action)) {
        check(*forward);
      } else if (const auto* failed = std::get_if<BatchMachine::Failed>(&action)) {
        EXPECT_FALSE(forwarded_.contains(failed->round)) << "something was forwarded";
        if (failed->round == round_) attempt_ = failed->attempt + 1;
      } else if (const auto* opened = std::get_if<BatchMachine::Opened>(&action)) {
        EXPECT_FALSE(forwarded_.contains(opened->round)) << "something was forwarded";
        round_ = opened->round;
        attempt_ = opened->attempt;
      } else if (const auto* refused = std::get_if<BatchMachine::ShareRefused>(&action)) {
        ++bad_shares_;
        EXPECT_EQ(silos_of(bad_).front(), refused->silo);
      }
      if (random_.chance(0.02)) return restart();
    }
  }
  void check(const BatchMachine::Collected& collected) {
    EXPECT_GE(collected.silos.size(), replies_min_);
    EXPECT_FALSE(forwarded_.contains(collected.round)) << "something was forwarded";
    const auto known = collected_.emplace(std::pair(collected.round, collected.attempt), collected.silos).first;
    EXPECT_EQ(known->second, collected.silos) << "somebody came in later";
    last_collected_ = 0;
    for (std::uint32_t i = 0; i < kSilos; ++i) {
      const SiloId silo = silos_of(1U << i).front();
      if (std::binary_search(collected.silos.begin(), collected.silos.end(), silo)) last_collected_ |= 1U << i;
    }
  }
  void check(const BatchMachine::Forward& forward) {
    ASSERT_EQ(forward.units.size(), 1U);
    const auto set = static_cast<std::uint32_t>(static_cast<unsigned char>(forward.units.front().at(0)));
    const auto [known, first] = forwarded_.emplace(forward.round, set);
    if (!first) ++repeated_;
    EXPECT_EQ(known->second, set) << "two totals of one round";
    EXPECT_EQ(forward.replies, silos_of(set).size());
    EXPECT_GE(forward.replies, replies_min_) << "closed below the minimum";
    EXPECT_EQ(set & bad_, 0U) << "a bad share was added";
    const std::vector<SiloId> in = silos_of(set);
    EXPECT_TRUE(std::any_of(collected_.begin(), collected_.end(), [&](const auto& one) {
      return one.first.first == forward.round &&
             std::includes(one.second.begin(), one.second.end(), in.begin(), in.end());
    })) << "not of those collected";
  }

  RandomSource random_;
  std::uint32_t bad_;  // the silo whose shares are garbage, if there is one
  std::size_t replies_min_;
  store::Database database_ = store::Database::in_memory().value();
  BitsPermuter<crypto::TestBits> permuter_{crypto::TestBits(1, "order", crypto::InsecureForTestsOnly{})};
  PlainAdder adder_;
  std::optional<BatchStore> store_;
  std::optional<BatchMachine> machine_;
  TimePoint now_{};
  std::map<std::pair<RoundIndex, std::uint32_t>, std::vector<SiloId>> collected_;
  std::map<RoundIndex, std::uint32_t> forwarded_;
  std::uint32_t last_collected_ = 0;
  RoundIndex round_;  // that most events are about
  std::uint32_t attempt_ = 0;
  std::size_t repeated_ = 0;
  std::size_t bad_shares_ = 0;
};

TEST(ClosedBatchTest, TwoTotalsOfOneRoundAreNeverForwarded) {
  std::size_t forwarded = 0;
  std::size_t repeated = 0;
  std::size_t bad = 0;
  for (std::uint64_t seed = 0; seed < 1500 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Anything world(seed);
    for (int i = 0; i < 150 && !::testing::Test::HasFailure(); ++i) world.step();
    forwarded += world.forwarded();
    repeated += world.repeated();
    bad += world.bad();
  }
  std::cout << "forwarded " << forwarded << ", again " << repeated << ", bad shares " << bad << "\n";
  EXPECT_GT(forwarded, 500U);
  EXPECT_GT(repeated, 500U);
  EXPECT_GT(bad, 50U);
}

/// Two adders that miss different silos: both close what both have, and the totals are the counts of those silos.
TEST(ClosedBatchTest, TheTotalsOfTwoAddersAreTheCountsOfTheSilosThatBothHave) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomSource random(seed);
    crypto::TestBits bits(seed, "shares", crypto::InsecureForTestsOnly{});
    const auto count_max = static_cast<std::int64_t>(1 + random.below(std::uint64_t{1} << (7U + seed % 50U)));
    const sealed::ShareModulus modulus = sealed::ShareModulus::create(8 * count_max).value();
    const std::size_t dimension = 1 + random.below(20);
    const std::size_t bytes = sealed::ReplyLength::kOverheadBytes + dimension * modulus.bytes();
    const BatchSpec spec{kRun,
                         {seed},
                         0,
                         silos_of(0xFF),
                         2,
                         bytes,
                         bytes,
                         static_cast<std::uint32_t>(modulus.bytes()),
                         sha256("query"),
                         milliseconds(100)};
    const sealed::RoundTerms terms{kRun, spec.round, spec.query,
                                   sealed::ReplyLength::create(total_bytes(spec)).value()};
    struct Party {
      sealed::SealingKey key = sealed::SealingKey::generate();
      sealed::SealingPublicKey public_key = key.public_key();
      SealedAdder adder{std::move(key)};
      std::vector<SiloId> collected;
    };
    Party parties[2];
    BitsPermuter permuter(crypto::TestBits(seed, "order", crypto::InsecureForTestsOnly{}));
    BatchMachine machines[2] = {{Limits{}, permuter, parties[0].adder}, {Limits{}, permuter, parties[1].adder}};
    for (BatchMachine& machine : machines) (void)machine.open(spec, {});
    std::vector<std::vector<std::int64_t>> counts;
    for (std::uint32_t silo = 0; silo < 8; ++silo) {
      std::vector<std::int64_t>& own = counts.emplace_back(dimension);
      for (std::int64_t& one : own)
        one = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count_max) + 1));
      const sealed::SharePair shares = sealed::split_counts(own, modulus, bits).value();
      for (std::size_t party = 0; party < 2; ++party) {
        if (silo > 2 && random.chance(0.2)) continue;  // the first three come everywhere
        const std::vector<std::uint8_t>& share = party == 0 ? shares.first : shares.second;
        std::string sealed = sealed::seal(parties[party].public_key, sealed::adder_mac_key(kRun), terms,
                                          sealed::Ticket::draw(), std::string(share.begin(), share.end()))
                                 .value();
        (void)machines[party].on_message(silos_of(1U << silo).front(), kRun, spec.round,
                                         {spec.query, spec.unit_bytes, spec.word_bytes}, std::move(sealed), {});
      }
    }
    for (std::size_t party = 0; party < 2; ++party) {
      (void)machines[party].on_deadline(kRun, spec.round, TimePoint(milliseconds(100)));
      const auto told = machines[party].open(spec, {});
      parties[party].collected = std::get<BatchMachine::Collected>(told.at(0)).silos;
    }
    std::vector<SiloId> both;
    std::set_intersection(parties[0].collected.begin(), parties[0].collected.end(), parties[1].collected.begin(),
                          parties[1].collected.end(), std::back_inserter(both));
    std::vector<std::uint64_t> totals[2];
    for (std::size_t party = 0; party < 2; ++party) {
      const auto closed = machines[party].on_close(kRun, spec.round, 0, both, {});
      const std::string& total = std::get<BatchMachine::Forward>(closed.at(1)).units.at(0);
      totals[party].resize(dimension);
      const std::vector<std::uint8_t> packed(total.begin(), total.end());
      ASSERT_TRUE(sealed::add_share(packed, modulus, totals[party]));
    }
    std::vector<std::int64_t> expected(dimension, 0);
    for (std::uint32_t silo = 0; silo < 8; ++silo) {
      if (!std::binary_search(both.begin(), both.end(), silos_of(1U << silo).front())) continue;
      for (std::size_t j = 0; j < dimension; ++j) expected[j] += counts[silo][j];
    }
    EXPECT_EQ(sealed::combine_shares(totals[0], totals[1], modulus).value(), expected);
  }
}

}  // namespace
}  // namespace undertone::shuffler
