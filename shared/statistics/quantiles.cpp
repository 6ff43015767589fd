#include "shared/statistics/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "shared/statistics/binomial_weights.hpp"

namespace undertone::statistics {
namespace {

constexpr std::int64_t kLeavesMax = std::int64_t{1} << 20U;
constexpr std::int64_t kRankedMax = std::int64_t{1} << 40U;

double normal_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

/// Leaves of a tree with so many nodes below its root; 0 where no power of two fits.
std::int64_t leaves_of(Eigen::Index nodes) {
  std::int64_t leaves = 2;
  while (leaves < kLeavesMax && 2 * leaves - 2 < nodes) leaves *= 2;
  return 2 * leaves - 2 == nodes ? leaves : 0;
}

/// Variance of the best estimate of a subtree's total from itself alone, by height, in units of a node's.
std::vector<double> subtree_variances(std::int64_t leaves) {
  std::vector<double> out{1.0};
  for (std::int64_t below = 2; below < leaves; below *= 2) out.push_back(1.0 / (1.0 + 0.5 / out.back()));
  return out;
}

/// P[S + N(0, v) <= y] < level, S ~ Bin(n, p).
double reached(const BinomialWeights& law, double y, double stddev) {
  double sum = 0.0;
  for (std::size_t i = 0; i < law.weights.size(); ++i)
    sum += law.weights[i] * normal_below((y - static_cast<double>(law.first + static_cast<std::int64_t>(i))) / stddev);
  return sum;
}

/// The edges before the first that is not below, and after the last that is not above. Inner edge j is edges[j + 1].
template <class Below, class Above>
EdgeInterval edges_around(std::size_t inner, const Below& below, const Above& above) {
  std::size_t low = 0;
  while (low < inner && below(static_cast<Eigen::Index>(low))) ++low;
  std::size_t high = inner;
  while (high > 0 && above(static_cast<Eigen::Index>(high - 1))) --high;
  return {low, high + 1};
}

Status check_records(std::int64_t records) {
  if (records >= 1 && records <= kRankedMax) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("quantiles: expected 1 to {} records, got {}", kRankedMax, records)};
}

}  // namespace

Result<PrefixCounts> prefixes_of_cells(const Eigen::VectorXd& cells, std::int64_t records, double cell_variance) {
  UNDERTONE_TRY(check_records(records));
  const Eigen::Index m = cells.size();
  if (m < 2 || !cells.allFinite() || !(cell_variance > 0.0 && std::isfinite(cell_variance))) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("quantiles: expected two finite cells or more with a noise variance > 0, got {} with {}",
                             m, cell_variance)};
  }
  const double excess = (cells.sum() - static_cast<double>(records)) / static_cast<double>(m);
  PrefixCounts out{Eigen::VectorXd(m - 1), Eigen::VectorXd(m - 1)};
  double sum = 0.0;
  for (Eigen::Index j = 0; j + 1 < m; ++j) {
    sum += cells[j] - excess;
    const auto k = static_cast<double>(j + 1);
    out.counts[j] = sum;
    out.noise_variances[j] = k * (1.0 - k / static_cast<double>(m)) * cell_variance;
  }
  return out;
}

Result<TreeLeaves> tree_leaves(const TreeCounts& tree, std::int64_t records) {
  UNDERTONE_TRY(check_records(records));
  const std::int64_t leaves = leaves_of(tree.nodes.size());
  if (leaves == 0 || !tree.nodes.allFinite()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a tree of counts: expected 2 m - 2 finite numbers, m a power of two in 2 .. {}, got {}",
                             kLeavesMax, tree.nodes.size())};
  }
  const std::vector<double> variances = subtree_variances(leaves);
  // Nodes level by level from the root's children: level with w nodes begins at w - 2, the children of its node i are
  // nodes 2 i and 2 i + 1 of the next level.
  Eigen::VectorXd best = tree.nodes;
  for (std::int64_t width = leaves / 2, height = 1; width >= 2; width /= 2, ++height) {
    const double below = variances[static_cast<std::size_t>(height - 1)];
    const double own = 1.0 / (1.0 + 0.5 / below);  // weight of the node's own count against its children's sum
    for (std::int64_t i = 0; i < width; ++i) {
      const double children = best[2 * width - 2 + 2 * i] + best[2 * width - 2 + 2 * i + 1];
      best[width - 2 + i] = own * best[width - 2 + i] + (1.0 - own) * children;
    }
  }
  const auto spread = [&](double total, Eigen::Index left) {
    const double missing = total - best[left] - best[left + 1];
    best[left] += 0.5 * missing;
    best[left + 1] += 0.5 * missing;
  };
  spread(static_cast<double>(records), 0);
  for (std::int64_t width = 2; width < leaves; width *= 2)
    for (std::int64_t i = 0; i < width; ++i) spread(best[width - 2 + i], 2 * width - 2 + 2 * i);
  return TreeLeaves{best.tail(leaves)};
}

Eigen::VectorXd tree_prefix_variances(std::int64_t leaves) {
  UNDERTONE_CHECK(leaves >= 2 && leaves <= kLeavesMax && (leaves & (leaves - 1)) == 0);
  const std::vector<double> variances = subtree_variances(leaves);
  Eigen::VectorXd out(leaves - 1);
  for (std::int64_t cut = 1; cut < leaves; ++cut) {
    // Given its total u, a node splits as (u +- d) / 2, d the difference of its children's own estimates; a prefix of k
    // of its leaves has k / w of u, and what d has in it is independent of all further down.
    double sum = 0.0;
    std::int64_t k = cut;
    std::size_t height = variances.size();
    for (std::int64_t width = leaves; width >= 2 && k > 0 && k < width; width /= 2) {
      const auto half = 0.5 * static_cast<double>(width);  // a power of two
      const bool left = 2 * k <= width;
      const double share = left ? static_cast<double>(k) / half : (static_cast<double>(width - k)) / half;
      --height;
      sum += 0.25 * share * share * 2.0 * variances[height];
      if (!left) k -= width / 2;
    }
    out[cut - 1] = sum;
  }
  return out;
}

