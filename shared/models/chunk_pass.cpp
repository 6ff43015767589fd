#include "shared/models/chunk_pass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "shared/base/ordered_product.hpp"
#include "shared/models/elementary.hpp"

namespace undertone::models {
namespace {

/// @param values of one record
void activate(Activation activation, std::span<double> values) {
  switch (activation) {
    case Activation::Identity:
      return;
    case Activation::Relu:
      for (double& value : values) value = value < 0.0 ? 0.0 : value;  // this way round, NaN stays NaN
      return;
    case Activation::Tanh:
      hyperbolic_tangents(values);
      return;
  }
}

/// errors *= the activation's derivative where it gave `values`
void differentiate(Activation activation, const Eigen::Ref<const Eigen::MatrixXd>& values,
                   Eigen::Ref<Eigen::MatrixXd> errors) {
  switch (activation) {
    case Activation::Identity:
      return;
    case Activation::Relu:
      errors = (values.array() > 0.0).select(errors, 0.0);
      return;
    case Activation::Tanh:
      errors.array() *= 1.0 - values.array().square();
      return;
  }
}

/// The first of the four sums that one pooled pixel is the largest of, channels together.
const double* corner(const Layer& layer, const double* sums, Eigen::Index row, Eigen::Index column) {
  return sums + (2 * row * layer.columns + 2 * column) * layer.outputs;
}

void pool(const Layer& layer, const double* sums, double* out, std::uint8_t* winners) {
  const Eigen::Index right = layer.outputs;
  const Eigen::Index below = layer.columns * layer.outputs;
  for (Eigen::Index row = 0; row < layer.output.height; ++row) {
    for (Eigen::Index column = 0; column < layer.output.width; ++column) {
      const double* first = corner(layer, sums, row, column);
      for (Eigen::Index c = 0; c < layer.outputs; ++c, ++first) {
        const double top = std::max(first[0], first[right]);
        const double bottom = std::max(first[below], first[below + right]);
        const int of_top = first[0] < first[right] ? 1 : 0;
        const int of_bottom = first[below] < first[below + right] ? 3 : 2;
        *out++ = std::max(top, bottom);
        *winners++ = static_cast<std::uint8_t>(top < bottom ? of_bottom : of_top);
      }
    }
  }
}

/// Gives a pooled value's error to the sum that was the largest. @param errors of the sums, zero before
void unpool(const Layer& layer, const double* pooled, const std::uint8_t* winners, double* errors) {
  const Eigen::Index right = layer.outputs;
  const Eigen::Index below = layer.columns * layer.outputs;
  const Eigen::Index steps[] = {0, right, below, below + right};
  for (Eigen::Index row = 0; row < layer.output.height; ++row) {
    for (Eigen::Index column = 0; column < layer.output.width; ++column) {
      const Eigen::Index first = corner(layer, errors, row, column) - errors;
      for (Eigen::Index c = 0; c < layer.outputs; ++c) errors[first + c + steps[*winners++]] = *pooled++;
    }
  }
}

}  // namespace

Eigen::Index class_of(double target, Eigen::Index classes) noexcept {
  if (!(target >= 0.0 && target < static_cast<double>(classes) && target == std::floor(target))) return -1;
  return static_cast<Eigen::Index>(target);
}

ChunkPass::ChunkPass(const std::vector<Layer>& layers, Eigen::Index chunk, VectorUnits units) : vector_units_(units) {
  Eigen::Index sums_max = 0;
  Eigen::Index pooled_max = 0;
  for (const Layer& layer : layers) {
    const bool pooled = layer.pooled;
    factors_.inputs.emplace_back(layer.input.values() + 1, chunk);
    factors_.errors.emplace_back(layer.sums(), chunk);
    winners_.emplace_back(pooled ? layer.output.values() : 0, chunk);
    patches_.emplace_back(layer.dense() ? 0 : layer.patch + 1, layer.dense() ? 0 : layer.tile);
    if (pooled) sums_max = std::max(sums_max, layer.sums());
    if (pooled) pooled_max = std::max(pooled_max, layer.output.values());
  }
  sums_.resize(sums_max);
  back_.resize(pooled_max, chunk);
}

std::int64_t ChunkPass::scratch_bytes() const noexcept {
  Eigen::Index numbers = sums_.size() + back_.size();
  Eigen::Index bytes = 0;
  for (std::size_t l = 0; l < patches_.size(); ++l) {
    numbers += factors_.inputs[l].size() + factors_.errors[l].size() + patches_[l].size();
    bytes += winners_[l].size();
  }
  return bytes + numbers * static_cast<std::int64_t>(sizeof(double));
}

void ChunkPass::convolve(std::size_t l, const Layer& layer, const Eigen::Map<const Eigen::MatrixXd>& matrix,
                         Eigen::Index i) {
  double* out = factors_.inputs[l + 1].col(i).data();
  Eigen::Map<Eigen::MatrixXd> sums(layer.pooled ? sums_.data() : out, layer.outputs, layer.positions());
  for (Eigen::Index from = 0; from < layer.positions(); from += layer.tile) {
    const Eigen::Index count = std::min(layer.tile, layer.positions() - from);
    unfold(layer, factors_.inputs[l].col(i).data(), 1.0, from, count, patches_[l]);
    auto tile = sums.middleCols(from, count);
    ordered_product(MatrixView(matrix), MatrixView(patches_[l].leftCols(count)), MatrixTarget(tile), vector_units_);
  }
  if (layer.pooled) pool(layer, sums_.data(), out, winners_[l].col(i).data());
}

void ChunkPass::forward(const std::vector<Layer>& layers, const Eigen::Ref<const Eigen::VectorXd>& weights,
                        const Records& records, std::span<const std::int64_t> drawn) {
  const auto count = static_cast<Eigen::Index>(drawn.size());
  for (Eigen::MatrixXd& inputs : factors_.inputs) inputs.bottomRows(1).setOnes();
  for (Eigen::Index i = 0; i < count; ++i) {
    factors_.inputs.front().col(i).head(records.features.rows()) =
        records.features.col(drawn[static_cast<std::size_t>(i)]);
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = layers[l];
    const Eigen::Map<const Eigen::MatrixXd> matrix = layer.matrix(weights);
    const Eigen::MatrixXd& inputs = factors_.inputs[l];
    if (l + 1 == layers.size()) {
      auto scores = factors_.errors[l].leftCols(count);
      ordered_product(MatrixView(matrix), MatrixView(inputs.leftCols(count)), MatrixTarget(scores), vector_units_);
      break;
    }
    auto next = factors_.inputs[l + 1].topLeftCorner(layer.output.values(), count);
    if (layer.dense()) {
      ordered_product(MatrixView(matrix), MatrixView(inputs.leftCols(count)), MatrixTarget(next), vector_units_);
    } else {
      for (Eigen::Index i = 0; i < count; ++i) convolve(l, layer, matrix, i);
    }
    for (Eigen::Index i = 0; i < count; ++i)
      activate(layer.activation, {next.col(i).data(), static_cast<std::size_t>(next.rows())});
  }
}

void ChunkPass::fold_errors(std::size_t l, const Layer& layer, const Eigen::Map<const Eigen::MatrixXd>& matrix,
                            Eigen::Index i) {
  const bool pooled = back_.size() > 0 && l > 0 && winners_[l - 1].rows() > 0;
  double* target = (pooled ? back_ : factors_.errors[l - 1]).col(i).data();
  std::fill_n(target, layer.input.values(), 0.0);
  const Eigen::Map<const Eigen::MatrixXd> errors(factors_.errors[l].col(i).data(), layer.outputs, layer.positions());
  for (Eigen::Index from = 0; from < layer.positions(); from += layer.tile) {
    const Eigen::Index count = std::min(layer.tile, layer.positions() - from);
    auto patches = patches_[l].topLeftCorner(layer.patch, count);
    ordered_product(MatrixView(matrix.leftCols(layer.patch).transpose()), MatrixView(errors.middleCols(from, count)),
                    MatrixTarget(patches), vector_units_);
    fold(layer, patches_[l], from, count, target);
  }
}

void ChunkPass::backward(const std::vector<Layer>& layers, const Eigen::Ref<const Eigen::VectorXd>& weights,
                         const Records& records, std::span<const std::int64_t> drawn) {
  const auto count = static_cast<Eigen::Index>(drawn.size());
  for (Eigen::Index i = 0; i < count; ++i) {
    auto errors = factors_.errors.back().col(i);
    const Eigen::Index target = class_of(records.targets[drawn[static_cast<std::size_t>(i)]], errors.size());
    if (target < 0 || !errors.allFinite()) {
      errors.setConstant(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    errors /= exponentials_sum({errors.data(), static_cast<std::size_t>(errors.size())});
    errors[target] -= 1.0;
  }
  for (std::size_t l = layers.size() - 1; l > 0; --l) {
    const Layer& layer = layers[l];
    const Layer& below = layers[l - 1];
    const Eigen::Map<const Eigen::MatrixXd> matrix = layer.matrix(weights);
    auto target = (below.pooled ? back_ : factors_.errors[l - 1]).topLeftCorner(layer.input.values(), count);
    if (layer.dense()) {
      ordered_product(MatrixView(matrix.leftCols(layer.patch).transpose()),
                      MatrixView(factors_.errors[l].leftCols(count)), MatrixTarget(target), vector_units_);
    } else {
      for (Eigen::Index i = 0; i < count; ++i) fold_errors(l, layer, matrix, i);
    }
    differentiate(below.activation, factors_.inputs[l].topLeftCorner(layer.input.values(), count), target);
    if (!below.pooled) continue;
    factors_.errors[l - 1].leftCols(count).setZero();
    for (Eigen::Index i = 0; i < count; ++i) {
      unpool(below, back_.col(i).data(), winners_[l - 1].col(i).data(), factors_.errors[l - 1].col(i).data());
    }
  }
}

}  // namespace undertone::models
