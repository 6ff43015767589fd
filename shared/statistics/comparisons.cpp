#include "shared/statistics/comparisons.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::statistics {
namespace {

constexpr double kGroupSizeGate = 4.0;  // noise standard deviations of a group's size

struct Quantity {
  double variance = 0.0;  // of sum - t count, all of it
  double fourth = 0.0;    // its fourth cumulant, the noise's
};

/// A group with the numbers that every t needs.
struct Group {
  const GroupTotals& totals;
  double count_variance;
  double sum_variance;
  double count_fourth;
  double sum_fourth;

  explicit Group(const GroupTotals& group)
      : totals(group),
        count_variance(group.count_noise.variance()),
        sum_variance(group.sum_noise.variance()),
        count_fourth(group.count_noise.excess_kurtosis() * count_variance * count_variance),
        sum_fourth(group.sum_noise.excess_kurtosis() * sum_variance * sum_variance) {}

  /// C (1 - t^2), or less where u^2 says so.
  [[nodiscard]] double sampled(double t) const {
    const double most = std::max(0.0, totals.count) * (1.0 - t * t);
    if (!totals.square) return most;
    const double q = *totals.square - 2.0 * t * totals.sum + t * t * totals.count;
    const double noise =
        std::sqrt(totals.square_noise_variance + 4.0 * t * t * sum_variance + t * t * t * t * count_variance);
    return std::min(most, std::max(0.0, q) + noise + (1.0 + std::abs(t)) * std::sqrt(std::max(0.0, q)));
  }
  [[nodiscard]] Quantity at(double t, bool sampling) const {
    const double variance = sum_variance + t * t * count_variance + (sampling ? sampled(t) : 0.0);
    return {variance, sum_fourth + t * t * t * t * count_fourth};
  }
  /// > 0 where t is accepted.
  [[nodiscard]] double accepts(double t, bool sampling, double z) const {
    const Quantity whole = at(t, sampling);
    const double kurtosis = whole.fourth / (whole.variance * whole.variance);
    const double wide = z + (z * z * z - 3.0 * z) * kurtosis / 24.0;  // Cornish and Fisher
    const double gap = totals.sum - t * totals.count;
    return wide * wide * whole.variance - gap * gap;
  }
};

/// The last accepted t between one that is and an end, from the end inward: what is left out is refused.
double outermost(const Group& group, double from, double end, bool sampling, double z) {
  constexpr int kSteps = 512;
  if (group.accepts(end, sampling, z) > 0.0) return end;
  for (int i = 1; i <= kSteps; ++i) {
    double inside = end + (from - end) * i / kSteps;
    if (i < kSteps && group.accepts(inside, sampling, z) <= 0.0) continue;
    double outside = end + (from - end) * (i - 1) / kSteps;
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = 0.5 * (inside + outside);
      (group.accepts(middle, sampling, z) > 0.0 ? inside : outside) = middle;
    }
    return outside;
  }
  return end;
}

Interval fieller(const Group& group, double point, bool sampling, double z) {
  return {outermost(group, point, -1.0, sampling, z), outermost(group, point, 1.0, sampling, z)};
}

Located located(double value, Interval interval) { return {std::clamp(value, interval.low, interval.high), interval}; }

}  // namespace

Interval mover_difference(Located a, Located b) {
  a = located(a.value, a.interval);
  b = located(b.value, b.interval);
  const double gap = a.value - b.value;
  return {gap - std::hypot(a.value - a.interval.low, b.interval.high - b.value),
          gap + std::hypot(a.interval.high - a.value, b.value - b.interval.low)};
}

Stated state_difference(const Stated& a, const Stated& b) {
  Stated out;
  out.noise_stddev = std::hypot(a.noise_stddev, b.noise_stddev);
  if (!a.value || !b.value) {  // then an interval is trivial, and so is the difference's
    out.noise = {a.noise.low - b.noise.high, a.noise.high - b.noise.low};
    if (a.population && b.population)
      out.population = Interval{a.population->low - b.population->high, a.population->high - b.population->low};
    out.note = "refused: one of the two has no value";
    return out;
  }
  out.value = *a.value - *b.value;
  out.noise = mover_difference(located(*a.value, a.noise), located(*b.value, b.noise));
  if (a.population && b.population) {
    out.population = mover_difference(located(*a.value, *a.population), located(*b.value, *b.population));
    out.method = Method::Mover;
  }
  return out;
}

Result<Stated> state_group_mean(const GroupTotals& group, Confidence confidence, bool sampling) {
  if (!std::isfinite(group.count) || !std::isfinite(group.sum) || (group.square && !std::isfinite(*group.square)) ||
      !(std::isfinite(group.square_noise_variance) && group.square_noise_variance >= 0.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a group's mean: expected finite totals, got count {}, sum {}", group.count, group.sum)};
  }
  const Group known(group);
  const double count_stddev = std::sqrt(known.count_variance);
  Stated out;
  out.gate = group.count / count_stddev;
  if (!(group.count > kGroupSizeGate * count_stddev)) {
    out.noise = {-1.0, 1.0};
    if (sampling) out.population = Interval{-1.0, 1.0};
    out.note = fmt::format(
        "refused: the group's noised size is {:.2f} standard deviations of its noise, expected more "
        "than {}: it may be empty",
        *out.gate, kGroupSizeGate);
    return out;
  }
  out.value = group.sum / group.count;
  const double point = std::clamp(*out.value, -1.0, 1.0);
  out.noise_stddev = std::sqrt(known.at(point, false).variance) / group.count;  // first order
  out.noise = fieller(known, point, false, confidence.z());
  if (sampling) {
    out.population = fieller(known, point, true, confidence.z());
    out.method = Method::Fieller;
  }
  return out;
}

}  // namespace undertone::statistics
