#include "shared/privacy/test_bits.hpp"

#include <cstring>

#include "shared/base/byte_stream.hpp"

namespace undertone::privacy {

TestBits::TestBits(std::uint64_t seed, std::string_view purpose, InsecureForTestsOnly /*tag*/) {
  ByteWriter material;
  material.text("undertone test bits");
  material.u64(seed);
  material.text(purpose);
  key_ = sha256(material.bytes());
}

std::uint64_t TestBits::word() {
  if (next_ == block_.size()) {
    ByteWriter material;
    material.text(as_bytes(key_));
    material.u64(counter_++);
    block_ = sha256(material.bytes());
    next_ = 0;
  }
  std::uint64_t value = 0;
  std::memcpy(&value, block_.data() + next_, sizeof value);
  next_ += sizeof value;
  return value;
}

}  // namespace undertone::privacy
