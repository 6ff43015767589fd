#pragma once

#include <Eigen/Core>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::models {

enum class Activation { Identity, Relu, Tanh };

[[nodiscard]] std::string_view to_string(Activation activation) noexcept;

/// Values lie row by row, pixel by pixel, the channels of one pixel together.
struct ImageShape {
  Eigen::Index channels = 1;
  Eigen::Index height = 1;
  Eigen::Index width = 1;
  [[nodiscard]] Eigen::Index values() const noexcept { return channels * height * width; }
};

/// Every output is an affine function of every input.
struct DenseShape {
  Eigen::Index width = 0;
  Activation activation = Activation::Relu;
};

/// One affine map of every kernel x kernel patch that lies inside the image, at stride 1.
struct ConvolutionShape {
  Eigen::Index channels = 0;  // of the output
  Eigen::Index kernel = 0;    // pixels, both ways
  Activation activation = Activation::Relu;
  bool pooled = false;  // the largest of each 2 x 2 pixels, before the activation; an odd last row or column is dropped
};

using LayerShape = std::variant<DenseShape, ConvolutionShape>;

/// A classifier: the hidden layers, then a dense layer without activation to one score per class.
struct NetworkShape {
  ImageShape input;  // {1, 1, features} for a table
  std::vector<LayerShape> hidden;
  Eigen::Index classes = 0;
};

/// A layer as one affine map of patches: activation(pool(W (patch, 1))) at each position. Dense: one patch, the input.
struct Layer {
  static constexpr Eigen::Index kWeightsMax = Eigen::Index{1} << 27;

  ImageShape input;
  ImageShape output;
  Eigen::Index kernel = 0;   // 0: dense
  Eigen::Index patch = 0;    // values
  Eigen::Index outputs = 0;  // of one position, before pooling
  Eigen::Index rows = 1;     // of positions
  Eigen::Index columns = 1;  // of positions
  Eigen::Index offset = 0;   // of W [outputs, patch + 1] in the model's weights, column by column, the bias last
  Eigen::Index repeats = 1;  // how many patches hold an input value, at most
  Eigen::Index tile = 1;     // how many patches are unfolded at once
  bool pooled = false;
  bool gram = false;  // whether Gram matrices of a record's patches cost less than its weights' gradient
  Activation activation = Activation::Identity;

  [[nodiscard]] bool dense() const noexcept { return kernel == 0; }
  [[nodiscard]] Eigen::Index positions() const noexcept { return rows * columns; }
  [[nodiscard]] Eigen::Index sums() const noexcept { return outputs * positions(); }
  [[nodiscard]] Eigen::Index weights() const noexcept { return outputs * (patch + 1); }
  [[nodiscard]] Eigen::Map<const Eigen::MatrixXd> matrix(const Eigen::Ref<const Eigen::VectorXd>& all) const {
    return {all.data() + offset, outputs, patch + 1};
  }
};

/// The layers of a shape, the scores' included, or an error that names the layer that does not fit: an empty one, a
/// kernel larger than its image, an image below 2 x 2 to be pooled, a layer of more than 2^27 values, or more than 2^27
/// weights in all.
[[nodiscard]] Result<std::vector<Layer>> lay_out(const NetworkShape& shape);

/// Copies patches from, ..., from + count - 1 of an image to the columns of `patches` and appends `constant` to each.
/// @param image [input values] @param patches [patch + 1, >= count]
void unfold(const Layer& layer, const double* image, double constant, Eigen::Index from, Eigen::Index count,
            Eigen::MatrixXd& patches);

/// Adds patches to where `unfold` copied them from. @param patches [>= patch, >= count]: the first rows are read
void fold(const Layer& layer, const Eigen::MatrixXd& patches, Eigen::Index from, Eigen::Index count, double* image);

}  // namespace undertone::models
