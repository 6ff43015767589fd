#include "simulation/table_partition.hpp"

#include <gtest/gtest.h>
#include <map>
#include <set>

#include "shared/base/files.hpp"
#include "shared/data/csv_table.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::simulation {
namespace {

/// A table of the numbers 1 to 10, twelve of each but eleven of the last; the first column tells records apart.
class TablePartitionTest : public ::testing::Test {
 protected:
  TablePartitionTest() {
    std::string text = "record,digit\n";
    for (int i = 0; i < 119; ++i) text += fmt::format("{},{}\n", i, i % 10 + 1);
    write_file_atomically(table(), text).value();
  }
  [[nodiscard]] std::filesystem::path table() const { return folder_.path() / "table.csv"; }
  /// The records of each silo, with their digits.
  std::vector<std::map<std::string, std::string>> dealt(const TablePartition& how) {
    std::vector<std::map<std::string, std::string>> out;
    const auto files = partition_table(table(), how, folder_.path() / "out").value();
    for (const std::filesystem::path& file : files) {
      std::map<std::string, std::string>& silo = out.emplace_back();
      const data::CsvTable read = data::parse_csv(read_file(file, 1U << 20U).value(), file.string()).value();
      for (const std::vector<std::string>& row : read.rows) EXPECT_TRUE(silo.emplace(row[0], row[1]).second);
    }
    return out;
  }
  static TablePartition by(TablePartition::By by) {
    TablePartition how;
    how.by = by;
    how.column = "digit";
    return how;
  }
  tests::TemporaryFolder folder_;
};

TEST_F(TablePartitionTest, ByLabelPairTwentyFiveSilosHoldAnEvenAndAnOddDigit) {
  const auto silos = dealt(by(TablePartition::By::LabelPair));
  ASSERT_EQ(silos.size(), 25U);
  std::set<std::set<std::string>> pairs;
  std::map<std::string, int> held;
  for (const auto& silo : silos) {
    EXPECT_EQ(silo.size(), 22U);  // eleven of each, as many as the rarest digit has
    std::set<std::string> digits;
    for (const auto& [record, digit] : silo) {
      digits.insert(digit);
      ++held[record];
    }
    EXPECT_EQ(digits.size(), 2U);
    EXPECT_NE(std::stoi(*digits.begin()) % 2, std::stoi(*digits.rbegin()) % 2);
    pairs.insert(digits);
  }
  EXPECT_EQ(pairs.size(), 25U);
  for (const auto& [record, count] : held) EXPECT_EQ(count, 5) << record;
}

TEST_F(TablePartitionTest, DisjointPairsShareNoRecord) {
  TablePartition how = by(TablePartition::By::LabelPair);
  how.disjoint = true;
  std::set<std::string> seen;
  std::size_t records = 0;
  for (const auto& silo : dealt(how)) {
    EXPECT_EQ(silo.size(), 4U);  // two of each
    records += silo.size();
    for (const auto& [record, digit] : silo) seen.insert(record);
  }
  EXPECT_EQ(seen.size(), records);
}

TEST_F(TablePartitionTest, ByLabelAndSortedSilosAreAlikeWithinAndByDirichletNobodyIsLost) {
  for (const auto& silo : dealt(by(TablePartition::By::Label))) {
    std::set<std::string> digits;
    for (const auto& [record, digit] : silo) digits.insert(digit);
    EXPECT_EQ(digits.size(), 1U);
  }
  TablePartition sorted = by(TablePartition::By::Sorted);
  sorted.silos = 7;
  int last = 0;
  for (const auto& silo : dealt(sorted)) {
    std::set<int> numbers;
    for (const auto& [record, number] : silo) numbers.insert(std::stoi(number));
    EXPECT_GE(*numbers.begin(), last);
    last = *numbers.rbegin();
  }
  TablePartition dirichlet = by(TablePartition::By::Dirichlet);
  dirichlet.silos = 3;
  dirichlet.concentration = 5.0;
  std::size_t records = 0;
  for (const auto& silo : dealt(dirichlet)) records += silo.size();
  EXPECT_EQ(records, 119U);
}

TEST_F(TablePartitionTest, RefusesWhatItCannotDeal) {
  const auto refusal = [&](const TablePartition& how) {
    const auto files = partition_table(table(), how, folder_.path() / "out");
    return files ? std::string() : files.error().message;
  };
  TablePartition pairs = by(TablePartition::By::LabelPair);
  pairs.column = "record";
  EXPECT_NE(refusal(pairs).find("expected 10 classes in the column \"record\", found 119"), std::string::npos);
  TablePartition unknown = by(TablePartition::By::Label);
  unknown.column = "age";
  EXPECT_NE(refusal(unknown).find("there is no column \"age\""), std::string::npos);
  EXPECT_NE(refusal(by(TablePartition::By::Iid)).find("expected 1 to 10000 silos, got 0"), std::string::npos);
}

}  // namespace
}  // namespace undertone::simulation
