#include "shared/accounting/pass_law.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "shared/accounting/gaussian_accountant.hpp"

namespace undertone::accounting {
namespace {

constexpr double kPassLossMax = 40.0;
constexpr std::size_t kPassLossesMax = 10'000;

/// A loss that takes some values, and what of P is infinite.
class SteppedLaw final : public LossLaw {
 public:
  /// @param losses increasing @param q their masses under Q; under P each is e^loss times as much
  SteppedLaw(std::vector<long double> losses, const std::vector<long double>& q, double infinite)
      : losses_(std::move(losses)), tails_(losses_.size() + 1), infinite_(infinite) {
    for (std::size_t i = losses_.size(); i-- > 0;)
      tails_[i] = {tails_[i + 1].p + q[i] * expl(losses_[i]), tails_[i + 1].q + q[i]};
  }
  [[nodiscard]] LossTails above(long double loss) const override {
    const auto first = std::upper_bound(losses_.begin(), losses_.end(), loss);
    return tails_[static_cast<std::size_t>(first - losses_.begin())];
  }
  [[nodiscard]] double infinite() const override { return infinite_; }

 private:
  std::vector<long double> losses_;
  std::vector<LossTails> tails_;  // of the losses from the i-th on
  double infinite_;
};

/// Corners of the largest convex function below points. @param points by increasing x
struct ProfilePoint {
  long double order;  // e^loss
  long double delta;
  long double loss;
};
std::vector<ProfilePoint> convex_corners(const std::vector<ProfilePoint>& points) {
  std::vector<ProfilePoint> corners;
  for (const ProfilePoint& point : points) {
    while (corners.size() >= 2) {
      const ProfilePoint& a = corners[corners.size() - 2];
      const ProfilePoint& b = corners.back();
      if ((b.delta - a.delta) * (point.order - b.order) < (point.delta - b.delta) * (b.order - a.order)) break;
      corners.pop_back();
    }
    corners.push_back(point);
  }
  return corners;
}

}  // namespace

Result<LossGrid> loss_grid_of(const Allocation& allocation, AllocationGrid grid) {
  const Result<double> variation = pass_delta(allocation, 0.0, AllocationGrid::Coarse);
  if (!variation) return variation.error();
  // The spread of a Gaussian release of the same total variation.
  const double spread = 2.0 * std::numbers::sqrt2 * boost::math::erf_inv(std::clamp(*variation, 1e-6, 0.99));
  return LossGrid{std::min(spread, 1.0) * (grid == AllocationGrid::Charge ? 0.12 : 0.2), 0.02};
}

Result<PassLosses> pass_losses(const Allocation& allocation, const LossGrid& losses, double left_out,
                               AllocationGrid grid) {
  if (!(losses.step > 0.0 && losses.step <= 1.0 && losses.growth >= 0.0 && losses.growth <= 0.1 && left_out > 0.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("losses of a pass: expected a step in (0, 1], growth in [0, 0.1] and something left out, "
                             "got {}, {} and {}",
                             losses.step, losses.growth, left_out)};
  }
  std::vector<ProfilePoint> up;  // at losses >= 0
  for (double loss = 0.0;; loss += losses.step + losses.growth * loss) {
    if (loss > kPassLossMax || up.size() == kPassLossesMax) {
      return Error{ErrorCode::LimitExceeded, fmt::format("a pass has losses above {} with a probability above {}",
                                                         up.empty() ? 0.0L : up.back().loss, left_out)};
    }
    UNDERTONE_TRY(const double delta, pass_delta(allocation, loss, grid));
    up.push_back({expl(loss), delta, loss});
    if (delta <= left_out) break;
  }
  std::vector<ProfilePoint> points{{0.0L, 1.0L, -INFINITY}};
  for (std::size_t i = up.size(); i-- > 1;) {  // h(a) = 1 - a + a h(1/a)
    const long double order = expl(-up[i].loss);
    points.push_back({order, -expm1l(-up[i].loss) + order * up[i].delta, -up[i].loss});
  }
  points.insert(points.end(), up.begin(), up.end());
  const std::vector<ProfilePoint> corners = convex_corners(points);
  // Where the slope changes is a loss; from the last corner on the profile is constant.
  PassLosses out;
  for (std::size_t i = 1; i < corners.size(); ++i) {
    const auto slope = [&](std::size_t j) {
      return (corners[j].delta - corners[j - 1].delta) / (corners[j].order - corners[j - 1].order);
    };
    const long double change = (i + 1 < corners.size() ? slope(i + 1) : 0.0L) - slope(i);
    out.losses.push_back(corners[i].loss);
    out.q.push_back(std::max(change, 0.0L));
  }
  out.infinite = static_cast<double>(corners.back().delta);
  return out;
}

namespace {

/// The Gaussian profile at any epsilon: below 0 h(a) = 1 - a + a h(1/a).
double gaussian_delta_at(double epsilon, releases::GaussianShift shift) {
  if (epsilon >= 0.0) return std::exp(log_delta_of_gaussian(epsilon, shift));
  return -std::expm1(epsilon) + std::exp(epsilon + log_delta_of_gaussian(-epsilon, shift));
}

}  // namespace

double delta_beside_gaussian(const PassLosses& pass, releases::GaussianShift shift, double epsilon) {
  long double sum = pass.infinite;
  for (std::size_t i = 0; i < pass.losses.size(); ++i) {
    if (pass.q[i] == 0.0L) continue;
    const double rest = epsilon - static_cast<double>(pass.losses[i]);
    sum += pass.q[i] * expl(pass.losses[i]) * static_cast<long double>(gaussian_delta_at(rest, shift));
  }
  constexpr long double kRounding = 1e-9L;  // of the profile and of epsilon - loss
  return static_cast<double>(std::min(1.0L, sum * (1.0L + kRounding)));
}

Result<LossLawPtr> pass_law(const Allocation& allocation, const LossGrid& losses, double left_out,
                            AllocationGrid grid) {
  UNDERTONE_TRY(PassLosses found, pass_losses(allocation, losses, left_out, grid));
  return LossLawPtr(std::make_shared<SteppedLaw>(std::move(found.losses), found.q, found.infinite));
}

}  // namespace undertone::accounting
