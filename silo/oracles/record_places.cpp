#include "silo/oracles/record_places.hpp"

#include <algorithm>
#include <utility>

namespace undertone::silo {

RecordPlaces RecordPlaces::permuted(std::vector<std::int64_t> order) {
  RecordPlaces out;
  out.order_ = std::move(order);
  return out;
}

RecordPlaces RecordPlaces::binned(const std::vector<std::int64_t>& drawn) {
  RecordPlaces out;
  out.order_.resize(drawn.size());
  out.starts_.assign(drawn.size() + 1, 0);
  for (const std::int64_t position : drawn) {
    UNDERTONE_CHECK(position >= 0 && position < static_cast<std::int64_t>(drawn.size()));
    ++out.starts_[static_cast<std::size_t>(position) + 1];
  }
  for (std::size_t i = 1; i < out.starts_.size(); ++i) out.starts_[i] += out.starts_[i - 1];
  // Records of one position stay in their own order. Each start moves to the end of its position, which is the next
  // one's start: shifted back below.
  for (std::size_t record = 0; record < drawn.size(); ++record) {
    const auto next = static_cast<std::size_t>(out.starts_[static_cast<std::size_t>(drawn[record])]++);
    out.order_[next] = static_cast<std::int64_t>(record);
  }
  for (std::size_t i = out.starts_.size() - 1; i > 0; --i) out.starts_[i] = out.starts_[i - 1];
  out.starts_[0] = 0;
  return out;
}

RecordPlaces::Rows RecordPlaces::bin(const releases::Slice::Positions& positions, std::int64_t rows) const {
  UNDERTONE_CHECK(!starts_.empty() && rows >= 1 && rows <= records());
  UNDERTONE_CHECK(0 <= positions.from && positions.from < positions.to && positions.to <= records());
  const std::int64_t first = starts_[static_cast<std::size_t>(positions.from)];
  const std::int64_t held = starts_[static_cast<std::size_t>(positions.to)] - first;
  Rows out;
  out.counted = std::min(held, rows);
  out.records.resize(static_cast<std::size_t>(rows));
  // Decoys are those of the positions that follow, the first ones after the last. They are in no sum, so nothing that
  // leaves depends on which they are; all that they make is work, and a row's takes the same whatever its values. Rows
  // from elsewhere, such as always the first ones, would be harmless in the same way but nearer in the cache than the
  // bin's own, and so show in time how many they are: these lie in memory as the bin's do.
  std::int64_t next = first == records() ? 0 : first;
  for (std::int64_t& record : out.records) {
    record = order_[static_cast<std::size_t>(next)];
    next = next + 1 == records() ? 0 : next + 1;
  }
  return out;
}

}  // namespace undertone::silo
