#include "shared/models/layer.hpp"

#include <algorithm>

namespace undertone::models {
namespace {

constexpr Eigen::Index kSideMax = Eigen::Index{1} << 20;
constexpr Eigen::Index kTileValues = Eigen::Index{1} << 13;  // unfolded at once: they stay in the cache

Error misfit(std::string_view layer, std::string_view problem) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", layer, problem)};
}

Status check_side(std::string_view layer, std::string_view what, Eigen::Index value, Eigen::Index max) {
  if (value >= 1 && value <= max) return {};
  return misfit(layer, fmt::format("{} must be in [1, {}], got {}", what, max, value));
}

Result<Layer> place(const DenseShape& shape, const ImageShape& input, std::string_view name) {
  if (Status width = check_side(name, "width", shape.width, Layer::kWeightsMax); !width) return width.error();
  Layer layer;
  layer.input = input;
  layer.output = {shape.width, 1, 1};
  layer.patch = input.values();
  layer.outputs = shape.width;
  layer.activation = shape.activation;
  return layer;
}

Result<Layer> place(const ConvolutionShape& shape, const ImageShape& input, std::string_view name) {
  if (Status channels = check_side(name, "channels", shape.channels, kSideMax); !channels) return channels.error();
  if (shape.kernel < 1 || shape.kernel > std::min(input.height, input.width)) {
    return misfit(name,
                  fmt::format("kernel of {} pixels in an image of {} x {}", shape.kernel, input.height, input.width));
  }
  Layer layer;
  layer.input = input;
  layer.kernel = shape.kernel;
  layer.patch = input.channels * shape.kernel * shape.kernel;
  layer.outputs = shape.channels;
  layer.rows = input.height - shape.kernel + 1;
  layer.columns = input.width - shape.kernel + 1;
  layer.pooled = shape.pooled;
  layer.activation = shape.activation;
  layer.output = {shape.channels, layer.rows, layer.columns};
  if (shape.pooled) {
    if (layer.rows < 2 || layer.columns < 2) {
      return misfit(name, fmt::format("pools 2 x 2 pixels of an image of {} x {}", layer.rows, layer.columns));
    }
    layer.output = {shape.channels, layer.rows / 2, layer.columns / 2};
  }
  layer.repeats = std::min(shape.kernel * shape.kernel, layer.positions());
  return layer;
}

/// Sizes that follow from the others.
Status finish(Layer& layer, Eigen::Index offset, std::string_view name) {
  if (layer.sums() > Layer::kWeightsMax) {
    return misfit(name, fmt::format("has {} values, at most {} are allowed", layer.sums(), Layer::kWeightsMax));
  }
  // No overflow: a layer has at most 2^27 outputs, and a patch no more values than an image.
  if (offset + layer.weights() > Layer::kWeightsMax) {
    return misfit(name, fmt::format("brings the weights to {}, at most {} are allowed", offset + layer.weights(),
                                    Layer::kWeightsMax));
  }
  layer.offset = offset;
  layer.gram = layer.dense() || layer.positions() * (layer.outputs + layer.patch + 1) < layer.weights();
  const Eigen::Index tile = std::max<Eigen::Index>(16, kTileValues / (layer.patch + 1));
  layer.tile = layer.gram ? layer.positions() : std::min(layer.positions(), tile);
  return {};
}

}  // namespace

std::string_view to_string(Activation activation) noexcept {
  switch (activation) {
    case Activation::Identity:
      return "identity";
    case Activation::Relu:
      return "relu";
    case Activation::Tanh:
      return "tanh";
  }
  return "";
}

Result<std::vector<Layer>> lay_out(const NetworkShape& shape) {
  for (const auto& [what, side] :
       {std::pair{"channels", shape.input.channels}, {"height", shape.input.height}, {"width", shape.input.width}}) {
    if (Status fits = check_side("input", what, side, kSideMax); !fits) return fits.error();
  }
  if (shape.input.values() > Layer::kWeightsMax) {
    return misfit("input",
                  fmt::format("has {} values, at most {} are allowed", shape.input.values(), Layer::kWeightsMax));
  }
  if (Status classes = check_side("output", "classes", shape.classes, kSideMax); !classes) return classes.error();
  if (shape.classes < 2) return misfit("output", "needs at least 2 classes, got 1");

  std::vector<Layer> layers;
  Eigen::Index offset = 0;
  ImageShape image = shape.input;
  const auto append = [&](const LayerShape& given, std::string_view name) -> Status {
    UNDERTONE_TRY(Layer layer, std::visit([&](const auto& kind) { return place(kind, image, name); }, given));
    if (Status fits = finish(layer, offset, name); !fits) return fits;
    offset += layer.weights();
    image = layer.output;
    layers.push_back(layer);
    return {};
  };
  for (std::size_t i = 0; i < shape.hidden.size(); ++i) {
    if (Status fits = append(shape.hidden[i], fmt::format("hidden layer {}", i + 1)); !fits) return fits.error();
  }
  if (Status fits = append(DenseShape{shape.classes, Activation::Identity}, "output"); !fits) return fits.error();
  return layers;
}

void unfold(const Layer& layer, const double* image, double constant, Eigen::Index from, Eigen::Index count,
            Eigen::MatrixXd& patches) {
  const Eigen::Index run = layer.kernel * layer.input.channels;
  const Eigen::Index stride = layer.input.width * layer.input.channels;
  for (Eigen::Index i = 0; i < count; ++i) {
    const Eigen::Index position = from + i;
    const double* source =
        image + (position / layer.columns) * stride + (position % layer.columns) * layer.input.channels;
    double* target = patches.col(i).data();
    for (Eigen::Index row = 0; row < layer.kernel; ++row, source += stride) target = std::copy_n(source, run, target);
    *target = constant;
  }
}

void fold(const Layer& layer, const Eigen::MatrixXd& patches, Eigen::Index from, Eigen::Index count, double* image) {
  const Eigen::Index run = layer.kernel * layer.input.channels;
  const Eigen::Index stride = layer.input.width * layer.input.channels;
  for (Eigen::Index i = 0; i < count; ++i) {
    const Eigen::Index position = from + i;
    double* target = image + (position / layer.columns) * stride + (position % layer.columns) * layer.input.channels;
    const double* source = patches.col(i).data();
    for (Eigen::Index row = 0; row < layer.kernel; ++row, source += run, target += stride) {
      for (Eigen::Index v = 0; v < run; ++v) target[v] += source[v];
    }
  }
}

}  // namespace undertone::models
