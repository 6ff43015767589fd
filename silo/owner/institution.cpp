#include "silo/owner/institution.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <sodium.h>
#include <unistd.h>

#include "shared/base/byte_stream.hpp"
#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/data/csv_reader.hpp"
#include "shared/data/mapped_records.hpp"
#include "shared/data/snapshot.hpp"
#include "shared/jobs/derived_section.hpp"
#include "silo/owner/snapshots.hpp"

namespace undertone::silo {
namespace {

constexpr std::uint64_t kRowsMax = std::numeric_limits<std::uint32_t>::max();  // of a snapshot

Digest digest_of(const SigningKey& key, const char* what, const models::Records& records) {
  ByteWriter bytes;
  bytes.doubles(records.features.data(), static_cast<std::size_t>(records.features.size()));
  bytes.doubles(records.targets.data(), static_cast<std::size_t>(records.targets.size()));
  // What has no groups keeps the digest that it had.
  for (const std::int32_t group : records.groups) bytes.i64(group);
  return key.keyed_digest(what, bytes.bytes());
}

/// Which columns say which group a record is in, with their groups.
Digest sensitive_digest(const SigningKey& key, const data::Schema& schema) {
  ByteWriter bytes;
  const auto texts = [&bytes](const std::vector<std::string>& list) {
    bytes.u64(list.size());
    for (const std::string& text : list) bytes.text(text);
  };
  bytes.u64(schema.sensitive.size());
  for (const data::SensitiveColumn& column : schema.sensitive) {
    bytes.text(column.name);
    texts(column.categories);
    bytes.u64(column.merged.size());
    for (const std::vector<std::string>& together : column.merged) texts(together);
  }
  // Other rules under the same names make other groups. A schema without any keeps the digest that it had.
  std::vector<std::string> names;
  names.reserve(schema.sensitive.size());
  for (const data::SensitiveColumn& column : schema.sensitive) names.push_back(column.name);
  for (const data::DerivedColumn& column : data::derived_behind(schema, names))
    bytes.text(jobs::to_json(column).dump());
  return key.keyed_digest("sensitive columns:1", bytes.bytes());
}

/// Gives each record without an id a key of its own, of its content and its number among those of the same content. So
/// it keeps its place while others change, and which of several equal ones stands where is told to nobody: they are
/// equal.
void set_alone(const SigningKey& key, const std::string& dataset, data::TableRecords& read) {
  std::map<data::PersonKey, std::size_t> alike;
  for (const std::size_t record : read.alone) {
    data::PersonKey& own = read.persons[record];
    const std::size_t number = alike[own]++;
    const std::string content(reinterpret_cast<const char*>(own.data()), own.size());
    own = person_key(key, dataset, fmt::format("  {} {}", number, content));  // no content begins with two blanks
  }
}

/// Counts persons whose ids nearly agree with another's.
std::int64_t near_ids(const data::TableRecords& read) {
  std::vector<std::pair<data::PersonKey, data::PersonKey>> ids;
  for (std::size_t i = 0; i < read.near_ids.size(); ++i)
    if (read.near_ids[i] != data::PersonKey{}) ids.emplace_back(read.near_ids[i], read.persons[i]);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::int64_t out = 0;
  for (std::size_t from = 0, to = 0; from < ids.size(); from = to) {
    while (to < ids.size() && ids[to].first == ids[from].first) ++to;
    out += to - from > 1 ? static_cast<std::int64_t>(to - from) : 0;
  }
  return out;
}

/// Takes the records that the owner declared public out of what was read, or reads them from their own file.
/// @param in_source_order digest of all records as the source has them @return them
Result<models::Records> take_public(const DatasetConfig& config, const SigningKey& key, const Digest& in_source_order,
                                    data::TableRecords& read) {
  models::Records out;
  if (const auto* file = std::get_if<std::filesystem::path>(&config.declared_public)) {
    data::CsvOptions options;
    if (const auto* csv = std::get_if<CsvSource>(&config.source)) options.dialect = csv->dialect;
    UNDERTONE_TRY(data::TableRecords open, data::read_csv(*file, config.schema, options));
    if (digest_of(key, "records", open.records) == in_source_order) {
      return Error{ErrorCode::InvalidData,
                   fmt::format("{}: the file of public records is the data set itself, or a copy "
                               "of it: every record would leave as it is",
                               file->string())};
    }
    out = std::move(open.records);
  } else if (std::holds_alternative<data::RowMark>(config.declared_public)) {
    out = data::chosen(read.records, read.marked, true);
    read.records = data::chosen(read.records, read.marked, false);
    if (out.count() == 0 || read.records.count() == 0) {
      return Error{ErrorCode::InvalidData,
                   fmt::format("{}: expected some public and some other records, found {} and "
                               "{}",
                               file_of(config.source).string(), out.count(), read.records.count())};
    }
  }
  return out;
}

/// Whatever decides, beside the rows, which record is in which block, and what is not protected.
std::string split_rule(const DatasetConfig& config) {
  ByteWriter rule;
  rule.f64(config.split.holdout_fraction);
  rule.u64(config.split.seed);
  rule.i64(config.split.records_published.value_or(-1));
  rule.u64(config.holdout_public ? 1 : 0);
  if (const auto* mark = std::get_if<data::RowMark>(&config.declared_public)) {
    rule.text(mark->column);
    rule.text(mark->value);
  } else if (std::holds_alternative<std::filesystem::path>(config.declared_public)) {
    rule.text("a file of public records");
  }
  if (config.person) {  // with the bytes of the file, this says which record is whose
    rule.text("persons");
    rule.text(config.person->column);
    if (config.person->without_id_alone) rule.text("alone");
  }
  return rule.bytes();
}

/// The digest of a table's bytes and of how it is split, as a ledger keeps it.
class ContentDigest {
 public:
  /// @param size of the table's file
  ContentDigest(const SigningKey& key, std::uint64_t size) : hash_(key.keyed_digest("data set")) {
    ByteWriter length;
    length.u64(size);
    hash_.update(length.bytes());
  }
  void update(std::string_view bytes) { hash_.update(bytes); }
  [[nodiscard]] Digest finish(const DatasetConfig& config) {
    hash_.update(split_rule(config));
    return hash_.finish();
  }

