#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>

#include "shared/base/ids.hpp"
#include "shuffler/batch/batch_machine.hpp"

namespace undertone::shuffler {

/// When the machine wants to be woken, by run: a run has one batch at a time, whose newest deadline stands.
class Deadlines {
 public:
  using Due = std::function<void(const RunId& run, RoundIndex round, TimePoint now)>;
  /// @param due called on the context's thread
  Deadlines(boost::asio::io_context& context, Due due);

  void set(const BatchMachine::ArmDeadline& armed);
  /// Nothing is due from here on.
  void stop();

 private:
  struct Deadline {
    RoundIndex round;
    TimePoint at;
  };
  void wake_at(TimePoint at);
  void wake();

  Due due_;
  boost::asio::steady_timer timer_;  // expires with the first of the deadlines, or before
  std::map<RunId, Deadline> deadlines_;
  bool stopped_ = false;
};

}  // namespace undertone::shuffler
