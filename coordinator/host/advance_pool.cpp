#include "coordinator/host/advance_pool.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

namespace undertone::coordinator {

AdvancePool::AdvancePool(boost::asio::io_context& context, std::size_t at_once, Done done)
    : context_(&context),
      done_(std::move(done)),
      threads_(std::max<std::size_t>(1, std::min<std::size_t>(at_once, std::thread::hardware_concurrency()))) {}

AdvancePool::~AdvancePool() {
  given_up_ = true;
  threads_.join();
}

void AdvancePool::perform(Advance advance) {
  boost::asio::post(threads_, [this, work = std::move(advance)]() mutable {
    if (given_up_) return;
    Advanced advanced = std::move(work).perform();
    if (given_up_) return;
    boost::asio::post(*context_, [this, made = std::move(advanced)]() mutable { done_(std::move(made)); });
  });
}

}  // namespace undertone::coordinator
