// Preloaded into a shipped program: makes it die, or its disk fail, at the call that its order names. The program has
// no hooks of its own, and takes the same paths as without.
//
//   UNDERTONE_FAULT_ORDERS  the order file, one line a life (tests/support/fault_order.hpp)
//   UNDERTONE_FAULT_FOLDER  only files below it count, and their faults are the only ones

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/fault_order.hpp"
#include "tests/support/unsynced_changes.hpp"

namespace undertone::tests {
namespace {

using Call = FaultOrder::Call;
using Side = FaultOrder::Side;
using Fault = FaultOrder::Fault;

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

std::string path_of(int descriptor) {
  std::array<char, 4096> out{};
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), out.data(), out.size());
  return size > 0 ? std::string(out.data(), static_cast<std::size_t>(size)) : std::string();
}

std::string absolute(const char* path) {
  if (path == nullptr || path[0] == '/') return path == nullptr ? "" : path;
  std::array<char, 4096> here{};
  return ::getcwd(here.data(), here.size()) == nullptr ? path : std::string(here.data()) + "/" + path;
}

/// The order of this life, and how far it has come.
class FaultPoints {
 public:
  /// Null where the process has no order file.
  static FaultPoints* instance() {
    static const std::unique_ptr<FaultPoints> points = make();
    return points.get();
  }

  /// A file of the deployment's that outlives the process. SQLite's shared memory does not.
  [[nodiscard]] bool is_ours(const std::string& path) const {
    return path.starts_with(folder_) && !path.ends_with("-shm") && !path.starts_with(folder_ + "logs/");
  }

  /// Counts a call. @return whether it is the one of the order
  [[nodiscard]] bool reached(Call call, const std::string& path) {
    if (order_.fault == Fault::None || order_.call != call) return false;
    if (call != Call::Send && ::fnmatch(order_.files.c_str(), path.c_str(), 0) != 0) return false;
    if (++calls_ != order_.count) return false;
    fired();
    failing_ = order_.fault == Fault::FullDisk || order_.fault == Fault::ReadOnly || order_.fault == Fault::DiskError;
    return !failing_;
  }
  [[nodiscard]] Side side() const noexcept { return order_.side; }

  /// @return the error that the disk gives from now on, or 0
  [[nodiscard]] int error_of_writing() const noexcept {
    if (!failing_) return 0;
    return order_.fault == Fault::FullDisk ? ENOSPC : order_.fault == Fault::ReadOnly ? EROFS : EIO;
  }
  [[nodiscard]] int error_of_sync() const noexcept { return failing_ && order_.fault == Fault::DiskError ? EIO : 0; }
  /// @param creates whether the name is new
  [[nodiscard]] int error_of_opening_to_write(bool creates) const noexcept {
    if (!failing_ || (order_.fault != Fault::ReadOnly && !creates)) return 0;
    return error_of_writing();
  }
  /// Of a change of names that takes no room.
  [[nodiscard]] int error_of_naming() const noexcept {
    return order_.fault == Fault::FullDisk ? 0 : error_of_writing();
  }

  [[noreturn]] void die() {
    if (order_.fault == Fault::PowerLoss) changes_.lose(order_.seed);
    ::kill(::getpid(), SIGKILL);
    while (true) ::pause();
  }

  [[nodiscard]] UnsyncedChanges& changes() noexcept { return changes_; }
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

