#include "silo/sources/sql_source.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <odbc/soci-odbc.h>
#include <optional>
#include <postgresql/soci-postgresql.h>
#include <soci.h>
#include <sqlite3/soci-sqlite3.h>
#include <sys/stat.h>

#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"

namespace undertone::silo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kQueryBytesMax = std::size_t{1} << 20U;
constexpr std::size_t kConnectionBytesMax = 4096;
constexpr std::size_t kColumnsMax = 1'664;  // PostgreSQL's own bound; SQLite's is 2,000
/// SQLite asks whether to go on each time it has done so many of its steps: a few milliseconds of them.
constexpr int kStepsBetweenLooks = 100'000;

/// A database that is spoken to, and how it makes texts of values.
struct Backend {
  std::string_view name;  // as a connection begins
  const soci::backend_factory* factory;
};

std::array<Backend, 3> backends() {
  return {{{"postgresql", &soci::postgresql}, {"sqlite3", &soci::sqlite3}, {"odbc", &soci::odbc}}};
}

Error refuse(const std::string& what) { return {ErrorCode::InvalidData, what}; }

/// "postgresql://host=db.example dbname=heart user=reader"
struct Connection {
  Backend backend;
  std::string parameters;
};

Result<std::string> connection_text(const SqlSource& source) {
  if (source.connection.empty()) {
    const char* value = std::getenv(source.variable.c_str());
    if (value != nullptr) return std::string(value);
    return refuse(fmt::format("the environment has no {}, which holds the connection to the database",
                              plain_text(source.variable)));
  }
  struct stat facts {};
  if (::stat(source.connection.c_str(), &facts) == 0 && (facts.st_mode & S_IRWXO) != 0)
    return refuse(fmt::format("{}: holds a password, and everybody on this machine may read it: chmod o= {}",
                              source.connection.string(), source.connection.string()));
  return read_file(source.connection, kConnectionBytesMax);
}

Result<Connection> connection_of(const SqlSource& source) {
  UNDERTONE_TRY(std::string text, connection_text(source));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  const std::string where = source.connection.empty() ? source.variable : source.connection.string();
  const std::size_t end = text.find("://");
  for (const Backend& backend : backends()) {
    if (end != std::string::npos && std::string_view(text).substr(0, end) == backend.name)
      return Connection{backend, text.substr(end + 3)};
  }
  return refuse(
      fmt::format("{}: expected one line such as \"postgresql://host=db.example dbname=heart user=reader "
                  "password=...\", which begins with postgresql://, sqlite3:// or odbc://",
                  where));
}

/// A name as SQL quotes it.
std::string quoted(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

/// A query that is ready to be run, and the row that it fills.
class Prepared {
 public:
  Prepared(soci::session& session, const std::string& query, const std::map<std::string, std::string>& parameters)
      : statement_(session) {
    for (const auto& [name, value] : parameters) statement_.exchange(soci::use(value, name));
    statement_.alloc();
    statement_.prepare(query);
    statement_.define_and_bind();
    statement_.exchange_for_rowset(soci::into(row_));
    statement_.execute(false);
  }
  [[nodiscard]] bool next() { return statement_.fetch(); }
  [[nodiscard]] const soci::row& row() const noexcept { return row_; }

 private:
  soci::row row_;
  soci::statement statement_;
};

/// A whole number up to 2^53 as people write it, and any other as the shortest text that means it.
std::string text_of(double value) {
  constexpr double kWholeMost = 9007199254740992.0;
  if (std::abs(value) <= kWholeMost && value == std::trunc(value))
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

std::string text_of(const std::tm& time) {
  const std::string date = fmt::format("{:04}-{:02}-{:02}", time.tm_year + 1900, time.tm_mon + 1, time.tm_mday);
  if (time.tm_hour == 0 && time.tm_min == 0 && time.tm_sec == 0) return date;
  return fmt::format("{}T{:02}:{:02}:{:02}", date, time.tm_hour, time.tm_min, time.tm_sec);
}

/// A cell that has a value. @return an error without place where it is nothing that a table holds
Result<std::string> text_of(const soci::row& row, std::size_t column) {
  switch (row.get_properties(column).get_data_type()) {
    case soci::dt_string:
      return row.get<std::string>(column);
    case soci::dt_double:
      return text_of(row.get<double>(column));
    case soci::dt_integer:
      return fmt::format("{}", row.get<int>(column));
    case soci::dt_long_long:
      return fmt::format("{}", row.get<long long>(column));
    case soci::dt_unsigned_long_long:
      return fmt::format("{}", row.get<unsigned long long>(column));
    case soci::dt_date:
      return text_of(row.get<std::tm>(column));
    default:
      return refuse("expected numbers, texts or dates: cast it in the query, or leave it out");
  }
}

std::vector<std::string> columns_of(const soci::row& row) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < row.size(); ++i) out.push_back(row.get_properties(i).get_name());
  return out;
}

