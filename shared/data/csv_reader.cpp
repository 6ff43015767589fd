#include "shared/data/csv_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <csv.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"

namespace undertone::data {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 16U;
constexpr std::uint64_t kProgressBytes = std::uint64_t{16} << 20U;
constexpr std::size_t kProblemsMax = 20;

}  // namespace

bool is_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || i + length > text.size()) return false;
    const auto second = static_cast<unsigned char>(text[i + 1]);
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
        (lead == 0xf4 && second > 0x8f)) {
      return false;
    }
    for (std::size_t j = 1; j < length; ++j) {
      if ((static_cast<unsigned char>(text[i + j]) & 0xc0U) != 0x80U) return false;
    }
    i += length;
  }
  return true;
}

namespace {

/// What libcsv's callbacks fill.
struct Reading {
  const Schema* schema = nullptr;
  bool with_label = true;
  NumberForm numbers;
  std::string name;
  std::vector<std::string> header;
  bool header_done = false;
  std::optional<RecordEncoder> encoder;
  Eigen::MatrixXd features;
  Eigen::VectorXd targets;
  std::vector<std::int32_t> groups;  // of the records, where the schema has sensitive columns
  Eigen::Index record = 0;
  std::size_t column = 0;
  std::int64_t line = 1;        // that the parser stands in
  std::int64_t first_line = 1;  // of the row that is being read
  int last_terminator = 0;
  const RowMark* mark = nullptr;
  std::size_t mark_column = SIZE_MAX;
  std::vector<bool> marked;
  const PersonColumn* person = nullptr;
  std::size_t person_column = SIZE_MAX;
  std::vector<PersonKey> persons;
  std::vector<std::size_t> alone;
  std::vector<PersonKey> near_ids;
  std::string loose;
  bool without_id = false;  // the row that is being read
  std::string row;          // its cells, where a row without an id is a person by its content
  std::string kept_name;
  std::size_t kept_column = SIZE_MAX;
  std::vector<std::string> kept;
  std::vector<std::string> problems;
  bool fatal = false;

