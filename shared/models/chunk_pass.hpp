#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/vector_units.hpp"
#include "shared/models/layer.hpp"
#include "shared/models/linear_model.hpp"

namespace undertone::models {

/// What every record's gradient is made of: by W of layer l it is the sum over positions t of e_t (a_t, c)^T, with e_t
/// the loss's derivative by the position's sums, a_t the patch it was computed from, and c the constant.
struct Factors {
  std::vector<Eigen::MatrixXd> inputs;  // by layer: [values + 1, chunk], the constant last
  std::vector<Eigen::MatrixXd> errors;  // by layer: [outputs * positions, chunk]
};

/// Forward and backward through a network for one chunk of records at a time. A record's column is a function of the
/// weights and the record alone: not of the other records, its place among them, memory, caches or vector units.
/// Allocates when constructed and never again.
class ChunkPass {
 public:
  ChunkPass(const std::vector<Layer>& layers, Eigen::Index chunk, VectorUnits units);

  /// Leaves the scores in the last layer's errors. @param drawn at most `chunk` positions in the records
  void forward(const std::vector<Layer>& layers, const Eigen::Ref<const Eigen::VectorXd>& weights,
               const Records& records, std::span<const std::int64_t> drawn);
  /// Turns scores into errors. A target that is no class and a score that is not finite give NaN in the record's
  /// column.
  void backward(const std::vector<Layer>& layers, const Eigen::Ref<const Eigen::VectorXd>& weights,
                const Records& records, std::span<const std::int64_t> drawn);

  [[nodiscard]] Factors& factors() noexcept { return factors_; }
  /// Of the last forward. @param i position in `drawn`
  [[nodiscard]] auto scores(Eigen::Index i) const { return factors_.errors.back().col(i); }
  [[nodiscard]] std::int64_t scratch_bytes() const noexcept;

 private:
  void convolve(std::size_t l, const Layer& layer, const Eigen::Map<const Eigen::MatrixXd>& matrix, Eigen::Index i);
  void fold_errors(std::size_t l, const Layer& layer, const Eigen::Map<const Eigen::MatrixXd>& matrix, Eigen::Index i);
  VectorUnits vector_units_;
  Factors factors_;
  std::vector<Eigen::Matrix<std::uint8_t, Eigen::Dynamic, Eigen::Dynamic>> winners_;  // of each pool: which of the four
  std::vector<Eigen::MatrixXd> patches_;  // by layer: [patch + 1, tile], convolutions only
  Eigen::VectorXd sums_;                  // one record's, before pooling
  Eigen::MatrixXd back_;                  // [values, chunk]: errors of pooled values
};

/// The class a target stands for, or -1.
[[nodiscard]] Eigen::Index class_of(double target, Eigen::Index classes) noexcept;

}  // namespace undertone::models
