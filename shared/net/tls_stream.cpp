#include "shared/net/tls_stream.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <cerrno>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "shared/net/await.hpp"

namespace undertone::net {
namespace {

using boost::asio::ip::tcp;

SocketEnd& end_of(BIO* bio) { return *static_cast<SocketEnd*>(BIO_get_data(bio)); }

/// @return what OpenSSL expects of a source or a sink
int outcome_of(BIO* bio, ssize_t moved, std::size_t* size, void (*again)(BIO*, int), int what) {
  if (moved > 0) {
    *size = static_cast<std::size_t>(moved);
    return 1;
  }
  *size = 0;
  if (moved == 0) return 0;  // the peer has ended
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) again(bio, what);
  return -1;
}

int write_to_socket(BIO* bio, const char* bytes, std::size_t count, std::size_t* written) {
  BIO_clear_retry_flags(bio);
  tcp::socket& socket = end_of(bio).socket;
  if (!socket.is_open()) return -1;  // its number may be another connection's by now
  const ssize_t moved = ::send(socket.native_handle(), bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
  return outcome_of(bio, moved, written, &BIO_set_flags, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
}

int read_from_socket(BIO* bio, char* into, std::size_t count, std::size_t* read) {
  BIO_clear_retry_flags(bio);
  SocketEnd& end = end_of(bio);
  if (!end.socket.is_open()) return -1;
  if (end.handshake_messages > TlsStream::kHandshakeMessagesMax) {
    errno = EPROTO;
    return -1;
  }
  if (end.left == 0) {  // the step is over
    BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
    return -1;
  }
  const ssize_t moved = ::recv(end.socket.native_handle(), into, std::min(count, end.left), MSG_DONTWAIT);
  if (moved > 0) end.left -= static_cast<std::size_t>(moved);
  if (moved == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return outcome_of(bio, moved, read, &BIO_set_flags, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
}

long control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  switch (command) {
    case BIO_CTRL_FLUSH:
      return 1;
    case BIO_CTRL_EOF:
      return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    default:
      return 0;
  }
}

int begin(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

/// Counts what OpenSSL does not bound: changes of keys, tickets, and whatever else may follow a handshake.
void on_message(int sent, int /*version*/, int type, const void* /*bytes*/, std::size_t /*count*/, SSL* /*connection*/,
                void* end) {
  SocketEnd& counted = *static_cast<SocketEnd*>(end);
  if (sent == 0 && type == SSL3_RT_HANDSHAKE && counted.greeted) ++counted.handshake_messages;
}

/// Asio's sockets as OpenSSL's sources and sinks.
const BIO_METHOD* socket_method() {
  static const BIO_METHOD* method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "a socket of Asio");
    UNDERTONE_CHECK(made != nullptr && BIO_meth_set_write_ex(made, write_to_socket) == 1 &&
                    BIO_meth_set_read_ex(made, read_from_socket) == 1 && BIO_meth_set_ctrl(made, control) == 1 &&
                    BIO_meth_set_create(made, begin) == 1);
    return made;
  }();
  return method;
}

}  // namespace

void TlsStream::Free::operator()(ssl_st* connection) const noexcept { SSL_free(connection); }

TlsStream::TlsStream(tcp::socket socket, boost::asio::ssl::context& context)
    : end_(new SocketEnd{std::move(socket)}), connection_(SSL_new(context.native_handle())) {
  BIO* bio = BIO_new(socket_method());
  UNDERTONE_CHECK(connection_ != nullptr && bio != nullptr);
  BIO_set_data(bio, end_.get());
  SSL_set_bio(connection_.get(), bio, bio);
  SSL_set_mode(connection_.get(),
               SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_set_read_ahead(connection_.get(), 1);
  SSL_set_msg_callback(connection_.get(), on_message);
  SSL_set_msg_callback_arg(connection_.get(), end_.get());
  boost::system::error_code ignored;
  end_->socket.native_non_blocking(true, ignored);
}

TlsStream::Step TlsStream::outcome(int result, std::size_t size) const {
  namespace error = boost::asio::error;
  if (result > 0) return {{}, size, Need::Nothing};
  const int reason = errno;
  switch (SSL_get_error(connection_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {{}, 0, end_->left == 0 ? Need::ATurn : Need::ToRead};
    case SSL_ERROR_WANT_WRITE:
      return {{}, 0, Need::ToWrite};
    case SSL_ERROR_ZERO_RETURN:
      return {error::eof, 0, Need::Nothing};
    case SSL_ERROR_SYSCALL:
      if (reason != 0 && end_->socket.is_open())
        return {boost::system::error_code(reason, boost::system::system_category()), 0, Need::Nothing};
      return {error::operation_aborted, 0, Need::Nothing};
    default:
      break;
  }
  const unsigned long code = ERR_get_error();
  if (code == 0) return {boost::asio::ssl::error::unspecified_system_error, 0, Need::Nothing};
  if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
    return {boost::asio::ssl::error::stream_truncated, 0, Need::Nothing};
  return {boost::system::error_code(static_cast<int>(code), error::get_ssl_category()), 0, Need::Nothing};
}

void TlsStream::begin_step() {
  ERR_clear_error();  // of other connections
  errno = 0;
  end_->left = kStepBytes;
}

boost::asio::awaitable<boost::system::error_code> TlsStream::ready_for(Need need) {
  if (need == Need::ATurn) {
    (void)co_await boost::asio::post(get_executor(), kAwait);
    co_return boost::system::error_code();
  }
  const auto what = need == Need::ToRead ? tcp::socket::wait_read : tcp::socket::wait_write;
  const auto [failed] = co_await end_->socket.async_wait(what, kAwait);
  co_return failed;
}

TlsStream::Step TlsStream::handshake(Side side) {
  begin_step();
  const Step step = outcome(side == Side::Client ? SSL_connect(connection_.get()) : SSL_accept(connection_.get()), 0);
  end_->greeted = !step.error && step.need == Need::Nothing;
  return step;
}

TlsStream::Step TlsStream::read(boost::asio::mutable_buffer into) {
  begin_step();
  std::size_t size = 0;
  const int result = SSL_read_ex(connection_.get(), into.data(), into.size(), &size);
  return outcome(result, size);
}

TlsStream::Step TlsStream::write(boost::asio::const_buffer from) {
  begin_step();
  std::size_t size = 0;
  const int result = SSL_write_ex(connection_.get(), from.data(), from.size(), &size);
  return outcome(result, size);
}

}  // namespace undertone::net
