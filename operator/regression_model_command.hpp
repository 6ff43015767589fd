#pragma once

#include <filesystem>

namespace undertone::operators {

/// Writes the regression that a run of statistics found as a model.json, which predicts like a trained one: its
/// coefficients in the units that records are encoded in. Of a label of two values, as -1 and 1, it is a logistic model
/// of twice the coefficients: that is where the logistic loss is least if its derivative, -1/2 + tanh(m / 2) / 2 of the
/// margin m, is taken for its tangent -1/2 + m / 4 (spec noninteractive-ldp 2.6 with degree 1, 4). Post-processing of
/// what that run released and paid for.
/// @param result the result.json of a run with a regression whose coefficients were stated @param job that asked for it
/// @param out a file; standard output where it is empty or "-"
[[nodiscard]] int regression_model(const std::filesystem::path& result, const std::filesystem::path& job,
                                   const std::filesystem::path& out);

}  // namespace undertone::operators
