#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "shared/net/session.hpp"
#include "tests/support/certificates.hpp"

namespace undertone::tests {

/// Whoever dials a shuffler on loopback, as anybody might: says what it is told to say, without a look at its own
/// files.
class ShufflerPeer {
 public:
  ShufflerPeer(std::uint16_t port, const net::TlsFiles& files,
               const wire::Message& greeting = wire::Hello{3, 3, "test"}) {
    tls_.use_certificate_chain_file(files.certificate.string());
    tls_.use_private_key_file(files.key.string(), boost::asio::ssl::context::pem);
    tls_.load_verify_file(files.authority.string());
    tls_.set_verify_mode(boost::asio::ssl::verify_peer);
    boost::asio::ip::tcp::socket socket(*context_);
    socket.connect({boost::asio::ip::make_address("127.0.0.1"), port});
    local_port_ = socket.local_endpoint().port();
    session_ = std::make_shared<net::Session>(net::Session::Stream(std::move(socket), tls_), net::SessionLimits{});
    wait_for([this]() -> boost::asio::awaitable<void> {
      const Result<certificates::CertificateFacts> peer = co_await session_->handshake(net::Side::Client);
      if (peer) session_->established();
    });
    send(greeting);
  }
  ShufflerPeer(ShufflerPeer&&) = default;
  /// What this one had goes with the other, session before context: a session that ends stops timers of its context.
  ShufflerPeer& operator=(ShufflerPeer&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(tls_, other.tls_);
    std::swap(session_, other.session_);
    std::swap(local_port_, other.local_port_);
    return *this;
  }
  ShufflerPeer(const ShufflerPeer&) = delete;
  ShufflerPeer& operator=(const ShufflerPeer&) = delete;
  ~ShufflerPeer() = default;

  /// One that was let in.
  static ShufflerPeer welcomed(std::uint16_t port, const net::TlsFiles& files) {
    ShufflerPeer out(port, files);
    (void)out.expect<wire::Welcome>();
    return out;
  }

  /// Leaves with the next wait.
  void send(const wire::Message& message) { session_->send(message); }
  /// The next message, or why there is none.
  Result<wire::Message> receive() {
    std::optional<Result<wire::Message>> out;
    wait_for([&]() -> boost::asio::awaitable<void> { out.emplace(co_await session_->receive()); });
    return *out;
  }
  /// The next message, which must be of this kind.
  template <class Kind>
  Kind expect() {
    const Result<wire::Message> message = receive();
    if (!message) {
      ADD_FAILURE() << message.error().message;
      return {};
    }
    const auto* kind = std::get_if<Kind>(&*message);
    if (kind == nullptr) {
      ADD_FAILURE() << "got " << wire::name_of(*message);
      return {};
    }
    return *kind;
  }
  /// What tells its connection apart on the network.
  [[nodiscard]] std::uint16_t local_port() const noexcept { return local_port_; }

 private:
  void wait_for(const std::function<boost::asio::awaitable<void>()>& work) {
    bool done = false;
    boost::asio::co_spawn(*context_, work(), [&done](const std::exception_ptr& failure) {
      done = true;
      if (failure) std::rethrow_exception(failure);
    });
    context_->restart();
    while (!done) context_->run_one();
  }
  // On the heap, so that a peer can be handed on.
  std::unique_ptr<boost::asio::io_context> context_ = std::make_unique<boost::asio::io_context>(1);
  boost::asio::ssl::context tls_{boost::asio::ssl::context::tls_client};
  std::shared_ptr<net::Session> session_;
  std::uint16_t local_port_ = 0;
};

/// What a silo that was asked for this batch sends. @param units `message_bytes` of the batch
inline wire::SealedReply reply_to(const wire::BatchOpen& batch, const Digest& terms, std::string units) {
  wire::SealedReply reply;
  reply.run = batch.run;
  reply.round = batch.round;
  reply.terms = terms;
  reply.unit_bytes = batch.unit_bytes;
  reply.word_bytes = batch.word_bytes;
  reply.units = std::move(units);
  return reply;
}

}  // namespace undertone::tests
