#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace undertone::verifier {

/// Equal releases by what bounds their Renyi divergences. Exactly one of `mu`, the two epsilons and `rho` is above 0.
struct ConcentratedGroup {
  /// A Gaussian's of this shift, also where it reads a subset: order x mu^2 / 2.
  long double mu = 0;
  /// epsilon-DP: at most randomised response's.
  long double pure_epsilon = 0;
  /// Losses in a range of epsilon: besides at most order x epsilon^2 / 8. Source: Cesar and Rogers 2021, Lemma 3.4.
  long double ranged_epsilon = 0;
  std::uint64_t rounds = 0;
  /// rho-zCDP for a record that a release reads: order x rho, of a subset besides what SubsetDivergence says.
  long double rho = 0;
  /// The share of the records that a release of `rho` reads, drawn afresh, secretly and without replacement: in (0, 1].
  long double rate = 1;
};

/// Renyi divergence, from above, of one release that is rho-zCDP for the records it reads, where these are a fresh
/// uniform subset drawn without replacement, of which nobody knows who is in it.
class SubsetDivergence {
 public:
  static constexpr int kOrderMax = 1024;

  /// @param rho > 0
  /// @param rate in (0, 1), the size of the subset over the number of records
  SubsetDivergence(long double rho, long double rate);

  /// ln(1 + q^2 C(a, 2) min(4 (e^(2 rho) - 1), 2 e^(2 rho)) + sum over j from 3 to a of 2 q^j C(a, j) e^(j (j - 1)
  /// rho)) / (a - 1), with q the rate: what is known of a release whose divergence of order j is j rho and whose losses
  /// have no bound. It may be above a rho. Each order is added up once. Source: Wang, Balle and Kasiviswanathan 2019,
  /// Theorem 9.
  /// @param order a, from 2 to kOrderMax
  [[nodiscard]] long double at(int order);

 private:
  [[nodiscard]] long double add_up(int order) const;

  long double rho_;
  long double log_rate_;
  std::map<int, long double> known_;  // by order
};

/// Adds up the divergences of subsets once for all the positions of a block, of which many read equal releases.
class RenyiBound {
 public:
  /// Delta of all groups together, from above: with D the sum of their divergences, the least over orders a > 1 of
  /// exp((a - 1)(D(a) - epsilon)) / (a - 1) x (1 - 1/a)^a. Of subsets, D between two integers is that of the larger
  /// one, since divergences do not fall with the order, and beyond SubsetDivergence::kOrderMax that of all records.
  /// Source: Canonne, Kamath and Steinke 2020, Proposition 12.
  /// @param epsilon finite, >= 0
  [[nodiscard]] long double delta(const std::vector<ConcentratedGroup>& groups, long double epsilon);

 private:
  std::map<std::pair<long double, long double>, SubsetDivergence> subsets_;  // by rho and rate
};

/// The same, of one position alone.
[[nodiscard]] long double renyi_delta(const std::vector<ConcentratedGroup>& groups, long double epsilon);

}  // namespace undertone::verifier
