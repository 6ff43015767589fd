#include "silo/agent/silo_agent.hpp"

#include <algorithm>
#include <utility>

namespace undertone::silo {

SiloAgent::SiloAgent(std::vector<std::unique_ptr<SiloMachine>> machines) : machines_(std::move(machines)) {
  UNDERTONE_CHECK(!machines_.empty());
}

SiloMachine* SiloAgent::machine_of(const RunId& run) const {
  for (const auto& machine : machines_) {
    if (machine->ledger().account(run) != nullptr) return machine.get();
  }
  return nullptr;
}

std::vector<Action> SiloAgent::on(const wire::JobOffer& offer) {
  if (SiloMachine* known = machine_of(offer.run)) return known->on_message(offer);
  if (machines_.size() == 1) return machines_.front()->on_message(offer);
  const Result<jobs::Job> job = jobs::parse_job(offer.job, "job");
  if (!job) return machines_.front()->on_message(offer);  // which says why not
  std::vector<DatasetObjections> everywhere;
  for (const auto& machine : machines_) {
    if (machine->would_accept(*job)) return machine->on_message(offer);
    everywhere.push_back({machine->dataset_name(), machine->objections(*job)});
  }
  put_nearest_first(everywhere);
  const auto nearest = std::find_if(machines_.begin(), machines_.end(), [&](const auto& machine) {
    return machine->dataset_name() == everywhere.front().dataset;
  });
  return (*nearest)->on_refused_offer(offer, everywhere);
}

bool SiloAgent::answers_quickly(const wire::Message& message) const {
  const auto* query = std::get_if<wire::QueryMessage>(&message);
  const SiloMachine* machine = query == nullptr ? nullptr : machine_of(query->run);
  constexpr double kProductsMax = 1e5;
  if (machine == nullptr || machine->projects(query->run) ||
      queries::kind_of(query->query.question) == releases::QuestionKind::LocalRun)
    return false;
  return machine->answer_products(query->run, query->query.round) <= kProductsMax;
}

std::vector<Action> SiloAgent::on_message(const wire::Message& message) {
  if (std::holds_alternative<wire::Welcome>(message)) {
    std::vector<Action> all;
    for (const auto& machine : machines_) {
      for (Action& action : machine->on_message(message)) all.push_back(std::move(action));
    }
    return all;
  }
  if (const auto* offer = std::get_if<wire::JobOffer>(&message)) return on(*offer);
  const auto* query = std::get_if<wire::QueryMessage>(&message);
  const auto* ended = std::get_if<wire::JobEnded>(&message);
  SiloMachine* machine = query != nullptr   ? machine_of(query->run)
                         : ended != nullptr ? machine_of(ended->run)
                                            : nullptr;
  return (machine != nullptr ? *machine : *machines_.front()).on_message(message);
}

}  // namespace undertone::silo
