#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/algorithms/one_round/statistic_asked.hpp"
#include "shared/config/section.hpp"
#include "shared/jobs/cohort_noise.hpp"
#include "shared/jobs/statistic_columns.hpp"
#include "shared/releases/silo_facts.hpp"

namespace undertone::jobs {

enum class VectorKind : std::uint8_t { Mean, LinearModel };

/// What a question about records as vectors says beside its columns.
struct WrittenVector {
  std::optional<double> norm;  // none: long enough for every record
  std::optional<releases::Randomiser> reports;
  releases::UnitAdapter adapter = releases::UnitAdapter::Round;
  std::optional<algorithms::VectorMeanAsked::Combination> combination;  // given: public records are asked for too
  std::optional<double> spread;
  /// Of a linear model; nothing: the hinge.
  enum class Loss : std::uint8_t { Hinge, Logistic, Absolute, Quantile, Piecewise };
  std::optional<Loss> loss;
  double probability = 0.5;    // of the quantile
  std::vector<double> kinks;   // of a piecewise loss
  std::vector<double> slopes;  // one more
  double smoothing = 0.25;
  double parameter_bound = 1.0;
  std::size_t degree = 0;
  bool copies = false;
  bool intercept = false;
};
/// @param kind nothing: takes the keys of every kind, for the reference
[[nodiscard]] WrittenVector read_vector(config::Section& section, std::optional<VectorKind> kind);

/// @return the questions: one, or of a mean beside public records that of those first; none where a problem was noted
[[nodiscard]] std::vector<algorithms::StatisticAsked> parse_vector(config::Section& section, VectorKind kind,
                                                                   const WrittenVector& written,
                                                                   const std::vector<std::string>& columns,
                                                                   const std::string& response,
                                                                   const ColumnIndex& known);

/// Chooses the degrees that questions leave open, from public numbers alone.
[[nodiscard]] Status settle_models(std::vector<algorithms::StatisticAsked>& questions, const CohortNoise& promises);

}  // namespace undertone::jobs
