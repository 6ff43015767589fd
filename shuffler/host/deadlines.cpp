#include "shuffler/host/deadlines.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace undertone::shuffler {

Deadlines::Deadlines(boost::asio::io_context& context, Due due) : due_(std::move(due)), timer_(context) {
  timer_.expires_at(TimePoint::max());
}

void Deadlines::set(const BatchMachine::ArmDeadline& armed) {
  deadlines_.insert_or_assign(armed.run, Deadline{armed.round, armed.at});
  if (armed.at < timer_.expiry()) wake_at(armed.at);
}

void Deadlines::stop() {
  stopped_ = true;
  timer_.cancel();
}

void Deadlines::wake_at(TimePoint at) {
  timer_.expires_at(at);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !stopped_) wake();
  });
}

void Deadlines::wake() {
  const TimePoint now = std::chrono::steady_clock::now();
  std::vector<std::pair<RunId, Deadline>> due;
  TimePoint next = TimePoint::max();
  for (auto known = deadlines_.begin(); known != deadlines_.end();) {
    if (known->second.at > now) {
      next = std::min(next, known->second.at);
      ++known;
      continue;
    }
    due.emplace_back(*known);
    known = deadlines_.erase(known);
  }
  wake_at(next);
  std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.second.at < b.second.at; });
  for (const auto& [run, deadline] : due) {
    if (!stopped_) due_(run, deadline.round, now);
  }
}

}  // namespace undertone::shuffler
