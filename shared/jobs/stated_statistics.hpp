#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/algorithms/one_round/statistics.hpp"
#include "shared/planning/release.hpp"
#include "shared/statistics/noise_law.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::jobs {

/// What one silo said to one question, and what it was asked for.
struct SiloTotals {
  std::int64_t records = 0;                 // n_i, public
  const planning::Release* release;         // its plan's, whose noise the totals have
  const std::vector<std::int64_t>* totals;  // in units of the round's lattice
};

/// One number of an answer, with its name: "mean", "(20, 30]", "sex=female, smoker=yes", "cov(age, bmi)".
struct NamedEstimate {
  std::string name;
  statistics::Stated stated;
};
/// How public records and protected ones made one mean. Lengths are in half ranges of a column.
struct CombinedMean {
  std::string by;  // "weighted", "empirical", "empirical, protected records left out"
  double weight_of_public = 0.0;
  std::int64_t public_records = 0;
  double spread = 0.0;           // the root of the trace of the covariance that it was done with
  double expected_error = 0.0;   // the root of the expected squared distance from the mean, or its most
  double error_of_public = 0.0;  // of the public records alone
};
/// A test of a hypothesis, by noised numbers alone.
struct NamedTest {
  std::string name;               // "log-rank of the event"
  double statistic = 0.0;         // chi-squared
  std::size_t degrees = 1;        // of freedom
  std::optional<double> p_value;  // two-sided; nothing where it is refused
  std::string note;               // why it is refused, or what it reads
};
struct StatedQuestion {
  std::vector<NamedEstimate> estimates;
  std::optional<double> rho;                // of a regression: what its noised moments carry
  std::optional<double> residual_variance;  // of a regression that is stated, unraised, in the response's unit squared
  std::optional<CombinedMean> combined = {};
  std::vector<NamedTest> tests = {};
};

/// The law of a silo's noise on each of its totals, rounding to the wire included. @pre a statistic's release, of a sum
[[nodiscard]] statistics::CoordinateNoise noise_of(const planning::Release& release);

/// A silo's totals in real units, as many as its ask has numbers.
[[nodiscard]] Eigen::VectorXd totals_of(const SiloTotals& silo);

/// How units that are not records were counted, as notes say it; empty of records.
[[nodiscard]] std::string counted_in(const planning::Release& release);
/// Adds that to the note of every estimate. @param counted may be empty
void note_counted(const std::string& counted, StatedQuestion& stated);

/// What the silos' totals say together, one or several: post-processing of what they released. Totals refer to these
/// silos; means weigh them by their public records. Nothing is cut but intervals, to what is possible.
/// @param silos one or more, with as many totals as the question has numbers
/// @param together these are all silos that answered, so that groups are compared and hypotheses tested; else they are
/// one silo of several, of which its own numbers are stated
/// @return an error where the totals are not of the question
/// Source: spec statistics 2, 4 to 9.
[[nodiscard]] Result<StatedQuestion> state_question(const algorithms::StatisticAsked& asked,
                                                    const algorithms::StatisticsSettings& settings,
                                                    const std::vector<SiloTotals>& silos, bool together = true);

/// "sex=f, ward=2": the names of the combinations of columns' values, the last column fastest; one empty name of none.
[[nodiscard]] std::vector<std::string> combinations_of(const std::vector<algorithms::TableAxis>& axes);
/// The names of a question's cells, those of its estimates; empty where it has none.
[[nodiscard]] std::vector<std::string> cell_names(const algorithms::StatisticAsked& asked);

}  // namespace undertone::jobs
