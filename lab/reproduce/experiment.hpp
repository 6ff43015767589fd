#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/split.hpp"
#include "shared/models/model.hpp"

/// The experiments of federated-core 4 (B.1.10, B.2.4), as data.
namespace undertone::lab {

/// Spider: of Algorithm 4 at every period and Algorithm 25, the one with the least training loss.
enum class Method : std::uint8_t { MinibatchSgd, LocalSgd, Spider };
enum class NoiseRule : std::uint8_t {
  None,        // the baselines without privacy
  Paper,       // the source's own noise, whatever it really costs
  Accountant,  // the least noise whose cost is certified
  Recipe,      // what the authors' public code does, which is NOT private at the epsilon it names
};
[[nodiscard]] std::string_view to_string(Method method) noexcept;
[[nodiscard]] std::string_view to_string(NoiseRule rule) noexcept;

/// One federation of an experiment: a picture's panel.
struct Cohort {
  std::string title;
  std::size_t silos = 0;      // N
  std::size_t answering = 0;  // M
  std::uint64_t rounds = 0;   // R
  /// K / n of MB-SGD and of local SGD's steps in a round; nothing: sqrt(epsilon) / (2 sqrt(R)), 1/2 without privacy
  std::optional<double> draw_fraction;
};

/// What the authors' public code does and their text does not say. NOT PRIVATE at the epsilon shown, see
/// train_by_recipe. Source: github.com/lowya/Private-Federated-Learning-Without-a-Trusted-Server,
/// DP_FL_insurance_linreg_FINAL.py and multiclasslogistic_convexFL_obesity.py.
struct AuthorsRecipe {
  enum class Batch : std::uint8_t {
    ClippedMean,  // the mean of a batch is clipped, and silos' means are added up
    Sum           // the gradients of a batch are added up, and one silo's noise is added to the mean over silos
  };
  Batch batch = Batch::ClippedMean;
  std::uint64_t rounds = 0;             // R
  std::optional<double> draw_fraction;  // K / n; nothing: the cohort's
  std::size_t averaged = 1;             // so many last iterates are averaged and tested
  std::string note;                     // what it does, for the report
};

/// What one split of the data gives every method: the same records and the same start.
struct Task {
  models::Model model;
  Eigen::VectorXd start;
  std::vector<data::Dataset> silos;  // training records alone
  models::Records train;             // of all silos; images that several hold count once
  models::Records test;
  std::optional<double> clip;  // where a bound is known, so that nothing is cut: no other is tried
};

/// "A is better than B", for each epsilon of a range and each cohort.
struct Claim {
  std::string text;
  Method better = Method::MinibatchSgd;
  Method worse = Method::LocalSgd;
  bool worse_private = true;  // else the baseline without privacy
  double epsilon_min = 0.0;
  double epsilon_max = 1e9;
  double margin = 0.0;               // of the test error that A has to be better by; negative: may be worse by
  std::optional<double> below = {};  // instead of B: A's test error is below this
};

struct Experiment {
  std::string name;   // "fig3.5"
  std::string title;  // of the picture
  std::string error;  // what the test error is, for the axis
  std::vector<Cohort> cohorts;
  std::vector<Method> methods;
  std::vector<double> epsilons;
  std::vector<double> minibatch_steps;  // of MB-SGD and SPIDER
  std::vector<double> local_steps;
  std::vector<double> clips;           // tried where the task has no clip of its own
  std::vector<std::uint64_t> periods;  // q of SPIDER
  std::size_t splits = 0;
  std::size_t repetitions = 1;
  std::size_t widenings = 4;  // how often a grid of steps may grow where the best step lies on its edge
  bool judged = true;         // whether the grid is one to judge claims by
  std::optional<AuthorsRecipe> recipe;
  std::vector<Claim> claims;
  std::vector<std::string> notes;  // what departs from the source
  /// @param data the folder of the data sets @param split seeds it
  std::function<Result<Task>(const std::filesystem::path& data, const Cohort& cohort, std::uint64_t split)> load;
};

/// The rules of private noise that a figure is made with.
[[nodiscard]] std::vector<NoiseRule> noise_rules(const Experiment& experiment);

/// Every figure, in the order of the text. @param name "fig3.5"; nothing where there is none of that name
[[nodiscard]] const std::vector<Experiment>& experiments();
[[nodiscard]] const Experiment* find_experiment(std::string_view name);

/// A small part of an experiment that still says something: four splits, one repetition, three epsilons, three or four
/// steps that do not grow, at most three clips, one cohort. No claim is judged by it.
[[nodiscard]] Experiment quick(Experiment experiment);

}  // namespace undertone::lab
