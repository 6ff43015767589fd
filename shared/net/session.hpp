#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "shared/net/tls_stream.hpp"
#include "shared/wire/codec.hpp"

namespace undertone::net {

namespace asio = boost::asio;

/// Bounds of a connection. Every wait and every queue has one.
struct SessionLimits {
  std::chrono::milliseconds handshake{5'000};        // TLS and the first message, both ways
  std::chrono::milliseconds heartbeat{2'000};        // how often to say something
  std::chrono::milliseconds silence{10'000};         // how long to hear nothing before giving up
  std::chrono::milliseconds stall{120'000};          // how long a peer may take nothing of what is queued for it
  std::size_t outbox_bytes = std::size_t{1} << 30U;  // queued to a peer that does not read, and what queueing costs
  wire::Limits wire;
  std::uint32_t protocol_max = wire::kProtocolMax;  // below it while a consortium upgrades
};

/// Lets one session at a time put a large vector together, so that memory does not grow with the number of peers: the
/// others' bytes wait in their sockets. First come, first served.
class AssemblyGate {
 public:
  explicit AssemblyGate(const asio::any_io_executor& executor) : turn_(executor) {
    turn_.expires_at(asio::steady_timer::time_point::max());
  }
  /// Vectors up to this size are let through.
  static constexpr std::uint64_t kSmallBytes = std::uint64_t{1} << 20U;

  /// @return whether it is `who`'s turn, now or after the others
  void enter(const void* who) { queue_.push_back(who); }
  [[nodiscard]] bool open_for(const void* who) const { return !queue_.empty() && queue_.front() == who; }
  void leave(const void* who);
  /// Wakes when somebody left.
  [[nodiscard]] asio::steady_timer& turn() noexcept { return turn_; }

 private:
  std::deque<const void*> queue_;
  asio::steady_timer turn_;
};

/// One TLS connection that carries messages. Belongs to the thread of its io_context.
class Session : public std::enable_shared_from_this<Session> {
 public:
  using Stream = TlsStream;
  using Bytes = std::shared_ptr<const std::string>;

  /// What a queued message is charged beside its bytes. A small one takes 325 bytes more than its own: the string, its
  /// block and what it grew by, the counts of its pointer, a place in the queue, and what the allocator adds to each.
  static constexpr std::size_t kMessageBytes = 512;
  /// A peer is taken for stalled where more than a quarter of `outbox_bytes` waits for it: a large message may well
  /// wait while it computes, holds a reply back or has no turn.
  static constexpr std::size_t kStallShare = 4;

  /// @param gate shared by the sessions of a process that hears from many; null: none
  Session(Stream stream, SessionLimits limits, std::shared_ptr<AssemblyGate> gate = nullptr);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// TLS, and then the peer is known; it and what follows until `established` take `limits.handshake` at most, whatever
  /// the peer says meanwhile. A server hears nothing but small frames before that. Starts the heartbeat, the watch and
  /// the writer.
  [[nodiscard]] asio::awaitable<Result<certificates::CertificateFacts>> handshake(Side side);

  /// What the peer may say, as its role has it: anything else ends the connection before it is parsed.
  void accept_only(wire::KindSet kinds) noexcept { decoder_.accept_only(kinds); }
  /// Large vectors that are not expected are thrown away as they come: they take no turn at the gate and no memory.
  /// @param expected asked once the header is here; it may send, and must not destroy the session
  void expect_large(wire::Decoder::Wanted expected);

  /// The next message that is not a heartbeat, or why there will be none.
  [[nodiscard]] asio::awaitable<Result<wire::Message>> receive();

  /// Queues frames. A peer whose queue is full loses the connection, and nothing else.
  void send(Bytes bytes);
  void send(const wire::Message& message);
  /// Whether these very bytes are the last that wait: asking again adds nothing.
  [[nodiscard]] bool waits_last(const Bytes& bytes) const noexcept;
  /// The peer has introduced itself: from here on silence is measured by `silence`.
  void established();
  /// From here on nothing of what was read stays in a buffer once its message is whole: for whoever must forget it.
  void wipe_received();
  /// Lets the queue run out, for `limits.handshake` at most, then closes.
  void finish();
  void close();
  /// Closes for a reason, which whoever receives is told.
  void close(std::string reason);
  /// For as long as the peer's certificate lasts; what it is, once the handshake is over.
  [[nodiscard]] const certificates::CertificateFacts& peer() const noexcept { return peer_; }
  /// Bytes of payload and framing since the beginning, for metrics.
  [[nodiscard]] std::uint64_t bytes_received() const noexcept { return bytes_received_; }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }

 private:
  [[nodiscard]] asio::awaitable<void> write_loop();
  /// Decodes these bytes. They are overwritten afterwards where this connection is wiped. @see wipe_received
  /// @return the messages that they complete
  [[nodiscard]] Result<std::vector<wire::Message>> take(char* bytes, std::size_t size);
  /// Hands all of it to TLS. @return why that failed
  [[nodiscard]] asio::awaitable<boost::system::error_code> write(const std::string& bytes);
  [[nodiscard]] asio::awaitable<void> watch();
  /// Waits for this session's turn if a large vector is on its way, and gives the turn back when it is whole.
  [[nodiscard]] asio::awaitable<void> keep_turn();
  /// After a queue of very many messages is gone, gives its memory back.
  void shrink_outbox();
  Stream stream_;
  SessionLimits limits_;
  wire::Encoder encoder_;
  wire::Decoder decoder_;
  std::size_t since_pause_ = 0;          // bytes that were read since others had their turn
  std::size_t written_since_pause_ = 0;  // the same of what was written, over all messages
  std::deque<wire::Message> received_;
  std::deque<Bytes> outbox_;
  std::size_t outbox_bytes_ = 0;  // with kMessageBytes for each
  std::size_t outbox_most_ = 0;   // messages, since it was shrunk
  asio::steady_timer outbox_changed_;
  asio::steady_timer watch_timer_;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point last_heard_;
  std::chrono::steady_clock::time_point finishing_since_;
  std::chrono::steady_clock::time_point last_taken_;  // by the peer, of what is queued
  certificates::CertificateFacts peer_;
  std::uint64_t bytes_received_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::shared_ptr<AssemblyGate> gate_;
  bool at_gate_ = false;
  std::chrono::steady_clock::time_point turn_ends_{};  // a vector that trickles loses the connection
  bool open_ = true;
  bool established_ = false;
  bool listening_ = false;  // silence counts only while somebody waits to hear: a busy owner is not a silent peer
  bool finishing_ = false;
  bool wiping_ = false;
  std::string close_reason_ = "the connection was closed";
};

/// Runs a coroutine that the process cannot do without: an exception is logged and leaves the io_context's run().
void spawn_essential(const asio::any_io_executor& executor, asio::awaitable<void> work, const char* what);

/// Runs a coroutine whose failure has no one to hear of it but the log. @param what for the log, e.g. "session"
void spawn_logged(const asio::any_io_executor& executor, asio::awaitable<void> work, const char* what);

}  // namespace undertone::net
