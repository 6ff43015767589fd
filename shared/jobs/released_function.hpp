#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared/config/section.hpp"
#include "shared/jobs/stated_statistics.hpp"
#include "shared/statistics/count_polynomial.hpp"

namespace undertone::jobs {

/// What a run found out about a function: the means of its map over the records, or persons, of the silos that
/// answered. Whatever is asked of it afterwards is post-processing.
struct ReleasedFunction {
  algorithms::FunctionAsked asked;
  Eigen::VectorXd means;      // [dimension of its map], unbiased, cut to nothing
  double noise_stddev = 0.0;  // of each: exactly, where totals were released; of reports at most
  double noise_step = 0.0;    // of Laplace noise on few units: of each, what an interval is widened by; else 0
  bool laplace = false;       // noise of totals: tails are then taken as Laplace's
  std::int64_t records = 0;   // or persons
  /// Of persons: each is the mean over so many of her records at most. Nothing of records.
  std::optional<std::int64_t> person_records_max = {};

  /// "of 5 records", or of persons how each of them counts.
  [[nodiscard]] std::string of_whom() const;
};

/// @param silos one or more, with as many totals as the map has numbers
/// @return an error where they are not
[[nodiscard]] Result<ReleasedFunction> release_function(const algorithms::StatisticAsked& asked,
                                                        const std::vector<SiloTotals>& silos);

/// As a result's "function" says it, and the inverse: what is wrong with a file goes to the section's problems.
[[nodiscard]] nlohmann::ordered_json to_json(const ReleasedFunction& function);
[[nodiscard]] ReleasedFunction parse_released_function(config::Section section);

/// A linear combination of the means, sum_j c_j mean_j + constant.
struct Combination {
  std::vector<std::pair<Eigen::Index, double>> terms;
  double constant = 0.0;
  /// How far what is combined may be from what was asked, over any records; proved, or where `measured` says so what
  /// was found over many.
  double error = 0.0;
  bool measured = false;
};
/// Its value, its noise and an interval for these records, widened by the error and cut to what is possible. Of
/// Gaussian totals the law is normal; of Laplace ones quantiles are the larger of the normal and the Laplace ones of
/// the same variance; of reports they are normal, which is asymptotic.
[[nodiscard]] statistics::Stated state_combination(const ReleasedFunction& function, const Combination& combination,
                                                   statistics::Confidence confidence, statistics::Interval possible);

/// One of several values that a record may have, as a person writes it: "sex=female".
struct AskedValue {
  std::string column;
  std::string value;
};
/// @return nothing where the text has no '='
[[nodiscard]] Result<AskedValue> parse_asked_value(const std::string& text);
/// The share of the records that have all of the values, or one of them at least. Exact but for noise for as many
/// values as conjunctions were released of; of more, by a polynomial whose error is in the interval.
/// @return an error where the function is of another kind, a value was not asked for, or there are more than the width
[[nodiscard]] Result<statistics::Stated> marginal(const ReleasedFunction& function, statistics::Quantifier quantifier,
                                                  const std::vector<AskedValue>& values,
                                                  statistics::Confidence confidence);

/// The mean of exp(-|u - centre|^2 / (2 width^2)) over the records, u the columns scaled to [-1, 1].
/// @param centre in the unit of each column, by name: every column once @param width > 0, in scaled units
[[nodiscard]] Result<statistics::Stated> kernel_mean(const ReleasedFunction& function,
                                                     const std::vector<std::pair<std::string, double>>& centre,
                                                     double width, statistics::Confidence confidence);

/// The empirical risk at parameters in the box, those of the columns in order, then the intercept.
[[nodiscard]] Result<statistics::Stated> risk_at(const ReleasedFunction& function, const Eigen::VectorXd& parameters,
                                                 statistics::Confidence confidence);
/// Where the released polynomial is least, and what it is there. The excess risk of the point is at most twice the
/// polynomial's largest error in the box. Source: spec noninteractive-ldp 2.3, 2.5.
struct ReleasedMinimum {
  Eigen::VectorXd parameters;  // [p]
  double risk = 0.0;
};
[[nodiscard]] Result<ReleasedMinimum> least_risk(const ReleasedFunction& function);

}  // namespace undertone::jobs
