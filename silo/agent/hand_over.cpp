#include "silo/agent/hand_over.hpp"

namespace undertone::silo {

std::vector<HandOver::Action> HandOver::offer(const RunId& run, RoundIndex round,
                                              const std::map<std::string, Bytes>& messages) {
  std::vector<Action> out;
  const auto known = replies_.find(run);
  if (known != replies_.end() && known->second.round > round) return out;
  if (known == replies_.end() && replies_.size() >= kRunsMax) {
    out.emplace_back(Tell{fmt::format("reply_not_handed_over run={} reason=\"{} runs wait\"", run.hex(), kRunsMax)});
    return out;
  }
  // Asked again, every shuffler gets it again: it may have lost the batch, and says so or takes it.
  const Reply& reply = replies_.insert_or_assign(run, Reply{round, messages, {}}).first->second;
  for (const auto& [shuffler, bytes] : reply.waiting) out.emplace_back(ToShuffler{shuffler, run, bytes});
  return out;
}

std::vector<HandOver::Action> HandOver::on_message(const std::string& shuffler, const wire::Message& message) {
  std::vector<Action> out;
  if (const auto* taken = std::get_if<wire::SealedReplyTaken>(&message)) {
    const auto known = replies_.find(taken->run);
    if (known == replies_.end() || known->second.round != taken->round) return out;
    Reply& reply = known->second;
    const bool news = reply.waiting.erase(shuffler) != 0;
    if (news && taken->receipt) reply.receipts.emplace(shuffler, *taken->receipt);
    if (news && reply.waiting.empty())
      out.emplace_back(ToCoordinator{wire::ReplyHandedOver{taken->run, taken->round, reply.receipts}});
  } else if (const auto* refused = std::get_if<wire::SealedReplyRefused>(&message)) {
    // The coordinator asks again where it still wants the reply; until then nothing is sent.
    out.emplace_back(Tell{fmt::format("reply_refused shuffler={} run={} round={} reason={}", shuffler,
                                      refused->run.hex(), refused->round.value, wire::to_string(refused->refusal))});
  } else {
    out.emplace_back(Tell{fmt::format("message_ignored shuffler={} kind={}", shuffler, wire::name_of(message))});
  }
  return out;
}

std::vector<HandOver::Action> HandOver::on_connected(const std::string& shuffler) const {
  std::vector<Action> out;
  for (const auto& [run, reply] : replies_) {
    const auto waits = reply.waiting.find(shuffler);
    if (waits != reply.waiting.end()) out.emplace_back(ToShuffler{shuffler, run, waits->second});
  }
  return out;
}

}  // namespace undertone::silo
