#pragma once

#include <Eigen/Core>
#include <string_view>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/base/result.hpp"
#include "shared/models/layer.hpp"
#include "shared/models/metric_detail.hpp"

namespace undertone::models {

/// A layered classifier with the cross-entropy of its softmax, as a value: what it computes, without the scratch that
/// computing takes. @see LayeredModel
class Network {
 public:
  /// @return an error that names the layer that does not fit; see `lay_out`
  [[nodiscard]] static Result<Network> create(const NetworkShape& shape);

  [[nodiscard]] const NetworkShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const std::vector<Layer>& layers() const noexcept { return layers_; }
  [[nodiscard]] Eigen::Index features() const noexcept { return layers_.front().input.values(); }
  [[nodiscard]] Eigen::Index classes() const noexcept { return layers_.back().outputs; }
  [[nodiscard]] Eigen::Index dimension() const noexcept { return layers_.back().offset + layers_.back().weights(); }
  /// Numbers that a pass over one record holds: every layer's inputs, sums and outputs.
  [[nodiscard]] Eigen::Index values() const noexcept;
  /// Products of one pass over one record, forward: a gradient takes some three times as many.
  [[nodiscard]] double products() const noexcept;
  /// Softmax regression: no hidden layer, so the loss is convex and smooth.
  [[nodiscard]] bool is_linear() const noexcept { return layers_.size() == 1; }
  /// Whether its gradient is continuous: no rectifier and no pooling.
  [[nodiscard]] bool is_smooth() const noexcept;

  /// Uniform on +-sqrt(6 / inputs) before a rectifier, +-sqrt(3 / inputs) otherwise, which keeps the variance of what
  /// passes through; biases zero. @param weights [dimension] out
  /// Source: He et al. 2015, section 2.2; LeCun et al. 1998, section 4.6.
  void initialise(RandomSource& random, Eigen::Ref<Eigen::VectorXd> weights) const;

  /// The same network, evaluated in this detail.
  [[nodiscard]] Network evaluated(MetricDetail detail) const;
  /// What an evaluation adds up and the public factors it is divided by, as in LinearModel: loss (clipped at
  /// `loss_max`), accuracy. In detail, of each class how many records are said to be of each: a confusion table, row by
  /// row, of which a record is in one place. By groups, such a table of each group.
  [[nodiscard]] std::vector<std::string_view> metric_names() const { return {"loss", "accuracy"}; }
  [[nodiscard]] std::vector<double> metric_scales() const;
  [[nodiscard]] bool has_bins() const noexcept { return bins() > 0; }
  [[nodiscard]] const MetricDetail& detail() const noexcept { return detail_; }
  /// max(4, 2 ln classes)
  [[nodiscard]] double loss_max() const noexcept;

 private:
  Network(NetworkShape shape, std::vector<Layer> layers) : shape_(std::move(shape)), layers_(std::move(layers)) {}
  NetworkShape shape_;
  std::vector<Layer> layers_;
  [[nodiscard]] Eigen::Index bins() const noexcept;
  MetricDetail detail_ = {};
};

}  // namespace undertone::models
