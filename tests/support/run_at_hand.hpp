#pragma once

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/runs/run_machine.hpp"
#include "shared/jobs/round_spec.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::tests {

using coordinator::Advance;
using coordinator::PreparedJob;
using coordinator::RunMachine;
using coordinator::RunState;
using coordinator::RunStore;

inline SiloId silo(int number) { return SiloId::create(fmt::format("silo-{}", number)).value(); }

/// Three silos, two steps and the evaluation of what they lead to, a quorum of two.
inline std::string plain_job() {
  SmallFederation federation;
  federation.silos = 3;
  federation.rounds = 2;
  federation.evaluation_every = 0;
  return federation.job();
}

inline wire::Message decoded(const RunMachine::Bytes& bytes) {
  return std::move(wire::Decoder{wire::Limits{}}.feed(*bytes).value().at(0));
}

inline std::string names(const std::vector<SiloId>& silos) {
  std::string out;
  for (const SiloId& one : silos) out += (out.empty() ? "" : ",") + one.name();
  return out;
}

inline std::string text_of(const RunMachine::RoundClosed& closed) {
  return fmt::format("closed {} with {}{}", closed.round.value, closed.replies,
                     closed.missing.empty() ? "" : " without " + names(closed.missing));
}

/// What an action says, in short; timers are looked at by themselves.
inline std::string text_of(const RunMachine::Action& action) {
  if (const auto* send = std::get_if<RunMachine::Send>(&action))
    return fmt::format("{}<{}", send->silo.name(), wire::name_of(decoded(send->bytes)));
  if (const auto* send = std::get_if<RunMachine::SendToShuffler>(&action))
    return fmt::format("{}<{}", send->shuffler, wire::name_of(decoded(send->bytes)));
  if (const auto* event = std::get_if<RunMachine::LogEvent>(&action))
    return event->event.substr(0, event->event.find(' '));
  if (const auto* closed = std::get_if<RunMachine::RoundClosed>(&action)) return text_of(*closed);
  if (const auto* counted = std::get_if<RunMachine::ReplyCounted>(&action))
    return std::string(to_string(counted->reception));
  if (const auto* ended = std::get_if<RunMachine::Ended>(&action))
    return ended->outcome ? "succeeded" : "ended: " + ended->outcome.error().message;
  if (std::holds_alternative<RunMachine::Goodbye>(action)) return "goodbye";
  if (std::holds_alternative<Advance>(action)) return "advance";
  return "";
}

/// A run's machine on a store in memory, which survives the machine.
class RunAtHand {
 public:
  explicit RunAtHand(const std::string& job, jobs::AlgorithmMaker make_algorithm = jobs::make_algorithm)
      : make_algorithm_(std::move(make_algorithm)),
        database_(store::Database::in_memory().value()),
        store_(RunStore::open(database_).value()),
        job_(jobs::parse_job(job, "job").value()),
        run_{sha256(job), Nonce{1}} {
    std::vector<SiloId> cohort;
    for (const jobs::CohortMember& member : job_.cohort) cohort.push_back(member.facts.silo);
    const std::string prepared =
        PreparedJob::make(jobs::read_job(job, "job").value(), "job", jobs::plan_of).value().save();
    store_.begin(run_, job_.name, job, cohort, prepared, 0).value();
  }

  /// Opens the machine from the store, in place of one that was killed.
  std::string boot() {
    machine_.emplace(
        RunMachine::open(store_, *store_.find(run_).value(), wire::Limits{}, jobs::plan_of, make_algorithm_).value());
    return said(machine_->start(now));
  }
  std::string connect(int number) { return said(machine_->on_connected(silo(number), now)); }
  std::string say(int number, const wire::Message& message) {
    return said(machine_->on_message(silo(number), message, now));
  }
  std::string accept(int number) { return say(number, wire::JobAnswer{run_, std::nullopt}); }
  [[nodiscard]] bool is_evaluation() const {
    return queries::kind_of(query.question) == releases::QuestionKind::Metrics;
  }
  /// An honest answer to the query that the silos were sent last, another one from each and in each round.
  [[nodiscard]] wire::ReplyMessage reply(int number) const {
    const double value = 0.25 * (number + 1) / static_cast<double>(query.round.value + 1);
    const auto steps = static_cast<std::int64_t>(std::ldexp(value, 40));
    const jobs::RoundSpec spec = jobs::round_spec(job_, *planning::ask_of(jobs::schedule_of(job_), query.round));
    std::vector<std::int64_t> values(static_cast<std::size_t>(spec.dimension), 0);
    values.front() = steps;
    queries::Answer answer = queries::NoisedSums{values};
    if (spec.exact(*job_.member(silo(number)))) answer = queries::PublicSums{values};
    return {run_,
            queries::query_digest(run_, query),
            queries::ReplyType::I64,
            {query.round, -40, crypto::NoiseKind::Test, std::move(answer)}};
  }
  std::string answer(int number) { return say(number, reply(number)); }
  std::string wait(std::chrono::milliseconds time) {
    now += time;
    return said(machine_->on_timer(now));
  }
  /// Does what takes long and was handed out last.
  std::string finish_advance() {
    return said(machine_->on_advanced(std::move(*std::exchange(advance, nullptr)).perform(), now));
  }
  std::string cancel() { return said(machine_->cancel("enough", now)); }
  /// Three silos are connected and have accepted, so that the first round is open.
  void begin() {
    (void)boot();
    for (int i = 0; i < 3; ++i) (void)connect(i);
    for (int i = 0; i < 3; ++i) (void)accept(i);
  }

  /// Carries out what can be: remembers the query, the outcome, the timer and what takes long.
  std::string said(Result<std::vector<RunMachine::Action>> result) {
    std::string out;
    actions = std::move(result).value();
    for (RunMachine::Action& action : actions) {
      if (const auto* send = std::get_if<RunMachine::Send>(&action)) {
        const wire::Message message = decoded(send->bytes);
        if (const auto* asked = std::get_if<wire::QueryMessage>(&message)) query = asked->query;
      }
      if (const auto* armed = std::get_if<RunMachine::ArmTimer>(&action)) timer = armed->at;
      if (auto* handed = std::get_if<Advance>(&action)) advance = std::make_shared<Advance>(std::move(*handed));
      const std::string text = text_of(action);
      if (!text.empty()) out += (out.empty() ? "" : " | ") + text;
    }
    return out;
  }

  [[nodiscard]] RunMachine& machine() { return *machine_; }
  [[nodiscard]] RunStore& store() { return store_; }
  [[nodiscard]] const RunId& id() const { return run_; }
  [[nodiscard]] const jobs::Job& job() const { return job_; }
  [[nodiscard]] RunState state() { return store_.find(run_).value()->state; }
  [[nodiscard]] std::string failure() { return store_.find(run_).value()->failure; }

  coordinator::TimePoint now{};
  coordinator::TimePoint timer{};
  queries::Query query;
  std::vector<RunMachine::Action> actions;
  std::shared_ptr<Advance> advance;  // shared, since what is under way in a World is copied

 private:
  jobs::AlgorithmMaker make_algorithm_;
  store::Database database_;
  RunStore store_;
  jobs::Job job_;
  RunId run_;
  std::optional<RunMachine> machine_;
};

}  // namespace undertone::tests
