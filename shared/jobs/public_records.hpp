#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/jobs/job.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/models/public_loss.hpp"

namespace undertone::jobs {

/// Returns whether the job counts on a file of public records at the coordinator.
[[nodiscard]] bool brings_file(const JobTerms& job);

/// Reads the public records of a job. @pre it brings a file @param folder that holds the file
/// @return an error where there is no folder or file, its bytes have another digest, it holds another number of
/// records, or the job's schema does not read it
[[nodiscard]] Result<std::shared_ptr<const models::PublicGradientSource>> load_public_records(
    const Job& job, const std::optional<std::filesystem::path>& folder);

/// The variance of the noise in one round's mean gradient of the plan's silo: the sum over all coordinates, the mean
/// over the rounds. @return 0 where the plan asks for no gradients
[[nodiscard]] double noise_of_gradient(const std::vector<planning::Plan::Segment>& plan);
using GradientNoise = std::map<PlannedFacts, double>;  // `noise_of_gradient` of each kind of silo

/// Finds what a job's file of public records tells before its first round. It is a function of the job, the records and
/// the plans. @param noise of every kind of silo of the cohort
/// @return an error where the records settle no starting point that the job asks for
[[nodiscard]] Result<PublicSide> public_side_of(const Job& job, const models::PublicGradientSource& records,
                                                const GradientNoise& noise);

/// Does the same, and reads the records and plans every kind of silo first.
[[nodiscard]] Result<PublicSide> public_side(const Job& job, const std::optional<std::filesystem::path>& folder,
                                             const Planner& planner = plan_of);

/// Returns the bytes that are kept with a run. They are empty for a job without public records.
[[nodiscard]] std::string save(const std::optional<PublicSide>& side);
[[nodiscard]] Result<std::optional<PublicSide>> read_public_side(std::string_view bytes, const Job& job);

/// Returns a `make_algorithm` for jobs whose public records are in this folder.
[[nodiscard]] AlgorithmMaker algorithms_with(std::optional<std::filesystem::path> folder);

}  // namespace undertone::jobs
