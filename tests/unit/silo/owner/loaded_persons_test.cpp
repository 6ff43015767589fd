#include <gtest/gtest.h>
#include <set>

#include "shared/base/files.hpp"
#include "silo/owner/institution.hpp"
#include "tests/support/temporary_folder.hpp"

/// Persons of a file as a silo reads it: whose ids nearly agree, and records without an id.
namespace undertone::silo {
namespace {

class LoadedPersonsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.name = "main";
    config_.source = CsvSource{folder_.path() / "data.csv"};
    config_.schema.label = data::BinaryLabel{"sick", "no", "yes"};
    config_.schema.features.emplace_back(
        data::NumericColumn{.name = "age", .min = 0.0, .max = 100.0, .missing = {}, .date = {}});
    config_.split = {0.25, 0, std::nullopt};
    config_.person = data::PersonColumn{.column = "id"};
  }
  Result<LoadedDataset> load(const std::string& text) {
    EXPECT_TRUE(write_file_atomically(file_of(config_.source), text));
    return load_dataset(config_, key_, nullptr);
  }
  /// The ages of the persons of a block, in its order: of each the first.
  static std::vector<double> ages(const models::Records& block) {
    std::vector<double> out;
    for (std::int64_t person = 0; person < block.count(); ++person)
      out.push_back(50.0 + 50.0 * block.features(0, block.starts[static_cast<std::size_t>(person)]));
    return out;
  }

  tests::TemporaryFolder folder_;
  SigningKey key_ = SigningKey::from_seed(std::string(32, 'k')).value();
  DatasetConfig config_;
};

TEST_F(LoadedPersonsTest, ARecordWithoutAnIdIsRefusedOrAPersonOfItsOwn) {
  const std::string text = "id,age,sick\na,10,no\n,20,no\na,30,yes\n \t,40,no\n,20,no\nb,50,no\n";
  const Result<LoadedDataset> refused = load(text);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("data.csv:3: column 1: expected a person's id, found none"),
            std::string::npos);
  config_.person->without_id_alone = true;
  const LoadedDataset loaded = load(text).value();
  EXPECT_EQ(loaded.without_id, 3);
  // a, b and three records, two of which are equal.
  EXPECT_EQ(loaded.dataset.training.count() + loaded.dataset.holdout.count(), 5);
  EXPECT_EQ(loaded.dataset.training.rows() + loaded.dataset.holdout.rows(), 6);
}

/// A place that hung on the file's order or on other rows would change while others do: the holdout, which may be
/// public, would then take in other persons at every amendment.
TEST_F(LoadedPersonsTest, ARecordWithoutAnIdKeepsItsPlaceWhateverTheFileSaysBesides) {
  config_.person->without_id_alone = true;
  std::string rows;
  for (int i = 0; i < 60; ++i) rows += fmt::format(",{},no\n", i);
  const LoadedDataset before = load("id,age,sick\n" + rows).value();
  std::string reversed;
  for (int i = 59; i >= 0; --i) reversed += fmt::format(",{},no\n", i);
  const LoadedDataset after = load("id,age,sick\n" + reversed).value();
  EXPECT_EQ(ages(after.dataset.training), ages(before.dataset.training));
  EXPECT_EQ(ages(after.dataset.holdout), ages(before.dataset.holdout));
  EXPECT_NE(after.identity.digest, before.identity.digest);
  // Another person's record changes: she may move, and then one more at the cut.
  rows.replace(0, 6, ",99,yes\n");
  const LoadedDataset changed = load("id,age,sick\n" + rows).value();
  const std::vector<double> held = ages(before.dataset.holdout);
  std::set<double> still(held.begin(), held.end());
  for (const double age : ages(changed.dataset.holdout)) still.erase(age);
  EXPECT_LE(still.size(), 2U);
  // By the file's order they would not stand in that of their ages.
  EXPECT_FALSE(std::is_sorted(held.begin(), held.end()));
}

TEST_F(LoadedPersonsTest, IdsThatNearlyAgreeAreCountedWhereSomebodyLooks) {
  const std::string text =
      "id,age,sick\nMRN "
      "17,10,no\nmrn17,20,no\n0MRN17,30,yes\nMRN17,40,no\nmrn170,50,no\n000,50,no\n0,50,no\nMRN17,1,no\n";
  EXPECT_EQ(load(text)->near_ids, 0);
  config_.person->looks_for_near_ids = true;
  EXPECT_EQ(load(text)->near_ids, 6);  // four of one patient, and two that are nothing but zeros
}

}  // namespace
}  // namespace undertone::silo
