#include "shared/models/linear_loss.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

namespace undertone::models {
namespace {

constexpr int kAtOnce = 16;  // records

/// ln(1 + e^t) without overflow.
double softplus(double t) { return t > 0.0 ? t + std::log1p(std::exp(-t)) : std::log1p(std::exp(t)); }

/// -y / (1 + e^(y z)) of `Count` records at once, with z clipped to +-most; NaN for a score that is none. Eigen
/// computes whole vectors alone, so that it is one number for a record, whatever it stands beside.
template <int Count>
void logistic_slopes(double* scores, const double* targets, double most) {
  static_assert(Count % 2 == 0);
  using Numbers = Eigen::Array<double, Count, 1>;
  const Numbers z = Eigen::Map<const Numbers>(scores);
  const Numbers y = Eigen::Map<const Numbers>(targets);
  const Numbers slopes = -y / (1.0 + (y * z.max(-most).min(most)).exp());
  for (int i = 0; i < Count; ++i) scores[i] = std::isnan(z[i]) ? z[i] : slopes[i];
}

/// Of a target that is scaled to [-1, 1], its share of the range.
double share_of(double target) { return std::clamp(0.5 * (target + 1.0), 0.0, 1.0); }
double log_mean(double score) { return std::min(std::exp(score), 1.0); }

}  // namespace

std::string_view to_string(Loss loss) noexcept {
  switch (loss) {
    case Loss::Logistic:
      return "logistic";
    case Loss::LeastSquares:
      return "least_squares";
    case Loss::Hinge:
      return "hinge";
    case Loss::Absolute:
      return "absolute";
    case Loss::Quantile:
      return "quantile";
    case Loss::Huber:
      return "huber";
    case Loss::Poisson:
      return "poisson";
  }
  return "";
}

Result<LinearLoss> LinearLoss::create(Loss loss, const Options& options) {
  const LinearLoss made(loss, options);
  const auto positive = [](const std::optional<double>& value) {
    return !value || (std::isfinite(*value) && *value > 0.0);
  };
  if (!(options.level > 0.0 && options.level < 1.0))
    return Error{ErrorCode::InvalidArgument, fmt::format("level must be in (0, 1), got {}", options.level)};
  if (!(std::isfinite(options.threshold) && options.threshold > 0.0))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("threshold must be finite and > 0, got {}", options.threshold)};
  if (!positive(options.smoothing))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("smoothing must be finite and > 0, got {}", *options.smoothing)};
  if (!positive(options.logit_max))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("logit_max must be finite and > 0, got {}", *options.logit_max)};
  if (options.smoothing && !made.kinked())
    return Error{ErrorCode::InvalidArgument, fmt::format("smoothing: the {} loss is smooth already", to_string(loss))};
  if (options.logit_max && loss != Loss::Logistic)
    return Error{ErrorCode::InvalidArgument, fmt::format("logit_max: the {} loss has no logit", to_string(loss))};
  return made;
}

Result<LinearLoss> LinearLoss::smoothed(double smoothing) const {
  Options options = options_;
  options.smoothing = smoothing;
  return create(loss_, options);
}

double LinearLoss::prediction(double score) const noexcept {
  return loss_ == Loss::Poisson ? 2.0 * log_mean(score) - 1.0 : score;
}

double LinearLoss::middle_score() const noexcept { return loss_ == Loss::Poisson ? std::log(0.5) : 0.0; }

double LinearLoss::value(double score, double target) const {
  const double off = score - target;
  switch (loss_) {
    case Loss::Logistic: {
      const double most = options_.logit_max.value_or(INFINITY);
      return softplus(-target * std::clamp(score, -most, most));
    }
    case Loss::LeastSquares:
      return 0.5 * off * off;
    case Loss::Hinge:
      return std::max(0.0, 1.0 - target * score);
    case Loss::Absolute:
      return std::abs(off);
    case Loss::Quantile:
      return std::max(-options_.level * off, (1.0 - options_.level) * off);
    case Loss::Huber:
      return std::abs(off) <= options_.threshold ? 0.5 * off * off
                                                 : options_.threshold * (std::abs(off) - 0.5 * options_.threshold);
    case Loss::Poisson:
      return (score <= 0.0 ? std::exp(score) : 1.0 + score) - share_of(target) * score;
  }
  UNDERTONE_CHECK(false);
}

