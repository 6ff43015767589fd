#include "shared/net/session.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <openssl/crypto.h>
#include <spdlog/spdlog.h>

#include "shared/base/large_memory.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/net/await.hpp"

namespace undertone::net {
namespace {

constexpr std::size_t kGatherBytes = std::size_t{16} << 10U;
constexpr std::size_t kTurnBytes = 65536;           // that one connection reads or writes before others have a turn
constexpr std::size_t kTurnReads = 64;              // as many as that, however small
constexpr std::size_t kManyMessages = 65'536;       // 20 MiB of small blocks and more
constexpr std::uint64_t kTurnBytesPerMs = 1024;     // the least rate of a large vector: 1 MiB/s
constexpr std::uint32_t kGreetingBytesMax = 65536;  // of a frame to a server that does not know its peer's protocol yet

/// Where what was read lies until it is decoded, which is at once: one for all connections of a thread.
std::array<char, kTurnBytes>& read_buffer() {
  thread_local std::array<char, kTurnBytes> buffer;
  return buffer;
}

void log_failure(const char* what, const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& exception) {
    spdlog::error("coroutine_failed what={} reason={}", what, quoted_text(exception.what()));
  }
}

}  // namespace

void spawn_essential(const asio::any_io_executor& executor, asio::awaitable<void> work, const char* what) {
  asio::co_spawn(executor, std::move(work), [what](const std::exception_ptr& failure) {
    if (!failure) return;
    log_failure(what, failure);
    std::rethrow_exception(failure);
  });
}

void spawn_logged(const asio::any_io_executor& executor, asio::awaitable<void> work, const char* what) {
  asio::co_spawn(executor, std::move(work), [what](const std::exception_ptr& failure) {
    if (failure) log_failure(what, failure);
  });
}

void AssemblyGate::leave(const void* who) {
  queue_.erase(std::remove(queue_.begin(), queue_.end(), who), queue_.end());
  turn_.cancel();
}

Session::Session(Stream stream, SessionLimits limits, std::shared_ptr<AssemblyGate> gate)
    : stream_(std::move(stream)),
      limits_(limits),
      encoder_(limits.wire),
      decoder_(limits.wire),
      outbox_changed_(stream_.get_executor()),
      watch_timer_(stream_.get_executor()),
      gate_(std::move(gate)) {
  outbox_changed_.expires_at(asio::steady_timer::time_point::max());
}

Session::~Session() {
  if (at_gate_) gate_->leave(this);
}

void Session::expect_large(wire::Decoder::Wanted expected) {
  decoder_.ask_first([expected = std::move(expected)](const wire::VectorHeader& header) {
    return header.memory_bytes <= AssemblyGate::kSmallBytes || expected(header);
  });
}

asio::awaitable<void> Session::keep_turn() {
  const std::uint64_t bytes = decoder_.assembling_bytes();
  const bool large = gate_ != nullptr && bytes > AssemblyGate::kSmallBytes;
  if (!large && at_gate_) {
    at_gate_ = false;
    gate_->leave(this);
  }
  if (!large || at_gate_) co_return;
  at_gate_ = true;
  turn_ends_ = std::chrono::steady_clock::time_point::max();  // the watch may see the turn before this coroutine does
  gate_->enter(this);
  while (open_ && !gate_->open_for(this)) (void)co_await gate_->turn().async_wait(kAwait);
  turn_ends_ = std::chrono::steady_clock::now() + limits_.silence + std::chrono::milliseconds(bytes / kTurnBytesPerMs);
}

asio::awaitable<Result<certificates::CertificateFacts>> Session::handshake(Side side) {
  began_ = last_heard_ = last_taken_ = std::chrono::steady_clock::now();
  listening_ = true;
  if (side != Side::Client) decoder_.allow({kGreetingBytesMax, 0, kGreetingBytesMax});
  spawn_logged(stream_.get_executor(), watch(), "watch");
  boost::system::error_code ignored;
  stream_.next_layer().set_option(asio::ip::tcp::no_delay(true), ignored);
  TlsStream::Step step = stream_.handshake(side);
  while (!step.error && step.need != TlsStream::Need::Nothing) {
    const boost::system::error_code failed = co_await stream_.ready_for(step.need);
    step = failed ? TlsStream::Step{failed} : stream_.handshake(side);
  }
  if (const boost::system::error_code error = step.error) {
    const std::string reason = open_ ? describe_tls_failure(stream_.native_handle(), error) : close_reason_;
    close();
    co_return Error{ErrorCode::Unreachable, "TLS: " + reason};
  }
  Result<certificates::CertificateFacts> identity = peer_facts(stream_.native_handle());
  if (!identity) {
    close();
    co_return identity.error();
  }
  peer_ = *identity;
  listening_ = false;
  spawn_logged(stream_.get_executor(), write_loop(), "writer");
  co_return identity;
}

