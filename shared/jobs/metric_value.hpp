#pragma once

#include <optional>
#include <string>

namespace undertone::jobs {

/// Of the standard normal law at 0.975: a 95 % interval is so many standard deviations to either side.
inline constexpr double kQuantile = 1.959964;

/// A number that an evaluation says or that follows from it, such as an accuracy or an RMSE in the label's unit.
struct MetricValue {
  std::string name;
  double value = 0.0;
  /// Of what the silos' noise does to it, to first order. Nothing where there is no noise, or none that is known.
  std::optional<double> noise_stddev = {};
};

}  // namespace undertone::jobs
