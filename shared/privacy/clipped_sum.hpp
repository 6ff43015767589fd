#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/privacy/lattice.hpp"

namespace undertone::privacy {

/// The exact integer sum of records' vectors of the form a (x, 1) or a x, each clipped to integer l2 norm at most
/// `lattice.clip`: what `add_clipped` does for linear models, in one pass over x. The integers are a function of
/// the records and of how they lie in memory, not of the processor's vector units.
class ClippedSum {
 public:
  /// @param dimension of a vector, the constant included
  ClippedSum(const Lattice& lattice, Eigen::Index dimension);

  /// Adds trunc(s a x) with the largest s <= 1/step that keeps the norm, verified on the integers. What is not finite
  /// adds nothing.
  /// @param a any number @param x [dimension], or [dimension - 1] where the last coordinate is the constant 1
  /// @param next where the next record's x will be read, to be fetched meanwhile; may be null
  void add(double a, const Eigen::Ref<const Eigen::VectorXd>& x, const double* next = nullptr);
  /// The sum so far, which then begins again at zero. @param out [dimension], in lattice units
  void take(std::span<std::int64_t> out);
  /// Begins again at zero, on another lattice perhaps.
  void restart(const Lattice& lattice);

 private:
  void flush();
  Lattice lattice_;
  double square_max_ = 0.0;       // a computed sum of squares up to this proves the norm
  std::int64_t records_max_ = 0;  // whose sums stay exact in a double
  std::int64_t records_ = 0;      // since the last flush
  Eigen::VectorXd vector_;        // one record's integers
  Eigen::VectorXd block_;         // exact integers below 2^53
  std::vector<std::int64_t> sum_;
};

}  // namespace undertone::privacy
