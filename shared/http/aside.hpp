#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "shared/http/message.hpp"

namespace undertone::http {

/// A thread beside the service's, for answers that take long, such as reading a large file. Belongs to the context's
/// thread.
class Aside {
 public:
  static constexpr std::size_t kWaitingMax = 16;  // answers that wait, are being made, or are being sent
  static constexpr std::size_t kOfCallerMax = 4;  // of them, of one caller

  explicit Aside(boost::asio::io_context& context) : context_(&context) {}
  /// Waits for the answer that is being made.
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  /// @param who asks @param work makes the answer, on the thread beside; it must not touch what belongs to the
  /// context's thread
  /// @return 429 where as many wait as may, 500 for what broke
  [[nodiscard]] boost::asio::awaitable<Reply> answer(std::string who, std::function<Reply()> work);

 private:
  boost::asio::io_context* context_;
  struct Waiting {
    std::size_t all = 0;
    std::map<std::string, std::size_t> by_caller;
  };
  std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();  // an answer may outlive this
  boost::asio::thread_pool thread_{1};
};

}  // namespace undertone::http
