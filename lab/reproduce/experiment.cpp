#include "lab/reproduce/experiment.hpp"

#include <algorithm>
#include <cmath>

#include "lab/reproduce/tasks.hpp"

namespace undertone::lab {
namespace {

/// `count` numbers evenly spaced in the logarithm from e^from to e^to. The source prints "evenly spaced points between
/// e^-6 and 1": powers of e as ends suggest the logarithm, and one grid is said to be one.
std::vector<double> powers(double from, double to, std::size_t count) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(std::exp(from + (to - from) * static_cast<double>(i) / static_cast<double>(count - 1)));
  return out;
}

const std::vector<double>& wide_epsilons() {
  static const std::vector<double> values = {0.75, 1.0, 1.5, 3.0, 6.0, 12.0, 18.0};
  return values;
}

const char* const kNotPrivate =
    "preprocessing, bounds and tuning looked at all training records: that is not private, and not paid for in any "
    "epsilon shown";
const char* const kWithoutReplacement = "batches are drawn without replacement, the source draws with replacement";
const char* const kFiveSilos =
    "each image sits in five silos, so that no silo's epsilon bounds what all of them together say of an image";

Experiment mnist_logistic(std::string name, const std::vector<std::size_t>& answering) {
  Experiment out;
  out.name = std::move(name);
  out.title = "Logistic regression, MNIST digits odd or even";
  out.error = "test error";
  for (const std::size_t m : answering)
    out.cohorts.push_back({fmt::format("N = 25, M = {}, K = 443, R = 35", m), 25, m, 35, 443.5 / 1238.0});
  out.methods = {Method::MinibatchSgd, Method::LocalSgd};
  out.epsilons = {0.75, 1.5, 3.0, 6.0, 12.0, 18.0};
  out.minibatch_steps = powers(-6.0, 0.0, 10);
  out.local_steps = powers(-8.0, -1.0, 10);
  out.splits = 20;
  out.repetitions = 3;
  out.claims = {{"ISRL-DP MB-SGD beats ISRL-DP local SGD at every epsilon",
                 Method::MinibatchSgd,
                 Method::LocalSgd,
                 true,
                 0.0,
                 1e9,
                 0.0,
                 {}},
                {"ISRL-DP MB-SGD beats local SGD without privacy for epsilon >= 12",
                 Method::MinibatchSgd,
                 Method::LocalSgd,
                 false,
                 12.0,
                 1e9,
                 0.0,
                 {}}};
  out.notes = {kNotPrivate, kWithoutReplacement, kFiveSilos,
               "images are of MNIST's file of 10,000: 774 of each digit, split before they are assigned to silos"};
  out.load = mnist_logistic_task;
  return out;
}

Experiment insurance(std::string name, const std::vector<std::pair<std::size_t, std::size_t>>& silos_answering) {
  Experiment out;
  out.name = std::move(name);
  out.title = "Linear regression, medical costs";
  out.error = "relative test RMSE";
  for (const auto& [n, m] : silos_answering)
    out.cohorts.push_back(
        {fmt::format("N = {}, M = {}, R = 35", n, m), n, m, 35, std::sqrt(3.0) / (2.0 * std::sqrt(35.0)) / 0.8});
  out.methods = {Method::MinibatchSgd, Method::LocalSgd};
  out.epsilons = {0.125, 0.25, 0.5, 1.0, 2.0, 3.0};
  out.minibatch_steps = powers(-8.0, 1.0, 10);
  out.local_steps = powers(-10.0, 0.0, 10);
  out.clips = {1e2, 1e4, 1e6, 1e8, 1e32};
  out.splits = 20;
  out.repetitions = 3;
  out.claims = {{"ISRL-DP MB-SGD beats ISRL-DP local SGD at epsilon <= 2",
                 Method::MinibatchSgd,
                 Method::LocalSgd,
                 true,
                 0.0,
                 2.0,
                 0.0,
                 {}},
                {"ISRL-DP MB-SGD is within 0.05 of local SGD without privacy for epsilon >= 2",
                 Method::MinibatchSgd,
                 Method::LocalSgd,
                 false,
                 2.0,
                 1e9,
                 -0.05,
                 {}},
                {"ISRL-DP MB-SGD is at least 30 % below predicting the mean at epsilon 1", Method::MinibatchSgd,
                 Method::LocalSgd, true, 1.0, 1.0, 0.0, 0.7}};
  out.notes = {kNotPrivate, kWithoutReplacement,
               "K is n sqrt(3) / (2 sqrt 35) with n before the split, as in the source"};
  out.recipe =
      AuthorsRecipe{AuthorsRecipe::Batch::ClippedMean, 35, std::nullopt, 8,
                    "the authors' recipe is NOT PRIVATE at the epsilon shown: it clips the mean of a batch, which one "
                    "record moves by up "
                    "to 2 L, and adds noise for 2 L / K; it adds silos up where the text takes their mean, and tests "
                    "the average of the "
                    "last eight iterates (its comment says seven). Records, features and grids are this figure's own"};
  if (out.name == "figB.2") out.notes.emplace_back("the text does not say which N and M this figure has");
  out.load = insurance_task;
  return out;
}

Experiment obesity() {
  Experiment out;
  out.name = "fig3.7";
  out.title = "Softmax regression, seven weights";
  out.error = "test error";
  for (const std::size_t m : {std::size_t{3}, std::size_t{7}})
    out.cohorts.push_back({fmt::format("N = 7, M = {}, R = 35", m), 7, m, 35, {}});
  out.methods = {Method::MinibatchSgd, Method::LocalSgd};
  out.epsilons = {0.5, 1.0, 3.0, 6.0, 9.0};
  out.minibatch_steps = powers(-7.0, -1.0, 8);
  out.local_steps = out.minibatch_steps;
  out.clips = {20.0};
  out.splits = 3;
  out.repetitions = 1;
  out.claims = {{"ISRL-DP MB-SGD beats ISRL-DP local SGD by at least 10 points",
                 Method::MinibatchSgd,
                 Method::LocalSgd,
                 true,
                 0.0,
                 1e9,
                 0.1,
                 {}}};
  out.notes = {kNotPrivate, kWithoutReplacement, "the source does not say R: 35 here",
               "columns of numbers are standardised, columns of texts become codes in the order of the alphabet"};
  out.recipe = AuthorsRecipe{
      AuthorsRecipe::Batch::Sum, 100, std::sqrt(9.0 / 400.0), 1,
      "the authors' recipe is NOT PRIVATE at the epsilon shown: it adds up the K gradients of a batch, without a clip, "
      "and "
      "adds noise for their mean, one silo's for all silos; R = 100, K = n sqrt(9 / (4 R)) for every epsilon. Records, "
      "features and grids are this figure's own; with K gradients for one, its best steps are smaller"};
  out.load = obesity_task;
  return out;
}

std::vector<Claim> spider_claims() {
  return {{"ISRL-DP SPIDER is no worse than ISRL-DP MB-SGD, by a point of test error or more: the margin is ours",
           Method::Spider,
           Method::MinibatchSgd,
           true,
           0.0,
           1e9,
           -0.01,
           {}},
          {"ISRL-DP SPIDER beats ISRL-DP local SGD", Method::Spider, Method::LocalSgd, true, 0.0, 1e9, 0.0, {}},
          {"ISRL-DP MB-SGD beats ISRL-DP local SGD for epsilon <= 1.5",
           Method::MinibatchSgd,
           Method::LocalSgd,
           true,
           0.0,
           1.5,
           0.0,
           {}}};
}

const char* const kPartlyByConstruction =
    "SPIDER is the best of its periods, of which one is MB-SGD on full batches, and of its two forms: that it is no "
    "worse is partly by construction";

std::vector<std::uint64_t> up_to(std::uint64_t most) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t q = 1; q <= most; ++q) out.push_back(q);
  return out;
}

