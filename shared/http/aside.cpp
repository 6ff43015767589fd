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

asio::awaitable<Reply> Aside::answer(std::string who, std::function<Reply()> work) {
  const std::shared_ptr<Waiting> waiting = waiting_;
  const auto own = waiting->by_caller.find(who);
  if (waiting->all >= kWaitingMax || (own != waiting->by_caller.end() && own->second >= kOfCallerMax))
    co_return error_reply(429, "limit_exceeded", "as many answers of this kind are being made as may be: ask again");
  ++waiting->all;
  ++waiting->by_caller[who];
  // Until the answer is sent: it may be large, and its reader slow.
  const std::shared_ptr<void> held(nullptr, [waiting, who](void* /*none*/) {
    --waiting->all;
    const auto place = waiting->by_caller.find(who);
    if (--place->second == 0) waiting->by_caller.erase(place);
  });
  const auto made = std::make_shared<std::optional<Reply>>();
  const auto ready = std::make_shared<asio::steady_timer>(*context_, asio::steady_timer::time_point::max());
  asio::post(thread_, [context = context_, made, ready, work = std::move(work)] {
    Result<Reply> reply = contained("answering", [&] { return Result<Reply>(work()); });
    auto moved = std::make_shared<Reply>(
        reply ? *std::move(reply) : error_reply(500, to_string(reply.error().code), reply.error().message));
    asio::post(*context, [made, ready, moved = std::move(moved)] {
      *made = std::move(*moved);
      ready->cancel();
    });
  });
  while (!made->has_value()) (void)co_await ready->async_wait(net::kAwait);
  Reply out = std::move(**made);
  out.held = held;
  co_return out;
}

}  // namespace undertone::http
