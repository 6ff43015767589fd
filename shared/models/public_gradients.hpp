#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/models/layered_model.hpp"

namespace undertone::models {

/// This says how the gradients of public records enter their mean.
enum class PublicGradients : std::uint8_t {
  Raw = 1,  // as they are
  Clipped,  // each to an l2 norm, as the protected ones are
  Rescaled  // each to exactly that norm; a gradient of 0 stays 0. Source: spec public-data 5.2 (A.4.1.3)
};

class PublicLoss;

/// Records that need no protection, as an optimiser asks about them. Who holds them computes their mean gradients
/// exactly: nothing here is private, and no silo is ever asked for it. One object may be asked by several threads.
class PublicGradientSource {
 public:
  PublicGradientSource() = default;
  PublicGradientSource(const PublicGradientSource&) = default;
  PublicGradientSource& operator=(const PublicGradientSource&) = default;
  PublicGradientSource(PublicGradientSource&&) = default;
  PublicGradientSource& operator=(PublicGradientSource&&) = default;
  virtual ~PublicGradientSource() = default;

  [[nodiscard]] virtual Eigen::Index records() const noexcept = 0;
  [[nodiscard]] virtual Eigen::Index dimension() const noexcept = 0;  // d, of the model
  /// The mean over the records of their gradients: [d]. A gradient that is not finite counts as 0.
  /// @param length of a clipped or a rescaled gradient
  [[nodiscard]] virtual Eigen::VectorXd mean_gradient(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                                      PublicGradients gradients, double length) const = 0;
  /// Does the same for a record's gradient at one point less that at another. Rescaled means clipped here, since a
  /// difference that vanishes must not be made long.
  [[nodiscard]] virtual Eigen::VectorXd mean_difference(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                                        const Eigen::Ref<const Eigen::VectorXd>& from,
                                                        PublicGradients gradients, double length) const = 0;
  /// The loss of a linear model, of which more is known; null of others.
  [[nodiscard]] virtual const PublicLoss* linear() const noexcept { return nullptr; }
};

/// The same of a network, or of a softmax regression, which is one without hidden layers.
class PublicNetworkGradients final : public PublicGradientSource {
 public:
  /// Records times what one of them takes, which bounds a mean gradient: some seconds.
  static constexpr double kProductsMax = 0x1p32;
  /// How many records of such a network there may be.
  [[nodiscard]] static std::int64_t records_max(const Network& network);

  /// @return an error where there is no record, the records have other features than the network, a number is not
  /// finite, a target is no class, or there are more records than `records_max`
  [[nodiscard]] static Result<PublicNetworkGradients> create(const Network& network, Records records);

  [[nodiscard]] Eigen::Index records() const noexcept override { return records_.targets.size(); }
  [[nodiscard]] Eigen::Index dimension() const noexcept override;
  [[nodiscard]] Eigen::VectorXd mean_gradient(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                              PublicGradients gradients, double length) const override;
  [[nodiscard]] Eigen::VectorXd mean_difference(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                                const Eigen::Ref<const Eigen::VectorXd>& from,
                                                PublicGradients gradients, double length) const override;

 private:
  struct Working {
    explicit Working(const Network& network) : model(network) {}
    std::mutex one_at_a_time;
    LayeredModel model;  // with its scratch
  };
  PublicNetworkGradients(const Network& network, Records records);
  std::shared_ptr<Working> working_;
  Records records_;
  std::vector<std::int64_t> all_;  // positions
};

}  // namespace undertone::models
