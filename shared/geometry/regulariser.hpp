#pragma once

#include <Eigen/Core>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::geometry {

/// A public convex function of the model, with u the first `regularised` coordinates of w (intercepts come last):
///   g(w) = l1 ||u||_1 + l2/2 ||u||_2^2 + group sum_G sqrt(group_size) ||u_G||_2,
/// the groups G consecutive. Strengths are in (0, kParameterMax]; one that is not named is 0.
class Regulariser {
 public:
  [[nodiscard]] static Regulariser none() { return Regulariser(); }
  /// @param regularised >= 1
  [[nodiscard]] static Result<Regulariser> l1(double strength, Eigen::Index regularised);
  [[nodiscard]] static Result<Regulariser> squared_l2(double strength, Eigen::Index regularised);
  [[nodiscard]] static Result<Regulariser> elastic_net(double l1_strength, double l2_strength,
                                                       Eigen::Index regularised);
  /// @param group_size >= 1, divides `regularised`. Groups of one are the l1 norm, and become it.
  /// Source: Yuan and Lin 2006, with their weight sqrt(group_size).
  [[nodiscard]] static Result<Regulariser> group_lasso(double strength, Eigen::Index group_size,
                                                       Eigen::Index regularised);

  /// g(w). @param w [d], d >= regularised
  [[nodiscard]] double value(const Eigen::Ref<const Eigen::VectorXd>& w) const;
  /// Adds the gradient of the l2 part at w. An algorithm that does must leave that part out of its proximal step:
  /// see `without_l2`. @param gradient [d], like w
  void add_smooth_gradient(const Eigen::Ref<const Eigen::VectorXd>& w, Eigen::Ref<Eigen::VectorXd> gradient) const;
  [[nodiscard]] Regulariser without_l2() const;

  [[nodiscard]] bool is_none() const noexcept { return is_smooth() && l2_ == 0.0; }
  /// Whether the l2 part, if any, is all of g.
  [[nodiscard]] bool is_smooth() const noexcept { return l1_ == 0.0 && group_ == 0.0; }
  /// Of g on R^d with respect to the l2 norm: 0 as soon as one coordinate is not regularised.
  [[nodiscard]] double strong_convexity(Eigen::Index d) const noexcept { return regularised_ == d ? l2_ : 0.0; }

  /// In place, argmin over R^d of step_size g(y) + 1/2 ||y - w||^2. @param step_size in (0, kParameterMax], checked
  void prox(double step_size, Eigen::Ref<Eigen::VectorXd> w) const;

  [[nodiscard]] double l1() const noexcept { return l1_; }
  [[nodiscard]] double l2() const noexcept { return l2_; }
  [[nodiscard]] double group() const noexcept { return group_; }
  [[nodiscard]] Eigen::Index group_size() const noexcept { return group_size_; }
  [[nodiscard]] Eigen::Index regularised() const noexcept { return regularised_; }
  /// For a message: "the group lasso".
  [[nodiscard]] std::string_view name() const noexcept;

 private:
  Regulariser() = default;
  double l1_ = 0.0;
  double l2_ = 0.0;
  double group_ = 0.0;
  Eigen::Index group_size_ = 1;
  Eigen::Index regularised_ = 0;
};

}  // namespace undertone::geometry