Experiment mnist_network(std::string name, std::size_t answering, std::uint64_t rounds) {
  Experiment out;
  out.name = std::move(name);
  out.title = "Perceptron 50-64-2, MNIST digits odd or even";
  out.error = "test error";
  out.cohorts = {{fmt::format("N = 25, M = {}, R = {}", answering, rounds), 25, answering, rounds, {}}};
  out.methods = {Method::Spider, Method::MinibatchSgd, Method::LocalSgd};
  out.epsilons = wide_epsilons();
  out.minibatch_steps = powers(-9.0, 0.0, 5);
  out.local_steps = out.minibatch_steps;
  out.clips = {1.0, 5.0, 10.0, 100.0, 1e4};
  out.periods = up_to(rounds == 25 ? 2 : 4);
  out.splits = 20;
  out.claims = spider_claims();
  out.notes = {kNotPrivate, kWithoutReplacement, kFiveSilos, kPartlyByConstruction,
               "the source prints n = 1543 before the split; two digits of 774 images are 1548"};
  out.load = mnist_network_task;
  return out;
}

Experiment cifar(std::string name, std::uint64_t rounds) {
  Experiment out;
  out.name = std::move(name);
  out.title = "Convolutional network, CIFAR-10";
  out.error = "test error";
  out.cohorts = {{fmt::format("N = 10, M = 10, R = {}", rounds), 10, 10, rounds, {}}};
  out.methods = {Method::Spider, Method::MinibatchSgd, Method::LocalSgd};
  out.epsilons = wide_epsilons();
  out.minibatch_steps = rounds == 50 ? powers(-5.0, 0.0, 12) : powers(-5.0, 1.0, 8);
  out.local_steps = powers(-5.0, 1.0, 20);
  out.clips = {0.001, 0.01, 0.1, 1.0, 5.0, 10.0};
  out.periods = up_to(rounds == 50 ? 4 : 8);
  out.splits = 10;
  out.claims = spider_claims();
  out.notes = {kNotPrivate, kWithoutReplacement, kPartlyByConstruction};
  out.load = cifar_task;
  return out;
}

