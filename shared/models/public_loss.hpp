#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "shared/geometry/l2_ball.hpp"
#include "shared/models/linear_model.hpp"
#include "shared/models/public_gradients.hpp"

namespace undertone::models {

/// The point where a mean loss is least.
struct Minimiser {
  Eigen::VectorXd weights;  // [d]
};

/// A linear model's mean loss over records that need no protection. Who holds the records computes it exactly: nothing
/// here is private, and no silo is ever asked for it.
class PublicLoss final : public PublicGradientSource {
 public:
  /// All records together have at most so many numbers, which bounds the work on them.
  static constexpr std::int64_t kNumbersMax = std::int64_t{1} << 23;
  /// A problem of at most so many weights is solved exactly, by a matrix of them all.
  static constexpr Eigen::Index kExactMax = 512;

  /// @return an error where there is no record, the records have other features than the model, a number is not finite,
  /// there are more numbers than `kNumbersMax`, or the loss has a kink
  [[nodiscard]] static Result<PublicLoss> create(const LinearModel& model, Records records);

  [[nodiscard]] Eigen::Index records() const noexcept override { return records_.targets.size(); }
  [[nodiscard]] Eigen::Index dimension() const noexcept override { return model_.dimension(); }
  [[nodiscard]] const PublicLoss* linear() const noexcept override { return this; }
  [[nodiscard]] bool least_squares() const noexcept { return model_.loss() == Loss::LeastSquares; }

  /// The mean loss plus ridge/2 times the squared norm of the features' weights, not of the intercept.
  [[nodiscard]] double value(const Eigen::Ref<const Eigen::VectorXd>& weights, double ridge = 0.0) const;
  [[nodiscard]] Eigen::VectorXd mean_gradient(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                              PublicGradients gradients, double length) const override;
  [[nodiscard]] Eigen::VectorXd mean_difference(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                                const Eigen::Ref<const Eigen::VectorXd>& from,
                                                PublicGradients gradients, double length) const override;

  /// The minimiser of `value`: exactly for least squares of at most `kExactMax` weights, else by accelerated steps
  /// until they are short, or as many as a bound on the work allows.
  /// @param ridge >= 0
  /// @return an error where least squares have no one minimiser, with how many records and numbers there are
  [[nodiscard]] Result<Minimiser> minimiser(double ridge) const;
  /// One pass of stochastic gradient descent over the records in their order, each gradient clipped to `lipschitz`:
  /// without a ridge steps of D / (L sqrt n) and the mean of the iterates, with excess risk at most L D / sqrt n; with
  /// one steps of 2 / (mu (t + 1)) and iterates weighed by t, with at most 2 L^2 / (mu (n + 1)), mu the ridge. Source:
  /// spec public-data 5.1 (Theorems 23, 87).
  /// @param ball of radius D/2, around 0 @param lipschitz L > 0, of a record's gradient, the ridge's included
  [[nodiscard]] Eigen::VectorXd one_pass(const geometry::L2Ball& ball, double lipschitz, double ridge) const;
  /// Returns V^2, the trace of the covariance of a record's gradient, cross-fitted: the variance over every fifth
  /// record is measured at the minimiser of the other four fifths, and so on. Fewer than ten records make two parts. At
  /// the minimiser of the same records the variance would be too small, since these have been fitted. The parts take
  /// turns in the file's order, since a file may be sorted. Source: spec public-data 0.2.
  /// @param ridge of the minimisers, > 0 where a part is singular
  /// @return an error where there are fewer than four records, or a part has no minimiser
  [[nodiscard]] Result<double> cross_fitted_variance(PublicGradients gradients, double length, double ridge) const;

  /// H, the mean over the records of x x^T, x with a 1 for an intercept: [d, d]. Of least squares it is the second
  /// derivative.
  /// @pre there are at most `kExactMax` weights
  [[nodiscard]] Eigen::MatrixXd second_moments() const;

 private:
  PublicLoss(const LinearModel& model, Records records);
  /// The factors a_j of the gradients a_j (x_j, 1): [records].
  [[nodiscard]] Eigen::VectorXd factors(const Eigen::Ref<const Eigen::VectorXd>& weights) const;
  /// Scales them, so that each gradient has the length that it is to have.
  void treat(PublicGradients gradients, double length, Eigen::VectorXd& factors) const;
  /// The mean of factors times records: [d].
  [[nodiscard]] Eigen::VectorXd mean_of(const Eigen::VectorXd& factors) const;
  /// Returns the trace of the covariance at a point. @pre there are at least two records
  [[nodiscard]] double gradient_variance(const Eigen::Ref<const Eigen::VectorXd>& weights, PublicGradients gradients,
                                         double length) const;
  /// Returns the records of one fold of so many, or all others.
  [[nodiscard]] PublicLoss fold(Eigen::Index fold, Eigen::Index folds, bool others) const;
  [[nodiscard]] Result<Minimiser> least_squares_minimiser(double ridge) const;
  [[nodiscard]] Minimiser descended_minimiser(double ridge) const;
  LinearModel model_;
  Records records_;
  Eigen::VectorXd norms_squared_;  // of (x_j, 1): [records]
};

}  // namespace undertone::models
