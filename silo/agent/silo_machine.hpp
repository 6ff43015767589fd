#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "shared/config/job.hpp"
#include "shared/data/split.hpp"
#include "shared/wire/codec.hpp"
#include "shared/wire/messages.hpp"
#include "silo/ledger/ledger.hpp"
#include "silo/oracles/release_randomness.hpp"
#include "silo/policy/policy.hpp"

namespace undertone::silo {

/// Bytes for the coordinator. What a reply carries was committed to the ledger before this exists.
struct Send {
  std::string bytes;
};
/// For the owner alone: an event for the log, with the full sentence where the coordinator gets a code.
struct Tell {
  bool warning = false;
  std::string event;
};
/// A run is over: its privacy statement can be written.
struct RunEnded {
  RunId run;
  bool succeeded = false;
};
/// The silo must answer nothing more until a person has looked.
struct Halt {
  Error reason;
};
using Action = std::variant<Send, Tell, RunEnded, Halt>;

/// A silo's whole behaviour: messages of the coordinator in, actions out. Plain state without IO but the ledger's
/// commits. Whatever arrives, in whatever order and however often: each (run, round) is answered with one and the same
/// reply, nothing is answered that was not planned, reserved and committed, and nothing in a message reaches clip,
/// noise, draw or count.
class SiloMachine {
 public:
  struct Setup {
    SiloId id;
    Policy policy;
    DatasetFacts facts;
    const data::Dataset& dataset;
    Ledger& ledger;
    ReleaseRandomness& randomness;
    wire::Limits limits;
    std::set<Digest> replaced_ledgers;  // older ledgers that the owner knows of
  };
  explicit SiloMachine(Setup setup);

  [[nodiscard]] std::vector<Action> on_message(const wire::Message& message);

  /// The plan and job of a run that was accepted.
  struct Accepted {
    config::Job job;
    privacy::Plan plan;
  };
  [[nodiscard]] Result<const Accepted*> accepted(const RunId& run);
  /// The plan and job that the ledger recorded for a run, whatever the policy says today.
  [[nodiscard]] Result<Accepted> recorded(const RunId& run) const;

 private:
  [[nodiscard]] std::vector<Action> on(const wire::Welcome& welcome);
  [[nodiscard]] std::vector<Action> on(const wire::JobOffer& offer);
  [[nodiscard]] std::vector<Action> on(const wire::QueryMessage& message);
  [[nodiscard]] std::vector<Action> on(const wire::JobEnded& ended);
  [[nodiscard]] Result<Accepted> plan(const RunId& run, const std::string& job, bool ask_policy) const;
  [[nodiscard]] Result<std::string> answer(const wire::QueryMessage& message);
  [[nodiscard]] Send send(const wire::Message& message) { return Send{encoder_.encode(message)}; }
  [[nodiscard]] Send receipt() { return send(wire::ReceiptMessage{setup_.ledger.head()}); }

  Setup setup_;
  wire::Encoder encoder_;
  std::map<RunId, Accepted> accepted_;
};

}  // namespace undertone::silo