 private:
  HmacSha256 hash_;
};

/// What the data set's ledger holds of its content, as the newest entry about it says. Whoever serves the data set has
/// the ledger verified besides. @return zero where there is none
Digest recorded_content(const DatasetConfig& config) {
  Result<store::Database> database = store::Database::open_to_read(config.ledger);
  if (!database) return {};
  Result<store::Statement> newest = database->prepare(
      "SELECT json_extract(CAST(body AS TEXT), '$.digest') FROM entries "
      "WHERE json_extract(CAST(body AS TEXT), '$.kind') IN ('opened', 'amended') ORDER BY sequence DESC LIMIT 1");
  if (!newest) return {};
  const Result<bool> found = newest->step();
  if (!found || !*found) return {};
  const Result<Digest> digest = digest_from_hex(newest->bytes(0));
  return digest ? *digest : Digest{};
}

/// The digest of a snapshot, without looking at its rows.
Result<Digest> content_of(const std::filesystem::path& file, const DatasetConfig& config, const SigningKey& key) {
  std::error_code unknown;
  ContentDigest digest(key, std::filesystem::file_size(file, unknown));
  std::ifstream stream(file, std::ios::binary);
  std::string block(std::size_t{1} << 20U, '\0');
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) || stream.gcount() > 0)
    digest.update({block.data(), static_cast<std::size_t>(stream.gcount())});
  if (unknown || stream.bad()) return Error{ErrorCode::InvalidData, fmt::format("{}: cannot be read", file.string())};
  return digest.finish(config);
}

/// Keys of rows by what is in them: BLAKE2b with a key of this ledger and data set alone. It is many times as fast as a
/// MAC that is set up for every row.
class RowKeys {
 public:
  RowKeys(const SigningKey& key, const std::string& dataset) : key_(key.keyed_digest("rows:1", dataset)) {}
  [[nodiscard]] data::PersonKey of(std::string_view content) const {
    data::PersonKey out{};
    crypto_generichash(out.data(), out.size(), reinterpret_cast<const unsigned char*>(content.data()), content.size(),
                       key_.data(), key_.size());
    return out;
  }
  /// Of the second, third, ... row of one content. @param number from 1
  [[nodiscard]] data::PersonKey of_another(const data::PersonKey& content, std::uint64_t number) const {
    ByteWriter bytes;
    bytes.text({reinterpret_cast<const char*>(content.data()), content.size()});
    bytes.u64(number);
    return of(bytes.bytes());
  }

