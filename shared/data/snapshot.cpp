#include "shared/data/snapshot.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "shared/base/byte_stream.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/csv_reader.hpp"
#include "shared/data/packed_cells.hpp"
#include "shared/data/text_encoding.hpp"

namespace undertone::data {
namespace {

constexpr std::string_view kMagic = "undertone snapshot 1\n";
constexpr std::size_t kBlockBytesMax = std::size_t{64} << 20U;  // of cells, before they are packed
/// A reader refuses a longer packed block: a writer's has its cells, and beside each no more than a length and a place.
constexpr std::uint64_t kPackedBytesMax = std::uint64_t{4} << 30U;

/// A plain decimal is an optional minus, digits without a zero before them, and perhaps a mark and more digits.
struct Decimal {
  std::int64_t digits = 0;  // all of them as one whole number, with its sign
  std::size_t scale = 0;    // how many stand behind the point
};

/// @param mark before the fraction: a point or a comma
std::optional<Decimal> decimal_in(std::string_view text, char mark) {
  const bool minus = text.starts_with('-');
  if (minus) text.remove_prefix(1);
  const std::size_t point = std::min(text.find(mark), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = point < text.size() ? text.substr(point + 1) : std::string_view();
  if (whole.empty() || (whole.size() > 1 && whole.front() == '0') || (point < text.size() && fraction.empty()) ||
      whole.size() + fraction.size() > kPackedDigitsMax) {
    return std::nullopt;
  }
  Decimal out{0, fraction.size()};
  for (const std::string_view part : {whole, fraction}) {
    for (const char c : part) {
      if (c < '0' || c > '9') return std::nullopt;
      out.digits = 10 * out.digits + (c - '0');
    }
  }
  if (minus && out.digits == 0) return std::nullopt;  // -0 is another text than 0
  if (minus) out.digits = -out.digits;
  return out;
}

char mark_of(const NumberForm& numbers) { return numbers.decimal_comma ? ',' : '.'; }

/// The fewest bytes, of 1, 2, 4 and 8, that hold a number.
std::size_t width_of(std::uint64_t most) {
  if (most <= std::numeric_limits<std::uint8_t>::max()) return 1;
  if (most <= std::numeric_limits<std::uint16_t>::max()) return 2;
  return most <= std::numeric_limits<std::uint32_t>::max() ? 4 : 8;
}

void put(std::string& out, std::uint64_t value, std::size_t width) {
  std::array<char, 8> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  out.append(bytes.data(), width);
}

/// The cells of a block, where all that hold something are decimals.
struct Decimals {
  std::size_t scale = 0;
  bool trimmed = false;
  std::int64_t least = 0;
  std::uint64_t range = 0;
  std::vector<std::int64_t> digits;  // of every cell, at the scale; 0 of one that is missing
};

constexpr std::array<std::int64_t, kPackedDigitsMax + 1> kPowers = [] {
  std::array<std::int64_t, kPackedDigitsMax + 1> out{};
  out[0] = 1;
  for (std::size_t i = 1; i < out.size(); ++i) out[i] = 10 * out[i - 1];
  return out;
}();

/// It packs the cells of a block.
class Packer {
 public:
  Packer(std::string_view texts, const std::vector<std::uint32_t>& ends, const std::vector<bool>& missing, char mark)
      : texts_(texts), ends_(&ends), missing_(&missing), mark_(mark) {}

  [[nodiscard]] std::string packed() const {
    std::string texts = as_texts();
    const std::optional<Decimals> decimals = as_decimals();
    if (!decimals) return texts;
    const bool gaps = std::find(missing_->begin(), missing_->end(), true) != missing_->end();
    const std::size_t width = width_of(decimals->range + (gaps ? 1 : 0));  // one more: what is missing
    if (texts.size() <= 6 * sizeof(std::uint64_t) + width * decimals->digits.size()) return texts;
    std::string bytes;
    for (const std::uint64_t number :
         {kPackedDecimals, std::uint64_t{decimals->scale}, std::uint64_t{decimals->trimmed ? 1U : 0U},
          static_cast<std::uint64_t>(decimals->least), decimals->range, std::uint64_t{width}}) {
      put(bytes, number, sizeof number);
    }
    for (std::size_t i = 0; i < decimals->digits.size(); ++i) {
      const std::uint64_t above =
          static_cast<std::uint64_t>(decimals->digits[i]) - static_cast<std::uint64_t>(decimals->least);
      put(bytes, (*missing_)[i] ? decimals->range + 1 : above, width);
    }
    return bytes;
  }

 private:
  [[nodiscard]] std::string_view text(std::size_t at) const {
    const std::size_t from = at == 0 ? 0 : (*ends_)[at - 1];
    return texts_.substr(from, (*ends_)[at] - from);
  }

  [[nodiscard]] std::string as_texts() const {
    std::unordered_map<std::string_view, std::uint64_t> places;
    std::vector<std::string_view> different;
    std::vector<std::uint64_t> cells(ends_->size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if ((*missing_)[i]) continue;
      const auto [at, fresh] = places.emplace(text(i), places.size());
      if (fresh) different.push_back(at->first);
      cells[i] = at->second + 1;  // 0: missing
    }
    const std::size_t width = width_of(different.size());
    ByteWriter out;
    out.u64(kPackedTexts);
    out.u64(different.size());
    for (const std::string_view one : different) out.text(one);
    out.u64(width);
    std::string bytes = std::move(out).bytes();
    for (const std::uint64_t place : cells) put(bytes, place, width);
    return bytes;
  }

  [[nodiscard]] std::optional<Decimals> as_decimals() const {
    std::vector<Decimal> cells(ends_->size());
    bool zeros = false;  // some fraction ends with one
    bool alike = true;   // all fractions are as long as each other
    std::size_t scale = 0;
    bool any = false;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if ((*missing_)[i]) continue;
      const std::optional<Decimal> cell = decimal_in(text(i), mark_);
      if (!cell) return std::nullopt;
      cells[i] = *cell;
      zeros = zeros || (cell->scale > 0 && text(i).back() == '0');
      alike = alike && (!any || cell->scale == scale);
      scale = std::max(scale, cell->scale);
      any = true;
    }
    if (!any || (zeros && !alike)) return std::nullopt;
    Decimals out{scale, !alike, std::numeric_limits<std::int64_t>::max(), 0, {}};
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    out.digits.resize(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if ((*missing_)[i]) continue;
      if (__builtin_mul_overflow(cells[i].digits, kPowers[scale - cells[i].scale], &out.digits[i])) return std::nullopt;
      out.least = std::min(out.least, out.digits[i]);
      most = std::max(most, out.digits[i]);
    }
    out.range = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(out.least);
    if (out.range >= std::uint64_t{1} << 63U) return std::nullopt;
    return out;
  }

  std::string_view texts_;
  const std::vector<std::uint32_t>* ends_;
  const std::vector<bool>* missing_;
  char mark_;
};

/// A file that is read in parts.
class Parts {
 public:
  explicit Parts(const std::function<void(std::string_view)>& seen) : seen_(&seen) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  virtual ~Parts() = default;

