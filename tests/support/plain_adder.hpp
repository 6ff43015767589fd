#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/sealed/sealed_reply.hpp"
#include "shuffler/batch/adder.hpp"

namespace undertone::tests {

/// Adds shares that lie open behind as many bytes as sealing takes, byte by byte with carry. One whose first byte is
/// '!' is a bad one.
class PlainAdder final : public shuffler::Adder {
 public:
  static constexpr std::size_t kSealing = sealed::ReplyLength::kOverheadBytes;
  /// @param words little-endian
  [[nodiscard]] static std::string share(std::string_view words) { return std::string(kSealing, 'o').append(words); }

  [[nodiscard]] shuffler::Total add(const shuffler::BatchSpec& spec, const std::vector<std::string>& sealed) override {
    ++called;
    std::string total(spec.unit_bytes - kSealing, '\0');
    for (std::size_t i = 0; i < sealed.size(); ++i) {
      if (sealed[i].front() == '!') return shuffler::BadShare{i, {ErrorCode::Malformed, "a bad share"}};
      unsigned carry = 0;
      for (std::size_t at = 0; at < total.size(); ++at) {
        if (at % spec.word_bytes == 0) carry = 0;
        carry += static_cast<unsigned char>(total[at]);
        carry += static_cast<unsigned char>(sealed[i][kSealing + at]);
        total[at] = static_cast<char>(carry & 0xFFU);
        carry >>= 8U;
      }
    }
    return total;
  }

  int called = 0;
};

}  // namespace undertone::tests
