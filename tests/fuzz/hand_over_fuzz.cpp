#include <map>
#include <set>

#include "silo/agent/hand_over.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

using silo::HandOver;

/// What the coordinator is told, against a plain account of what was offered and taken.
class World {
 public:
  void step(Input& input) {
    const std::uint32_t what = input.below(8);
    // So many runs that more are offered than are kept.
    const RunId run{{}, {input.below(8) == 7 ? input.byte() : static_cast<std::uint8_t>(input.below(2))}};
    const RoundIndex round{input.below(4)};
    const std::string shuffler(1, static_cast<char>('a' + input.below(3)));
    if (what < 3) {
      offer(run, round);
    } else if (what < 6) {
      take(shuffler, run, round);
    } else if (what == 6) {
      for (const HandOver::Action& action : over_.on_connected(shuffler)) check(action, nullptr);
      (void)over_.on_message(shuffler, wire::SealedReplyRefused{run, round, wire::ReplyRefusal::Closed});
    } else {
      over_.forget(run);
      offered_.erase(run);
    }
  }

 private:
  struct Offered {
    RoundIndex round;
    std::set<std::string> waiting;
  };
  static std::string text(const RunId& run, RoundIndex round, const std::string& shuffler) {
    return run.hex() + " " + std::to_string(round.value) + " " + shuffler;
  }
  void offer(const RunId& run, RoundIndex round) {
    std::map<std::string, HandOver::Bytes> messages;
    for (const char* shuffler : {"a", "b"})
      messages.emplace(shuffler, std::make_shared<const std::string>(text(run, round, shuffler)));
    const auto known = offered_.find(run);
    const bool taken_on = known != offered_.end() ? known->second.round <= round : offered_.size() < HandOver::kRunsMax;
    if (taken_on) offered_.insert_or_assign(run, Offered{round, {"a", "b"}});
    std::size_t sent = 0;
    for (const HandOver::Action& action : over_.offer(run, round, messages)) {
      check(action, nullptr);
      sent += std::holds_alternative<HandOver::ToShuffler>(action) ? 1 : 0;
    }
    UNDERTONE_CHECK(sent == (taken_on ? 2U : 0U));
  }
  void take(const std::string& shuffler, const RunId& run, RoundIndex round) {
    const auto known = offered_.find(run);
    const bool news =
        known != offered_.end() && known->second.round == round && known->second.waiting.erase(shuffler) != 0;
    const bool whole = news && known->second.waiting.empty();
    const auto actions = over_.on_message(shuffler, wire::SealedReplyTaken{run, round});
    UNDERTONE_CHECK(actions.size() == (whole ? 1U : 0U));
    for (const HandOver::Action& action : actions) check(action, &run);
  }
  /// Each shuffler gets its own part of the newest reply, while it has not taken it; the coordinator hears of a reply
  /// once all have.
  void check(const HandOver::Action& action, const RunId* whole) {
    if (const auto* sent = std::get_if<HandOver::ToShuffler>(&action)) {
      const auto known = offered_.find(sent->run);
      UNDERTONE_CHECK(known != offered_.end() && known->second.waiting.contains(sent->shuffler));
      UNDERTONE_CHECK(*sent->bytes == text(sent->run, known->second.round, sent->shuffler));
    } else if (const auto* told = std::get_if<HandOver::ToCoordinator>(&action)) {
      const auto* handed = std::get_if<wire::ReplyHandedOver>(&told->message);
      UNDERTONE_CHECK(handed != nullptr && whole != nullptr && handed->run == *whole);
      UNDERTONE_CHECK(handed->round == offered_.at(handed->run).round);
    }
  }

  HandOver over_;
  std::map<RunId, Offered> offered_;
};

void hand_over(std::string_view bytes) {
  Input input(bytes);
  World world;
  while (!input.empty()) world.step(input);
}

const Target kTarget("hand_over", hand_over);

}  // namespace
}  // namespace undertone::fuzz
