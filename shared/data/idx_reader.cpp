#include "shared/data/idx_reader.hpp"

#include <algorithm>
#include <fmt/ranges.h>

#include "shared/data/gzip.hpp"

namespace undertone::data {
namespace {

constexpr unsigned kUnsignedByte = 0x08;
constexpr std::size_t kMagicBytes = 4;
constexpr std::size_t kDimensionBytes = 4;

unsigned byte_at(std::string_view bytes, std::size_t offset) { return static_cast<unsigned char>(bytes[offset]); }

Error problem(const std::string& name, std::size_t offset, const std::string& what) {
  return {ErrorCode::InvalidData, fmt::format("{}: offset {}: {}", name, offset, what)};
}

/// The dimensions that a header claims. @param bytes the file's beginning, inflated
Result<std::vector<std::size_t>> parse_header(std::string_view bytes, std::size_t dimensions, const std::string& name) {
  const std::size_t header_bytes = kMagicBytes + kDimensionBytes * dimensions;
  if (bytes.size() < kMagicBytes)
    return problem(name, bytes.size(), fmt::format("expected an IDX header of {} bytes, found the end", header_bytes));
  if (byte_at(bytes, 0) != 0 || byte_at(bytes, 1) != 0) {
    return problem(name, 0,
                   fmt::format("expected IDX, which begins with two zero bytes, found 0x{:02x}{:02x}",
                               byte_at(bytes, 0), byte_at(bytes, 1)));
  }
  if (byte_at(bytes, 2) != kUnsignedByte) {
    return problem(name, 2,
                   fmt::format("expected unsigned bytes, element type 0x{:02x}, found 0x{:02x}", kUnsignedByte,
                               byte_at(bytes, 2)));
  }
  if (byte_at(bytes, 3) != dimensions)
    return problem(name, 3, fmt::format("expected {} dimensions, found {}", dimensions, byte_at(bytes, 3)));
  if (bytes.size() < header_bytes)
    return problem(name, bytes.size(), fmt::format("expected an IDX header of {} bytes, found the end", header_bytes));
  std::vector<std::size_t> claimed;
  std::size_t values = 1;
  for (std::size_t offset = kMagicBytes; offset < header_bytes; offset += kDimensionBytes) {
    std::size_t dimension = 0;
    for (std::size_t i = 0; i < kDimensionBytes; ++i) dimension = dimension << 8U | byte_at(bytes, offset + i);
    if (dimension == 0) return problem(name, offset, "expected a dimension > 0, found 0");
    if (dimension > kPixelsMax / values) {
      return Error{ErrorCode::LimitExceeded, fmt::format("{}: offset {}: expected at most {} values, found {} times {}",
                                                         name, offset, kPixelsMax, values, dimension)};
    }
    values *= dimension;
    claimed.push_back(dimension);
  }
  return claimed;
}

std::size_t product(const std::vector<std::size_t>& dimensions) {
  std::size_t values = 1;
  for (const std::size_t dimension : dimensions) values *= dimension;
  return values;
}

Result<IdxArray> read_array(const std::filesystem::path& file, std::size_t dimensions) {
  UNDERTONE_TRY(const std::string content, read_image_file(file));
  return parse_idx(content, dimensions, file.string());
}

Images to_images(const IdxArray& array) {
  Images images;
  images.rows = static_cast<Eigen::Index>(array.dimensions[1]);
  images.columns = static_cast<Eigen::Index>(array.dimensions[2]);
  images.pixels.resize(images.rows * images.columns, static_cast<Eigen::Index>(array.dimensions[0]));
  std::transform(array.values.begin(), array.values.end(), images.pixels.data(),
                 [](char value) { return static_cast<unsigned char>(value) / 255.0; });
  return images;
}

std::vector<int> to_labels(const IdxArray& array) {
  std::vector<int> labels(array.values.size());
  std::transform(array.values.begin(), array.values.end(), labels.begin(),
                 [](char value) { return static_cast<unsigned char>(value); });
  return labels;
}

}  // namespace

Result<IdxArray> parse_idx(std::string_view content, std::size_t dimensions, const std::string& name) {
  const std::size_t header_bytes = kMagicBytes + kDimensionBytes * dimensions;
  const bool compressed = is_gzip(content);
  std::string inflated;
  if (compressed) {
    Result<Inflated> beginning = inflate(content, header_bytes);
    if (!beginning) return Error{beginning.error().code, fmt::format("{}: {}", name, beginning.error().message)};
    inflated = std::move(beginning->bytes);
  }
  UNDERTONE_TRY(std::vector<std::size_t> claimed,
                parse_header(compressed ? inflated : content.substr(0, header_bytes), dimensions, name));
  const std::size_t values = product(claimed);
  const std::string expected =
      fmt::format("expected {} values, as the dimensions {} say", values, fmt::join(claimed, " x "));
  if (!compressed) {
    if (content.size() - header_bytes != values)
      return problem(name, header_bytes, fmt::format("{}, found {}", expected, content.size() - header_bytes));
    return IdxArray{std::move(claimed), std::string(content.substr(header_bytes))};
  }
  if (values / kInflatedPerByteMax > content.size()) {
    return problem(name, header_bytes,
                   fmt::format("{}, found {} bytes of gzip data, too few for that", expected, content.size()));
  }
  Result<Inflated> all = inflate(content, header_bytes + values);
  if (!all) return Error{all.error().code, fmt::format("{}: {}", name, all.error().message)};
  if (all->bytes.size() != header_bytes + values)
    return problem(name, header_bytes, fmt::format("{}, found {}", expected, all->bytes.size() - header_bytes));
  if (!all->whole) return problem(name, header_bytes, fmt::format("{}, found more", expected));
  all->bytes.erase(0, header_bytes);
  return IdxArray{std::move(claimed), std::move(all->bytes)};
}

Result<Images> read_idx_images(const std::filesystem::path& file) {
  UNDERTONE_TRY(const IdxArray array, read_array(file, 3));
  return to_images(array);
}

Result<std::vector<int>> read_idx_labels(const std::filesystem::path& file) {
  UNDERTONE_TRY(const IdxArray array, read_array(file, 1));
  return to_labels(array);
}

Result<LabelledImages> read_idx(const std::filesystem::path& images_file, const std::filesystem::path& labels_file) {
  const Result<IdxArray> images = read_array(images_file, 3);
  if (!images) return images.error();
  const Result<IdxArray> labels = read_array(labels_file, 1);
  if (!labels) return labels.error();
  if (labels->dimensions[0] != images->dimensions[0]) {
    return problem(labels_file.string(), kMagicBytes,
                   fmt::format("expected {} labels as there are images in {}, found {}", images->dimensions[0],
                               images_file.string(), labels->dimensions[0]));
  }
  return LabelledImages{to_images(*images), to_labels(*labels)};
}

}  // namespace undertone::data
