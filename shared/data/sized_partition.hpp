#pragma once

#include "shared/data/partition.hpp"

/// Deals a public table to silos whose numbers of records are given beforehand, as a job's cohort states them.
namespace undertone::data {

/// Silo i gets records of the class i mod classes alone, no record twice.
/// @param labels each in 0 .. classes-1, here and below
/// @param sizes of the silos, each > 0, here and below @return an error where a class has fewer than its silos ask for
[[nodiscard]] Result<Partition> deal_by_label(const std::vector<int>& labels, int classes,
                                              const std::vector<std::size_t>& sizes, RandomSource& source);

/// Silo after silo draws class proportions from Dirichlet(concentration, ..., concentration), then each of its records
/// from a class drawn by them, without replacement: the smaller the concentration, the less the silos are alike. A
/// class that is used up leaves its share to the others, so that silos of a table that is dealt whole are the more
/// alike the later they come. The proportions are drawn first: of one seed and number of silos and classes they are the
/// same for every table. Source: Hsu, Qi and Brown 2019, Measuring the Effects of Non-Identical Data Distribution,
/// section 3, with a uniform prior.
[[nodiscard]] Result<Partition> deal_by_dirichlet(const std::vector<int>& labels, int classes,
                                                  const std::vector<std::size_t>& sizes, double concentration,
                                                  RandomSource& source);

/// Chooses as many records as the sizes add up to at random, then deals them in slices in the order of their targets,
/// equal targets in the order of the draw. @param targets finite
[[nodiscard]] Result<Partition> deal_sorted(const std::vector<double>& targets, const std::vector<std::size_t>& sizes,
                                            RandomSource& source);

}  // namespace undertone::data