  void problem(const std::string& what, bool stop) {
    if (problems.size() < kProblemsMax) problems.push_back(fmt::format("{}:{}: {}", name, first_line, what));
    fatal = fatal || stop || problems.size() >= kProblemsMax;
  }
  std::string column_name(std::size_t at) const {
    return fmt::format("column {} \"{}\"", at + 1, plain_text(header[at]));
  }
};

/// What a header that came out as one cell looks like; empty where there is nothing to say.
std::string other_separator(const std::vector<std::string>& header) {
  if (header.size() != 1) return "";
  for (const auto& [mark, name, words] : kSeparators) {
    if (mark != ' ' && header.front().find(mark) != std::string::npos)
      return fmt::format("; the header is one cell that holds {}: is that what separates the file's cells?", words);
  }
  return "";
}

/// The same of a header of cells in quotation marks, which none of them may follow but the separator.
std::string other_separator_after_quote(std::string_view line, char separator) {
  for (const auto& [mark, name, words] : kSeparators) {
    if (mark != separator && line.find(std::string{'"', mark}) != std::string_view::npos)
      return fmt::format("; {} follow them in the header: is that what separates the file's cells?", words);
  }
  return "";
}

/// Keeps the keyed hash of an id, and overwrites the id.
void take_person(Reading& reading, char* text, std::size_t size) {
  const std::string_view id = id_in({text, size});
  if (static_cast<std::size_t>(reading.record) < reading.persons.size()) {
    const auto record = static_cast<std::size_t>(reading.record);
    if (!id.empty()) {
      reading.persons[record] = reading.person->key(id);
      if (!reading.near_ids.empty()) {
        loose_id(id, reading.loose);
        reading.near_ids[record] = reading.person->key(reading.loose);
        explicit_bzero(reading.loose.data(), reading.loose.capacity());
      }
    } else if (reading.person->without_id_alone) {
      reading.without_id = true;
    } else {
      reading.problem(fmt::format("column {}: expected a person's id, found none", reading.person_column + 1), false);
    }
  }
  explicit_bzero(text, size);
}

/// Ends a row: without an id it is known by its content.
void take_alone(Reading& reading) {
  const auto record = static_cast<std::size_t>(reading.record);
  if (reading.without_id && record < reading.persons.size()) {
    reading.persons[record] = reading.person->key(" " + reading.row);
    reading.alone.push_back(record);
  }
  reading.without_id = false;
  reading.row.clear();
}

void on_field(void* text, std::size_t size, void* state) {
  auto& reading = *static_cast<Reading*>(state);
  if (reading.fatal) return;
  const std::string_view cell(static_cast<const char*>(text), size);
  reading.line += std::count(cell.begin(), cell.end(), '\n');
  const std::size_t column = reading.column++;
  if (!reading.header_done) {
    if (column >= kCsvColumnsMax) return reading.problem(fmt::format("more than {} columns", kCsvColumnsMax), true);
    if (!is_utf8(cell))
      return reading.problem(fmt::format("column {}: expected UTF-8 text{}", column + 1, kConvertHint), true);
    reading.header.emplace_back(cell);
    return;
  }
  if (column == reading.mark_column && static_cast<std::size_t>(reading.record) < reading.marked.size())
    reading.marked[static_cast<std::size_t>(reading.record)] = cell == reading.mark->value;
  if (column == reading.kept_column && static_cast<std::size_t>(reading.record) < reading.kept.size()) {
    if (!is_utf8(cell)) reading.problem(reading.column_name(column) + ": expected UTF-8 text" + kConvertHint, false);
    reading.kept[static_cast<std::size_t>(reading.record)] = cell;
  }
  if (column == reading.person_column) return take_person(reading, static_cast<char*>(text), size);
  if (reading.person != nullptr && reading.person->without_id_alone)
    reading.row += fmt::format("{}:", size).append(cell);  // with its length, so that no two rows read alike
  if (column >= reading.header.size() || !reading.encoder->reads(column)) return;
  if (reading.record >= reading.targets.size()) return reading.problem("the file grew while it was read", true);
  if (!is_utf8(cell))
    return reading.problem(reading.column_name(column) + ": expected UTF-8 text" + kConvertHint, false);
  const RecordEncoder::Row row{
      reading.features.col(reading.record).data(), &reading.targets[reading.record],
      reading.groups.empty() ? nullptr : &reading.groups[static_cast<std::size_t>(reading.record)]};
  const RecordEncoder::Expected expected = reading.encoder->encode(column, cell, row);
  if (expected != nullptr) reading.problem(reading.column_name(column) + ": expected " + *expected, false);
}

void find_mark(Reading& reading) {
  const std::string name = plain_text(reading.mark->column);
  const ColumnNames names(reading.header);
  const std::optional<std::size_t> found = names.find(reading.mark->column);
  if (!found)
    return reading.problem(fmt::format("expected the column \"{}\", which says whose records are public", name), true);
  reading.mark_column = *found;
  if (names.count(reading.mark->column) > 1)
    return reading.problem(fmt::format("expected one column \"{}\", found several", name), true);
  if (reading.encoder->reads(reading.mark_column)) {
    reading.problem(fmt::format("the column \"{}\" says whose records are public, and so it may be no feature and no "
                                "label: what is public is settled before any value is looked at",
                                name),
                    true);
  }
}

void find_person(Reading& reading) {
  const ColumnNames names(reading.header);
  const std::optional<std::size_t> found = names.find(reading.person->column);
  // The column's name is the silo's own: errors are for its terminal, and yet do not say it.
  if (!found) return reading.problem("expected the column of persons' ids that the configuration names", true);
  reading.person_column = *found;
  if (names.count(reading.person->column) > 1)
    return reading.problem("expected one column of persons' ids, found several of its name", true);
  if (reading.encoder->reads(reading.person_column))
    reading.problem("the column of persons' ids may be no feature and no label", true);
}

void find_kept(Reading& reading) {
  const std::optional<std::size_t> found = ColumnNames(reading.header).find(reading.kept_name);
  if (!found) return reading.problem(fmt::format("there is no column \"{}\"", plain_text(reading.kept_name)), true);
  reading.kept_column = *found;
}

void on_row(int terminator, void* state) {
  auto& reading = *static_cast<Reading*>(state);
  if (reading.fatal) return;
  const bool second_half = reading.column == 0 && terminator == '\n' && reading.last_terminator == '\r';
  reading.last_terminator = second_half ? 0 : terminator;
  if (second_half) return;  // of "\r\n"
  if (!reading.header_done) {
    reading.header_done = true;
    Result<RecordEncoder> encoder =
        RecordEncoder::create(reading.header, *reading.schema, reading.with_label, reading.numbers);
    if (!encoder) return reading.problem(encoder.error().message + other_separator(reading.header), true);
    reading.encoder.emplace(*std::move(encoder));
    if (reading.mark != nullptr) find_mark(reading);
    if (reading.person != nullptr && !reading.fatal) find_person(reading);
    if (!reading.kept.empty() && !reading.fatal) find_kept(reading);
    reading.features.setZero(static_cast<Eigen::Index>(reading.encoder->width()), reading.targets.size());
    if (reading.encoder->groups()) reading.groups.assign(static_cast<std::size_t>(reading.targets.size()), 0);
  } else if (reading.column != 0) {  // an empty line is no record
    if (reading.column != reading.header.size()) {
      reading.problem(
          fmt::format("expected {} cells as in the header, found {}", reading.header.size(), reading.column), false);
    }
    take_alone(reading);
    ++reading.record;
  }
  reading.column = 0;
  reading.first_line = ++reading.line;
}

Error failure(const std::vector<std::string>& problems) {
  std::string all;
  for (const std::string& line : problems) all += (all.empty() ? "" : "\n") + line;
  if (problems.size() >= kProblemsMax) all += "\nand perhaps more";
  return {ErrorCode::InvalidData, all};
}

/// A file that is read in blocks.
class Blocks {
 public:
  explicit Blocks(const std::filesystem::path& file) : descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {}
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] bool open() const noexcept { return descriptor_ >= 0; }
  /// Whether it may have no end, or cannot be read twice.
  [[nodiscard]] bool is_stream() const {
    struct stat facts {};
    return ::fstat(descriptor_, &facts) != 0 || !(S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode));
  }
  void rewind() const { ::lseek(descriptor_, 0, SEEK_SET); }
  /// @return bytes read, 0 at the end, -1 on an error
  [[nodiscard]] ssize_t read(std::string& block) const {
    ssize_t size = 0;
    while ((size = ::read(descriptor_, block.data(), block.size())) < 0 && errno == EINTR) {
    }
    return size;
  }

 private:
  int descriptor_;
};

}  // namespace

