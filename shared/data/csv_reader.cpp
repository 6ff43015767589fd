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

namespace undertone::data {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 16U;
constexpr std::uint64_t kProgressBytes = std::uint64_t{16} << 20U;

/// This is what libcsv's callbacks read into, and from which they hand cells on.
struct Reading {
  explicit Reading(TableSink& taken_by, std::string name) : sink(&taken_by), problems(std::move(name)) {}

  TableSink* sink;
  TableProblems problems;
  std::vector<std::string> header;
  bool header_done = false;
  std::int64_t lines = 0;  // of the file, at most so many records
  std::int64_t rows = 0;
  std::size_t column = 0;
  std::int64_t line = 1;  // that the parser stands in
  int last_terminator = 0;
  bool quotes_near = false;  // a cell that ends here may be quoted, and have line ends
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

void on_field(void* text, std::size_t size, void* state) {
  auto& reading = *static_cast<Reading*>(state);
  if (reading.problems.stopped()) return;
  const std::span<char> cell(static_cast<char*>(text), size);
  if (reading.quotes_near) reading.line += std::count(cell.begin(), cell.end(), '\n');
  const std::size_t column = reading.column++;
  if (!reading.header_done) {
    if (column >= kCsvColumnsMax)
      return reading.problems.add(fmt::format("more than {} columns", kCsvColumnsMax), true);
    if (!is_utf8({cell.data(), cell.size()}))
      return reading.problems.add(fmt::format("column {}: expected UTF-8 text{}", column + 1, kConvertHint), true);
    reading.header.emplace_back(cell.begin(), cell.end());
    return;
  }
  if (column < reading.header.size()) reading.sink->cell(column, cell, reading.problems);
}

void on_row(int terminator, void* state) {
  auto& reading = *static_cast<Reading*>(state);
  if (reading.problems.stopped()) return;
  const bool second_half = reading.column == 0 && terminator == '\n' && reading.last_terminator == '\r';
  reading.last_terminator = second_half ? 0 : terminator;
  if (second_half) return;  // of "\r\n"
  if (!reading.header_done) {
    reading.header_done = true;
    if (const Status begun = reading.sink->begin(reading.header, reading.lines); !begun)
      return reading.problems.add(begun.error().message + other_separator(reading.header), true);
  } else if (reading.column != 0) {  // an empty line is no record
    if (reading.column != reading.header.size()) {
      reading.problems.add(
          fmt::format("expected {} cells as in the header, found {}", reading.header.size(), reading.column), false);
    }
    reading.sink->end_row(reading.problems);
    ++reading.rows;
  }
  reading.column = 0;
  reading.problems.at(++reading.line);
}

/// A file or a pipe that is read in blocks.
class Blocks {
 public:
  explicit Blocks(const std::filesystem::path& file) : descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {}
  /// @param descriptor is closed at the end
  explicit Blocks(int descriptor) : descriptor_(descriptor) {}
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

Error unreadable(const std::string& name, int why) {
  return {ErrorCode::InvalidData, fmt::format("{}: cannot be read: {}", name, std::generic_category().message(why))};
}

/// Parses what the blocks hold. @param total bytes of all of them, for progress; 0 where nobody knows
Status parse_blocks(const Blocks& blocks, std::uint64_t total, const CsvReading& options, Reading& reading) {
  std::string block(kBlockBytes, '\0');
  csv_parser parser;
  UNDERTONE_CHECK(csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) == 0);
  csv_set_delim(&parser, static_cast<unsigned char>(options.dialect.separator));
  const std::unique_ptr<csv_parser, decltype(&csv_free)> guard(&parser, &csv_free);
  TextDecoder decoder(options.dialect.encoding);
  std::uint64_t done = 0;
  std::uint64_t row_began = 0;
  std::uint64_t next_report = kProgressBytes;
  while (!reading.problems.stopped()) {
    const ssize_t size = blocks.read(block);
    if (size < 0) return unreadable(reading.problems.name(), errno);
    if (size == 0) break;
    std::string_view bytes(block.data(), static_cast<std::size_t>(size));
    if (options.bytes) options.bytes(bytes);
    bytes = decoder.decode(bytes);
    if (const auto line = done == 0 ? separator_line(bytes) : std::nullopt) {
      bytes.remove_prefix(line->bytes);
      reading.problems.at(++reading.line);
    }
    if (bytes.find('\0') != std::string_view::npos) {
      reading.problems.add("expected UTF-8 text, found a zero byte", true);
      break;
    }
    const std::int64_t line_before = reading.line;
    const bool quotes = bytes.find('"') != std::string_view::npos;
    reading.quotes_near = reading.quotes_near || quotes;
    if (csv_parse(&parser, bytes.data(), bytes.size(), on_field, on_row, &reading) != bytes.size()) {
      const std::string_view line = reading.header_done ? std::string_view() : bytes.substr(0, bytes.find('\n'));
      const char separator = static_cast<char>(csv_get_delim(&parser));
      reading.problems.add("a quotation mark where none may stand" + other_separator_after_quote(line, separator),
                           true);
      break;
    }
    if (const Status text = decoder.so_far(); !text) {
      reading.problems.add(text.error().message, true);
      break;
    }
    done += static_cast<std::uint64_t>(size);
    if (reading.line != line_before) {
      row_began = done;
      reading.quotes_near = quotes;  // the row at hand began in this block
    }
    if (done - row_began > kCsvLineBytesMax) {
      reading.problems.add(fmt::format("a line of more than {} bytes", kCsvLineBytesMax), true);
      break;
    }
    if (options.progress && done >= next_report) {
      options.progress(done, total, reading.rows);
      next_report = done + kProgressBytes;
    }
  }
  if (const Status whole = decoder.finish(); !reading.problems.stopped() && !whole)
    reading.problems.add(whole.error().message, true);
  if (!reading.problems.stopped() && csv_fini(&parser, on_field, on_row, &reading) != 0)
    reading.problems.add("a quotation mark is not closed", true);
  explicit_bzero(block.data(), block.size());  // the last ids may have stood in it
  if (!reading.problems.none()) return reading.problems.error();
  if (!reading.header_done || reading.rows == 0)
    return Error{ErrorCode::InvalidData,
                 fmt::format("{}:{}: expected records, found none", reading.problems.name(), reading.line)};
  return {};
}

}  // namespace

Status read_csv_into(const std::filesystem::path& file, const CsvReading& options, TableSink& sink) {
  const Blocks blocks(file);
  if (!blocks.open()) return unreadable(file.string(), errno);
  if (blocks.is_stream())
    return Error{ErrorCode::InvalidData, fmt::format("{}: expected a file, and no pipe or device", file.string())};
  std::string block(kBlockBytes, '\0');
  // First the number of lines, so that records are stored where they stay.
  std::uint64_t total = 0;
  std::int64_t lines = 1;
  const std::size_t unit = options.dialect.encoding == TextEncoding::Utf16 ? 2 : 1;  // bytes
  while (true) {
    const ssize_t size = blocks.read(block);
    if (size < 0) return unreadable(file.string(), errno);
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
    for (std::size_t at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) ++lines;
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

  Reading reading(sink, file.string());
  reading.lines = lines;
  return parse_blocks(blocks, total, options, reading);
}

Status read_csv_stream_into(int descriptor, const std::string& name, const CsvReading& options, TableSink& sink) {
  const Blocks blocks(descriptor);
  Reading reading(sink, name);
  return parse_blocks(blocks, 0, options, reading);
}

Result<TableRecords> read_csv(const std::filesystem::path& file, const Schema& schema, const CsvOptions& options) {
  GatherOptions gathered = options;
  gathered.numbers = options.dialect.numbers;
  RecordGatherer gatherer(schema, gathered);
  UNDERTONE_TRY(read_csv_into(file, options, gatherer));
  return gatherer.take();
}

}  // namespace undertone::data
