#include "shared/theorems/theorem_noise.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "shared/base/overloaded.hpp"

namespace undertone::theorems {
namespace {

Error refusal(std::string_view where, std::string what) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", where, std::move(what))};
}

Status check_facts(std::string_view where, const NoiseFacts& facts) {
  if (!(facts.records >= 1.0 && std::isfinite(facts.records) && facts.records == std::floor(facts.records)))
    return refusal(where, fmt::format("the records of a silo must be a whole number >= 1, got {}", facts.records));
  if (!(facts.drawn >= 1.0 && facts.drawn <= facts.records && facts.drawn == std::floor(facts.drawn)))
    return refusal(where, fmt::format("{} records are drawn, expected a whole number in 1 to the silo's {}",
                                      facts.drawn, facts.records));
  if (!(facts.epsilon > 0.0 && std::isfinite(facts.epsilon)))
    return refusal(where, fmt::format("epsilon must be finite and > 0, got {}", facts.epsilon));
  if (!(facts.delta > 0.0 && facts.delta < 1.0))
    return refusal(where, fmt::format("delta must be in (0, 1), got {}", facts.delta));
  return {};
}

Status check_epsilon(std::string_view where, const NoiseFacts& facts, std::string_view bound, double most) {
  if (facts.epsilon <= most) return {};
  return refusal(where, fmt::format("epsilon is {}, which must be at most {} = {}", facts.epsilon, bound, most));
}

Status check_rounds(std::string_view where, std::uint64_t rounds) {
  if (rounds >= 1) return {};
  return refusal(where, "0 rounds, expected at least 1");
}

/// A silo draws the floor of its share, so that up to one record of the least batch may be missing.
Status check_batch(std::string_view where, const NoiseFacts& facts, double rounds) {
  const double least = least_batch(rounds, facts.records, facts.epsilon, facts.delta);
  if (facts.drawn == facts.records || facts.drawn + 1.0 > least) return {};
  return refusal(where, fmt::format("{} of {} records are drawn, which must be at least epsilon n/(4 sqrt(2 R "
                                    "ln(2/delta))) = {} for {} rounds",
                                    facts.drawn, facts.records, least, rounds));
}

double log_one(double delta) { return std::log(1.0 / delta); }
double log_two(double delta) { return std::log(2.0 / delta); }

/// 2L/(K sigma) for sigma^2 = 256 L^2 R ln(2.5R/delta) ln(2/delta) / (n^2 eps^2).
double composed_shift(const NoiseFacts& facts, double rounds) {
  return facts.records * facts.epsilon /
         (8.0 * facts.drawn * std::sqrt(rounds * std::log(2.5 * rounds / facts.delta) * log_two(facts.delta)));
}

Result<TheoremShifts> composed(std::string_view where, const NoiseFacts& facts, const std::vector<double>& rounds) {
  if (Status fits = check_epsilon(where, facts, "2 ln(2/delta)", 2.0 * log_two(facts.delta)); !fits)
    return fits.error();
  if (rounds.empty()) return refusal(where, "no phase, expected at least 1");
  TheoremShifts out;
  for (const double one : rounds) {
    if (!(one >= 1.0)) return refusal(where, "0 rounds, expected at least 1");
    if (Status fits = check_batch(where, facts, one); !fits) return fits.error();
    out.gradients.push_back(composed_shift(facts, one));
  }
  return out;
}

Result<TheoremShifts> of_theorem(const algorithms::AcceleratedSgdSettings& settings, const NoiseFacts& facts) {
  switch (settings.use) {
    case algorithms::RecordUse::Shared:
      return composed("Theorem 129", facts, {static_cast<double>(settings.rounds())});
    case algorithms::RecordUse::OnePass: {
      constexpr std::string_view kWhere = "Theorem 124";
      if (Status fits = check_epsilon(kWhere, facts, "8 ln(1/delta)", 8.0 * log_one(facts.delta)); !fits)
        return fits.error();
      // 2L/(K sigma), sigma = sqrt(32 ln(1.25/delta)) L/(eps K).
      return TheoremShifts{{facts.epsilon / std::sqrt(8.0 * std::log(1.25 / facts.delta))}, {}};
    }
    case algorithms::RecordUse::Phased: {
      std::vector<double> rounds;
      for (const algorithms::AcceleratedPhase& phase : settings.phases) {
        double of_phase = 0.0;
        for (const algorithms::AcceleratedStage& stage : phase.stages) of_phase += static_cast<double>(stage.rounds);
        rounds.push_back(of_phase);
      }
      return composed("federated-core 3.8", facts, rounds);
    }
  }
  UNDERTONE_CHECK(false);
  return TheoremShifts{};
}

Result<TheoremShifts> of_theorem(const algorithms::ProximalSgdSettings& settings, const NoiseFacts& facts) {
  constexpr std::string_view kWhere = "Theorem 144";
  if (Status fits = check_rounds(kWhere, settings.rounds); !fits) return fits.error();
  if (Status fits = check_epsilon(kWhere, facts, "8 ln(1/delta)", 8.0 * log_one(facts.delta)); !fits)
    return fits.error();
  if (Status fits = check_epsilon(kWhere, facts, "15", 15.0); !fits) return fits.error();
  if (!(facts.delta < 0.5)) return refusal(kWhere, fmt::format("delta is {}, which must be below 0.5", facts.delta));
  if (static_cast<double>(settings.rounds) > facts.records)
    return refusal(kWhere, fmt::format("{} rounds, each with records of its own, of a silo with {} records",
                                       settings.rounds, facts.records));
  // 2L/(K sigma), sigma = sqrt(8 ln(1/delta)) L/(eps K).
  return TheoremShifts{{facts.epsilon / std::sqrt(2.0 * log_one(facts.delta))}, {}};
}

Result<TheoremShifts> of_theorem(const algorithms::ProxSvrgSettings& settings, const NoiseFacts& facts) {
  constexpr std::string_view kWhere = "Theorem 148";
  const double restarts = static_cast<double>(settings.restarts);
  const double epochs = static_cast<double>(settings.epochs);
  const double rounds = epochs * static_cast<double>(settings.inner);
  if (!(restarts >= 1.0 && rounds >= 1.0))
    return refusal(kWhere, fmt::format("{} restarts of {} epochs of {} steps, expected at least one of each",
                                       settings.restarts, settings.epochs, settings.inner));
  const double l2 = log_two(facts.delta);
  if (Status fits = check_epsilon(kWhere, facts, "2 ln(2/delta)", 2.0 * l2); !fits) return fits.error();
  if (Status fits = check_epsilon(kWhere, facts, "15", 15.0); !fits) return fits.error();
  if (Status fits = check_batch(kWhere, facts, restarts * rounds); !fits) return fits.error();
  // 2L/(n sigma_1), and 4L/(K sigma_2) with the difference clipped to 2L.
  const double anchor =
      facts.epsilon / (8.0 * std::sqrt(restarts * epochs * l2 * std::log(5.0 * epochs / facts.delta)));
  const double difference =
      facts.records * facts.epsilon /
      (8.0 * facts.drawn * std::sqrt(restarts * rounds * l2 * std::log(2.5 * rounds / facts.delta)));
  return TheoremShifts{{anchor}, difference};
}

/// 2L/(K sigma_1) and 4L/(K sigma_2).
Result<TheoremShifts> spider(const algorithms::SpiderSettings& settings, const NoiseFacts& facts) {
  constexpr std::string_view kWhere = "Theorem 149";
  if (Status fits = check_rounds(kWhere, settings.rounds); !fits) return fits.error();
  if (settings.period == 0) return refusal(kWhere, "an anchor every 0 rounds, expected at least 1");
  const double l1 = log_one(facts.delta);
  const double rounds = static_cast<double>(settings.rounds);
  const double anchors = std::max(rounds / static_cast<double>(settings.period), 1.0);
  const double share = facts.records / facts.drawn;
  return TheoremShifts{{share * facts.epsilon / (2.0 * std::sqrt(l1 * anchors))},
                       share * facts.epsilon / (2.0 * std::sqrt(l1 * rounds))};
}

Result<TheoremShifts> of_theorem(const algorithms::SpiderSettings& settings, const NoiseFacts& facts) {
  constexpr std::string_view kWhere = "Theorem 149";
  if (Status fits = check_epsilon(kWhere, facts, "2 ln(1/delta)", 2.0 * log_one(facts.delta)); !fits)
    return fits.error();
  if (facts.drawn != facts.records)
    return refusal(kWhere, fmt::format("{} records are drawn, expected all {}", facts.drawn, facts.records));
  return spider(settings, facts);
}

}  // namespace