Result<std::vector<wire::Message>> Session::take(char* bytes, std::size_t size) {
  struct Wipe {
    char* bytes;
    std::size_t size;
    ~Wipe() { OPENSSL_cleanse(bytes, size); }
  };
  if (!wiping_) return decoder_.feed({bytes, size});
  const Wipe wipe{bytes, size};  // whatever happens: the buffer outlives this connection
  Result<std::vector<wire::Message>> messages = decoder_.feed({bytes, size});
  decoder_.wipe();
  return messages;
}

asio::awaitable<Result<wire::Message>> Session::receive() {
  while (true) {
    while (!received_.empty()) {
      wire::Message message = std::move(received_.front());
      received_.pop_front();
      if (!std::holds_alternative<wire::Heartbeat>(message)) co_return message;
    }
    if (!open_) co_return Error{ErrorCode::Unreachable, close_reason_};
    if (established_) last_heard_ = std::chrono::steady_clock::now();
    listening_ = true;
    if (since_pause_ >= kTurnBytes) {
      since_pause_ = 0;
      (void)co_await asio::post(stream_.get_executor(), kAwait);
      continue;
    }
    std::array<char, kTurnBytes>& buffer = read_buffer();
    TlsStream::Step step = stream_.read(asio::buffer(buffer));
    while (!step.error && step.need != TlsStream::Need::Nothing) {
      since_pause_ = 0;
      const boost::system::error_code failed = co_await stream_.ready_for(step.need);
      step = failed ? TlsStream::Step{failed} : stream_.read(asio::buffer(buffer));
    }
    listening_ = false;
    const auto [error, size, need] = step;
    if (error) {
      // In TLS 1.3 a server's refusal of the client's certificate arrives here.
      const std::string reason = open_ ? describe_tls_failure(stream_.native_handle(), error) : close_reason_;
      close();
      co_return Error{ErrorCode::Unreachable, reason};
    }
    since_pause_ += std::max(size, kTurnBytes / kTurnReads);
    bytes_received_ += size;
    last_heard_ = std::chrono::steady_clock::now();
    Result<std::vector<wire::Message>> messages = take(buffer.data(), size);
    if (!messages) {
      send(wire::Fault{messages.error().code, messages.error().message});
      finish();
      co_return messages.error();
    }
    for (wire::Message& message : *messages) received_.push_back(std::move(message));
    co_await keep_turn();
  }
}

void Session::send(const wire::Message& message) {
  send(std::make_shared<const std::string>(encoder_.encode(message)));
}

void Session::send(Bytes bytes) {
  if (!open_ || finishing_) return;
  if (outbox_bytes_ + bytes->size() + kMessageBytes > limits_.outbox_bytes) {
    close_reason_ = fmt::format("the peer does not read: {} bytes are waiting for it", outbox_bytes_);
    close();
    return;
  }
  if (outbox_.empty()) last_taken_ = std::chrono::steady_clock::now();
  outbox_bytes_ += bytes->size() + kMessageBytes;
  outbox_.push_back(std::move(bytes));
  outbox_most_ = std::max(outbox_most_, outbox_.size());
  outbox_changed_.cancel();
}

bool Session::waits_last(const Bytes& bytes) const noexcept { return !outbox_.empty() && outbox_.back() == bytes; }

void Session::wipe_received() {
  wiping_ = true;
  SSL_set_options(stream_.native_handle(), SSL_OP_CLEANSE_PLAINTEXT);
}

void Session::established() {
  established_ = true;
  decoder_.allow(limits_.wire);
}

void Session::finish() {
  if (!finishing_) finishing_since_ = std::chrono::steady_clock::now();
  finishing_ = true;
  outbox_changed_.cancel();
}

void Session::close(std::string reason) {
  if (open_) close_reason_ = std::move(reason);
  close();
}

void Session::close() {
  if (!open_) return;
  open_ = false;
  boost::system::error_code ignored;
  stream_.next_layer().close(ignored);
  if (at_gate_) gate_->leave(this);  // the next one's turn; a waiting session of ours wakes and sees that it is closed
  at_gate_ = false;
  outbox_changed_.cancel();
  watch_timer_.cancel();
  outbox_.clear();  // what is being written is held by its writer
  outbox_bytes_ = 0;
  shrink_outbox();
}

