#include "silo/owner/snapshots.hpp"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "shared/base/files.hpp"
#include "shared/store/sqlite.hpp"
#include "silo/owner/institution.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::silo {
namespace {

constexpr const char* kRows =
    "id,age,sick\na,10,no\nb,20,no\na,30,yes\nc,40,no\nd,50,yes\ne,60,no\nf,70,no\nb,80,yes\n";

class SnapshotsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.name = "heart";
    config_.source = CsvSource{folder_.path() / "data.csv"};
    config_.snapshots = folder_.path() / "snapshots";
    config_.ledger = folder_.path() / "ledger" / "heart.sqlite";
    config_.ledger_head = folder_.path() / "head" / "heart.json";
    config_.ledger_key = folder_.path() / "ledger" / "key.pem";
    config_.schema.label = data::BinaryLabel{"sick", "no", "yes"};
    config_.schema.features.emplace_back(
        data::NumericColumn{.name = "age", .min = 0.0, .max = 100.0, .missing = {}, .date = {}});
    config_.split = {0.25, 0, std::nullopt};
    write(kRows);
  }
  void write(const std::string& text) {
    ASSERT_TRUE(write_file_atomically(std::get<CsvSource>(config_.source).file, text));
  }
  /// The data set as a snapshot of it has it.
  LoadedDataset frozen() {
    const Frozen taken = freeze(config_, key_, nullptr).value();
    return load_table(config_, taken.file, key_, nullptr).value();
  }
  LoadedDataset of_file() {
    DatasetConfig direct = config_;
    direct.snapshots.reset();
    return load_dataset(direct, key_, nullptr).value();
  }
  /// Of each person, in their order, the ages of her rows in any order.
  static std::vector<std::multiset<double>> ages_by_person(const models::Records& block) {
    const std::vector<double> all = ages(block);
    std::vector<std::multiset<double>> out;
    for (std::size_t person = 0; person + 1 < block.starts.size(); ++person)
      out.emplace_back(all.begin() + block.starts[person], all.begin() + block.starts[person + 1]);
    return out;
  }
  static std::vector<double> ages(const models::Records& block) {
    std::vector<double> out;
    for (Eigen::Index row = 0; row < block.rows(); ++row) out.push_back(50.0 + 50.0 * block.features(0, row));
    return out;
  }

  tests::TemporaryFolder folder_;
  SigningKey key_ = SigningKey::from_seed(std::string(32, 'k')).value();
  DatasetConfig config_;
};

TEST_F(SnapshotsTest, PersonsAreThoseOfTheFileToTheBit) {
  for (const bool alone : {false, true}) {
    config_.person = data::PersonColumn{.column = "id", .without_id_alone = alone};
    if (alone) write(std::string(kRows) + ",85,no\n,90,yes\n");
    const LoadedDataset direct = of_file();
    const LoadedDataset from = frozen();
    EXPECT_EQ(from.dataset.training.count() + from.dataset.holdout.count(), alone ? 8 : 6);
    EXPECT_EQ(from.without_id, direct.without_id);
    EXPECT_EQ(from.identity.persons, direct.identity.persons);
    if (alone) continue;  // a record without an id is placed by what is kept of it
    EXPECT_EQ(from.dataset.training.starts, direct.dataset.training.starts);
    EXPECT_EQ(ages_by_person(from.dataset.training), ages_by_person(direct.dataset.training));
    EXPECT_EQ(ages_by_person(from.dataset.holdout), ages_by_person(direct.dataset.holdout));
  }
}

TEST_F(SnapshotsTest, NoIdIsInTheFileAndNearOnesAreCountedWhenItIsMade) {
  config_.person = data::PersonColumn{.column = "id"};
  write("id,age,sick\nMRN-0007,10,no\nmrn-0007,20,no\nMRN-8,30,yes\n");
  const Frozen taken = freeze(config_, key_, nullptr).value();
  EXPECT_EQ(taken.near_ids, 2);
  EXPECT_EQ(taken.rows, 3);
  const std::string bytes = read_file(taken.file, 1U << 20U).value();
  EXPECT_EQ(bytes.find("MRN"), std::string::npos);
  EXPECT_EQ(bytes.find("mrn"), std::string::npos);
  EXPECT_EQ(std::filesystem::status(taken.file).permissions(), std::filesystem::perms(0600));
  write("id,age,sick\n,10,no\n");
  EXPECT_NE(freeze(config_, key_, nullptr).error().message.find("data.csv:2: column 1: expected a person's id"),
            std::string::npos);
  EXPECT_EQ(snapshots_of(config_), std::vector{taken.file});  // nothing is left of the one that was refused
}

