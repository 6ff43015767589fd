#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "shared/models/linear_model.hpp"

namespace undertone::data {

/// A block of records whose numbers are made when they are read, and are never all in memory at once. Every record is a
/// unit by itself. Reading changes nothing, and several threads may read at the same time.
class RecordSource {
 public:
  RecordSource() = default;
  RecordSource(const RecordSource&) = delete;
  RecordSource& operator=(const RecordSource&) = delete;
  virtual ~RecordSource() = default;

  [[nodiscard]] virtual Eigen::Index count() const noexcept = 0;
  /// How many numbers a record has after encoding, its target left out.
  [[nodiscard]] virtual Eigen::Index features() const noexcept = 0;
  /// Makes the records at these positions, in this order. A record may be asked for several times.
  /// @param positions each below count() @param out overwritten; its memory is used again where it is large enough
  virtual void make(std::span<const std::int64_t> positions, models::Records& out) const = 0;
  /// Makes every record of the block once, in the order in which they lie on disk, which is the fastest.
  /// @param at_once how many records `use` is given at most; it is given the same object each time
  virtual void make_all(Eigen::Index at_once, const std::function<void(const models::Records&)>& use) const = 0;

  /// Returns how many records a part may have, so that a processor's cache holds it.
  [[nodiscard]] virtual Eigen::Index records_at_once() const noexcept;
};

/// The records of another source after a change of each record's features by itself, as a projection or a choice of
/// columns is one.
class ChangedRecords final : public RecordSource {
 public:
  using Change = std::function<models::Records(const models::Records&)>;
  /// @param features how many a record has after the change
  ChangedRecords(std::shared_ptr<const RecordSource> source, Eigen::Index features, Change change)
      : source_(std::move(source)), features_(features), change_(std::move(change)) {}

  [[nodiscard]] Eigen::Index count() const noexcept override { return source_->count(); }
  [[nodiscard]] Eigen::Index features() const noexcept override { return features_; }
  void make(std::span<const std::int64_t> positions, models::Records& out) const override;
  void make_all(Eigen::Index at_once, const std::function<void(const models::Records&)>& use) const override;

 private:
  std::shared_ptr<const RecordSource> source_;
  Eigen::Index features_;
  Change change_;
};

/// @param source may be null: then there is nothing to change
[[nodiscard]] std::shared_ptr<const RecordSource> changed(const std::shared_ptr<const RecordSource>& source,
                                                          Eigen::Index features, const ChangedRecords::Change& change);

}  // namespace undertone::data
