#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "shared/base/result.hpp"

namespace undertone::net {

/// Where a running service says how it is, to its own user on its own machine: a socket in the file system. Whoever
/// connects reads one text and then the end; nothing is read from anybody. A service that has died leaves a file that
/// nobody answers at, so an answer is always of the service that has this file in its configuration. Belongs to the
/// thread of its io_context, and answers while other threads compute.
class StatusSocket {
 public:
  using Say = std::function<std::string()>;

  /// @param say outlives the context's run; its text is short, 4 KiB at most
  StatusSocket(boost::asio::io_context& context, std::filesystem::path file, Say say);
  /// Removes the file.
  ~StatusSocket();
  StatusSocket(const StatusSocket&) = delete;
  StatusSocket& operator=(const StatusSocket&) = delete;

  /// Begins to answer. What a dead process left at the path is replaced. @pre the caller holds the lock of the files
  /// that the service works on, so that no other process answers there
  /// @return an error where no socket can be made there, as on some network file systems
  [[nodiscard]] Status open();
  void close();

  /// Beside the file that the service holds the lock of.
  [[nodiscard]] static std::filesystem::path beside(const std::filesystem::path& file);

 private:
  void accept();

  std::filesystem::path file_;
  Say say_;
  boost::asio::local::stream_protocol::acceptor acceptor_;
  boost::asio::steady_timer pause_;
};

/// Asks the service behind a status socket. @param patience for its whole answer
/// @return what it says; Unreachable where no service answers there in time, or another user runs it
[[nodiscard]] Result<std::string> read_status(const std::filesystem::path& file,
                                              std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace undertone::net
