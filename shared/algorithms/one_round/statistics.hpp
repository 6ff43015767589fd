#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/one_round/statistic_asked.hpp"

namespace undertone::algorithms {

class Statistics;

/// Nothing is minimised.
struct StatisticsSettings {
  using Algorithm = Statistics;
  std::vector<StatisticAsked> questions;  // 1 .. Statistics::kQuestionsMax
  statistics::NoiseKind noise = statistics::NoiseKind::Laplace;
  /// What each question may spend of a silo's promise; empty: equal parts.
  std::vector<double> shares = {};
  /// Or what it spends whatever the promise is, so that its interval has the width asked for: the shift of Gaussian
  /// noise, the epsilon of Laplace noise. Empty where nobody asked for widths.
  std::vector<double> strengths = {};
  releases::Unit unit = releases::Unit::Record;  // a person contributes as each question says
  std::int64_t person_records_max = 0;           // of unit person: so many of her records may count
  double confidence = 0.95;                      // of every interval, [0.5, 0.9999]
  bool sampling = false;                         // intervals for the population besides

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {questions.size(), questions.size()}; }
  [[nodiscard]] MethodTraits traits() const;
};

/// Statistics of the silos' training records, a round each. A silo answers with noised totals; what is made of them is
/// post-processing. Of one number it is done here:
///   count:  the sum of the totals, an integer with Laplace noise; of a complement the records less that
///   mean:   centre + half-width x (sum of the totals) / records, records public
/// over the silos that answered that round, whatever their weights. Of reports that records make by themselves what
/// they add up to is kept. Nothing is cut to what is possible: noise may make a count negative. Of more numbers, and
/// for intervals, the totals are kept as every silo said them. Source: spec statistics 2, 4.1, 4.3.
class Statistics final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "statistics";
  static constexpr std::size_t kQuestionsMax = 256;

  /// Whether noise of the law hides what is asked for at all: an error that says of which law it can be asked.
  [[nodiscard]] static Status check_form(const StatisticAsked& asked, statistics::NoiseKind noise);
  /// Whether the unit can contribute to a question as it asks. Nothing else may be asked of one that it cannot.
  [[nodiscard]] static Status check_unit(const StatisticAsked& asked, releases::Unit unit);
  /// @return an error where there are no questions or too many, or the bounds of a mean are none
  [[nodiscard]] static Result<std::unique_ptr<Statistics>> create(const StatisticsSettings& settings);
  /// What it asks, in order: a release a question. @param shape of no meaning: bounds are the questions' own
  [[nodiscard]] static planning::Schedule schedule(const StatisticsSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  /// None: a vector of no numbers.
  [[nodiscard]] Eigen::VectorXd candidate() const override { return {}; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit Statistics(StatisticsSettings settings) : settings_(std::move(settings)) {}
  [[nodiscard]] Step current() const;
  [[nodiscard]] Eigen::Index numbers_of(std::size_t round) const;
  /// Whether every silo's reports themselves are kept, however many.
  [[nodiscard]] bool keeps_reports(std::size_t round) const;
  /// What this round's answers folded into; null where they folded into something else, or not every record reported.
  /// @pre a round is open
  [[nodiscard]] const Eigen::VectorXd* totals_in(const folds::Gathered& gathered) const;
  [[nodiscard]] Status restore_answers(ByteReader& state, std::size_t round);
  StatisticsSettings settings_;
  std::vector<Estimate> estimates_;  // of the rounds so far
};

}  // namespace undertone::algorithms
