#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

#include "shared/base/files.hpp"
#include "shared/data/mapped_records.hpp"
#include "shared/data/record_gatherer.hpp"
#include "shared/data/snapshot.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::data {
namespace {

/// Hands cells on one by one, as a sink that has no faster way takes them.
class OneByOne final : public TableSink {
 public:
  explicit OneByOne(TableSink& next) : next_(&next) {}
  Status begin(const std::vector<std::string>& columns, std::int64_t rows) override {
    return next_->begin(columns, rows);
  }
  void cell(std::size_t column, std::span<char> text, TableProblems& problems) override {
    next_->cell(column, text, problems);
  }
  void missing(std::size_t column, TableProblems& problems) override { next_->missing(column, problems); }
  void end_row(TableProblems& problems) override { next_->end_row(problems); }

 private:
  TableSink* next_;
};

NumericColumn number(const char* name, double min, double max) {
  NumericColumn out;
  out.name = name;
  out.min = min;
  out.max = max;
  return out;
}

class PackedRecordsTest : public ::testing::Test {
 protected:
  PackedRecordsTest() {
    NumericColumn marked = number("marked", -50, 50);
    marked.missing = MissingRule{{"-99", "n/a"}, 0.0, true};
    NumericColumn limited = number("limited", 0, 1);
    limited.limits = Limits::AsBounds;
    NumericColumn dated = number("dated", 0, 40'000);
    dated.date = DateFormat::YearMonthDay;
    dated.missing = MissingRule{{""}, 100.0, false};
    NumericColumn wide = number("wide", -1e6, 1e6);
    wide.missing = MissingRule{{"?"}, 5.0, true};
    CategoricalColumn listed{"listed", {"a", "b", "c"}, false};
    CategoricalColumn open{"open", {"x", "7"}, true};
    schema_.features = {marked, limited, dated, wide, number("plain", -3, 3), listed, open};
    BinaryLabel label;
    label.column = "label";
    label.negative = "no";
    label.positive = "yes";
    schema_.label = label;
  }

  /// Rows of good cells, a few of them missing.
  std::vector<std::string> row() {
    const auto of = [this](std::initializer_list<const char*> all) { return *(all.begin() + below(all.size())); };
    const auto decimal = [this](int most, int places) {
      return fmt::format("{:.{}f}", (static_cast<double>(below(2'000'001)) / 1e6 - 1.0) * most, places);
    };
    return {below(9) == 0 ? of({"-99", "n/a"}) : std::to_string(static_cast<int>(below(99)) - 49),
            below(5) == 0 ? of({"<0.25", ">= 1", "<=0"}) : fmt::format("0.{}", below(10)),
            below(9) == 0 ? "" : fmt::format("20{:02}-0{}-1{}", below(30), 1 + below(9), below(10)),
            below(9) == 0 ? "?" : decimal(2'000'000, 4),
            decimal(4, 2),
            of({"a", "b", "c"}),
            of({"x", "7", "y", "7.0"}),
            of({"no", "yes"})};
  }
  std::size_t below(std::size_t count) { return random_() % count; }

  /// Writes a snapshot of the rows.
  void freeze(const std::vector<std::vector<std::string>>& rows) {
    std::ofstream file(file_, std::ios::binary);
    SnapshotWriter writer(columns_, {}, [&file](std::string_view bytes) {
      file << bytes;
      return Status();
    });
    TableProblems problems("table");
    ASSERT_TRUE(writer.begin(columns_, 0));
    for (const std::vector<std::string>& cells : rows) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        std::string text = cells[i];
        if (cells[i] == "?" && random_() % 2 == 0) {
          writer.missing(i, problems);
        } else {
          writer.cell(i, text, problems);
        }
      }
      writer.end_row(problems);
    }
    ASSERT_TRUE(writer.finish());
  }

  Result<TableRecords> read(bool one_by_one) {
    RecordGatherer gatherer(schema_, options_);
    OneByOne slow(gatherer);
    TableSink& sink = one_by_one ? static_cast<TableSink&>(slow) : gatherer;
    UNDERTONE_TRY(read_snapshot_into(file_, nullptr, sink));
    return gatherer.take();
  }