Experiment breast_cancer() {
  Experiment out;
  out.name = "fig3.12";
  out.title = "Perceptron 30-5-2, breast cancer";
  out.error = "test error";
  out.cohorts = {{"N = 2, M = 2, R = 25", 2, 2, 25, {}}};
  out.methods = {Method::Spider, Method::MinibatchSgd, Method::LocalSgd};
  out.epsilons = wide_epsilons();
  out.minibatch_steps = powers(-9.0, 0.0, 15);
  out.local_steps = out.minibatch_steps;
  out.clips = {0.1, 1.0, 5.0, 10.0};
  out.periods = up_to(10);
  out.splits = 10;
  out.claims = spider_claims();
  out.notes = {kNotPrivate, kWithoutReplacement, kPartlyByConstruction,
               "each silo's delta and noise are of its own size; the steps of local SGD are of the first silo's"};
  out.load = breast_cancer_task;
  return out;
}

/// So many of the values, evenly, first and last among them.
template <class T>
std::vector<T> thinned(const std::vector<T>& values, std::size_t most) {
  if (values.size() <= most) return values;
  std::vector<T> out;
  for (std::size_t i = 0; i < most; ++i) out.push_back(values[i * (values.size() - 1) / (most - 1)]);
  return out;
}

}  // namespace

std::string_view to_string(Method method) noexcept {
  switch (method) {
    case Method::MinibatchSgd:
      return "MB-SGD";
    case Method::LocalSgd:
      return "local SGD";
    case Method::Spider:
      return "SPIDER";
  }
  return "";
}

std::string_view to_string(NoiseRule rule) noexcept {
  switch (rule) {
    case NoiseRule::None:
      return "none";
    case NoiseRule::Paper:
      return "paper";
    case NoiseRule::Accountant:
      return "accountant";
    case NoiseRule::Recipe:
      return "recipe (NOT PRIVATE)";
  }
  return "";
}

std::vector<NoiseRule> noise_rules(const Experiment& experiment) {
  std::vector<NoiseRule> out = {NoiseRule::Paper, NoiseRule::Accountant};
  if (experiment.recipe) out.push_back(NoiseRule::Recipe);
  return out;
}

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all = {mnist_logistic("fig3.5", {25, 12}),
                                              insurance("fig3.6", {{3, 2}, {5, 5}}),
                                              obesity(),
                                              mnist_network("fig3.8", 25, 25),
                                              mnist_network("fig3.9", 12, 50),
                                              cifar("fig3.10", 50),
                                              cifar("fig3.11", 100),
                                              breast_cancer(),
                                              mnist_logistic("figB.1", {18}),
                                              insurance("figB.2", {{5, 3}, {3, 1}}),
                                              insurance("figB.3", {{3, 3}}),
                                              mnist_network("figB.4", 12, 25),
                                              mnist_network("figB.5", 25, 50)};
  return all;
}

const Experiment* find_experiment(std::string_view name) {
  const std::vector<Experiment>& all = experiments();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Experiment& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Experiment quick(Experiment experiment) {
  experiment.cohorts.resize(1);
  experiment.splits = std::min<std::size_t>(experiment.splits, 4);
  experiment.repetitions = 1;
  experiment.epsilons = thinned(experiment.epsilons, 3);
  // Networks take a hundred times longer than linear models: their clip norm is the middle one.
  const bool network =
      std::find(experiment.methods.begin(), experiment.methods.end(), Method::Spider) != experiment.methods.end();
  experiment.minibatch_steps = thinned(experiment.minibatch_steps, network ? 3 : 4);
  experiment.local_steps = thinned(experiment.local_steps, network ? 3 : 4);
  if (network) experiment.clips = {experiment.clips[experiment.clips.size() / 2]};
  experiment.clips = thinned(experiment.clips, 3);
  experiment.periods = thinned(experiment.periods, 2);
  experiment.widenings = 0;
  experiment.judged = false;
  experiment.notes.emplace_back("quick: a small part of the grid, by which no claim is judged");
  return experiment;
}

}  // namespace undertone::lab
