#include <cstddef>
#include <cstdint>

#include "shared/data/gzip.hpp"
#include "shared/data/idx_reader.hpp"

/// A file of images or labels that somebody hands over: the first byte says of how many dimensions, 0 to 3.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace undertone::data;
  if (size == 0) return 0;
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto array = parse_idx(content, data[0] % 4U, "idx");
  if (!array) return 0;
  std::size_t values = 1;
  for (const std::size_t dimension : array->dimensions) values *= dimension;
  UNDERTONE_CHECK(array->dimensions.size() == data[0] % 4U && array->values.size() == values);
  UNDERTONE_CHECK(values <= kPixelsMax && values <= kInflatedPerByteMax * content.size());
  return 0;
}
