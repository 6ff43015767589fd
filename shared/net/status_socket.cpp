#include "shared/net/status_socket.hpp"

#include <boost/asio/read.hpp>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace undertone::net {
namespace {

namespace asio = boost::asio;
using Local = asio::local::stream_protocol;
constexpr std::size_t kTextBytesMax = 4096;
constexpr std::chrono::milliseconds kPause{100};  // after an accept that failed

/// A file's folder, opened: a socket's own path may have 107 characters alone, and through the descriptor any folder's
/// file can be named in fewer.
class OpenFolder {
 public:
  explicit OpenFolder(const std::filesystem::path& file)
      : descriptor_(
            ::open(file.has_parent_path() ? file.parent_path().c_str() : ".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {}
  ~OpenFolder() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;

  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] std::string path_of(const std::filesystem::path& file) const {
    return fmt::format("/proc/self/fd/{}/{}", descriptor_, file.filename().string());
  }

 private:
  int descriptor_;
};

Error no_answer(const std::filesystem::path& file, const std::string& why) {
  return {ErrorCode::Unreachable, fmt::format("no service answers at {}: {}", file.string(), why)};
}

}  // namespace

std::filesystem::path StatusSocket::beside(const std::filesystem::path& file) { return file.string() + ".status"; }

StatusSocket::StatusSocket(asio::io_context& context, std::filesystem::path file, Say say)
    : file_(std::move(file)), say_(std::move(say)), acceptor_(context), pause_(context) {}

StatusSocket::~StatusSocket() { close(); }

Status StatusSocket::open() {
  const auto failed = [&](const std::string& why) {
    return Error{ErrorCode::StorageFailed, fmt::format("{}: no status socket: {}", file_.string(), why)};
  };
  const OpenFolder folder(file_);
  if (!folder.is_open()) return failed("its folder cannot be opened");
  const std::string path = folder.path_of(file_);
  struct stat present {};
  if (::lstat(path.c_str(), &present) == 0) {
    if (!S_ISSOCK(present.st_mode)) return failed("something else has this name");
    ::unlink(path.c_str());
  }
  boost::system::error_code error;
  (void)acceptor_.open(Local(), error);
  // Whoever is not the service's user is kept out from the first moment on: the mode is set before there is a name.
  if (!error && ::fchmod(acceptor_.native_handle(), S_IRUSR | S_IWUSR) != 0)
    error.assign(errno, boost::system::system_category());
  if (!error) (void)acceptor_.bind(Local::endpoint(path), error);
  if (!error) (void)acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    boost::system::error_code ignored;
    (void)acceptor_.close(ignored);
    return failed(error.message());
  }
  accept();
  return {};
}

void StatusSocket::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, Local::socket peer) {
    if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (error) {  // no descriptor is left, say
      pause_.expires_after(kPause);
      pause_.async_wait([this](const boost::system::error_code& stopped) {
        if (!stopped && acceptor_.is_open()) accept();
      });
      return;
    }
    // A new connection's buffer holds the whole text: nobody is waited for.
    std::string text = say_();
    if (text.size() > kTextBytesMax) text.resize(kTextBytesMax);
    boost::system::error_code ignored;
    (void)peer.non_blocking(true, ignored);
    (void)peer.write_some(asio::buffer(text), ignored);
    (void)peer.close(ignored);
    accept();
  });
}

void StatusSocket::close() {
  if (!acceptor_.is_open()) return;
  boost::system::error_code ignored;
  (void)acceptor_.close(ignored);
  pause_.cancel();
  const OpenFolder folder(file_);
  if (folder.is_open()) ::unlink(folder.path_of(file_).c_str());
}

Result<std::string> read_status(const std::filesystem::path& file, std::chrono::milliseconds patience) {
  const OpenFolder folder(file);
  if (!folder.is_open()) return no_answer(file, "there is no such folder");
  asio::io_context context(1);
  Local::socket socket(context);
  std::string text;
  std::optional<boost::system::error_code> ended;
  socket.async_connect(Local::endpoint(folder.path_of(file)), [&](const boost::system::error_code& error) {
    if (error) {
      ended = error;
      return;
    }
    asio::async_read(socket, asio::dynamic_buffer(text, kTextBytesMax),
                     [&](const boost::system::error_code& result, std::size_t /*bytes*/) { ended = result; });
  });
  context.run_for(patience);
  if (!ended) return no_answer(file, fmt::format("it says nothing within {} ms", patience.count()));
  if (*ended == asio::error::connection_refused) return no_answer(file, "the one that made it has died");
  if (*ended && *ended != asio::error::eof) return no_answer(file, ended->message());
  return text;
}

}  // namespace undertone::net
