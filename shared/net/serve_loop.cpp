#include "shared/net/serve_loop.hpp"

#include <chrono>
#include <csignal>

namespace undertone::net {
namespace {

constexpr std::chrono::milliseconds kLastWords{200};

}  // namespace

ServeLoop::ServeLoop(boost::asio::io_context& context) : context_(&context), signals_(context, SIGINT, SIGTERM) {
  signals_.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    interrupted_ = true;
    context_->stop();
  });
}

void ServeLoop::run_until(const std::function<bool()>& over) {
  while (!interrupted_ && !over() && context_->run_one() > 0) {
  }
}

void ServeLoop::send_last_words() {
  context_->restart();
  context_->run_for(kLastWords);
}

}  // namespace undertone::net
