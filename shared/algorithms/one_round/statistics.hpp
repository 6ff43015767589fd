#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

/// The records of which an indicator is 1, or with `complement` those of which it is 0.
struct CountAsked {
  bool complement = false;
};
/// The mean of a number that is scaled from [low, high], in the unit of its column, to [-1, 1].
struct MeanAsked {
  double low = 0.0;
  double high = 0.0;  // > low
};
/// One statistic of the silos' training records.
struct StatisticAsked {
  std::string name;            // "count of sex=female", "mean of age"
  std::size_t coordinate = 0;  // of an encoded record. @see releases::StatisticMap
  std::variant<CountAsked, MeanAsked> what;
};

class Statistics;

/// Nothing is minimised.
struct StatisticsSettings {
  using Algorithm = Statistics;
  std::vector<StatisticAsked> questions;  // 1 .. Statistics::kQuestionsMax

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {questions.size(), questions.size()}; }
  [[nodiscard]] MethodTraits traits() const;
};

/// Counts and means of the silos' training records, a round each. A silo answers with a total and pure noise; what is
/// made of the silos' totals is post-processing:
///   count:  the sum of the totals, an integer; of a complement the records less that
///   mean:   centre + half-width x (sum of the totals) / records, records public
/// over the silos that answered that round, whatever their weights. Nothing is cut to what is possible: noise may make
/// a count negative. Source: spec statistics 2, 4.1, 4.3.
class Statistics final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "statistics";
  static constexpr std::size_t kQuestionsMax = 256;

  /// @return an error where there are no questions or too many, or the bounds of a mean are none
  [[nodiscard]] static Result<std::unique_ptr<Statistics>> create(const StatisticsSettings& settings);
  /// What it asks, in order: one number a question. @param shape of no meaning: bounds are the questions' own
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
  StatisticsSettings settings_;
  std::vector<Estimate> estimates_;  // of the rounds so far
};

}  // namespace undertone::algorithms
