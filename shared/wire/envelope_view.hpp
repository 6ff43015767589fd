#pragma once

#include <cstddef>
#include <string_view>

#include "shared/base/result.hpp"
#include "shared/wire/kinds.hpp"

/// A look at an envelope before protobuf makes objects of it, which can take fifty times its bytes and as much time;
/// for the decoder alone.
namespace undertone::wire {

struct EnvelopeView {
  Kind kind = Kind::Heartbeat;
  std::string_view body;  // of its one message, where it lies
};

/// Passes over at most a few fields, however long the payload is.
/// @param payload outlives what is returned
/// @return Malformed where the envelope holds no message, or more than one
[[nodiscard]] Result<EnvelopeView> view_envelope(std::string_view payload);

/// What an envelope of this kind may take, all its fields together. @return the frame's limit for a chunk
[[nodiscard]] std::size_t payload_bytes_max(Kind kind, std::size_t frame_bytes_max) noexcept;

/// Whether a message is short enough for its kind and repeats no field more often than its kind may.
/// @return LimitExceeded
[[nodiscard]] Status check_bounds(const EnvelopeView& view, std::size_t payload_bytes, std::size_t frame_bytes_max);

}  // namespace undertone::wire
