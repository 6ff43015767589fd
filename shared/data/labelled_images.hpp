#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <string>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::data {

/// Images as columns. A column holds channel after channel, each channel row after row.
struct Images {
  Eigen::MatrixXd pixels;  // [channels * rows * columns, n], each in [0, 1]
  Eigen::Index channels = 1;
  Eigen::Index rows = 0;
  Eigen::Index columns = 0;
};

struct LabelledImages {
  Images images;
  std::vector<int> labels;  // [n]
};

/// Bounds what image files can make this process hold: as many pixels, of eight bytes each once they are read.
inline constexpr std::size_t kPixelsMax = std::size_t{1} << 28U;

/// Reads a file of images or labels, compressed or not, as it stands.
/// @return an error that names the file where it is no regular file or holds more than kPixelsMax could take
[[nodiscard]] Result<std::string> read_image_file(const std::filesystem::path& file);

}  // namespace undertone::data
