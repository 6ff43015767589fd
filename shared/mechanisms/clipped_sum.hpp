#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/column_products.hpp"
#include "shared/mechanisms/lattice.hpp"

namespace undertone::mechanisms {

/// The exact integer sum of records' vectors of the form a (x, 1) or a x, each clipped to integer l2 norm at most
/// `lattice.clip`: what `add_clipped` does for linear models, in one pass over x. The integers are a function of the
/// records alone, not of the processor's vector units.
class ClippedSum {
 public:
  /// @param dimension of a vector, the constant included, < 2^30
  ClippedSum(const Lattice& lattice, Eigen::Index dimension, VectorUnits units = VectorUnits::Widest);

  /// Adds trunc(s_i a_i x_i) with the largest s_i <= 1/step that keeps each one's norm, verified on the integers. What
  /// is not finite adds nothing.
  /// @param factors [count] the numbers a_i, any
  /// @param norms_squared [count] of (x_i, 1) or x_i, as `column_products` computes them; of one that is too
  /// small to keep the clip the process stops
  /// @param features [dimension, n], or [dimension - 1, n] where the last coordinate is the constant 1
  /// @param positions [count] of the columns x_i
  void add(std::span<const double> factors, std::span<const double> norms_squared, const Eigen::MatrixXd& features,
           std::span<const std::int64_t> positions);
  /// The same work for all of them, of which only the first `counted` are added: neither time nor memory depends on it,
  /// nor on which of the numbers a_i are 0.
  void add_first(std::size_t counted, std::span<const double> factors, std::span<const double> norms_squared,
                 const Eigen::MatrixXd& features, std::span<const std::int64_t> positions);
  /// The sum so far, which then begins again at zero. @param out [dimension], in lattice units
  void take(std::span<std::int64_t> out);
  /// Begins again at zero, on another lattice perhaps.
  void restart(const Lattice& lattice);

 private:
  void add_some(std::size_t counted, std::span<const double> factors, std::span<const double> norms_squared,
                const Eigen::MatrixXd& features, std::span<const std::int64_t> positions);
  void add_together(std::size_t counted, std::span<const double> factors, std::span<const double> norms_squared,
                    const Eigen::MatrixXd& features, std::span<const std::int64_t> positions);
  void add_slowly(double a, const Eigen::Ref<const Eigen::VectorXd>& x, std::vector<std::int64_t>& sum);
  void flush();
  VectorUnits vector_units_;
  Lattice lattice_;
  double per_unit_ = 0.0;         // 1 / step
  double clip_asked_ = 0.0;       // of what is longer: a little less than the clip, which rounding then never leaves
  double square_max_ = 0.0;       // a computed sum of squares up to this proves the norm
  std::int64_t records_max_ = 0;  // whose sums stay exact in a double
  std::int64_t records_ = 0;      // since the last flush
  Eigen::VectorXd vector_;        // of a record that goes the slow way
  Eigen::VectorXd zeros_;
  Eigen::VectorXd block_;  // exact integers below 2^53
  std::vector<std::int64_t> sum_;
  Eigen::VectorXd spare_block_;  // of what is not counted; empty without `add_first`
  std::vector<std::int64_t> spare_sum_;
};

}  // namespace undertone::mechanisms
