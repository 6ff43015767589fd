#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/wire/messages.hpp"

namespace undertone::v1 {
class Envelope;
}

namespace undertone::wire {

/// Bounds on what a peer can make this process hold.
struct Limits {
  std::uint32_t frame_bytes_max = 8U << 20U;  // of one frame's payload; checked before a byte is stored
  std::uint64_t dimension_max = 1U << 24U;    // elements of one vector; checked before the first is stored
  std::uint32_t chunk_bytes = 256U << 10U;    // of the vectors this side sends
};

/// Frame header, 12 bytes: "UTNE", version u16, type u16, payload length u32, all little-endian.
inline constexpr std::size_t kFrameHeaderBytes = 12;

/// Turns messages into frames. A vector is sent as a header frame and bounded chunks.
class Encoder {
 public:
  explicit Encoder(Limits limits) : limits_(limits) {}
  [[nodiscard]] std::string encode(const Message& message);
  /// How many messages were serialised: a broadcast to any number of silos counts once.
  [[nodiscard]] std::uint64_t messages_encoded() const noexcept { return messages_encoded_; }

 private:
  Limits limits_;
  std::uint64_t messages_encoded_ = 0;
};

/// Turns a byte stream from one peer back into messages. Memory is bounded by the limits and by what was really
/// received. After an error the stream is lost: nothing more may be fed.
class Decoder {
 public:
  explicit Decoder(Limits limits);
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;
  ~Decoder();

  /// @param bytes as they came, cut anywhere
  /// @return the messages that were completed, in order
  [[nodiscard]] Result<std::vector<Message>> feed(std::string_view bytes);
  /// Other limits from here on.
  void allow(Limits limits) noexcept { limits_ = limits; }
  /// What the vector that is on its way will take once it is whole; 0 where none is.
  [[nodiscard]] std::uint64_t assembling_bytes() const noexcept;
  /// Between messages: overwrites what they left in the buffer.
  void wipe();

 private:
  struct Assembly;
  [[nodiscard]] Status on_envelope(const v1::Envelope& envelope, std::vector<Message>& out);
  [[nodiscard]] Status on_chunk(std::uint64_t offset, std::string_view elements, std::vector<Message>& out);
  Limits limits_;
  std::string buffer_;
  std::unique_ptr<Assembly> assembly_;  // a vector whose chunks are still coming
};

}  // namespace undertone::wire
