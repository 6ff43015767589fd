#include "coordinator/rounds/round_machine.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/spans.hpp"

namespace undertone::coordinator {
namespace {

folds::RoundFold fold_of(const RoundMachine::Setup& setup) {
  if (setup.shape.candidates) return folds::RoundFold(folds::TallyFold(*setup.shape.candidates));
  if (setup.shape.reports) return folds::RoundFold(folds::ReportsFold(*setup.shape.reports));
  if (setup.shape.beside_public)
    return folds::RoundFold(folds::BesideFold(setup.aggregation, setup.shape.dimension / 2, setup.shape.lattice));
  if (const std::uint32_t groups = setup.shape.groups; groups > 1)
    return folds::RoundFold(
        folds::GroupsFold(setup.aggregation, setup.shape.dimension / groups, groups, setup.shape.lattice));
  return {setup.aggregation, setup.shape.dimension, setup.shape.lattice};
}

/// Whether the numbers are as many as were asked for, in the form that was asked for.
bool has_shape(const queries::Answer& answer, const ReplyShape& shape, const Participant& participant) {
  if (shape.reports) return shape.reports->admits(answer, participant.records);
  const std::vector<std::int64_t>& values = queries::values_of(answer);
  if (static_cast<Eigen::Index>(values.size()) != shape.dimension) return false;
  if (shape.beside_public) return std::holds_alternative<queries::SumsBesidePublic>(answer);
  if (!shape.candidates) {
    return participant.public_answer ? std::holds_alternative<queries::PublicSums>(answer)
                                     : std::holds_alternative<queries::NoisedSums>(answer);
  }
  return std::holds_alternative<queries::Selected>(answer) && values.front() >= 0 && values.front() < *shape.candidates;
}

}  // namespace

RoundMachine::RoundMachine(Setup setup) : setup_(std::move(setup)), fold_(fold_of(setup_)) {}

Round::Actions RoundMachine::open(TimePoint now) {
  deadline_ = now + setup_.deadline;
  armed_ = due();
  Actions actions{AskSilos{missing()}, ArmDeadline{*armed_}};
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
  const std::int64_t numbers =
      setup_.shape.reports ? setup_.expected.at(silo).records : static_cast<std::int64_t>(setup_.shape.dimension);
  const std::size_t element_bytes = setup_.shape.lattice.type == queries::ReplyType::I32 ? 4 : 8;
  if (header.kind != wire::Kind::Reply || header.element_bytes != element_bytes ||
      header.dimension != static_cast<std::uint64_t>(numbers))
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
      !has_shape(message.reply.answer, setup_.shape, expected->second)) {
    reception = Reception::Misshapen;
  } else if (setup_.plausible && !setup_.plausible(silo, queries::values_of(message.reply.answer))) {
    reception = Reception::Implausible;
    return on_lost(silo);
  } else {
    reception = Reception::Accepted;
    const Span span(Activity::Computing);
    fold_.add(queries::values_of(message.reply.answer), expected->second.weight, expected->second.public_weight);
    const std::vector<std::int64_t>& values = queries::values_of(message.reply.answer);
    if (setup_.shape.kept) kept_.emplace(silo, setup_.shape.reports ? setup_.shape.reports->kept(values) : values);
    accepted_.emplace(silo, queries::reply_digest(message.run, message.query, message.type, message.reply));
    lost_.erase(silo);
    return end_or_arm();
  }
  return {};
}

Round::Actions RoundMachine::on_lost(const SiloId& silo) {
  if (state_ != State::Open || !setup_.expected.contains(silo) || accepted_.contains(silo)) return {};
  lost_.insert(silo);
  return end_or_arm();
}

Round::Actions RoundMachine::on_away(const SiloId& silo, TimePoint since) {
  if (state_ != State::Open || !setup_.expected.contains(silo)) return {};
  away_.insert_or_assign(silo, since);
  return armed_ ? end_or_arm() : Actions();
}

Round::Actions RoundMachine::on_back(const SiloId& silo) {
  if (state_ != State::Open || away_.erase(silo) == 0) return {};
  return armed_ ? end_or_arm() : Actions();
}

TimePoint RoundMachine::due() const {
  if (setup_.grace.count() == 0 || accepted_.size() < setup_.quorum) return deadline_;
  TimePoint out = TimePoint::min();
  for (const auto& [silo, participant] : setup_.expected) {
    if (accepted_.contains(silo) || lost_.contains(silo)) continue;
    const auto away = away_.find(silo);
    if (away == away_.end()) return deadline_;
    out = std::max(out, away->second + setup_.grace);
  }
  return std::min(out, deadline_);
}

Round::Actions RoundMachine::end_or_arm() {
  Actions actions = end_if_decided();
  if (state_ != State::Open || !armed_ || *armed_ == due()) return actions;
  armed_ = due();
  actions.push_back(ArmDeadline{*armed_});
  return actions;
}

Round::Actions RoundMachine::on_deadline(TimePoint now) {
  if (state_ != State::Open) return {};
  if (setup_.grace.count() > 0 && now < deadline_) {
    armed_ = due();
    if (now < *armed_) return {ArmDeadline{*armed_}};
    state_ = State::Closed;  // there is a quorum, and everybody else has been away for the grace
    return {CloseRound{}};
  }
  if (accepted_.size() >= setup_.quorum) {
    state_ = State::Closed;
    return {CloseRound{}};
  }
  if (!asked_again_) {
    asked_again_ = true;
    deadline_ = now + setup_.deadline;
    armed_ = due();
    return {AskSilos{missing()}, ArmDeadline{*armed_}};
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
  return {setup_.round, fold_.replies(), fold_.value(), records, kept_};
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
