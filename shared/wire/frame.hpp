#pragma once

#include <cstdint>
#include <string_view>

#include "shared/base/result.hpp"
#include "shared/wire/undertone.pb.h"

/// What the encoder and the decoder agree on; for nobody else.
namespace undertone::wire {

inline constexpr std::string_view kMagic = "UTNE";
inline constexpr std::uint16_t kFrameVersion = 1;
inline constexpr std::uint16_t kEnvelopeFrame = 1;
inline constexpr std::size_t kBuildBytesMax = 64;
inline constexpr std::size_t kSentenceBytesMax = 512;

/// Bytes of one element; 0 for an unknown type.
[[nodiscard]] inline std::size_t width_of(v1::ElementType element) {
  switch (element) {
    case v1::ELEMENT_TYPE_BYTES:
      return 1;
    case v1::ELEMENT_TYPE_F32:
    case v1::ELEMENT_TYPE_I32:
      return 4;
    case v1::ELEMENT_TYPE_F64:
    case v1::ELEMENT_TYPE_I64:
      return 8;
    default:
      return 0;
  }
}

/// A peer's texts stand in logs and on terminals: nothing but printable ASCII crosses the wire.
[[nodiscard]] inline bool is_printable(char c) { return c >= 0x20 && c < 0x7f; }

}  // namespace undertone::wire
