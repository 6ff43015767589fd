#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "shared/models/chunk_pass.hpp"

namespace undertone::models {

/// A chunk's gradients by record, known by their norms and added up with a scale each. A record's gradient is written
/// out only by convolutions for which Gram matrices would cost more: it is then no larger than the patches and errors
/// that it is made of. What is measured of a record is a function of that record's factors alone. Allocates when
/// constructed and never again.
class RecordGradients {
 public:
  /// A record's squared norm is raised by this share of its mass squared, the mass of a layer being the sum of
  /// |e_t| |a_t| over positions. That covers the norm's own rounding, and caps the mass at 2^10 norms.
  static constexpr double kMassShare = 0x1p-20;

  RecordGradients(const std::vector<Layer>& layers, Eigen::Index chunk, VectorUnits units);

  /// @param factors one, or two whose gradients are added up: scaled by `add`, then worthless
  /// @param squares [>= count] out: an upper bound on the squared norm, or NaN where something is not finite or has a
  ///        layer's inputs or errors beyond 2^100
  void measure(const std::vector<Layer>& layers, std::span<Factors* const> factors, Eigen::Index count,
               Eigen::VectorXd& squares);
  /// For a sum without clipping: what `add` needs where nothing was measured.
  void form(const std::vector<Layer>& layers, std::span<Factors* const> factors, Eigen::Index count);
  /// sum += the gradients times their scales, where a scale of zero shuts out even what is not finite.
  /// @param scales [>= count] @param sum [weights]
  void add(const std::vector<Layer>& layers, std::span<Factors* const> factors, Eigen::Index count,
           const Eigen::VectorXd& scales, Eigen::VectorXd& sum);

  [[nodiscard]] std::int64_t scratch_bytes() const noexcept;

 private:
  /// Writes out one record's gradient.
  void form(const Layer& layer, std::size_t l, std::span<Factors* const> factors, Eigen::Index i, double* out);
  [[nodiscard]] double dense_square(std::size_t l, std::span<Factors* const> factors, Eigen::Index i) const;
  [[nodiscard]] double gram_square(const Layer& layer, std::size_t l, std::span<Factors* const> factors,
                                   Eigen::Index i);
  [[nodiscard]] double product(const double* x, const double* y, Eigen::Index size) const;
  [[nodiscard]] double mass(const Layer& layer, std::size_t l, std::span<Factors* const> factors, Eigen::Index i) const;
  VectorUnits vector_units_;
  std::vector<Eigen::MatrixXd> formed_;  // by layer: [weights, chunk], [weights, 1] with Gram matrices, dense: empty
  std::vector<Eigen::MatrixXd> patches_[2];  // by layer, of each of the factors: [patch + 1, tile]
  std::vector<double> patch_gram_;           // [positions, positions]
  std::vector<double> error_gram_;
};

}  // namespace undertone::models