/// The query with every value as a text that means it exactly. ODBC's drivers have no cast in common: their values are
/// read by their types.
std::string as_texts(const Backend& backend, const std::string& query, const std::vector<std::string>& columns) {
  if (backend.name == "odbc") return query;
  std::string list;
  for (const std::string& column : columns) {
    const std::string name = quoted(column);
    if (!list.empty()) list += ", ";
    // SQLite's cast of a real number has 15 digits, which mean another one now and then.
    list += backend.name == "sqlite3" ? fmt::format(
                                            "CASE WHEN typeof({0}) = 'real' AND CAST(CAST({0} AS TEXT) AS REAL) <> {0} "
                                            "THEN printf('%!.17g', {0}) ELSE CAST({0} AS TEXT) END AS {0}",
                                            name)
                                      : fmt::format("CAST({0} AS text) AS {0}", name);
  }
  return fmt::format("SELECT {} FROM (\n{}\n) AS undertone_rows", list, query);
}

/// A session that reads and no more, until its deadline.
class ReadingSession {
 public:
  ReadingSession(const Connection& connection, std::chrono::seconds limit) : deadline_(Clock::now() + limit) {
    std::string parameters = connection.parameters;
    if (connection.backend.name == "sqlite3") parameters += " readonly=true";
    if (connection.backend.name == "postgresql") parameters += " singlerows=true";  // not the whole table at once
    session_.open(*connection.backend.factory, parameters);
    if (connection.backend.name == "sqlite3") {
      auto* native = static_cast<soci::sqlite3_session_backend*>(session_.get_backend());
      sqlite_api::sqlite3_progress_handler(native->conn_, kStepsBetweenLooks, is_late, this);
    }
    session_.begin();
    if (connection.backend.name == "postgresql") {
      session_ << "SET TRANSACTION READ ONLY";
      session_ << "SET LOCAL DateStyle = 'ISO, YMD'";
      session_ << "SET LOCAL TimeZone = 'UTC'";
      session_ << fmt::format("SET LOCAL statement_timeout = {}", limit.count() * 1000);
    }
  }
  ReadingSession(const ReadingSession&) = delete;
  ReadingSession& operator=(const ReadingSession&) = delete;
  ~ReadingSession() {
    try {
      session_.rollback();
    } catch (const std::exception&) {  // the connection is gone, and the transaction with it
    }
  }
  [[nodiscard]] soci::session& session() noexcept { return session_; }
  [[nodiscard]] bool late() const { return Clock::now() > deadline_; }

 private:
  static int is_late(void* self) { return static_cast<ReadingSession*>(self)->late() ? 1 : 0; }

  Clock::time_point deadline_;
  soci::session session_;
};

Status read_rows(const SqlSource& source, const Connection& connection, const std::string& query,
                 data::TableSink& sink) {
  ReadingSession reading(connection, source.limit);
  const Error too_long = refuse(fmt::format("{}: takes longer than {} s, which \"seconds_max\" allows",
                                            source.query.string(), source.limit.count()));
  try {
    std::vector<std::string> columns;
    {
      const std::string none = connection.backend.name == "odbc"
                                   ? query
                                   : fmt::format("SELECT * FROM (\n{}\n) AS undertone_rows WHERE 1 = 0", query);
      const Prepared prepared(reading.session(), none, source.parameters);
      columns = columns_of(prepared.row());
    }
    if (columns.empty() || columns.size() > kColumnsMax)
      return refuse(fmt::format("{}: expected a SELECT of 1 to {} columns", source.query.string(), kColumnsMax));
    if (const Status begun = sink.begin(columns, 0); !begun)
      return refuse(fmt::format("{}: {}", source.query.string(), begun.error().message));
    Prepared prepared(reading.session(), as_texts(connection.backend, query, columns), source.parameters);
    data::TableProblems problems(source.query.string() + ": row");
    std::int64_t rows = 0;
    while (!problems.stopped() && prepared.next()) {
      if (++rows > source.rows_max)
        return refuse(fmt::format("{}: finds more than {} rows, which \"rows_max\" allows", source.query.string(),
                                  source.rows_max));
      if (reading.late()) return too_long;
      problems.at(rows);
      const soci::row& row = prepared.row();
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (row.get_indicator(i) == soci::i_null) {
          sink.missing(i, problems);
          continue;
        }
        Result<std::string> text = text_of(row, i);
        if (!text) {
          problems.add(data::describe_column(columns, i) + ": " + text.error().message, true);
          break;
        }
        sink.cell(i, *text, problems);
      }
      sink.end_row(problems);
    }
    if (!problems.none()) return problems.error();
    if (rows == 0) return refuse(fmt::format("{}: expected rows, found none", source.query.string()));
    return {};
  } catch (const soci::soci_error&) {
    if (reading.late()) return too_long;
    throw;
  }
}

}  // namespace

Status read_sql_into(const SqlSource& source, data::TableSink& sink) {
  UNDERTONE_TRY(const Connection connection, connection_of(source));
  UNDERTONE_TRY(std::string query, read_file(source.query, kQueryBytesMax));
  while (!query.empty() && (query.back() == ';' || query.back() == '\n' || query.back() == '\r' || query.back() == ' '))
    query.pop_back();
  try {
    return read_rows(source, connection, query, sink);
  } catch (const soci::soci_error& error) {
    // Without the query, which the library repeats after it.
    return refuse(
        fmt::format("{}: the database says: {}", source.query.string(), plain_text(error.get_error_message())));
  }
}

}  // namespace undertone::silo
