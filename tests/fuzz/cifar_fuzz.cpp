#include "shared/data/cifar_reader.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

/// CIFAR-10's binary batches: the first byte says whether the rest is one file or two halves, or no file at all. The
/// second says how often the rest stands there, so that a short input can be a whole record.
void cifar(std::string_view input) {
  static const MemoryFile first;
  static const MemoryFile second;
  if (input.size() < 2) return;
  const auto files = static_cast<unsigned char>(input[0]) % 3U;
  const auto times = 1 + static_cast<unsigned char>(input[1]) % 64U;
  std::string content;
  for (unsigned i = 0; i < times; ++i) content += input.substr(2);
  const std::size_t cut = files == 2 ? content.size() / 2 : content.size();
  std::vector<std::filesystem::path> paths;
  first.hold(std::string_view(content).substr(0, cut));
  second.hold(std::string_view(content).substr(cut));
  if (files > 0) paths.emplace_back(first.path());
  if (files > 1) paths.emplace_back(second.path());
  const auto images = data::read_cifar10(paths);
  if (!images) return;
  UNDERTONE_CHECK(images->labels.size() == content.size() / 3073);
  UNDERTONE_CHECK(images->images.pixels.size() == static_cast<Eigen::Index>(3072 * images->labels.size()));
  UNDERTONE_CHECK(images->images.pixels.minCoeff() >= 0.0 && images->images.pixels.maxCoeff() <= 1.0);
  for (const int label : images->labels) UNDERTONE_CHECK(label >= 0 && label < 10);
}

const Target kTarget("cifar", cifar);

}  // namespace
}  // namespace undertone::fuzz
