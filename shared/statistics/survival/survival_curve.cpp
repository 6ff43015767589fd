#include "shared/statistics/survival/survival_curve.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::statistics {
namespace {

/// A_l = 1 / (R_l - d_l) - 1 / R_l: the derivative of log(1 - d_l / R_l) by R_l.
double by_at_risk(const LifeTable& life, Eigen::Index l) {
  return 1.0 / (life.at_risk()[l] - life.events()[l]) - 1.0 / life.at_risk()[l];
}
/// This adds the derivatives of `slope` x log(1 - d_l / R_l).
void add_log_factor(const LifeTable& life, Eigen::Index l, double slope, LifePartials& out) {
  out.events.col(l).array() -= slope / (life.at_risk()[l] - life.events()[l]);
  out.at_risk[l] += slope * by_at_risk(life, l);
}
/// S(t_0) = 1, S(t_1), .., S(t_ended).
std::vector<double> survivals(const LifeTable& life, std::size_t ended) {
  std::vector<double> out{1.0};
  for (std::size_t l = 0; l < ended; ++l) {
    const auto at = static_cast<Eigen::Index>(l);
    out.push_back(out.back() * (1.0 - life.events()[at] / life.at_risk()[at]));
  }
  return out;
}

}  // namespace

TableFunctional log_survival(const LifeTable& life, std::size_t ended) {
  LifePartials partials = life.no_partials();
  double value = 0.0;
  for (std::size_t l = 0; l < ended; ++l) {
    const auto at = static_cast<Eigen::Index>(l);
    value += std::log1p(-life.events()[at] / life.at_risk()[at]);
    add_log_factor(life, at, 1.0, partials);
  }
  return {value, life.gradient(partials)};
}

TableFunctional cumulative_hazard(const LifeTable& life, std::size_t ended) {
  LifePartials partials = life.no_partials();
  double value = 0.0;
  for (std::size_t l = 0; l < ended; ++l) {
    const auto at = static_cast<Eigen::Index>(l);
    const double events = life.events()[at];
    const double own = life.on_grid() ? 0.0 : 0.5;  // of the events, that do not count as exposed
    const double exposure = life.at_risk()[at] - own * events;
    value += events / exposure;
    partials.events.col(at).setConstant((exposure + own * events) / (exposure * exposure));
    partials.at_risk[at] = -events / (exposure * exposure);
  }
  return {value, life.gradient(partials)};
}

TableFunctional restricted_mean(const LifeTable& life, std::size_t ended, std::span<const double> edges) {
  const std::vector<double> survival = survivals(life, ended);
  const auto width = [&](std::size_t l) { return edges[l + 1] - edges[l]; };
  LifePartials partials = life.no_partials();
  double value = 0.0;
  const double end = life.on_grid() ? 0.0 : 0.5;  // how much of an interval the share at its end counts for
  for (std::size_t l = 0; l < ended; ++l) value += width(l) * ((1.0 - end) * survival[l] + end * survival[l + 1]);
  double later = 0.0;  // what a factor of the logarithm moves: all areas after it
  for (std::size_t l = ended; l-- > 0;) {
    later += (end * width(l) + (l + 1 < ended ? (1.0 - end) * width(l + 1) : 0.0)) * survival[l + 1];
    add_log_factor(life, static_cast<Eigen::Index>(l), later, partials);
  }
  return {value, life.gradient(partials)};
}

Interval restricted_mean_bracket(const LifeTable& life, std::size_t ended, std::span<const double> edges) {
  const std::vector<double> survival = survivals(life, ended);
  double least = 0.0;
  double most = 0.0;
  for (std::size_t l = 0; l < ended; ++l) {
    least += (edges[l + 1] - edges[l]) * survival[l + 1];
    most += (edges[l + 1] - edges[l]) * survival[l];
  }
  return {std::min(least, most), std::max(least, most)};
}

TableFunctional incidence(const LifeTable& life, std::size_t ended, std::size_t cause) {
  const std::vector<double> survival = survivals(life, ended);
  const auto row = static_cast<Eigen::Index>(cause);
  LifePartials partials = life.no_partials();
  double later = 0.0;
  for (std::size_t l = ended; l-- > 0;) {
    const auto at = static_cast<Eigen::Index>(l);
    const double risk = life.at_risk()[at];
    add_log_factor(life, at, later, partials);
    const double part = survival[l] * life.events_by_cause()(row, at) / risk;
    partials.events(row, at) += survival[l] / risk;
    partials.at_risk[at] -= part / risk;
    later += part;
  }
  return {later, life.gradient(partials)};
}

