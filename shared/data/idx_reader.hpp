#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/labelled_images.hpp"

namespace undertone::data {

/// What an IDX file of unsigned bytes holds. Source: LeCun, Cortes and Burges, The MNIST Database.
struct IdxArray {
  std::vector<std::size_t> dimensions;  // each > 0
  std::string values;                   // their product, the last dimension fastest
};

/// Parses IDX, plain or compressed with gzip; the first bytes decide. Memory is bounded by what the content can hold
/// and by what its header claims, whichever is less.
/// @param dimensions expected: 3 for images, 1 for labels
/// @param name of the file, for errors, which give the offset, inflated, and what was expected and found there
[[nodiscard]] Result<IdxArray> parse_idx(std::string_view content, std::size_t dimensions, const std::string& name);

/// Images of one channel, a byte a pixel, 0 to 255 mapped to [0, 1].
[[nodiscard]] Result<Images> read_idx_images(const std::filesystem::path& file);

/// Labels as they stand, 0 to 255. How many classes there are, the file does not say.
[[nodiscard]] Result<std::vector<int>> read_idx_labels(const std::filesystem::path& file);

/// Images and their labels, such as MNIST's. @return an error where their numbers differ
[[nodiscard]] Result<LabelledImages> read_idx(const std::filesystem::path& images_file,
                                              const std::filesystem::path& labels_file);

}  // namespace undertone::data
