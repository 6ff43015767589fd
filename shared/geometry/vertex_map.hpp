#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <string_view>

#include "shared/geometry/prox_update.hpp"
#include "shared/geometry/vertices.hpp"

namespace undertone::geometry {

/// The entropy of the k weights a of x = sum_i a_i v_i in a polytope of listed vertices: the gradient of a weight is
/// <v_i, g>. The state is ln a. What is said of distances and divergences is said of the weights: in the gauge of
/// conv(V and -V) the map to x does not expand them in l1. See MirrorMap for the members.
/// Source: Talwar, Thakurta, Zhang 2014, Fact 3.4, in the form of spec constraint-geometry 2.1 iv.
class VertexMap {
 public:
  explicit VertexMap(const Vertices& vertices);

  [[nodiscard]] Eigen::Index dimension() const noexcept { return columns_->rows(); }
  [[nodiscard]] Eigen::Index state_size() const noexcept { return columns_->cols(); }
  /// The uniform weights 1/k.
  [[nodiscard]] Eigen::VectorXd start() const;
  [[nodiscard]] Status check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const;
  void step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
            Eigen::Ref<Eigen::VectorXd> state) const;
  void point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const;
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::Ref<const Eigen::VectorXd>& state) const { return state; }
  [[nodiscard]] double divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                                  const Eigen::Ref<const Eigen::VectorXd>& from) const;
  /// ln k, at a vertex.
  [[nodiscard]] std::optional<double> divergence_max() const;
  [[nodiscard]] double strong_convexity() const noexcept { return 1.0; }
  [[nodiscard]] std::optional<double> norm_exponent() const noexcept { return std::nullopt; }
  [[nodiscard]] std::optional<double> diameter() const noexcept { return 2.0; }
  [[nodiscard]] std::string_view name() const noexcept { return "the entropy over the vertices' weights"; }

  /// max_i ||v_i - c||_2, c the mean of the vertices: a constant in the weights' gradient moves no step.
  [[nodiscard]] double radius() const;

 private:
  std::shared_ptr<const Eigen::MatrixXd> columns_;  // [d, k]
};

}  // namespace undertone::geometry
