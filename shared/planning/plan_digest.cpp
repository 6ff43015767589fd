#include "shared/planning/plan_digest.hpp"

#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shared/base/overloaded.hpp"

namespace undertone::planning {
namespace {

/// To the last bit: the number's 64, in hexadecimal.
std::string exact(double value) { return fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value)); }

std::string mechanism_text(const mechanisms::Mechanism& mechanism) {
  return std::visit(
      Overloaded{[](const mechanisms::GaussianLattice& gaussian) {
                   return fmt::format("gaussian:{}:{}:{}", gaussian.lattice.clip, exact(gaussian.lattice.step),
                                      gaussian.log2_stddev);
                 },
                 [](const mechanisms::LaplaceLattice& laplace) {
                   const noise::Rational scale = laplace.noise.scale();
                   return fmt::format("laplace:{}:{}:{}:{}/{}", laplace.lattice.clip, exact(laplace.lattice.step),
                                      laplace.noise.sensitivity().value(), scale.numerator, scale.denominator);
                 },
                 [](const mechanisms::Selection& selection) {
                   return fmt::format("selection:{}:{}:{}:{}:{}", exact(selection.lattice.bound()),
                                      selection.lattice.log2_levels(), selection.lattice.records(),
                                      selection.draw.range().value(), selection.draw.epsilon().to_string());
                 },
                 [](const mechanisms::ExactPublicSum& exact_sum) {
                   return fmt::format("exact:{}:{}", exact_sum.lattice.clip, exact(exact_sum.lattice.step));
                 },
                 [](const mechanisms::Unplanned& /*nothing*/) -> std::string { UNDERTONE_CHECK(false); },
                 [](const mechanisms::BinomialSum& binomial) {
                   const mechanisms::BinomialParameters& parameters = binomial.parameters;
                   return fmt::format("binomial:{}:{}:{}:{}:{}/{}", binomial.lattice.clip, exact(binomial.lattice.step),
                                      parameters.grid(), parameters.coins(), parameters.heads().numerator,
                                      parameters.heads().denominator);
                 }},
      mechanism);
}

std::string bound_text(const releases::Bound& bound) {
  return std::visit(
      Overloaded{[](const releases::L2Bound& l2) { return exact(l2.clip.value()); },
                 [](const releases::MaxBound& max) { return fmt::format("max:{}", exact(max.bound.value())); },
                 [](const releases::RangeBound& range) {
                   return fmt::format("range:{}:{}", exact(range.low), exact(range.high));
                 }},
      bound);
}

std::string map_text(const releases::RecordMap& map) {
  if (const auto* run = std::get_if<releases::LocalRunMap>(&map))
    return fmt::format(":local:{}:{}", run->steps.steps, exact(run->steps.step_size));
  if (const auto* statistic = std::get_if<releases::StatisticMap>(&map))
    return fmt::format(":{}:{}", statistic->indicators ? "indicators" : "values",
                       fmt::join(statistic->coordinates, ","));
  return "";
}

/// Candidates by what they are, to the last number.
std::string form_text(const releases::Ask& ask) {
  const geometry::Vertices* candidates = ask.candidates();
  return candidates == nullptr ? "" : fmt::format(":selection:{}", to_hex(candidates->digest()));
}

std::string ask_text(const releases::Ask& ask) {
  const releases::RecordSet& records = ask.records;
  std::string out =
      fmt::format("{}:{}:{}:{}:{}:{}", static_cast<int>(ask.kind()), static_cast<int>(records.block),
                  exact(records.draw_fraction), ask.dimension, bound_text(ask.bound), records.with_replacement);
  if (records.slice) {
    out +=
        fmt::format(":slice:{}:{}:{}", static_cast<int>(records.slice->cut), records.slice->index, records.slice->of);
  }
  if (const std::optional<double> smoothness = ask.smoothness())
    out += fmt::format(":smoothness:{}", exact(*smoothness));
  return out + map_text(ask.map) + form_text(ask);
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
    hash.update(fmt::format("{}*{};{}/{}/{};{}:{};{}\n", segment.rounds, ask_text(release.ask), release.records_drawn,
                            release.population, release.block_records, release.positions.from, release.positions.to,
                            mechanism_text(release.mechanism)));
  }
  return hash.finish();
}

}  // namespace undertone::planning