  /// The mapped table makes, of any rows in any order, the very records that are read at once.
  void expect_mapped(const std::string& what, const Result<TableRecords>& expected) {
    TableRecords gathered;
    std::string bytes;
    const auto table = MappedTable::read(
        file_, schema_, options_, [&bytes](std::string_view more) { bytes += more; }, gathered);
    ASSERT_EQ(table.has_value(), expected.has_value()) << what;
    if (!table) {
      EXPECT_EQ(table.error().message, expected.error().message) << what;
      return;
    }
    EXPECT_EQ(bytes, read_file(file_, std::size_t{1} << 30U).value()) << what;
    EXPECT_EQ(gathered.contents, expected->contents) << what;
    EXPECT_EQ(gathered.records.rows(), 0) << what;
    ASSERT_EQ(gathered.columns.size(), expected->columns.size());
    for (std::size_t i = 0; i < gathered.columns.size(); ++i)
      EXPECT_EQ(gathered.columns[i].counts, expected->columns[i].counts) << what;
    // Two blocks, as a split makes them, each in an order of its own.
    std::vector<std::uint32_t> order((*table)->rows());
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random_);
    const std::size_t half = order.size() / 3;
    for (const auto& [from, to] : {std::pair{std::size_t{0}, half}, std::pair{half, order.size()}}) {
      const std::vector<std::uint32_t> rows(order.begin() + static_cast<std::ptrdiff_t>(from),
                                            order.begin() + static_cast<std::ptrdiff_t>(to));
      const MappedRecords block(*table, rows);
      ASSERT_EQ(block.count(), static_cast<Eigen::Index>(rows.size()));
      ASSERT_EQ(block.features(), expected->records.features.rows());
      std::vector<std::int64_t> positions;
      for (std::size_t i = 0; i < rows.size(); ++i)
        positions.push_back(static_cast<std::int64_t>(random_() % rows.size()));  // some several times
      models::Records made;
      block.make(positions, made);
      const auto expect_row = [&](Eigen::Index at, std::uint32_t row) {
        ASSERT_EQ(made.features.col(at), expected->records.features.col(row)) << what << row;
        ASSERT_EQ(made.targets[at], expected->records.targets[row]) << what << row;
        ASSERT_EQ(made.group_of(at), expected->records.group_of(row)) << what << row;
      };
      for (std::size_t i = 0; i < positions.size(); ++i)
        expect_row(static_cast<Eigen::Index>(i), rows[static_cast<std::size_t>(positions[i])]);
      std::vector<std::uint32_t> sorted = rows;
      std::sort(sorted.begin(), sorted.end());
      std::size_t seen = 0;
      block.make_all(100, [&](const models::Records& part) {
        ASSERT_LE(part.count(), 100);
        made = part;
        for (Eigen::Index i = 0; i < part.count(); ++i) expect_row(i, sorted.at(seen++));
      });
      EXPECT_EQ(seen, rows.size()) << what;
    }
  }

  void expect_equal(const std::string& what) {
    const Result<TableRecords> fast = read(false);
    expect_mapped(what, fast);
    const Result<TableRecords> slow = read(true);
    ASSERT_EQ(fast.has_value(), slow.has_value()) << what;
    if (!fast) {
      EXPECT_EQ(fast.error().message, slow.error().message) << what;
      return;
    }
    EXPECT_EQ(fast->records.features, slow->records.features) << what;
    EXPECT_EQ(fast->records.targets, slow->records.targets) << what;
    EXPECT_EQ(fast->records.groups, slow->records.groups) << what;
    EXPECT_EQ(fast->contents, slow->contents) << what;
    ASSERT_EQ(fast->columns.size(), slow->columns.size());
    for (std::size_t i = 0; i < fast->columns.size(); ++i) {
      const ColumnFacts& a = fast->columns[i];
      const ColumnFacts& b = slow->columns[i];
      EXPECT_EQ(a.missing, b.missing) << what << a.name;
      EXPECT_EQ(a.clamped, b.clamped) << what << a.name;
      EXPECT_EQ(a.least, b.least) << what << a.name;
      EXPECT_EQ(a.most, b.most) << what << a.name;
      EXPECT_EQ(a.counts, b.counts) << what << a.name;
    }
  }

  std::mt19937 random_{11};
  Schema schema_;
  GatherOptions options_;
  std::vector<std::string> columns_ = {"marked", "limited", "dated", "wide", "plain", "listed", "open", "label"};
  tests::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "a.snapshot";
};

