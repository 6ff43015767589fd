#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/wire/kinds.hpp"
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

/// What a vector says of itself before its elements come.
struct VectorHeader {
  Kind kind = Kind::Reply;  // or Query, SealedReply, BatchForward
  RunId run;
  RoundIndex round;
  std::uint64_t dimension = 0;     // elements; of sealed units and of batches, bytes
  std::size_t element_bytes = 0;   // of one, on the wire
  std::uint64_t memory_bytes = 0;  // what it takes here once it is whole
  // Of a sealed reply alone, as in SealedReply:
  Digest terms{};
  std::uint64_t unit_bytes = 0;
  std::uint32_t word_bytes = 0;
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
  /// Other kinds end the stream from here on, before protobuf sees them.
  void accept_only(KindSet kinds) noexcept { kinds_ = kinds; }
  /// Whether a vector is to be put together. Of one that is not, the elements are thrown away as they come, and no
  /// message is made of it.
  using Wanted = std::function<bool(const VectorHeader& header)>;
  /// @param wanted asked once for each vector, before anything of it is stored; empty: all are
  void ask_first(Wanted wanted) { wanted_ = std::move(wanted); }
  /// What the vector that is on its way will take once it is whole; 0 where none is, or it is thrown away.
  [[nodiscard]] std::uint64_t assembling_bytes() const noexcept;
  /// Between messages: overwrites what they left in the buffer.
  void wipe();

 private:
  struct Assembly;
  [[nodiscard]] Status on_envelope(const v1::Envelope& envelope, std::vector<Message>& out);
  [[nodiscard]] Status on_chunk(std::uint64_t offset, std::string_view elements, std::vector<Message>& out);
  /// Makes the vector of which everything has come a message, if it is wanted.
  [[nodiscard]] Status complete(std::vector<Message>& out);
  /// Whether protobuf may parse it: what it holds is expected here, and bounded.
  [[nodiscard]] Status admit(std::string_view payload) const;
  Limits limits_;
  KindSet kinds_ = KindSet::all();
  Wanted wanted_;
  std::string buffer_;
  std::unique_ptr<Assembly> assembly_;  // a vector whose chunks are still coming
};

}  // namespace undertone::wire
