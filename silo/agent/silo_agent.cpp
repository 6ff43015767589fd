#include "silo/agent/silo_agent.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/contained.hpp"

namespace undertone::silo {

SiloAgent::SiloAgent(std::vector<std::unique_ptr<SiloMachine>> machines) : machines_(std::move(machines)) {
  UNDERTONE_CHECK(!machines_.empty());
}

std::string SiloAgent::unable() const {
  for (const auto& machine : machines_)
    if (machine->ledger().failing())
      return fmt::format("the ledger of the data set \"{}\", or its head, could not be written",
                         machine->dataset_name());
  return "";
}

void SiloAgent::make_whole() {
  for (const auto& machine : machines_) (void)machine->ledger().make_whole();
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
  // What stands against it on each data set, up to the first that it may use.
  Result<std::vector<DatasetObjections>> looked =
      contained("reading the job", [&]() -> Result<std::vector<DatasetObjections>> {
        UNDERTONE_TRY(const jobs::Job job, jobs::parse_job(offer.job, "job"));
        std::vector<DatasetObjections> out;
        for (const auto& machine : machines_) {
          out.push_back({machine->dataset_name(), {}});
          if (machine->would_accept(job)) break;
          out.back().objections = machine->objections(job);
        }
        return out;
      });
  if (!looked) return machines_.front()->on_message(offer);  // which says why not
  std::vector<DatasetObjections> everywhere = *std::move(looked);
  if (everywhere.back().objections.empty()) return machines_[everywhere.size() - 1]->on_message(offer);
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
  if (machine == nullptr || machine->makes_records(query->run) ||
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
