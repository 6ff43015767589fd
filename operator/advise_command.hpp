#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::operators {

/// This says which of three ways has the least error in the mean gradient of a whole run: the public records alone, the
/// silos alone, or both at the best weight. It assumes that all records have one law.
struct PublicAdvice {
  std::int64_t records = 0;   // public ones
  double public_alone = 0.0;  // root of the mean squared error, each
  double silos_alone = 0.0;
  double both = 0.0;
  double even = 0.0;  // public records with which the first two are alike
  double free = 0.0;  // with which both is within a tenth of what it would be without noise
  std::string best;   // "public_alone", "silos_alone", "both": the one that is best by a twentieth, else "public_alone"
                      // or "silos_alone", which take less, by the smaller error
};
/// @param variance V^2 of one record's gradient, > 0 @param records n_pub, >= 1
/// @param silos the mean squared error of the silos' mean gradient, its noise and its sampling, > 0
/// @param sampling of it, without noise, in (0, silos]
[[nodiscard]] PublicAdvice public_advice(double variance, double records, double silos, double sampling);

/// A bound on the excess risk of convex losses up to constants, as the source states it for one party that holds all
/// records. Source: spec public-data 7.
struct PublicRate {
  double public_alone = 0.0;
  double protected_alone = 0.0;
  double helps_above = 0.0;  // public records
};
/// For (epsilon, delta) it is L D min(1 / sqrt(n_pub), sqrt(d ln(1/delta)) / (n epsilon) + 1 / sqrt(n)).
/// @param scale L D
[[nodiscard]] PublicRate public_rate(double scale, double dimension, double records, double public_records,
                                     double epsilon, double delta);

/// `undertone advise`: what a job's public records are good for. @return an exit code
[[nodiscard]] int advise_job(const std::filesystem::path& job, bool json);

}  // namespace undertone::operators
