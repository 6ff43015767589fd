#pragma once

#include <string>
#include <string_view>

/// Bytes as libsodium wants them.
namespace undertone::sealed {

inline const unsigned char* raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
inline unsigned char* raw(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

}  // namespace undertone::sealed
