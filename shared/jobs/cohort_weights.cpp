#include "shared/jobs/cohort_weights.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "shared/accounting/gaussian_accountant.hpp"

namespace undertone::jobs {
namespace {

constexpr double kLargestWeight = 0x1p20;
constexpr std::size_t kPromisesMax = 256;  // different ones: the shift of each takes some milliseconds to find

bool is_pure(const CohortMember& member) { return std::holds_alternative<releases::PureDp>(member.facts.target); }

/// What 1/(sigma_i n_i) is in proportion to; each promise is looked up once.
class Shifts {
 public:
  Result<double> of(const releases::Target& target) {
    if (const auto* concentrated = std::get_if<releases::ConcentratedDp>(&target))
      return std::sqrt(2.0 * concentrated->rho.value());
    const releases::Epsilon epsilon = releases::epsilon_of(target);
    if (std::holds_alternative<releases::PureDp>(target)) return epsilon.value();
    const double delta = releases::delta_of(target);
    const auto [known, fresh] = known_.try_emplace({epsilon.value(), delta}, 0.0);
    if (known_.size() > kPromisesMax) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("expected at most {} different promises of an epsilon and a delta", kPromisesMax)};
    }
    if (fresh) known->second = accounting::gaussian_shift_for(epsilon, *releases::Delta::create(delta)).value();
    return known->second;
  }

 private:
  std::map<std::pair<double, double>, double> known_;
};

Status set_noise_optimal(std::vector<CohortMember>& members) {
  const auto pure = std::find_if(members.begin(), members.end(), is_pure);
  const auto other = std::find_if_not(members.begin(), members.end(), is_pure);
  if (pure != members.end() && other != members.end()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("expected promises that are all pure or none, whose noises compare: \"{}\" is promised "
                             "{}, \"{}\" {}",
                             pure->facts.silo.name(), releases::to_string(pure->facts.target), other->facts.silo.name(),
                             releases::to_string(other->facts.target))};
  }
  Shifts shifts;
  std::vector<double> precisions;  // 1/sigma_i^2, up to a factor
  for (const CohortMember& member : members) {
    UNDERTONE_TRY(const double shift, shifts.of(member.facts.target));
    precisions.push_back(std::pow(static_cast<double>(member.facts.records) * shift, 2.0));
  }
  const double largest = *std::max_element(precisions.begin(), precisions.end());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const double scaled = std::round(precisions[i] / largest * kLargestWeight);
    members[i].weight = static_cast<std::uint64_t>(std::max(scaled, 1.0));
  }
  return {};
}

}  // namespace

std::optional<WeightRule> parse_weight_rule(config::Section& root) {
  if (!root.has("weights")) return std::nullopt;
  return root.choice<WeightRule>(
      "weights",
      {{"records", WeightRule::Records}, {"equal", WeightRule::Equal}, {"noise_optimal", WeightRule::NoiseOptimal}},
      "instead of each silo's weight: in proportion to its records, all alike, or for the mean with the least noise, "
      "in "
      "proportion to (records x the Gaussian shift of its promise)^2, which moves the objective towards these silos' "
      "records");
}

Status set_weights(WeightRule rule, std::vector<CohortMember>& members) {
  switch (rule) {
    case WeightRule::Records:
      for (CohortMember& member : members) {
        member.weight = std::min(static_cast<std::uint64_t>(member.facts.records), folds::LatticeFold::kWeightMax);
      }
      return {};
    case WeightRule::Equal:
      for (CohortMember& member : members) member.weight = 1;
      return {};
    case WeightRule::NoiseOptimal:
      return set_noise_optimal(members);
  }
  UNDERTONE_CHECK(false);
}

}  // namespace undertone::jobs
