#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>

#include "shared/http/message.hpp"

namespace undertone::http {

/// A thread beside the service's, for answers that take long, such as reading a large file. Belongs to the context's
/// thread.
class Aside {
 public:
  static constexpr std::size_t kWaitingMax = 16;  // answers that are being made or wait

  explicit Aside(boost::asio::io_context& context) : context_(&context) {}
  /// Waits for the answer that is being made.
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  /// @param work makes the answer, on the thread beside; it must not touch what belongs to the context's thread
  /// @return 429 where as many wait as may, 500 for what broke
  [[nodiscard]] boost::asio::awaitable<Reply> answer(std::function<Reply()> work);

 private:
  boost::asio::io_context* context_;
  std::shared_ptr<std::size_t> waiting_ = std::make_shared<std::size_t>(0);  // an answer may outlive this
  boost::asio::thread_pool thread_{1};
};

}  // namespace undertone::http
