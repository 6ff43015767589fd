#pragma once

#include <cstdint>

namespace undertone {

/// Which of the processor's vector units to compute with. No result depends on it.
enum class VectorUnits : std::uint8_t { Widest, None };

/// Whether what is compiled for AVX2 may be called: always the same answer in one process.
[[nodiscard]] inline bool may_use_avx2([[maybe_unused]] VectorUnits units) noexcept {
#if defined(__x86_64__)
  return units == VectorUnits::Widest && __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

}  // namespace undertone
