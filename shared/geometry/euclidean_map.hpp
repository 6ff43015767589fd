#pragma once

#include <Eigen/Core>
#include <optional>
#include <string_view>

#include "shared/geometry/domain.hpp"
#include "shared/geometry/prox_update.hpp"

namespace undertone::geometry {

/// h(x) = 1/2 ||x||_2^2 over a domain with an exact Euclidean projection: mirror descent is projected gradient descent.
/// The state is the point. See MirrorMap for the members.
class EuclideanMap {
 public:
  /// @param dimension d >= 1
  EuclideanMap(const Domain& domain, Eigen::Index dimension) : domain_(domain), dimension_(dimension) {}

  [[nodiscard]] Eigen::Index dimension() const noexcept { return dimension_; }
  [[nodiscard]] Eigen::Index state_size() const noexcept { return dimension_; }
  [[nodiscard]] Eigen::VectorXd start() const { return domain_.a_point(dimension_); }
  [[nodiscard]] Status check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const;
  void step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
            Eigen::Ref<Eigen::VectorXd> state) const;
  void point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const { out = state; }
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::Ref<const Eigen::VectorXd>& state) const { return state; }
  [[nodiscard]] double divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                                  const Eigen::Ref<const Eigen::VectorXd>& from) const {
    return 0.5 * (to - from).squaredNorm();
  }
  /// D^2/2 with the l2 diameter D.
  [[nodiscard]] std::optional<double> divergence_max() const;
  [[nodiscard]] double strong_convexity() const noexcept { return 1.0; }
  [[nodiscard]] std::optional<double> norm_exponent() const noexcept { return 2.0; }
  [[nodiscard]] std::optional<double> diameter() const { return domain_.diameter(dimension_); }
  [[nodiscard]] std::string_view name() const noexcept { return "the Euclidean potential"; }

  [[nodiscard]] const Domain& domain() const noexcept { return domain_; }

 private:
  Domain domain_;
  Eigen::Index dimension_;
};

}  // namespace undertone::geometry