double least_batch(double rounds, double records, double epsilon, double delta) {
  return epsilon * records / (4.0 * std::sqrt(2.0 * rounds * log_two(delta)));
}

Result<TheoremShifts> theorem_shifts(const algorithms::AlgorithmSettings& settings, const NoiseFacts& facts) {
  if (Status fits = check_facts("the theorem's noise", facts); !fits) return fits.error();
  using Shifts = Result<TheoremShifts>;
  return std::visit(Overloaded{[&](const algorithms::MinibatchSgdSettings& s) {
                                 return composed("Theorem 34", facts, {static_cast<double>(s.rounds)});
                               },
                               [&](const auto& s) -> Shifts {
                                 if constexpr (requires { of_theorem(s, facts); }) return of_theorem(s, facts);
                                 return refusal("the theorem's noise", fmt::format("there is no theorem for {}",
                                                                                   algorithms::source_of(settings)));
                               }},
                    settings);
}

Result<TheoremShifts> experiment_shifts(const algorithms::AlgorithmSettings& settings, const NoiseFacts& facts) {
  constexpr std::string_view kWhere = "the experiments' noise";
  if (Status fits = check_facts(kWhere, facts); !fits) return fits.error();
  using Shifts = Result<TheoremShifts>;
  const double share = facts.records * facts.epsilon / facts.drawn;
  return std::visit(Overloaded{[&](const algorithms::MinibatchSgdSettings& s) -> Shifts {
                                 if (Status fits = check_rounds(kWhere, s.rounds); !fits) return fits.error();
                                 const double rounds = static_cast<double>(s.rounds);
                                 return TheoremShifts{{share / std::sqrt(2.0 * rounds * log_one(facts.delta))}, {}};
                               },
                               [&](const algorithms::SpiderSettings& s) -> Shifts { return spider(s, facts); },
                               [&](const algorithms::SpiderAlternateSettings& s) -> Shifts {
                                 // Twice the sensitivity and twice the noise: both kinds have the same shift.
                                 const double rounds = 2.0 * static_cast<double>(s.pairs) + 1.0;
                                 const double shift = share / std::sqrt(2.0 * rounds * log_two(facts.delta));
                                 return TheoremShifts{{shift}, shift};
                               },
                               [&](const auto&) -> Shifts {
                                 return refusal(kWhere,
                                                fmt::format("there is none for {}", algorithms::source_of(settings)));
                               }},
                    settings);
}

Result<double> experiment_local_shift(double rounds, double steps, const NoiseFacts& facts) {
  constexpr std::string_view kWhere = "the noise of local SGD";
  if (Status fits = check_facts(kWhere, facts); !fits) return fits.error();
  if (!(rounds >= 1.0 && steps >= 1.0 && std::isfinite(rounds * steps)))
    return refusal(kWhere, fmt::format("{} rounds of {} steps, expected at least one of each", rounds, steps));
  if (facts.drawn != 1.0) return refusal(kWhere, fmt::format("a step reads 1 record, {} are drawn", facts.drawn));
  return facts.records * facts.epsilon / std::sqrt(2.0 * rounds * steps * log_one(facts.delta));
}

}  // namespace undertone::theorems
