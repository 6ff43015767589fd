#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "shared/base/file_lock.hpp"
#include "shared/data/record_gatherer.hpp"
#include "silo/approvals/desk.hpp"
#include "silo/ledger/ledger.hpp"
#include "silo/owner/silo_config.hpp"

namespace undertone::silo {

/// A data set, in memory or mapped, with the identity that its ledger knows it by.
struct LoadedDataset {
  data::Dataset dataset;
  DatasetIdentity identity;
  std::vector<data::ColumnFacts> columns;  // for the administrator's terminal alone
  /// These count the persons whose ids agree with another's but for case, zeros at the beginning or blanks within, and
  /// the records without an id. Both are for the owner's terminal alone. The first is 0 where nobody looked.
  std::int64_t near_ids = 0;
  std::int64_t without_id = 0;
};

using Progress = SourceProgress;

/// The file that is served: the source itself, or the snapshot that the ledger stands for.
/// @param key of the ledger
[[nodiscard]] Result<std::filesystem::path> served_table(const DatasetConfig& config, const SigningKey& key);

/// Reads, scales and splits a data set. @param key of its ledger, for the digest of its content
[[nodiscard]] Result<LoadedDataset> load_dataset(const DatasetConfig& config, const SigningKey& key,
                                                 const Progress& progress);
/// The same of another table than the served one. @param table its file, or a snapshot of it
[[nodiscard]] Result<LoadedDataset> load_table(const DatasetConfig& config, const std::filesystem::path& table,
                                               const SigningKey& key, const Progress& progress);

/// A progress line on a terminal's standard error; nothing where there is no terminal.
[[nodiscard]] Progress progress_line();

/// Everything that writing to a data set's ledger needs: its lock, key and file.
struct LedgerFiles {
  FileLock lock;       // of the ledger's name
  FileLock head_lock;  // of its head's: a head is of one ledger
  FileLock file_lock;  // of the database itself, by whatever name another process finds it
  SigningKey key;
  store::Database database;
  std::unique_ptr<FileHeadStore> head;
};

/// An error about a ledger's file: one that is no database, or has damaged pages, does not verify. No restart mends it.
[[nodiscard]] Error of_ledger(Error error);

/// Makes folders, key and file where they are missing. @return an error where another process holds the ledger
[[nodiscard]] Result<LedgerFiles> open_ledger_files(const DatasetConfig& config);

/// Where the files of a ledger are, beside it: a copy of the folder that is opened at another path is noticed, since
/// its budget is already the first one's to spend. What has the same paths on another machine is not.
[[nodiscard]] std::filesystem::path place_file(const DatasetConfig& config);
/// Says that the ledger was moved to where the configuration has it. @return an error while its files are still seen
/// where they were
[[nodiscard]] Status move_ledger(const DatasetConfig& config);

/// A ledger as it is on disk, read beside a running agent.
struct LedgerView {
  std::unique_ptr<SigningKey> key;
  std::unique_ptr<store::Database> database;
  std::unique_ptr<FileHeadStore> head;
  std::unique_ptr<Ledger> ledger;
};
/// Whether there is a ledger, or one that is broken: a file without tables and without a head outside has kept nothing,
/// its first opening died.
[[nodiscard]] bool ledger_has_begun(const DatasetConfig& config);

[[nodiscard]] Result<LedgerView> view_ledger(const DatasetConfig& config, const Policy& policy,
                                             crypto::NoiseKind noise);

/// The owner's decisions, and the file they are in.
struct DeskFile {
  std::unique_ptr<store::Database> database;
  std::unique_ptr<Desk> desk;
};
[[nodiscard]] Result<DeskFile> open_desk(const SiloConfig& config);

}  // namespace undertone::silo
