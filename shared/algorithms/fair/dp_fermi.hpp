#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/sgd/server_step.hpp"
#include "shared/fairness/fair_blocks.hpp"

namespace undertone::algorithms {

class DpFermi;

struct DpFermiSettings {
  using Algorithm = DpFermi;
  Problem problem;
  std::uint64_t rounds = 0;        // T descent-ascent steps
  double step_size = 0.0;          // eta_theta
  double weights_step_size = 0.0;  // eta_w, in (0, 1 / (2 lambda)]
  fairness::FairTerms terms;
  /// The groups' shares of all records, bucket by bucket, where they are public: then nothing is asked for them.
  std::vector<double> shares = {};  // [cells] or empty
  /// The question for the groups' shares may cost this part of what a silo promises. It is in (0, 1).
  double histogram_share = 0.1;
  double tail = 0.0;  // the last share of the rounds whose iterates are averaged; 0: the last iterate alone
  StepSchedule steps = {};
  ServerOptimiser server = {};

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] bool asks_shares() const noexcept { return shares.empty(); }
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const;
};

/// Federated DP-FERMI: noisy descent-ascent on loss + lambda x ERMI of the prediction and the sensitive attribute.
///   round 0:           ask every silo for its noised shares of the groups; p~ their weighted mean
///   for t = 0 .. T-1:  ask every silo for its noised fair gradient at (theta_t, W_t, p~)
///                      theta_(t+1) = Pi[theta_t - eta_theta g_theta],  W_(t+1) = Pi_R[W_t + lambda eta_w g_W]
///   output the last theta, or the mean of the last ones
/// Both players step from the same point. The two parts of an answer are one release of one Gaussian noise. The pooled
/// records' ERMI is what is made small, also where a silo has one group alone. The groups' shares only weigh the
/// groups: whatever is told, a fair model stays a stationary point.
/// Source: thesis Algorithm 10; spec fair-learning 2.6, 3.1. The accountant chooses the noise, not Theorem 75.
class DpFermi final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "dp_fermi";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where the job names no groups, there is no round, or a step is no step
  [[nodiscard]] static Result<std::unique_ptr<DpFermi>> create(const DpFermiSettings& settings);
  [[nodiscard]] static planning::Schedule schedule(const DpFermiSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit DpFermi(const DpFermiSettings& settings);
  [[nodiscard]] Step current() const;
  /// theta_t, W_t and p~ as they cross the wire: [d + weights + cells].
  [[nodiscard]] Eigen::VectorXd point() const;
  /// How many descent-ascent steps were made.
  [[nodiscard]] std::uint64_t steps_made() const noexcept;
  [[nodiscard]] Status descend(const Eigen::VectorXd& mean);
  DpFermiSettings settings_;
  std::uint64_t round_ = 0;
  Eigen::VectorXd model_;    // theta_t: [d]
  Eigen::VectorXd weights_;  // W_t, bucket by bucket, column by column: [weights]
  Eigen::VectorXd shares_;   // p~ of all records: [cells]
  Eigen::VectorXd average_;  // of the iterates that count: [d]
  double averaged_ = 0.0;    // how many there are
  ServerStep server_;
};

}  // namespace undertone::algorithms
