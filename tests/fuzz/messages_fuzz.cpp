#include "shared/wire/codec.hpp"
#include "shared/wire/frame.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xffU));
  return out;
}

/// Envelopes in sound frames, each behind two bytes of its length: what the frames' lengths keep the decoder's target
/// from finding by chance. A message that is let in has one form: it encodes to bytes that decode to the same bytes.
void messages(std::string_view bytes) {
  using namespace wire;
  Input input(bytes);
  Limits limits;
  limits.dimension_max = 1U << 12U;
  Decoder decoder{limits};
  Encoder encoder{limits};
  while (!input.empty()) {
    const std::size_t length = input.byte() + std::size_t{256} * input.byte();
    const std::string_view payload = input.take(length);
    const auto decoded =
        decoder.feed(std::string(kMagic) + little_endian(kFrameVersion, 2) + little_endian(kEnvelopeFrame, 2) +
                     little_endian(payload.size(), 4) + std::string(payload));
    if (!decoded) return;
    for (const Message& message : *decoded) {
      UNDERTONE_CHECK(!name_of(message).empty());
      const std::string encoded = encoder.encode(message);
      Decoder again{limits};
      const auto same = again.feed(encoded);
      UNDERTONE_CHECK(same && same->size() == 1 && same->front().index() == message.index());
      UNDERTONE_CHECK(encoder.encode(same->front()) == encoded);
    }
  }
}

const Target kTarget("messages", messages);

}  // namespace
}  // namespace undertone::fuzz
