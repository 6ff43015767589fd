#include "shared/base/byte_stream.hpp"

namespace undertone {

Result<std::string_view> ByteReader::view(std::uint64_t size) {
  if (size > rest_.size())
    return Error{ErrorCode::Malformed, fmt::format("{} bytes left where {} are needed", rest_.size(), size)};
  const std::string_view out = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return out;
}

Result<std::string> ByteReader::text() {
  UNDERTONE_TRY(const std::uint64_t size, u64());
  if (size > rest_.size()) {
    return Error{ErrorCode::Malformed, fmt::format("a text of {} bytes where {} are left", size, rest_.size())};
  }
  std::string value(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return value;
}

Result<std::vector<double>> ByteReader::doubles() {
  UNDERTONE_TRY(const std::uint64_t count, u64());
  if (count > rest_.size() / sizeof(double)) {
    return Error{ErrorCode::Malformed, fmt::format("{} numbers where {} bytes are left", count, rest_.size())};
  }
  std::vector<double> values(count);
  if (count > 0) std::memcpy(values.data(), rest_.data(), count * sizeof(double));
  rest_.remove_prefix(count * sizeof(double));
  return values;
}

Status ByteReader::end() const {
  if (!rest_.empty()) return Error{ErrorCode::Malformed, fmt::format("{} bytes left over", rest_.size())};
  return {};
}

}  // namespace undertone
