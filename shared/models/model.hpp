#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/models/linear_model.hpp"
#include "shared/models/moments_model.hpp"
#include "shared/models/network.hpp"

namespace undertone::models {

/// What a job trains: a value that everybody can hold. How gradients are computed is the silo's business.
class Model {
 public:
  Model(const LinearModel& linear) : kind_(linear) {}    // NOLINT(google-explicit-constructor): it is one
  Model(Network network) : kind_(std::move(network)) {}  // NOLINT(google-explicit-constructor): it is one
  Model(MomentsModel moments) : kind_(moments) {}        // NOLINT(google-explicit-constructor): it is one

  [[nodiscard]] const LinearModel* linear() const noexcept { return std::get_if<LinearModel>(&kind_); }
  [[nodiscard]] const Network* network() const noexcept { return std::get_if<Network>(&kind_); }

  [[nodiscard]] const MomentsModel* moments() const noexcept { return std::get_if<MomentsModel>(&kind_); }

  /// What jobs, policies and results call it: a loss's name, "softmax", "network" or "moments".
  [[nodiscard]] std::string_view name() const noexcept;
  [[nodiscard]] Eigen::Index features() const noexcept;
  [[nodiscard]] Eigen::Index dimension() const noexcept;
  /// How many coordinates a regulariser reads, from the first: all but a linear model's intercept.
  [[nodiscard]] Eigen::Index regularised() const noexcept;
  /// Whether the target is a class.
  [[nodiscard]] bool classifies() const noexcept;
  /// Whether the loss's gradient is continuous in the weights.
  [[nodiscard]] bool is_smooth() const noexcept;
  [[nodiscard]] bool is_convex() const noexcept { return network() == nullptr || network()->is_linear(); }

  /// L, a bound on the norm of a record's gradient at any weights; beta, one on that gradient's own Lipschitz constant.
  struct Constants {
    std::optional<double> lipschitz;
    std::optional<double> smoothness;
  };
  /// Of records whose features, with a 1 where there is an intercept, have at most this norm. Nothing where no such
  /// constant is known: of networks with hidden layers, of moments.
  /// Source: of softmax regression, the Hessian of ln sum exp is at most 1/2, its gradient at most sqrt 2 long.
  [[nodiscard]] Constants constants(double record_norm) const;

  /// Products of one pass over one record.
  [[nodiscard]] double products() const noexcept;

  /// Where training starts: zero for a convex model, random for a network. @param seed public
  [[nodiscard]] Eigen::VectorXd start(std::uint64_t seed) const;

  /// The same model, evaluated in this detail; moments know one detail alone.
  [[nodiscard]] Model evaluated(MetricDetail detail) const;
  [[nodiscard]] MetricDetail detail() const noexcept;
  /// What an evaluation adds up, in order, and the public factor that each was divided by to lie in [0, 1]. Those that
  /// have names come first, and are less 1/2 in a record's vector; of the others, bins, a record is in one at most.
  [[nodiscard]] std::vector<std::string_view> metric_names() const;
  [[nodiscard]] std::vector<double> metric_scales() const;
  /// What a record's vector of metrics is at most as long as, in l2: sqrt(named / 4 + [there are bins]).
  [[nodiscard]] double metric_norm() const;

 private:
  std::variant<LinearModel, Network, MomentsModel> kind_;
};

}  // namespace undertone::models
