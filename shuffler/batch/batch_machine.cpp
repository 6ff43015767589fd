#include "shuffler/batch/batch_machine.hpp"

#include <algorithm>
#include <utility>

namespace undertone::shuffler {
namespace {

bool is_live(const Batch& batch) {
  return batch.state == BatchState::Collecting || batch.state == BatchState::Forwarding;
}

BatchMachine::Forward forward_of(const Batch& batch) { return {batch.spec.run, batch.spec.round, batch.permuted}; }

BatchMachine::Failed failure_of(const Batch& batch) {
  return {batch.spec.run, batch.spec.round, batch.spec.attempt, batch.replies, batch.spec.replies_min};
}

bool ascending(const std::vector<SiloId>& silos) {
  return std::adjacent_find(silos.begin(), silos.end(),
                            [](const SiloId& one, const SiloId& next) { return !(one < next); }) == silos.end();
}

}  // namespace

std::string_view to_string(MessageRefusal refusal) noexcept {
  switch (refusal) {
    case MessageRefusal::UnknownBatch:
      return "unknown_batch";
    case MessageRefusal::Closed:
      return "closed";
    case MessageRefusal::NotExpected:
      return "not_expected";
    case MessageRefusal::WrongLength:
      return "wrong_length";
    case MessageRefusal::Different:
      return "different";
  }
  return "";
}

std::string_view to_string(BatchRefusal refusal) noexcept {
  switch (refusal) {
    case BatchRefusal::InvalidSpec:
      return "invalid_spec";
    case BatchRefusal::BelowMinimum:
      return "below_minimum";
    case BatchRefusal::Different:
      return "different";
    case BatchRefusal::Unfinished:
      return "unfinished";
    case BatchRefusal::Past:
      return "past";
    case BatchRefusal::TooManyBatches:
      return "too_many_batches";
    case BatchRefusal::TooManyBytes:
      return "too_many_bytes";
    case BatchRefusal::TooManyRuns:
      return "too_many_runs";
  }
  return "";
}

std::vector<BatchMachine::Action> BatchMachine::restore(std::vector<Batch> batches, TimePoint now) {
  UNDERTONE_CHECK(runs_.empty());
  Actions out;
  for (Batch& batch : batches) {
    const RunId run = batch.spec.run;
    Held& held = runs_[run];
    held.batch = std::move(batch);
    switch (held.batch.state) {
      case BatchState::Collecting:
        // The process may have died between the last message and the permutation.
        if (held.batch.received.size() == held.batch.spec.expected.size()) {
          close(held, now, out);
        } else {
          arm(held, now + held.batch.spec.deadline, out);
        }
        break;
      case BatchState::Forwarding:
        out.push_back(forward_of(held.batch));
        arm(held, now + limits_.undelivered_max, out);
        break;
      case BatchState::Final:
      case BatchState::Failed:
        break;
    }
  }
  return out;
}

std::vector<BatchMachine::Action> BatchMachine::open(const BatchSpec& spec, TimePoint now) {
  if (std::optional<Actions> answer = answer_of_known(spec)) return *std::move(answer);
  if (const std::optional<BatchRefusal> reason = refusal_of(spec)) return {RefuseBatch{spec.run, spec.round, *reason}};
  Held& held = runs_[spec.run];
  held.batch = Batch{spec, BatchState::Collecting, 0, {}, {}};
  Actions out{Store{BatchOpened{spec}}, Opened{spec.run, spec.round}};
  arm(held, now + spec.deadline, out);
  return out;
}

std::optional<BatchMachine::Actions> BatchMachine::answer_of_known(const BatchSpec& spec) const {
  const auto found = runs_.find(spec.run);
  if (found == runs_.end()) return std::nullopt;
  const auto refuse = [&spec](BatchRefusal reason) { return Actions{RefuseBatch{spec.run, spec.round, reason}}; };
  const Batch& known = found->second.batch;
  if (spec.round < known.spec.round) return refuse(BatchRefusal::Past);
  if (spec.round > known.spec.round)
    return is_live(known) ? std::optional(refuse(BatchRefusal::Unfinished)) : std::nullopt;
  switch (known.state) {
    case BatchState::Collecting:
      return spec == known.spec ? Actions{Opened{spec.run, spec.round}} : refuse(BatchRefusal::Different);
    case BatchState::Forwarding:
      return Actions{forward_of(known)};
    case BatchState::Final:
      return refuse(BatchRefusal::Past);
    case BatchState::Failed:
      if (spec.attempt > known.spec.attempt) return std::nullopt;
      return Actions{failure_of(known)};
  }
  return std::nullopt;
}

std::optional<BatchRefusal> BatchMachine::refusal_of(const BatchSpec& spec) const {
  if (spec.expected.empty() || spec.expected.size() > limits_.silos_max || !ascending(spec.expected) ||
      spec.replies_min > spec.expected.size() || spec.message_bytes == 0 ||
      spec.message_bytes > limits_.message_bytes_max || spec.deadline <= std::chrono::milliseconds(0) ||
      spec.deadline > limits_.deadline_max) {
    return BatchRefusal::InvalidSpec;
  }
  if (spec.replies_min < limits_.replies_min) return BatchRefusal::BelowMinimum;
  if (!runs_.contains(spec.run) && runs_.size() >= limits_.runs_max) return BatchRefusal::TooManyRuns;
  if (batches() >= limits_.batches_max) return BatchRefusal::TooManyBatches;
  const std::size_t held = held_bytes();
  if (held > limits_.held_bytes_max || spec.message_bytes > (limits_.held_bytes_max - held) / spec.expected.size()) {
    return BatchRefusal::TooManyBytes;
  }
  return std::nullopt;
}

std::vector<BatchMachine::Action> BatchMachine::on_message(const SiloId& silo, const RunId& run, RoundIndex round,
                                                           std::string message, TimePoint now) {
  const auto refuse = [&](MessageRefusal reason) { return Actions{Refuse{silo, run, round, reason}}; };
  const auto found = runs_.find(run);
  if (found == runs_.end() || round > found->second.batch.spec.round) return refuse(MessageRefusal::UnknownBatch);
  Held& held = found->second;
  Batch& batch = held.batch;
  if (round < batch.spec.round || batch.state != BatchState::Collecting) return refuse(MessageRefusal::Closed);
  const std::vector<SiloId>& expected = batch.spec.expected;
  const auto position = std::lower_bound(expected.begin(), expected.end(), silo);
  if (position == expected.end() || *position != silo) return refuse(MessageRefusal::NotExpected);
  if (message.size() != batch.spec.message_bytes) return refuse(MessageRefusal::WrongLength);
  const auto slot = static_cast<std::size_t>(position - expected.begin());
  const auto known = batch.received.find(slot);
  if (known != batch.received.end()) {
    if (known->second != message) return refuse(MessageRefusal::Different);
    return {Acknowledge{silo, run, round}};
  }
  Actions out{Store{MessageReceived{run, slot, message}}, Acknowledge{silo, run, round}};
  batch.received.emplace(slot, std::move(message));
  if (batch.received.size() == expected.size()) close(held, now, out);
  return out;
}

std::vector<BatchMachine::Action> BatchMachine::on_deadline(const RunId& run, RoundIndex round, TimePoint now) {
  Held* held = find(run, round);
  // A deadline of an earlier attempt, or of the collection that is over, comes too early for this one.
  if (held == nullptr || !is_live(held->batch) || now < held->due) return {};
  Actions out;
  if (held->batch.state == BatchState::Collecting) {
    close(*held, now, out);
  } else {
    wipe(held->batch);
    held->batch.state = BatchState::Final;
    out.push_back(Store{BatchFinished{run}});
  }
  return out;
}

std::vector<BatchMachine::Action> BatchMachine::on_delivered(const RunId& run, RoundIndex round) {
  Held* held = find(run, round);
  if (held == nullptr || held->batch.state != BatchState::Forwarding) return {};
  wipe(held->batch);
  held->batch.state = BatchState::Final;
  return {Store{BatchFinished{run}}};
}

std::vector<BatchMachine::Action> BatchMachine::abandon(const RunId& run, RoundIndex round) {
  Held* held = find(run, round);
  if (held == nullptr) return {RefuseBatch{run, round, BatchRefusal::Past}};
  Actions out;
  switch (held->batch.state) {
    case BatchState::Collecting:
      fail(held->batch, out);
      break;
    case BatchState::Forwarding:
      out.push_back(forward_of(held->batch));
      break;
    case BatchState::Final:
      out.push_back(RefuseBatch{run, round, BatchRefusal::Past});
      break;
    case BatchState::Failed:
      out.push_back(failure_of(held->batch));
      break;
  }
  return out;
}

std::size_t BatchMachine::batches() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(runs_.begin(), runs_.end(), [](const auto& run) { return is_live(run.second.batch); }));
}

