#include "silo/sources/parquet_source.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/plain_text.hpp"
#include "shared/data/csv_reader.hpp"
#include "shared/service/spawn.hpp"

namespace undertone::silo {
namespace {

/// Writes the rows of a file to standard output: RFC 4180, a missing value as nothing, dates and times as ISO writes
/// them. Exit codes: 3 without pyarrow, 4 where a column is no list of plain values.
constexpr const char* kConverter = R"(
import sys
try:
    import pyarrow
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.dataset
except ImportError:
    sys.exit(3)

name, kind = sys.argv[1], sys.argv[2]
table = pyarrow.dataset.dataset(name, format=kind)
fields = []
for field in table.schema:
    kind = field.type
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    plain = (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_boolean(kind)
             or pyarrow.types.is_decimal(kind) or pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
             or pyarrow.types.is_date(kind) or pyarrow.types.is_timestamp(kind) or pyarrow.types.is_null(kind))
    if not plain:
        print(field.name[:200], file=sys.stderr)
        sys.exit(4)
    fields.append((field.name, kind))


def as_text(column, kind):
    if column.type != kind:  # a dictionary
        column = column.cast(kind)
    if pyarrow.types.is_timestamp(kind):
        if kind.tz is not None:
            column = column.cast(pyarrow.timestamp(kind.unit, "UTC"))
        column = column.cast(pyarrow.timestamp(kind.unit))
        text = pyarrow.compute.strftime(column, format="%Y-%m-%dT%H:%M:%S")
        return text
    if pyarrow.types.is_floating(kind):
        nan = pyarrow.compute.is_nan(column)
        return pyarrow.compute.if_else(nan, pyarrow.scalar(None, kind), column)
    return column


# The names are a row of their own: they are written once, whatever the batches are.
schema = None
with open(sys.stdout.fileno(), "wb", closefd=False) as out:
    for batch in table.to_batches():
        if batch.num_rows == 0:
            continue
        columns = [as_text(batch.column(i), kind) for i, (_, kind) in enumerate(fields)]
        rows = pyarrow.RecordBatch.from_arrays(columns, names=[name for name, _ in fields])
        first = schema is None
        schema = rows.schema
        pyarrow.csv.write_csv(pyarrow.Table.from_batches([rows]), out,
                              pyarrow.csv.WriteOptions(include_header=first))
)";

constexpr int kWithoutPackage = 3;
constexpr int kNoPlainColumn = 4;

/// The name by which pyarrow knows the file's format; empty: neither.
std::string_view format_of(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  std::array<char, 6> begins{};
  const ssize_t size = descriptor < 0 ? 0 : ::read(descriptor, begins.data(), begins.size());
  if (descriptor >= 0) ::close(descriptor);
  const std::string_view mark(begins.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (mark.starts_with("PAR1")) return "parquet";
  return mark.starts_with("ARROW1") ? "feather" : "";
}

/// What a file holds, up to a bound.
std::string beginning_of(int descriptor) {
  std::string out(std::size_t{1} << 16U, '\0');
  ::lseek(descriptor, 0, SEEK_SET);
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t size = ::read(descriptor, out.data() + filled, out.size() - filled);
    if (size <= 0) break;
    filled += static_cast<std::size_t>(size);
  }
  out.resize(filled);
  return out;
}

struct Pipe {
  int read = -1;
  int write = -1;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error{ErrorCode::Internal, "no pipe to another process can be made"};
  return Pipe{ends[0], ends[1]};
}

}  // namespace

Status read_parquet_into(const ParquetSource& source, data::TableSink& sink) {
  const std::string name = source.file.string();
  const std::string_view format = format_of(source.file);
  if (format.empty())
    return Error{ErrorCode::InvalidData, fmt::format("{}: expected a Parquet or a Feather file", name)};
  const char* named = std::getenv("UNDERTONE_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  UNDERTONE_TRY(const Pipe rows, make_pipe());
  // A file and no pipe: a process that says more than a pipe holds would wait for a reader that waits for its rows.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> words(std::tmpfile(), &std::fclose);
  if (!words) return Error{ErrorCode::Internal, "no temporary file can be made"};
  service::SpawnFiles files;
  files.read("/dev/null", STDIN_FILENO);
  files.redirect(rows.write, STDOUT_FILENO);
  files.redirect(::fileno(words.get()), STDERR_FILENO);
  const Result<pid_t> child = service::spawn({python, "-I", "-c", kConverter, name, std::string(format)}, files);
  ::close(rows.write);
  Status read = child ? data::read_csv_stream_into(rows.read, name, {}, sink) : Status();
  if (!child) ::close(rows.read);
  const std::string without = fmt::format(
      "{}: Parquet and Feather files are read by Python with the package pyarrow, which {} is not or does not have: "
      "`python3 -m venv undertone-arrow && undertone-arrow/bin/pip install pyarrow`, then "
      "UNDERTONE_PYTHON=undertone-arrow/bin/python",
      name, plain_text(python));
  if (!child) return Error{ErrorCode::InvalidData, without};
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string said = beginning_of(::fileno(words.get()));
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == kWithoutPackage || code == 127) return Error{ErrorCode::InvalidData, without};
  if (code == kNoPlainColumn) {
    return Error{ErrorCode::InvalidData,
                 fmt::format("{}: the column \"{}\" holds no plain numbers, texts or dates: leave it out of the file",
                             name, plain_text(said.substr(0, said.find('\n'))))};
  }
  const bool stopped_by_us = !read && said.find("BrokenPipe") != std::string::npos;
  if (code != 0 && !stopped_by_us) {
    const std::size_t end = said.find_last_not_of('\n');
    const std::size_t line = end == std::string::npos ? end : said.rfind('\n', end);
    return Error{
        ErrorCode::InvalidData,
        fmt::format("{}: cannot be read: {}", name, plain_text(said.substr(line == std::string::npos ? 0 : line + 1)))};
  }
  return read;
}

}  // namespace undertone::silo
