#include "silo/agent/answer_room.hpp"

#include <gtest/gtest.h>

#include "tests/support/ledger_on_disk.hpp"

namespace undertone::silo {
namespace {

class AnswerRoomTest : public tests::LedgerOnDisk {
 protected:
  [[nodiscard]] Status add(AnswerRoom& room, std::optional<RoundIndex> answered = std::nullopt) {
    return room.add(run_, parsed_, member_, plan_, answered);
  }
  [[nodiscard]] AnswerBytes of_round(std::uint64_t round) const {
    return bytes_of_answer(parsed_, member_, *plan_.release({round}));
  }

  RoomReserve reserve_{file()};
};

TEST_F(AnswerRoomTest, SetsTheWholePlanAsideAndGivesEachAnswersPartBackBeforeItIsWritten) {
  AnswerRoom room(&reserve_, {});
  ASSERT_TRUE(add(room));
  std::uint64_t all = 0;
  for (std::uint64_t round = 0; round < plan_.rounds(); ++round) all += of_round(round).kept + of_round(round).log;
  EXPECT_EQ(reserve_.kept(), all);
  for (std::uint64_t round = 0; round < plan_.rounds(); ++round) {
    room.give(run_, of_round(round));
    all -= of_round(round).kept + of_round(round).log;
    EXPECT_LE(reserve_.kept(), all);
  }
  EXPECT_EQ(reserve_.kept(), 0U);
}

/// What a ledger's file and log really grow by is less than what was set aside for it.
TEST_F(AnswerRoomTest, AnAnswerGrowsTheLedgerByLessThanItsRoom) {
  Ledger ledger = open().value();
  const auto size = [&] {
    std::error_code none;
    std::uintmax_t out = 0;
    for (const char* ending : {"", "-wal"}) {
      const std::uintmax_t bytes = std::filesystem::file_size(file().string() + ending, none);
      if (!none) out += bytes;
    }
    return out;
  };
  ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
  for (std::uint64_t round = 0; round < plan_.rounds(); ++round) {
    const std::uintmax_t before = size();
    const AnswerBytes bytes = of_round(round);
    release(ledger, round, std::string(bytes.kept - 1536, 'r'));  // as long as the longest
    EXPECT_LE(size() - before, bytes.kept + bytes.log) << round;
  }
}

TEST_F(AnswerRoomTest, AfterARestartNothingIsGivenBackBeforeEveryOpenRunIsKnown) {
  ASSERT_TRUE(reserve_.keep(std::uint64_t{50} << 20U));  // by the process before
  RunId other = run_;
  other.nonce = {7};
  AnswerRoom room(&reserve_, {run_, other});
  ASSERT_TRUE(add(room, RoundIndex{0}));
  room.give(run_, of_round(1));
  EXPECT_EQ(reserve_.kept(), std::uint64_t{50} << 20U);
  room.forget(other);  // its end is heard of
  EXPECT_LT(reserve_.kept(), std::uint64_t{1} << 20U);
}

TEST_F(AnswerRoomTest, ForgetsARunAndWorksWithoutAReserve) {
  AnswerRoom room(&reserve_, {});
  ASSERT_TRUE(add(room));
  room.forget(run_);
  EXPECT_EQ(reserve_.kept(), 0U);
  AnswerRoom none(nullptr, {});
  EXPECT_TRUE(add(none));
  none.give(run_, of_round(0));
  none.forget(run_);
}

}  // namespace
}  // namespace undertone::silo
