#include "shared/base/file_lock.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace undertone {
namespace {

/// "process 4711", as the file says.
std::string holder_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  long pid = 0;
  if (size > 0 && std::from_chars(text.data(), text.data() + size, pid).ec == std::errc() && pid > 0)
    return fmt::format("process {}", pid);
  return "another process";
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::filesystem::path& path) {
  // Somebody else may have put a link there, to have another file overwritten. It is not followed.
  const int descriptor = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0)
    return Error{ErrorCode::StorageFailed,
                 fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno))};
  FileLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::StorageFailed, fmt::format("{}: {} holds it: stop that one or let it end, and try again",
                                                       path.string(), holder_of(descriptor))};
  }
  // Without it the lock is as good: a full disk only leaves the next one to ask less.
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(descriptor, 0) == 0) (void)!::pwrite(descriptor, pid.data(), pid.size(), 0);
  return lock;
}

Result<FileLock> FileLock::hold(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0)
    return Error{ErrorCode::StorageFailed,
                 fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno))};
  FileLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::StorageFailed,
                 fmt::format("{}: another process holds this file, under this name or another: stop that one or let it "
                             "end, and try again",
                             path.string())};
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace undertone
