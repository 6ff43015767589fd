#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "shared/algorithms/federated_algorithm.hpp"
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
  [[nodiscard]] std::vector<algorithms::MetricsRow> metrics() const override { return inner_->metrics(); }
  void save(ByteWriter& state) const override { inner_->save(state); }
  [[nodiscard]] Status restore(ByteReader& state) override { return inner_->restore(state); }

 private:
  std::unique_ptr<algorithms::FederatedAlgorithm> inner_;
  Work work_;
  std::stop_token nobody_waits_;
};

/// @param work may be empty: then it only says that it takes long @param of makes what takes long
[[nodiscard]] inline jobs::AlgorithmMaker taking_long(LongAdvance::Work work = {},
                                                      jobs::AlgorithmMaker of = jobs::make_algorithm) {
  return [work = std::move(work), of = std::move(of)](const jobs::Job& job) {
    return std::make_unique<LongAdvance>(of(job), work);
  };
}

}  // namespace undertone::tests