/// A block's records, wherever they are, in the order of their positions.
models::Records records_of(const data::Dataset& dataset, releases::Block block) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(dataset.count(block)));
  std::iota(positions.begin(), positions.end(), std::int64_t{0});
  models::Records out{Eigen::MatrixXd(dataset.read(block).features(), dataset.count(block)),
                      Eigen::VectorXd(dataset.count(block))};
  dataset.read(block).read(positions, [&](const data::BlockReader::Part& part) {
    for (std::size_t i = 0; i < part.positions.size(); ++i) {
      out.features.col(static_cast<Eigen::Index>(part.from + i)) = part.records.features.col(part.positions[i]);
      out.targets[static_cast<Eigen::Index>(part.from + i)] = part.records.targets[part.positions[i]];
    }
  });
  return out;
}

/// What is too large for the memory is the same data set: no ledger and no answer notices.
TEST_F(SnapshotsTest, AMappedOneIsTheSameDataSet) {
  std::string rows = "age,sick\n";
  for (int i = 0; i < 300; ++i) rows += fmt::format("{},{}\n", i % 97, i % 3 == 0 ? "yes" : "no");  // some are alike
  write(rows);
  for (const bool open : {false, true}) {
    config_.holdout_public = open;
    config_.split.records_published = 290;
    config_.memory_max = std::uint64_t{1} << 30U;
    const LoadedDataset whole = frozen();
    config_.memory_max = 0;
    const LoadedDataset mapped = frozen();
    EXPECT_FALSE(whole.dataset.training_source);
    ASSERT_TRUE(mapped.dataset.training_source);
    EXPECT_EQ(mapped.dataset.training.rows(), 0);
    EXPECT_EQ(mapped.identity.digest, whole.identity.digest);
    EXPECT_EQ(mapped.identity.public_holdout, whole.identity.public_holdout);
    EXPECT_EQ(mapped.dataset.rows(), 290);
    for (const releases::Block block : {releases::Block::Training, releases::Block::Holdout}) {
      EXPECT_EQ(records_of(mapped.dataset, block).features, records_of(whole.dataset, block).features);
      EXPECT_EQ(records_of(mapped.dataset, block).targets, records_of(whole.dataset, block).targets);
    }
    config_.split.records_published = 301;
    EXPECT_NE(load_table(config_, snapshots_of(config_).front(), key_, nullptr).error().message.find("301"),
              std::string::npos);
  }
  // Persons and marked records stand in memory, whatever is allowed.
  config_.split.records_published.reset();
  config_.person = data::PersonColumn{.column = "id"};
  write(kRows);
  EXPECT_FALSE(frozen().dataset.training_source);
}

/// A database may give its rows in an order that hangs on their values. If it decided who is in the holdout, one record
/// that is replaced would move others.
TEST_F(SnapshotsTest, TheOrderOfRowsDecidesNothing) {
  std::vector<std::string> rows;
  for (int i = 0; i < 80; ++i) rows.push_back(fmt::format("x,{},no\n", i));
  const auto text = [](const std::vector<std::string>& all) {
    std::string out = "id,age,sick\n";
    for (const std::string& row : all) out += row;
    return out;
  };
  write(text(rows));
  const LoadedDataset before = frozen();
  std::reverse(rows.begin(), rows.end());
  write(text(rows));
  const LoadedDataset reversed = frozen();
  EXPECT_EQ(ages(reversed.dataset.training), ages(before.dataset.training));
  EXPECT_EQ(ages(reversed.dataset.holdout), ages(before.dataset.holdout));
  const std::vector<double> held = ages(before.dataset.holdout);
  EXPECT_FALSE(std::is_sorted(held.begin(), held.end()));
  // The same rows, several times each, are as many records.
  const std::vector<std::string> once = rows;
  rows.insert(rows.end(), once.begin(), once.end());
  write(text(rows));
  const LoadedDataset twice = frozen();
  EXPECT_EQ(twice.dataset.training.count() + twice.dataset.holdout.count(), 160);
}

TEST_F(SnapshotsTest, WhatIsServedStaysWhateverTheSourceBecomes) {
  LedgerFiles files = open_ledger_files(config_).value();
  const LoadedDataset before =
      load_table(config_, freeze(config_, files.key, nullptr)->file, files.key, nullptr).value();
  write("id,age,sick\nz,99,yes\n");
  EXPECT_EQ(load_dataset(config_, files.key, nullptr)->identity.digest, before.identity.digest);
  std::filesystem::remove(file_of(config_.source));
  EXPECT_EQ(load_dataset(config_, files.key, nullptr)->identity.digest, before.identity.digest);
}

