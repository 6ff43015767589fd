#include <gtest/gtest.h>

#include "silo/owner/owner_files.hpp"

namespace undertone::silo {
namespace {

RunId run_of(std::uint8_t nonce) { return {sha256("job"), Nonce{nonce}}; }

/// Offers that wait and such as came to nothing stand in lists of their own; an owner reads one, by time.
TEST(KnownRunsTest, AreListedByTimeWhateverBecameOfThem) {
  store::Database database = store::Database::in_memory().value();
  Desk desk = Desk::open(database).value();
  const auto refused = [&](std::uint8_t nonce, std::int64_t at) {
    PastOffer offer;
    offer.run = run_of(nonce);
    offer.dataset = "patients";
    offer.name = "job";
    offer.kind = "budget";
    offer.reason = "too much";
    offer.at = at;
    desk.past().note(offer).value();
  };
  constexpr std::int64_t kDay = 86'400;
  constexpr std::int64_t kStart = 1'700'000'000;
  (void)desk.offered(run_of(1), "patients", "{}", kStart).value();
  refused(4, kStart + 3 * kDay);
  refused(2, kStart + kDay);
  (void)desk.offered(run_of(3), "patients", "{}", kStart + kDay / 2).value();
  std::vector<RunId> listed;
  for (const KnownRun& run : known_runs(desk, {}, SiloId::create("clinic").value()).value()) listed.push_back(run.run);
  EXPECT_EQ(listed, (std::vector<RunId>{run_of(4), run_of(2), run_of(3), run_of(1)}));
}

}  // namespace
}  // namespace undertone::silo
