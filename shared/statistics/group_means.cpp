#include "shared/statistics/group_means.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace undertone::statistics {
namespace {

constexpr double kCountDeviations = 4.0;  // of its noise, that a group's count has to be above
constexpr double kSpreadEnough = 20.0;    // of a group about the common mean, in records
constexpr int kReweighings = 8;
constexpr double kNoVariance = 1e-9;

/// The variance of the sum of u - theta over a group's records, as its totals tell it: raised by half a deviation of
/// its noise, and at most what numbers in [-1, 1] allow.
double group_variance(const GroupMoments& group, const GroupMomentsNoise& noise, double theta, bool largest) {
  const double most = std::max(group.count, 0.0) * (1.0 - theta * theta);
  if (largest) return most;
  const double square = theta * theta;
  const double deviation = std::sqrt(noise.square + 4.0 * square * noise.sum + square * square * noise.count);
  const double found = std::max(group.square - 2.0 * theta * group.sum + square * group.count, 0.0);
  return std::min(found + 0.5 * deviation, most + deviation);
}

double mean_within(const GroupMoments& group) { return std::clamp(group.sum / std::max(group.count, 1.0), -1.0, 1.0); }

/// G(delta) = constant - slope delta, and its variance = zeroth + first delta + second delta^2.
struct ContrastOfMeans {
  double constant = 0.0;
  double slope = 0.0;
  double zeroth = 0.0;
  double first = 0.0;
  double second = 0.0;
};
ContrastOfMeans contrast_of(const GroupMoments& one, const GroupMoments& other, const GroupMomentsNoise& noise,
                            bool sampling) {
  ContrastOfMeans out;
  const double c1 = one.count;
  const double c2 = other.count;
  out.constant = one.sum * c2 - other.sum * c1;
  out.slope = c1 * c2;
  out.zeroth = noise.sum * (c1 * c1 + c2 * c2) + noise.count * (other.sum * other.sum + one.sum * one.sum) +
               2.0 * noise.sum * noise.count;
  if (sampling)
    out.zeroth += c2 * c2 * group_variance(one, noise, mean_within(one), false) +
                  c1 * c1 * group_variance(other, noise, mean_within(other), false);
  out.first = 2.0 * noise.count * (other.sum * c2 - one.sum * c1);
  out.second = noise.count * (c1 * c1 + c2 * c2) + noise.count * noise.count;
  return out;
}

/// All delta of which G(delta)^2 <= z^2 its variance, within [-2, 2].
Interval accepted(const ContrastOfMeans& contrast, double z) {
  const Interval all{-2.0, 2.0};
  const double a = contrast.slope * contrast.slope - z * z * contrast.second;
  const double b = -2.0 * contrast.constant * contrast.slope - z * z * contrast.first;
  const double c = contrast.constant * contrast.constant - z * z * contrast.zeroth;
  const double under_root = b * b - 4.0 * a * c;
  if (!(a > 0.0) || !(under_root >= 0.0)) return all;
  const double root = std::sqrt(under_root);
  return cut_to({(-b - root) / (2.0 * a), (-b + root) / (2.0 * a)}, all);
}

}  // namespace

Stated state_mean_difference(const GroupMoments& first, const GroupMoments& second, const GroupMomentsNoise& noise,
                             Confidence confidence, bool sampling) {
  Stated out;
  out.noise = accepted(contrast_of(first, second, noise, false), confidence.z());
  if (sampling) {
    out.population = accepted(contrast_of(first, second, noise, true), confidence.z());
    out.method = Method::Fieller;
  }
  const double least = kCountDeviations * std::sqrt(noise.count);
  if (!(first.count > least && second.count > least)) {
    out.note = "refused: a group's noised size is within four standard deviations of its noise";
    return out;
  }
  out.value = first.sum / first.count - second.sum / second.count;
  return out;
}

MeansTest test_means(const std::vector<GroupMoments>& groups, const GroupMomentsNoise& noise) {
  UNDERTONE_CHECK(groups.size() >= 2);
  MeansTest out;
  out.degrees = groups.size() - 1;
  if (groups.size() == 2) {
    const ContrastOfMeans contrast = contrast_of(groups[1], groups[0], noise, true);
    out.statistic = contrast.constant * contrast.constant / std::max(contrast.zeroth, kNoVariance);
  } else {
    double count = 0.0;
    double sum = 0.0;
    for (const GroupMoments& group : groups) {
      count += group.count;
      sum += group.sum;
    }
    double theta = std::clamp(sum / std::max(count, 1.0), -1.0, 1.0);
    out.largest_variance = std::any_of(groups.begin(), groups.end(), [&](const GroupMoments& group) {
      return group.square - 2.0 * theta * group.sum + theta * theta * group.count < kSpreadEnough;
    });
    const auto weight = [&](const GroupMoments& group) {
      return 1.0 / (noise.sum + theta * theta * noise.count +
                    group_variance(group, noise, theta, out.largest_variance) + kNoVariance);
    };
    for (int i = 0; i < kReweighings; ++i) {
      double above = 0.0;
      double below = 0.0;
      for (const GroupMoments& group : groups) {
        above += weight(group) * group.count * group.sum;
        below += weight(group) * group.count * group.count;
      }
      theta = std::clamp(above / std::max(below, kNoVariance), -1.0, 1.0);
    }
    for (const GroupMoments& group : groups)
      out.statistic += weight(group) * std::pow(group.sum - theta * group.count, 2);
    out.common_mean = theta;
  }
  out.p_value = std::isfinite(out.statistic)
                    ? boost::math::gamma_q(0.5 * static_cast<double>(out.degrees), 0.5 * out.statistic)
                    : 1.0;
  return out;
}

}  // namespace undertone::statistics