 private:
  Digest key_;
};

/// Rows of a snapshot stand by a keyed hash of what is in them and of their number among those of the same content. So
/// the order in which a database gives its rows, which may hang on their values, decides nothing: if one record is
/// replaced by another, all others can keep their places; nor does a person's own rows' order hang on others' rows.
/// Which of several equal ones stands where is told to nobody: they are equal.
/// @param contents of each row the key of what is in it @return the rows in that order
std::vector<std::uint32_t> arranged(std::vector<data::PersonKey> contents, const RowKeys& keys) {
  UNDERTONE_CHECK(contents.size() <= kRowsMax);
  std::vector<std::pair<data::PersonKey, std::uint32_t>> rows;  // side by side: they are compared again and again
  rows.reserve(contents.size());
  for (const data::PersonKey& content : contents) rows.emplace_back(content, static_cast<std::uint32_t>(rows.size()));
  contents = {};  // of many rows it is much
  std::sort(rows.begin(), rows.end());
  bool alike = false;
  for (std::size_t first = 0, to = 0; first < rows.size(); first = to) {
    for (to = first + 1; to < rows.size() && rows[to].first == rows[first].first; ++to) {
      rows[to].first = keys.of_another(rows[first].first, to - first);
      alike = true;
    }
  }
  if (alike) std::sort(rows.begin(), rows.end());
  std::vector<std::uint32_t> order;
  order.reserve(rows.size());
  for (const auto& [key, row] : rows) order.push_back(row);
  return order;
}

/// Puts the rows of what was read into that order.
void arrange(data::TableRecords& read, const RowKeys& keys) {
  const std::vector<std::uint32_t> rows = arranged(std::move(read.contents), keys);
  const std::vector<std::size_t> order(rows.begin(), rows.end());
  read.records = data::in_order(read.records, order);
  std::vector<bool> marked;
  if (!read.marked.empty())
    for (const std::size_t row : order) marked.push_back(read.marked[row]);
  read.marked = std::move(marked);
  std::vector<data::PersonKey> persons;
  if (!read.persons.empty())
    for (const std::size_t row : order) persons.push_back(read.persons[row]);
  read.persons = std::move(persons);
}

}  // namespace

Progress progress_line() {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  return [](std::uint64_t bytes, std::uint64_t of, std::int64_t records) {
    const auto percent = static_cast<int>(100.0 * static_cast<double>(bytes) / static_cast<double>(of));
    fmt::print(stderr, "\rreading {:3} %  {} records", percent, records);
    if (bytes + (std::uint64_t{16} << 20U) >= of) fmt::print(stderr, "\r{:40}\r", "");
    std::fflush(stderr);
  };
}

Result<std::filesystem::path> served_table(const DatasetConfig& config, const SigningKey& key) {
  if (!config.snapshots) return file_of(config.source);
  const std::vector<std::filesystem::path> all = snapshots_of(config);
  if (all.size() == 1) return all.front();
  if (all.empty())
    return Error{
        ErrorCode::DatasetChanged,
        fmt::format("{}: the data set \"{}\" has no snapshot: `undertone-silo dataset amend` takes one of what "
                    "its source holds now, or restore the file that was there",
                    config.snapshots->string(), config.name)};
  // An amendment was interrupted: the ledger says whether it took place.
  const Digest recorded = recorded_content(config);
  for (const std::filesystem::path& one : all) {
    UNDERTONE_TRY(const Digest content, content_of(one, config, key));
    if (content == recorded) return one;
  }
  return Error{ErrorCode::DatasetChanged,
               fmt::format("{}: none of the {} snapshots of the data set \"{}\" is what its ledger stands for",
                           config.snapshots->string(), all.size(), config.name)};
}

Result<LoadedDataset> load_dataset(const DatasetConfig& config, const SigningKey& key, const Progress& progress) {
  UNDERTONE_TRY(const std::filesystem::path table, served_table(config, key));
  return load_table(config, table, key, progress);
}

