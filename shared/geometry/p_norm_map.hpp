#pragma once

#include <Eigen/Core>
#include <optional>
#include <string_view>
#include <variant>

#include "shared/geometry/domain.hpp"
#include "shared/geometry/prox_update.hpp"

namespace undertone::geometry {

/// {x : ||x||_p <= radius} with the p of the potential over it.
struct SameNormBall {
  double radius;
};

/// h(x) = ||x||_p^2 / (2 (p - 1)) over a set around 0, 1 < p <= 2: 1-strongly convex in l_p. The state is the dual
/// image ||.||_p^(2-p) sign(x) |x|^(p-1) of x, so that a step raises every coordinate to one power. See MirrorMap for
/// the members. Source: Asi, Feldman, Koren and Talwar 2021, Theorem 13; Beck and Teboulle 2003 for the l1 setup.
class PNormMap {
 public:
  using Set = std::variant<WholeSpace, SameNormBall, L1Ball, Simplex>;

  /// Of the setup of l_p. p counts from 1 on: below 1 + 1/max(1, log2 d) that exponent takes its place, in whose norm
  /// l_p is at most doubled.
  /// @param norm_exponent in [1, 2] @param dimension d >= 1 @param set its radius or scale in (0, kParameterMax]
  [[nodiscard]] static Result<PNormMap> create(double norm_exponent, const Set& set, Eigen::Index dimension);
  /// Of the setup of l_p with a potential of another power, which is taken as it is: the one that matches a noise.
  /// @param norm_exponent p in [1, 2] @param power in (1, 2], at least p @param dimension d >= 1 @param set as above
  [[nodiscard]] static Result<PNormMap> of_power(double norm_exponent, double power, const Set& set,
                                                 Eigen::Index dimension);

  [[nodiscard]] Eigen::Index dimension() const noexcept { return dimension_; }
  [[nodiscard]] Eigen::Index state_size() const noexcept { return dimension_; }
  /// 0; the centre of the simplex.
  [[nodiscard]] Eigen::VectorXd start() const;
  [[nodiscard]] Status check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const;
  void step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
            Eigen::Ref<Eigen::VectorXd> state) const;
  void point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const;
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::Ref<const Eigen::VectorXd>& state) const;
  [[nodiscard]] double divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                                  const Eigen::Ref<const Eigen::VectorXd>& from) const;
  /// r^2/(2 (p - 1)) with the largest l_p norm r of the set; over the simplex, less the least value of h.
  [[nodiscard]] std::optional<double> divergence_max() const;
  /// 1 in l_p of the potential; of an l_r with r < p, d^(-2 (1/r - 1/p)).
  [[nodiscard]] double strong_convexity() const noexcept;
  /// r of the setup, as it was given.
  [[nodiscard]] std::optional<double> norm_exponent() const noexcept { return norm_exponent_; }
  [[nodiscard]] std::optional<double> diameter() const;
  [[nodiscard]] std::string_view name() const;

  /// p of the potential, in (1, 2].
  [[nodiscard]] double power() const noexcept { return power_; }
  [[nodiscard]] const Set& set() const noexcept { return set_; }

 private:
  PNormMap(double norm_exponent, double power, const Set& set, Eigen::Index dimension) noexcept
      : norm_exponent_(norm_exponent), power_(power), set_(set), dimension_(dimension) {}
  double norm_exponent_;
  double power_;
  Set set_;
  Eigen::Index dimension_;
};

}  // namespace undertone::geometry
