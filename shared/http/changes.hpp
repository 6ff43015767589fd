#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <list>

namespace undertone::http {

/// How often something changed that a page may show. Who listens is told the newest count alone, so that a slow reader
/// costs no more memory than a quick one. Belongs to the thread of its listeners.
class Changes {
 public:
  /// Something changed: whoever waits is woken.
  void notify();
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// Waits until the count is beyond `seen`, for `most` at most. @return the count
  [[nodiscard]] boost::asio::awaitable<std::uint64_t> beyond(std::uint64_t seen, std::chrono::milliseconds most);

 private:
  std::uint64_t count_ = 1;
  std::list<boost::asio::steady_timer*> waiting_;
};

}  // namespace undertone::http
