#pragma once

#include <memory>
#include <stop_token>
#include <utility>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/models/model.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::algorithms {

/// Runs another algorithm and asks the silos to evaluate its candidate model on their holdouts: after every `every`
/// of its rounds and after the last. An evaluation is a round of its own, planned and charged like any other.
class WithEvaluation final : public FederatedAlgorithm {
 public:
  /// @param every 0: only after the last round
  WithEvaluation(std::unique_ptr<FederatedAlgorithm> inner, models::Model model, std::uint64_t every);

  /// The inner schedule with the evaluations put in.
  [[nodiscard]] static planning::Schedule schedule(const planning::Schedule& inner, const models::Model& model,
                                                   std::uint64_t every);

  [[nodiscard]] Step start() override;
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] bool advance_takes_long() const override { return inner_->advance_takes_long(); }
  void heed(std::stop_token nobody_waits) override { inner_->heed(std::move(nobody_waits)); }
  [[nodiscard]] Eigen::VectorXd candidate() const override { return inner_->candidate(); }
  [[nodiscard]] std::vector<MetricsRow> metrics() const override { return metrics_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  [[nodiscard]] Step current();
  std::unique_ptr<FederatedAlgorithm> inner_;
  models::Model model_;
  std::uint64_t every_;
  std::uint64_t round_ = 0;  // of this algorithm: inner rounds and evaluations
  std::uint64_t inner_rounds_ = 0;
  std::uint64_t evaluated_at_ = 0;  // inner rounds at the last evaluation; 0: none yet
  std::vector<MetricsRow> metrics_;
};

}  // namespace undertone::algorithms