Interval grid_bracket(const LifeTable& life, std::size_t ended) {
  double first = 0.0;
  double last = 0.0;
  for (std::size_t l = 0; l < ended; ++l) {
    const auto at = static_cast<Eigen::Index>(l);
    const double entering = life.entering()[at];
    const double left = entering - life.censored()[at];
    first += entering > life.events()[at] ? std::log1p(-life.events()[at] / entering) : -HUGE_VAL;
    last += left > life.events()[at] ? std::log1p(-life.events()[at] / left) : -HUGE_VAL;
  }
  // A noised cell may be below 0, so that either can be the larger one.
  return {std::exp(std::min(first, last)), std::exp(std::max(first, last))};
}

SurvivalPoint survival_point(const NoisedTable& table, const LifeTable& life, std::size_t ended, SizeOf size,
                             double records) {
  const TableFunctional log = log_survival(life, ended);
  const Spread of_log = spread_of(table, log.gradient, size);
  SurvivalPoint out;
  out.value = std::exp(std::min(log.value, 0.0));
  add_spread(out.spread, of_log, out.value);
  const double most = std::max(records, 1.0);
  const double effective = (1.0 - out.value) / (out.value * of_log.sampling);
  const bool fallen = out.value < 1.0 && std::isfinite(effective);  // of a curve that noise holds at 1 nothing is known
  out.effective_size = fallen ? std::clamp(effective, 1.0, most) : most;
  return out;
}

SurvivalPoint standardised(std::span<const WeighedPoint> points) {
  SurvivalPoint out;
  out.value = 0.0;
  for (const WeighedPoint& one : points) {
    out.value += one.weight * one.point.value;
    Spread spread = one.point.spread;
    const double share = one.point.value * (1.0 - one.point.value) / std::max(one.records, 1.0);
    spread.sampling = std::max(spread.sampling, share);
    add_spread(out.spread, spread, one.weight);
  }
  const double effective = out.value * (1.0 - out.value) / out.spread.sampling;
  double all = 0.0;
  for (const WeighedPoint& one : points) all += std::max(one.records, 1.0);
  out.effective_size = out.value < 1.0 && std::isfinite(effective) ? std::clamp(effective, 1.0, all) : all;
  return out;
}

Stated state_survival_point(const SurvivalPoint& point, Confidence confidence, bool sampling) {
  constexpr Interval kShare{0.0, 1.0};
  Stated out = state_wald(point.value, point.spread, confidence, false, kShare);
  if (!sampling) return out;
  const double size = point.effective_size;
  const double noise = point.spread.noise;
  const double theta = point.value;
  double q = confidence.z();
  Interval found;
  for (int step = 0; step < 3; ++step) {
    const double scale = 1.0 + q * q / size;
    const double centre = theta + q * q / (2.0 * size);
    const double root = std::sqrt(std::max(centre * centre - scale * (theta * theta - q * q * noise), 0.0));
    found = cut_to({(centre - root) / scale, (centre + root) / scale}, kShare);
    q = corrected_quantile(confidence.z(), point.spread.fourth, theta * (1.0 - theta) / size + noise);
  }
  out.population = found;
  out.method = Method::Score;
  return out;
}

QuantileEdges quantile_edges(std::span<const SurvivalPoint> points, double survivors, Confidence confidence,
                             bool of_population) {
  enum class Side : std::uint8_t { Below, Neither, Above };  // where S is beside the quantile's share of survivors
  std::vector<Side> sides{Side::Below};
  QuantileEdges out;
  double lowest = 1.0;
  for (std::size_t j = 0; j < points.size(); ++j) {
    const SurvivalPoint& point = points[j];
    lowest = std::min(lowest, point.value);
    if (!out.first && lowest <= survivors) out.first = j + 1;
    const double sampled = of_population ? survivors * (1.0 - survivors) / point.effective_size : 0.0;
    const double total = sampled + point.spread.noise;
    const double q = corrected_quantile(confidence.z(), point.spread.fourth, total);
    const double off = (point.value - survivors) / std::sqrt(total);
    sides.push_back(off > q ? Side::Below : off < -q ? Side::Above : Side::Neither);
  }
  // Before the first edge that is not below the quantile's time lies the lower end; after the last one that is not
  // above it, the upper end. Beyond the horizon the last usable edge decides.
  const auto first_not_below = std::find_if(sides.begin(), sides.end(), [](Side side) { return side != Side::Below; });
  out.low = static_cast<std::size_t>(first_not_below - sides.begin()) - 1;
  const auto last_not_above = std::find_if(sides.rbegin(), sides.rend(), [](Side side) { return side != Side::Above; });
  if (last_not_above != sides.rbegin()) out.high = static_cast<std::size_t>(sides.rend() - last_not_above);
  return out;
}

}  // namespace undertone::statistics
