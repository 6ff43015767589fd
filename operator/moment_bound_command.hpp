#pragma once

#include <filesystem>
#include <string>

#include "shared/base/result.hpp"

namespace undertone::operators {

/// A bound on a moment of records' gradients that a run of statistics paid for.
struct BoughtBound {
  double order = 2.0;       // k
  double bound = 0.0;       // r of E |g|^k <= r^k, at the public point that the question was of
  double longest = 0.0;     // end of the last cell that was counted in
  double left_out = 0.0;    // of the records, at most: those of cells that the noise hides
  std::string source = {};  // for the job, in words
};

/// Works a bound out of the counts that a question of kind gradient_norms released: post-processing of what that run
/// paid for. Records of a cell count as long as its upper edge; cells whose count is below twice its noise's standard
/// deviation are left out: a clip cuts what is longer, whatever the bound says.
/// @param result the text of the result.json @param file its name, for errors @param order k >= 2
/// @return an error where there is no such question, or every count is hidden
[[nodiscard]] Result<BoughtBound> bought_bound(const std::string& result, const std::string& file, double order);

/// Prints it as the "moments" of a job's privacy, or writes the job with it.
/// @param job a job file, or empty @param ready where the job is to be written, with its moments and without a
/// clip_norm, and validated
[[nodiscard]] int moment_bound(const std::filesystem::path& result, double order, const std::filesystem::path& job,
                               const std::filesystem::path& ready);

}  // namespace undertone::operators
