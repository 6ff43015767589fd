#include "silo/oracles/person_draw.hpp"

#include <algorithm>
#include <array>
#include <sodium.h>

#include "shared/releases/unit.hpp"

namespace undertone::silo {
namespace {

constexpr auto kMost = static_cast<std::size_t>(releases::kPersonRecordsMax);
constexpr std::int64_t kTurnsTogether = 32;  // persons whose words are drawn at once: a multiple of a block's words
constexpr std::size_t kWordsABlock = 16;     // of the stream's 64 bytes

/// 0 .. bound - 1, each as likely as the others but for a part of 2^-32 times the bound: which of her records are
/// looked at has no part in what protects her. @param bound below 2^32
std::int64_t below(std::uint32_t word, std::int64_t bound) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(word) * static_cast<std::uint64_t>(bound)) >> 32U);
}

}  // namespace

PersonDraw::PersonDraw(const Digest& key, std::int64_t records_max)
    : key_(key), records_max_(static_cast<std::size_t>(records_max)) {
  UNDERTONE_CHECK(records_max >= 1 && records_max_ <= kMost);
}

PersonRows::PersonRows(const PersonDraw& draw, const models::Records& block)
    : draw_(draw),
      block_(block),
      words_each_(draw.records_max() < kWordsABlock
                      ? draw.records_max()
                      : (draw.records_max() + kWordsABlock - 1) / kWordsABlock * kWordsABlock),
      words_(static_cast<std::size_t>(kTurnsTogether) * words_each_) {
  UNDERTONE_CHECK(block.of_persons() && block.rows() >= 1);
}

std::span<const std::uint32_t> PersonRows::words_of(std::int64_t person) {
  if (person < first_ || person >= first_ + count_) {
    if (words_each_ < kWordsABlock) {
      // Where each has few words, those of many persons are made at once, and the first of them begin a block.
      first_ = person - person % kTurnsTogether;
      count_ = kTurnsTogether;
    } else {
      // Whoever follows the last one is likely to be followed by the next.
      count_ = person == first_ + count_ ? kTurnsTogether : 1;
      first_ = person;
    }
    const std::size_t count = static_cast<std::size_t>(count_) * words_each_;
    const std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES> nonce{};
    std::fill_n(words_.begin(), count, 0);
    auto* const bytes = reinterpret_cast<unsigned char*>(words_.data());
    const std::uint64_t block = static_cast<std::uint64_t>(first_) * words_each_ / kWordsABlock;
    UNDERTONE_CHECK(crypto_stream_chacha20_xor_ic(bytes, bytes, count * sizeof(std::uint32_t), nonce.data(), block,
                                                  draw_.key_.data()) == 0);
  }
  return std::span(words_).subspan(static_cast<std::size_t>(person - first_) * words_each_, draw_.records_max());
}

std::size_t PersonRows::next(std::int64_t person, std::span<std::int64_t> rows) {
  const std::size_t most = draw_.records_max();
  UNDERTONE_CHECK(person >= 0 && person < block_.count() && rows.size() == most);
  const std::span<const std::uint32_t> words = words_of(person);
  const std::int64_t first = block_.starts[static_cast<std::size_t>(person)];
  const std::int64_t held = block_.starts[static_cast<std::size_t>(person) + 1] - first;
  const auto signed_most = static_cast<std::int64_t>(most);
  // Floyd's draw of s of m. Of s or fewer the same steps are taken among s imagined ones, and their outcome is not
  // looked at: place i is then her i-th record.
  const std::int64_t among = std::max(held, signed_most);
  for (std::size_t i = 0; i < most; ++i) {
    const std::int64_t last = among - signed_most + static_cast<std::int64_t>(i);
    const std::int64_t drawn = below(words[i], last + 1);
    bool taken = false;
    for (std::size_t j = 0; j < i; ++j) taken |= rows[j] == drawn;
    rows[i] = taken ? last : drawn;
  }
  const std::int64_t end = static_cast<std::int64_t>(block_.rows()) - 1;
  for (std::size_t i = 0; i < most; ++i) {
    const std::int64_t own = held <= signed_most ? static_cast<std::int64_t>(i) : rows[i];
    // Some row of the block stands where she has none: it is worked on and dropped.
    rows[i] = std::min(first + own, end);
  }
  return static_cast<std::size_t>(std::min(held, signed_most));
}

}  // namespace undertone::silo
