#include "shuffler/host/deadlines.hpp"

#include <gtest/gtest.h>

namespace undertone::shuffler {
namespace {

using std::chrono::milliseconds;
using Heard = std::pair<std::uint8_t, std::uint64_t>;  // nonce of the run, round

RunId run(std::uint8_t number) { return {Digest{}, Nonce{number}}; }

class DeadlinesTest : public ::testing::Test {
 protected:
  void set(std::uint8_t number, std::uint64_t round, milliseconds from_now) {
    deadlines_.set({run(number), RoundIndex{round}, std::chrono::steady_clock::now() + from_now});
  }
  void wait_for(std::size_t heard) {
    while (heard_.size() < heard) context_.run_one();
  }

  boost::asio::io_context context_{1};
  std::vector<Heard> heard_;
  Deadlines deadlines_{context_, [this](const RunId& run, RoundIndex round, TimePoint now) {
                         EXPECT_LE(now, std::chrono::steady_clock::now());
                         heard_.emplace_back(run.nonce[0], round.value);
                       }};
};

TEST_F(DeadlinesTest, TheFirstComesFirstWhateverTheOrderTheyWereSetIn) {
  set(1, 0, milliseconds(60));
  set(2, 0, milliseconds(30));
  set(3, 0, milliseconds(1));
  wait_for(3);
  EXPECT_EQ(heard_, (std::vector<Heard>{{3, 0}, {2, 0}, {1, 0}}));
}

TEST_F(DeadlinesTest, ANewDeadlineOfARunTakesThePlaceOfItsOldOne) {
  set(1, 0, milliseconds(10));
  set(1, 1, milliseconds(40));
  set(2, 0, milliseconds(60));
  wait_for(2);
  EXPECT_EQ(heard_, (std::vector<Heard>{{1, 1}, {2, 0}}));
}

TEST_F(DeadlinesTest, OneThatIsSetWhileAnotherIsDueIsHeardToo) {
  set(1, 0, milliseconds(-1));
  wait_for(1);
  set(1, 1, milliseconds(1));
  wait_for(2);
  EXPECT_EQ(heard_, (std::vector<Heard>{{1, 0}, {1, 1}}));
}

TEST_F(DeadlinesTest, NothingIsDueOnceItIsStopped) {
  set(1, 0, milliseconds(-1));
  deadlines_.stop();
  context_.run();  // ends, as nothing is waited for
  EXPECT_TRUE(heard_.empty());
}

}  // namespace
}  // namespace undertone::shuffler
