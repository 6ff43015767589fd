#include "shared/data/labelled_images.hpp"

#include "shared/base/files.hpp"

namespace undertone::data {
namespace {

constexpr std::size_t kHeaderBytesMax = std::size_t{1}
                                        << 20U;  // headers, and what gzip adds to bytes it cannot shorten

}  // namespace

Result<std::string> read_image_file(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    return Error{ErrorCode::InvalidData, fmt::format("{}: expected a regular file, found none", file.string())};
  return read_file(file, kPixelsMax + kHeaderBytesMax);
}

}  // namespace undertone::data
