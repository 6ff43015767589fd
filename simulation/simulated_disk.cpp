#include "simulation/simulated_disk.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <sqlite3.h>

#include "shared/base/result.hpp"

namespace undertone::simulation {
namespace {

constexpr std::size_t kSector = 512;

std::atomic<std::uint64_t> disks_made{0};  // for names alone

}  // namespace

/// Content as a reader sees it, and as it was at the last sync with what was done to it since.
struct SimulatedDisk::File {
  struct Write {
    std::size_t offset = 0;
    std::string bytes;
  };
  struct Cut {
    std::size_t size = 0;
  };
  using Step = std::variant<Write, Cut>;

  static void put(std::string& content, std::size_t offset, std::string_view bytes) {
    if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size(), '\0');
    std::copy(bytes.begin(), bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  static void take(std::string& content, const Step& step) {
    if (const auto* write = std::get_if<Write>(&step)) {
      put(content, write->offset, write->bytes);
    } else {
      content.resize(std::min(content.size(), std::get<Cut>(step).size));
    }
  }
  void sync() {
    for (const Step& step : since_) take(synced_, step);
    since_.clear();
  }
  /// What is left when the power goes.
  [[nodiscard]] std::string remains(RandomSource& chance) const {
    std::string out = synced_;
    for (const Step& step : since_) {
      const auto* write = std::get_if<Write>(&step);
      if (write == nullptr) {
        if (chance.chance(0.5)) take(out, step);
        continue;
      }
      for (std::size_t at = 0; at < write->bytes.size();) {
        const std::size_t length = std::min(kSector - (write->offset + at) % kSector, write->bytes.size() - at);
        if (chance.chance(0.5)) put(out, write->offset + at, std::string_view(write->bytes).substr(at, length));
        at += length;
      }
    }
    return out;
  }

  std::string seen;
  std::string synced_;
  std::vector<Step> since_;
};

/// What SQLite holds of an open file.
struct SimulatedDisk::Handle {
  sqlite3_file base;
  SimulatedDisk* disk;
  std::shared_ptr<File>* file;
  std::map<int, std::string>* shared;  // the index of a write-ahead log: memory, gone with the process
  const char* name;
  bool removed_at_close;
};

struct SimulatedDisk::Methods {
  static Handle& of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
  /// Whether the handle's process is alive.
  static bool is_current(const Handle& handle) {
    const auto found = handle.disk->files_.find(handle.name == nullptr ? "" : handle.name);
    return handle.name == nullptr || (found != handle.disk->files_.end() && found->second == *handle.file);
  }

  static int close(sqlite3_file* file) {
    Handle& handle = of(file);
    if (handle.removed_at_close && handle.name != nullptr && is_current(handle)) handle.disk->files_.erase(handle.name);
    delete handle.file;
    delete handle.shared;
    return SQLITE_OK;
  }
  static int read(sqlite3_file* file, void* out, int count, sqlite3_int64 offset) {
    const std::string& seen = (*of(file).file)->seen;
    const auto wanted = static_cast<std::size_t>(count);
    const std::size_t from = std::min(seen.size(), static_cast<std::size_t>(offset));
    const std::size_t there = std::min(wanted, seen.size() - from);
    std::memcpy(out, seen.data() + from, there);
    if (there == wanted) return SQLITE_OK;
    std::memset(static_cast<char*>(out) + there, 0, wanted - there);
    return SQLITE_IOERR_SHORT_READ;
  }
  static int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
    Handle& handle = of(file);
    if (!is_current(handle)) return SQLITE_IOERR_WRITE;
    if (handle.disk->dies()) return SQLITE_IOERR_WRITE;
    File& content = **handle.file;
    const auto at = static_cast<std::size_t>(offset);
    const auto length = static_cast<std::size_t>(count);
    if (handle.disk->full_ && at + length > content.seen.size()) {
      handle.disk->refused_ = true;
      return SQLITE_FULL;
    }
    File::Write written{at, std::string(static_cast<const char*>(bytes), length)};
    File::put(content.seen, at, written.bytes);
    content.since_.emplace_back(std::move(written));
    return SQLITE_OK;
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    Handle& handle = of(file);
    if (!is_current(handle) || handle.disk->dead_) return SQLITE_IOERR_TRUNCATE;
    File& content = **handle.file;
    const File::Cut cut{static_cast<std::size_t>(size)};
    File::take(content.seen, cut);
    content.since_.emplace_back(cut);
    return SQLITE_OK;
  }
  static int sync(sqlite3_file* file, int /*flags*/) {
    Handle& handle = of(file);
    if (!is_current(handle)) return SQLITE_IOERR_FSYNC;
    if (handle.disk->dies()) return SQLITE_IOERR_FSYNC;
    (*handle.file)->sync();
    return SQLITE_OK;
  }
  static int size(sqlite3_file* file, sqlite3_int64* size) {
    *size = static_cast<sqlite3_int64>((*of(file).file)->seen.size());
    return SQLITE_OK;
  }
  static int lock(sqlite3_file* /*file*/, int /*kind*/) { return SQLITE_OK; }
  static int reserved(sqlite3_file* /*file*/, int* out) {
    *out = 0;
    return SQLITE_OK;
  }
  static int control(sqlite3_file* /*file*/, int /*code*/, void* /*argument*/) { return SQLITE_NOTFOUND; }
  static int sector(sqlite3_file* /*file*/) { return static_cast<int>(kSector); }
  static int characteristics(sqlite3_file* /*file*/) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }
  static int map_shared(sqlite3_file* file, int region, int bytes, int extend, volatile void** out) {
    std::map<int, std::string>& shared = *of(file).shared;
    const auto found = shared.find(region);
    if (found == shared.end() && extend == 0) {
      *out = nullptr;
      return SQLITE_OK;
    }
    *out = shared.try_emplace(region, static_cast<std::size_t>(bytes), '\0').first->second.data();
    return SQLITE_OK;
  }
  static int lock_shared(sqlite3_file* /*file*/, int /*offset*/, int /*count*/, int /*flags*/) { return SQLITE_OK; }
  static void barrier(sqlite3_file* /*file*/) {}
  static int unmap_shared(sqlite3_file* file, int /*removed*/) {
    of(file).shared->clear();
    return SQLITE_OK;
  }

