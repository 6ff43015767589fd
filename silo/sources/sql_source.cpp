#include "silo/sources/sql_source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <odbc/soci-odbc.h>
#include <optional>
#include <postgresql/soci-postgresql.h>
#include <set>
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

/// Whether some database takes the sign for one of a parameter's name.
bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// Where a literal, a quoted name or a comment that begins here ends; `at` itself where none begins.
std::size_t end_of_quoted(std::string_view query, std::size_t at) {
  const auto after = [&](std::string_view end, std::size_t from) {
    const std::size_t found = query.find(end, from);
    return found == std::string_view::npos ? query.size() : found + end.size();
  };
  if (query[at] == '\'' || query[at] == '"') return after(query.substr(at, 1), at + 1);
  if (query.substr(at, 2) == "--") return after("\n", at);
  return query.substr(at, 2) == "/*" ? after("*/", at + 2) : at;
}

/// The query with a blank in place of each comment, where the library would look for parameters.
std::string without_comments(std::string_view query) {
  std::string out;
  for (std::size_t at = 0; at < query.size();) {
    const std::size_t end = end_of_quoted(query, at);
    const bool comment = end != at && query[at] != '\'' && query[at] != '"';
    if (comment) {
      out += query[end - 1] == '\n' ? '\n' : ' ';
    } else {
      out += query.substr(at, std::max(end, at + 1) - at);
    }
    at = std::max(end, at + 1);
  }
  return out;
}

/// The names that stand for parameters in a query.
/// @param other receives the first mark of another kind @param several whether there is a statement after the first
std::set<std::string> names_in(std::string_view query, char& other, bool& several) {
  std::set<std::string> out;
  for (std::size_t at = 0; at < query.size();) {
    if (const std::size_t end = end_of_quoted(query, at); end != at) {
      at = end;
    } else if (query.substr(at, 2) == "::") {  // a cast
      at += 2;
    } else if (query[at] == ':' && at + 1 < query.size() && in_name(query[at + 1])) {
      const std::size_t name = ++at;
      while (at < query.size() && in_name(query[at])) ++at;
      out.emplace(query.substr(name, at - name));
    } else {
      several = several || query[at] == ';';
      if (other == '\0' && (query[at] == '?' || query[at] == '@' || query[at] == '$')) other = query[at];
      ++at;
    }
  }
  return out;
}

/// Over ODBC the query is run as it is: it has to begin as a reading one does.
Status check_reads(const SqlSource& source, const Backend& backend, const std::string& query) {
  if (backend.name != "odbc") return {};
  const std::size_t from = query.find_first_not_of(" \t\r\n(");
  std::string word = query.substr(std::min(from, query.size()), 6);
  for (char& c : word) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (word == "SELECT" || word.starts_with("WITH")) return {};
  return refuse(fmt::format("{}: expected a query that begins with SELECT or WITH", source.query.string()));
}

/// Whether the query asks for the parameters that there are: SQLite takes one that nobody gave for nothing.
Status check_parameters(const SqlSource& source, const Backend& backend, const std::string& query) {
  char other = '\0';
  bool several = false;
  const std::set<std::string> asked = names_in(query, other, several);
  if (several)  // SQLite runs the first and forgets the others
    return refuse(fmt::format("{}: expected one SELECT, found a semicolon within it", source.query.string()));
  for (const std::string& name : asked) {
    if (!source.parameters.contains(name))
      return refuse(fmt::format("{}: the query asks for :{}, which no parameter says", source.query.string(), name));
  }
  for (const auto& [name, value] : source.parameters) {
    if (!asked.contains(name))
      return refuse(
          fmt::format("{}: the query does not ask for the parameter \"{}\"", source.query.string(), plain_text(name)));
  }
  if (other != '\0' && backend.name == "sqlite3")
    return refuse(fmt::format("{}: expected :name where a parameter stands, found {}", source.query.string(), other));
  return {};
}

