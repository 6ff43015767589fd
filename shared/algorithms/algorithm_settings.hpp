#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shared/algorithms/proximal/prox_svrg.hpp"
#include "shared/algorithms/proximal/proximal_sgd.hpp"
#include "shared/algorithms/proximal/spider.hpp"
#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/algorithms/sgd/local_sgd.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"

namespace undertone::algorithms {

/// One alternative per algorithm: all that a job says about it.
using AlgorithmSettings = std::variant<MinibatchSgdSettings, AcceleratedSgdSettings, ProximalSgdSettings,
                                       ProxSvrgSettings, SpiderSettings, SpiderAlternateSettings, LocalSgdSettings>;

/// The algorithm at its start. @return an error that names the setting that does not serve
[[nodiscard]] Result<std::unique_ptr<FederatedAlgorithm>> make_algorithm(const AlgorithmSettings& settings);

/// How much it asks: rounds in all, and entries of its schedule; what leaves 64 bits counts as the largest number.
struct Extent {
  std::uint64_t rounds = 0;
  std::uint64_t entries = 0;
};
/// In closed form: a job's numbers are not to be trusted with memory before they are looked at.
[[nodiscard]] Extent extent_of(const AlgorithmSettings& settings);

/// What it asks of every silo, in order. @param settings of an extent that was looked at
[[nodiscard]] planning::Schedule schedule_of(const AlgorithmSettings& settings, const GradientShape& shape);

[[nodiscard]] const Problem& problem_of(const AlgorithmSettings& settings);

/// As jobs and policies name it: "noisy_minibatch_sgd".
[[nodiscard]] std::string_view kind_of(const AlgorithmSettings& settings);

/// Where it comes from: "noisy minibatch SGD, Algorithms 14 and 19".
[[nodiscard]] std::string source_of(const AlgorithmSettings& settings);

/// Its numbers by name, for results.
[[nodiscard]] std::vector<std::pair<std::string, double>> numbers_of(const AlgorithmSettings& settings);

}  // namespace undertone::algorithms
