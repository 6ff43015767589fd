#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/draft/job_draft.hpp"

namespace undertone::lab {

/// How the chosen numbers did on one kind of invented data.
struct FamilyScore {
  std::string family;
  double error = 0.0;    // share of wrong predictions, or root mean squared error over the label's bounds' half width
  double trivial = 0.0;  // of the more frequent value, or of the mean
  double best = 0.0;     // of the candidate that this family alone likes best
};

struct Tuned {
  DraftChoice choice;
  std::vector<FamilyScore> families;
  /// The mean error, over the families, of the best that buys a standardisation and of the best that does not; as far
  /// as both were looked at to the end of the coarse search.
  std::optional<double> bought_error = {};
  std::optional<double> plain_error = {};
  /// Of labels that are numbers or have two values: the same of least squares from noised moments, one release at the
  /// whole promise, and of the chosen numbers; nothing where moments carry no coefficients in one world or more.
  std::optional<double> moments_error = {};
  std::optional<double> chosen_error = {};
  std::size_t runs = 0;
  std::int64_t simulated_records = 0;  // of the cohort's, of which as many are simulated as there is time for
};

/// Chooses a job's numbers by training on invented records: every candidate on several kinds of data, drawn from the
/// schema's public bounds, with the cohort's counts and the noise that its plans would add; what does well in the mean
/// and in the worst case stays. Reads no data, so it costs no privacy. A function of the facts and the seed.
/// @param may_buy whether a part of what silos promise may buy a standardisation first, by a job of its own
/// @param watch told of every stage; may be empty
/// @return an error where no candidate has a plan
[[nodiscard]] Result<Tuned> tune(const DraftFacts& facts, std::uint64_t seed, bool may_buy = false,
                                 const std::function<void(const std::string&)>& watch = {});

}  // namespace undertone::lab
