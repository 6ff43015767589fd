#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/report/reported_statistics.hpp"

namespace undertone::report {

/// One row of `metrics`: the model on the silos' holdouts.
struct Evaluation {
  std::uint64_t after_steps = 0;
  std::uint64_t silos = 0;                              // that answered
  std::vector<std::pair<std::string, double>> metrics;  // finite; one that the result gives as null is left out
  std::optional<double> epsilon_spent;                  // of the silo that had spent most; unknown without the job
  /// Standard deviation of the noise on each metric, where holdouts are noised and the result or the job says it.
  std::vector<std::pair<std::string, double>> noise_stddevs;

  [[nodiscard]] std::optional<double> metric(std::string_view name) const;
  /// 1 - accuracy, where there is an accuracy. Noised holdouts may put it below 0 or above 1.
  [[nodiscard]] std::optional<double> error() const;
  /// Half of the interval that covers the metric without its noise with probability 0.95. Nothing where there is no
  /// noise, or none that is known. The error has the accuracy's.
  [[nodiscard]] std::optional<double> reach(std::string_view name) const;
};

/// Noise of one kind of question.
struct NoiseRow {
  std::string kind;
  std::uint64_t records = 0;
  double stddev_of_mean = 0.0;
  bool public_records = false;
};

/// One row of `privacy`.
struct SiloPrivacy {
  std::string silo;
  bool took_part = false;
  std::string refusal;
  double epsilon = 0.0;
  double delta = 0.0;
  double epsilon_odometer = 0.0;
  std::uint64_t replies_accepted = 0;
  std::string unit;
  std::string adjacency;
  std::string mechanism;
  std::string accountant;
  std::string statement;
  std::vector<NoiseRow> noise;
};

/// `confusion`: shares of the holdout records of the last evaluation.
struct Confusion {
  std::vector<std::string> labels;
  std::vector<std::vector<double>> shares;  // [truth][said], as many as labels both ways
  std::optional<double> noise_stddev;       // of a share
};

/// One row of `groups`, of the last evaluation. Numbers are with half of a 95 % interval of the silos' noise, 0 without
/// noise; nothing of a group that is too small to say.
struct GroupRates {
  struct Rate {
    double value = 0.0;
    double reach = 0.0;
  };
  std::string group;
  double share = 0.0;  // of the holdout records
  std::optional<Rate> accuracy;
  std::vector<std::pair<std::string, Rate>> said;  // of each class, which share of the group is said to be of it
};

/// One row of `participation`.
struct ClosedRound {
  std::uint64_t round = 0;
  std::vector<std::string> answered;
  std::vector<std::string> missing;  // when the round closed: late or silent
};

/// A result.json (docs/result.md) with every field checked that a report shows. Keys that it does not know are passed
/// over, so that a newer program's results can be read.
struct RunResult {
  std::string job;
  std::string job_sha256;
  std::string run;
  bool succeeded = false;
  std::string failure;
  std::vector<std::pair<std::string, std::string>> settings;
  std::uint64_t rounds = 0;
  std::vector<Evaluation> evaluations;
  std::vector<std::string> verdicts;  // of the last evaluation, a sentence each
  std::optional<Confusion> confusion;
  std::vector<GroupRates> groups;
  std::vector<SiloPrivacy> privacy;
  std::vector<ClosedRound> participation;
  std::vector<ReportedStatistic> statistics;

  [[nodiscard]] std::string setting(std::string_view name) const;
  /// Whether nothing here is private: unless noise was secure, silos were processes and no statement begins with VOID.
  [[nodiscard]] bool is_void() const;
};

inline constexpr std::size_t kResultBytesMax = std::size_t{64} << 20U;

/// @param file for errors, which name the JSON pointer of every problem
[[nodiscard]] Result<RunResult> parse_run_result(std::string_view text, const std::string& file);

}  // namespace undertone::report
