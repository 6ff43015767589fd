#pragma once

#include <string_view>
#include <utility>

#include "shared/base/digest.hpp"
#include "shared/base/result.hpp"
#include "shared/sealed/secret_bytes.hpp"

namespace undertone::sealed {

/// What a code under a reply key is for. One never passes for the other.
enum class MacPurpose { Reply, RoundTerms };

/// The key under which the silos of a run prove, through the shuffler, that a reply is from one of them: 32 bytes that
/// the coordinator draws for the run and tells every silo inside the silo's own session. It is the same for all of
/// them, so that it says nothing about which; the price is that any of them who gives it to the shuffler lets the
/// shuffler invent replies. Keyed BLAKE2b with 32 bytes of output: codes cannot be forged without the key, and nobody,
/// the coordinator included, finds two keys or two texts with one code.
class ReplyMacKey {
 public:
  static constexpr std::size_t kBytes = SecretBytes::kBytes;

  /// From the operating system's randomness.
  [[nodiscard]] static ReplyMacKey draw() { return ReplyMacKey(SecretBytes::draw()); }
  [[nodiscard]] static Result<ReplyMacKey> from_bytes(std::string_view bytes);

  /// 32 bytes, valid as long as this object: for the silos' sessions and the private files of both ends.
  [[nodiscard]] std::string_view bytes() const { return key_.bytes(); }
  [[nodiscard]] Digest mac(MacPurpose purpose, std::string_view text) const;

 private:
  explicit ReplyMacKey(SecretBytes key) : key_(std::move(key)) {}
  SecretBytes key_;
};

}  // namespace undertone::sealed
