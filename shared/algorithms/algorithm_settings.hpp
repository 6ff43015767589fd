#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "shared/algorithms/accelerated_sgd.hpp"
#include "shared/algorithms/minibatch_sgd.hpp"
#include "shared/algorithms/prox_svrg.hpp"
#include "shared/algorithms/proximal_sgd.hpp"
#include "shared/algorithms/spider.hpp"

namespace undertone::algorithms {

/// One alternative per algorithm: all that a job says about it.
using AlgorithmSettings = std::variant<MinibatchSgdSettings, AcceleratedSgdSettings, ProximalSgdSettings,
                                       ProxSvrgSettings, SpiderSettings, SpiderAlternateSettings>;

/// The algorithm at its start. @return an error that names the setting that does not serve
[[nodiscard]] Result<std::unique_ptr<FederatedAlgorithm>> make_algorithm(const AlgorithmSettings& settings);

/// What it asks of every silo, in order.
[[nodiscard]] privacy::Schedule schedule_of(const AlgorithmSettings& settings, const GradientShape& shape);

[[nodiscard]] const Problem& problem_of(const AlgorithmSettings& settings);

/// Where it comes from: "noisy minibatch SGD, Algorithms 14 and 19".
[[nodiscard]] std::string source_of(const AlgorithmSettings& settings);

/// Its numbers by name, for results.
[[nodiscard]] std::vector<std::pair<std::string, double>> numbers_of(const AlgorithmSettings& settings);

}  // namespace undertone::algorithms
