#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "shared/base/random_source.hpp"

namespace undertone::tests {

/// Of the least-squares line through (x, y): equally many, at least two different x.
inline double slope(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0.0;
  double mean_y = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  double covariance = 0.0;
  double variance = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    covariance += (x[i] - mean_x) * (y[i] - mean_y);
    variance += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return covariance / variance;
}

/// One point of an axis: what was varied, and the risk of every run.
struct Point {
  double at = 0.0;
  std::vector<double> risks;
  double noiseless = 0.0;  // the risk of the same steps without noise
  [[nodiscard]] double mean() const {
    double sum = 0.0;
    for (const double risk : risks) sum += risk;
    return sum / static_cast<double>(risks.size());
  }
};

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

/// The fitted slope of the mean risk on log-log axes, refitted to 2000 resamples of the runs at every point: from the
/// smallest of these slopes to the largest, some 3.3 standard errors either way.
inline Interval slope_interval(const std::vector<Point>& points) {
  RandomSource random(5);
  std::vector<double> x;
  x.reserve(points.size());
  for (const Point& point : points) x.push_back(std::log(point.at));
  Interval out{1e9, -1e9};
  for (int resample = 0; resample < 2000; ++resample) {
    std::vector<double> y;
    for (const Point& point : points) {
      double sum = 0.0;
      for (std::size_t i = 0; i < point.risks.size(); ++i) sum += point.risks[random.below(point.risks.size())];
      y.push_back(std::log(sum));
    }
    const double fitted = slope(x, y);
    out = {std::min(out.low, fitted), std::max(out.high, fitted)};
  }
  return out;
}

}  // namespace undertone::tests
