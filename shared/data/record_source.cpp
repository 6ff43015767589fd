#include "shared/data/record_source.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace undertone::data {

Eigen::Index RecordSource::records_at_once() const noexcept {
  constexpr Eigen::Index kNumbersAtOnce = 65'536;  // half a mebibyte of doubles
  return std::clamp<Eigen::Index>(kNumbersAtOnce / std::max<Eigen::Index>(features(), 1), 256, 8192);
}

void ChangedRecords::make(std::span<const std::int64_t> positions, models::Records& out) const {
  models::Records records;
  source_->make(positions, records);
  out = change_(records);
}

void ChangedRecords::make_all(Eigen::Index at_once, const std::function<void(const models::Records&)>& use) const {
  // A product of matrices may round a column by its place among the others. A record's place is that of its position,
  // which no record's value decides, and not the one it has on disk.
  std::vector<std::int64_t> positions;
  for (Eigen::Index from = 0; from < count(); from += at_once) {
    positions.resize(static_cast<std::size_t>(std::min(at_once, count() - from)));
    std::iota(positions.begin(), positions.end(), from);
    models::Records records;
    source_->make(positions, records);
    use(change_(records));
  }
}

std::shared_ptr<const RecordSource> changed(const std::shared_ptr<const RecordSource>& source, Eigen::Index features,
                                            const ChangedRecords::Change& change) {
  if (!source) return nullptr;
  return std::make_shared<const ChangedRecords>(source, features, change);
}

}  // namespace undertone::data