std::size_t BatchMachine::held_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& [run, held] : runs_) {
    if (!is_live(held.batch)) continue;
    bytes += (held.batch.spec.expected.size() + held.batch.permuted.size()) * held.batch.spec.message_bytes;
  }
  return bytes;
}

BatchMachine::Held* BatchMachine::find(const RunId& run, RoundIndex round) {
  const auto found = runs_.find(run);
  return found == runs_.end() || found->second.batch.spec.round != round ? nullptr : &found->second;
}

void BatchMachine::arm(Held& held, TimePoint at, Actions& out) {
  held.due = at;
  out.push_back(ArmDeadline{held.batch.spec.run, held.batch.spec.round, at});
}

void BatchMachine::close(Held& held, TimePoint now, Actions& out) {
  Batch& batch = held.batch;
  if (batch.received.size() < batch.spec.replies_min) {
    fail(batch, out);
    return;
  }
  permute(batch);
  out.push_back(Store{BatchPermuted{batch.spec.run, batch.permuted}});
  out.push_back(forward_of(batch));
  arm(held, now + limits_.undelivered_max, out);
}

void BatchMachine::fail(Batch& batch, Actions& out) {
  batch.replies = batch.received.size();
  wipe(batch);
  batch.state = BatchState::Failed;
  out.push_back(Store{BatchFailed{batch.spec.run, batch.replies}});
  out.push_back(failure_of(batch));
}

void BatchMachine::permute(Batch& batch) {
  std::vector<std::string> messages;
  messages.reserve(batch.received.size());
  for (auto& [slot, message] : batch.received) messages.push_back(std::move(message));
  wipe(batch);
  const std::vector<std::int64_t> order = permuter_->order(static_cast<std::int64_t>(messages.size()));
  UNDERTONE_CHECK(order.size() == messages.size());
  std::vector<bool> taken(messages.size(), false);
  batch.permuted.reserve(messages.size());
  for (const std::int64_t from : order) {
    const auto index = static_cast<std::size_t>(from);
    UNDERTONE_CHECK(index < messages.size() && !taken[index]);
    taken[index] = true;
    batch.permuted.push_back(std::move(messages[index]));
  }
  batch.replies = batch.permuted.size();
  batch.state = BatchState::Forwarding;
}

void BatchMachine::wipe(Batch& batch) {
  batch.spec.expected = {};
  batch.received = {};
  batch.permuted = {};
}

}  // namespace undertone::shuffler
