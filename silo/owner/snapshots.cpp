#include "silo/owner/snapshots.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <set>
#include <unistd.h>

#include "shared/base/byte_stream.hpp"
#include "shared/base/files.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/snapshot.hpp"

namespace undertone::silo {
namespace {

constexpr const char* kEnding = ".snapshot";
constexpr std::size_t kNameDigits = 16;  // of the digest, in a file's name

/// A file that is being written, its owner's alone, until it gets its name.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path)
      : path_(std::move(path)),
        descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  [[nodiscard]] bool open() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] Error failure() const {
    const ErrorCode code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::NoRoom : ErrorCode::StorageFailed;
    return {code, fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(errno))};
  }
  [[nodiscard]] Status write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t size = ::write(descriptor_, bytes.data(), bytes.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return failure();
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
    return {};
  }
  /// The file is on disk, whole, and then has its name.
  [[nodiscard]] Status keep_as(const std::filesystem::path& name) {
    if (::fsync(descriptor_) != 0) return failure();
    if (::rename(path_.c_str(), name.c_str()) != 0) return failure();
    ::close(descriptor_);
    descriptor_ = -1;
    return sync_file(name);
  }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

/// What of the table is kept. A column may be asked for twice, as a feature and as a sensitive one.
std::vector<std::string> wanted_columns(const DatasetConfig& config) {
  std::vector<std::string> out;
  const auto add = [&out](const std::string& name) {
    const bool there =
        std::any_of(out.begin(), out.end(), [&](const std::string& one) { return data::is_same_name(one, name); });
    if (!there) out.push_back(name);
  };
  for (const std::string& column : data::columns_of_file(config.schema)) add(column);
  if (const auto* mark = std::get_if<data::RowMark>(&config.declared_public)) add(mark->column);
  if (config.person) add(config.person->column);
  return out;
}

/// Puts a key in the place of every id, and hands all else on.
class IdsAsKeys final : public data::TableSink {
 public:
  IdsAsKeys(const DatasetConfig& config, const SigningKey& key, data::TableSink& next)
      : config_(&config), key_(&key), next_(&next) {}

  Status begin(const std::vector<std::string>& columns, std::int64_t rows_at_most) override {
    const std::optional<std::size_t> found = data::ColumnNames(columns).find(config_->person->column);
    // The column's name is the silo's own: errors are for its terminal, and yet do not say it.
    if (!found)
      return Error{ErrorCode::InvalidData,
                   "expected the column of persons' ids that the configuration names, by its name after the map"};
    person_ = *found;
    return next_->begin(columns, rows_at_most);
  }
  void cell(std::size_t column, std::span<char> text, data::TableProblems& problems) override {
    if (column != person_) return next_->cell(column, text, problems);
    const std::string_view id = data::id_in({text.data(), text.size()});
    if (id.empty()) {
      without_id(column, problems);
    } else {
      const data::PersonKey key = person_key(*key_, config_->name, id);
      data::loose_id(id, loose_);
      alike_[person_key(*key_, config_->name, loose_)].insert(key);
      explicit_bzero(loose_.data(), loose_.capacity());
      std::string hex = to_hex(std::string_view(reinterpret_cast<const char*>(key.data()), key.size()));
      next_->cell(column, hex, problems);
    }
    explicit_bzero(text.data(), text.size());
  }
  void missing(std::size_t column, data::TableProblems& problems) override {
    column == person_ ? without_id(column, problems) : next_->missing(column, problems);
  }
  void end_row(data::TableProblems& problems) override { next_->end_row(problems); }

  /// Counts persons whose ids nearly agree with another's.
  [[nodiscard]] std::int64_t near() const {
    std::int64_t out = 0;
    for (const auto& [loose, keys] : alike_) out += keys.size() > 1 ? static_cast<std::int64_t>(keys.size()) : 0;
    return out;
  }

 private:
  void without_id(std::size_t column, data::TableProblems& problems) {
    if (!config_->person->without_id_alone)
      return problems.add(fmt::format("column {}: expected a person's id, found none", column + 1), false);
    next_->missing(column, problems);
  }

  const DatasetConfig* config_;
  const SigningKey* key_;
  data::TableSink* next_;
  std::size_t person_ = 0;
  std::string loose_;
  std::map<data::PersonKey, std::set<data::PersonKey>> alike_;  // by the key of the loose id
};

data::NumberForm numbers_of(const Source& source) {
  const auto* csv = std::get_if<CsvSource>(&source);
  return csv != nullptr ? csv->dialect.numbers : data::NumberForm{};
}

}  // namespace

data::PersonKey person_key(const SigningKey& key, const std::string& dataset, std::string_view id) {
  ByteWriter before;  // a text with its length, so that no name runs into an id
  before.text(dataset);
  HmacSha256 hash = key.keyed_digest("persons:1");
  hash.update(before.bytes());
  hash.update(id);
  const Digest digest = hash.finish();
  data::PersonKey out{};
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

data::PersonKey frozen_person_key(std::string_view text) {
  data::PersonKey out{};
  const Result<std::string> bytes = from_hex(text);
  if (bytes && bytes->size() == out.size()) std::memcpy(out.data(), bytes->data(), out.size());
  return out;
}

Result<Frozen> freeze(const DatasetConfig& config, const SigningKey& key, const SourceProgress& progress) {
  UNDERTONE_CHECK(config.snapshots);
  UNDERTONE_TRY(make_folder_for(*config.snapshots / "a"));
  // One name: the ledger's lock lets nobody else write it, and what a crash left is written over.
  NewFile file(*config.snapshots / (config.name + kEnding + ".new"));
  if (!file.open()) return file.failure();
  HmacSha256 digest = key.keyed_digest("snapshot");
  data::SnapshotWriter writer(wanted_columns(config), numbers_of(config.source), [&](std::string_view bytes) {
    digest.update(bytes);
    return file.write(bytes);
  });
  Frozen out;
  const auto read_into = [&](data::TableSink& sink) {
    MappedTable mapped(config.map, numbers_of(config.source), sink);
    return read_source_into(config.source, progress, mapped);
  };
  if (config.person) {
    IdsAsKeys keys(config, key, writer);
    UNDERTONE_TRY(read_into(keys));
    out.near_ids = keys.near();
  } else {
    UNDERTONE_TRY(read_into(writer));
  }
  UNDERTONE_TRY(out.rows, writer.finish());
  out.file =
      *config.snapshots / fmt::format("{}.{}{}", config.name, to_hex(digest.finish()).substr(0, kNameDigits), kEnding);
  UNDERTONE_TRY(file.keep_as(out.file));
  return out;
}

std::vector<std::filesystem::path> snapshots_of(const DatasetConfig& config) {
  std::vector<std::filesystem::path> out;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(*config.snapshots, none)) {
    const std::string name = entry.path().filename();
    // No data set's name has a point in it, so that none begins like another's snapshot.
    if (name.starts_with(config.name + ".") && name.ends_with(kEnding)) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

void remove_other_snapshots(const DatasetConfig& config, const std::filesystem::path& served) {
  std::error_code ignored;
  for (const std::filesystem::path& one : snapshots_of(config))
    if (one != served) std::filesystem::remove(one, ignored);
}

}  // namespace undertone::silo
