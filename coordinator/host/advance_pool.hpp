#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <functional>

#include "coordinator/runs/advance.hpp"

namespace undertone::coordinator {

/// Does what algorithms take long over on threads of its own, while sessions, other runs and the HTTP service live on.
class AdvancePool {
 public:
  /// Called on the context's thread. @see perform
  using Done = std::function<void(Advanced advanced)>;
  /// @param at_once no more threads than that, nor than the machine has processors; what is beyond waits its turn
  AdvancePool(boost::asio::io_context& context, std::size_t at_once, Done done);
  /// Gives up what is not begun, and waits for what is: whoever handed it out has said by then that it need not be
  /// done. A coordinator that starts again asks the round again.
  ~AdvancePool();
  AdvancePool(const AdvancePool&) = delete;
  AdvancePool& operator=(const AdvancePool&) = delete;

  /// `done` hears what it led to. Nothing bounds what waits here but the number of runs, each of which has one at most.
  void perform(Advance advance);

 private:
  boost::asio::io_context* context_;
  Done done_;
  std::atomic<bool> given_up_ = false;
  boost::asio::thread_pool threads_;
};

}  // namespace undertone::coordinator
