#include "shared/statistics/variances.hpp"

#include <algorithm>
#include <cmath>

#include "shared/statistics/moment_checks.hpp"

namespace undertone::statistics {
namespace {

constexpr double kBoxNoise = 0.06;
constexpr double kFar95 = 1.96;

struct PooledVariance {
  double value = 0.0;         // V
  double noise_stddev = 0.0;  // s
  double per_record = 0.0;    // max c_i / n_i
  double range = 0.0;         // W: the largest square of a deviation
  bool needs_box = false;
};

PooledVariance pooled(const std::vector<SiloMoments>& silos) {
  PooledVariance out;
  double variance = 0.0;
  for (const SiloMoments& silo : silos) {
    const auto n = static_cast<double>(silo.records);
    const double m = silo.mean.value;
    const double held = std::clamp(m, -1.0, 1.0);
    const double v1 = silo.mean.noise.variance();
    const double of_silo = (silo.square->value - m * m + v1) * n / (n - 1.0);
    out.value += silo.weight * of_silo;
    variance += silo.weight * silo.weight * (silo.square->noise.variance() + 4.0 * held * held * v1 + 2.0 * v1 * v1);
    out.per_record = std::max(out.per_record, silo.weight / n);
    out.needs_box = out.needs_box || std::sqrt(v1) > kBoxNoise;
    const double off = kFar95 * (std::sqrt(v1) + std::sqrt(std::clamp(of_silo, 0.0, 1.0) / n));
    const double farthest = 1.0 + std::min(1.0, std::abs(held) + off);
    out.range = std::max(out.range, farthest * farthest);
  }
  out.noise_stddev = std::sqrt(variance);
  return out;
}

/// The variances that intervals of a mean and of a mean square leave.
Interval box(Interval mean, Interval square) {
  const double low = mean.low * mean.low;
  const double high = mean.high * mean.high;
  const double least = mean.holds(0.0) ? 0.0 : std::min(low, high);
  const double smallest = std::max(0.0, square.low - std::max(low, high));
  return {smallest, std::max(smallest, square.high - least)};
}

/// Both moments of a silo, each at half of a level.
Interval silo_box(const SiloMoments& silo, Confidence each, bool sampling) {
  const auto n = static_cast<double>(silo.records);
  const double square = std::clamp(silo.square->value, 0.0, 1.0);
  if (!sampling) {
    const double mean = std::clamp(silo.mean.value, -1.0, 1.0);
    const double mean_half = silo.mean.noise.half_width(each.alpha());
    const double square_half = silo.square->noise.half_width(each.alpha());
    return box(cut_to({mean - mean_half, mean + mean_half}, {-1.0, 1.0}),
               cut_to({square - square_half, square + square_half}, {0.0, 1.0}));
  }
  // u^2 is in [0, 1]: 2 u^2 - 1 is a number like u. Twice a law that was sound is one.
  const NoiseLaw twice = NoiseLaw::sum({{silo.square->noise, 2.0}}).value();
  const Interval raised = score_mean(2.0 * square - 1.0, n, twice, each);
  return box(score_mean(silo.mean.value, n, silo.mean.noise, each),
             {0.5 * (1.0 + raised.low), 0.5 * (1.0 + raised.high)});
}

Interval boxes(const std::vector<SiloMoments>& silos, Confidence confidence, bool sampling) {
  const Confidence each = confidence.shared_by(2 * static_cast<std::int64_t>(silos.size()));
  Interval out;
  for (const SiloMoments& silo : silos) {
    const Interval one = silo_box(silo, each, sampling);
    // An interval of the sample's value is of M2 - m^2; the estimate has n - 1.
    const auto n = static_cast<double>(silo.records);
    const double factor = sampling ? 1.0 : n / (n - 1.0);
    out.low += silo.weight * factor * one.low;
    out.high += silo.weight * factor * one.high;
  }
  return out;
}

/// Accepts V iff |estimate - V| <= z sqrt(V (range - V) per_record + noise^2).
Interval variance_score(const PooledVariance& variance, double z) {
  const double square = z * z * variance.per_record;
  const double held = std::clamp(variance.value, 0.0, 1.0);
  const double lead = 1.0 + square;
  const double middle = held + 0.5 * square * variance.range;
  const double noise = z * variance.noise_stddev;
  const double root = std::sqrt(std::max(middle * middle - lead * (held * held - noise * noise), 0.0));
  return cut_to({(middle - root) / lead, (middle + root) / lead}, {0.0, 1.0});
}

}  // namespace

Result<Stated> state_variance(const std::vector<SiloMoments>& silos, Confidence confidence, bool sampling) {
  UNDERTONE_TRY(check_moments(silos, true));
  const PooledVariance variance = pooled(silos);
  Stated out;
  out.value = variance.value;
  out.noise_stddev = variance.noise_stddev;
  if (variance.needs_box) {
    out.noise = boxes(silos, confidence, false);
    out.note = fmt::format(
        "the noise of a mean is above {} of the half-width of its bounds: intervals of both moments "
        "stand in for one of the variance",
        kBoxNoise);
  } else {
    // The sample's value is known up to n / (n - 1) above 1.
    const double held = std::max(0.0, variance.value);
    const double half = confidence.z() * variance.noise_stddev;
    out.noise = {std::max(0.0, held - half), held + half};
  }
  if (sampling) {
    out.population = variance.needs_box ? boxes(silos, confidence, true) : variance_score(variance, confidence.z());
    out.method = variance.needs_box ? Method::Box : Method::VarianceScore;
  }
  return out;
}

Stated standard_deviation_of(const Stated& variance) {
  const auto root = [](Interval interval) {
    return Interval{std::sqrt(std::max(0.0, interval.low)), std::sqrt(std::max(0.0, interval.high))};
  };
  Stated out = variance;
  if (out.value) out.value = std::sqrt(std::max(0.0, *out.value));
  // First order, where there is a value to speak of.
  out.noise_stddev = out.value && *out.value > 0.0 ? variance.noise_stddev / (2.0 * *out.value) : 0.0;
  out.noise = root(variance.noise);
  if (variance.population) out.population = root(*variance.population);
  return out;
}

Result<Stated> state_variance_by_four_moments(const FourMoments& moments, Confidence confidence, bool sampling) {
  if (moments.records < 2) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a variance: expected two records or more, got {}", moments.records)};
  }
  for (std::size_t i = 0; i < 4; ++i) {
    if (!std::isfinite(moments.moments[i]) || !(moments.noise_variances[i] > 0.0)) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("moment {} of u: expected a finite number with a noise variance > 0, got {} with {}",
                               i + 1, moments.moments[i], moments.noise_variances[i])};
    }
  }
  const auto n = static_cast<double>(moments.records);
  const auto& [m1, m2, m3, m4] = moments.moments;
  const auto& [v1, v2, v3, v4] = moments.noise_variances;
  const double m = std::clamp(m1, -1.0, 1.0);
  const double value = (m2 - m1 * m1 + v1) * n / (n - 1.0);
  const double noise_variance = v2 + 4.0 * m * m * v1 + 2.0 * v1 * v1;
  // mu_4 = M4 - 4 m M3 + 6 m^2 M2 - 3 m^4, raised by one sd of its noise, first order.
  const double by_mean = -4.0 * m3 + 12.0 * m * m2 - 12.0 * m * m * m;
  const double spread = std::sqrt(v4 + 16.0 * m * m * v3 + 36.0 * m * m * m * m * v2 + by_mean * by_mean * v1);
  const double fourth = std::max(0.0, m4 - 4.0 * m * m3 + 6.0 * m * m * m2 - 3.0 * m * m * m * m + spread);
  const double held = std::clamp(value, 0.0, 1.0);
  Stated out;
  out.value = value;
  out.noise_stddev = std::sqrt(noise_variance);
  const double noise_half = confidence.z() * out.noise_stddev;
  out.noise = {std::max(0.0, held - noise_half), held + noise_half};
  if (std::sqrt(v1) > kBoxNoise) {
    out.noise = {0.0, n / (n - 1.0)};
    if (sampling) out.population = Interval{0.0, 1.0};
    out.value.reset();
    out.note = fmt::format("refused: the noise of the mean, {:.3f}, is above {} of the half-width of its bounds",
                           std::sqrt(v1), kBoxNoise);
    return out;
  }
  if (!sampling) return out;
  const double half = confidence.z() * std::sqrt(std::max(0.0, fourth - held * held) / n + noise_variance);
  out.population = cut_to({held - half, held + half}, {0.0, 1.0});
  out.method = Method::FourMoment;
  if (n * value < 100.0) {
    out.note = fmt::format("flagged: records x variance is {:.3g}, below 100, where this interval covers less often",
                           n * value);
  }
  return out;
}

}  // namespace undertone::statistics
