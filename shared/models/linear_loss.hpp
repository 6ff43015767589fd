#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::models {

enum class Loss : std::uint8_t { Logistic, LeastSquares, Hinge, Absolute, Quantile, Huber, Poisson };

[[nodiscard]] std::string_view to_string(Loss loss) noexcept;

/// A loss phi(z, y) of the score z = <w, x> of a record (x, y), y in {-1, 1} for logistic and hinge, else any number:
///   logistic      ln(1 + exp(-y z)), with z clipped to [-logit_max, logit_max] where that is given
///   least squares (z - y)^2 / 2
///   hinge         max(0, 1 - y z)
///   absolute      |z - y|
///   quantile      max(level (y - z), (1 - level) (z - y))
///   Huber         (z - y)^2 / 2 where |z - y| <= threshold, else threshold (|z - y| - threshold / 2)
///   Poisson       F(z) - u z, with u = (y + 1) / 2 cut to [0, 1], and F(z) = exp(z) where z <= 0, else 1 + z
///
/// Of the Poisson loss a label of [0, Y] is scaled to [-1, 1], u is its share of Y, and its mean is Y min(exp(z), 1).
/// Hinge, absolute and quantile have a kink; with `smoothing` beta the Moreau envelope over R^d stands for them,
/// min_v phi(<v, x>, y) + beta/2 ||w - v||^2, which is beta-smooth, at most L^2 / (2 beta) below them, and as
/// Lipschitz. Source: federated-core 3.1.
class LinearLoss {
 public:
  struct Options {
    double level = 0.5;               // of Quantile, in (0, 1)
    double threshold = 1.0;           // of Huber, > 0
    std::optional<double> smoothing;  // beta, of Hinge, Absolute and Quantile alone
    std::optional<double> logit_max;  // of Logistic alone
  };
  [[nodiscard]] static Result<LinearLoss> create(Loss loss, const Options& options);
  /// Without options. @param loss Logistic or LeastSquares, or another that needs none
  explicit LinearLoss(Loss loss) : loss_(loss) {}

  /// The same loss with the envelope of this smoothness for it. @return an error where it has no kink
  [[nodiscard]] Result<LinearLoss> smoothed(double smoothing) const;

  [[nodiscard]] Loss kind() const noexcept { return loss_; }
  [[nodiscard]] const std::optional<double>& logit_max() const noexcept { return options_.logit_max; }
  /// Whether the target is a class, -1 or 1.
  [[nodiscard]] bool classifies() const noexcept { return loss_ == Loss::Logistic || loss_ == Loss::Hinge; }
  /// Whether its gradient is Lipschitz: every one but a kinked loss that is not smoothed.
  [[nodiscard]] bool is_smooth() const noexcept { return !kinked() || options_.smoothing.has_value(); }

  /// What a score says of a target that is a number, in the target's scale: the score itself, or by the Poisson loss
  /// 2 min(exp(z), 1) - 1.
  [[nodiscard]] double prediction(double score) const noexcept;
  /// The score that says the middle of a target's range [-1, 1] where it is a number.
  [[nodiscard]] double middle_score() const noexcept;
  /// phi itself, whatever stands for it in the gradient.
  [[nodiscard]] double value(double score, double target) const;
  /// The factor theta of the gradient theta x. @param norm_squared ||x||^2; looked at by smoothed losses alone
  [[nodiscard]] double derivative(double score, double target, double norm_squared) const;
  /// The same numbers for several records. @param scores [records], whose place the factors take
  /// @param norms_squared [records]
  void derivatives(std::span<double> scores, std::span<const double> targets,
                   std::span<const double> norms_squared) const;

  /// L, a bound on the gradient's norm for records of norm at most this; nothing for least squares on all of R^d.
  [[nodiscard]] std::optional<double> lipschitz(double norm) const;
  /// beta, a bound on the Lipschitz constant of the gradient for such records; nothing where there is none.
  [[nodiscard]] std::optional<double> smoothness(double norm) const;

 private:
  LinearLoss(Loss loss, const Options& options) : loss_(loss), options_(options) {}
  [[nodiscard]] bool kinked() const noexcept {
    return loss_ == Loss::Hinge || loss_ == Loss::Absolute || loss_ == Loss::Quantile;
  }
  Loss loss_;
  Options options_ = {};
};

}  // namespace undertone::models
