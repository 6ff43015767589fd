#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

class ObjectivePerturbation;

struct ObjectivePerturbationSettings {
  using Algorithm = ObjectivePerturbation;
  Problem problem;

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const { return {}; }
  [[nodiscard]] Extent extent() const { return {1, 1}; }
  [[nodiscard]] MethodTraits traits() const;
};

/// Objective perturbation, one-shot: every silo minimises its own records' mean logistic loss over the domain, with a
/// quadratic around the start and a random linear term, and the output is the weighted mean of where the minima are.
/// Nothing is sent on the way, which is what the method rests on: a federated solver would release its gradients.
/// The bias of a mean of local minima stays, however little noise there is. Source: Talwar, Thakurta and Zhang 2014,
/// Algorithm 2, Theorem 4.1, with the noise corrected; spec constraint-geometry 2.3, 4.3.
/// @see mechanisms::ObjectivePerturbation
class ObjectivePerturbation final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "objective_perturbation";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there is a regulariser: what a silo minimises has its own
  [[nodiscard]] static Result<std::unique_ptr<ObjectivePerturbation>> create(
      const ObjectivePerturbationSettings& settings);
  /// What it asks: once, each silo's minimiser. @pre the shape's bound is one in l2, of a record's vector
  [[nodiscard]] static planning::Schedule schedule(const ObjectivePerturbationSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return mean_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit ObjectivePerturbation(const ObjectivePerturbationSettings& settings);
  [[nodiscard]] Step current() const;
  ObjectivePerturbationSettings settings_;
  std::uint64_t round_ = 0;
  Eigen::VectorXd mean_;  // theta_0, then the mean of the silos' minimisers on the domain
};

}  // namespace undertone::algorithms