/// A query that is ready to be run, and the row that it fills.
class Prepared {
 public:
  Prepared(soci::session& session, const std::string& query, const std::map<std::string, std::string>& parameters)
      : statement_(session), odbc_(session.get_backend_name() == "odbc") {
    for (const auto& [name, value] : parameters) statement_.exchange(soci::use(value, name));
    statement_.alloc();
    statement_.prepare(query);
    statement_.define_and_bind();
    statement_.exchange_for_rowset(soci::into(row_));
    statement_.execute(false);
  }
  [[nodiscard]] bool next() { return statement_.fetch(); }
  [[nodiscard]] std::vector<std::string> columns() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < row_.size(); ++i) out.push_back(row_.get_properties(i).get_name());
    return out;
  }
  /// Over ODBC: whether a text may have been cut. The library's buffer has as many bytes as the driver says the column
  /// has characters, and what does not fit is lost without a word.
  [[nodiscard]] bool may_be_cut(std::size_t column, const std::string& text) {
    if (!odbc_ || row_.get_properties(column).get_data_type() != soci::dt_string) return false;
    while (sizes_.size() <= column) {
      auto* native = static_cast<soci::odbc_statement_backend*>(statement_.get_backend());
      SQLSMALLINT ignored = 0;
      SQLULEN size = 0;
      const auto number = static_cast<SQLUSMALLINT>(sizes_.size() + 1);
      SQLDescribeCol(native->hstmt_, number, nullptr, 0, &ignored, &ignored, &size, &ignored, &ignored);
      sizes_.push_back(size);
    }
    return text.size() >= sizes_[column];
  }
  [[nodiscard]] const soci::row& row() const noexcept { return row_; }

 private:
  soci::row row_;
  soci::statement statement_;
  bool odbc_;
  std::vector<std::size_t> sizes_;  // of the columns, as far as they were asked for
};