void Session::shrink_outbox() {
  if (outbox_most_ < kManyMessages) return;
  outbox_most_ = 0;
  outbox_.shrink_to_fit();
  give_back_freed_memory();
}

asio::awaitable<boost::system::error_code> Session::write(const std::string& bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const std::size_t most = std::min(bytes.size() - written, kTurnBytes - written_since_pause_);
    const TlsStream::Step step = stream_.write(asio::buffer(bytes.data() + written, most));
    if (step.error) co_return step.error;
    last_taken_ = std::chrono::steady_clock::now();
    written += step.size;
    written_since_pause_ += step.size;
    if (step.need != TlsStream::Need::Nothing) {
      const boost::system::error_code failed = co_await stream_.ready_for(step.need);
      if (failed) co_return failed;
      written_since_pause_ = 0;
    } else if (written_since_pause_ == kTurnBytes) {
      (void)co_await asio::post(stream_.get_executor(), kAwait);
      written_since_pause_ = 0;
    }
  }
  co_return boost::system::error_code();
}

asio::awaitable<void> Session::write_loop() {
  const std::shared_ptr<Session> self = shared_from_this();
  while (open_) {
    if (outbox_.empty()) {
      if (finishing_) break;
      outbox_changed_.expires_at(asio::steady_timer::time_point::max());
      (void)co_await outbox_changed_.async_wait(kAwait);
      continue;
    }
    // Small messages that wait together leave together.
    Bytes bytes = outbox_.front();
    std::size_t messages = 1;
    if (bytes->size() < kGatherBytes && outbox_.size() > 1) {
      std::string gathered;
      for (messages = 0; messages < outbox_.size(); ++messages) {
        if (gathered.size() + outbox_[messages]->size() > kGatherBytes) break;
        gathered += *outbox_[messages];
      }
      if (messages > 1) bytes = std::make_shared<const std::string>(std::move(gathered));
      messages = std::max<std::size_t>(messages, 1);
    }
    asio::awaitable<boost::system::error_code> writing = write(*bytes);
    const boost::system::error_code error = co_await std::move(writing);
    if (error && open_) close_reason_ = error.message();
    if (error || !open_) break;  // a closed session has dropped its queue
    outbox_.erase(outbox_.begin(), outbox_.begin() + static_cast<std::ptrdiff_t>(messages));
    outbox_bytes_ -= bytes->size() + messages * kMessageBytes;
    bytes_sent_ += bytes->size();
    if (outbox_.empty()) shrink_outbox();
  }
  close();
}

asio::awaitable<void> Session::watch() {
  const std::shared_ptr<Session> self = shared_from_this();
  while (open_) {
    const auto period = std::min({limits_.heartbeat, limits_.handshake, limits_.silence, limits_.stall});
    watch_timer_.expires_after(period);
    (void)co_await watch_timer_.async_wait(kAwait);
    if (!open_) break;
    const auto now = std::chrono::steady_clock::now();
    if (!established_ && now - began_ > limits_.handshake) {
      close_reason_ = fmt::format("no introduction within {} ms", limits_.handshake.count());
      close();
      break;
    }
    if (established_ && listening_ && now - last_heard_ > limits_.silence) {
      close_reason_ = fmt::format("nothing was heard for {} ms", limits_.silence.count());
      close();
      break;
    }
    if (now - watch_timer_.expiry() > period) last_taken_ = now;  // this process stood still, and not the peer
    // Of little it is no matter: a silo that waits for a turn, or holds a reply back, reads nothing for a while.
    if (outbox_bytes_ > limits_.outbox_bytes / kStallShare && now - last_taken_ > limits_.stall) {
      close_reason_ = fmt::format("the peer took nothing for {} ms: {} bytes are waiting for it", limits_.stall.count(),
                                  outbox_bytes_);
      close();
      break;
    }
    if (finishing_ && now - finishing_since_ > limits_.handshake) {
      close();
      break;
    }
    if (at_gate_ && gate_->open_for(this) && std::chrono::steady_clock::now() > turn_ends_) {
      close_reason_ = "a vector came too slowly";
      close();
      break;
    }
    if (established_ && outbox_.empty()) send(wire::Heartbeat{});
  }
}

}  // namespace undertone::net
