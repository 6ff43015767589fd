#include "shared/http/changes.hpp"

#include <boost/asio/this_coro.hpp>

#include "shared/net/await.hpp"

namespace undertone::http {

void Changes::notify() {
  ++count_;
  for (boost::asio::steady_timer* timer : waiting_) timer->cancel();
}

boost::asio::awaitable<std::uint64_t> Changes::beyond(std::uint64_t seen, std::chrono::milliseconds most) {
  if (count_ > seen) co_return count_;
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(most);
  const auto place = waiting_.insert(waiting_.end(), &timer);
  (void)co_await timer.async_wait(net::kAwait);
  waiting_.erase(place);
  co_return count_;
}

}  // namespace undertone::http