/// A whole number up to 2^53 as people write it, and any other as the shortest text that means it.
std::string text_of(double value) {
  constexpr double kWholeMost = 9007199254740992.0;
  if (std::abs(value) <= kWholeMost && value == std::trunc(value))
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

std::string text_of(const std::tm& time) {
  std::string date = fmt::format("{:04}-{:02}-{:02}", time.tm_year + 1900, time.tm_mon + 1, time.tm_mday);
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

/// The query with every value as a text that means it exactly.
std::string as_texts(const Backend& backend, const std::string& query, const std::vector<std::string>& columns) {
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
    session_.open(*connection.backend.factory, parameters);
    if (connection.backend.name == "sqlite3") {
      auto* native = static_cast<soci::sqlite3_session_backend*>(session_.get_backend());
      sqlite_api::sqlite3_progress_handler(native->conn_, kStepsBetweenLooks, is_late, this);
    }
    if (connection.backend.name == "odbc") {
      auto* native = static_cast<soci::odbc_session_backend*>(session_.get_backend());
      SQLSetConnectAttr(native->hdbc_, SQL_ATTR_ACCESS_MODE, reinterpret_cast<SQLPOINTER>(SQL_MODE_READ_ONLY), 0);
    }
    session_.begin();
    if (connection.backend.name == "postgresql") {
      session_ << "SET TRANSACTION READ ONLY";
      session_ << "SET LOCAL DateStyle = 'ISO, YMD'";
      session_ << "SET LOCAL TimeZone = 'UTC'";
      session_ << "SET LOCAL client_encoding = 'UTF8'";
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

/// The names of the query's columns.
std::vector<std::string> columns_of(ReadingSession& reading, const SqlSource& source, const Backend& backend,
                                    const std::string& query) {
  std::vector<std::string> out;
  if (backend.name == "postgresql") {
    // Of types that the library does not know it tells no names, but PostgreSQL does.
    Prepared names(reading.session(),
                   fmt::format("SELECT json_object_keys(row_to_json(undertone_rows)) FROM (SELECT * FROM (\n{}\n) AS "
                               "undertone_query LIMIT 1) AS undertone_rows",
                               query),
                   source.parameters);
    while (names.next()) out.push_back(names.row().get<std::string>(0));
    return out;
  }
  const Prepared described(
      reading.session(), fmt::format("SELECT * FROM (\n{}\n) AS undertone_rows WHERE 1 = 0", query), source.parameters);
  return described.columns();
}

/// Rows of a query, one after the other. PostgreSQL's come a few thousand at a time, so that no table is in memory.
class Rows {
 public:
  Rows(ReadingSession& reading, const SqlSource& source, const Backend& backend, const std::string& query)
      : session_(&reading.session()), in_parts_(backend.name == "postgresql") {
    if (!in_parts_) {
      part_.emplace(*session_, query, source.parameters);
      return;
    }
    const Prepared declared(*session_, "DECLARE undertone_cursor NO SCROLL CURSOR FOR " + query, source.parameters);
    part_.emplace(*session_, kPart, std::map<std::string, std::string>());
  }
  [[nodiscard]] bool next() {
    if (part_->next()) return true;
    if (!in_parts_ || rows_of_part_ == 0) return false;
    part_.emplace(*session_, kPart, std::map<std::string, std::string>());
    rows_of_part_ = 0;
    return next();
  }
  [[nodiscard]] std::vector<std::string> columns() const { return part_->columns(); }
  [[nodiscard]] bool may_be_cut(std::size_t column, const std::string& text) { return part_->may_be_cut(column, text); }
  /// The one that next() found.
  [[nodiscard]] const soci::row& row() {
    ++rows_of_part_;
    return part_->row();
  }

 private:
  static constexpr const char* kPart = "FETCH FORWARD 5000 FROM undertone_cursor";
  soci::session* session_;
  bool in_parts_;
  std::size_t rows_of_part_ = 0;  // that were taken
  std::optional<Prepared> part_;
};

Status read_rows(const SqlSource& source, const Connection& connection, const std::string& query,
                 data::TableSink& sink) {
  ReadingSession reading(connection, source.limit);
  const Error too_long = refuse(fmt::format("{}: takes longer than {} s, which \"seconds_max\" allows",
                                            source.query.string(), source.limit.count()));
  try {
    // ODBC's drivers have no cast in common: the query is run as it is, once, and says its columns itself.
    const bool as_it_is = connection.backend.name == "odbc";
    std::vector<std::string> columns;
    if (!as_it_is) columns = columns_of(reading, source, connection.backend, query);
    const auto checked = [&]() -> Status {
      if (!columns.empty() && columns.size() <= kColumnsMax) return {};
      return refuse(fmt::format("{}: expected a SELECT of 1 to {} columns and of some rows, found {} columns",
                                source.query.string(), kColumnsMax, columns.size()));
    };
    if (!as_it_is) UNDERTONE_TRY(checked());
    Rows found(reading, source, connection.backend, as_it_is ? query : as_texts(connection.backend, query, columns));
    if (as_it_is) columns = found.columns();
    UNDERTONE_TRY(checked());
    if (const Status begun = sink.begin(columns, 0); !begun)
      return refuse(fmt::format("{}: {}", source.query.string(), begun.error().message));
    data::TableProblems problems(source.query.string() + ": row");
    std::int64_t rows = 0;
    while (!problems.stopped() && found.next()) {
      if (++rows > source.rows_max)
        return refuse(fmt::format("{}: finds more than {} rows, which \"rows_max\" allows", source.query.string(),
                                  source.rows_max));
      if (reading.late()) return too_long;
      problems.at(rows);
      const soci::row& row = found.row();
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
        if (found.may_be_cut(i, *text)) {
          problems.add(data::describe_column(columns, i) +
                           ": expected a text shorter than its column, since a driver cuts longer ones: cast it to a "
                           "wider type in the query",
                       true);
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
  query = without_comments(query);
  while (!query.empty() && (query.back() == ';' || query.back() == '\n' || query.back() == '\r' || query.back() == ' '))
    query.pop_back();
  UNDERTONE_TRY(check_reads(source, connection.backend, query));
  UNDERTONE_TRY(check_parameters(source, connection.backend, query));
  try {
    return read_rows(source, connection, query, sink);
  } catch (const soci::soci_error& error) {
    // Without the query, which the library repeats after it, and without the drawing of where in it something is.
    const std::string said = error.get_error_message();
    return refuse(
        fmt::format("{}: the database says: {}", source.query.string(), plain_text(said.substr(0, said.find('\n')))));
  }
}

}  // namespace undertone::silo
