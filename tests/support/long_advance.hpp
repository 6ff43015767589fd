#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "shared/algorithms/with_evaluation.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::tests {

/// Another algorithm that takes long over each of its steps: it asks and answers the same.
class LongAdvance final : public algorithms::FederatedAlgorithm {
 public:
  /// What takes long. @param nobody_waits may be asked to give up @return whether it was done
  using Work = std::function<bool(const std::stop_token& nobody_waits)>;
  LongAdvance(std::unique_ptr<algorithms::FederatedAlgorithm> inner, Work work)
      : inner_(std::move(inner)), work_(std::move(work)) {}

  [[nodiscard]] algorithms::Step start() override { return inner_->start(); }
  [[nodiscard]] Result<algorithms::Step> advance(const folds::Gathered& gathered) override {
    if (work_ && !work_(nobody_waits_)) return Error{ErrorCode::Cancelled, "nobody waits"};
    return inner_->advance(gathered);
  }
  [[nodiscard]] bool advance_takes_long() const override { return true; }
  void heed(std::stop_token nobody_waits) override { nobody_waits_ = std::move(nobody_waits); }
  [[nodiscard]] Eigen::VectorXd candidate() const override { return inner_->candidate(); }
  void save(ByteWriter& state) const override { inner_->save(state); }
  [[nodiscard]] Status restore(ByteReader& state) override { return inner_->restore(state); }

 private:
  std::unique_ptr<algorithms::FederatedAlgorithm> inner_;
  Work work_;
  std::stop_token nobody_waits_;
};

/// @param work may be empty: then it only says that it takes long
[[nodiscard]] inline jobs::AlgorithmMaker taking_long(LongAdvance::Work work = {}) {
  return [work = std::move(work)](const jobs::Job& job) -> std::unique_ptr<algorithms::FederatedAlgorithm> {
    auto slow = std::make_unique<LongAdvance>(job.algorithm->make().value(), work);
    if (!job.model) return slow;
    return std::make_unique<algorithms::WithEvaluation>(std::move(slow), *job.model, job.evaluation_every);
  };
}

}  // namespace undertone::tests
