#include "shared/data/snapshot.hpp"

#include <array>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <random>

#include "shared/base/files.hpp"
#include "shared/data/csv_reader.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::data {
namespace {

using Row = std::vector<std::optional<std::string>>;

/// Keeps the cells that it is handed.
class Kept final : public TableSink {
 public:
  Status begin(const std::vector<std::string>& names, std::int64_t rows_at_most) override {
    columns = names;
    at_most = rows_at_most;
    return {};
  }
  void cell(std::size_t column, std::span<char> text, TableProblems& /*problems*/) override {
    EXPECT_EQ(column, row_.size());
    row_.emplace_back(std::string(text.begin(), text.end()));
    std::fill(text.begin(), text.end(), 'x');  // as whoever takes ids does
  }
  void missing(std::size_t column, TableProblems& /*problems*/) override {
    EXPECT_EQ(column, row_.size());
    row_.emplace_back(std::nullopt);
  }
  void end_row(TableProblems& /*problems*/) override {
    rows.push_back(std::move(row_));
    row_.clear();
  }

  std::vector<std::string> columns;
  std::int64_t at_most = 0;
  std::vector<Row> rows;

 private:
  Row row_;
};

class SnapshotTest : public ::testing::Test {
 protected:
  /// Writes a table's wanted columns. @return the bytes
  std::string frozen(const std::vector<std::string>& columns, const std::vector<Row>& rows,
                     std::vector<std::string> wanted, const NumberForm& numbers = {}) {
    std::string out;
    SnapshotWriter writer(std::move(wanted), numbers, [&out](std::string_view bytes) {
      out += bytes;
      return Status();
    });
    TableProblems problems("table");
    EXPECT_TRUE(writer.begin(columns, 0));
    for (const Row& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        std::string text = row[i].value_or("");
        row[i] ? writer.cell(i, text, problems) : writer.missing(i, problems);
      }
      writer.end_row(problems);
    }
    EXPECT_TRUE(problems.none());
    EXPECT_EQ(writer.finish().value(), static_cast<std::int64_t>(rows.size()));
    return out;
  }
  Result<Kept*> read(const std::string& bytes) {
    std::ofstream(file_, std::ios::binary) << bytes;
    kept_ = std::make_unique<Kept>();
    std::string seen;
    UNDERTONE_TRY(read_snapshot_into(
        file_, [&seen](std::string_view part) { seen += part; }, *kept_));
    EXPECT_EQ(seen, bytes);
    return kept_.get();
  }
  void expect_kept(const std::vector<Row>& rows) {
    std::vector<std::string> columns;
    std::vector<std::string> wanted;
    for (std::size_t i = 0; i < rows.front().size(); ++i) {
      columns.push_back("c" + std::to_string(i));
      wanted.push_back(columns.back());
    }
    const Result<Kept*> kept = read(frozen(columns, rows, wanted));
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_EQ((*kept)->columns, columns);
    EXPECT_EQ((*kept)->at_most, static_cast<std::int64_t>(rows.size()));
    EXPECT_TRUE((*kept)->rows == rows);
  }

  tests::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "a.snapshot";
  std::unique_ptr<Kept> kept_;
};

TEST_F(SnapshotTest, WhatIsReadIsTheVeryText) {
  expect_kept({{"1"}, {"-2"}, {std::nullopt}, {"300000"}});
  expect_kept({{"1.50"}, {"2.25"}, {"-0.05"}});     // fractions that are as long as each other
  expect_kept({{"1.5"}, {"2"}, {"-0.05"}, {"0"}});  // fractions without a zero at the end
  expect_kept({{"1.50"}, {"2"}});                   // neither
  expect_kept({{"007"}, {"+1"}, {"-0"}, {"1e-3"}, {""}, {"."}, {"1."}, {"--1"}, {"-"}, {".5"}, {"-0.0"}});
  expect_kept({{"999999999999999999"}, {"-999999999999999999"}});     // as many digits as are packed
  expect_kept({{"9999999999999999999"}, {"0.9999999999999999999"}});  // more
  expect_kept({{"0.000000000000000001"}, {"999999999999999999"}});    // no common scale fits 64 bits
  expect_kept({{"Größe"}, {"\"quoted\""}, {"two\nlines"}, {std::nullopt}});
  expect_kept({{std::nullopt}, {std::nullopt}});
  expect_kept({{"a", "1", std::nullopt}, {"b", "2", ""}});
}

