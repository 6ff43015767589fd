#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shared/algorithms/method.hpp"
#include "shared/geometry/vertices.hpp"

namespace undertone::algorithms {

class OneShotFrankWolfe;

struct OneShotFrankWolfeSettings {
  using Algorithm = OneShotFrankWolfe;
  /// Its domain is the vertices' hull, as of `PrivateFrankWolfeSettings`.
  Problem problem;
  geometry::Vertices vertices;
  std::uint64_t iterates = 0;  // T: a silo chooses a vertex T-1 times

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {1, 1}; }
  [[nodiscard]] MethodTraits traits() const;
};

/// One-shot averaging: every silo runs private Frank-Wolfe over a polytope on its own records alone, T-1 steps from the
/// same start, and the output is the weighted mean of where they end. One round; what a silo sends is made of its own
/// private choices, and costs what they cost. For convex losses and silos whose records have one law the excess risk is
/// at most the mean of the silos' own. Source: spec non-euclidean 3.2, option F; constraint-geometry 2.5.
class OneShotFrankWolfe final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "one_shot_frank_wolfe";
  static constexpr std::uint64_t kStepsMax = 100'000;  // a silo's own, before it answers
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there are fewer than two iterates or too many, the domain is not the vertices' hull, or
  /// there is a regulariser
  [[nodiscard]] static Result<std::unique_ptr<OneShotFrankWolfe>> create(const OneShotFrankWolfeSettings& settings);
  /// What it asks: once, where T-1 steps of a silo's own lead.
  [[nodiscard]] static planning::Schedule schedule(const OneShotFrankWolfeSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return mean_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit OneShotFrankWolfe(const OneShotFrankWolfeSettings& settings);
  [[nodiscard]] Step current() const;
  OneShotFrankWolfeSettings settings_;
  std::uint64_t round_ = 0;
  Eigen::VectorXd mean_;  // where every silo starts, then the mean of where they ended
};

}  // namespace undertone::algorithms
