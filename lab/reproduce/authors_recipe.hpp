#pragma once

#include <Eigen/Core>

#include "lab/reproduce/training.hpp"

namespace undertone::lab {

/// Trains MB-SGD or local SGD as the authors' public code does. It is NOT PRIVATE at the epsilon of the point: its
/// noise,
///   stddev = L sqrt(8 R ln(1/delta)) / (n epsilon)  (local SGD: K R for R),
/// is the source's for the mean of K gradients of norm at most L, which one record moves by 2 L / K, and it is added to
/// a clipped mean or to a sum of gradients, which one record moves by up to 2 L. It exists to show where figures that
/// cannot be repeated come from. Batches are drawn with replacement, as theirs are. Noise is of a plain seeded
/// generator.
/// @param point of MB-SGD or local SGD, with an epsilon @param setting its clip is L
/// @return the average of the last iterates; not finite where the training diverged
[[nodiscard]] Eigen::VectorXd train_by_recipe(const AuthorsRecipe& recipe, const Cohort& cohort, const Task& task,
                                              const FigurePoint& point, const Setting& setting, std::uint64_t seed);

/// The recipe's noise. @param rounds R, of local SGD K R @param records n @return in the unit of clip
[[nodiscard]] double recipe_noise_stddev(double clip, double rounds, double records, double epsilon);

}  // namespace undertone::lab
