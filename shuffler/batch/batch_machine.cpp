#include "shuffler/batch/batch_machine.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "shared/sealed/hand_over_receipt.hpp"

namespace undertone::shuffler {
namespace {

using wire::BatchRefusal;
using wire::ReplyRefusal;

/// Silos may still send, or send again.
bool is_held(const Batch& batch) {
  return batch.state == BatchState::Collecting || batch.state == BatchState::Collected;
}
bool is_live(const Batch& batch) { return is_held(batch) || batch.state == BatchState::Forwarding; }

BatchMachine::Forward forward_of(const Batch& batch) {
  return {batch.spec.run, batch.spec.round, batch.replies, batch.units};
}

BatchMachine::Failed failure_of(const Batch& batch) {
  return {batch.spec.run, batch.spec.round, batch.spec.attempt, batch.replies, batch.spec.replies_min};
}

BatchMachine::Opened opening_of(const BatchSpec& spec) { return {spec.run, spec.round, spec.attempt}; }

BatchMachine::Collected collection_of(const Batch& batch) {
  BatchMachine::Collected out{batch.spec.run, batch.spec.round, batch.spec.attempt, {}};
  for (const std::size_t slot : agreeing_slots(batch)) out.silos.push_back(batch.spec.expected[slot]);
  return out;
}

/// A silo's place among those expected.
std::optional<std::size_t> slot_of(const BatchSpec& spec, const SiloId& silo) {
  const auto position = std::lower_bound(spec.expected.begin(), spec.expected.end(), silo);
  if (position == spec.expected.end() || *position != silo) return std::nullopt;
  return static_cast<std::size_t>(position - spec.expected.begin());
}

/// Names have no spaces: no two lists of silos are one text.
Digest digest_of(const std::vector<SiloId>& silos) {
  Sha256 digest;
  for (const SiloId& silo : silos) digest.update(silo.name() + " ");
  return digest.finish();
}

}  // namespace

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
      case BatchState::Collected:
        out.push_back(collection_of(held.batch));
        arm(held, now + limits_.undelivered_max, out);
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

std::vector<BatchMachine::Action> BatchMachine::open(const BatchSpec& spec, TimePoint now,
                                                     const std::optional<Digest>& receipt_key) {
  if (std::optional<Actions> answer = answer_of_known(spec)) {
    Held& known = runs_.at(spec.run);
    if (known.batch.spec == spec) known.receipt_key = receipt_key;
    return *std::move(answer);
  }
  if (const std::optional<BatchRefusal> reason = refusal_of(spec))
    return {RefuseBatch{spec.run, spec.round, spec.attempt, *reason}};
  Held& held = runs_[spec.run];
  Actions out;
  if (held.batch.state == BatchState::Forwarding) out.emplace_back(Store{BatchFinished{spec.run}});
  wipe(held.batch);
  held.batch = Batch{};
  held.batch.spec = spec;
  held.receipt_key = receipt_key;
  out.emplace_back(Store{BatchOpened{spec}});
  out.emplace_back(opening_of(spec));
  arm(held, now + spec.deadline, out);
  return out;
}

std::optional<BatchMachine::Actions> BatchMachine::answer_of_known(const BatchSpec& spec) const {
  const auto found = runs_.find(spec.run);
  if (found == runs_.end()) return std::nullopt;
  const auto refuse = [&spec](BatchRefusal reason) {
    return Actions{RefuseBatch{spec.run, spec.round, spec.attempt, reason}};
  };
  const Batch& known = found->second.batch;
  if (spec.round < known.spec.round) return refuse(BatchRefusal::Past);
  if (spec.round > known.spec.round) {
    // The coordinator goes on only with the round before on its disk: what was forwarded was delivered.
    const bool under_way = is_live(known) && known.state != BatchState::Forwarding;
    return under_way ? std::optional(refuse(BatchRefusal::Busy)) : std::nullopt;
  }
  switch (known.state) {
    case BatchState::Collecting:
      return spec == known.spec ? Actions{opening_of(spec)} : refuse(BatchRefusal::Different);
    case BatchState::Collected:
      return spec == known.spec ? Actions{collection_of(known)} : refuse(BatchRefusal::Different);
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
  if (!allows(limits_, spec)) return BatchRefusal::InvalidSpec;
  const std::size_t bytes = held_bytes();
  const std::size_t units = held_units();
  const bool fits = (runs_.contains(spec.run) || runs_.size() < limits_.runs_max) && batches() < limits_.batches_max &&
                    bytes <= limits_.held_bytes_max && units <= limits_.held_units_max &&
                    spec.message_bytes <= (limits_.held_bytes_max - bytes) / spec.expected.size() &&
                    spec.units_max() <= limits_.held_units_max - units;
  return fits ? std::nullopt : std::optional(BatchRefusal::Busy);
}

std::optional<ReplyRefusal> BatchMachine::refuses(const SiloId& silo, const RunId& run, RoundIndex round,
                                                  const Making& making, std::uint64_t message_bytes) const {
  const auto found = runs_.find(run);
  if (found == runs_.end() || round > found->second.batch.spec.round) return ReplyRefusal::UnknownBatch;
  const Batch& batch = found->second.batch;
  if (round < batch.spec.round || !is_held(batch)) return ReplyRefusal::Closed;
  const std::optional<std::size_t> slot = slot_of(batch.spec, silo);
  if (!slot) return ReplyRefusal::NotExpected;
  if (message_bytes != batch.spec.message_bytes) return ReplyRefusal::WrongLength;
  // Cut or added otherwise than the silo made it, it would say more than its silo agreed to.
  if (making.unit_bytes != batch.spec.unit_bytes || making.word_bytes != batch.spec.word_bytes)
    return ReplyRefusal::OtherTerms;
  // One that is here already may be the same, and is then acknowledged again.
  if (batch.received.contains(*slot))
    return batch.terms.at(*slot) != making.terms ? std::optional(ReplyRefusal::OtherTerms) : std::nullopt;
  return batch.state == BatchState::Collecting ? std::nullopt : std::optional(ReplyRefusal::Closed);
}

std::vector<BatchMachine::Action> BatchMachine::on_message(const SiloId& silo, const RunId& run, RoundIndex round,
                                                           const Making& making, std::string message, TimePoint now) {
  if (const std::optional<ReplyRefusal> reason = refuses(silo, run, round, making, message.size()))
    return {Refuse{silo, run, round, *reason}};
  Held& held = runs_.at(run);
  Batch& batch = held.batch;
  const std::optional<std::size_t> slot = slot_of(batch.spec, silo);
  const auto known = batch.received.find(*slot);
  if (known != batch.received.end()) {
    if (known->second != message) return {Refuse{silo, run, round, ReplyRefusal::Different}};
    return {acknowledgement(held, *slot)};
  }
  batch.terms.emplace(*slot, making.terms);
  Actions out{Store{MessageReceived{run, *slot, making.terms, message}}, acknowledgement(held, *slot)};
  batch.received.emplace(*slot, std::move(message));
  if (batch.received.size() == batch.spec.expected.size()) close(held, now, out);
  return out;
}

std::vector<BatchMachine::Action> BatchMachine::on_close(const RunId& run, RoundIndex round, std::uint32_t attempt,
                                                         const std::vector<SiloId>& silos, TimePoint now) {
  const auto refuse = [&](BatchRefusal reason) { return Actions{RefuseBatch{run, round, attempt, reason}}; };
  Held* held = find(run, round);
  if (held == nullptr || attempt < held->batch.spec.attempt) return refuse(BatchRefusal::Past);
  const Batch& batch = held->batch;
  if (!batch.spec.adds() || attempt > batch.spec.attempt) return refuse(BatchRefusal::Different);
  Actions out;
  switch (batch.state) {
    case BatchState::Collecting:
      return refuse(BatchRefusal::InvalidSpec);
    case BatchState::Collected: {
      const std::vector<SiloId> collected = collection_of(batch).silos;
      if (silos.size() < batch.spec.replies_min || !ascending(silos) ||
          !std::includes(collected.begin(), collected.end(), silos.begin(), silos.end())) {
        return refuse(BatchRefusal::InvalidSpec);
      }
      add(*held, silos, now, out);
      return out;
    }
    case BatchState::Forwarding:
      if (batch.added != digest_of(silos)) return refuse(BatchRefusal::Different);
      return {forward_of(batch)};
    case BatchState::Final:
      return refuse(BatchRefusal::Past);
    case BatchState::Failed:
      return {failure_of(batch)};
  }
  return out;
}

std::vector<BatchMachine::Action> BatchMachine::on_deadline(const RunId& run, RoundIndex round, TimePoint now) {
  Held* held = find(run, round);
  // A deadline of an earlier attempt, or of the collection that is over, comes too early for this one.
  if (held == nullptr || now < held->due) return {};
  Actions out;
  switch (held->batch.state) {
    case BatchState::Collecting:
      close(*held, now, out);
      break;
    case BatchState::Collected:
      fail(held->batch, out);
      break;
    case BatchState::Forwarding:
      return on_delivered(run, round);
    case BatchState::Final:
    case BatchState::Failed:
      break;
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
  if (held == nullptr) return {RefuseBatch{run, round, 0, BatchRefusal::Past}};
  Actions out;
  switch (held->batch.state) {
    case BatchState::Collecting:
    case BatchState::Collected:
      fail(held->batch, out);
      break;
    case BatchState::Forwarding:
      out.push_back(forward_of(held->batch));
      break;
    case BatchState::Final:
      out.push_back(RefuseBatch{run, round, held->batch.spec.attempt, BatchRefusal::Past});
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
    const Batch& batch = held.batch;
    if (is_held(batch)) bytes += batch.spec.expected.size() * batch.spec.message_bytes;
    if (!batch.units.empty()) bytes += batch.units.size() * batch.units.front().size();
  }
  return bytes;
}

std::size_t BatchMachine::held_units() const noexcept {
  std::size_t units = 0;
  for (const auto& [run, held] : runs_)
    units += is_held(held.batch) ? held.batch.spec.units_max() : held.batch.units.size();
  return units;
}

BatchMachine::Held* BatchMachine::find(const RunId& run, RoundIndex round) {
  const auto found = runs_.find(run);
  return found == runs_.end() || found->second.batch.spec.round != round ? nullptr : &found->second;
}

BatchMachine::Acknowledge BatchMachine::acknowledgement(const Held& held, std::size_t slot) {
  const BatchSpec& spec = held.batch.spec;
  Acknowledge out{spec.expected[slot], spec.run, spec.round, std::nullopt};
  if (held.receipt_key) {
    const sealed::TakenReply taken{spec.run, spec.round, spec.attempt, out.silo, held.batch.terms.at(slot)};
    out.receipt = sealed::receipt_of(*held.receipt_key, taken);
  }
  return out;
}

void BatchMachine::arm(Held& held, TimePoint at, Actions& out) {
  held.due = at;
  out.push_back(ArmDeadline{held.batch.spec.run, held.batch.spec.round, at});
}

void BatchMachine::close(Held& held, TimePoint now, Actions& out) {
  Batch& batch = held.batch;
  const std::set<std::size_t> agreeing = agreeing_slots(batch);
  TermsDiffer others{{}, batch.spec.run, batch.spec.round};
  for (const auto& [slot, message] : batch.received) {
    if (!agreeing.contains(slot)) others.silos.push_back(batch.spec.expected[slot]);
  }
  if (!others.silos.empty()) out.emplace_back(std::move(others));
  if (agreeing.size() < batch.spec.replies_min) {
    fail(batch, out);
    return;
  }
  if (batch.spec.adds()) {
    batch.state = BatchState::Collected;
    out.push_back(Store{BatchCollected{batch.spec.run}});
    out.push_back(collection_of(batch));
  } else {
    permute(batch);
    out.push_back(Store{BatchPermuted{batch.spec.run, batch.replies, batch.units}});
    out.push_back(forward_of(batch));
  }
  arm(held, now + limits_.undelivered_max, out);
}

void BatchMachine::fail(Batch& batch, Actions& out) {
  batch.replies = agreeing_slots(batch).size();
  wipe(batch);
  batch.state = BatchState::Failed;
  out.push_back(Store{BatchFailed{batch.spec.run, batch.replies}});
  out.push_back(failure_of(batch));
}

void BatchMachine::permute(Batch& batch) {
  const std::set<std::size_t> agreeing = agreeing_slots(batch);
  std::erase_if(batch.received, [&](const auto& one) { return !agreeing.contains(one.first); });
  const std::size_t replies = batch.received.size();
  std::vector<std::string> units = permuted_units(batch.received, batch.spec.unit_bytes, *permuter_);
  wipe(batch);
  batch.replies = replies;
  batch.units = std::move(units);
  batch.state = BatchState::Forwarding;
}

void BatchMachine::add(Held& held, const std::vector<SiloId>& silos, TimePoint now, Actions& out) {
  Batch& batch = held.batch;
  std::vector<std::string> sealed;
  sealed.reserve(silos.size());
  for (const SiloId& silo : silos) {
    const std::optional<std::size_t> slot = slot_of(batch.spec, silo);
    UNDERTONE_CHECK(slot.has_value());
    sealed.push_back(std::move(batch.received.at(*slot)));  // the batch is wiped, whatever comes of it
  }
  Total total = adder_->add(batch.spec, sealed);
  if (!total) {
    BadShare bad = std::move(total).error();
    UNDERTONE_CHECK(bad.index < silos.size());
    out.push_back(ShareRefused{silos[bad.index], batch.spec.run, batch.spec.round, std::move(bad.why)});
    fail(batch, out);
    return;
  }
  UNDERTONE_CHECK(total->size() == total_bytes(batch.spec));
  wipe(batch);
  batch.replies = silos.size();
  batch.added = digest_of(silos);
  batch.units.push_back(*std::move(total));
  batch.state = BatchState::Forwarding;
  out.push_back(Store{BatchAdded{batch.spec.run, batch.replies, *batch.added, batch.units.front()}});
  out.push_back(forward_of(batch));
  arm(held, now + limits_.undelivered_max, out);
}

void BatchMachine::wipe(Batch& batch) {
  batch.spec.expected = {};
  batch.terms = {};
  batch.received = {};
  batch.units = {};
  batch.added = {};
}

}  // namespace undertone::shuffler