Result<PrefixCounts> prefixes_of_tree(const TreeCounts& tree, std::int64_t records) {
  if (!(tree.node_variance > 0.0 && std::isfinite(tree.node_variance))) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a tree of counts: expected a noise variance > 0, got {}", tree.node_variance)};
  }
  UNDERTONE_TRY(const TreeLeaves found, tree_leaves(tree, records));
  const Eigen::VectorXd& leaves = found.counts;
  PrefixCounts out{Eigen::VectorXd(leaves.size() - 1), tree_prefix_variances(leaves.size()) * tree.node_variance};
  double sum = 0.0;
  for (Eigen::Index j = 0; j + 1 < leaves.size(); ++j) out.counts[j] = sum += leaves[j];
  return out;
}

Result<StatedQuantile> state_quantile(const PrefixCounts& prefixes, std::int64_t records, double probability,
                                      Confidence confidence, bool sampling, Counted counted) {
  UNDERTONE_TRY(check_records(records));
  if (!(probability > 0.0 && probability < 1.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a quantile: expected a probability above 0 and below 1, got {}", probability)};
  }
  const Eigen::Index inner = prefixes.counts.size();
  if (inner < 1 || prefixes.noise_variances.size() != inner || !prefixes.counts.allFinite() ||
      !(prefixes.noise_variances.minCoeff() > 0.0) || !prefixes.noise_variances.allFinite()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a quantile: expected one finite prefix or more, each with a noise variance > 0, got {} "
                             "with {} variances",
                             inner, prefixes.noise_variances.size())};
  }
  const double rank = probability * static_cast<double>(records);
  const auto edges = static_cast<std::size_t>(inner);
  StatedQuantile out;
  out.edge = edges + 1;
  double below = 0.0;                        // the running maximum before that edge
  double at = static_cast<double>(records);  // and at it
  for (std::size_t j = 0; j < edges && out.edge > edges; ++j) {
    const double count = prefixes.counts[static_cast<Eigen::Index>(j)];
    if (count >= rank) {
      out.edge = j + 1;
      at = count;
    } else {
      below = std::max(below, count);
    }
  }
  out.within = std::clamp((rank - below) / (at - below), 0.0, 1.0);  // below < rank <= at
  // Of the record that is the sample's quantile, and of the last one before it.
  const double first = counted == Counted::Records ? std::ceil(rank - 1e-9 * std::max(1.0, rank)) : rank;
  const double before = counted == Counted::Records ? first - 1.0 : rank;
  const auto stddev = [&](Eigen::Index j) { return std::sqrt(prefixes.noise_variances[j]); };
  out.noise = edges_around(
      edges, [&](Eigen::Index j) { return prefixes.counts[j] < first - confidence.z() * stddev(j); },
      [&](Eigen::Index j) { return prefixes.counts[j] > before + confidence.z() * stddev(j); });
  if (sampling && counted == Counted::Shares) {
    const auto off = [&](Eigen::Index j) {
      return (prefixes.counts[j] - rank) / std::sqrt(rank * (1.0 - probability) + prefixes.noise_variances[j]);
    };
    out.population = edges_around(
        edges, [&](Eigen::Index j) { return off(j) < -confidence.z(); },
        [&](Eigen::Index j) { return off(j) > confidence.z(); });
  } else if (sampling) {
    const BinomialWeights law = binomial_weights(records, probability);
    const double level = 0.5 * confidence.alpha();
    out.population = edges_around(
        edges, [&](Eigen::Index j) { return reached(law, prefixes.counts[j], stddev(j)) + law.left_out < level; },
        [&](Eigen::Index j) { return 1.0 - reached(law, prefixes.counts[j], stddev(j)) + law.left_out < level; });
  }
  return out;
}

Result<SelectedRanks> selection_ranks(double probability, std::int64_t records, std::size_t candidates, double epsilon,
                                      Confidence confidence) {
  UNDERTONE_TRY(check_records(records));
  if (!(probability > 0.0 && probability < 1.0) || candidates < 2 || !(epsilon > 0.0 && std::isfinite(epsilon))) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a selected quantile: expected a probability in (0, 1), two cells or more and a finite "
                             "epsilon > 0, got {}, {} and {}",
                             probability, candidates, epsilon)};
  }
  const auto n = static_cast<double>(records);
  const double t = 4.0 / epsilon * std::log(4.0 * static_cast<double>(candidates) / confidence.alpha()) / n;
  const double sampled = confidence.shared_by(2).z() * std::sqrt(probability * (1.0 - probability) / n);
  const SelectedRanks out{probability - sampled - t, probability + sampled + t};
  if (t >= std::min(probability, 1.0 - probability) || out.low <= 0.0 || out.high >= 1.0) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("the quantile {} of {} records has no interval by selections at epsilon {}: its ranks would "
                    "be {:.3f} and {:.3f}, and cutting them to 0 and 1 does not cover",
                    probability, records, epsilon, out.low, out.high)};
  }
  return out;
}

}  // namespace undertone::statistics