Result<CsvRecords> read_csv(const std::filesystem::path& file, const Schema& schema, const CsvOptions& options) {
  const Blocks blocks(file);
  const auto unreadable = [&file](int why) {
    return Error{ErrorCode::InvalidData,
                 fmt::format("{}: cannot be read: {}", file.string(), std::generic_category().message(why))};
  };
  if (!blocks.open()) return unreadable(errno);
  if (blocks.is_stream())
    return Error{ErrorCode::InvalidData, fmt::format("{}: expected a file, and no pipe or device", file.string())};
  std::string block(kBlockBytes, '\0');
  // First the number of lines, so that records are stored where they stay.
  std::uint64_t total = 0;
  std::int64_t lines = 1;
  const std::size_t unit = options.dialect.encoding == TextEncoding::Utf16 ? 2 : 1;  // bytes
  while (true) {
    const ssize_t size = blocks.read(block);
    if (size < 0) return unreadable(errno);
    if (size == 0) break;
    if (total == 0 && options.dialect.encoding == TextEncoding::Utf8 &&
        has_utf16_mark({block.data(), static_cast<std::size_t>(size)})) {
      return Error{
          ErrorCode::InvalidData,
          fmt::format(
              "{}:1: expected UTF-8 text, found UTF-16: write \"encoding\": \"UTF-16\" under \"file\" of the data set",
              file.string())};
    }
    total += static_cast<std::uint64_t>(size);
    const std::string_view bytes(block.data(), static_cast<std::size_t>(size));
    lines += std::count(bytes.begin(), bytes.end(), '\n');
    if (bytes.find('\r') != std::string_view::npos) {  // either ends a line, and so does the pair
      for (std::size_t i = 0; i < bytes.size(); ++i)
        lines += bytes[i] == '\r' && (i + unit >= bytes.size() || bytes[i + unit] != '\n') ? 1 : 0;
    }
  }
  if (total == 0)
    return Error{ErrorCode::InvalidData, fmt::format("{}:1: expected a header, found nothing", file.string())};
  // A record may have line ends in its cells, and blank lines may stand between; not many more than records.
  if (options.records_max && lines > 2 * *options.records_max + 16)
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{}: {} lines, expected {} records", file.string(), lines, *options.records_max)};
  blocks.rewind();

  Reading reading;
  reading.schema = &schema;
  reading.with_label = options.with_label;
  reading.numbers = options.dialect.numbers;
  reading.name = file.string();
  reading.targets.setZero(lines);
  if (options.mark) {
    reading.mark = &*options.mark;
    reading.marked.assign(static_cast<std::size_t>(lines), false);
  }
  if (options.person) {
    reading.person = &*options.person;
    reading.persons.assign(static_cast<std::size_t>(lines), PersonKey{});
    if (options.person->looks_for_near_ids) reading.near_ids = reading.persons;
  }
  if (options.kept) {
    reading.kept_name = *options.kept;
    reading.kept.assign(static_cast<std::size_t>(lines), "");
  }
  csv_parser parser;
  UNDERTONE_CHECK(csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) == 0);
  csv_set_delim(&parser, static_cast<unsigned char>(options.dialect.separator));
  const std::unique_ptr<csv_parser, decltype(&csv_free)> guard(&parser, &csv_free);
  TextDecoder decoder(options.dialect.encoding);
  std::uint64_t done = 0;
  std::uint64_t row_began = 0;
  std::uint64_t next_report = kProgressBytes;
  while (!reading.fatal) {
    const ssize_t size = blocks.read(block);
    if (size < 0) return unreadable(errno);
    if (size == 0) break;
    std::string_view bytes(block.data(), static_cast<std::size_t>(size));
    if (options.bytes) options.bytes(bytes);
    bytes = decoder.decode(bytes);
    if (const auto line = done == 0 ? separator_line(bytes) : std::nullopt) {
      bytes.remove_prefix(line->bytes);
      reading.first_line = ++reading.line;
    }
    if (bytes.find('\0') != std::string_view::npos) {
      reading.problem("expected UTF-8 text, found a zero byte", true);
      break;
    }
    const std::int64_t line_before = reading.line;
    if (csv_parse(&parser, bytes.data(), bytes.size(), on_field, on_row, &reading) != bytes.size()) {
      const std::string_view line = reading.header_done ? std::string_view() : bytes.substr(0, bytes.find('\n'));
      const char separator = static_cast<char>(csv_get_delim(&parser));
      reading.problem("a quotation mark where none may stand" + other_separator_after_quote(line, separator), true);
      break;
    }
    if (const Status text = decoder.so_far(); !text) {
      reading.problem(text.error().message, true);
      break;
    }
    done += static_cast<std::uint64_t>(size);
    if (reading.line != line_before) row_began = done;
    if (done - row_began > kCsvLineBytesMax) {
      reading.problem(fmt::format("a line of more than {} bytes", kCsvLineBytesMax), true);
      break;
    }
    if (options.progress && done >= next_report) {
      options.progress(done, total, reading.record);
      next_report = done + kProgressBytes;
    }
  }
  if (const Status whole = decoder.finish(); !reading.fatal && !whole) reading.problem(whole.error().message, true);
  if (!reading.fatal && csv_fini(&parser, on_field, on_row, &reading) != 0)
    reading.problem("a quotation mark is not closed", true);
  if (!reading.problems.empty()) return failure(reading.problems);
  if (!reading.header_done || reading.record == 0)
    return Error{ErrorCode::InvalidData,
                 fmt::format("{}:{}: expected records, found none", file.string(), reading.line)};
  if (reading.record != reading.targets.size()) {
    reading.features.conservativeResize(Eigen::NoChange, reading.record);
    reading.targets.conservativeResize(reading.record);
    if (!reading.groups.empty()) reading.groups.resize(static_cast<std::size_t>(reading.record));
  }
  if (reading.mark != nullptr) reading.marked.resize(static_cast<std::size_t>(reading.record));
  if (reading.person != nullptr) explicit_bzero(block.data(), block.size());  // the last ids stood in it
  if (reading.person != nullptr) reading.persons.resize(static_cast<std::size_t>(reading.record));
  if (!reading.near_ids.empty()) reading.near_ids.resize(static_cast<std::size_t>(reading.record));
  if (options.kept) reading.kept.resize(static_cast<std::size_t>(reading.record));
  return CsvRecords{{std::move(reading.features), std::move(reading.targets), {}, std::move(reading.groups)},
                    reading.encoder->facts(),
                    std::move(reading.marked),
                    std::move(reading.persons),
                    std::move(reading.alone),
                    std::move(reading.near_ids),
                    std::move(reading.kept)};
}

}  // namespace undertone::data
