#pragma once

#include <cstdint>

#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

class Scaffold;

struct ScaffoldSettings {
  using Algorithm = Scaffold;
  Problem problem;            // its `silos` are N
  std::uint64_t rounds = 0;   // R
  std::uint64_t steps = 0;    // K: of each silo, between two messages
  double step_size = 0.0;     // eta_l; the coordinator's own is 1
  std::uint32_t records = 1;  // b: of a step

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const {
    return "SCAFFOLD (Karimireddy et al. 2020, Algorithm 1, option II), each step noised";
  }
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {rounds, 1}; }
  [[nodiscard]] MethodTraits traits() const;
};

/// SCAFFOLD, a baseline for silos that differ: Karimireddy et al. 2020, Algorithm 1.
///   x_0 the start, c = 0 here and c_i = 0 at every silo
///   for r = 0 .. R-1:  ask every silo for the end y_i of K noisy steps from x_r, each corrected by c - c_i
///                      (a silo then keeps c_i <- c_i - c + (x_r - y_i)/(K eta))
///                      y = the weighted mean of the ends of the M silos that answered
///                      x_{r+1} = Pi_W[y],   c <- c + (M/N) ((x_r - y)/(K eta) - c)
///   output x_R
/// The source has silos send c_i's change too; its mean is (x_r - y)/(K eta) - c, which the coordinator works out
/// itself. With unequal weights and silos missing the weights of those that answered stand in for all silos'.
/// A silo's variate is made of what it said before, so a run costs what local SGD's does. It has to be kept from round
/// to round, which no agent does: for simulations alone.
class Scaffold final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "scaffold";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there is no round, step or record of one, the step size is none, or there is a regulariser
  [[nodiscard]] static Result<std::unique_ptr<Scaffold>> create(const ScaffoldSettings& settings);

  /// What it asks, in order: R controlled local runs.
  [[nodiscard]] static planning::Schedule schedule(const ScaffoldSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit Scaffold(const ScaffoldSettings& settings)
      : settings_(settings),
        iterate_(settings_.problem.start()),
        control_(Eigen::VectorXd::Zero(settings_.problem.dimension)) {}
  [[nodiscard]] Step current() const;
  ScaffoldSettings settings_;
  std::uint64_t round_ = 0;  // r
  Eigen::VectorXd iterate_;  // x_r
  Eigen::VectorXd control_;  // c
};

}  // namespace undertone::algorithms
