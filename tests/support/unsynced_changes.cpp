#include "tests/support/unsynced_changes.hpp"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace undertone::tests {
namespace {

// The system's own calls: the library that this is part of stands in front of the C library's.
long raw_write(int descriptor, const char* data, std::size_t size, off_t offset) {
  return ::syscall(SYS_pwrite64, descriptor, data, size, offset);
}
long raw_truncate(int descriptor, off_t size) { return ::syscall(SYS_ftruncate, descriptor, size); }
long raw_rename(const std::string& from, const std::string& to) {
  return ::syscall(SYS_rename, from.c_str(), to.c_str());
}
long raw_unlink(const std::string& path) { return ::syscall(SYS_unlink, path.c_str()); }
int raw_open(const std::string& path, int flags) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path.c_str(), flags | O_CLOEXEC, 0));
}

constexpr std::size_t kSectorBytes = 512;

std::string content(int descriptor, off_t offset, std::size_t size) {
  std::string out(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    const ssize_t part = ::pread(descriptor, out.data() + got, size - got, offset + static_cast<off_t>(got));
    if (part <= 0) break;
    got += static_cast<std::size_t>(part);
  }
  out.resize(got);
  return out;
}

off_t size_of(int descriptor) {
  struct stat facts {};
  return ::fstat(descriptor, &facts) == 0 ? facts.st_size : 0;
}

}  // namespace

UnsyncedChanges::File* UnsyncedChanges::file_of(int descriptor) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return nullptr;
  File& file = files_[{facts.st_dev, facts.st_ino}];
  if (file.descriptor < 0) file.descriptor = raw_open("/proc/self/fd/" + std::to_string(descriptor), O_RDWR);
  return file.descriptor < 0 ? nullptr : &file;
}

void UnsyncedChanges::before_write(int descriptor, off_t offset, std::string_view data) {
  File* file = file_of(descriptor);
  if (file == nullptr) return;
  const off_t size = size_of(file->descriptor);
  file->changes.push_back({false, offset, content(file->descriptor, offset, data.size()), std::string(data), size,
                           std::max(size, offset + static_cast<off_t>(data.size()))});
}

void UnsyncedChanges::truncate(File& file, off_t size) {
  const off_t now = size_of(file.descriptor);
  std::string cut;
  if (size < now) cut = content(file.descriptor, size, static_cast<std::size_t>(now - size));
  file.changes.push_back({true, size, std::move(cut), {}, now, size});
}

void UnsyncedChanges::before_truncate(int descriptor, off_t size) {
  if (File* file = file_of(descriptor)) truncate(*file, size);
}

void UnsyncedChanges::before_truncate(const std::string& path, off_t size) {
  const int descriptor = raw_open(path, O_RDWR);  // not closed: as the others
  if (descriptor >= 0) before_truncate(descriptor, size);
}

void UnsyncedChanges::before_create(const std::string& path) {
  names_.push_back({NameChange::Kind::Created, path, {}, {}});
}

std::string UnsyncedChanges::keep(const std::string& path) {
  const std::string kept = limbo_ + "/" + std::to_string(::getpid()) + "-" + std::to_string(++kept_);
  return ::link(path.c_str(), kept.c_str()) == 0 ? kept : std::string();
}

void UnsyncedChanges::before_rename(const std::string& from, const std::string& to) {
  names_.push_back({NameChange::Kind::Renamed, to, from, keep(to)});
}

void UnsyncedChanges::before_unlink(const std::string& path) {
  if (const std::string kept = keep(path); !kept.empty())
    names_.push_back({NameChange::Kind::Unlinked, path, {}, kept});
}

void UnsyncedChanges::after_sync(int descriptor) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return;
  if (S_ISREG(facts.st_mode)) {
    if (const auto file = files_.find({facts.st_dev, facts.st_ino}); file != files_.end()) file->second.changes.clear();
    return;
  }
  std::erase_if(names_, [&facts](const NameChange& change) {
    struct stat folder {};
    const std::string parent = std::filesystem::path(change.path).parent_path();
    const bool durable =
        ::stat(parent.c_str(), &folder) == 0 && folder.st_dev == facts.st_dev && folder.st_ino == facts.st_ino;
    if (durable && !change.kept.empty()) raw_unlink(change.kept);
    return durable;
  });
}

void UnsyncedChanges::undo(const File& file) {
  for (auto change = file.changes.rbegin(); change != file.changes.rend(); ++change) {
    raw_write(file.descriptor, change->before.data(), change->before.size(), change->offset);
    raw_truncate(file.descriptor, change->size_before);
  }
}

void UnsyncedChanges::redo(const File& file, std::mt19937_64& random) {
  for (const Change& change : file.changes) {
    const std::uint64_t how = random() % 3;
    if (how == 0) continue;
    if (change.truncates) {
      raw_truncate(file.descriptor, change.size_after);
      continue;
    }
    std::size_t at = 0;
    while (at < change.after.size()) {
      const std::size_t in_sector = (static_cast<std::size_t>(change.offset) + at) % kSectorBytes;
      const std::size_t part = std::min(kSectorBytes - in_sector, change.after.size() - at);
      if (how == 1 || random() % 2 == 0)
        raw_write(file.descriptor, change.after.data() + at, part, change.offset + static_cast<off_t>(at));
      at += part;
    }
  }
}

void UnsyncedChanges::undo(const NameChange& change) {
  switch (change.kind) {
    case NameChange::Kind::Created:
      raw_unlink(change.path);
      break;
    case NameChange::Kind::Renamed:
      raw_rename(change.path, change.from);
      break;
    case NameChange::Kind::Unlinked:
      break;
  }
  if (!change.kept.empty()) raw_rename(change.kept, change.path);
}

void UnsyncedChanges::lose(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const auto& [inode, file] : files_) {
    const std::uint64_t how = random() % 4;
    if (how == 0) continue;
    undo(file);
    if (how != 1) redo(file, random);
  }
  // A folder's changes reach the disk in their order.
  std::uint64_t kept = random() % (names_.size() + 1);
  while (names_.size() > kept) {
    undo(names_.back());
    names_.pop_back();
  }
}

}  // namespace undertone::tests
