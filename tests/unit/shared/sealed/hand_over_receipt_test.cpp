#include "shared/sealed/hand_over_receipt.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace undertone::sealed {
namespace {

const Digest kRoundSecret = sha256("secret");
const TakenReply kTaken{{sha256("job"), {1}}, {3}, 1, SiloId::create("a").value(), sha256("terms")};

TEST(HandOverReceiptTest, IsOfOneShufflerOneReplyAndOneAttempt) {
  const Digest key = receipt_key(kRoundSecret, "mixer-a");
  const Digest receipt = receipt_of(key, kTaken);
  EXPECT_TRUE(is_receipt_of(key, kTaken, receipt));
  EXPECT_FALSE(is_receipt_of(receipt_key(kRoundSecret, "mixer-b"), kTaken, receipt));
  EXPECT_FALSE(is_receipt_of(receipt_key(sha256("another secret"), "mixer-a"), kTaken, receipt));
  EXPECT_FALSE(is_receipt_of(key, kTaken, Digest{}));
  std::vector<TakenReply> others(6, kTaken);
  others[0].run.nonce = {2};
  others[1].run.job = sha256("another job");
  others[2].round = {4};
  others[3].attempt = 0;
  others[4].silo = SiloId::create("b").value();
  others[5].terms = sha256("other terms");
  for (const TakenReply& other : others) EXPECT_FALSE(is_receipt_of(key, other, receipt));
}

}  // namespace
}  // namespace undertone::sealed
