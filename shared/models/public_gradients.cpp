#include "shared/models/public_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace undertone::models {
namespace {

/// Gradients are rescaled by a clip that is so much shorter than they are to be, and then stretched.
constexpr double kShrink = 0x1p-40;

}  // namespace

PublicNetworkGradients::PublicNetworkGradients(const Network& network, Records records)
    : working_(std::make_shared<Working>(network)),
      records_(std::move(records)),
      all_(static_cast<std::size_t>(records_.targets.size())) {
  std::iota(all_.begin(), all_.end(), std::int64_t{0});
}

std::int64_t PublicNetworkGradients::records_max(const Network& network) {
  const double each = std::max(network.products(), static_cast<double>(network.dimension()));
  return static_cast<std::int64_t>(kProductsMax / std::max(each, 1.0));
}

Result<PublicNetworkGradients> PublicNetworkGradients::create(const Network& network, Records records) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::InvalidArgument, std::move(why)}; };
  const Eigen::Index count = records.targets.size();
  if (count == 0) return refuse("expected at least one public record");
  if (records.features.rows() != network.features() || records.features.cols() != count)
    return refuse(fmt::format("expected public records of {} features each, got {} for {} records", network.features(),
                              records.features.rows(), count));
  if (count > records_max(network))
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{} public records of a model of {} weights: expected at most {}", count,
                             network.dimension(), records_max(network))};
  if (!records.features.allFinite()) return refuse("a public record has a number that is not finite");
  for (const double target : records.targets)
    if (!(target >= 0.0 && target < static_cast<double>(network.classes()) && std::floor(target) == target))
      return refuse(fmt::format("a public record's label is no class of the model: {}", target));
  return PublicNetworkGradients(network, std::move(records));
}

Eigen::Index PublicNetworkGradients::dimension() const noexcept { return working_->model.dimension(); }

Eigen::VectorXd PublicNetworkGradients::mean_gradient(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                                      PublicGradients gradients, double length) const {
  const double clip = gradients == PublicGradients::Raw       ? LayeredModel::kClipMax
                      : gradients == PublicGradients::Clipped ? length
                                                              : length * kShrink;
  Eigen::VectorXd sum(dimension());
  {
    const std::lock_guard alone(working_->one_at_a_time);
    working_->model.clipped_gradient_sum(weights, records_, all_,
                                         std::clamp(clip, LayeredModel::kClipMin, LayeredModel::kClipMax), sum);
  }
  if (gradients == PublicGradients::Rescaled) sum /= kShrink;
  return sum / static_cast<double>(records());
}

Eigen::VectorXd PublicNetworkGradients::mean_difference(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                                        const Eigen::Ref<const Eigen::VectorXd>& from,
                                                        PublicGradients gradients, double length) const {
  const double clip = gradients == PublicGradients::Raw ? LayeredModel::kClipMax : length;
  Eigen::VectorXd sum(dimension());
  const std::lock_guard alone(working_->one_at_a_time);
  working_->model.clipped_difference_sum(weights, from, records_, all_,
                                         std::clamp(clip, LayeredModel::kClipMin, LayeredModel::kClipMax), sum);
  return sum / static_cast<double>(records());
}

}  // namespace undertone::models