 private:
  FaultPoints(std::string folder, std::string orders)
      : folder_(std::move(folder) + "/"), orders_(std::move(orders)), changes_(folder_ + "limbo") {
    std::ifstream lives(orders_ + ".lives");
    lives >> life_;
    lives.close();
    std::ofstream(orders_ + ".lives") << life_ + 1;
    std::ifstream in(orders_);
    std::string line;
    for (std::uint64_t i = 0; i <= life_ && std::getline(in, line); ++i) {
      if (i == life_) order_ = FaultOrder::from_line(line).value_or(FaultOrder{});
    }
  }
  static std::unique_ptr<FaultPoints> make() {
    const char* orders = std::getenv("UNDERTONE_FAULT_ORDERS");
    const char* folder = std::getenv("UNDERTONE_FAULT_FOLDER");
    if (orders == nullptr || folder == nullptr) return nullptr;
    return std::unique_ptr<FaultPoints>(new FaultPoints(folder, orders));
  }
  void fired() const {
    const int file = static_cast<int>(
        ::syscall(SYS_openat, AT_FDCWD, (orders_ + ".fired").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const std::string line = std::to_string(life_) + "\n";
    ::syscall(SYS_write, file, line.data(), line.size());
    ::syscall(SYS_close, file);
  }

  std::string folder_;
  std::string orders_;
  std::uint64_t life_ = 0;
  FaultOrder order_;
  std::uint64_t calls_ = 0;
  bool failing_ = false;
  UnsyncedChanges changes_;
  std::mutex mutex_;
};

// Its own reading and counting of lives must not be taken for the program's.
bool is_ready = false;
__attribute__((constructor)) void prepare() {
  (void)FaultPoints::instance();
  is_ready = true;
}
FaultPoints* points() { return is_ready ? FaultPoints::instance() : nullptr; }

int fail(int error) {
  errno = error;
  return -1;
}

/// A write to a file. @param real writes the first so many bytes
template <class Real>
ssize_t write_file(int descriptor, const void* data, std::size_t size, off_t offset, const Real& real) {
  FaultPoints* faults = points();
  if (faults == nullptr) return real(size);
  const std::string path = path_of(descriptor);
  if (!faults->is_ours(path)) return real(size);
  const std::lock_guard lock(faults->mutex());
  const bool dies = faults->reached(Call::Write, path);
  if (const int error = faults->error_of_writing()) return fail(error);
  if (dies && faults->side() == Side::Before) faults->die();
  const std::size_t part = dies && faults->side() == Side::During ? size / 2 : size;
  faults->changes().before_write(descriptor, offset, {static_cast<const char*>(data), part});
  const ssize_t written = real(part);
  if (dies) faults->die();
  return written;
}

/// @param real sends the first so many bytes
template <class Real>
ssize_t send_bytes(std::size_t size, const Real& real) {
  FaultPoints* faults = points();
  if (faults == nullptr) return real(size);
  {
    const std::lock_guard lock(faults->mutex());
    if (faults->reached(Call::Send, {})) {
      if (faults->side() == Side::During) (void)real(size / 2);
      if (faults->side() == Side::After) (void)real(size);
      faults->die();
    }
  }
  return real(size);
}

bool is_stream(int descriptor) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  return ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
         (peer.ss_family == AF_INET || peer.ss_family == AF_INET6);
}

template <class Real>
int sync_file(int descriptor, const Real& real) {
  FaultPoints* faults = points();
  if (faults == nullptr) return real(descriptor);
  const std::string path = path_of(descriptor);
  if (!faults->is_ours(path + "/")) return real(descriptor);  // a folder too, and the deployment's own
  const std::lock_guard lock(faults->mutex());
  const bool dies = faults->reached(Call::Sync, path);
  if (const int error = faults->error_of_sync()) return fail(error);
  if (dies && faults->side() != Side::After) faults->die();
  const int code = real(descriptor);
  if (code == 0) faults->changes().after_sync(descriptor);
  if (dies) faults->die();
  return code;
}

template <class Real>
int open_file(const char* name, int flags, const Real& real) {
  FaultPoints* faults = points();
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (faults == nullptr || !writes) return real();
  const std::string path = absolute(name);
  if (!faults->is_ours(path)) return real();
  const std::lock_guard lock(faults->mutex());
  struct stat facts {};
  const bool exists = ::stat(path.c_str(), &facts) == 0;
  const bool creates = !exists && (flags & O_CREAT) != 0;
  if (const int error = faults->error_of_opening_to_write(creates)) return fail(error);
  if (creates) faults->changes().before_create(path);
  if (exists && (flags & O_TRUNC) != 0) faults->changes().before_truncate(path, 0);
  return real();
}

template <class Real>
int truncate_file(int descriptor, off_t size, const Real& real) {
  FaultPoints* faults = points();
  if (faults == nullptr || !faults->is_ours(path_of(descriptor))) return real(descriptor, size);
  const std::lock_guard lock(faults->mutex());
  if (const int error = faults->error_of_naming()) return fail(error);
  faults->changes().before_truncate(descriptor, size);
  return real(descriptor, size);
}

}  // namespace
}  // namespace undertone::tests

