#include "silo/sources/sql_source.hpp"

#include <filesystem>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "shared/base/files.hpp"
#include "shared/store/sqlite.hpp"
#include "tests/support/temporary_folder.hpp"

/// Queries of SQLite, and what is refused whatever the database is. PostgreSQL and ODBC: tests/net/sources.
namespace undertone::silo {
namespace {

/// Writes a table as lines, "-" where nothing is.
class Lines final : public data::TableSink {
 public:
  Status begin(const std::vector<std::string>& columns, std::int64_t /*rows_at_most*/) override {
    for (const std::string& column : columns) text += column + "|";
    text += "\n";
    return {};
  }
  void cell(std::size_t /*column*/, std::span<char> cell, data::TableProblems& /*problems*/) override {
    text.append(cell.begin(), cell.end()).append("|");
  }
  void missing(std::size_t /*column*/, data::TableProblems& /*problems*/) override { text += "-|"; }
  void end_row(data::TableProblems& /*problems*/) override { text += "\n"; }

  std::string text;
};

class SqlSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store::Database database =
        store::Database::open(folder_.path() / "h.sqlite", store::Database::Sync::Normal).value();
    ASSERT_TRUE(
        database.execute("CREATE TABLE visits (patient TEXT, stay REAL, any, \"q\"\"t\" INTEGER);"
                         "INSERT INTO visits VALUES ('a', 0.30000000000000004, 1, NULL), ('b', 0.1, 1.5, 7),"
                         " ('c', 1e300, 'x:y', -2)"));
    connection("sqlite3://dbname=" + (folder_.path() / "h.sqlite").string() + "\n");
    source_.query = folder_.path() / "q.sql";
    source_.connection = folder_.path() / "c.txt";
  }
  void connection(const std::string& text) {
    ASSERT_TRUE(write_file_atomically(folder_.path() / "c.txt", text));
    std::filesystem::permissions(folder_.path() / "c.txt", std::filesystem::perms(0640));
  }
  std::string read(const std::string& query) {
    EXPECT_TRUE(write_file_atomically(source_.query, query));
    Lines lines;
    const Status read = read_sql_into(source_, lines);
    if (read) return lines.text;
    const std::string at = folder_.path().string() + "/";
    const std::size_t found = read.error().message.find(at);
    return found == std::string::npos ? read.error().message
                                      : std::string(read.error().message).erase(found, at.size());
  }

  tests::TemporaryFolder folder_;
  SqlSource source_;
};

TEST_F(SqlSourceTest, EveryValueIsTheTextThatMeansIt) {
  EXPECT_EQ(read("SELECT patient, stay, any, \"q\"\"t\" FROM visits ORDER BY patient;\n"),
            "patient|stay|any|q\"t|\na|0.30000000000000004|1|-|\nb|0.1|1.5|7|\nc|1.0e+300|x:y|-2|\n");
  EXPECT_EQ(read("-- :a comment\nSELECT ':b' AS c, /* :d; */ ':e--' AS f; -- the end\n"), "c|f|\n:b|:e--|\n");
  EXPECT_EQ(read("WITH v AS (SELECT patient FROM visits) SELECT count(*) AS n FROM v -- those; and a semicolon\n"),
            "n|\n3|\n");
}

TEST_F(SqlSourceTest, ParametersAreBoundAndNeverGuessed) {
  source_.parameters = {{"who", "b' OR 1 = 1 --"}};
  EXPECT_EQ(read("SELECT patient FROM visits WHERE patient = :who"), "q.sql: expected rows, found none");
  source_.parameters = {{"who", "b"}};
  EXPECT_EQ(read("SELECT patient FROM visits WHERE patient = :who AND any <> ':no'"), "patient|\nb|\n");
  EXPECT_EQ(read("SELECT patient FROM visits /* :who */"), "q.sql: the query does not ask for the parameter \"who\"");
  EXPECT_EQ(read("SELECT patient FROM visits WHERE patient = :who AND any = :what"),
            "q.sql: the query asks for :what, which no parameter says");
  source_.parameters.clear();
  EXPECT_EQ(read("SELECT patient FROM visits WHERE stay > :1"),
            "q.sql: the query asks for :1, which no parameter says");
  EXPECT_EQ(read("SELECT patient FROM visits WHERE stay > :é"),
            "q.sql: the query asks for :é, which no parameter says");
  EXPECT_EQ(read("SELECT patient FROM visits WHERE patient = ?"),
            "q.sql: expected :name where a parameter stands, found ?");
}

TEST_F(SqlSourceTest, NothingIsWrittenAndOnlyOneSelectIsRun) {
  for (const char* query : {"DELETE FROM visits", "DROP TABLE visits",
                            "INSERT INTO visits (patient) VALUES ('d') RETURNING patient", "", "nonsense"}) {
    const std::string said = read(query);
    EXPECT_NE(said.find("q.sql: the database says: "), std::string::npos) << query << ": " << said;
  }
  for (const char* query : {"SELECT 1 AS a; DELETE FROM visits", "SELECT 1) AS a; DELETE FROM visits; SELECT (1"})
    EXPECT_EQ(read(query), "q.sql: expected one SELECT, found a semicolon within it");
  EXPECT_EQ(read("SELECT count(*) AS n FROM visits"), "n|\n3|\n");
}

TEST_F(SqlSourceTest, RowsAndTimeHaveBounds) {
  const std::string endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ";
  source_.rows_max = 10;
  EXPECT_EQ(read(endless + "i FROM n"), "q.sql: finds more than 10 rows, which \"rows_max\" allows");
  source_.limit = std::chrono::seconds(1);  // without a row, so that the database itself has to stop
  EXPECT_EQ(read(endless + "count(*) AS i FROM n"), "q.sql: takes longer than 1 s, which \"seconds_max\" allows");
}

TEST_F(SqlSourceTest, ConnectionsAreTheOwnersAlone) {
  const char* query = "SELECT count(*) AS n FROM visits";
  std::filesystem::permissions(source_.connection, std::filesystem::perms(0644));
  EXPECT_NE(read(query).find("everybody on this machine may read it: chmod o= "), std::string::npos);
  connection("mysql://host=db");
  EXPECT_NE(read(query).find("which begins with postgresql://, sqlite3:// or odbc://"), std::string::npos);
  connection("sqlite3://dbname=/nowhere/at.all");
  EXPECT_NE(read(query).find("q.sql: the database says: "), std::string::npos);
  source_.connection.clear();
  source_.variable = "UNDERTONE_TEST_CONNECTION";
  ::unsetenv("UNDERTONE_TEST_CONNECTION");
  EXPECT_NE(read(query).find("the environment has no UNDERTONE_TEST_CONNECTION"), std::string::npos);
  ::setenv("UNDERTONE_TEST_CONNECTION", ("sqlite3://dbname=" + (folder_.path() / "h.sqlite").string()).c_str(), 1);
  EXPECT_EQ(read(query), "n|\n3|\n");
  ::unsetenv("UNDERTONE_TEST_CONNECTION");
}

}  // namespace
}  // namespace undertone::silo
