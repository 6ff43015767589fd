#include "shared/data/packed_cells.hpp"

#include <algorithm>
#include <charconv>

#include "shared/base/byte_stream.hpp"

namespace undertone::data {
namespace {

bool is_width(std::uint64_t width) { return width == 1 || width == 2 || width == 4 || width == 8; }

}  // namespace

std::span<char> write_decimal(std::int64_t digits, std::size_t scale, bool trimmed, char mark,
                              std::array<char, 32>& out) {
  std::array<char, 24> plain{};
  const bool minus = digits < 0;
  const std::uint64_t size_of =
      minus ? std::uint64_t{0} - static_cast<std::uint64_t>(digits) : static_cast<std::uint64_t>(digits);
  const auto [end, code] = std::to_chars(plain.data(), plain.data() + plain.size(), size_of);
  auto count = static_cast<std::size_t>(end - plain.data());
  char* at = out.data();
  if (minus) *at++ = '-';
  if (count <= scale) {  // 0.05
    *at++ = '0';
  } else {
    at = std::copy_n(plain.data(), count - scale, at);
  }
  if (scale > 0) {
    char* const point = at;
    *at++ = mark;
    for (std::size_t i = count; i < scale; ++i) *at++ = '0';
    const std::size_t shown = std::min(count, scale);
    at = std::copy_n(plain.data() + (count - shown), shown, at);
    if (trimmed) {
      while (at[-1] == '0') --at;
      if (at - 1 == point) --at;
    }
  }
  return {out.data(), at};
}

Result<PackedCells> unpack(std::string_view column, std::size_t rows) {
  const Error wrong{ErrorCode::Malformed, "no column of a snapshot"};
  ByteReader bytes(column);
  PackedCells out;
  UNDERTONE_TRY(const std::uint64_t kind, bytes.u64());
  out.decimals = kind == kPackedDecimals;
  if (out.decimals) {
    UNDERTONE_TRY(out.scale, bytes.u64());
    UNDERTONE_TRY(const std::uint64_t trimmed, bytes.u64());
    UNDERTONE_TRY(out.least, bytes.i64());
    UNDERTONE_TRY(out.most, bytes.u64());
    if (out.scale > kPackedDigitsMax || trimmed > 1 || out.most >= std::uint64_t{1} << 63U) return wrong;
    out.trimmed = trimmed == 1;
  } else {
    UNDERTONE_TRY(out.most, bytes.u64());
    if (kind != kPackedTexts || out.most > rows) return wrong;
    for (std::uint64_t i = 0; i < out.most; ++i) {
      UNDERTONE_TRY(const std::uint64_t size, bytes.u64());
      UNDERTONE_TRY(const std::string_view text, bytes.view(size));
      out.texts.push_back(text);
    }
  }
  UNDERTONE_TRY(out.width, bytes.u64());
  if (!is_width(out.width) || bytes.left() != out.width * rows) return wrong;
  UNDERTONE_TRY(out.values, bytes.view(bytes.left()));
  std::uint64_t largest = 0;
  each_value(out, 0, rows, [&largest](std::size_t, std::uint64_t value) { largest = std::max(largest, value); });
  if (largest > out.largest()) return wrong;
  return out;
}

}  // namespace undertone::data
