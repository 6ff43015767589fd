#include "shared/data/block_reader.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace undertone::data {
namespace {

std::vector<std::int64_t> everybody(Eigen::Index count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

}  // namespace

void BlockReader::read(std::span<const std::int64_t> positions, const Use& use) const {
  if (records_ != nullptr) return use({*records_, positions});
  // One record of a local run is a part of one record.
  const std::size_t at_once = std::min(static_cast<std::size_t>(source_->records_at_once()), positions.size());
  const std::vector<std::int64_t> in_part = everybody(static_cast<Eigen::Index>(at_once));
  models::Records part;
  for (std::size_t from = 0; from < positions.size(); from += at_once) {
    const std::size_t count = std::min(at_once, positions.size() - from);
    source_->make(positions.subspan(from, count), part);
    use({part, std::span(in_part).first(count), from});
  }
}

void BlockReader::read_all(const Use& use) const {
  if (records_ != nullptr) return read(everybody(records_->count()), use);
  const std::vector<std::int64_t> in_part = everybody(source_->records_at_once());
  std::size_t from = 0;
  source_->make_all(source_->records_at_once(), [&](const models::Records& part) {
    const auto count = static_cast<std::size_t>(part.count());
    use({part, std::span(in_part).first(count), from});
    from += count;
  });
}

}  // namespace undertone::data
