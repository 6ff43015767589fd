#include <algorithm>

#include "shared/wire/codec.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

/// Whatever a stranger sends: the first byte says into what pieces the stream is cut. What decodes encodes again.
void decoder(std::string_view input) {
  using namespace wire;
  if (input.empty()) return;
  const std::size_t piece = 1 + std::size_t{static_cast<unsigned char>(input.front())};
  input.remove_prefix(1);
  Limits limits;
  limits.frame_bytes_max = 1U << 16U;
  limits.dimension_max = 1U << 12U;
  Decoder decoder{limits};
  Encoder encoder{limits};
  while (!input.empty()) {
    const auto messages = decoder.feed(input.substr(0, piece));
    UNDERTONE_CHECK(decoder.assembling_bytes() <= kBytesPerElement * limits.dimension_max);
    if (!messages) return;
    for (const Message& message : *messages) {
      Decoder again{limits};
      const auto same = again.feed(encoder.encode(message));
      UNDERTONE_CHECK(same && same->size() == 1 && same->front().index() == message.index());
    }
    decoder.wipe();
    input.remove_prefix(std::min(piece, input.size()));
  }
}

const Target kTarget("decoder", decoder);

}  // namespace
}  // namespace undertone::fuzz
