#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "coordinator/runs/run_store.hpp"
#include "shared/algorithms/federated_algorithm.hpp"

namespace undertone::coordinator {

/// Writes ended runs' results on a thread of its own: what each silo was planned and has spent is a plan and a
/// composition a silo, which may take minutes for a large cohort, and sessions live on meanwhile.
class ResultWriter {
 public:
  /// Called on the context's thread, whatever became of the result. @see write
  using Written = std::function<void(const Status&)>;
  using OutcomePtr = std::shared_ptr<const Result<algorithms::Outcome>>;

  explicit ResultWriter(boost::asio::io_context& context) : context_(&context) {}
  /// Gives up what is not written yet: a coordinator that starts again writes it then.
  ~ResultWriter();
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  /// After what was asked for before it. @param written not called where it was given up
  void write(std::filesystem::path folder, RunRecord record, std::vector<RoundRecord> rounds, OutcomePtr outcome,
             Written written);
  /// Removes a folder of results, after what was asked for before it.
  void remove(std::filesystem::path folder);
  /// Waits for everything that was asked for. Nothing may be asked for afterwards.
  void finish() { thread_.join(); }

 private:
  boost::asio::io_context* context_;
  std::atomic<bool> given_up_ = false;
  boost::asio::thread_pool thread_{1};
};

}  // namespace undertone::coordinator
