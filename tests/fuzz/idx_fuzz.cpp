#include "shared/data/gzip.hpp"
#include "shared/data/idx_reader.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

/// A file of images or labels that somebody hands over: the first byte says of how many dimensions, 0 to 3.
void idx(std::string_view input) {
  using namespace data;
  if (input.empty()) return;
  const std::size_t dimensions = static_cast<unsigned char>(input.front()) % 4U;
  const std::string_view content = input.substr(1);
  static const MemoryFile file;
  file.hold(content);
  const auto images = read_idx_images(file.path());
  const auto labels = read_idx_labels(file.path());
  UNDERTONE_CHECK(!(images && labels));  // they differ in their dimensions
  UNDERTONE_CHECK(!read_idx(file.path(), file.path()));
  if (images)
    UNDERTONE_CHECK(images->pixels.size() == 0 ||
                    (images->pixels.minCoeff() >= 0.0 && images->pixels.maxCoeff() <= 1.0));
  const auto array = parse_idx(content, dimensions, "idx");
  if (!array) return;
  std::size_t values = 1;
  for (const std::size_t dimension : array->dimensions) values *= dimension;
  UNDERTONE_CHECK(array->dimensions.size() == dimensions && array->values.size() == values);
  UNDERTONE_CHECK(values <= kPixelsMax && values <= kInflatedPerByteMax * content.size());
}

const Target kTarget("idx", idx);

}  // namespace
}  // namespace undertone::fuzz