  /// @param room may be used for the bytes @return the next ones; nothing where there are not so many
  [[nodiscard]] std::optional<std::string_view> take(std::string& room, std::uint64_t size) {
    const std::optional<std::string_view> out = next(room, size);
    if (out && *seen_) (*seen_)(*out);
    return out;
  }
  [[nodiscard]] std::optional<std::uint64_t> u64() {
    std::string room;
    const std::optional<std::string_view> bytes = take(room, sizeof(std::uint64_t));
    if (!bytes) return std::nullopt;
    const Result<std::uint64_t> out = ByteReader(*bytes).u64();
    return out ? std::optional(*out) : std::nullopt;
  }
  [[nodiscard]] virtual std::uintmax_t size() const = 0;
  [[nodiscard]] virtual bool at_end() = 0;
  /// The number that the last eight bytes of the file are.
  [[nodiscard]] virtual std::optional<std::uint64_t> last_number() = 0;

 private:
  [[nodiscard]] virtual std::optional<std::string_view> next(std::string& room, std::uint64_t size) = 0;
  const std::function<void(std::string_view)>* seen_;
};

class ReadParts final : public Parts {
 public:
  ReadParts(const std::filesystem::path& file, const std::function<void(std::string_view)>& seen)
      : Parts(seen), file_(std::fopen(file.c_str(), "rbe"), &std::fclose) {
    std::error_code unknown;
    size_ = std::filesystem::file_size(file, unknown);
    if (unknown) size_ = 0;
  }
  [[nodiscard]] bool open() const noexcept { return file_ != nullptr; }
  std::uintmax_t size() const override { return size_; }
  bool at_end() override { return std::fgetc(file_.get()) == EOF; }
  std::optional<std::uint64_t> last_number() override {
    std::uint64_t out = 0;
    const long here = std::ftell(file_.get());
    if (here < 0 || std::fseek(file_.get(), -static_cast<long>(sizeof out), SEEK_END) != 0 ||
        std::fread(&out, 1, sizeof out, file_.get()) != sizeof out || std::fseek(file_.get(), here, SEEK_SET) != 0) {
      return std::nullopt;
    }
    return out;
  }

