#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace undertone::statistics {

constexpr std::int64_t kConjunctionWidthMax = 64;  // literals of one conjunction, at most

/// What is asked of k literals: whether a record has one of them at least, or all of them.
enum class Quantifier { Any, All };

/// A polynomial of degree t in the number s of the k literals that a record has, s = 0 .. k, that says nearly 0 or 1.
/// In Newton's basis C(s, m), m = 0 .. t, which on records is the number of conjunctions of m of the literals that
/// hold.
///   Any: P(s) = 1 - T_t((k + 1 - 2 s) / (k - 1)) / T_t((k + 1) / (k - 1)): P(0) = 0, |P(s) - 1| <= error for s >= 1
///   All: 1 - P(k - s): 1 at s = k, within the error of 0 below
/// With t >= k both are exact, as is Any of one literal. Source: spec noninteractive-ldp 2.7 (Chebyshev).
struct CountPolynomial {
  std::size_t width = 1;       // k
  std::size_t degree = 1;      // t, at most k
  double error = 0.0;          // of any record's number, at most
  std::vector<double> newton;  // a_0 .. a_t
  /// sum_m a_m^2 C(k, m), square root: how much louder the noise of one conjunction's share is in the answer.
  double amplification = 1.0;
};
/// @param width 1 .. kConjunctionWidthMax @param degree 1 or more: what is above the width counts as the width
[[nodiscard]] CountPolynomial count_polynomial(Quantifier quantifier, std::size_t width, std::size_t degree);

}  // namespace undertone::statistics
