#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::lab {

/// What is public about a job before its numbers are chosen.
struct DraftFacts {
  struct Member {
    std::string silo;
    std::int64_t records = 0;
    std::int64_t holdout_records = 0;
    bool holdout_public = false;
    double epsilon = 0.0;
    double delta = 0.0;
    std::int64_t public_records = 0;  // that its owner declared public, beside the others
  };
  /// Records that the operator brings, which need no protection.
  struct OpenFile {
    std::string name;  // without folders
    Digest sha256{};
    std::int64_t records = 0;
  };
  std::string name;
  nlohmann::ordered_json data;  // as a job has it
  data::Schema schema;          // the same
  std::vector<Member> cohort;   // at least one
  /// This is set where the silos' units are persons. The cohort then counts persons, and so many records of each may
  /// count.
  std::optional<std::int64_t> person_records_max = {};
  std::optional<OpenFile> open_file = {};
  /// The bounds are far wider than where most numbers are: what a record's gradient is clipped to is bought.
  bool wide_bounds = false;
  /// This is a public guess of the label's mean, in the label's unit. Without one it is the middle of its bounds.
  std::optional<double> label_guess = {};

  /// Returns how many records the owners of all silos together declared public.
  [[nodiscard]] std::int64_t public_records() const noexcept;
};

/// The numbers that a draft chooses, for noisy minibatch SGD on whole batches.
struct DraftChoice {
  double clip = 1.0;
  std::uint64_t rounds = 30;
  double path = 10.0;  // step size x clip norm x rounds: but for noise no iterate gets further from zero
  bool cosine = true;  // steps that fall as a cosine and the last iterate, or constant ones and their last half's mean
  double momentum = 0.0;
  double radius = 100.0;    // of the domain
  double strength = 0.001;  // of the l2 regulariser; 0: none
  double centre = 0.0;      // where columns of one sign are expected, by `expected_origin`; 0: no standardisation
  /// The share of epsilon and delta that means and variances of the columns of numbers are bought with, by a job of
  /// statistics that runs first; 0: none. What the model's job promises is the rest.
  double bought = 0.0;
  /// The share that a bound on the gradients' second moment is bought with, likewise; 0: none.
  double bought_bound = 0.0;
  /// Where there are public records at silos and no file: the share of the protected records' gradients in a step, as
  /// `drafted_weight` finds it.
  double silos_weight = 0.5;

  /// With momentum a gradient is counted 1 / (1 - momentum) times in all.
  [[nodiscard]] double step_size() const;
};

/// The number with three digits, as a person would write it.
[[nodiscard]] double three_digits(double value);

/// What a job subtracts from its encoded features: a public guess, which costs nothing. Honest bounds of a quantity
/// that cannot be negative begin at zero and end far above what is usual, so that its values fill the lower half of
/// them, and a model that has to undo that first does so through the noise of its intercept.
/// @param centre of numeric columns whose bounds have one sign, -1 at zero and 1 at the other end; other columns have 0
/// @return [encoded width]
[[nodiscard]] Eigen::VectorXd expected_origin(const data::Schema& schema, double centre);

/// The share of the silos' mean gradient with which a step varies least where a record's gradient varies by as much as
/// the clip norm C allows: of open = C^2 / m and silos = noise / T + C^2 sum_i p_i^2 / n_i it is open / (silos + open).
/// Source: spec public-data 0.1, 5.2.
/// @param job of the draft, with public records of silos
[[nodiscard]] double drafted_weight(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans);

/// Silos that have to answer a round: two thirds of them, all of two.
[[nodiscard]] std::size_t drafted_quorum(std::size_t silos);
/// At most a hundredth of 1 / records, with one digit: below what publishing a record at random would keep.
[[nodiscard]] double drafted_delta(std::int64_t records);

/// Features whose means and variances can be bought: numbers, dates among them.
[[nodiscard]] std::size_t bought_columns(const data::Schema& schema);
/// The job of statistics that buys them, at a share of every silo's epsilon and delta: what the standardisation of the
/// other job is made of. @param share in (0, 1)
[[nodiscard]] nlohmann::ordered_json moments_job_of(const DraftFacts& facts, double share);

/// The job of statistics that buys a bound on the second moment of gradients at the model that always says the guess.
/// @param share in (0, 1) @pre a label that is a number
[[nodiscard]] nlohmann::ordered_json bound_job_of(const DraftFacts& facts, double share);

/// The job of statistics that asks for the regression of the label on everything, at all that is promised.
/// @pre a label that is a number or has two values
[[nodiscard]] nlohmann::ordered_json regression_job_of(const DraftFacts& facts);

/// A whole job; of one that buys its standardisation all but that, which is left blank so that nobody runs it without.
/// @param reply_step_log2 of replies in 32 bits
[[nodiscard]] nlohmann::ordered_json job_of(const DraftFacts& facts, const DraftChoice& choice, int reply_step_log2);

/// The job with the wire lattice that its own plan's noise asks for: a step of at most a 32nd of it, and finer where 32
/// bits hold that, for what has no noise. A standardisation
/// that is to be bought is blank.
/// @return an error where no plan can be made
[[nodiscard]] Result<std::string> drafted_job(const DraftFacts& facts, const DraftChoice& choice);

}  // namespace undertone::lab