/// A copy of a ledger would spend the same records' budget a second time.
TEST_F(SnapshotsTest, ALedgerThatIsOpenedAtAnotherPlaceIsRefusedUntilItsOwnerSaysThatItWasMoved) {
  const Budget budget{*releases::EpsilonAmount::rounded_down(4.0), *releases::DeltaAmount::rounded_down(1e-4)};
  const auto clock = [] { return std::int64_t{1'763'716'143}; };
  {
    LedgerFiles files = open_ledger_files(config_).value();
    const LoadedDataset loaded =
        load_table(config_, freeze(config_, files.key, nullptr)->file, files.key, nullptr).value();
    ASSERT_TRUE(Ledger::open(files.database, *files.head, files.key, loaded.identity, budget, crypto::NoiseKind::Secure,
                             clock));
  }
  EXPECT_TRUE(open_ledger_files(config_));
  // Everything is copied, as somebody does who wants a second silo like the first.
  DatasetConfig copy = config_;
  std::filesystem::copy(folder_.path() / "ledger", folder_.path() / "copy");
  copy.ledger = folder_.path() / "copy" / "heart.sqlite";
  copy.ledger_key = folder_.path() / "copy" / "key.pem";
  const auto refused = [](const DatasetConfig& config) {
    const Result<LedgerFiles> files = open_ledger_files(config);
    return !files && files.error().code == ErrorCode::LedgerRolledBack &&
           files.error().message.find("dataset moved heart") != std::string::npos;
  };
  EXPECT_TRUE(refused(copy));
  DatasetConfig other_head = config_;
  other_head.ledger_head = folder_.path() / "copy" / "heart.json";
  std::filesystem::copy(config_.ledger_head, other_head.ledger_head);
  EXPECT_TRUE(refused(other_head));
  EXPECT_TRUE(open_ledger_files(config_)) << "the first one is served as before";
  EXPECT_FALSE(move_ledger(copy)) << "what was moved leaves nothing behind";
  // By another name of the same place it is the same ledger.
  std::filesystem::create_directory_symlink(folder_.path() / "ledger", folder_.path() / "link");
  DatasetConfig linked = config_;
  linked.ledger = folder_.path() / "link" / "heart.sqlite";
  EXPECT_TRUE(open_ledger_files(linked));
  // Moved in earnest.
  std::filesystem::rename(folder_.path() / "ledger", folder_.path() / "moved");
  DatasetConfig moved = config_;
  moved.ledger = folder_.path() / "moved" / "heart.sqlite";
  moved.ledger_key = folder_.path() / "moved" / "key.pem";
  EXPECT_TRUE(refused(moved));
  ASSERT_TRUE(move_ledger(moved));
  EXPECT_TRUE(open_ledger_files(moved));
}

/// A start from a folder's own path is no other place than the first start.
TEST_F(SnapshotsTest, ARelativePathIsOnePlaceBeforeAndAfterTheLedgerIsThere) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  DatasetConfig relative = config_;
  relative.ledger = "heart.sqlite";
  relative.ledger_head = "head.json";
  relative.ledger_key = "key.pem";
  EXPECT_TRUE(open_ledger_files(relative));
  EXPECT_TRUE(FileHeadStore("head.json").write("{}"));
  EXPECT_TRUE(open_ledger_files(relative));
  std::filesystem::current_path(before);
}

/// The agent or the machine dies in the middle of an amendment: what is served is what the ledger stands for, the old
/// data set or the new one.
TEST_F(SnapshotsTest, AnInterruptedAmendmentLeavesTheOldOrTheNew) {
  LedgerFiles files = open_ledger_files(config_).value();
  const Budget budget{*releases::EpsilonAmount::rounded_down(4.0), *releases::DeltaAmount::rounded_down(1e-4)};
  const auto clock = [] { return std::int64_t{1'763'716'143}; };
  const Frozen old = freeze(config_, files.key, nullptr).value();
  const LoadedDataset first = load_table(config_, old.file, files.key, nullptr).value();
  ASSERT_TRUE(
      Ledger::open(files.database, *files.head, files.key, first.identity, budget, crypto::NoiseKind::Secure, clock));
  // A file that was not whole yet is no snapshot.
  std::ofstream(*config_.snapshots / "heart.snapshot.new") << "half";
  EXPECT_EQ(served_table(config_, files.key).value(), old.file);
  write(std::string(kRows) + "g,90,yes\n");
  const Frozen fresh = freeze(config_, files.key, nullptr).value();
  ASSERT_EQ(snapshots_of(config_).size(), 2U);
  EXPECT_EQ(served_table(config_, files.key).value(), old.file);
  const LoadedDataset second = load_table(config_, fresh.file, files.key, nullptr).value();
  ASSERT_TRUE(
      Ledger::amend(files.database, *files.head, files.key, second.identity, crypto::NoiseKind::Secure, false, clock)
          .value());
  EXPECT_EQ(served_table(config_, files.key).value(), fresh.file);
  remove_other_snapshots(config_, fresh.file);
  EXPECT_EQ(snapshots_of(config_), std::vector{fresh.file});
  // Another data set's are none of this one's.
  DatasetConfig other = config_;
  other.name = "heart-2";
  EXPECT_TRUE(snapshots_of(other).empty());
  std::filesystem::remove(fresh.file);
  EXPECT_NE(served_table(config_, files.key).error().message.find("has no snapshot"), std::string::npos);
}

TEST_F(SnapshotsTest, PublicRecordsAreMarkedByTheSource) {
  write("id,age,sick,consent\na,10,no,open\nb,20,no,\nc,30,yes,open\nd,40,no,closed\ne,50,yes,\n");
  config_.declared_public = data::RowMark{"consent", "open"};
  const LoadedDataset loaded = frozen();
  EXPECT_EQ(loaded.dataset.public_records.count(), 2);
  const std::vector<double> open = ages(loaded.dataset.public_records);
  EXPECT_EQ(std::set<double>(open.begin(), open.end()), (std::set<double>{10.0, 30.0}));
  EXPECT_EQ(loaded.dataset.training.count() + loaded.dataset.holdout.count(), 3);
}

/// A person's rows come in an order that others' rows decide, a database's. Hers do not hang on it.
TEST_F(SnapshotsTest, APersonsRowsStandByWhatIsInThem) {
  config_.person = data::PersonColumn{.column = "id"};
  const LoadedDataset before = frozen();
  write("id,age,sick\nb,80,yes\nf,70,no\na,30,yes\ne,60,no\nd,50,yes\nc,40,no\nb,20,no\na,10,no\n");
  const LoadedDataset after = frozen();
  EXPECT_EQ(after.dataset.training.features, before.dataset.training.features);
  EXPECT_EQ(after.dataset.holdout.features, before.dataset.holdout.features);
}

TEST_F(SnapshotsTest, ACopyOfTheDataIsNotDeclaredPublic) {
  ASSERT_TRUE(write_file_atomically(folder_.path() / "copy.csv", std::string(kRows)));
  config_.declared_public = folder_.path() / "copy.csv";
  const Frozen taken = freeze(config_, key_, nullptr).value();
  const Result<LoadedDataset> refused = load_table(config_, taken.file, key_, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("is the data set itself, or a copy"), std::string::npos);
}

/// What a file means does not change on the way: a cell that is no number of it is refused, and a text that stands for
/// a missing value goes on doing so.
TEST_F(SnapshotsTest, NumbersMeanWhatTheyMeanInTheFile) {
  config_.source = CsvSource{folder_.path() / "data.csv", {';', {true}}};
  auto& age = std::get<data::NumericColumn>(config_.schema.features.front());
  age.missing = data::MissingRule{{"-9,0"}, 50.0, false};
  write("id;age;sick\na;1,5;no\nb;-9,0;yes\nc;12,25;no\nd;99;no\n");
  const LoadedDataset from = frozen();
  const LoadedDataset direct = of_file();
  const auto all = [](const LoadedDataset& loaded) {
    std::vector<double> out = ages(loaded.dataset.training);
    for (const double held : ages(loaded.dataset.holdout)) out.push_back(held);
    return std::multiset<double>(out.begin(), out.end());
  };
  EXPECT_EQ(all(from), all(direct));
  EXPECT_EQ(from.columns.front().missing, 1);
  write("id;age;sick\na;1.234;no\nb;2,5;yes\n");
  const Frozen taken = freeze(config_, key_, nullptr).value();
  EXPECT_NE(load_table(config_, taken.file, key_, nullptr).error().message.find("expected a finite number"),
            std::string::npos);
}

}  // namespace
}  // namespace undertone::silo
