#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// Noised numbers of records at or below the inner edges e_1 .. e_(m-1) of m cells (e_(j-1), e_j].
struct PrefixCounts {
  Eigen::VectorXd counts;           // [m - 1]
  Eigen::VectorXd noise_variances;  // [m - 1]
};
/// Of noised cells that partition `records`: least squares with the total known, y_j - (sum y - n) / m.
/// @param cells [m >= 2], finite @param cell_variance of the noise on each, > 0
[[nodiscard]] Result<PrefixCounts> prefixes_of_cells(const Eigen::VectorXd& cells, std::int64_t records,
                                                     double cell_variance);

/// A dyadic tree of counts over m = 2^L leaves: the nodes of level 1 (two halves), then of level 2, .., the leaves of
/// level L: 2 m - 2 numbers. The root is n, public.
struct TreeCounts {
  Eigen::VectorXd nodes;       // [2 m - 2], noised
  double node_variance = 0.0;  // of the noise on each, > 0
};
struct TreeLeaves {
  Eigen::VectorXd counts;  // [m]
};
/// argmin ||y - A x||^2 over leaves x with 1'x = n: one pass up, one down.
/// @return an error where 2 m - 2 is not so or a number is not finite
/// Source: Hay, Rastogi, Miklau and Suciu 2010; Honaker 2015.
[[nodiscard]] Result<TreeLeaves> tree_leaves(const TreeCounts& tree, std::int64_t records);
/// Noise variances of the prefixes of those leaves, in units of a node's: [m - 1]. @param leaves m, a power of two in
/// 2 .. 2^20
[[nodiscard]] Eigen::VectorXd tree_prefix_variances(std::int64_t leaves);
[[nodiscard]] Result<PrefixCounts> prefixes_of_tree(const TreeCounts& tree, std::int64_t records);

/// Indices of edges 0 .. m, of m cells.
struct EdgeInterval {
  std::size_t low = 0;
  std::size_t high = 0;
};
/// What prefixes count.
enum class Counted : std::uint8_t {
  Records,  // whole ones, each below an edge or not
  Shares    // of persons' records: a person is below an edge with a part of hers
};
struct StatedQuantile {
  std::size_t edge = 0;  // the first whose running maximum of prefixes reaches p n
  /// Where in the cell before that edge p n lies, in [0, 1], if the cell's records are spread evenly in it.
  double within = 1.0;
  EdgeInterval noise;  // for the quantile of these records
  std::optional<EdgeInterval> population;
};
/// Of shares the sample's quantile is the first edge that p n of them in all are below or at; for the population their
/// sum is taken as normal with the variance p (1 - p) n, which is the most that it can have.
/// @param probability p in (0, 1) @param records n >= 1
/// Source: spec statistics 6 (which takes the edge itself for the point); person-unit 6.4.
[[nodiscard]] Result<StatedQuantile> state_quantile(const PrefixCounts& prefixes, std::int64_t records,
                                                    double probability, Confidence confidence, bool sampling,
                                                    Counted counted = Counted::Records);

/// The two ranks whose selections, at epsilon / 2 each, make an interval.
struct SelectedRanks {
  double low = 0.0;
  double high = 0.0;
};
/// p -+ (z_(alpha/4) sqrt(p (1 - p) / n) + t), t = (4 / epsilon) ln(4 m / alpha) / n. Selected among cells, of which
/// one holds the rank whatever the records are, each is off by more than t n records with probability alpha / 4 at
/// most.
/// @param candidates m cells @param epsilon of both selections together
/// @return an error where t >= min(p, 1 - p), or a rank leaves (0, 1): clipping it would not cover
/// Source: Drechsler et al.; spec statistics 6.
[[nodiscard]] Result<SelectedRanks> selection_ranks(double probability, std::int64_t records, std::size_t candidates,
                                                    double epsilon, Confidence confidence);

}  // namespace undertone::statistics
