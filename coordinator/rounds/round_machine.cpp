#include "coordinator/rounds/round_machine.hpp"

#include <utility>

namespace undertone::coordinator {
namespace {

folds::RoundFold fold_of(const RoundMachine::Setup& setup) {
  if (setup.shape.candidates) return folds::RoundFold(folds::TallyFold(*setup.shape.candidates));
  return {setup.aggregation, setup.shape.dimension, setup.shape.lattice};
}

/// Whether the numbers are as many as were asked for, in the form that was asked for.
bool has_shape(const queries::Answer& answer, const ReplyShape& shape, bool is_public) {
  const std::vector<std::int64_t>& values = queries::values_of(answer);
  if (static_cast<Eigen::Index>(values.size()) != shape.dimension) return false;
  if (!shape.candidates) {
    return is_public ? std::holds_alternative<queries::PublicSums>(answer)
                     : std::holds_alternative<queries::NoisedSums>(answer);
  }
  return std::holds_alternative<queries::Selected>(answer) && values.front() >= 0 && values.front() < *shape.candidates;
}

}  // namespace

RoundMachine::RoundMachine(Setup setup) : setup_(std::move(setup)), fold_(fold_of(setup_)) {}

Round::Actions RoundMachine::open(TimePoint now) {
  Actions actions{AskSilos{missing()}, ArmDeadline{now + setup_.deadline}};
  for (Action& action : end_if_decided()) actions.push_back(std::move(action));
  return actions;
}

std::optional<Round::Reception> RoundMachine::unwanted(const SiloId& silo, const RunId& run, RoundIndex round) const {
  if (run != setup_.run || !setup_.expected.contains(silo) || round > setup_.round) return Reception::Foreign;
  if (round < setup_.round || state_ != State::Open) return Reception::Late;
  if (accepted_.contains(silo)) return Reception::Duplicate;
  return std::nullopt;
}

std::optional<Round::Reception> RoundMachine::refuses(const SiloId& silo, const wire::VectorHeader& header) const {
  if (const std::optional<Reception> reception = unwanted(silo, header.run, header.round)) return reception;
  const std::size_t element_bytes = setup_.shape.lattice.type == queries::ReplyType::I32 ? 4 : 8;
  if (header.kind != wire::Kind::Reply || header.element_bytes != element_bytes ||
      header.dimension != static_cast<std::uint64_t>(setup_.shape.dimension))
    return Reception::Misshapen;
  return std::nullopt;
}

Round::Actions RoundMachine::on_reply(const SiloId& silo, const wire::ReplyMessage& message,
                                      std::optional<Reception>& reception) {
  if (const std::optional<Reception> why = unwanted(silo, message.run, message.reply.round)) {
    reception = why;
    return {};
  }
  const auto expected = setup_.expected.find(silo);
  if (message.query != setup_.query || message.type != setup_.shape.lattice.type ||
      message.reply.step_log2 != setup_.shape.lattice.step_log2 || message.reply.noise != setup_.shape.noise ||
      !has_shape(message.reply.answer, setup_.shape, expected->second.public_answer)) {
    reception = Reception::Misshapen;
  } else if (setup_.plausible && !setup_.plausible(silo, queries::values_of(message.reply.answer))) {
    reception = Reception::Implausible;
    return on_lost(silo);
  } else {
    reception = Reception::Accepted;
    fold_.add(queries::values_of(message.reply.answer), expected->second.weight);
    accepted_.emplace(silo, queries::reply_digest(message.run, message.query, message.type, message.reply));
    lost_.erase(silo);
    return end_if_decided();
  }
  return {};
}

Round::Actions RoundMachine::on_lost(const SiloId& silo) {
  if (state_ != State::Open || !setup_.expected.contains(silo) || accepted_.contains(silo)) return {};
  lost_.insert(silo);
  return end_if_decided();
}

Round::Actions RoundMachine::on_deadline(TimePoint now) {
  if (state_ != State::Open) return {};
  if (accepted_.size() >= setup_.quorum) {
    state_ = State::Closed;
    return {CloseRound{}};
  }
  if (!asked_again_) {
    asked_again_ = true;
    return {AskSilos{missing()}, ArmDeadline{now + setup_.deadline}};
  }
  state_ = State::Aborted;
  std::string names;
  for (const SiloId& silo : missing()) names += (names.empty() ? "" : ", ") + silo.name();
  return {AbortRound{
      {ErrorCode::QuorumMissed, fmt::format("round {}: {} replies at the deadline, quorum is {}; missing: {}",
                                            setup_.round.value, accepted_.size(), setup_.quorum, names)}}};
}

Round::Actions RoundMachine::cancel() {
  if (state_ == State::Open) state_ = State::Aborted;
  return {};
}

bool RoundMachine::expect(const SiloId& silo, const Participant& participant) {
  if (state_ != State::Open) return false;
  setup_.expected.emplace(silo, participant);
  lost_.erase(silo);  // it refused in this round and has accepted since
  return true;
}

std::set<SiloId> RoundMachine::accepted() const {
  std::set<SiloId> out;
  for (const auto& [silo, digest] : accepted_) out.insert(out.end(), silo);
  return out;
}

std::vector<SiloId> RoundMachine::missing() const {
  std::vector<SiloId> out;
  for (const auto& [silo, participant] : setup_.expected) {
    if (!accepted_.contains(silo)) out.push_back(silo);
  }
  return out;
}

folds::Gathered RoundMachine::gathered() const {
  UNDERTONE_CHECK(state_ == State::Closed);
  std::int64_t records = 0;
  for (const auto& [silo, digest] : accepted_) records += setup_.expected.at(silo).records;
  return {setup_.round, fold_.replies(), fold_.value(), records};
}

Round::Actions RoundMachine::end_if_decided() {
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