TEST_F(SnapshotTest, AnyTextsOfAnyLengthComeBack) {
  std::mt19937 random(7);
  const std::string signs = "0123456789.-+e, ab";
  for (int table = 0; table < 300; ++table) {
    std::vector<Row> rows(1 + random() % 40);
    const std::size_t width = 1 + random() % 4;
    const std::size_t kinds = 1 + random() % signs.size();  // few signs: many decimals
    for (Row& row : rows) {
      for (std::size_t i = 0; i < width; ++i) {
        std::string text;
        for (std::size_t length = random() % 20; length > 0; --length) text += signs[random() % kinds];
        row.push_back(random() % 10 == 0 ? std::nullopt : std::optional(text));
      }
    }
    expect_kept(rows);
    if (HasFailure()) break;
  }
}

TEST_F(SnapshotTest, BlocksAreOfManyRows) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < 2 * kSnapshotBlockRows + 3; ++i)
    rows.push_back({std::to_string(i), i < kSnapshotBlockRows ? "early" : "late", std::to_string(i % 256)});
  expect_kept(rows);
  // A number below 256 is a byte, and one of a block's 65,536 is two, whatever they are packed as.
  EXPECT_LT(std::filesystem::file_size(file_), rows.size() * (4 + 1 + 2));
}

TEST_F(SnapshotTest, OnlyWantedColumnsAreKept) {
  const std::vector<Row> rows = {{"Ann", "71,5", "x"}, {"Bob", "1.080,25", "y"}};
  const std::string bytes = frozen({"name", "Größe", "ward"}, rows, {"ward", "Gro\u0308ße"}, {true, true});
  EXPECT_EQ(bytes.find("Ann"), std::string::npos);
  const Kept& kept = **read(bytes);
  EXPECT_EQ(kept.columns, (std::vector<std::string>{"ward", "Gro\u0308ße"}));
  EXPECT_EQ(kept.rows.front().at(1), "71,5");
  EXPECT_EQ(kept.rows.back().at(1), "1.080,25");
  EXPECT_EQ(facts_of_snapshot(file_)->numbers, (NumberForm{true, true}));
}

TEST_F(SnapshotTest, MissingColumnsAreSaid) {
  SnapshotWriter writer({"age"}, {}, [](std::string_view) { return Status(); });
  EXPECT_EQ(writer.begin({"name"}, 0).error().message, "the column \"age\" is missing");
  EXPECT_EQ(writer.begin({"age", "age"}, 0).error().message, "the column \"age\" stands twice");
}

TEST_F(SnapshotTest, WhatIsNotWholeIsRefused) {
  const std::string bytes = frozen({"a", "b"}, {{"1", "x"}, {"2", std::nullopt}, {"300", "y"}}, {"a", "b"});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Result<Kept*> kept = read(bytes.substr(0, size));
    EXPECT_FALSE(kept) << size;
  }
  EXPECT_FALSE(read(bytes + "x"));
  // Other bytes are other cells or no snapshot; that they are not those of the ledger's digest is found elsewhere.
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned flip : {1U, 0x80U, 0xffU}) {
      std::string other = bytes;
      other[at] = static_cast<char>(static_cast<unsigned char>(other[at]) ^ flip);
      const Result<Kept*> kept = read(other);
      EXPECT_TRUE(kept || kept.error().message.find("a.snapshot") != std::string::npos);
    }
  }
}

TEST_F(SnapshotTest, TheWriterStopsWhereBytesCannotBeKept) {
  SnapshotWriter writer({"a"}, {}, [](std::string_view) {
    return Status(Error{ErrorCode::StorageFailed, "the disk is full"});
  });
  EXPECT_EQ(writer.begin({"a"}, 0).error().message, "the disk is full");
}

}  // namespace
}  // namespace undertone::data
