#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/algorithms/method.hpp"
#include "shared/features/score_moments.hpp"

namespace undertone::algorithms {

class FisherScoring;

struct FisherScoringSettings {
  using Algorithm = FisherScoring;
  Problem problem;
  statistics::ScoreTerms terms;

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const;
};

/// Logistic or Poisson regression by Fisher scoring on noised sums, whose coefficients have intervals:
///   round 0:       ask every silo how many of its records have the positive label, or for the sum of its labels
///                  theta_1 = (0, ..., 0, logit of that share, or logarithm of their mean)
///   rounds 1 to 3: ask every silo for its score moments at theta_t: g, M, H are what they add up to
///                  theta_(t+1) = theta_t + (H + ridge)^-1 g
///   output theta_3 + H^-1 g of the last round, without a ridge, its variances, and what a further step would leave
/// The rounds cost .03, .12, .20 and .65 of what a silo promises, in mu^2: the last one is the estimate, the others
/// only find where to ask. The first value of each list of the schema is what the others are compared with. Every
/// silo's records count alike, whatever the job's weights are. Source: spec survival 6.3.
class FisherScoring final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "fisher_scoring";
  static constexpr std::uint64_t kRounds = 4;
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where the model is no such regression with an intercept on the whole space, or where there
  /// are more than kCovariatesMax covariates
  [[nodiscard]] static Result<std::unique_ptr<FisherScoring>> create(const FisherScoringSettings& settings);
  [[nodiscard]] static planning::Schedule schedule(const FisherScoringSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  /// The fit of many covariates takes longer than others should wait for.
  [[nodiscard]] bool advance_takes_long() const override { return settings_.terms.covariates() > kQuickMax; }
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  static constexpr Eigen::Index kQuickMax = 24;  // covariates
  explicit FisherScoring(const FisherScoringSettings& settings);
  [[nodiscard]] Step current() const;
  /// The model of a theta, as it crosses the wire. @param theta in units of x: [p] @return [d]
  [[nodiscard]] Eigen::VectorXd model_of(const Eigen::Ref<const Eigen::VectorXd>& theta) const;
  /// The theta of a model: [p].
  [[nodiscard]] Eigen::VectorXd theta_of(const Eigen::VectorXd& model) const;
  /// This fits the last round's sums. @pre all rounds are closed
  [[nodiscard]] FoundRegression found() const;
  /// The model of a fit, or of where the iteration stood if the fit was refused: [d].
  [[nodiscard]] Eigen::VectorXd model_of(const FoundRegression& regression) const;
  FisherScoringSettings settings_;
  std::uint64_t round_ = 0;
  Eigen::VectorXd model_;     // where it is asked next, or was asked last: [d]
  double moved_ = 0.0;        // how long the step to it was, in units of x
  Eigen::VectorXd totals_;    // of the last round: [score_numbers(p)]
  double stddev_ = 0.0;       // of the noise on each of them
  double share_ = 0.5;        // of records with the positive label, or of labels in their range, as round 0 found it
  std::int64_t records_ = 0;  // of the silos that answered last
  std::uint64_t silos_ = 0;
};

}  // namespace undertone::algorithms
