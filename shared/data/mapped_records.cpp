#include "shared/data/mapped_records.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "shared/data/snapshot.hpp"

namespace undertone::data {
namespace {

/// Memory for so many records. What a gatherer finds zero before the first cell is zero.
void make_room(models::Records& out, Eigen::Index features, std::size_t count) {
  const auto records = static_cast<Eigen::Index>(count);
  out.features.resize(features, records);
  out.features.setZero();
  out.targets.resize(records);
  out.targets.setZero();
  out.starts.clear();
  out.groups.clear();
}

}  // namespace

Result<std::shared_ptr<const MappedTable>> MappedTable::read(const std::filesystem::path& file, const Schema& schema,
                                                             const GatherOptions& options,
                                                             const std::function<void(std::string_view)>& bytes,
                                                             TableRecords& gathered) {
  UNDERTONE_TRY(MappedFile mapped, MappedFile::open(file));
  const std::shared_ptr<MappedTable> out(new MappedTable(std::move(mapped)));
  GatherOptions handing_on = options;
  const RecordGatherer* reading = nullptr;
  handing_on.numbers_of_rows = [&](EncodedRows&& rows) { out->add(std::move(rows), reading->encoder()); };
  RecordGatherer gatherer(schema, handing_on);
  reading = &gatherer;
  UNDERTONE_TRY(read_snapshot_into(out->file_, file, bytes, gatherer));
  if (gatherer.rows() > std::int64_t{std::numeric_limits<std::uint32_t>::max()})
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{}: has more than {} rows", file.string(), std::numeric_limits<std::uint32_t>::max())};
  out->file_.give_back();  // what comes next, such as an order of the rows, takes memory of its own
  out->encoder_ = gatherer.encoder();
  out->rows_ = static_cast<std::uint32_t>(gatherer.rows());
  gathered = gatherer.take();
  return std::shared_ptr<const MappedTable>(out);
}

void MappedTable::add(EncodedRows&& rows, const RecordEncoder& encoder) {
  Block block;
  block.first = rows_;
  rows_ += static_cast<std::uint32_t>(rows.rows.count);
  block.columns = rows.rows.columns;
  block.encodings = std::move(rows.encodings);
  std::vector<bool> given(encoder.width(), false);
  bool target_given = false;
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    block.columns[i].texts = {};  // they are in the encodings
    if (!block.encodings[i]) continue;
    const RecordEncoder::Encoded place = encoder.encoded(i);
    // Where nearly all texts differ, a table is longer than the numbers themselves.
    const std::size_t numbers = (place.target ? 1 : place.count) * rows.rows.count;
    if (block.encodings[i]->bytes() > numbers * sizeof(double)) {
      block.encodings[i].reset();
      continue;
    }
    std::fill_n(given.begin() + static_cast<std::ptrdiff_t>(place.first), place.count, true);
    target_given = target_given || place.target;
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!given[i]) block.kept_features.push_back(static_cast<Eigen::Index>(i));
  block.kept = rows.features(block.kept_features, Eigen::all);
  if (!target_given) block.targets.assign(rows.targets.begin(), rows.targets.end());
  block.groups.assign(rows.groups.begin(), rows.groups.end());
  blocks_.push_back(std::move(block));
}

void MappedTable::make_of_block(const Block& block, std::span<const std::uint32_t> rows,
                                std::span<const std::uint32_t> slots, models::Records& out) const {
  const RecordEncoder::Rows into{out.features.data(), out.targets.data()};
  for (std::size_t i = 0; i < block.columns.size(); ++i)
    if (block.encodings[i]) encoder_->put_packed_at(i, block.columns[i], *block.encodings[i], rows, slots, into);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < block.kept_features.size(); ++k)
      out.features(block.kept_features[k], slots[i]) = block.kept(static_cast<Eigen::Index>(k), rows[i]);
    if (!block.targets.empty()) out.targets[slots[i]] = block.targets[rows[i]];
    if (!block.groups.empty()) out.groups[slots[i]] = block.groups[rows[i]];
  }
}

void MappedTable::make(std::span<const Slot> wanted, models::Records& out) const {
  make_room(out, features(), wanted.size());
  if (encoder_->groups()) out.groups.assign(wanted.size(), 0);
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> slots;
  for (std::size_t from = 0; from < wanted.size();) {
    const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), wanted[from].row,
                                        [](std::uint32_t row, const Block& block) { return row < block.first; });
    const std::uint64_t end = after == blocks_.end() ? rows_ : after->first;
    const Block& block = *std::prev(after);
    rows.clear();
    slots.clear();
    for (; from < wanted.size() && wanted[from].row < end; ++from) {
      rows.push_back(wanted[from].row - block.first);
      slots.push_back(wanted[from].slot);
    }
    make_of_block(block, rows, slots, out);
  }
}

MappedRecords::MappedRecords(std::shared_ptr<const MappedTable> table, std::vector<std::uint32_t> rows)
    : table_(std::move(table)), rows_(std::move(rows)), here_(table_->rows(), false) {
  for (const std::uint32_t row : rows_) {
    UNDERTONE_CHECK(row < here_.size() && !here_[row]);
    here_[row] = true;
  }
}

void MappedRecords::make(std::span<const std::int64_t> positions, models::Records& out) const {
  std::vector<MappedTable::Slot> wanted;
  wanted.reserve(positions.size());
  for (const std::int64_t position : positions)
    wanted.push_back({rows_.at(static_cast<std::size_t>(position)), static_cast<std::uint32_t>(wanted.size())});
  std::sort(wanted.begin(), wanted.end(),
            [](const MappedTable::Slot& a, const MappedTable::Slot& b) { return a.row < b.row; });
  table_->make(wanted, out);
}

void MappedRecords::make_all(Eigen::Index at_once, const std::function<void(const models::Records&)>& use) const {
  models::Records records;
  std::vector<MappedTable::Slot> wanted;
  const auto hand_on = [&] {
    if (wanted.empty()) return;
    table_->make(wanted, records);
    wanted.clear();
    use(records);
  };
  for (std::uint32_t row = 0; row < here_.size(); ++row) {
    if (!here_[row]) continue;
    wanted.push_back({row, static_cast<std::uint32_t>(wanted.size())});
    if (static_cast<Eigen::Index>(wanted.size()) == at_once) hand_on();
  }
  hand_on();
}

}  // namespace undertone::data