double LinearLoss::derivative(double score, double target, double norm_squared) const {
  const double off = score - target;
  // Of the envelope: the proximal point's subgradient, found by clamping; a record without features moves nothing.
  const auto smoothed = [&](double distance, double low, double high) {
    return norm_squared > 0.0 ? std::clamp(*options_.smoothing * distance / norm_squared, low, high) : 0.0;
  };
  switch (loss_) {
    case Loss::Logistic: {
      std::array<double, 2> slopes = {score, score};
      const std::array<double, 2> targets = {target, target};
      logistic_slopes<2>(slopes.data(), targets.data(), options_.logit_max.value_or(INFINITY));
      return slopes[0];
    }
    case Loss::LeastSquares:
      return off;
    case Loss::Hinge: {
      const double margin = 1.0 - target * score;
      if (options_.smoothing) return -target * smoothed(margin, 0.0, 1.0);
      return margin > 0.0 ? -target : 0.0;
    }
    case Loss::Absolute:
      if (options_.smoothing) return smoothed(off, -1.0, 1.0);
      return off > 0.0 ? 1.0 : off < 0.0 ? -1.0 : 0.0;
    case Loss::Quantile:
      if (options_.smoothing) return smoothed(off, -options_.level, 1.0 - options_.level);
      return off > 0.0 ? 1.0 - options_.level : off < 0.0 ? -options_.level : 0.0;
    case Loss::Huber:
      return std::clamp(off, -options_.threshold, options_.threshold);
    case Loss::Poisson:
      return log_mean(score) - share_of(target);
  }
  UNDERTONE_CHECK(false);
}

void LinearLoss::derivatives(std::span<double> scores, std::span<const double> targets,
                             std::span<const double> norms_squared) const {
  UNDERTONE_CHECK(targets.size() == scores.size() && norms_squared.size() == scores.size());
  std::size_t done = 0;
  if (loss_ == Loss::Logistic) {
    const double most = options_.logit_max.value_or(INFINITY);
    for (; done + kAtOnce <= scores.size(); done += kAtOnce)
      logistic_slopes<kAtOnce>(&scores[done], &targets[done], most);
    for (; done + 2 <= scores.size(); done += 2) logistic_slopes<2>(&scores[done], &targets[done], most);
  }
  for (; done < scores.size(); ++done) scores[done] = derivative(scores[done], targets[done], norms_squared[done]);
}

std::optional<double> LinearLoss::lipschitz(double norm) const {
  switch (loss_) {
    case Loss::Logistic:
    case Loss::Hinge:
    case Loss::Absolute:
    case Loss::Poisson:
      return norm;
    case Loss::LeastSquares:
      return std::nullopt;
    case Loss::Quantile:
      return std::max(options_.level, 1.0 - options_.level) * norm;
    case Loss::Huber:
      return options_.threshold * norm;
  }
  UNDERTONE_CHECK(false);
}

std::optional<double> LinearLoss::smoothness(double norm) const {
  switch (loss_) {
    case Loss::Logistic:
      // A clipped logit bends where it begins to be clipped: its derivative is continuous and no steeper.
      return 0.25 * norm * norm;
    case Loss::LeastSquares:
    case Loss::Huber:
    case Loss::Poisson:
      return norm * norm;
    case Loss::Hinge:
    case Loss::Absolute:
    case Loss::Quantile:
      return options_.smoothing;
  }
  UNDERTONE_CHECK(false);
}

}  // namespace undertone::models
