#include "shared/sealed/secret_bytes.hpp"

#include <cstring>
#include <sodium.h>

namespace undertone::sealed {

void start_sodium() {
  static const bool started = sodium_init() >= 0;
  UNDERTONE_CHECK(started);
}

void SecretBytes::Wipe::operator()(unsigned char* memory) const noexcept { sodium_free(memory); }

SecretBytes::SecretBytes() {
  start_sodium();
  memory_.reset(static_cast<unsigned char*>(sodium_malloc(kBytes)));
  UNDERTONE_CHECK(memory_ != nullptr);
}

void SecretBytes::close() { UNDERTONE_CHECK(sodium_mprotect_readonly(memory_.get()) == 0); }

SecretBytes SecretBytes::draw() {
  SecretBytes out;
  randombytes_buf(out.memory_.get(), kBytes);
  out.close();
  return out;
}

Result<SecretBytes> SecretBytes::copy_of(std::string_view bytes) {
  if (bytes.size() != kBytes) {
    return Error{ErrorCode::Malformed, fmt::format("a secret key has {} bytes, got {}", kBytes, bytes.size())};
  }
  SecretBytes out;
  std::memcpy(out.memory_.get(), bytes.data(), kBytes);
  out.close();
  return out;
}

std::string_view SecretBytes::bytes() const {
  UNDERTONE_CHECK(memory_ != nullptr);
  return {reinterpret_cast<const char*>(memory_.get()), kBytes};
}

}  // namespace undertone::sealed
