#pragma once

#include <Eigen/Core>
#include <optional>
#include <string_view>

#include "shared/geometry/domain.hpp"
#include "shared/geometry/prox_update.hpp"

namespace undertone::geometry {

/// h(x) = s sum_j u_j ln u_j for x = s u of the simplex of scale s. The state is ln u, normalised to sum u = 1, so that
/// a weight that has underflowed comes back. 1/s-strongly convex in l1 (Pinsker); D_h = s KL. See MirrorMap for the
/// members.
/// Source: Asi, Feldman, Koren and Talwar 2021, Section 2.
class EntropyMap {
 public:
  /// @param scale in (0, kParameterMax] @param dimension d >= 1
  [[nodiscard]] static Result<EntropyMap> create(double scale, Eigen::Index dimension);

  [[nodiscard]] Eigen::Index dimension() const noexcept { return dimension_; }
  [[nodiscard]] Eigen::Index state_size() const noexcept { return dimension_; }
  /// The uniform weights 1/d.
  [[nodiscard]] Eigen::VectorXd start() const;
  [[nodiscard]] Status check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const;
  void step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
            Eigen::Ref<Eigen::VectorXd> state) const;
  void point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const;
  /// Up to a constant vector, which no step over a simplex sees.
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::Ref<const Eigen::VectorXd>& state) const { return state; }
  [[nodiscard]] double divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                                  const Eigen::Ref<const Eigen::VectorXd>& from) const;
  /// s ln d, at a vertex.
  [[nodiscard]] std::optional<double> divergence_max() const;
  [[nodiscard]] double strong_convexity() const noexcept { return 1.0 / scale_; }
  [[nodiscard]] std::optional<double> norm_exponent() const noexcept { return 1.0; }
  [[nodiscard]] std::optional<double> diameter() const noexcept { return dimension_ == 1 ? 0.0 : 2.0 * scale_; }
  [[nodiscard]] std::string_view name() const noexcept { return "the entropy over the simplex"; }

  [[nodiscard]] double scale() const noexcept { return scale_; }

 private:
  EntropyMap(double scale, Eigen::Index dimension) noexcept : scale_(scale), dimension_(dimension) {}
  double scale_;
  Eigen::Index dimension_;
};

/// The entropy over the 2d weights u of x = radius (u^+ - u^-) in the l1 ball: a linear image of the simplex, so that
/// the gradient of a weight is <+-radius e_j, g>. The state is ln u, u^+ first. What is said of distances and
/// divergences is said of the weights, scaled by the radius; in l1 the map to x does not expand them.
class LiftedEntropyMap {
 public:
  /// @param radius in (0, kParameterMax] @param dimension d >= 1
  [[nodiscard]] static Result<LiftedEntropyMap> create(double radius, Eigen::Index dimension);

  [[nodiscard]] Eigen::Index dimension() const noexcept { return weights_.dimension() / 2; }
  [[nodiscard]] Eigen::Index state_size() const noexcept { return weights_.dimension(); }
  /// The uniform weights: x = 0.
  [[nodiscard]] Eigen::VectorXd start() const { return weights_.start(); }
  [[nodiscard]] Status check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const {
    return weights_.check_state(state);
  }
  void step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
            Eigen::Ref<Eigen::VectorXd> state) const;
  void point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const;
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::Ref<const Eigen::VectorXd>& state) const { return state; }
  [[nodiscard]] double divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                                  const Eigen::Ref<const Eigen::VectorXd>& from) const {
    return weights_.divergence(to, from);
  }
  /// radius ln(2d).
  [[nodiscard]] std::optional<double> divergence_max() const { return weights_.divergence_max(); }
  [[nodiscard]] double strong_convexity() const noexcept { return weights_.strong_convexity(); }
  [[nodiscard]] std::optional<double> norm_exponent() const noexcept { return 1.0; }
  [[nodiscard]] std::optional<double> diameter() const noexcept { return weights_.diameter(); }
  [[nodiscard]] std::string_view name() const noexcept { return "the entropy over the l1 ball's weights"; }

  [[nodiscard]] double radius() const noexcept { return weights_.scale(); }

 private:
  explicit LiftedEntropyMap(const EntropyMap& weights) noexcept : weights_(weights) {}
  EntropyMap weights_;  // of the simplex in R^2d, its scale the radius
};

}  // namespace undertone::geometry
