#pragma once

#include <vector>

#include "shared/models/network.hpp"
#include "silo/oracles/record_sums.hpp"

namespace undertone {

/// Weights under which a record's last layer turns its sign with the order in which its first layer is added up, and
/// records to go with them: 2^60 + 60 - 2^60 - 30 is -30 from the left, 30 where the large ones meet first.
struct CancellingNetwork {
  models::Network network;
  Eigen::VectorXd weights;

  static CancellingNetwork make(Eigen::Index features, Eigen::Index width) {
    using models::Activation;
    using models::DenseShape;
    const models::Network network =
        models::Network::create(
            {{1, 1, features}, {DenseShape{2, Activation::Tanh}, DenseShape{width, Activation::Tanh}}, 2})
            .value();
    Eigen::VectorXd weights = Eigen::VectorXd::Zero(network.dimension());
    const auto matrix = [&](std::size_t l) {
      const models::Layer& layer = network.layers()[l];
      return Eigen::Map<Eigen::MatrixXd>(weights.data() + layer.offset, layer.outputs, layer.patch + 1);
    };
    matrix(0).col(0).setConstant(0x1p60);
    matrix(0).col(1).setConstant(60.0);
    matrix(0).col(2).setConstant(-0x1p60);
    matrix(0).col(features).setConstant(-30.0);
    matrix(1).col(0).setConstant(30.0);
    return {network, weights};
  }
};

/// What a sum was before records' arithmetic was their own: all but the last `count mod 4` records go through the first
/// layer's columns in another order (its second and third are swapped, and so are these features), which is the same
/// real function.
class PlacedSums final : public silo::RecordSums {
 public:
  PlacedSums(const models::Network& network, const models::Records& block)
      : network_(network), sums_(silo::make_record_sums(network)), swapped_(block) {
    swapped_.features.row(1).swap(swapped_.features.row(2));
  }

  [[nodiscard]] bool adds_integers() const noexcept override { return false; }

  void gradients(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
                 std::span<std::int64_t> sum) override {
    const std::size_t late = drawn.positions.size() % 4;
    const std::size_t early = drawn.positions.size() - late;
    sums_->gradients(point, lattice, {drawn.block, drawn.positions.last(late)}, sum);
    Eigen::VectorXd other = point;
    const models::Layer& layer = network_.layers().front();
    Eigen::Map<Eigen::MatrixXd> matrix(other.data() + layer.offset, layer.outputs, layer.patch + 1);
    matrix.col(1).swap(matrix.col(2));
    std::vector<std::int64_t> rest(sum.size());
    sums_->gradients(other, lattice, {swapped_, drawn.positions.first(early)}, rest);
    // What the first layer contributes belongs to the columns swapped back: units that saturate leave nothing there.
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += rest[j];
  }
  void clamped_gradients(const Eigen::VectorXd& /*point*/, const mechanisms::ClampLattice& /*lattice*/,
                         const Drawn& /*drawn*/, std::span<std::int64_t> /*sum*/) override {
    UNDERTONE_CHECK(false);
  }
  void differences(const PointPair& /*points*/, const mechanisms::Lattice& /*lattice*/, const Drawn& /*drawn*/,
                   std::span<std::int64_t> /*sum*/) override {
    UNDERTONE_CHECK(false);
  }
  void metrics(const Eigen::VectorXd& /*point*/, const mechanisms::Lattice& /*lattice*/, const Drawn& /*drawn*/,
               std::span<std::int64_t> /*sum*/) override {
    UNDERTONE_CHECK(false);
  }

 private:
  models::Network network_;
  std::unique_ptr<silo::RecordSums> sums_;
  models::Records swapped_;
};

}  // namespace undertone
