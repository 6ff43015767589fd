#include <cstddef>
#include <cstdint>

#include "tests/fuzz/target.hpp"

/// The one target that is linked, as libFuzzer calls it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  undertone::fuzz::targets().front().run({reinterpret_cast<const char*>(data), size});
  return 0;
}