  static SimulatedDisk& disk_of(sqlite3_vfs* vfs) { return *static_cast<SimulatedDisk*>(vfs->pAppData); }
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    static const sqlite3_io_methods methods = {
        2,        close,   read,   write,           truncate,   sync,        size,    lock,         lock,
        reserved, control, sector, characteristics, map_shared, lock_shared, barrier, unmap_shared, nullptr,
        nullptr};
    SimulatedDisk& disk = disk_of(vfs);
    auto content = std::make_shared<File>();
    if (name != nullptr) {
      const auto found = disk.files_.find(name);
      if (found == disk.files_.end() && (flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
      content = disk.files_.try_emplace(name, content).first->second;
    }
    new (file) Handle{{&methods},
                      &disk,
                      new std::shared_ptr<File>(std::move(content)),
                      new std::map<int, std::string>(),
                      name,
                      (flags & SQLITE_OPEN_DELETEONCLOSE) != 0};
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* vfs, const char* name, int /*sync_folder*/) {
    SimulatedDisk& disk = disk_of(vfs);
    if (disk.dead_) return SQLITE_IOERR_DELETE;
    return disk.files_.erase(name) != 0 ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
  }
  static int exists(sqlite3_vfs* vfs, const char* name, int /*flags*/, int* out) {
    *out = disk_of(vfs).files_.contains(name) ? 1 : 0;
    return SQLITE_OK;
  }
  static int full_name(sqlite3_vfs* /*vfs*/, const char* name, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
  }
  static int randomness(sqlite3_vfs* vfs, int count, char* out) {
    for (int i = 0; i < count; ++i) out[i] = static_cast<char>(disk_of(vfs).chance_->word());
    return count;
  }
  static int sleep(sqlite3_vfs* /*vfs*/, int microseconds) { return microseconds; }
  static int time(sqlite3_vfs* /*vfs*/, double* out) {
    *out = 2440587.5;  // 1970
    return SQLITE_OK;
  }
  static int last_error(sqlite3_vfs* /*vfs*/, int /*size*/, char* /*out*/) { return 0; }
};

SimulatedDisk::SimulatedDisk(RandomSource& chance, Watch watch)
    : chance_(&chance),
      watch_(std::move(watch)),
      name_(fmt::format("simulated-{}", ++disks_made)),
      vfs_(std::make_unique<sqlite3_vfs>()) {
  vfs_->iVersion = 1;
  vfs_->szOsFile = sizeof(Handle);
  vfs_->mxPathname = 256;
  vfs_->zName = name_.c_str();
  vfs_->pAppData = this;
  vfs_->xOpen = Methods::open;
  vfs_->xDelete = Methods::remove;
  vfs_->xAccess = Methods::exists;
  vfs_->xFullPathname = Methods::full_name;
  vfs_->xRandomness = Methods::randomness;
  vfs_->xSleep = Methods::sleep;
  vfs_->xCurrentTime = Methods::time;
  vfs_->xGetLastError = Methods::last_error;
  UNDERTONE_CHECK(sqlite3_vfs_register(vfs_.get(), 0) == SQLITE_OK);
}

SimulatedDisk::~SimulatedDisk() { sqlite3_vfs_unregister(vfs_.get()); }

bool SimulatedDisk::dies() {
  if (!dead_ && watch_ && watch_()) dead_ = true;
  return dead_;
}

void SimulatedDisk::abandon(bool power) {
  std::map<std::string, std::shared_ptr<File>> left;
  for (const auto& [name, file] : files_) {
    auto copy = std::make_shared<File>(*file);
    if (power) {
      copy->seen = file->remains(*chance_);
      copy->synced_ = copy->seen;
      copy->since_.clear();
    }
    left.emplace(name, std::move(copy));
  }
  files_ = std::move(left);
  dead_ = true;
}

bool SimulatedDisk::replace(const std::string& name, std::string content) {
  if (dies()) return false;
  small_.insert_or_assign(name, std::move(content));
  return true;
}

const std::string* SimulatedDisk::content(const std::string& name) const {
  const auto found = small_.find(name);
  return found == small_.end() ? nullptr : &found->second;
}

}  // namespace undertone::simulation