namespace {

/// Whether records are made of the snapshot when they are read: where they are too many for the memory. Persons' rows
/// and records that are declared public stand in memory always.
bool is_served_mapped(const DatasetConfig& config, std::uint64_t rows) {
  const std::uint64_t bytes_a_record = (data::encoded_width(config.schema) + 1) * sizeof(double);
  return !config.person && std::holds_alternative<std::monostate>(config.declared_public) &&
         rows > config.memory_max / bytes_a_record;
}

/// The data set of a mapped snapshot: the very records at the very positions that it has where all are in memory.
Result<LoadedDataset> of_mapped(const DatasetConfig& config, const SigningKey& key,
                                const std::shared_ptr<const data::MappedTable>& mapped, data::TableRecords& read,
                                const RowKeys& keys, const Digest& content, const std::filesystem::path& table) {
  const std::vector<std::uint32_t> rows = arranged(std::move(read.contents), keys);
  const Result<data::SplitOrder> order = data::split_order(rows.size(), config.split);
  if (!order) return Error{order.error().code, fmt::format("{}: {}", table.string(), order.error().message)};
  const auto block = [&](std::size_t from, std::size_t to) {
    std::vector<std::uint32_t> own;
    own.reserve(to - from);
    for (std::size_t i = from; i < to; ++i) own.push_back(rows[order->records[i]]);
    return std::make_shared<const data::MappedRecords>(mapped, std::move(own));
  };
  LoadedDataset out{{}, {config.name, content, {}, {}, config.unit()}, std::move(read.columns)};
  out.dataset.training_source = block(order->holdout, order->used);
  out.dataset.holdout_source = block(0, order->holdout);
  if (config.attribute_alone) out.identity.persons = sensitive_digest(key, config.schema);
  if (config.holdout_public) {
    const data::BlockReader holdout = out.dataset.read(releases::Block::Holdout);
    std::vector<std::int64_t> everybody(static_cast<std::size_t>(holdout.count()));
    std::iota(everybody.begin(), everybody.end(), std::int64_t{0});
    models::Records records;
    out.dataset.holdout_source->make(everybody, records);
    out.identity.public_holdout = digest_of(key, "public holdout", records);
  }
  return out;
}

}  // namespace

Result<LoadedDataset> load_table(const DatasetConfig& config, const std::filesystem::path& table, const SigningKey& key,
                                 const Progress& progress) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(table, error);
  if (error)
    return Error{ErrorCode::InvalidData, fmt::format("{}: cannot be read: {}", table.string(), error.message())};
  ContentDigest content(key, size);
  std::uintmax_t seen = 0;
  const auto bytes = [&](std::string_view block) {
    seen += block.size();
    content.update(block);
  };
  const RowKeys rows(key, config.name);
  data::CsvOptions options;
  options.bytes = bytes;
  options.progress = progress;
  if (const auto* mark = std::get_if<data::RowMark>(&config.declared_public)) options.mark = *mark;
  if (config.person) {
    options.person = *config.person;
    if (config.snapshots) options.person->looks_for_near_ids = false;  // it has no ids: who took it counted them
    options.person->key = [&](std::string_view id) {
      // No id begins with a blank: such a text is the content of a record without one.
      return config.snapshots && !id.starts_with(' ') ? frozen_person_key(id) : person_key(key, config.name, id);
    };
  }
  if (config.snapshots) options.content_key = [&rows](std::string_view row) { return rows.of(row); };
  std::shared_ptr<const data::MappedTable> mapped;
  Result<data::TableRecords> read = [&]() -> Result<data::TableRecords> {
    if (!config.snapshots) {
      options.dialect = std::get<CsvSource>(config.source).dialect;
      return data::read_csv(table, config.schema, options);
    }
    UNDERTONE_TRY(const data::SnapshotFacts facts, data::facts_of_snapshot(table));
    options.numbers = facts.numbers;
    if (facts.rows > kRowsMax)
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("{}: has {} rows, expected at most {}", table.string(), facts.rows, kRowsMax)};
    if (is_served_mapped(config, facts.rows)) {
      data::TableRecords gathered;
      UNDERTONE_TRY(mapped, data::MappedTable::read(table, config.schema, options, bytes, gathered));
      return gathered;
    }
    data::RecordGatherer gatherer(config.schema, options);
    UNDERTONE_TRY(data::read_snapshot_into(table, bytes, gatherer));
    return gatherer.take();
  }();
  if (!read) return read.error();
  if (seen != size) return Error{ErrorCode::InvalidData, fmt::format("{}: changed while it was read", table.string())};
  const std::int64_t near = near_ids(*read);
  const auto without_id = static_cast<std::int64_t>(config.person ? read->alone.size() : 0);
  const bool declares_file = std::holds_alternative<std::filesystem::path>(config.declared_public);
  const Digest in_source_order = declares_file ? digest_of(key, "records", read->records) : Digest{};
  if (mapped) return of_mapped(config, key, mapped, *read, rows, content.finish(config), table);
  set_alone(key, config.name, *read);
  if (config.snapshots) arrange(*read, rows);
  UNDERTONE_TRY(models::Records declared, take_public(config, key, in_source_order, *read));
  Result<data::Dataset> dataset = config.person ? data::split_persons(read->records, read->persons, config.split)
                                                : data::split(read->records, config.split);
  if (!dataset) return Error{dataset.error().code, fmt::format("{}: {}", table.string(), dataset.error().message)};
  DatasetIdentity identity{config.name, content.finish(config), {}, {}, config.unit()};
  if (config.person) {
    HmacSha256 column = key.keyed_digest("person column");
    column.update(config.person->column);
    identity.persons = column.finish();
  }
  // Which attribute is protected, and in which groups: another one is another unit.
  if (config.attribute_alone) identity.persons = sensitive_digest(key, config.schema);
  if (config.holdout_public) identity.public_holdout = digest_of(key, "public holdout", dataset->holdout);
  if (declared.count() > 0) identity.public_records = digest_of(key, "public records", declared);
  dataset->public_records = std::move(declared);
  return LoadedDataset{*std::move(dataset), std::move(identity), std::move(read->columns), near, without_id};
}

