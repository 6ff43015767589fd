#include "lab/reproduce/authors_recipe.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numbers>

#include "shared/base/random_source.hpp"
#include "shared/models/layered_model.hpp"

namespace undertone::lab {
namespace {

/// One training, with its iterate and its generator.
class RecipeRun {
 public:
  RecipeRun(const AuthorsRecipe& recipe, const Cohort& cohort, const Task& task, const FigurePoint& point,
            const Setting& setting, std::uint64_t seed)
      : recipe_(recipe),
        cohort_(cohort),
        task_(task),
        point_(point),
        setting_(setting),
        source_(seed),
        gradient_(task.start.size()) {
    if (const models::Network* network = task.model.network()) layered_.emplace(*network);
  }

  Eigen::VectorXd train() {
    Eigen::VectorXd weights = task_.start;
    std::deque<Eigen::VectorXd> last = {weights};
    for (std::uint64_t round = 0; round < recipe_.rounds; ++round) {
      weights = point_.method == Method::LocalSgd ? local_round(weights) : minibatch_round(weights);
      last.push_back(weights);
      if (last.size() > recipe_.averaged) last.pop_front();
    }
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(weights.size());
    for (const Eigen::VectorXd& one : last) mean += one / static_cast<double>(last.size());
    return mean;
  }

 private:
  [[nodiscard]] bool clips() const { return recipe_.batch == AuthorsRecipe::Batch::ClippedMean; }

  /// K, of which local SGD makes as many steps.
  std::size_t batch_of(std::size_t silo) const {
    const double fraction = recipe_.draw_fraction ? *recipe_.draw_fraction : cohort_.draw_fraction.value_or(1.0);
    return static_cast<std::size_t>(std::max(1.0, std::floor(fraction * records_of(silo))));
  }
  double records_of(std::size_t silo) const { return static_cast<double>(task_.silos[silo].training.count()); }

  std::vector<std::size_t> answering() {
    std::vector<std::size_t> order = source_.permutation(task_.silos.size());
    order.resize(std::min(order.size(), cohort_.answering));
    return order;
  }

  /// Standard normal. Source: Box and Muller 1958.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - source_.unit()));
    return radius * std::cos(2.0 * std::numbers::pi * source_.unit());
  }
  void add_noise(Eigen::VectorXd& to, double rounds, std::size_t silo) {
    const double stddev = recipe_noise_stddev(setting_.clip, rounds, records_of(silo), point_.epsilon);
    for (double& one : to) one += stddev * normal();
  }

  /// Of a batch drawn with replacement: the clipped mean of its gradients, or their sum.
  const Eigen::VectorXd& batch_gradient(const Eigen::VectorXd& weights, std::size_t silo, std::size_t batch) {
    const models::Records& records = task_.silos[silo].training;
    std::vector<std::int64_t> drawn(batch);
    for (std::int64_t& one : drawn)
      one = static_cast<std::int64_t>(source_.below(static_cast<std::uint64_t>(records.count())));
    if (layered_) {
      layered_->gradient_sum(weights, records, drawn, gradient_);
    } else {
      linear_sum(weights, records, drawn);
    }
    if (!clips()) return gradient_;
    gradient_ /= static_cast<double>(batch);
    const double norm = gradient_.norm();
    if (norm > setting_.clip) gradient_ *= setting_.clip / norm;
    return gradient_;
  }

  void linear_sum(const Eigen::VectorXd& weights, const models::Records& records,
                  const std::vector<std::int64_t>& drawn) {
    const models::LinearModel& model = *task_.model.linear();
    const Eigen::Index features = model.features();
    gradient_.setZero();
    for (const std::int64_t j : drawn) {
      double score = records.features.col(j).dot(weights.head(features));
      if (model.intercept()) score += weights[features];
      const double norm_squared = records.features.col(j).squaredNorm() + (model.intercept() ? 1.0 : 0.0);
      const double theta = model.linear_loss().derivative(score, records.targets[j], norm_squared);
      gradient_.head(features) += theta * records.features.col(j);
      if (model.intercept()) gradient_[features] += theta;
    }
  }

  Eigen::VectorXd minibatch_round(const Eigen::VectorXd& weights) {
    const auto rounds = static_cast<double>(recipe_.rounds);
    const std::vector<std::size_t> silos = answering();
    Eigen::VectorXd step = Eigen::VectorXd::Zero(weights.size());
    for (const std::size_t silo : silos) {
      step += batch_gradient(weights, silo, batch_of(silo));
      if (clips()) add_noise(step, rounds, silo);
    }
    if (!clips()) {
      step /= static_cast<double>(silos.size());
      add_noise(step, rounds, 0);
    }
    return weights - setting_.step_size * step;
  }

  Eigen::VectorXd local_round(const Eigen::VectorXd& weights) {
    const std::vector<std::size_t> silos = answering();
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(weights.size());
    for (const std::size_t silo : silos) {
      const std::size_t steps = batch_of(silo);
      const double noisy_steps = static_cast<double>(recipe_.rounds) * static_cast<double>(steps);
      Eigen::VectorXd own = weights;
      for (std::size_t step = 0; step < steps; ++step) {
        Eigen::VectorXd direction = batch_gradient(own, silo, 1);
        add_noise(direction, noisy_steps, silo);
        own -= setting_.step_size * direction;
      }
      mean += own / static_cast<double>(silos.size());
    }
    return mean;
  }

  const AuthorsRecipe& recipe_;
  const Cohort& cohort_;
  const Task& task_;
  const FigurePoint& point_;
  const Setting& setting_;
  RandomSource source_;
  std::optional<models::LayeredModel> layered_;
  Eigen::VectorXd gradient_;
};

}  // namespace

double recipe_noise_stddev(double clip, double rounds, double records, double epsilon) {
  const double delta = 1.0 / (records * records);
  return clip * std::sqrt(8.0 * rounds * std::log(1.0 / delta)) / (records * epsilon);
}

Eigen::VectorXd train_by_recipe(const AuthorsRecipe& recipe, const Cohort& cohort, const Task& task,
                                const FigurePoint& point, const Setting& setting, std::uint64_t seed) {
  UNDERTONE_CHECK(point.method != Method::Spider && point.epsilon > 0.0 && recipe.averaged > 0);
  return RecipeRun(recipe, cohort, task, point, setting, seed).train();
}

}  // namespace undertone::lab