 private:
  std::optional<std::string_view> next(std::string& room, std::uint64_t size) override {
    room.resize(size);
    if (std::fread(room.data(), 1, size, file_.get()) != size) return std::nullopt;
    return room;
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::uintmax_t size_ = 0;
};

class MappedParts final : public Parts {
 public:
  MappedParts(std::string_view bytes, const std::function<void(std::string_view)>& seen)
      : Parts(seen), all_(bytes), rest_(bytes) {}
  std::uintmax_t size() const override { return all_.size(); }
  bool at_end() override { return rest_.empty(); }
  std::optional<std::uint64_t> last_number() override {
    std::uint64_t out = 0;
    if (all_.size() < sizeof out) return std::nullopt;
    std::memcpy(&out, all_.data() + all_.size() - sizeof out, sizeof out);
    return out;
  }

 private:
  std::optional<std::string_view> next(std::string& /*room*/, std::uint64_t size) override {
    if (size > rest_.size()) return std::nullopt;
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::string_view all_;
  std::string_view rest_;
};

}  // namespace

SnapshotWriter::SnapshotWriter(std::vector<std::string> wanted, const NumberForm& numbers, Bytes bytes)
    : wanted_(std::move(wanted)), numbers_(numbers), bytes_(std::move(bytes)) {}

Status SnapshotWriter::begin(const std::vector<std::string>& columns, std::int64_t /*rows_at_most*/) {
  columns_ = columns;
  wanted_by_place_.assign(columns.size(), wanted_.size());
  block_.resize(wanted_.size());
  const ColumnNames names(columns);
  ByteWriter header;
  header.u64((numbers_.decimal_comma ? 1U : 0U) + (numbers_.grouped ? 2U : 0U));
  header.u64(wanted_.size());
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const std::optional<std::size_t> place = names.find(wanted_[i]);
    if (!place || names.count(wanted_[i]) > 1) {
      return Error{ErrorCode::InvalidData,
                   fmt::format("the column \"{}\" {}", plain_text(wanted_[i]), place ? "stands twice" : "is missing")};
    }
    wanted_by_place_[*place] = i;
    header.text(wanted_[i]);
  }
  UNDERTONE_TRY(bytes_(kMagic));
  ByteWriter size;
  size.u64(header.bytes().size());
  UNDERTONE_TRY(bytes_(size.bytes()));
  return bytes_(header.bytes());
}

void SnapshotWriter::close_cell(std::size_t wanted, bool missing) {
  Cells& cells = block_[wanted];
  cells.ends.push_back(static_cast<std::uint32_t>(cells.texts.size()));
  cells.missing.push_back(missing);
}

void SnapshotWriter::cell(std::size_t column, std::span<char> text, TableProblems& problems) {
  const std::size_t wanted = wanted_by_place_[column];
  if (wanted == wanted_.size()) return;
  const std::string_view cell(text.data(), text.size());
  if (!is_utf8(cell)) problems.add(describe_column(columns_, column) + ": expected UTF-8 text" + kConvertHint, false);
  Cells& cells = block_[wanted];
  cells.texts += cell;
  block_bytes_ += cell.size();
  close_cell(wanted, false);
}

void SnapshotWriter::missing(std::size_t column, TableProblems& /*problems*/) {
  if (wanted_by_place_[column] != wanted_.size()) close_cell(wanted_by_place_[column], true);
}

void SnapshotWriter::end_row(TableProblems& problems) {
  ++block_rows_;
  // A row that is too short was a problem already, and nothing of it is kept.
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (block_[i].ends.size() < block_rows_) close_cell(i, true);
  if (block_rows_ < kSnapshotBlockRows && block_bytes_ < kBlockBytesMax) return;
  if (const Status written = write_block(); !written) problems.add(written.error().message, true);
}

Status SnapshotWriter::write_block() {
  ByteWriter rows;
  rows.u64(block_rows_);
  UNDERTONE_TRY(bytes_(rows.bytes()));
  for (Cells& cells : block_) {
    const std::string packed = Packer(cells.texts, cells.ends, cells.missing, mark_of(numbers_)).packed();
    ByteWriter size;
    size.u64(packed.size());
    UNDERTONE_TRY(bytes_(size.bytes()));
    UNDERTONE_TRY(bytes_(packed));
    cells.texts.clear();
    cells.ends.clear();
    cells.missing.clear();
  }
  rows_ += static_cast<std::int64_t>(block_rows_);
  block_rows_ = 0;
  block_bytes_ = 0;
  return {};
}

Result<std::int64_t> SnapshotWriter::finish() {
  if (block_rows_ > 0) UNDERTONE_TRY(write_block());
  ByteWriter end;
  end.u64(0);
  end.i64(rows_);
  UNDERTONE_TRY(bytes_(end.bytes()));
  return rows_;
}

namespace {

Error damaged(const std::filesystem::path& file) {
  return {ErrorCode::InvalidData,
          fmt::format("{}: expected a whole snapshot of a data set: this file is damaged", file.string())};
}

/// What stands before the blocks.
struct Header {
  NumberForm numbers;
  std::vector<std::string> columns;
};

Result<Header> read_header(const std::filesystem::path& file, Parts& parts) {
  std::string room;
  if (parts.take(room, kMagic.size()) != kMagic)
    return Error{ErrorCode::InvalidData, fmt::format("{}: expected a snapshot of a data set", file.string())};
  Header out;
  const auto header_bytes = parts.u64();
  if (!header_bytes || *header_bytes > parts.size()) return damaged(file);
  const auto part = parts.take(room, *header_bytes);
  if (!part) return damaged(file);
  ByteReader header(*part);
  const Result<std::uint64_t> form = header.u64();
  const Result<std::uint64_t> count = header.u64();
  if (!form || *form > 3 || !count || *count == 0 || *count > kCsvColumnsMax) return damaged(file);
  out.numbers = {(*form & 1U) != 0, (*form & 2U) != 0};
  for (std::uint64_t i = 0; i < *count; ++i) {
    Result<std::string> name = header.text();
    if (!name) return damaged(file);
    out.columns.push_back(*std::move(name));
  }
  if (!header.end()) return damaged(file);
  return out;
}

/// The number of rows stands at the end, where whoever wrote it knew it.
Result<std::uint64_t> rows_of(const std::filesystem::path& file, Parts& parts, const Header& header) {
  const std::optional<std::uint64_t> last = parts.last_number();
  // A cell is a byte at least, so that no number here takes memory for more of them than the file can have.
  if (!last || *last == 0 || *last > parts.size() / header.columns.size()) return damaged(file);
  return *last;
}

Error unreadable(const std::filesystem::path& file) {
  return {ErrorCode::InvalidData,
          fmt::format("{}: cannot be read: {}", file.string(), std::generic_category().message(errno))};
}

}  // namespace

Result<SnapshotFacts> facts_of_snapshot(const std::filesystem::path& file) {
  const std::function<void(std::string_view)> nobody;
  ReadParts parts(file, nobody);
  if (!parts.open()) return unreadable(file);
  UNDERTONE_TRY(const Header header, read_header(file, parts));
  UNDERTONE_TRY(const std::uint64_t rows, rows_of(file, parts, header));
  return SnapshotFacts{header.numbers, rows};
}

namespace {

Status read_parts_into(const std::filesystem::path& file, Parts& parts, TableSink& sink) {
  UNDERTONE_TRY(const Header header, read_header(file, parts));
  const std::vector<std::string>& columns = header.columns;
  UNDERTONE_TRY(const std::uint64_t rows, rows_of(file, parts, header));
  if (const Status begun = sink.begin(columns, static_cast<std::int64_t>(rows)); !begun)
    return Error{begun.error().code, fmt::format("{}: {}", file.string(), begun.error().message)};
  TableProblems problems(file.string());
  std::uint64_t seen = 0;
  std::vector<std::string> rooms(columns.size());
  PackedRows block{std::vector<PackedCells>(columns.size()), 0, mark_of(header.numbers)};
  while (!problems.stopped()) {
    const auto block_rows = parts.u64();
    if (!block_rows || *block_rows > kSnapshotBlockRows || *block_rows > rows - seen) return damaged(file);
    if (*block_rows == 0) break;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto size = parts.u64();
      if (!size || *size > std::min<std::uint64_t>(parts.size(), kPackedBytesMax)) return damaged(file);
      const auto packed = parts.take(rooms[i], *size);
      if (!packed) return damaged(file);
      Result<PackedCells> column = unpack(*packed, *block_rows);
      if (!column) return damaged(file);
      block.columns[i] = *std::move(column);
    }
    block.count = *block_rows;
    sink.take_rows(block, static_cast<std::int64_t>(seen), problems);
    seen += *block_rows;
  }
  if (!problems.none()) return problems.error();
  const auto total = parts.u64();
  if (!total || *total != rows || seen != rows || !parts.at_end()) return damaged(file);
  return {};
}

}  // namespace

Status read_snapshot_into(const std::filesystem::path& file, const std::function<void(std::string_view)>& bytes,
                          TableSink& sink) {
  ReadParts parts(file, bytes);
  if (!parts.open()) return unreadable(file);
  return read_parts_into(file, parts, sink);
}

Status read_snapshot_into(const MappedFile& mapped, const std::filesystem::path& name,
                          const std::function<void(std::string_view)>& bytes, TableSink& sink) {
  MappedParts parts(mapped.bytes(), bytes);
  return read_parts_into(name, parts, sink);
}

}  // namespace undertone::data
