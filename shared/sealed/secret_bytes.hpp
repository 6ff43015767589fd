#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::sealed {

/// 32 secret bytes in pages of their own: between guard pages, read-only once written, in no core dump, locked into
/// memory where the system allows, and wiped before they are given back (sodium_malloc). Moved, never copied; what was
/// moved from stops the process when it is asked for its bytes.
class SecretBytes {
 public:
  static constexpr std::size_t kBytes = 32;

  /// From the operating system's randomness.
  [[nodiscard]] static SecretBytes draw();
  /// The caller wipes what it handed over. @return an error for another length, which never quotes the bytes
  [[nodiscard]] static Result<SecretBytes> copy_of(std::string_view bytes);

  /// Valid as long as this object. To be written to its owner's file or session and nowhere else.
  [[nodiscard]] std::string_view bytes() const;

 private:
  struct Wipe {
    void operator()(unsigned char* memory) const noexcept;
  };
  SecretBytes();
  void close();

  std::unique_ptr<unsigned char, Wipe> memory_;
};

/// Prepares libsodium, once; every other function of this folder does so itself where it must.
void start_sodium();

}  // namespace undertone::sealed
