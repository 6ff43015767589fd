#include "shared/models/record_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shared/base/column_products.hpp"
#include "shared/base/ordered_product.hpp"

namespace undertone::models {
namespace {

constexpr double kSquareMax = 0x1p200;  // of a layer's inputs or errors: no product or sum of these leaves a double

Eigen::Map<const Eigen::MatrixXd> errors_of(const Layer& layer, std::size_t l, const Factors& factors, Eigen::Index i) {
  return {factors.errors[l].col(i).data(), layer.outputs, layer.positions()};
}

double constant_of(const Layer& layer, std::size_t l, const Factors& factors, Eigen::Index i) {
  return factors.inputs[l](layer.input.values(), i);
}

}  // namespace

RecordGradients::RecordGradients(const std::vector<Layer>& layers, Eigen::Index chunk, VectorUnits units)
    : vector_units_(units) {
  Eigen::Index gram_max = 0;
  for (const Layer& layer : layers) {
    const bool dense = layer.dense();
    if (!dense && layer.gram) gram_max = std::max(gram_max, layer.positions());
    formed_.emplace_back(dense ? 0 : layer.weights(), layer.gram ? 1 : chunk);
    for (auto& patches : patches_) patches.emplace_back(dense ? 0 : layer.patch + 1, dense ? 0 : layer.tile);
  }
  patch_gram_.resize(static_cast<std::size_t>(gram_max * gram_max));
  error_gram_.resize(patch_gram_.size());
}

std::int64_t RecordGradients::scratch_bytes() const noexcept {
  auto numbers = static_cast<Eigen::Index>(patch_gram_.size() + error_gram_.size());
  for (std::size_t l = 0; l < formed_.size(); ++l) {
    numbers += formed_[l].size() + patches_[0][l].size() + patches_[1][l].size();
  }
  return numbers * static_cast<std::int64_t>(sizeof(double));
}

double RecordGradients::product(const double* x, const double* y, Eigen::Index size) const {
  const auto count = static_cast<std::size_t>(size);
  return inner_product({x, count}, {y, count}, vector_units_);
}

/// An upper bound on a layer's mass, by Cauchy and Schwarz; NaN beyond `kSquareMax`.
double RecordGradients::mass(const Layer& layer, std::size_t l, std::span<Factors* const> factors,
                             Eigen::Index i) const {
  double sum = 0.0;
  for (const Factors* f : factors) {
    const double* error = f->errors[l].col(i).data();
    const double* input = f->inputs[l].col(i).data();
    const double errors = product(error, error, f->errors[l].rows());
    double inputs = product(input, input, f->inputs[l].rows());
    if (!(errors <= kSquareMax && inputs <= kSquareMax)) return std::numeric_limits<double>::quiet_NaN();
    if (!layer.dense()) {
      const double constant = constant_of(layer, l, *f, i);
      inputs =
          static_cast<double>(layer.repeats) * inputs + static_cast<double>(layer.positions()) * constant * constant;
    }
    sum += std::sqrt(errors * inputs);
  }
  return sum;
}

double RecordGradients::dense_square(std::size_t l, std::span<Factors* const> factors, Eigen::Index i) const {
  double square = 0.0;
  for (const Factors* f : factors) {
    for (const Factors* g : factors) {
      square += product(f->errors[l].col(i).data(), g->errors[l].col(i).data(), f->errors[l].rows()) *
                product(f->inputs[l].col(i).data(), g->inputs[l].col(i).data(), f->inputs[l].rows());
    }
  }
  return square;
}

double RecordGradients::gram_square(const Layer& layer, std::size_t l, std::span<Factors* const> factors,
                                    Eigen::Index i) {
  const Eigen::Index positions = layer.positions();
  for (std::size_t f = 0; f < factors.size(); ++f) {
    const double* image = factors[f]->inputs[l].col(i).data();
    unfold(layer, image, constant_of(layer, l, *factors[f], i), 0, positions, patches_[f][l]);
  }
  const MatrixTarget patch_gram(patch_gram_.data(), 1, positions);
  const MatrixTarget error_gram(error_gram_.data(), 1, positions);
  double square = 0.0;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    for (std::size_t g = 0; g <= f; ++g) {
      ordered_product(MatrixView(patches_[f][l].transpose()), MatrixView(patches_[g][l]), patch_gram, vector_units_);
      ordered_product(MatrixView(errors_of(layer, l, *factors[f], i)).transposed(),
                      MatrixView(errors_of(layer, l, *factors[g], i)), error_gram, vector_units_);
      square += (f == g ? 1.0 : 2.0) * product(patch_gram_.data(), error_gram_.data(), positions * positions);
    }
  }
  return square;
}

