#pragma once

#include <filesystem>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/labelled_images.hpp"

namespace undertone::data {

/// Reads CIFAR-10's binary batches, one after the other: for each record a label 0 to 9 and 3 x 32 x 32 bytes, red,
/// green and blue, mapped to [0, 1]. Source: Krizhevsky 2009, https://www.cs.toronto.edu/~kriz/cifar.html.
/// @return an error that names the file and the record, counted from 1 in each file, and no label's value (decision 12)
[[nodiscard]] Result<LabelledImages> read_cifar10(const std::vector<std::filesystem::path>& files);

}  // namespace undertone::data
