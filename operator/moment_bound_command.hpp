#pragma once

#include <filesystem>
#include <string>

#include "shared/base/result.hpp"

namespace undertone::operators {

/// An estimate of a moment of records' gradients that a run of statistics paid for, to be a job's bound.
struct BoughtBound {
  double order = 2.0;     // k
  double bound = 0.0;     // r, E |g|^k being near r^k at the public point that the question was of
  double longest = 0.0;   // the upper edge of the last cell whose count the noise does not hide
  double beyond = 0.0;    // the share of the records in longer cells, by their counts
  std::string loss = {};  // what the gradients are of
  bool intercept = false;
  std::string source = {};  // for the job, in words
};

/// Works it out of the counts that a question of kind gradient_norms released: post-processing of what that run paid
/// for. Records of a cell count as long as its upper edge, and counts below 0 as 0. The last cell is the last one whose
/// count is above twice its noise's standard deviation: what is longer is left out.
/// @param result the text of the result.json @param file its name, for errors @param order k >= 2
/// @return an error where there is no such question, its numbers are none, every count is hidden, or no job takes it
[[nodiscard]] Result<BoughtBound> bought_bound(const std::string& result, const std::string& file, double order);

/// Prints it as the "moments" of a job's privacy, or writes the job with it.
/// @param job a job file, or empty @param ready where the job is to be written, with its moments and without a
/// clip_norm, validated and planned
/// @param fit_steps @see job_with_moments
[[nodiscard]] int moment_bound(const std::filesystem::path& result, double order, const std::filesystem::path& job,
                               const std::filesystem::path& ready, bool fit_steps);

/// Returns a job's text with the moments in place of its clip_norm. Where it had one, the lattice of its replies is
/// finer as the noise becomes less, and coarser where replies would not fit their type.
/// @param job the text @param name for errors
/// @param fit_steps its step size, too, changes: rounds lead as far with the new clip as with the one before, and a
/// step is at most 1.5 over the square of the longest record that the schema allows: with least squares a longer one
/// might not converge
/// @return an error where the job is none, trains another model than the bound is of, or no silo can plan it
[[nodiscard]] Result<std::string> job_with_moments(const std::string& job, const std::string& name,
                                                   const BoughtBound& bound, bool fit_steps);

}  // namespace undertone::operators