namespace faults = undertone::tests;

extern "C" {

ssize_t pwrite64(int descriptor, const void* data, size_t size, off64_t offset) {
  static const auto real = faults::next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  return faults::write_file(descriptor, data, size, offset,
                            [&](size_t part) { return real(descriptor, data, part, offset); });
}

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
  return pwrite64(descriptor, data, size, offset);
}

ssize_t write(int descriptor, const void* data, size_t size) {
  static const auto real = faults::next<ssize_t (*)(int, const void*, size_t)>("write");
  const auto first = [&](size_t part) { return real(descriptor, data, part); };
  struct stat facts {};
  if (faults::points() == nullptr || ::fstat(descriptor, &facts) != 0) return real(descriptor, data, size);
  if (S_ISSOCK(facts.st_mode) && faults::is_stream(descriptor)) return faults::send_bytes(size, first);
  if (!S_ISREG(facts.st_mode)) return real(descriptor, data, size);
  const bool appends = (::fcntl(descriptor, F_GETFL) & O_APPEND) != 0;
  return faults::write_file(descriptor, data, size, appends ? facts.st_size : ::lseek(descriptor, 0, SEEK_CUR), first);
}

ssize_t send(int descriptor, const void* data, size_t size, int flags) {
  static const auto real = faults::next<ssize_t (*)(int, const void*, size_t, int)>("send");
  const auto first = [&](size_t part) { return real(descriptor, data, part, flags); };
  return faults::is_stream(descriptor) ? faults::send_bytes(size, first) : first(size);
}

ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  static const auto real = faults::next<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
  if (message->msg_iovlen == 0 || !faults::is_stream(descriptor)) return real(descriptor, message, flags);
  const size_t size = message->msg_iov[0].iov_len;
  return faults::send_bytes(size, [&](size_t part) {
    if (part == size) return real(descriptor, message, flags);
    iovec bytes{message->msg_iov[0].iov_base, part};
    msghdr cut = *message;
    cut.msg_iov = &bytes;
    cut.msg_iovlen = 1;
    return real(descriptor, &cut, flags);
  });
}

int fsync(int descriptor) { return faults::sync_file(descriptor, faults::next<int (*)(int)>("fsync")); }

int fdatasync(int descriptor) { return faults::sync_file(descriptor, faults::next<int (*)(int)>("fdatasync")); }

int ftruncate64(int descriptor, off64_t size) noexcept {
  return faults::truncate_file(descriptor, size, faults::next<int (*)(int, off64_t)>("ftruncate64"));
}

int ftruncate(int descriptor, off_t size) noexcept { return ftruncate64(descriptor, size); }

int open64(const char* path, int flags, ...) {
  static const auto real = faults::next<int (*)(const char*, int, ...)>("open64");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return faults::open_file(path, flags, [&] { return real(path, flags, mode); });
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open64(path, flags, mode);
}

int rename(const char* from, const char* to) noexcept {
  static const auto real = faults::next<int (*)(const char*, const char*)>("rename");
  faults::FaultPoints* points = faults::points();
  const std::string path = faults::absolute(to);
  if (points == nullptr || !points->is_ours(path)) return real(from, to);
  const std::lock_guard lock(points->mutex());
  const bool dies = points->reached(faults::Call::Rename, path);
  if (const int error = points->error_of_naming()) return faults::fail(error);
  if (dies && points->side() != faults::Side::After) points->die();
  points->changes().before_rename(faults::absolute(from), path);
  const int code = real(from, to);
  if (dies) points->die();
  return code;
}

int unlink(const char* name) noexcept {
  static const auto real = faults::next<int (*)(const char*)>("unlink");
  faults::FaultPoints* points = faults::points();
  const std::string path = faults::absolute(name);
  if (points == nullptr || !points->is_ours(path)) return real(name);
  const std::lock_guard lock(points->mutex());
  if (const int error = points->error_of_naming()) return faults::fail(error);
  points->changes().before_unlink(path);
  return real(name);
}

}  // extern "C"
