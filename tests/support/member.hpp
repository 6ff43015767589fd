#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "shared/net/tls.hpp"
#include "shared/wire/codec.hpp"

namespace undertone::tests {

/// A port where a member waits for whoever dials it.
class MembersPort {
 public:
  MembersPort();
  ~MembersPort();
  MembersPort(const MembersPort&) = delete;
  MembersPort& operator=(const MembersPort&) = delete;
  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
  std::uint16_t number_ = 0;
};

/// A connection of somebody with a certificate, who says what it likes and reads when it likes. Waits for everything,
/// and for nothing longer than kPatience.
class Member {
 public:
  static constexpr std::chrono::seconds kPatience{60};

  /// Dials. @param credentials of the client's side
  Member(net::Credentials& credentials, std::uint16_t port);
  /// Is dialled. @param credentials of the server's side
  Member(net::Credentials& credentials, const MembersPort& port);
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// @return whether the other side still takes anything
  bool say(const wire::Message& message) { return say_bytes(encoder_.encode(message)); }
  bool say_bytes(std::string_view bytes);
  /// The next message that is no heartbeat; the other side must have one.
  [[nodiscard]] wire::Message hear();
  /// The next message, heartbeats among them. @return nothing where none has come by then, or the other side has closed
  [[nodiscard]] std::optional<wire::Message> next(std::chrono::steady_clock::time_point until);
  /// Whether the other side has closed, as far as `next` has seen.
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  /// Closes, whatever is still under way.
  void hang_up();
  /// Says no more, then reads and forgets what is said until the other side has closed.
  void leave();
  /// Of payload and framing, without those of `greet` and TLS.
  [[nodiscard]] std::uint64_t bytes_said() const noexcept { return bytes_said_; }
  /// So far does not count.
  void forget_bytes() noexcept { bytes_said_ = 0; }

 private:
  void begin(net::Credentials& credentials, bool dials);
  /// Takes what came. @return whether the other side is still there
  [[nodiscard]] bool take();
  int descriptor_;
  ssl_st* tls_ = nullptr;
  wire::Encoder encoder_{wire::Limits{}};
  wire::Decoder decoder_{wire::Limits{}};
  std::deque<wire::Message> heard_;
  bool closed_ = false;
  std::uint64_t bytes_said_ = 0;
};

}  // namespace undertone::tests