Error of_ledger(Error error) {
  if (error.code == ErrorCode::InvalidData) error.code = ErrorCode::LedgerCorrupt;
  return error;
}

std::filesystem::path place_file(const DatasetConfig& config) { return config.ledger.string() + ".place"; }

namespace {

/// A file by its folder, which is there whether or not the file is.
std::string resolved(const std::filesystem::path& file) {
  std::error_code unresolved;
  const std::filesystem::path whole = std::filesystem::absolute(file, unresolved);
  return (std::filesystem::weakly_canonical(whole.parent_path(), unresolved) / whole.filename()).string();
}

/// The ledger's file and its head's, a line each.
std::string place_of(const DatasetConfig& config) {
  return resolved(config.ledger) + "\n" + resolved(config.ledger_head) + "\n";
}

/// Where the ledger was served last; empty where nobody knows.
Result<std::vector<std::string>> known_place(const DatasetConfig& config) {
  constexpr std::size_t kPlaceBytesMax = 1U << 16U;
  const std::filesystem::path file = place_file(config);
  std::vector<std::string> out;
  if (!std::filesystem::exists(file) || !ledger_has_begun(config)) return out;
  UNDERTONE_TRY(const std::string text, read_file(file, kPlaceBytesMax));
  for (std::size_t from = 0, to = 0; (to = text.find('\n', from)) != std::string::npos; from = to + 1)
    out.push_back(text.substr(from, to - from));
  return out;
}

/// @pre the ledger is locked
Status check_place(const DatasetConfig& config) {
  const std::string here = place_of(config);
  UNDERTONE_TRY(const std::vector<std::string> known, known_place(config));
  if (known.size() != 2) return write_file_atomically(place_file(config), here);
  if (known[0] + "\n" + known[1] + "\n" == here) return {};
  return Error{
      ErrorCode::LedgerRolledBack,
      fmt::format("{}: this ledger belongs to {}, with its head {}, and you open it at another place. A copy of a "
                  "ledger would spend its budget a second time. If you moved it, and nothing is left where it was, "
                  "say so: `undertone-silo dataset moved {}`",
                  config.ledger.string(), plain_text(known[0]), plain_text(known[1]), config.name)};
}

}  // namespace

Status move_ledger(const DatasetConfig& config) {
  UNDERTONE_TRY(const FileLock lock, FileLock::acquire(config.ledger.string() + ".lock"));
  UNDERTONE_TRY(const std::vector<std::string> known, known_place(config));
  const std::vector<std::string> here = {resolved(config.ledger), resolved(config.ledger_head)};
  for (std::size_t i = 0; i < known.size() && i < here.size(); ++i) {
    if (known[i] != here[i] && std::filesystem::exists(known[i]))
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("{} is still there: a ledger that was moved leaves nothing behind. Take it away first, and see "
                      "that no agent serves it",
                      plain_text(known[i]))};
  }
  return write_file_atomically(place_file(config), place_of(config));
}

