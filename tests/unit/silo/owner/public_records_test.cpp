#include <gtest/gtest.h>

#include "shared/base/files.hpp"
#include "silo/owner/institution.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::silo {
namespace {

/// A data set of ages, some of whose records are public.
class PublicRecordsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.name = "main";
    config_.source = CsvSource{folder_.path() / "data.csv"};
    config_.schema.label = data::BinaryLabel{"sick", "no", "yes"};
    config_.schema.features.emplace_back(
        data::NumericColumn{.name = "age", .min = 0.0, .max = 100.0, .missing = {}, .date = {}});
    config_.split = {0.25, 3, std::nullopt};
  }
  void write(const char* name, const std::string& text) {
    ASSERT_TRUE(write_file_atomically(folder_.path() / name, text));
  }
  Result<LoadedDataset> load() const { return load_dataset(config_, key_, nullptr); }

  tests::TemporaryFolder folder_;
  SigningKey key_ = SigningKey::from_seed(std::string(32, 'k')).value();
  DatasetConfig config_;
};

constexpr const char* kMarked =
    "age,sick,consent\n10,no,open\n20,no,closed\n30,yes,open\n40,no,\n50,yes,Open\n60,no,opened\n70,no,closed\n";

TEST_F(PublicRecordsTest, AreThoseThatAColumnMarksWithTheVeryWord) {
  write("data.csv", kMarked);
  config_.declared_public = data::RowMark{"consent", "open"};
  const LoadedDataset loaded = load().value();
  // Another word, in another spelling, or none at all, is no consent.
  EXPECT_EQ(loaded.dataset.public_records.count(), 2);
  EXPECT_EQ(loaded.dataset.training.count() + loaded.dataset.holdout.count(), 5);
  EXPECT_EQ(loaded.dataset.holdout.count(), 1);
  EXPECT_NEAR(loaded.dataset.public_records.features(0, 0), -0.8, 1e-15);
  EXPECT_NEAR(loaded.dataset.public_records.features(0, 1), -0.4, 1e-15);
  EXPECT_NE(loaded.identity.public_records, Digest{});
}

TEST_F(PublicRecordsTest, KeepTheirDigestWhateverBecomesOfTheOthers) {
  write("data.csv", kMarked);
  config_.declared_public = data::RowMark{"consent", "open"};
  const DatasetIdentity before = load().value().identity;
  write("data.csv", std::string(kMarked) + "80,yes,closed\n");
  const DatasetIdentity more = load().value().identity;
  EXPECT_EQ(more.public_records, before.public_records);
  EXPECT_NE(more.digest, before.digest);
  // A record that becomes public, and one that no longer is.
  std::string changed = kMarked;
  changed.replace(changed.find("20,no,closed"), 12, "20,no,open");
  write("data.csv", changed);
  EXPECT_NE(load().value().identity.public_records, before.public_records);
  changed = kMarked;
  changed.replace(changed.find("10,no,open"), 10, "10,no,closed");
  write("data.csv", changed);
  EXPECT_NE(load().value().identity.public_records, before.public_records);
}

TEST_F(PublicRecordsTest, AreThoseOfAFileOfTheirOwn) {
  write("data.csv", "age,sick\n10,no\n20,no\n30,yes\n40,no\n");
  write("open.csv", "age,sick\n55,yes\n65,no\n75,no\n");
  config_.declared_public = folder_.path() / "open.csv";
  const LoadedDataset loaded = load().value();
  EXPECT_EQ(loaded.dataset.public_records.count(), 3);
  EXPECT_EQ(loaded.dataset.training.count() + loaded.dataset.holdout.count(), 4);
  const Digest before = loaded.identity.public_records;
  write("open.csv", "age,sick\n55,yes\n65,no\n76,no\n");
  EXPECT_NE(load().value().identity.public_records, before);
  config_.declared_public = folder_.path() / "missing.csv";
  EXPECT_FALSE(load());
}

TEST_F(PublicRecordsTest, AreSettledBeforeAnyValueIsLookedAt) {
  write("data.csv", kMarked);
  config_.declared_public = data::RowMark{"age", "10"};  // a feature
  const Result<LoadedDataset> by_value = load();
  ASSERT_FALSE(by_value);
  EXPECT_NE(by_value.error().message.find("no feature and no label"), std::string::npos) << by_value.error().message;
  config_.declared_public = data::RowMark{"sick", "no"};  // the label
  EXPECT_FALSE(load());
  config_.declared_public = data::RowMark{"consented", "open"};  // no column
  EXPECT_FALSE(load());
  config_.declared_public = data::RowMark{"consent", "nobody's"};  // no record: a slip of the pen
  EXPECT_FALSE(load());
  write("data.csv", "age,sick,consent,consent\n10,no,open,closed\n20,no,closed,open\n");
  config_.declared_public = data::RowMark{"consent", "open"};
  EXPECT_FALSE(load());
}

TEST_F(PublicRecordsTest, AreNeverTheDataSetsOwnFileNorACopy) {
  const std::string text = "age,sick\n10,no\n20,no\n30,yes\n40,no\n";
  write("data.csv", text);
  write("copy.csv", text);
  std::filesystem::create_hard_link(file_of(config_.source), folder_.path() / "linked.csv");
  for (const char* name : {"data.csv", "copy.csv", "linked.csv"}) {
    config_.declared_public = folder_.path() / name;
    const Result<LoadedDataset> loaded = load();
    ASSERT_FALSE(loaded) << name;
    EXPECT_NE(loaded.error().message.find("a copy of it"), std::string::npos);
  }
}

TEST_F(PublicRecordsTest, HowTheyWereDeclaredIsInTheDigestOfTheContent) {
  // The same public records by a mark and by a file: the others are divided anew, which the ledger has to know.
  write("data.csv", kMarked);
  write("open.csv", "age,sick,consent\n10,no,open\n30,yes,open\n");
  config_.declared_public = data::RowMark{"consent", "open"};
  const DatasetIdentity marked = load().value().identity;
  config_.declared_public = folder_.path() / "open.csv";
  const DatasetIdentity filed = load().value().identity;
  EXPECT_EQ(filed.public_records, marked.public_records);
  EXPECT_NE(filed.digest, marked.digest);
}

TEST_F(PublicRecordsTest, AreNoneWhereNoneWereDeclared) {
  write("data.csv", kMarked);
  const LoadedDataset loaded = load().value();
  EXPECT_EQ(loaded.dataset.public_records.count(), 0);
  EXPECT_EQ(loaded.identity.public_records, Digest{});
  EXPECT_EQ(loaded.dataset.training.count() + loaded.dataset.holdout.count(), 7);
}

}  // namespace
}  // namespace undertone::silo
