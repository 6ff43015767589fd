#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/draft/tuning.hpp"

namespace undertone::lab {

/// What `undertone draft` was asked.
struct DraftRequest {
  std::filesystem::path schema;  // {"label", "features"}, or a file that has them as "data"
  /// "clinic-1=400+100" or "clinic-1=400+100+20": a silo, its training records, its holdout, and of public records how
  /// many its owner declared.
  std::vector<std::string> cohort;
  std::filesystem::path open_records;  // a CSV file of public records that the operator brings; empty: none
  double epsilon = 0.0;
  std::optional<double> delta;  // none: each silo's own, from its records
  bool holdout_public = false;
  bool persons = false;                  // the cohort counts persons, who are protected with all of their records
  std::int64_t person_records_max = 16;  // of whom so many records may count
  bool wide_bounds = false;              // a first job buys what gradients are clipped to
  std::optional<double> label_guess;     // a public guess of the label's mean, in its unit
  std::string name = {};                 // of the job; empty: of its label and the day
  std::uint64_t seed = 1;
  std::filesystem::path out;  // empty: standard output
};

/// @return an error for every part of the request that cannot be a job's
[[nodiscard]] Result<DraftFacts> facts_of(const DraftRequest& request);

/// Where least squares from noised moments does better than descent on the invented records, and by how much: then the
/// draft is a job of statistics.
[[nodiscard]] bool prefers_moments(const Tuned& tuned);

/// Whether the chosen numbers do better on the invented records, in the mean over their kinds, than a model that always
/// says the same.
[[nodiscard]] bool learns(const Tuned& tuned);

/// Says of a draft that does not learn from how many times the epsilon one would, as far as `kEpsilonMore` goes.
/// @param tune_again chooses the numbers for other facts
[[nodiscard]] std::string idle_draft_warning(const DraftFacts& facts,
                                             const std::function<Result<Tuned>(const DraftFacts&)>& tune_again);
inline constexpr std::array kEpsilonMore = {2, 4, 8, 16};

/// Why the draft says what it says, a line each.
[[nodiscard]] std::vector<std::string> reasons_of(const DraftFacts& facts, const Tuned& tuned, bool delta_given);

/// A whole job, its numbers chosen on invented records.
struct Draft {
  DraftFacts facts;
  Tuned tuned;
  bool regression = false;  // least squares from noised moments, in place of a descent
  std::string job;          // its text; the standardisation that it buys is blank
  std::string first;        // of one that buys its standardisation or its clip the job that runs first; else empty
  std::vector<std::string> reasons;  // a line each
  bool idle = false;                 // its model learns nothing on the invented records: see idle_draft_warning
};

/// @param facts @see facts_of
/// @param may_buy whether the draft may be another job than one descent: one that a job of statistics comes before, or
/// a regression from noised moments
/// @param watch told of every stage; may be empty
/// @return an error where no job of these facts has a plan
[[nodiscard]] Result<Draft> draft_job(DraftFacts facts, std::uint64_t seed, bool delta_given, bool may_buy,
                                      const std::function<void(const std::string&)>& watch);

/// The same as facts_of(request) with the schema's text at hand, and not in a file.
[[nodiscard]] Result<DraftFacts> facts_of(const DraftRequest& request, const std::string& schema);

/// Chooses a job's numbers on invented records and writes the whole job; the reasons go to standard error. Into a file
/// it may write two: "X-moments.json" beside "X.json", a job that buys the standardisation of the other.
/// @return the exit code
[[nodiscard]] int run_draft(const DraftRequest& request);

}  // namespace undertone::lab