Result<LedgerFiles> open_ledger_files(const DatasetConfig& config) {
  for (const std::filesystem::path& file : {config.ledger, config.ledger_head, config.ledger_key}) {
    UNDERTONE_TRY(make_folder_for(file));
  }
  UNDERTONE_TRY(FileLock lock, FileLock::acquire(config.ledger.string() + ".lock"));
  UNDERTONE_TRY(FileLock head_lock, FileLock::acquire(config.ledger_head.string() + ".lock"));
  UNDERTONE_TRY(check_place(config));
  if (!std::filesystem::exists(config.ledger_key) && std::filesystem::exists(config.ledger)) {
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: the key of an existing ledger is missing", config.ledger_key.string())};
  }
  UNDERTONE_TRY(SigningKey key, SigningKey::load_or_create(config.ledger_key));
  Result<store::Database> database = store::Database::open(config.ledger, store::Database::Sync::Full);
  if (!database) return of_ledger(database.error());
  UNDERTONE_TRY(FileLock file_lock, FileLock::hold(config.ledger));
  return LedgerFiles{std::move(lock), std::move(head_lock), std::move(file_lock),
                     std::move(key),  *std::move(database), std::make_unique<FileHeadStore>(config.ledger_head)};
}

bool ledger_has_begun(const DatasetConfig& config) {
  if (std::filesystem::exists(config.ledger_head)) return true;  // it has, even if its file is gone
  if (!std::filesystem::exists(config.ledger)) return false;
  Result<store::Database> database = store::Database::open_to_read(config.ledger);
  if (!database) return true;
  Result<store::Statement> table = database->prepare("SELECT 1 FROM sqlite_master");
  if (!table) return true;
  const Result<bool> found = table->step();
  return !found || *found;
}

Result<LedgerView> view_ledger(const DatasetConfig& config, const Policy& policy, crypto::NoiseKind noise) {
  const Error none{ErrorCode::InvalidConfig,
                   fmt::format("{}: the data set \"{}\" has no ledger yet; `undertone-silo dataset add` or the first "
                               "`run` begins one",
                               config.ledger.string(), config.name)};
  if (!ledger_has_begun(config)) return none;
  for (const std::filesystem::path& file : {config.ledger, config.ledger_key}) {
    if (std::filesystem::exists(file)) continue;
    return Error{
        ErrorCode::LedgerRolledBack,
        fmt::format("{}: is missing, but the data set \"{}\" has a ledger: {} is there. Restore it; without its "
                    "ledger a data set's whole budget counts as spent",
                    file.string(), config.name, (file == config.ledger ? config.ledger_head : config.ledger).string())};
  }
  UNDERTONE_TRY(SigningKey key, SigningKey::load_or_create(config.ledger_key));
  Result<store::Database> database = store::Database::open_to_read(config.ledger);
  if (!database) return of_ledger(database.error());
  LedgerView view;
  view.key = std::make_unique<SigningKey>(std::move(key));
  view.database = std::make_unique<store::Database>(*std::move(database));
  view.head = std::make_unique<FileHeadStore>(config.ledger_head);
  Result<Ledger> ledger = Ledger::inspect(*view.database, *view.head, *view.key, policy.total, noise);
  if (!ledger)
    return of_ledger({ledger.error().code, fmt::format("{}: {}", config.ledger.string(), ledger.error().message)});
  view.ledger = std::make_unique<Ledger>(*std::move(ledger));
  return view;
}

Result<DeskFile> open_desk(const SiloConfig& config) {
  UNDERTONE_TRY(make_folder_for(config.desk));
  UNDERTONE_TRY(store::Database database, store::Database::open(config.desk, store::Database::Sync::Full));
  DeskFile file;
  file.database = std::make_unique<store::Database>(std::move(database));
  Result<Desk> desk = Desk::open(*file.database);
  if (!desk) return Error{desk.error().code, fmt::format("{}: {}", config.desk.string(), desk.error().message)};
  file.desk = std::make_unique<Desk>(*std::move(desk));
  return file;
}

}  // namespace undertone::silo
