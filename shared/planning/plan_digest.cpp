#include "shared/planning/plan_digest.hpp"

#include <bit>
#include <fmt/format.h>

#include "shared/base/overloaded.hpp"

namespace undertone::planning {
namespace {

/// To the last bit: the number's 64, in hexadecimal.
std::string exact(double value) { return fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value)); }

std::string mechanism_text(const mechanisms::Mechanism& mechanism) {
  return std::visit(Overloaded{[](const mechanisms::GaussianLattice& gaussian) {
                                 return fmt::format("gaussian:{}:{}:{}", gaussian.lattice.clip,
                                                    exact(gaussian.lattice.step), gaussian.log2_stddev);
                               },
                               [](const mechanisms::ExactPublicSum& exact_sum) {
                                 return fmt::format("exact:{}:{}", exact_sum.lattice.clip,
                                                    exact(exact_sum.lattice.step));
                               },
                               [](const mechanisms::Unplanned& /*nothing*/) -> std::string { UNDERTONE_CHECK(false); },
                               [](const mechanisms::BinomialSum& binomial) {
                                 const mechanisms::BinomialParameters& parameters = binomial.parameters;
                                 return fmt::format("binomial:{}:{}:{}:{}:{}/{}", binomial.lattice.clip,
                                                    exact(binomial.lattice.step), parameters.grid(), parameters.coins(),
                                                    parameters.heads().numerator, parameters.heads().denominator);
                               }},
                    mechanism);
}

std::string shape_text(const releases::ReleaseShape& shape) {
  std::string out =
      fmt::format("{}:{}:{}:{}:{}:{}", static_cast<int>(shape.kind), static_cast<int>(shape.block),
                  exact(shape.draw_fraction), shape.dimension, exact(shape.clip.value()), shape.with_replacement);
  if (shape.slice) {
    out += fmt::format(":slice:{}:{}:{}", static_cast<int>(shape.slice->cut), shape.slice->index, shape.slice->of);
  }
  if (shape.smoothness) out += fmt::format(":smoothness:{}", exact(*shape.smoothness));
  if (shape.local) out += fmt::format(":local:{}:{}", shape.local->steps, exact(shape.local->step_size));
  return out;
}

}  // namespace

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
  for (const Plan::Segment& segment : plan.segments()) {
    const Release& release = segment.release;
    hash.update(fmt::format("{}*{};{}/{}/{};{}:{};{}\n", segment.rounds, shape_text(release.shape),
                            release.records_drawn, release.population, release.block_records, release.positions.from,
                            release.positions.to, mechanism_text(release.mechanism)));
  }
  return hash.finish();
}

}  // namespace undertone::planning
