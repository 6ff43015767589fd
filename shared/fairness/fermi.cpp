#include "shared/fairness/fermi.hpp"

#include <cmath>
#include <numeric>

#include "shared/base/random_source.hpp"

namespace undertone::fairness {
namespace {

Status check_settings(const FairObjective& objective, const FermiSettings& settings) {
  if (!(std::isfinite(settings.step_size) && settings.step_size > 0.0))
    return Error{ErrorCode::InvalidArgument, fmt::format("step_size must be > 0, got {}", settings.step_size)};
  if (!(settings.weights_step_size > 0.0 && 2.0 * objective.lambda() * settings.weights_step_size <= 1.0))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("weights_step_size must be > 0 and at most 1 / (2 lambda) = {:g}, got {}",
                             0.5 / objective.lambda(), settings.weights_step_size)};
  if (settings.batch > objective.record_count())
    return Error{ErrorCode::InvalidArgument, fmt::format("a batch of {} records was asked for, there are {}",
                                                         settings.batch, objective.record_count())};
  return {};
}

/// Draws batches of different records, each uniformly.
class Batches {
 public:
  Batches(std::size_t records, const FermiSettings& settings)
      : source_(settings.seed), order_(settings.batch == 0 ? 0 : records), batch_(settings.batch) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }
  /// Nothing where all records are read.
  std::span<const std::size_t> next() {
    for (std::size_t i = 0; i < batch_; ++i) std::swap(order_[i], order_[i + source_.below(order_.size() - i)]);
    return {order_.data(), batch_};
  }

 private:
  RandomSource source_;
  std::vector<std::size_t> order_;
  std::size_t batch_;
};

}  // namespace

Result<FairObjective::Point> fermi(const FairObjective& objective, const FermiSettings& settings) {
  if (Status good = check_settings(objective, settings); !good) return good.error();
  FairObjective::Point point = objective.origin();
  Batches batches(objective.record_count(), settings);
  for (std::uint64_t t = 0; t < settings.steps; ++t) {
    const FairObjective::Gradient gradient = objective.gradient(point, batches.next());
    point.model -= settings.step_size * gradient.model;
    for (std::size_t b = 0; b < point.weights.size(); ++b)
      point.weights[b] += objective.lambda() * settings.weights_step_size * gradient.weights[b];
    objective.project(point);
  }
  if (!point.model.allFinite())
    return Error{ErrorCode::InvalidArgument, "the model left the finite numbers: step_size is too large"};
  return point;
}

}  // namespace undertone::fairness
