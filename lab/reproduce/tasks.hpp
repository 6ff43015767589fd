#pragma once

#include <filesystem>

#include "lab/reproduce/experiment.hpp"

/// The data of the experiments, prepared as the source does: statistics of all training records are used for scaling
/// and for principal components, which no silo released. That is not private, and every figure says so.
namespace undertone::lab {

/// Odd or even: 25 silos of a pair of digits each, 50 principal components, logits clipped to 15. Images are split
/// before they are assigned, and each sits in five silos (decision 14).
[[nodiscard]] Result<Task> mnist_logistic_task(const std::filesystem::path& data, const Cohort& cohort,
                                               std::uint64_t split);
/// The same with a perceptron of 64 rectifiers and two classes.
[[nodiscard]] Result<Task> mnist_network_task(const std::filesystem::path& data, const Cohort& cohort,
                                              std::uint64_t split);
/// Medical costs by least squares: silos are slices of the records sorted by cost.
[[nodiscard]] Result<Task> insurance_task(const std::filesystem::path& data, const Cohort& cohort, std::uint64_t split);
/// Seven weights, a silo each, as many records as the rarest has, softmax regression.
[[nodiscard]] Result<Task> obesity_task(const std::filesystem::path& data, const Cohort& cohort, std::uint64_t split);
/// Ten classes, a silo each, the convolutional network.
[[nodiscard]] Result<Task> cifar_task(const std::filesystem::path& data, const Cohort& cohort, std::uint64_t split);
/// Two classes, a silo each, a perceptron of 5 rectifiers.
[[nodiscard]] Result<Task> breast_cancer_task(const std::filesystem::path& data, const Cohort& cohort,
                                              std::uint64_t split);

}  // namespace undertone::lab
