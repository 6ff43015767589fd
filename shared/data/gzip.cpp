#include "shared/data/gzip.hpp"

#include <algorithm>
#include <memory>
#include <zlib.h>

namespace undertone::data {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16U;
constexpr int kGzipOnly = 16;  // added to the window's bits

}  // namespace

bool is_gzip(std::string_view content) noexcept { return content.substr(0, 2) == "\x1f\x8b"; }

Result<Inflated> inflate(std::string_view content, std::size_t bytes_max) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK)
    return Error{ErrorCode::Internal, "zlib has no memory to inflate with"};
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> guard(&stream, &inflateEnd);
  std::size_t used = 0;
  std::size_t made = 0;
  Inflated out{{}, false};
  while (made <= bytes_max) {  // one byte beyond tells that there is more
    // Doubles, so that what is allocated follows what was there to inflate and not what somebody claims.
    if (made == out.bytes.size()) out.bytes.resize(std::min(bytes_max + 1, made + std::max(made, kPieceBytes)));
    const std::size_t input = std::min(content.size() - used, kPieceBytes);
    const std::size_t room = std::min(out.bytes.size() - made, kPieceBytes);
    // zlib's interface is not const; it does not write to its input.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data() + used));
    stream.avail_in = static_cast<uInt>(input);
    stream.next_out = reinterpret_cast<Bytef*>(out.bytes.data() + made);
    stream.avail_out = static_cast<uInt>(room);
    const int outcome = ::inflate(&stream, Z_NO_FLUSH);
    used += input - stream.avail_in;
    made += room - stream.avail_out;
    if (outcome == Z_STREAM_END) {
      if (used != content.size()) {
        return Error{ErrorCode::InvalidData,
                     fmt::format("{} bytes stand after the end of the gzip data", content.size() - used)};
      }
      out.whole = made <= bytes_max;
      break;
    }
    if (outcome == Z_BUF_ERROR || (outcome == Z_OK && used == content.size() && stream.avail_out != 0)) {
      return Error{ErrorCode::InvalidData, fmt::format("the gzip data end early, after {} inflated bytes", made)};
    }
    if (outcome != Z_OK) {
      return Error{ErrorCode::InvalidData, fmt::format("the gzip data are damaged after {} inflated bytes: {}", made,
                                                       stream.msg != nullptr ? stream.msg : "no reason given")};
    }
  }
  out.bytes.resize(std::min(made, bytes_max));
  return out;
}

}  // namespace undertone::data
