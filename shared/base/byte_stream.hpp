#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone {

static_assert(std::endian::native == std::endian::little, "the byte formats are little-endian and copied as they are");

/// Writes a canonical byte string: fixed-width little-endian numbers, length-prefixed strings and vectors.
class ByteWriter {
 public:
  void u64(std::uint64_t value) { raw(&value, sizeof value); }
  void i64(std::int64_t value) { raw(&value, sizeof value); }
  void f64(double value) { raw(&value, sizeof value); }
  void text(std::string_view value) {
    u64(value.size());
    raw(value.data(), value.size());
  }
  void doubles(const double* values, std::size_t count) {
    u64(count);
    raw(values, count * sizeof(double));
  }
  [[nodiscard]] const std::string& bytes() const& noexcept { return bytes_; }
  [[nodiscard]] std::string bytes() && noexcept { return std::move(bytes_); }

 private:
  void raw(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::string bytes_;
};

/// Reads what ByteWriter wrote. Every read is checked against what is left before anything is allocated.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] Result<std::uint64_t> u64() { return number<std::uint64_t>(); }
  [[nodiscard]] Result<std::int64_t> i64() { return number<std::int64_t>(); }
  [[nodiscard]] Result<double> f64() { return number<double>(); }
  [[nodiscard]] Result<std::string> text();
  [[nodiscard]] Result<std::vector<double>> doubles();
  /// This takes so many bytes as they are: they stay where they were read from.
  [[nodiscard]] Result<std::string_view> view(std::uint64_t size);
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }
  /// An error when bytes are left over.
  [[nodiscard]] Status end() const;

 private:
  template <class T>
  Result<T> number() {
    if (rest_.size() < sizeof(T)) {
      return Error{ErrorCode::Malformed, fmt::format("{} bytes left where {} are needed", rest_.size(), sizeof(T))};
    }
    T value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view rest_;
};

}  // namespace undertone
