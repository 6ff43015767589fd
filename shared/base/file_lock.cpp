#include "shared/base/file_lock.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace undertone {

Result<FileLock> FileLock::acquire(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return Error{ErrorCode::StorageFailed,
                 fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno))};
  FileLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::StorageFailed, fmt::format("{}: another process holds it", path.string())};
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace undertone
