#pragma once

#include <optional>
#include <string>

#include "shared/algorithms/method.hpp"
#include "shared/config/json_section.hpp"
#include "shared/jobs/noise_choice.hpp"
#include "shared/jobs/shuffle_section.hpp"
#include "shared/releases/unit.hpp"
#include "shared/theorems/mean_oracle.hpp"

namespace undertone::jobs {

inline constexpr double kBoundMin = 1e-9;  // of a record's gradient
inline constexpr double kBoundMax = 1e9;

/// This is what a job knows of records' gradients where it gives no clip norm.
struct Moments {
  theorems::MomentBound bound;  // of norms, or of every coordinate
  std::string source;           // where it comes from, for people
  std::optional<theorems::CoordinateMeans> coordinates = {};

  /// @param dimension of a gradient
  [[nodiscard]] theorems::MeanOracle oracle(double dimension) const {
    return coordinates ? theorems::MeanOracle(bound, dimension, *coordinates) : theorems::MeanOracle(bound, dimension);
  }
};

/// A job's "privacy".
struct Privacy {
  bool shuffled = false;
  releases::Unit unit = releases::Unit::Record;
  std::optional<releases::PersonContribution> person;  // of the unit person
  std::optional<std::size_t> silos_per_person;         // of the unit person: without it she may be at all of them
  std::optional<double> clip_norm;
  std::optional<double> coordinate_bound;
  std::optional<Moments> moments;         // the clip norm follows from them
  std::optional<bool> generalised_noise;  // the law that was named, or the method's own
  crypto::NoiseKind noise = crypto::NoiseKind::Secure;
  NoiseChoice noise_choice;
  std::optional<Shuffle> shuffle;
};

/// @param statistics of a job of statistics, which bounds no gradients
[[nodiscard]] Privacy parse_privacy(config::Section section, bool statistics);

/// The bound that the method asks for, which is the only one that the job may give; another is noted.
[[nodiscard]] releases::Bound bound_of(const Privacy& privacy, const algorithms::Method& method,
                                       config::Problems& problems);

/// r of the l_r norm by which the job's noise is of generalised Gaussian law: the one with the least regularity for the
/// dual norm that records are bounded in. Nothing where it is Gaussian, as where that norm is l2. What does not go with
/// the method is noted. @see geometry::regular_norm
[[nodiscard]] std::optional<double> noise_norm_of(const Privacy& privacy, const algorithms::Method& method,
                                                  config::Problems& problems);

}  // namespace undertone::jobs
