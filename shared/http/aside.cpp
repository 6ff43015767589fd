#include "shared/http/aside.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include "shared/base/contained.hpp"
#include "shared/net/await.hpp"

namespace undertone::http {

namespace asio = boost::asio;

Aside::~Aside() {
  thread_.stop();  // what waits is not begun
  thread_.join();
}

asio::awaitable<Reply> Aside::answer(std::function<Reply()> work) {
  const std::shared_ptr<std::size_t> waiting = waiting_;
  if (*waiting >= kWaitingMax)
    co_return error_reply(429, "limit_exceeded", "as many answers of this kind are being made as may be: ask again");
  ++*waiting;
  const auto made = std::make_shared<std::optional<Reply>>();
  const auto ready = std::make_shared<asio::steady_timer>(*context_, asio::steady_timer::time_point::max());
  asio::post(thread_, [context = context_, made, ready, work = std::move(work)] {
    const Result<Reply> reply = contained("answering", [&] { return Result<Reply>(work()); });
    asio::post(*context, [made, ready, reply] {
      *made = reply ? *reply : error_reply(500, to_string(reply.error().code), reply.error().message);
      ready->cancel();
    });
  });
  while (!made->has_value()) (void)co_await ready->async_wait(net::kAwait);
  --*waiting;
  co_return **made;
}

}  // namespace undertone::http
