#include "shared/data/text_encoding.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fmt/format.h>
#include <iconv.h>
#include <utility>

namespace undertone::data {
namespace {

constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

}  // namespace

const char* name_of(TextEncoding encoding) {
  const auto* const found = std::find_if(kTextEncodings.begin(), kTextEncodings.end(),
                                         [encoding](const NamedEncoding& named) { return named.encoding == encoding; });
  UNDERTONE_CHECK(found != kTextEncodings.end());
  return found->name;
}

bool is_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || i + length > text.size()) return false;
    const auto second = static_cast<unsigned char>(text[i + 1]);
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
        (lead == 0xf4 && second > 0x8f)) {
      return false;
    }
    for (std::size_t j = 1; j < length; ++j) {
      if ((static_cast<unsigned char>(text[i + j]) & 0xc0U) != 0x80U) return false;
    }
    i += length;
  }
  return true;
}

bool has_utf16_mark(std::string_view bytes) {
  return bytes.substr(0, 2) == "\xff\xfe" || bytes.substr(0, 2) == "\xfe\xff";
}

void TextDecoder::Close::operator()(void* conversion) const noexcept { ::iconv_close(conversion); }

TextDecoder::TextDecoder(TextEncoding encoding) : encoding_(encoding) {
  if (encoding == TextEncoding::Utf8) return;
  iconv_t made = ::iconv_open("UTF-8", name_of(encoding));
  UNDERTONE_CHECK(reinterpret_cast<std::intptr_t>(made) != -1);
  conversion_.reset(made);
}

std::string_view TextDecoder::decode(std::string_view block) {
  const bool first = !std::exchange(begun_, true);
  if (conversion_ == nullptr) {
    if (first && block.substr(0, kUtf8Mark.size()) == kUtf8Mark) block.remove_prefix(kUtf8Mark.size());
    return block;
  }
  std::string in = std::move(rest_) + std::string(block);
  rest_.clear();
  out_.resize(4 * in.size() + 16);  // a byte becomes three at most, and a pair of them four
  char* from = in.data();
  std::size_t left = in.size();
  char* to = out_.data();
  std::size_t room = out_.size();
  if (::iconv(conversion_.get(), &from, &left, &to, &room) == static_cast<std::size_t>(-1)) {
    failed_ = failed_ || errno != EINVAL || left > 4;
    rest_.assign(from, left);
  }
  return {out_.data(), out_.size() - room};
}

Status TextDecoder::so_far() const {
  if (!failed_) return {};
  return Error{ErrorCode::InvalidData, fmt::format("expected text in {}", name_of(encoding_))};
}

Status TextDecoder::finish() const {
  UNDERTONE_TRY(so_far());
  if (rest_.empty()) return {};
  return Error{ErrorCode::InvalidData,
               fmt::format("expected text in {}, which ends in the middle of a character", name_of(encoding_))};
}

}  // namespace undertone::data
