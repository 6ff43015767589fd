#include "shared/mechanisms/selection/exponential_mechanism.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::mechanisms {
namespace {

constexpr unsigned kEpsilonFractionBits = 40;
/// With distances up to 2^63 the sampler's numerator stays below 2^114.
constexpr double kSelectionEpsilonMax = 1024.0;

}  // namespace

Result<ScoreRange> ScoreRange::of_differences(std::int64_t range) {
  if (range < 1 || range > kScoreMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a score range must be in 1 .. {} lattice units, got {}", kScoreMax, range)};
  }
  return ScoreRange(range);
}

Result<ScoreRange> ScoreRange::of_each_score(std::int64_t change) {
  if (change < 1 || change > kScoreMax / 2) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the change of a score must be in 1 .. {} lattice units, got {}", kScoreMax / 2, change)};
  }
  return ScoreRange(2 * change);
}

Result<ExponentialMechanism> ExponentialMechanism::create(releases::Epsilon epsilon, ScoreRange range) {
  if (!(epsilon.value() <= kSelectionEpsilonMax)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the epsilon of a selection must be at most {}, got {}",
                                                         kSelectionEpsilonMax, epsilon.value())};
  }
  UNDERTONE_TRY(const releases::EpsilonAmount amount, releases::EpsilonAmount::rounded_down(epsilon.value()));
  if (amount.units() == 0) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the epsilon of a selection must be at least 2^-40, got {}", epsilon.value())};
  }
  return ExponentialMechanism(amount, range);
}

ExponentialMechanism::ExponentialMechanism(releases::EpsilonAmount epsilon, ScoreRange range) noexcept
    : epsilon_(epsilon), range_(range), whole_(static_cast<releases::UInt128>(range.value()) << kEpsilonFractionBits) {}

accounting::ExponentialEvent ExponentialMechanism::event() const {
  // At most 2^50 units: the double is exact.
  return {releases::Epsilon::create(epsilon_.value_rounded_up()).value()};
}

accounting::Rho ExponentialMechanism::rho() const {
  const double epsilon = epsilon_.value_rounded_up();
  return accounting::Rho::create(epsilon * epsilon / 8.0 * (1.0 + 0x1p-50)).value();
}

double ExponentialMechanism::expected_loss_max(std::size_t candidates) const {
  UNDERTONE_CHECK(candidates >= 1);
  const double scale = static_cast<double>(range_.value()) / epsilon_.value_rounded_down();
  return scale * std::log(static_cast<double>(candidates));
}

std::int64_t ExponentialMechanism::best_of(std::span<const std::int64_t> scores) {
  UNDERTONE_CHECK(!scores.empty() && scores.size() <= kCandidatesMax);
  // By value and two at a time: places would make every comparison a branch, and the one before it a wait.
  std::int64_t least = scores.front();
  std::int64_t best = scores.front();
  std::int64_t least_other = least;
  std::int64_t best_other = best;
  std::size_t i = 0;
  for (; i + 1 < scores.size(); i += 2) {
    least = std::min(least, scores[i]);
    best = std::max(best, scores[i]);
    least_other = std::min(least_other, scores[i + 1]);
    best_other = std::max(best_other, scores[i + 1]);
  }
  if (i < scores.size()) {
    least = std::min(least, scores[i]);
    best = std::max(best, scores[i]);
  }
  UNDERTONE_CHECK(std::min(least, least_other) >= -kScoreMax);
  best = std::max(best, best_other);
  UNDERTONE_CHECK(best <= kScoreMax);
  return best;
}

std::vector<long double> ExponentialMechanism::law(std::span<const std::int64_t> scores) const {
  const std::int64_t best = best_of(scores);
  const long double rate = static_cast<long double>(epsilon_.units()) / static_cast<long double>(whole_);
  std::vector<long double> weights;
  weights.reserve(scores.size());
  long double total = 0.0L;
  for (const std::int64_t score : scores) {
    weights.push_back(std::exp(-rate * static_cast<long double>(distance(best, score))));
    total += weights.back();
  }
  for (long double& weight : weights) weight /= total;
  return weights;
}

}  // namespace undertone::mechanisms
