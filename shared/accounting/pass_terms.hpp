#pragma once

#include "shared/accounting/allocation.hpp"

namespace undertone::accounting {

/// One part's term W of a pass at kappa = e^epsilon, as its call function c -> E(W - c)+. Terms that are larger in
/// convex order make a pass dearer.
///   bins:  W = l_m - kappa l_-m,   l_a = exp(a z - a^2/2), z standard normal, m = shift/2: the one-round term
///   fixed: the W* whose call function is that of l_2m - kappa for c >= 0, of 1 - kappa l_2m (mirrored) for c < 0
/// Both have mean 1 - kappa. Source: spec random-allocation, sections 4.1 (2) and 5.
class PassTerm {
 public:
  /// @param shift > 0 @param epsilon >= 0
  PassTerm(PartAssignment assignment, double shift, double epsilon);
  /// E(W - c)+, with an error that is small beside the probability of W > c.
  [[nodiscard]] double above(double c) const;
  /// E(c - W)+ for c <= 0, which is E(W - c)+ - (1 - kappa - c): likewise.
  [[nodiscard]] double below(double c) const;
  /// A place <= 0 on both sides of which W is likely, as far as there is one.
  [[nodiscard]] double middle() const;

 private:
  /// Where W = c, in z: W is increasing.
  [[nodiscard]] double place(double c) const;
  PartAssignment assignment_;
  double half_shift_;
  double kappa_;
  double growth_;  // e^(m^2/2)
};

}  // namespace undertone::accounting
