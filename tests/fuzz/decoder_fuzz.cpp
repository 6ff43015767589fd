#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "shared/wire/codec.hpp"

/// Whatever a stranger sends: the first byte says into what pieces the stream is cut. What decodes encodes again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace undertone::wire;
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  Limits limits;
  limits.frame_bytes_max = 1U << 16U;
  limits.dimension_max = 1U << 12U;
  Decoder decoder{limits};
  Encoder encoder{limits};
  while (!rest.empty()) {
    const auto messages = decoder.feed(rest.substr(0, piece));
    if (!messages) return 0;
    for (const Message& message : *messages) {
      Decoder again{limits};
      const auto same = again.feed(encoder.encode(message));
      UNDERTONE_CHECK(same && same->size() == 1 && same->front().index() == message.index());
    }
    rest.remove_prefix(std::min(piece, rest.size()));
  }
  return 0;
}
