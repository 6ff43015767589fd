#include "shared/data/cifar_reader.hpp"

#include <algorithm>

namespace undertone::data {
namespace {

constexpr Eigen::Index kChannels = 3;
constexpr Eigen::Index kSide = 32;
constexpr std::size_t kPixels = kChannels * kSide * kSide;
constexpr std::size_t kRecordBytes = 1 + kPixels;
constexpr int kClasses = 10;

}  // namespace

Result<LabelledImages> read_cifar10(const std::vector<std::filesystem::path>& files) {
  if (files.empty()) return Error{ErrorCode::InvalidArgument, "expected files of CIFAR-10 records, found no name"};
  std::vector<std::string> contents;
  std::size_t records = 0;
  for (const std::filesystem::path& file : files) {
    UNDERTONE_TRY(std::string content, read_image_file(file));
    if (content.empty())
      return Error{ErrorCode::InvalidData, fmt::format("{}: record 1: expected records, found none", file.string())};
    const std::size_t whole = content.size() / kRecordBytes;
    if (content.size() % kRecordBytes != 0) {
      return Error{ErrorCode::InvalidData, fmt::format("{}: record {}: expected {} bytes, found {}", file.string(),
                                                       whole + 1, kRecordBytes, content.size() % kRecordBytes)};
    }
    records += whole;
    if (records > kPixelsMax / kPixels) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("{}: expected at most {} records with the files before it, found {}", file.string(),
                               kPixelsMax / kPixels, records)};
    }
    for (std::size_t i = 0; i < whole; ++i) {
      if (static_cast<unsigned char>(content[i * kRecordBytes]) >= kClasses) {
        return Error{ErrorCode::InvalidData, fmt::format("{}: record {}: expected a label of 0 to {}, found another",
                                                         file.string(), i + 1, kClasses - 1)};
      }
    }
    contents.push_back(std::move(content));
  }
  LabelledImages out;
  out.images.channels = kChannels;
  out.images.rows = kSide;
  out.images.columns = kSide;
  out.images.pixels.resize(static_cast<Eigen::Index>(kPixels), static_cast<Eigen::Index>(records));
  out.labels.reserve(records);
  double* pixel = out.images.pixels.data();
  for (const std::string& content : contents) {
    for (auto at = content.begin(); at != content.end(); at += static_cast<std::ptrdiff_t>(kPixels)) {
      out.labels.push_back(*at++);
      pixel = std::transform(at, at + static_cast<std::ptrdiff_t>(kPixels), pixel,
                             [](char value) { return static_cast<unsigned char>(value) / 255.0; });
    }
  }
  return out;
}

}  // namespace undertone::data
