#include "silo/oracles/person_draw.hpp"

#include <algorithm>
#include <array>
#include <sodium.h>

#include "shared/releases/unit.hpp"

namespace undertone::silo {
namespace {

constexpr auto kMost = static_cast<std::size_t>(releases::kPersonRecordsMax);

/// 0 .. bound - 1, each as likely as the others but for a part of 2^-64 times the bound.
std::int64_t below(std::uint64_t word, std::int64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::int64_t>((static_cast<Wide>(word) * static_cast<Wide>(bound)) >> 64U);
}

}  // namespace

PersonDraw::PersonDraw(const Digest& key, std::int64_t records_max)
    : key_(key), records_max_(static_cast<std::size_t>(records_max)) {
  UNDERTONE_CHECK(records_max >= 1 && records_max_ <= kMost);
}

std::size_t PersonDraw::rows_of(const models::Records& block, std::int64_t person, std::span<std::int64_t> rows) const {
  UNDERTONE_CHECK(block.of_persons() && person >= 0 && person < block.count() && rows.size() == records_max_ &&
                  block.rows() >= 1);
  const std::int64_t first = block.starts[static_cast<std::size_t>(person)];
  const std::int64_t held = block.starts[static_cast<std::size_t>(person) + 1] - first;
  const auto most = static_cast<std::int64_t>(records_max_);
  std::array<std::uint64_t, kMost> words{};
  std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES> nonce{};
  for (std::size_t i = 0; i < nonce.size(); ++i)
    nonce[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(person) >> (8U * i));
  UNDERTONE_CHECK(crypto_stream_chacha20(reinterpret_cast<unsigned char*>(words.data()), 8 * records_max_, nonce.data(),
                                         key_.data()) == 0);
  // Floyd's draw of s of m. Of s or fewer the same steps are taken among s imagined ones, and their outcome is not
  // looked at: place i is then her i-th record.
  const std::int64_t among = std::max(held, most);
  for (std::size_t i = 0; i < records_max_; ++i) {
    const std::int64_t last = among - most + static_cast<std::int64_t>(i);
    const std::int64_t drawn = below(words[i], last + 1);
    bool taken = false;
    for (std::size_t j = 0; j < i; ++j) taken = taken || rows[j] == drawn;
    rows[i] = taken ? last : drawn;
  }
  const std::size_t counted = static_cast<std::size_t>(std::min(held, most));
  for (std::size_t i = 0; i < records_max_; ++i) {
    const auto place = static_cast<std::int64_t>(i);
    const std::int64_t own = held <= most ? place : rows[i];
    // Some row of the block stands where she has none: it is worked on and dropped.
    rows[i] = std::min(first + own, static_cast<std::int64_t>(block.rows()) - 1);
  }
  return counted;
}

}  // namespace undertone::silo
