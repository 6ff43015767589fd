#include "shared/algorithms/printed_noise.hpp"

#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace undertone::algorithms {
namespace {

/// 2L/(K sigma) for sigma^2 = 256 L^2 R ln(2.5R/delta) ln(2/delta) / (n^2 eps^2).
double composed_shift(const NoiseFacts& facts, double rounds) {
  return facts.records * facts.epsilon /
         (8.0 * facts.drawn * std::sqrt(rounds * std::log(2.5 * rounds / facts.delta) * std::log(2.0 / facts.delta)));
}

}  // namespace

Error NoiseConditions::refuse(std::string what) const {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", where_, std::move(what))};
}

Status NoiseConditions::plausible() const {
  const auto [records, drawn, epsilon, delta] = facts_;
  if (!(records >= 1.0 && std::isfinite(records) && records == std::floor(records)))
    return refuse(fmt::format("the records of a silo must be a whole number >= 1, got {}", records));
  if (!(drawn >= 1.0 && drawn <= records && drawn == std::floor(drawn)))
    return refuse(fmt::format("{} records are drawn, expected a whole number in 1 to the silo's {}", drawn, records));
  if (!(epsilon > 0.0 && std::isfinite(epsilon)))
    return refuse(fmt::format("epsilon must be finite and > 0, got {}", epsilon));
  if (!(delta > 0.0 && delta < 1.0)) return refuse(fmt::format("delta must be in (0, 1), got {}", delta));
  return {};
}

Status NoiseConditions::epsilon_at_most(std::string_view bound, double most) const {
  if (facts_.epsilon <= most) return {};
  return refuse(fmt::format("epsilon is {}, which must be at most {} = {}", facts_.epsilon, bound, most));
}

Status NoiseConditions::some_rounds(std::uint64_t rounds) const {
  if (rounds >= 1) return {};
  return refuse("0 rounds, expected at least 1");
}

Status NoiseConditions::batch(double rounds) const {
  const double least = least_batch(rounds, facts_.records, facts_.epsilon, facts_.delta);
  if (facts_.drawn == facts_.records || facts_.drawn + 1.0 > least) return {};
  return refuse(
      fmt::format("{} of {} records are drawn, which must be at least epsilon n/(4 sqrt(2 R "
                  "ln(2/delta))) = {} for {} rounds",
                  facts_.drawn, facts_.records, least, rounds));
}

Result<NoiseShifts> NoiseConditions::composed(const std::vector<double>& rounds) const {
  if (Status fits = epsilon_at_most("2 ln(2/delta)", 2.0 * log_two()); !fits) return fits.error();
  if (rounds.empty()) return refuse("no phase, expected at least 1");
  NoiseShifts out;
  for (const double one : rounds) {
    if (!(one >= 1.0)) return refuse("0 rounds, expected at least 1");
    if (Status fits = batch(one); !fits) return fits.error();
    out.gradients.push_back(composed_shift(facts_, one));
  }
  return out;
}

double NoiseConditions::log_one() const noexcept { return std::log(1.0 / facts_.delta); }
double NoiseConditions::log_two() const noexcept { return std::log(2.0 / facts_.delta); }

double least_batch(double rounds, double records, double epsilon, double delta) {
  return epsilon * records / (4.0 * std::sqrt(2.0 * rounds * std::log(2.0 / delta)));
}

}  // namespace undertone::algorithms
