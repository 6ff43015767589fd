#pragma once

#include <cstdint>
#include <vector>

#include "lab/reproduce/experiment.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::lab {

/// What one method does with one privacy target: every setting that is tried reads the same releases, so their cost is
/// that of one (tuning is not paid for, which every figure says).
struct Setting {
  double step_size = 0.0;
  double clip = 0.0;
  std::uint64_t period = 0;  // of SPIDER; 0: Algorithm 25
};

/// One point of a figure before averaging over splits.
struct FigurePoint {
  Method method = Method::MinibatchSgd;
  NoiseRule noise = NoiseRule::None;
  double epsilon = 0.0;  // the target; nothing is said without privacy
};

struct Trained {
  Setting setting;            // the one with the least training loss
  double training_loss = 0;   // mean over repetitions
  double test_error = 0;      // mean over repetitions, at that setting
  double diverged = 0;        // share of the settings without a finite training loss
  bool step_at_edge = false;  // the grid of steps, as far as it grew, ends at the setting's
  bool clip_at_edge = false;  // the same of the clip norms, where several are tried
};

/// Settings that a method tries for a task.
[[nodiscard]] std::vector<Setting> settings_of(const Experiment& experiment, const Task& task, Method method);

/// Tunes and tests one point on one split: every setting, every repetition, the algorithms and silo code that jobs use
/// (of NoiseRule::Recipe, train_by_recipe). Where the best step lies on the edge of the grid, steps beyond it are
/// tried, at the grid's own ratio, up to Experiment::widenings times.
/// @param seed of all noise and draws
[[nodiscard]] Result<Trained> train_point(const Experiment& experiment, const Cohort& cohort, const Task& task,
                                          const FigurePoint& point, std::uint64_t seed);

/// What the noise of a point costs one silo, by numeric composition: at most `epsilon`, and some pair of neighbours
/// reaches `attained`.
struct RealCost {
  double epsilon = 0.0;
  double attained = 0.0;
};
/// @param point not of NoiseRule::Recipe, whose noise bounds nothing that is shown
/// @param setting for its period alone @return the dearest silo's
[[nodiscard]] Result<RealCost> real_cost(const Cohort& cohort, const Task& task, const FigurePoint& point,
                                         const Setting& setting);

/// Mean loss over records; infinity where it is not finite.
[[nodiscard]] double mean_loss(const models::Model& model, const Eigen::VectorXd& weights,
                               const models::Records& records);
/// Share of wrong classes; of regression the relative root mean square error, against predicting the mean training
/// target: B.1.10.2. Infinity, or 1 where the target is a class, for a model that is not finite.
[[nodiscard]] double test_error(const Task& task, const Eigen::VectorXd& weights);

}  // namespace undertone::lab