TEST_F(PackedRecordsTest, RowsAtOnceAreThoseOneByOne) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{255}, std::size_t{4'000}}) {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < count; ++i) rows.push_back(row());
    freeze(rows);
    expect_equal(fmt::format("{} rows: ", count));
  }
}

/// Far more numbers than cells, one of which stands for a missing value: they are read as texts.
TEST_F(PackedRecordsTest, ManyNumbersOfWhichOneMeansMissing) {
  std::get<NumericColumn>(schema_.features[3]).missing->texts = {"?", "12.5"};
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < 3'000; ++i) {
    rows.push_back(row());
    rows.back()[3] = i % 7 == 0 ? "12.5" : fmt::format("{}.5", below(100'000));
  }
  freeze(rows);
  expect_equal("numbers: ");
}

TEST_F(PackedRecordsTest, SeveralBlocksFollowEachOther) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < kSnapshotBlockRows + 300; ++i) rows.push_back(row());
  freeze(rows);
  expect_equal("blocks: ");
}

TEST_F(PackedRecordsTest, AndWithContentsGroupsAndDerivedColumns) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < 700; ++i) rows.push_back(row());
  freeze(rows);
  options_.content_key = [](std::string_view content) {
    PersonKey key{};
    for (std::size_t i = 0; i < content.size(); ++i)
      key[i % key.size()] = static_cast<unsigned char>(31 * key[i % key.size()] + content[i]);
    return key;
  };
  SensitiveColumn group;
  group.name = "listed";
  group.categories = {"a", "b", "c"};
  group.also_feature = true;
  schema_.sensitive = {group};
  schema_.derived = {{"month", DatePart{"dated", DateFormat::YearMonthDay, DatePart::Part::Month}}};
  NumericColumn month = number("month", 1, 12);
  month.missing = MissingRule{{""}, 6.0, true};
  schema_.features.emplace_back(month);
  expect_equal("contents: ");
}

TEST_F(PackedRecordsTest, ABadCellIsSaidAtItsRow) {
  const std::vector<std::pair<std::size_t, std::string>> bad = {
      {0, "50.5x"}, {1, "<<1"}, {2, "2020-13-01"}, {3, "1e999"}, {4, ""}, {5, "d"}, {7, "maybe"}, {0, "\xff"}};
  for (const auto& [column, text] : bad) {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < 400; ++i) rows.push_back(row());
    rows[300][column] = text;
    rows[301][column] = text;
    freeze(rows);
    expect_equal(fmt::format("column {}, \"{}\": ", column, text));
    EXPECT_FALSE(read(false)) << column;
  }
  for (FeatureColumn& feature : schema_.features) {  // and where a number outside is an error
    if (auto* numeric = std::get_if<NumericColumn>(&feature)) numeric->outside = Outside::Refuse;
  }
  for (const std::size_t column : {0U, 1U, 3U, 4U}) {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < 400; ++i) {
      rows.push_back(row());
      rows.back()[3] = "12.5";
      rows.back()[4] = "1.5";
    }
    rows[77][column] = "4000000.25";
    freeze(rows);
    expect_equal(fmt::format("outside, column {}: ", column));
    EXPECT_FALSE(read(false)) << column;
  }
}

/// Numbers at the ends of what is computed with: digits beyond 2^53 are read as texts.
TEST_F(PackedRecordsTest, LongDecimalsAreReadAsTheirTexts) {
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < 300; ++i) {
    rows.push_back(row());
    rows.back()[3] = fmt::format("{}.{:015}", 100 + i, 900'719'925'474'099LL + i);
    rows.back()[4] = fmt::format("0.{:017}", 12'345'678'901'234'567LL * (i % 7 + 1) % 100'000'000'000'000'000LL);
  }
  freeze(rows);
  expect_equal("long: ");
}

}  // namespace
}  // namespace undertone::data