void RecordGradients::form(const Layer& layer, std::size_t l, std::span<Factors* const> factors, Eigen::Index i,
                           double* out) {
  Eigen::Map<Eigen::MatrixXd> gradient(out, layer.outputs, layer.patch + 1);
  gradient.setZero();
  for (const Factors* f : factors) {
    const double* image = f->inputs[l].col(i).data();
    const double constant = constant_of(layer, l, *f, i);
    for (Eigen::Index from = 0; from < layer.positions(); from += layer.tile) {
      const Eigen::Index count = std::min(layer.tile, layer.positions() - from);
      Eigen::MatrixXd& patches = patches_[0][l];
      unfold(layer, image, constant, from, count, patches);
      const auto errors = errors_of(layer, l, *f, i);
      add_ordered_product(MatrixView(errors.middleCols(from, count)), MatrixView(patches.leftCols(count)).transposed(),
                          MatrixTarget(gradient), vector_units_);
    }
  }
}

void RecordGradients::form(const std::vector<Layer>& layers, std::span<Factors* const> factors, Eigen::Index count) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (layers[l].gram) continue;
    for (Eigen::Index i = 0; i < count; ++i) form(layers[l], l, factors, i, formed_[l].col(i).data());
  }
}

void RecordGradients::measure(const std::vector<Layer>& layers, std::span<Factors* const> factors, Eigen::Index count,
                              Eigen::VectorXd& squares) {
  form(layers, factors, count);
  squares.head(count).setZero();
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = layers[l];
    for (Eigen::Index i = 0; i < count; ++i) {
      const double layer_mass = mass(layer, l, factors, i);
      if (!std::isfinite(layer_mass)) {
        squares[i] = std::numeric_limits<double>::quiet_NaN();
        continue;
      }
      double square = 0.0;
      if (layer.dense()) {
        square = factors.size() == 1 ? layer_mass * layer_mass : dense_square(l, factors, i);
      } else {
        const double* formed = formed_[l].col(layer.gram ? 0 : i).data();
        square = layer.gram ? gram_square(layer, l, factors, i) : product(formed, formed, layer.weights());
      }
      squares[i] += std::max(square, 0.0) + kMassShare * layer_mass * layer_mass;
    }
  }
}

void RecordGradients::add(const std::vector<Layer>& layers, std::span<Factors* const> factors, Eigen::Index count,
                          const Eigen::VectorXd& scales, Eigen::VectorXd& sum) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = layers[l];
    Eigen::Map<Eigen::MatrixXd> layer_sum(sum.data() + layer.offset, layer.outputs, layer.patch + 1);
    if (layer.dense()) {
      for (Factors* f : factors) {
        for (Eigen::Index i = 0; i < count; ++i) {
          if (scales[i] == 1.0) continue;
          f->errors[l].col(i) *= scales[i];
          if (scales[i] > 0.0) continue;
          f->errors[l].col(i).setZero();  // zero times NaN is not zero
          f->inputs[l].col(i).setZero();
        }
        add_ordered_product(MatrixView(f->errors[l].leftCols(count)),
                            MatrixView(f->inputs[l].leftCols(count)).transposed(), MatrixTarget(layer_sum),
                            vector_units_);
      }
      continue;
    }
    for (Eigen::Index i = 0; i < count; ++i) {
      if (!(scales[i] > 0.0)) continue;
      const Eigen::Index column = layer.gram ? 0 : i;
      if (layer.gram) form(layer, l, factors, i, formed_[l].data());
      sum.segment(layer.offset, layer.weights()) += scales[i] * formed_[l].col(column);
    }
  }
}

}  // namespace undertone::models
