#pragma once

#include <memory>

#include "shared/data/split.hpp"

namespace undertone::tests {

/// Records in memory that are handed over in small parts, and all of them from the last to the first, as a block that
/// is read from disk may be.
class RecordParts final : public data::RecordSource {
 public:
  explicit RecordParts(models::Records records) : records_(std::move(records)) {}
  [[nodiscard]] Eigen::Index count() const noexcept override { return records_.count(); }
  [[nodiscard]] Eigen::Index features() const noexcept override { return records_.features.rows(); }
  [[nodiscard]] Eigen::Index records_at_once() const noexcept override { return 3; }
  void make(std::span<const std::int64_t> positions, models::Records& out) const override {
    const std::vector<Eigen::Index> chosen(positions.begin(), positions.end());
    out = {records_.features(Eigen::all, chosen), records_.targets(chosen)};
    for (const Eigen::Index position : chosen)
      if (!records_.groups.empty()) out.groups.push_back(records_.group_of(position));
  }
  void make_all(Eigen::Index at_once, const std::function<void(const models::Records&)>& use) const override {
    models::Records part;
    std::vector<std::int64_t> positions;
    for (std::int64_t position = count() - 1; position >= 0; --position) {
      positions.push_back(position);
      if (static_cast<Eigen::Index>(positions.size()) < at_once && position > 0) continue;
      make(positions, part);
      use(part);
      positions.clear();
    }
  }

 private:
  models::Records records_;
};

/// The data set with its records behind such sources. What is public stays as it is.
[[nodiscard]] inline data::Dataset in_parts(data::Dataset dataset) {
  dataset.training_source = std::make_shared<const RecordParts>(std::exchange(dataset.training, {}));
  dataset.holdout_source = std::make_shared<const RecordParts>(std::exchange(dataset.holdout, {}));
  return dataset;
}

}  // namespace undertone::tests
