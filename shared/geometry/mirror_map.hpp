#pragma once

#include <Eigen/Core>
#include <concepts>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "shared/base/result.hpp"
#include "shared/geometry/entropy_map.hpp"
#include "shared/geometry/euclidean_map.hpp"
#include "shared/geometry/group_map.hpp"
#include "shared/geometry/nuclear_map.hpp"
#include "shared/geometry/p_norm_map.hpp"
#include "shared/geometry/prox_update.hpp"
#include "shared/geometry/vertex_map.hpp"

namespace undertone::geometry {

/// What a mirror map is: a potential h over a convex set X of R^d with an exact Bregman proximal step. A further one is
/// a type of its own file with these members, and an alternative of MirrorMap::Kind.
///
/// Where a run stands is a state, not a point: m numbers that carry the dual image of the point (the logarithms of
/// weights that have underflowed, the weights of a lifted point). It is what an algorithm keeps and saves.
template <class Map>
concept ProxMap = requires(const Map& map, Eigen::Ref<Eigen::VectorXd> out, const Eigen::VectorXd& in,
                           const ProxUpdate& update) {
  { map.dimension() } -> std::same_as<Eigen::Index>;
  { map.state_size() } -> std::same_as<Eigen::Index>;
  { map.start() } -> std::same_as<Eigen::VectorXd>;
  { map.check_state(in) } -> std::same_as<Status>;
  map.step(in, update, out);
  map.point(in, out);
  { map.gradient(in) } -> std::same_as<Eigen::VectorXd>;
  { map.divergence(in, in) } -> std::same_as<double>;
  { map.divergence_max() } -> std::same_as<std::optional<double>>;
  { map.strong_convexity() } -> std::same_as<double>;
  { map.norm_exponent() } -> std::same_as<std::optional<double>>;
  { map.diameter() } -> std::same_as<std::optional<double>>;
  { map.name() } -> std::same_as<std::string_view>;
};

/// A potential h with a set X, and its steps. A value; every number of it is public.
class MirrorMap {
 public:
  using Kind = std::variant<EuclideanMap, PNormMap, EntropyMap, LiftedEntropyMap, GroupMap, NuclearMap, VertexMap>;

  template <ProxMap Map>
  explicit MirrorMap(Map map) : kind_(std::move(map)) {}

  /// d >= 1, the length of points and of gradients.
  [[nodiscard]] Eigen::Index dimension() const;
  /// m, the length of a state.
  [[nodiscard]] Eigen::Index state_size() const;

  /// The state of argmin over X of h, [m]: where mirror descent starts.
  [[nodiscard]] Eigen::VectorXd start() const;
  /// An error for what no run can have as its state: another length, a number that is not finite.
  [[nodiscard]] Status check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const;

  /// In place, the state of the proximal step from x, the point of `state`:
  ///   argmin over y in X of h(y) - <keep grad h(x) - step_size gradient, y>,
  /// which for keep = 1 is argmin over y in X of step_size <gradient, y> + D_h(y, x).
  /// @param gradient [d], finite; checked @param state [m]
  void step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
            Eigen::Ref<Eigen::VectorXd> state) const;

  /// The point of X that a state stands for. @param state [m] @param out [d], overwritten
  void point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const;
  [[nodiscard]] Eigen::VectorXd point(const Eigen::Ref<const Eigen::VectorXd>& state) const;

  /// grad h at the point of a state, [d]; of a lifted map and of other maps over weights, of length m.
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::Ref<const Eigen::VectorXd>& state) const;
  /// D_h(to, from) = h(to) - h(from) - <grad h(from), to - from> >= 0. @param to, from states, [m]
  [[nodiscard]] double divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                                  const Eigen::Ref<const Eigen::VectorXd>& from) const;
  /// At least max over x in X of D_h(x, start()); nothing where X is not bounded.
  [[nodiscard]] std::optional<double> divergence_max() const;

  /// mu > 0 with D_h(x, y) >= mu/2 ||x - y||^2 on X, in the norm of norm_exponent().
  [[nodiscard]] double strong_convexity() const;
  /// p in [1, 2] of the norm l_p in which h is strongly convex; nothing where it is the gauge of the set.
  [[nodiscard]] std::optional<double> norm_exponent() const;
  /// At least max over x, y in X of ||x - y||, in that norm; nothing where X is not bounded.
  [[nodiscard]] std::optional<double> diameter() const;

  /// For a message: "the p-norm potential over the l1 ball".
  [[nodiscard]] std::string_view name() const;

  [[nodiscard]] const Kind& kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

}  // namespace undertone::geometry
