#include "shared/planning/plan_digest.hpp"

#include <fmt/format.h>

#include "shared/releases/canonical_ask.hpp"

namespace undertone::planning {

Digest plan_digest(const Plan& plan) {
  Sha256 hash;
  hash.update(fmt::format("undertone plan 1\n{}:{}:{}:{}\n", plan.epsilon().to_string(), plan.delta().to_string(),
                          plan.mechanism_delta_amount().to_string(), plan.failure_delta().to_string()));
  if (const std::optional<Shuffling>& shuffling = plan.shuffling()) {
    hash.update(fmt::format("shuffled:{}:{}:{}\n", shuffling->honest_silos, shuffling->binomial, shuffling->coins_max));
  }
  if (const std::optional<accounting::ShufflerCredit>& credit = plan.credit()) {
    hash.update(fmt::format("credit:{}:{}:{}\n", credit->record_epsilon.to_string(), credit->silo_epsilon.to_string(),
                            credit->failure.to_string()));
  }
  if (const std::optional<PartsCredit>& credit = plan.parts_credit();
      credit && credit->assignment == releases::Slice::Assignment::Bins)
    hash.update(fmt::format("bins:{}\n", credit->overflow.to_string()));
  for (const Plan::Segment& segment : plan.segments()) {
    const Release& release = segment.release;
    if (release.beside)
      hash.update(fmt::format("beside:{}:{}\n", release.public_records, mechanisms::canonical_text(*release.beside)));
    if (release.reads_bins()) hash.update(fmt::format("rows:{}\n", release.rows));
    hash.update(fmt::format("{}*{};{}/{}/{};{}:{};{}\n", segment.rounds, releases::canonical_text(release.ask),
                            release.records_drawn, release.population, release.block_records, release.positions.from,
                            release.positions.to, mechanisms::canonical_text(release.mechanism)));
  }
  return hash.finish();
}

}  // namespace undertone::planning
