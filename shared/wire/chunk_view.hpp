#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace undertone::wire {

/// A part of a vector where it lies in a frame's payload.
struct ChunkView {
  std::uint64_t offset = 0;
  std::string_view elements;
};

/// Looks at an envelope that holds a chunk without copying it; for the decoder alone.
/// @param payload outlives what is returned
/// @return nothing for everything else, well-formed or not: the parser is then asked
[[nodiscard]] std::optional<ChunkView> view_chunk(std::string_view payload);

}  // namespace undertone::wire
