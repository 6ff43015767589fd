#include "coordinator/round/round_machine.hpp"

#include <utility>

namespace undertone::coordinator {

RoundMachine::RoundMachine(Setup setup)
    : setup_(std::move(setup)), fold_(setup_.aggregation, setup_.shape.dimension, setup_.shape.lattice) {}

std::vector<RoundMachine::Action> RoundMachine::open(TimePoint now) {
  std::vector<Action> actions{ArmDeadline{now + setup_.deadline}};
  for (Action& action : settle()) actions.push_back(std::move(action));
  return actions;
}

std::vector<RoundMachine::Action> RoundMachine::on_reply(const SiloId& silo, const wire::ReplyMessage& message,
                                                         Reception& reception) {
  const auto expected = setup_.expected.find(silo);
  if (message.run != setup_.run || expected == setup_.expected.end() || message.reply.round > setup_.round) {
    reception = Reception::Foreign;
  } else if (message.reply.round < setup_.round || state_ != State::Open) {
    reception = Reception::Late;
  } else if (accepted_.contains(silo)) {
    reception = Reception::Duplicate;
  } else if (message.query != setup_.query || message.type != setup_.shape.lattice.type ||
             message.reply.step_log2 != setup_.shape.lattice.step_log2 || message.reply.noise != setup_.shape.noise ||
             std::holds_alternative<queries::PublicSums>(message.reply.answer) != expected->second.public_answer ||
             static_cast<Eigen::Index>(queries::values_of(message.reply.answer).size()) != setup_.shape.dimension) {
    reception = Reception::Misshapen;
  } else if (setup_.plausible && !setup_.plausible(silo, queries::values_of(message.reply.answer))) {
    reception = Reception::Implausible;
    return on_lost(silo);
  } else {
    reception = Reception::Accepted;
    fold_.add(queries::values_of(message.reply.answer), expected->second.weight);
    accepted_.emplace(silo, queries::reply_digest(message.run, message.query, message.type, message.reply));
    lost_.erase(silo);
    return settle();
  }
  return {};
}

std::vector<RoundMachine::Action> RoundMachine::on_lost(const SiloId& silo) {
  if (state_ != State::Open || !setup_.expected.contains(silo) || accepted_.contains(silo)) return {};
  lost_.insert(silo);
  return settle();
}

std::vector<RoundMachine::Action> RoundMachine::on_deadline(TimePoint now) {
  if (state_ != State::Open) return {};
  if (accepted_.size() >= setup_.quorum) {
    state_ = State::Closed;
    return {CloseRound{}};
  }
  if (!asked_again_) {
    asked_again_ = true;
    return {AskAgain{missing()}, ArmDeadline{now + setup_.deadline}};
  }
  state_ = State::Aborted;
  std::string names;
  for (const SiloId& silo : missing()) names += (names.empty() ? "" : ", ") + silo.name();
  return {AbortRound{
      {ErrorCode::QuorumMissed, fmt::format("round {}: {} replies at the deadline, quorum is {}; missing: {}",
                                            setup_.round.value, accepted_.size(), setup_.quorum, names)}}};
}

void RoundMachine::expect(const SiloId& silo, const Participant& participant) {
  if (state_ == State::Open) setup_.expected.emplace(silo, participant);
}

std::vector<SiloId> RoundMachine::missing() const {
  std::vector<SiloId> out;
  for (const auto& [silo, participant] : setup_.expected) {
    if (!accepted_.contains(silo)) out.push_back(silo);
  }
  return out;
}

queries::Gathered RoundMachine::gathered() const {
  UNDERTONE_CHECK(state_ == State::Closed);
  return {setup_.round, fold_.replies(), fold_.value()};
}

std::vector<RoundMachine::Action> RoundMachine::settle() {
  if (state_ != State::Open) return {};
  const std::size_t outstanding = setup_.expected.size() - accepted_.size() - lost_.size();
  if (accepted_.size() + outstanding < setup_.quorum) {
    state_ = State::Aborted;
    std::string names;
    for (const SiloId& silo : lost_) names += (names.empty() ? "" : ", ") + silo.name();
    return {AbortRound{{ErrorCode::QuorumMissed,
                        fmt::format("round {}: {} silos can still answer, quorum is {}; will not answer: {}",
                                    setup_.round.value, accepted_.size() + outstanding, setup_.quorum, names)}}};
  }
  if (outstanding > 0) return {};
  state_ = State::Closed;
  return {CloseRound{}};
}

}  // namespace undertone::coordinator
