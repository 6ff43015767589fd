#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "shared/algorithms/one_round/statistic_asked.hpp"
#include "shared/releases/silo_facts.hpp"

namespace undertone::jobs {

/// The standard deviation of the mean of one coordinate in units of its range, over all silos: with totals by Gaussian
/// noise (Laplace noise of silos that promise a pure epsilon), or with reports, at the same part of each silo's
/// promise. For comparison and choice, before anything is calibrated.
struct FunctionNoise {
  double totals = 0.0;
  double reports = 0.0;
};

/// This class answers what noise the promises of a cohort allow. It works out each promise once, however many silos
/// make it, so that a question takes the same time for thousands of silos as for one.
class CohortNoise {
 public:
  /// @param cohort one or more; outlives this
  explicit CohortNoise(const std::vector<releases::SiloFacts>& cohort);

  [[nodiscard]] const std::vector<releases::SiloFacts>& cohort() const noexcept { return *cohort_; }
  /// Of all silos together.
  [[nodiscard]] double records() const noexcept { return records_; }
  /// The least of the silos'.
  [[nodiscard]] double least_epsilon() const noexcept { return least_epsilon_; }
  /// The shift of Gaussian noise that the promise allows in all. @pre a silo of the cohort makes it
  [[nodiscard]] double shift_of(const releases::ApproximateDp& promise) const;
  /// @param questions that share each silo's promise
  [[nodiscard]] FunctionNoise of(const algorithms::FunctionAsked& settled, std::size_t questions) const;
  /// The standard deviation of the mean of a number in [-1, 1] over all silos, by their totals.
  [[nodiscard]] double of_mean(std::size_t questions) const;

 private:
  const std::vector<releases::SiloFacts>* cohort_;
  std::map<std::pair<double, double>, double> shifts_;  // by epsilon and delta
  double records_ = 0.0;
  double least_epsilon_ = 0.0;
  double gaussian_ = 0.0;  // sum of 1 / shift^2 over silos with Gaussian noise
  double pure_ = 0.0;      // sum of 1 / epsilon^2 over the others
  std::map<double, std::int64_t> records_by_epsilon_;
};

}  // namespace undertone::jobs
