#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

class ThrowAway;

struct ThrowAwaySettings {
  using Algorithm = ThrowAway;
  Problem problem;

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const { return {}; }
  [[nodiscard]] Extent extent() const { return {0, 0}; }
  [[nodiscard]] MethodTraits traits() const;
};

/// The model of public records alone: no protected record is read, and silos are asked to evaluate it at most. It is
/// what every method with public records has to beat. Source: spec public-data 4 and 5.1 (Theorems 21, 23, 84, 87).
class ThrowAway final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "throw_away";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  [[nodiscard]] static Result<std::unique_ptr<ThrowAway>> create(const ThrowAwaySettings& settings);
  /// Asks nothing.
  [[nodiscard]] static planning::Schedule schedule(const ThrowAwaySettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override;
  /// @return an error: nothing was asked
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return model_; }
  /// Saves the model, since who reads a run again after its end has no public records.
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit ThrowAway(Eigen::VectorXd model) : model_(std::move(model)) {}
  Eigen::VectorXd model_;  // where the problem starts: what public records were found to minimise
};

}  // namespace undertone::algorithms
